//! What other commands say to a running recorder, and its answers: one line each way.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use crate::{Error, folder};

/// Longer requests are no requests.
const LONGEST: u64 = 4096;
const HASTE: Duration = Duration::from_secs(5);

/// What other commands may ask of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Names the present moment.
    Mark(String),
    /// Takes a heap state now; the text, if any, is its mark.
    Snapshot {
        /// Whether garbage is collected before.
        collect: bool,
        /// What to call it.
        mark: Option<String>,
    },
    /// Ends the recording; the program goes on.
    Stop,
    /// How the recording is.
    Status,
}

impl Request {
    fn line(&self) -> String {
        let one_line = |text: &str| text.replace(['\n', '\r'], " ");
        match self {
            Request::Mark(text) => format!("mark {}", one_line(text)),
            Request::Snapshot { collect, mark } => {
                let collect = if *collect { "collect" } else { "as-is" };
                let mark = one_line(mark.as_deref().unwrap_or_default());
                format!("snapshot {collect} {mark}")
            }
            Request::Stop => "stop".to_owned(),
            Request::Status => "status".to_owned(),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "mark" => Some(Request::Mark(rest.to_owned())),
            "snapshot" => {
                let (collect, mark) = rest.split_once(' ').unwrap_or((rest, ""));
                let mark = (!mark.is_empty()).then(|| mark.to_owned());
                let collect = collect == "collect";
                Some(Request::Snapshot { collect, mark })
            }
            "stop" => Some(Request::Stop),
            "status" => Some(Request::Status),
            _ => None,
        }
    }
}

/// Where the answer to a request goes.
pub(crate) struct Reply(UnixStream);

impl Reply {
    /// The asker may be gone; the recording does not mind.
    pub(crate) fn done(mut self, text: &str) {
        let _ = self.0.write_all(format!("ok {text}\n").as_bytes());
    }

    pub(crate) fn refused(mut self, reason: &str) {
        let _ = self.0.write_all(format!("no {reason}\n").as_bytes());
    }
}

/// Passes on what comes in, from a thread of its own, for as long as somebody listens.
pub(crate) fn serve<T: Send + 'static>(
    listener: UnixListener,
    to: Sender<T>,
    wrap: fn(Request, Reply) -> T,
) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Some((request, reply)) = read_request(stream) else {
                continue;
            };
            if to.send(wrap(request, reply)).is_err() {
                break;
            }
        }
    });
}

fn read_request(stream: UnixStream) -> Option<(Request, Reply)> {
    stream.set_read_timeout(Some(HASTE)).ok()?;
    let mut line = String::new();
    let reading = stream.try_clone().ok()?;
    BufReader::new(reading.take(LONGEST))
        .read_line(&mut line)
        .ok()?;
    let reply = Reply(stream);
    match Request::parse(line.trim_end_matches('\n')) {
        Some(request) => Some((request, reply)),
        None => {
            reply.refused("unknown request");
            None
        }
    }
}

/// Asks the recorder of a JVM and waits for its answer.
pub fn ask(jvm: u32, request: &Request) -> Result<String, Error> {
    let socket = folder::control_of(jvm)?;
    let mut stream = UnixStream::connect(&socket).map_err(|_| Error::NotRecorded(jvm))?;
    let mut answer = String::new();
    let asked = stream
        .write_all(format!("{}\n", request.line()).as_bytes())
        .and_then(|()| BufReader::new(stream).read_line(&mut answer));
    asked.map_err(|source| Error::file(&socket, source))?;
    let answer = answer.trim_end_matches('\n');
    match answer.split_once(' ').unwrap_or((answer, "")) {
        ("ok", text) => Ok(text.to_owned()),
        ("no", reason) => Err(Error::Refused(reason.to_owned())),
        _ => Err(Error::Refused(
            "the recorder ended without a response".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_way() {
        let requests = [
            Request::Mark("after deploy".to_owned()),
            Request::Mark(String::new()),
            Request::Snapshot {
                collect: true,
                mark: None,
            },
            Request::Snapshot {
                collect: false,
                mark: Some("before the test".to_owned()),
            },
            Request::Stop,
            Request::Status,
        ];
        for request in requests {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        assert_eq!(Request::parse("reboot"), None);
    }
}
