//! The web view's server: answers are those of the commands, and only who has the token gets them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{self, command, json, print};
use crate::recording::growing;

/// A server that ends with the test.
pub struct Server {
    pub child: Child,
    /// Host and port.
    pub host: String,
    pub token: String,
}

pub struct Response {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    fn start(files: &[&str]) -> Self {
        Server::started(command(&[&["open", "--no-browser"], files].concat()))
    }

    /// A server that a command starts.
    pub fn started(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let (host, token) = address.split_once("/#token=").unwrap();
        Server {
            child,
            host: host.to_owned(),
            token: token.to_owned(),
        }
    }

    pub fn get(&self, path: &str) -> Response {
        let token = format!("Authorization: Bearer {}", self.token);
        self.request("GET", path, &[&format!("Host: {}", self.host), &token])
    }

    fn request(&self, method: &str, path: &str, headers: &[&str]) -> Response {
        let mut stream = self.send(method, path, headers);
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        Response {
            status,
            head: head.to_lowercase(),
            body: if chunked {
                dechunk(body)
            } else {
                body.to_owned()
            },
        }
    }

    fn send(&self, method: &str, path: &str, headers: &[&str]) -> TcpStream {
        self.try_send(method, path, headers).unwrap()
    }

    /// Fails when the server is gone.
    pub fn try_send(&self, method: &str, path: &str, headers: &[&str]) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(Duration::from_secs(300)))?;
        let headers = headers.join("\r\n");
        let request = format!("{method} {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }

    /// The sources once they are all read.
    fn sources(&self) -> Vec<Value> {
        let patience = Instant::now() + Duration::from_secs(300);
        loop {
            let sources = self.get("/api/v1/sources").json();
            let sources = sources["sources"].as_array().unwrap().clone();
            let done = |source: &Value| {
                !["waiting", "reading"].contains(&source["status"].as_str().unwrap())
            };
            if sources.iter().all(done) {
                return sources;
            }
            assert!(Instant::now() < patience, "{sources:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn dechunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            break;
        }
        whole.push_str(&rest[..length]);
        body = &rest[length + 2..];
    }
    whole
}

/// The sample that the program has with it, under a name of its own for each test.
fn sample(name: &str) -> String {
    let file = program::scratch(name).to_str().unwrap().to_owned();
    print(&["demo", "--save", &file]);
    file
}

#[test]
fn answers_are_those_of_the_commands() {
    let dump = sample("open-answers.hprof");
    // So that both find an index.
    json(&["summary", &dump]);
    let server = Server::start(&[&dump]);
    let sources = server.sources();
    assert_eq!(
        (&sources[0]["status"], &sources[0]["kind"]),
        (&"ready".into(), &"dump".into())
    );
    let questions: &[(&str, &[&str])] = &[
        ("summary", &["summary"]),
        ("summary?brief=true", &["summary", "--brief"]),
        (
            "histogram?by=package&sort=shallow&limit=5",
            &["histogram", "--by=package", "--sort=shallow", "--limit=5"],
        ),
        (
            "classify?by=package,type&least=1",
            &["classify", "--by=package,type", "--least=1"],
        ),
        (
            "inspect?group=IdCache.idCache%20%7C%20NameCache.nameCache",
            &["inspect", "IdCache.idCache | NameCache.nameCache"],
        ),
        ("report", &["report"]),
        ("report?brief=true", &["report", "--brief"]),
        ("waste", &["waste"]),
        ("threads", &["threads"]),
        ("structures", &["structures"]),
        ("dominators?depth=2", &["dominators", "--depth=2"]),
        (
            "check?rule=at%20most%20100000%20instances%20of%20java.lang.String",
            &[
                "check",
                "--rule=at most 100000 instances of java.lang.String",
            ],
        ),
    ];
    for (question, arguments) in questions {
        let response = server.get(&format!("/api/v1/sources/0/{question}"));
        assert_eq!(response.status, 200, "{question}: {}", response.body);
        let arguments = [&arguments[..1], &[dump.as_str()], &arguments[1..]].concat();
        assert_eq!(response.json(), json(&arguments), "{question}");
    }
}

#[test]
fn the_report_is_saved_as_the_command_writes_it() {
    let dump = sample("open-report.hprof");
    json(&["summary", &dump]);
    let server = Server::start(&[&dump]);
    server.sources();
    for (extension, media_type) in [("html", "text/html"), ("md", "text/markdown")] {
        let written = program::scratch(&format!("open-report.{extension}"));
        print(&["report", &dump, "-o", written.to_str().unwrap()]);
        let response = server.get(&format!("/api/v1/sources/0/report.{extension}"));
        assert_eq!(response.status, 200, "{}", response.body);
        assert_eq!(
            response.body,
            std::fs::read_to_string(&written).unwrap(),
            "{extension}"
        );
        let kind = format!("content-type: {media_type}; charset=utf-8");
        assert!(response.head.contains(&kind), "{}", response.head);
        let saved = "content-disposition: attachment";
        assert!(response.head.contains(saved), "{}", response.head);
    }
    let redacted = server
        .get("/api/v1/sources/0/report.html?redact=names")
        .body;
    assert!(redacted.contains("Leak suspects") && !redacted.contains("IdCache"));
    assert_eq!(server.get("/api/v1/sources/0/report.pdf").status, 400);
}

#[test]
fn answers_about_recordings_are_those_of_the_commands_too() {
    let path = growing("open.trace");
    let file = path.to_str().unwrap();
    let server = Server::start(&[file]);
    server.sources();
    let by = "--by=type, closest-root";
    let questions: &[(&str, &[&str])] = &[
        ("timeline?limit=3", &["timeline", "--limit=3"]),
        (
            "timeline?by=type,%20closest-root&top=1&states=7",
            &["timeline", by, "--top=1", "--states=7"],
        ),
        // The same look into the states, seen in another way.
        (
            "timeline?by=type,%20closest-root&top=0&states=7&sort=objects",
            &["timeline", by, "--top=0", "--states=7", "--sort=objects"],
        ),
        (
            "growth?from=first&to=last",
            &["growth", "--from=first", "--to=last"],
        ),
        ("classify?at=%233", &["classify", "--at=#3"]),
    ];
    for (question, arguments) in questions {
        let arguments = [&arguments[..1], &[file], &arguments[1..]].concat();
        for _ in 0..2 {
            let response = server.get(&format!("/api/v1/sources/0/{question}"));
            assert_eq!(response.status, 200, "{question}: {}", response.body);
            assert_eq!(response.json(), json(&arguments), "{question}");
        }
    }
}

#[test]
fn a_tree_is_shown_piece_by_piece() {
    let dump = sample("open-pieces.hprof");
    let server = Server::start(&[&dump]);
    let whole = json(&["classify", &dump, "--by=package,type"]);
    let whole = whole["tree"]["children"].as_array().unwrap();
    let mut keys = Vec::new();
    for offset in (0..whole.len()).step_by(2) {
        let query = format!("by=package,type&depth=1&limit=2&offset={offset}");
        let tree = server
            .get(&format!("/api/v1/sources/0/classify?{query}"))
            .json();
        let children = tree["tree"]["children"].as_array().unwrap().clone();
        assert_eq!(
            tree["tree"]["omitted"].as_u64().unwrap_or(0) as usize,
            whole.len() - children.len()
        );
        keys.extend(children);
    }
    assert_eq!(keys.len(), whole.len());
    for (piece, node) in keys.iter().zip(whole) {
        assert_eq!(
            (&piece["key"], &piece["retained"]),
            (&node["key"], &node["retained"])
        );
        let below = node["children"].as_array().map_or(0, Vec::len);
        assert_eq!(piece["omitted"].as_u64().unwrap_or(0) as usize, below);
    }
    let found = server
        .get("/api/v1/sources/0/classify?by=type&depth=1&search=CACHE")
        .json();
    let found = found["tree"]["children"].as_array().unwrap();
    let with = |node: &Value| {
        node["key"]
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("cache")
    };
    assert!(!found.is_empty() && found.iter().all(with), "{found:?}");
}

#[test]
fn only_who_has_the_token_gets_answers() {
    let dump = sample("open-token.hprof");
    let server = Server::start(&[&dump]);
    let host = format!("Host: {}", server.host);
    let token = format!("Authorization: Bearer {}", server.token);
    let port = server.host.split(':').nth(1).unwrap();
    let sources = "/api/v1/sources";
    let status = |headers: &[&str]| server.request("GET", sources, headers).status;
    assert_eq!(status(&[&host, &token]), 200);
    assert_eq!(status(&[&format!("Host: localhost:{port}"), &token]), 200);
    assert_eq!(status(&[&host]), 401);
    assert_eq!(status(&[&host, "Authorization: Bearer 0123"]), 401);
    assert_eq!(status(&["Host: attacker.example", &token]), 421);
    assert_eq!(
        status(&[&host, &token, "Origin: http://attacker.example"]),
        403
    );
    assert_eq!(
        status(&[&host, &token, &format!("Origin: http://{}", server.host)]),
        200
    );
    let page = server.request("GET", "/", &[&host]);
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
    ] {
        assert!(page.head.contains(header), "{}", page.head);
    }
    assert!(!page.body.contains(&server.token));
}

#[test]
fn pages_reach_no_other_files() {
    let dump = sample("open-files.hprof");
    let server = Server::start(&[&dump]);
    let refused = [
        "/api/v1/sources/1/summary",
        "/api/v1/sources/0/summary?file=/etc/passwd",
        "/api/v1/sources/0/summary?index=/tmp",
        "/api/v1/sources/0/classify?define=/etc/passwd",
        "/api/v1/sources/0/classify?save=kept",
        "/api/v1/sources/0/inspect?group=all()&dot=/tmp/dot",
        "/api/v1/sources/0/report?output=/tmp/report",
        "/api/v1/sources/0/diff?later=/etc/passwd",
        "/api/v1/sources/0/record",
        "/api/v1/sources/0/histogram?by=nonsense",
        "/api/v1/nothing",
    ];
    for path in refused {
        let response = server.get(path);
        assert!(
            [400, 404].contains(&response.status),
            "{path}: {}",
            response.body
        );
        assert!(response.json()["error"]["message"].is_string(), "{path}");
    }
    // A file that is there and would be understood.
    let features = program::scratch("open-features.txt");
    std::fs::write(&features, "[Secret]\njava.lang.*\n").unwrap();
    let by = format!("feature(%22{}%22)", features.display());
    for question in [
        format!("classify?by={by}"),
        format!("classify?by=own&definitions=classifier%20own%20=%20{by}"),
    ] {
        let response = server.get(&format!("/api/v1/sources/0/{question}"));
        let told = response.json()["error"]["message"].to_string();
        assert!(
            told.contains("only on the command line"),
            "{question}: {told}"
        );
    }
}

#[test]
fn mistakes_are_explained() {
    let dump = sample("open-mistakes.hprof");
    let server = Server::start(&[&dump]);
    let response = server.get("/api/v1/sources/0/classify?by=typ");
    assert_eq!(response.status, 400);
    let message = response.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains('^') && message.contains("type"),
        "{message}"
    );
    assert_eq!(
        server
            .get("/api/v1/sources/0/histogram?filter=no.such.*")
            .status,
        404
    );
}

#[test]
fn several_dumps_are_compared() {
    let (first, second) = (sample("open-first.hprof"), sample("open-second.hprof"));
    let server = Server::start(&[&first, &second]);
    let response = server.get("/api/v1/sources/0/diff?later=1&by=package");
    assert_eq!(
        response.json(),
        json(&["diff", &first, &second, "--by=package"])
    );
}

#[test]
fn the_description_lists_what_can_be_asked() {
    let dump = sample("open-description.hprof");
    let server = Server::start(&[&dump]);
    let description = server.get("/api/v1/openapi.json").json();
    let paths = description["paths"].as_object().unwrap();
    let histogram = &paths["/api/v1/sources/{source}/histogram"]["get"];
    let names: Vec<&str> = histogram["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"by") && names.contains(&"at") && !names.contains(&"index"),
        "{names:?}"
    );
    assert!(!paths.contains_key("/api/v1/sources/{source}/record"));
    let schema = |name: &str| {
        let parameters = histogram["parameters"].as_array().unwrap();
        let found = parameters
            .iter()
            .find(|parameter| parameter["name"] == name);
        found.unwrap()["schema"].clone()
    };
    assert_eq!(schema("source")["maximum"], 0, "one file is open");
    assert_eq!(schema("limit")["type"], "integer");
    assert!(histogram["responses"]["401"].is_object());
}

#[test]
fn addresses_that_make_no_sense_are_refused_in_the_same_form() {
    let dump = sample("open-addresses.hprof");
    let server = Server::start(&[&dump]);
    for (path, status) in [
        ("/api/v1/sources/-1/summary", 404),
        ("/api/v1/sources/first/summary", 404),
        ("/api/v1/sources/1/classifiers", 404),
        ("/api/v1/sources/99999999999999999999/summary", 404),
        ("/api/v1/sources/%FF/summary", 400),
        ("/api/v1/sources/0/threads?exact=perhaps", 400),
    ] {
        let response = server.get(path);
        assert_eq!(response.status, status, "{path}: {}", response.body);
        let said = response.json();
        assert!(said["error"]["message"].is_string(), "{path}: {said}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let file = program::scratch("open-nonsense.hprof");
    std::fs::write(&file, "this is no heap dump").unwrap();
    let dump = sample("open-beside.hprof");
    let server = Server::start(&[file.to_str().unwrap(), &dump]);
    let sources = server.sources();
    assert_eq!(sources[0]["status"], "failed");
    assert!(
        sources[0]["reason"]
            .as_str()
            .unwrap()
            .contains("open-nonsense.hprof")
    );
    assert_eq!(sources[1]["status"], "ready");
}

/// A page that listens hears of what it started, and what nobody waits for any more ends.
#[test]
fn work_can_be_followed_and_cancelled() {
    let dump = sample("open-work.hprof");
    let server = Server::start(&[&dump]);
    server.sources();
    let host = format!("Host: {}", server.host);
    let token = format!("Authorization: Bearer {}", server.token);
    let listener = server.send("GET", "/api/v1/events", &[&host, &token]);
    let mut lines = BufReader::new(listener).lines();
    // The head of the answer: from here on the server knows the listener.
    lines
        .by_ref()
        .find(|line| line.as_ref().unwrap().is_empty());
    let named = [host.as_str(), &token, "x-anthill-job: mine"];
    let path = "/api/v1/sources/0/classify?by=type,closest-root";
    assert_eq!(server.request("GET", path, &named).status, 200);
    let mut events =
        lines.filter_map(|line| Some(line.unwrap().strip_prefix("data: ")?.to_owned()));
    let progress = events.find(|event| event.contains("mine")).unwrap();
    let progress: Value = serde_json::from_str(&progress).unwrap();
    assert_eq!(
        (&progress["event"], &progress["source"]),
        (&"progress".into(), &0.into())
    );
    assert!(!progress["phase"].as_str().unwrap().is_empty());
    assert_eq!(
        server.request("DELETE", "/api/v1/jobs/mine", &named).status,
        404
    );
    assert_eq!(
        server
            .request("DELETE", "/api/v1/jobs/reading-0", &named)
            .status,
        204
    );
}
