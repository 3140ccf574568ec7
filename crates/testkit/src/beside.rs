//! What else may go on in a JVM that is recorded.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::sample::classes;
use crate::{Jdk, process, target};

const TIMEOUT: Duration = Duration::from_secs(300);

/// What else goes on in the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Threads, classes and virtual threads come and go.
    Life,
    /// The heap is full every now and then.
    FullHeap,
    FlightRecorder,
    Debugger,
    OtherAgent,
    CheckedJni,
}

impl Beside {
    pub const ALL: [Beside; 6] = [
        Beside::Life,
        Beside::FullHeap,
        Beside::FlightRecorder,
        Beside::Debugger,
        Beside::OtherAgent,
        Beside::CheckedJni,
    ];

    /// For the JVM; one that lacks what it takes does not start with them.
    pub fn flags(self) -> Vec<String> {
        let flags: &[&str] = match self {
            Beside::Life | Beside::FullHeap => &[],
            Beside::FlightRecorder => &["-XX:StartFlightRecording:settings=profile,maxsize=8m"],
            Beside::Debugger => {
                &["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"]
            }
            Beside::OtherAgent => return vec![format!("-javaagent:{}", java_agent().display())],
            Beside::CheckedJni => &["-Xcheck:jni"],
        };
        flags.iter().map(|&flag| flag.to_owned()).collect()
    }

    /// For the sample program `Busy`.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Beside::FullHeap => &["threads", "unload", "virtual", "memory"],
            // With both, one of six JVMs of release 25 does not end, also if nobody records it.
            Beside::Debugger => &["threads", "unload"],
            _ => &["threads", "unload", "virtual"],
        }
    }
}

/// An archive with the samples whose manifest names the Java agent among them.
fn java_agent() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        // Of this process alone: another one may use its own at the same time.
        let folder = target().join(format!("tmp/other-agent-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder for scratch files can be written");
        let manifest = folder.join("manifest");
        fs::write(&manifest, "Premain-Class: anthill.samples.OtherAgent\n")
            .expect("so can files in it");
        let archive = folder.join("agent.jar");
        let mut jar = Jdk::installed()
            .expect("tests on JVMs need one")
            .command("jar");
        jar.arg("cfm").args([&archive, &manifest]);
        jar.arg("-C").arg(classes()).arg("anthill/samples");
        process::run_successfully(&mut jar, TIMEOUT).unwrap_or_else(|why| panic!("{why}"));
        archive
    });
    made.clone()
}
