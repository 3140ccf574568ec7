//! Notes that pages keep beside the index: who may write them, how many there may be, and where they show.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::open::Server;
use crate::program::{command, json as ask, print, scratch};

/// A server on the sample dump, with an index of its own.
fn serve(name: &str) -> (Server, String) {
    let file = scratch(&format!("{name}.hprof"))
        .to_str()
        .unwrap()
        .to_owned();
    print(&["demo", "--save", &file]);
    // So that the heap is there at once.
    ask(&["summary", &file]);
    let server = Server::started(command(&["open", "--no-browser", &file]));
    // The index may be from an earlier run.
    let old = list(&server);
    for note in old["notes"].as_array().unwrap() {
        delete(
            &server,
            note["kind"].as_str().unwrap(),
            note["about"].as_str().unwrap(),
        );
    }
    (server, file)
}

const PATH: &str = "/api/v1/sources/0/notes";

fn list(server: &Server) -> Value {
    serde_json::from_str(&server.get(PATH).body).unwrap()
}

fn send(server: &Server, method: &str, path: &str, body: &str, more: &[&str]) -> (u16, Value) {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    let (host, token, length) = (&server.host, &server.token, body.len());
    let more: String = more.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A request that is too long is not read to its end.
    let _ = stream.write_all(body.as_bytes());
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Keeps a note, without a label and a text unless it has them.
fn keep(server: &Server, note: &Value) -> (u16, Value) {
    let mut note = note.clone();
    for name in ["label", "text"] {
        let fields = note.as_object_mut().unwrap();
        fields.entry(name).or_insert_with(|| json!(""));
    }
    send(server, "PUT", PATH, &note.to_string(), &[])
}

fn delete(server: &Server, kind: &str, about: &str) -> (u16, Value) {
    let query: String = about.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let path = format!("{PATH}?kind={kind}&about={query}");
    send(server, "DELETE", &path, "", &[])
}

#[test]
fn notes_are_kept_changed_deleted_and_part_of_documents() {
    let (server, file) = serve("notes");
    let owner = ask(&["report", &file])["suspects"][0]["owners"][0].clone();
    let address = owner["address"].as_str().unwrap();
    let (status, _) = keep(
        &server,
        &json!({"kind": "object", "about": address, "text": "ask <Ann>\nabout it"}),
    );
    assert_eq!(status, 200);
    let group = json!({"kind": "group", "about": "IdCache.idCache", "label": "the cache"});
    assert_eq!(keep(&server, &group).0, 200);
    let notes = list(&server);
    let notes = notes["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 2);
    // An object is called by what it is, whatever the page says.
    assert_eq!(notes[0]["label"], owner["label"]);
    assert_eq!(notes[0]["text"], "ask <Ann>\nabout it");
    assert_eq!(
        (&notes[1]["label"], &notes[1]["text"]),
        (&json!("the cache"), &json!(""))
    );

    let html = server.get("/api/v1/sources/0/report.html").body;
    assert!(html.contains("ask &lt;Ann&gt;\nabout it"));
    let written = scratch("notes.md");
    print(&["report", &file, "-o", written.to_str().unwrap()]);
    let markdown = fs::read_to_string(&written).unwrap();
    assert_eq!(server.get("/api/v1/sources/0/report.md").body, markdown);
    assert!(
        markdown.contains("## Notes") && markdown.contains("ask \\<Ann\\>"),
        "{markdown}"
    );
    print(&["report", &file, "--redact", "-o", written.to_str().unwrap()]);
    assert!(!fs::read_to_string(&written).unwrap().contains("Ann"));

    let changed = json!({"kind": "object", "about": address, "text": "Bob knows"});
    assert_eq!(
        keep(&server, &changed).1["notes"].as_array().unwrap().len(),
        2
    );
    let html = server.get("/api/v1/sources/0/report.html").body;
    assert!(html.contains("Bob knows") && !html.contains("Ann"));
    let (status, left) = delete(&server, "object", address);
    assert_eq!((status, left["notes"].as_array().unwrap().len()), (200, 1));
    // Whoever opens the file later finds them.
    drop(server);
    let again = Server::started(command(&["open", "--no-browser", &file]));
    assert_eq!(list(&again), left);
    delete(&again, "group", "IdCache.idCache");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_of_notes() {
    use std::os::unix::fs::PermissionsExt;
    let (server, _) = serve("notes-owner");
    assert_eq!(
        keep(&server, &json!({"kind": "view", "about": "heap?by=type"})).0,
        200
    );
    let kept = fs::read_dir(scratch("cache/anthill")).unwrap().flatten();
    let mut kept = kept.filter(|folder| {
        folder
            .file_name()
            .to_string_lossy()
            .starts_with("notes-owner.hprof-")
    });
    let file = kept.next().unwrap().path().join("notes");
    assert_eq!(mode(&file), 0o600);
    fn mode(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }
    delete(&server, "view", "heap?by=type");
}

#[test]
fn notes_have_bounds_and_are_written_only_by_the_pages() {
    let (server, _) = serve("notes-bounds");
    let long = json!({"kind": "group", "about": "x", "text": "y".repeat(4_001)});
    assert_eq!(keep(&server, &long).0, 400);
    let longer = json!({"kind": "group", "about": "x", "text": "y".repeat(100_000)});
    assert_eq!(keep(&server, &longer).0, 400);
    assert_eq!(
        keep(&server, &json!({"kind": "object", "about": "0x1"})).0,
        404
    );
    assert_eq!(
        keep(&server, &json!({"kind": "file", "about": "/etc/passwd"})).0,
        400
    );
    assert_eq!(send(&server, "PUT", PATH, "no JSON", &[]).0, 400);
    let incomplete = json!({"kind": "group", "about": "x"}).to_string();
    assert_eq!(send(&server, "PUT", PATH, &incomplete, &[]).0, 400);
    let whole = json!({"kind": "group", "about": "x", "label": "x", "text": ""}).to_string();
    let path = "/api/v1/sources/7/notes";
    assert_eq!(send(&server, "PUT", path, &whole, &[]).0, 404);
    let foreign = ["Origin: http://example.com"];
    assert_eq!(send(&server, "PUT", PATH, &whole, &foreign).0, 403);
    assert_eq!(list(&server), json!({"notes": []}));
    for number in 0..500 {
        assert_eq!(
            keep(
                &server,
                &json!({"kind": "group", "about": format!("g{number}")})
            )
            .0,
            200
        );
    }
    assert_eq!(
        keep(&server, &json!({"kind": "group", "about": "one more"})).0,
        400
    );
    // Another text for one of them is no note more.
    assert_eq!(
        keep(
            &server,
            &json!({"kind": "group", "about": "g3", "text": "new"})
        )
        .0,
        200
    );
    for number in 0..500 {
        delete(&server, "group", &format!("g{number}"));
    }
    assert_eq!(list(&server), json!({"notes": []}));
}
