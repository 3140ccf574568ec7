//! A sample program of `java/samples`, compiled once and running on a JVM of choice.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::javac::{compile, joined};
use crate::{Histogram, Jdk, histogram, process, repository};

const READY_TIMEOUT: Duration = Duration::from_secs(300);
const JCMD_TIMEOUT: Duration = Duration::from_secs(300);

/// How the JVM is to write a heap dump.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions {
    /// Also unreachable objects; without it the JVM does a full GC first.
    pub all: bool,
    /// Compressed with gzip while writing; JDK 17 and newer.
    pub gz: bool,
}

/// A running sample program. It is ended when this is dropped, and ends by itself when the test
/// process dies, since its standard input is closed then.
pub struct Sample {
    name: String,
    jdk: Jdk,
    process: Child,
    /// None after it was closed.
    stdin: Option<ChildStdin>,
    printed: Receiver<Printed>,
    truth: BTreeMap<String, String>,
    log: String,
}

enum Printed {
    Out(String),
    Err(String),
}

impl Sample {
    /// Starts a sample and waits until it is ready.
    ///
    /// # Panics
    /// When it cannot be compiled or started, or is not ready in time; the message has its output.
    pub fn start(jdk: &Jdk, name: &str, arguments: &[&str], jvm_flags: &[&str]) -> Sample {
        Sample::start_with(jdk, &[classes().to_owned()], name, arguments, jvm_flags)
    }

    /// Starts a sample by a program that runs the command that is appended to it.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_by(
        mut launcher: Command,
        jdk: &Jdk,
        name: &str,
        arguments: &[&str],
        jvm_flags: &[&str],
    ) -> Sample {
        launcher.arg(jdk.command("java").get_program());
        Sample::start_as(
            launcher,
            jdk,
            &[classes().to_owned()],
            name,
            arguments,
            jvm_flags,
        )
    }

    pub(crate) fn start_with(
        jdk: &Jdk,
        class_path: &[PathBuf],
        name: &str,
        arguments: &[&str],
        jvm_flags: &[&str],
    ) -> Sample {
        let java = jdk.command("java");
        Sample::start_as(java, jdk, class_path, name, arguments, jvm_flags)
    }

    pub(crate) fn start_as(
        mut java: Command,
        jdk: &Jdk,
        class_path: &[PathBuf],
        name: &str,
        arguments: &[&str],
        jvm_flags: &[&str],
    ) -> Sample {
        let mut process = java
            .args(jvm_flags)
            .arg("-cp")
            .arg(joined(class_path))
            .arg(match name.contains('.') {
                true => name.to_owned(),
                false => format!("anthill.samples.{name}"),
            })
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {name} on JDK {}: {e}", jdk.version()));

        let (sender, printed) = mpsc::channel();
        forward(process.stdout.take(), Printed::Out, sender.clone());
        forward(process.stderr.take(), Printed::Err, sender);
        let stdin = process.stdin.take();
        let mut sample = Sample {
            name: name.to_owned(),
            jdk: jdk.clone(),
            process,
            stdin,
            printed,
            truth: BTreeMap::new(),
            log: String::new(),
        };
        sample.wait_until_ready();
        sample
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn jdk(&self) -> &Jdk {
        &self.jdk
    }

    /// What the program said about itself before it was last ready, by key.
    pub fn truth(&self) -> &BTreeMap<String, String> {
        &self.truth
    }

    /// The number the program said under `key`.
    ///
    /// # Panics
    /// When there is no such key or its value is no number.
    pub fn count(&self, key: &str) -> u64 {
        let value = self
            .truth
            .get(key)
            .unwrap_or_else(|| panic!("{} says nothing about {key:?}", self.name));
        value
            .parse()
            .unwrap_or_else(|_| panic!("{} says {key:?} = {value:?}: no number", self.name))
    }

    /// Sends a command and waits until the program is ready again.
    ///
    /// # Panics
    /// When it is not ready in time; programs without commands never are.
    pub fn send(&mut self, command: &str) {
        self.tell(command);
        self.wait_until_ready();
    }

    /// Sends a command without waiting for anything.
    ///
    /// # Panics
    /// When the program is gone.
    pub fn tell(&mut self, command: &str) {
        let stdin = self.stdin.as_mut().expect("standard input is piped");
        writeln!(stdin, "{command}")
            .unwrap_or_else(|e| panic!("cannot write to {}: {e}", self.name));
    }

    /// Waits until the program is ready after [`Sample::tell`].
    ///
    /// # Panics
    /// When it is not ready in time.
    pub fn wait(&mut self) {
        self.wait_until_ready();
    }

    /// Closes the program's input, waits until it ended by itself and returns its exit code and what it printed
    /// besides truths.
    ///
    /// # Panics
    /// When it does not end in time or is ended by a signal.
    pub fn ended(mut self) -> (i32, String) {
        self.stdin = None;
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.printed.recv_timeout(left) {
                Ok(Printed::Out(line) | Printed::Err(line)) => self.log += &(line + "\n"),
                Err(RecvTimeoutError::Timeout) => self.fail("does not end"),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        match self.process.wait().ok().and_then(|status| status.code()) {
            Some(code) => (code, std::mem::take(&mut self.log)),
            None => self.fail("was ended by a signal"),
        }
    }

    /// What `find` finds in a line that was printed, or will be; truths are not looked at.
    ///
    /// # Panics
    /// When there is no such line in time.
    pub fn line<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            if let Some(found) = self.log.lines().find_map(&find) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.printed.recv_timeout(left) {
                Ok(Printed::Out(line) | Printed::Err(line)) => self.log += &(line + "\n"),
                Err(_) => self.fail("the line that is waited for does not come"),
            }
        }
    }

    /// Loads an agent by the JVM's own attach mechanism, as `jcmd JVMTI.agent_load` does in ten times the time; what the
    /// JVM answered.
    ///
    /// # Panics
    /// When the JVM does not answer.
    pub fn load_agent(&self, library: &Path, options: &str) -> String {
        let mut jvm = self.attached();
        let words = [
            "1",
            "load",
            library.to_str().expect("UTF-8"),
            "true",
            options,
        ];
        let request: String = words.iter().flat_map(|word| [word, "\0"]).collect();
        let mut answer = String::new();
        let asked = jvm
            .write_all(request.as_bytes())
            .and_then(|()| jvm.read_to_string(&mut answer));
        match asked {
            Ok(_) => answer,
            Err(e) => self.fail(&format!("the JVM does not load the agent: {e}")),
        }
    }

    /// A connection to the JVM's attach listener, which a signal starts when a file asks for it.
    fn attached(&self) -> UnixStream {
        let pid = self.pid();
        let socket = format!("/tmp/.java_pid{pid}");
        let deadline = Instant::now() + READY_TIMEOUT;
        let asking = PathBuf::from(format!("/tmp/.attach_pid{pid}"));
        loop {
            if let Ok(stream) = UnixStream::connect(&socket) {
                let _ = fs::remove_file(&asking);
                return stream;
            }
            if !asking.exists() {
                fs::write(&asking, "").expect("/tmp can be written");
                process::signal(pid, process::Signal::QUIT);
            }
            if Instant::now() > deadline {
                self.fail("the JVM cannot be attached to");
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// How many weak handles of native code the JVM has.
    ///
    /// # Panics
    /// When the JVM does not say.
    pub fn weak_handles(&self) -> u64 {
        let printed = self.jcmd(&["Thread.print"]);
        let after = printed.split_once("weak refs: ").map(|(_, after)| after);
        let digits = after.and_then(|after| after.split_whitespace().next());
        digits
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_else(|| self.fail(&printed))
    }

    /// Waits until no thread of the process has a name that begins like this.
    ///
    /// # Panics
    /// When one stays.
    pub fn wait_until_gone(&self, begin: &str) {
        let deadline = Instant::now() + READY_TIMEOUT;
        while self.threads(begin) > 0 {
            if Instant::now() > deadline {
                self.fail(&format!("threads {begin:?} stay"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// How many threads of the process have a name that begins like this, as the system knows them.
    fn threads(&self, begin: &str) -> usize {
        let tasks = format!("/proc/{}/task", self.pid());
        let tasks = fs::read_dir(tasks).expect("the program runs");
        let names = tasks.flatten().filter_map(|task| {
            // A thread may end meanwhile.
            fs::read_to_string(task.path().join("comm")).ok()
        });
        names.filter(|name| name.starts_with(begin)).count()
    }

    /// What it printed so far besides truths.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// The JVM's own class histogram, after a full GC.
    ///
    /// # Panics
    /// When the JVM does not answer.
    pub fn histogram(&self) -> Histogram {
        histogram::parse(&self.jcmd(&["GC.class_histogram"]))
    }

    /// Lets the JVM write a heap dump to `path`; a file there is replaced.
    ///
    /// # Panics
    /// When the JVM does not write it.
    pub fn dump(&self, path: &Path, options: DumpOptions) {
        self.dump_of(self.pid(), path, options);
    }

    /// The same for a JVM that the program under test started.
    ///
    /// # Panics
    /// When the JVM does not write it.
    pub fn dump_of(&self, pid: u32, path: &Path, options: DumpOptions) {
        let path = std::path::absolute(path)
            .unwrap_or_else(|e| panic!("no absolute path for {}: {e}", path.display()));
        // The JVM refuses to overwrite.
        let _ = fs::remove_file(&path);
        let mut arguments = vec!["GC.heap_dump"];
        if options.all {
            arguments.push("-all");
        }
        if options.gz {
            arguments.push("-gz=1");
        }
        let quoted = format!("\"{}\"", path.display());
        arguments.push(&quoted);
        let answer = self.jcmd_of(pid, &arguments);
        assert!(
            answer.contains("Heap dump file created") && path.is_file(),
            "no heap dump of {} in {}: {answer}",
            self.name,
            path.display()
        );
    }

    /// Any other `jcmd` command, with its answer.
    ///
    /// # Panics
    /// When the JVM does not answer.
    pub fn jcmd(&self, arguments: &[&str]) -> String {
        self.jcmd_of(self.pid(), arguments)
    }

    fn jcmd_of(&self, pid: u32, arguments: &[&str]) -> String {
        let answer = self.jdk.jcmd(pid, arguments, JCMD_TIMEOUT);
        answer.unwrap_or_else(|why| self.fail(&why))
    }

    fn wait_until_ready(&mut self) {
        self.truth.clear();
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.printed.recv_timeout(left) {
                Ok(Printed::Out(line)) if line == "READY" => return,
                Ok(Printed::Out(line)) => match truth_in(&line) {
                    Some((key, value)) => {
                        self.truth.insert(key.to_owned(), value.to_owned());
                    }
                    None => self.log += &(line + "\n"),
                },
                Ok(Printed::Err(line)) => self.log += &(line + "\n"),
                Err(RecvTimeoutError::Timeout) => {
                    self.fail(&format!("not ready after {READY_TIMEOUT:?}"))
                }
                Err(RecvTimeoutError::Disconnected) => self.fail("ended before it was ready"),
            }
        }
    }

    fn fail(&self, what: &str) -> ! {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.unwrap_or_default();
        let state = status.lines().find(|line| line.starts_with("State"));
        let since = self.printed.try_iter().map(|printed| match printed {
            Printed::Out(line) | Printed::Err(line) => line + "\n",
        });
        panic!(
            "{} on JDK {}: {what}\n{}\n{}{}",
            self.name,
            self.jdk.version(),
            state.unwrap_or("State: gone"),
            self.log,
            since.collect::<String>()
        );
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // It may have ended already; either way it is gone after this.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `TRUTH key = value`; the value may be empty.
fn truth_in(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("TRUTH ")?.split_once(" =")?;
    Some((key, value.strip_prefix(' ').unwrap_or(value)))
}

fn forward<R: Read + Send + 'static>(
    stream: Option<R>,
    as_printed: fn(String) -> Printed,
    to: Sender<Printed>,
) {
    let stream = stream.expect("the stream is piped");
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            if to.send(as_printed(line)).is_err() {
                break;
            }
        }
    });
}

/// The folder of the compiled samples.
pub(crate) fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| compile(&repository().join("java/samples/anthill/samples"), &[]))
}

#[cfg(test)]
mod tests {
    use super::truth_in;

    #[test]
    fn a_truth_line_may_have_an_empty_value() {
        assert_eq!(truth_in("TRUTH products = 12"), Some(("products", "12")));
        assert_eq!(truth_in("TRUTH empty = "), Some(("empty", "")));
        assert_eq!(truth_in("TRUTH sum = a = b"), Some(("sum", "a = b")));
        assert_eq!(truth_in("anything else"), None);
    }
}
