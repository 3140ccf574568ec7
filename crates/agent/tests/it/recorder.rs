//! A recorder for tests: takes everything the agent says and gives it orders.

use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::{Sample, agent};
use anthill_wire::{Frames, FromAgent, Hello, StateDone, TakeDump, TakeWalk, ToAgent};

pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

#[derive(Default)]
struct Heard {
    messages: Vec<FromAgent>,
    over: bool,
}

/// Where the agent is told to connect.
pub(crate) struct Listener {
    listener: UnixListener,
    options: String,
    folder: tempfile::TempDir,
}

impl Listener {
    pub(crate) fn new(options: &str) -> Listener {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("agent.sock");
        Listener {
            listener: UnixListener::bind(&socket).unwrap(),
            options: format!("socket={}{options}", socket.display()),
            folder,
        }
    }

    /// The flag that starts a JVM with the agent.
    pub(crate) fn flag(&self) -> String {
        format!("-agentpath:{}={}", agent().display(), self.options)
    }

    /// Loads the agent into a running program; what the JVM answered.
    pub(crate) fn attach(&self, sample: &Sample) -> String {
        sample.load_agent(&agent(), &self.options)
    }

    /// The same, again and again until the agent has noticed that the recorder before is gone and the JVM has memory for it.
    pub(crate) fn attach_after_another(&self, sample: &Sample) {
        let deadline = Instant::now() + PATIENCE;
        while !self.attach(sample).trim_end().ends_with('0') {
            assert!(Instant::now() < deadline, "the agent sends everybody away");
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The connection of the agent, with everything it says.
    pub(crate) fn accept(&self) -> Recorder {
        let recorder = self.accept_deaf();
        let reading = recorder.stream.try_clone().unwrap();
        let shared = Arc::clone(&recorder.heard);
        thread::spawn(move || listen(reading, &shared));
        recorder
    }

    /// The connection of the agent, without taking anything it says.
    pub(crate) fn accept_deaf(&self) -> Recorder {
        let (stream, _) = self.listener.accept().unwrap();
        Recorder {
            stream,
            heard: Arc::default(),
            orders: 0,
        }
    }
}

fn listen(stream: UnixStream, heard: &(Mutex<Heard>, Condvar)) {
    let mut frames = Frames::new(stream);
    while let Ok(Some(frame)) = frames.next_frame() {
        let message = FromAgent::decode(frame).expect("the agent speaks the protocol");
        heard.0.lock().unwrap().messages.push(message);
        heard.1.notify_all();
    }
    heard.0.lock().unwrap().over = true;
    heard.1.notify_all();
}

pub(crate) struct Recorder {
    stream: UnixStream,
    heard: Arc<(Mutex<Heard>, Condvar)>,
    orders: u32,
}

impl Recorder {
    pub(crate) fn order(&mut self, order: &ToAgent) {
        self.try_order(order).unwrap();
    }

    /// An error if the agent is gone.
    pub(crate) fn try_order(&mut self, order: &ToAgent) -> io::Result<()> {
        let mut bytes = Vec::new();
        order.encode(&mut bytes);
        self.stream.write_all(&bytes)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The first message that `find` wants, waiting for it if need be.
    pub(crate) fn wait_for<T>(&self, what: &str, find: impl Fn(&FromAgent) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = self.heard.0.lock().unwrap();
        let mut looked_at = 0;
        loop {
            if let Some(found) = heard.messages[looked_at..].iter().find_map(&find) {
                return found;
            }
            looked_at = heard.messages.len();
            assert!(!heard.over, "the agent left without saying {what}");
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the agent does not say {what}");
            heard = self.heard.1.wait_timeout(heard, left).unwrap().0;
        }
    }

    pub(crate) fn hello(&self) -> Hello {
        self.wait_for("hello", |message| match message {
            FromAgent::Hello(hello) => Some(hello.clone()),
            _ => None,
        })
    }

    /// Waits until everything that happened before has arrived, and returns all messages so far.
    pub(crate) fn flushed(&mut self) -> Vec<FromAgent> {
        self.orders += 1;
        let number = self.orders;
        self.order(&ToAgent::Flush(number));
        self.wait_for("flushed", |message| {
            (*message == FromAgent::Flushed(number)).then_some(())
        });
        self.messages()
    }

    pub(crate) fn messages(&self) -> Vec<FromAgent> {
        self.heard.0.lock().unwrap().messages.clone()
    }

    /// All messages, after the agent closed the connection.
    pub(crate) fn all_to_the_end(&self) -> Vec<FromAgent> {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = self.heard.0.lock().unwrap();
        while !heard.over {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the agent does not leave");
            heard = self.heard.1.wait_timeout(heard, left).unwrap().0;
        }
        heard.messages.clone()
    }

    /// A dump with the places of the followed objects.
    pub(crate) fn dump(&mut self, path: &Path) -> (StateDone, Vec<(u64, u64)>) {
        let order = self.begin_dump(path);
        let done = self.state_done(order);
        let pairs = self
            .messages()
            .into_iter()
            .filter_map(|message| match message {
                FromAgent::Identities(some) if some.order == order => Some(some.objects),
                _ => None,
            })
            .flatten()
            .collect();
        (done, pairs)
    }

    pub(crate) fn begin_dump(&mut self, path: &Path) -> u32 {
        self.orders += 1;
        let order = self.orders;
        self.order(&ToAgent::TakeDump(TakeDump {
            order,
            path: path.to_str().unwrap().to_owned(),
            collect: false,
            find_heads: true,
            limit: 1_000_000,
        }));
        order
    }

    pub(crate) fn walk(&mut self, path: &Path) -> StateDone {
        let order = self.begin_walk(path);
        self.state_done(order)
    }

    pub(crate) fn begin_walk(&mut self, path: &Path) -> u32 {
        self.orders += 1;
        let order = self.orders;
        self.order(&ToAgent::TakeWalk(TakeWalk {
            order,
            path: path.to_str().unwrap().to_owned(),
            collect: false,
        }));
        order
    }

    pub(crate) fn collect(&mut self) -> StateDone {
        let order = self.begin_collect();
        self.state_done(order)
    }

    pub(crate) fn begin_collect(&mut self) -> u32 {
        self.orders += 1;
        self.order(&ToAgent::Collect(self.orders));
        self.orders
    }

    fn state_done(&self, order: u32) -> StateDone {
        self.wait_for("state done", |message| match message {
            FromAgent::StateDone(done) if done.order == order => Some(done.clone()),
            _ => None,
        })
    }

    /// Goes away without a word, as if it had been killed.
    pub(crate) fn vanish(self) {
        // The agent may have been the first.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}
