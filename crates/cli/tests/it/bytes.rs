//! Files that change while they are open, disks and limits that are too small, and packed files that are
//! made to fill disks: always an error that names the file and says what to do.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::open::Server;
use crate::pipes::unpacked;
use crate::program::{Ran, command, run, scratch};
use crate::recording::growing;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

/// A server on a file, with indexes of its own.
fn serve(file: &Path, cache: &Path) -> Server {
    let mut command = command(&["open", "--no-browser", file.to_str().unwrap()]);
    command.env("XDG_CACHE_HOME", cache).stderr(Stdio::piped());
    Server::started(command)
}

/// Asks until the server ends; how it ended and what it said.
fn ask_to_its_end(server: &mut Server, paths: &[&str]) -> (ExitStatus, String) {
    let started = Instant::now();
    let headers = [
        format!("Host: {}", server.host),
        format!("Authorization: Bearer {}", server.token),
    ];
    let status = loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it goes on");
        for path in paths {
            let headers = [headers[0].as_str(), headers[1].as_str()];
            if let Ok(mut stream) = server.try_send("GET", path, &headers) {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
    };
    let mut said = String::new();
    let mut stderr = server.child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    (status, said)
}

fn cut(file: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

fn assert_says(ended: (ExitStatus, String), file: &Path, what: &str) {
    let (status, said) = ended;
    assert_eq!(status.code(), Some(3), "{status}: {said}");
    let start = format!("anthill: {}: ", file.display());
    assert!(said.contains(&start) && said.contains(what), "{said}");
    assert!(said.contains("try again"), "{said}");
}

#[test]
fn an_index_that_is_cut_off_while_it_is_open_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.hprof");
    fs::write(&file, unpacked()).unwrap();
    let mut server = serve(&file, &folder.path().join("cache"));
    assert_eq!(server.get("/api/v1/sources/0/summary").status, 200);
    let index = heap_index(&folder.path().join("cache/anthill"));
    cut(&index, 0);
    let ended = ask_to_its_end(
        &mut server,
        &["/api/v1/sources/0/structures", "/api/v1/sources/0/waste"],
    );
    assert_says(ended, &index, " to 0 bytes");
    // What is left is not believed.
    let mut again = command(&["summary", file.to_str().unwrap()]);
    again.env("XDG_CACHE_HOME", folder.path().join("cache"));
    let output = again.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("index kept in"));
}

fn heap_index(base: &Path) -> PathBuf {
    let folders = fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut heaps = folders.map(|folder| folder.join("heap"));
    heaps.find(|heap| heap.exists()).unwrap()
}

#[test]
fn a_file_that_is_cut_off_between_two_questions_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (dump, trace) = (
        folder.path().join("app.hprof"),
        folder.path().join("app.trace"),
    );
    fs::write(&dump, unpacked()).unwrap();
    fs::copy(growing("cut-while-open.trace"), &trace).unwrap();
    for file in [dump, trace] {
        let server = serve(&file, folder.path());
        assert_eq!(server.get("/api/v1/sources/0/summary").status, 200);
        cut(&file, 100);
        let response = server.get("/api/v1/sources/0/waste");
        assert!((400..500).contains(&response.status), "{}", response.body);
        assert!(
            response.body.contains(file.to_str().unwrap()),
            "{}",
            response.body
        );
    }
}

#[test]
fn a_signal_that_somebody_sends_is_not_taken_for_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = serve(Path::new(DEMO), folder.path());
    assert_eq!(server.get("/api/v1/sources/0/summary").status, 200);
    let pid = server.child.id().to_string();
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -BUS {pid}")])
        .status()
        .unwrap();
    assert!(sent.success());
    let status = server.child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(7)
    );
}

/// Runs the program in a shell after another command there.
fn run_after(first: &str, arguments: &[&str]) -> Ran {
    let program = command(arguments);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{first} && exec \"$0\" \"$@\"")])
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::null());
    let output = shell.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn where_files_may_not_be_large_the_answer_comes_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().to_str().unwrap();
    let limited = |arguments: &[&str]| run_after("ulimit -f 16", arguments);
    let ran = limited(&["summary", DEMO, "--index", kept]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("  cannot write the index to "),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("File too large"), "{}", ran.err);

    let output = folder.path().join("report.html");
    let ran = limited(&["report", DEMO, "--no-index", "-o", output.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("File too large"), "{}", ran.err);

    // A pipe needs a copy, which has no room either.
    let ran = run_after("ulimit -f 16", &["summary", "/dev/stdin", "--index", kept]);
    assert_eq!(ran.code, 2);
    let dump = unpacked();
    let piped = scratch("limited.hprof");
    fs::write(&piped, &dump).unwrap();
    let first = format!(
        "ulimit -f 16 && exec < /dev/null && cat {}",
        piped.display()
    );
    let script = format!("{first} | \"$0\" summary -");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_anthill")])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no space for a temporary copy") && said.contains("TMPDIR"),
        "{said}"
    );
}

/// A dump with so many zeros behind it, packed as several gzip members.
fn bomb(path: &Path, length: usize, members: usize) {
    let mut out = File::create(path).unwrap();
    let head = unpacked();
    for member in 0..members {
        let mut encoder = GzEncoder::new(&mut out, Compression::fast());
        if member == 0 {
            encoder.write_all(&head).unwrap();
        }
        let zeros = vec![0; 1 << 20];
        for _ in 0..length / zeros.len() / members {
            encoder.write_all(&zeros).unwrap();
        }
        encoder.finish().unwrap();
    }
}

#[test]
fn a_packed_file_does_not_unpack_without_limit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, members) in [("one.gz", 1), ("many.gz", 20)] {
        let file = folder.path().join(name);
        bomb(&file, 60 << 20, members);
        let file = file.to_str().unwrap();
        let limited = |limit: &str| {
            let mut command = command(&["summary", file, "--no-index"]);
            let output = command.env("ANTHILL_UNPACK_LIMIT", limit).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            (output.status.code().unwrap(), said)
        };
        let (code, said) = limited("40M");
        assert_eq!(code, 2, "{said}");
        assert!(said.starts_with(&format!("anthill: {file}: ")), "{said}");
        assert!(said.contains("more than 40 MB"), "{said}");
        assert!(said.contains("ANTHILL_UNPACK_LIMIT"), "{said}");
        assert_eq!(limited("1G").0, 0);
        let (code, said) = limited("much");
        assert!(code == 2 && said.contains("use for example 200G"), "{said}");
    }
}

#[test]
fn zstd_does_not_unpack_without_limit_either() {
    let file = scratch("bomb.hprof.zst");
    let mut bytes = unpacked();
    bytes.resize(200 << 20, 0);
    fs::write(&file, zstd::bulk::compress(&bytes, 1).unwrap()).unwrap();
    let mut command = command(&["summary", file.to_str().unwrap(), "--no-index"]);
    let output = command
        .env("ANTHILL_UNPACK_LIMIT", "100M")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("more than 100 MB"), "{said}");
}

#[test]
fn unpacking_leaves_room_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.hprof.gz");
    bomb(&file, 400 << 20, 1);
    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let program = command(&["summary", file.to_str().unwrap(), "--no-index"]);
    let script = "mount -t tmpfs -o size=200m tmpfs \"$0\" || exit 99; TMPDIR=\"$0\" \"$@\"; \
                  code=$?; ls -A \"$0\"; exit $code";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(&small)
        .arg(program.get_program())
        .args(program.get_args())
        .output();
    let Ok(output) = output else {
        return anthill_testkit::skipped("a full disk", "there is no program unshare");
    };
    if matches!(output.status.code(), Some(99) | Some(1)) {
        return anthill_testkit::skipped("a full disk", "nothing can be mounted here");
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no space for a temporary copy in"), "{said}");
    assert!(said.contains("Set TMPDIR"), "{said}");
    assert_eq!(output.stdout, b"", "nothing is left behind");
}

#[test]
fn an_index_that_others_may_have_made_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().to_str().unwrap();
    run(&["summary", DEMO, "--index", kept]);
    let again = run(&["summary", DEMO, "--index", kept]);
    assert!(
        again.out.contains("  opened from the index in "),
        "{}",
        again.out
    );
    // The same index, with the key of somebody else.
    let key = folder.path().join("key");
    let mut secret = fs::read(&key).unwrap();
    secret[0] ^= 1;
    fs::write(&key, secret).unwrap();
    let foreign = run(&["summary", DEMO, "--index", kept]);
    assert!(foreign.out.contains("  index kept in "), "{}", foreign.out);
    // A key that others can read.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&key, readable).unwrap();
    let shared = run(&["summary", DEMO, "--index", kept]);
    assert_eq!(shared.code, 0);
    assert!(
        shared.out.contains("  cannot write the index to "),
        "{}",
        shared.out
    );
    assert!(shared.err.contains("by other users"), "{}", shared.err);
}
