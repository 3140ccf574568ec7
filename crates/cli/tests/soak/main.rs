//! Recorders that come, go and are killed beside a program that never rests, on every JDK with every collector and beside other
//! tools. The program compares its results with those of its first round; in the end it must have lost nothing and kept nothing.
//!
//! `./x test` runs a few rounds; `./x soak` sets `ANTHILL_SOAK` to the number of recordings of each kind and prints the figures.

// Nobody sees tests from outside: `pub` says that other modules use it.
#![allow(unreachable_pub)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::process::{self, Finished};
use anthill_testkit::{Beside, Jdk, Sample, agent, skipped};

#[path = "../it/program.rs"]
#[allow(dead_code)]
mod program;

use program::{command, scratch};

/// Nothing that is asked for takes longer unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);

const COLLECTORS: [&str; 5] = ["G1", "Parallel", "Serial", "Z", "Shenandoah"];

/// How many recordings of each kind a JVM gets before the next one is started.
const ROUNDS_OF_A_JVM: u32 = 240;
/// Until then whatever is made once has been made.
const WARM_UP: u32 = 24;

/// The JVM has some more or fewer for collections and compilations.
const MORE_THREADS: usize = 12;
const MORE_FILES: usize = 8;

/// How much larger a JVM may become: what its compilers and class loaders take, and a little for each recording.
const GROWTH_KB: u64 = 32 << 10;
const GROWTH_OF_A_RECORDING_KB: u64 = 64;

/// How many recordings there are to be.
#[derive(Clone, Copy)]
struct Amount {
    detached: u32,
    killed: u32,
}

/// What came of the recordings of a JVM, or of several.
#[derive(Clone, Copy, Default)]
struct Figures {
    jvms: u32,
    detached: u32,
    killed: u32,
    refused: u32,
    rounds: u64,
    seconds: u64,
    /// Kilobytes of the JVM that grew most.
    growth: u64,
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.jvms += other.jvms;
        self.detached += other.detached;
        self.killed += other.killed;
        self.refused += other.refused;
        self.rounds += other.rounds;
        self.seconds += other.seconds;
        self.growth = self.growth.max(other.growth);
    }
}

/// What a JVM at rest has.
struct Holdings {
    threads: usize,
    files: usize,
    kilobytes: u64,
    weak_handles: u64,
}

/// A JVM under recorders.
struct Soaked {
    sample: Sample,
    beside: Beside,
    trace: String,
    random: fastrand::Rng,
    figures: Figures,
}

impl Soaked {
    fn start(jdk: &Jdk, collector: &str, beside: Beside, seed: u64) -> Option<Soaked> {
        agent();
        let collector_flag = format!("-XX:+Use{collector}GC");
        let mut flags = vec![
            "-XX:+UnlockExperimentalVMOptions".to_owned(),
            collector_flag,
            "-Xmx160m".to_owned(),
            "-Xms160m".to_owned(),
            "-XX:+AlwaysPreTouch".to_owned(),
        ];
        flags.extend(beside.flags());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let probe = jdk.command("java").args(&flags).arg("-version").output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            let what = format!("{collector} beside {beside:?}");
            skipped(&what, &format!("not in JDK {}", jdk.version()));
            return None;
        }
        // It never rests, and the commands under test must have their turn.
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).env("MALLOC_ARENA_MAX", "2");
        let trace = scratch(&format!("soak-{}-{collector}-{seed}.trace", jdk.feature()));
        Some(Soaked {
            sample: Sample::start_by(nice, jdk, "Busy", beside.arguments(), &flags),
            beside,
            trace: trace.to_str().unwrap().to_owned(),
            random: fastrand::Rng::with_seed(seed),
            figures: Figures {
                jvms: 1,
                ..Figures::default()
            },
        })
    }

    /// So many recordings of each kind, in turn.
    fn soak(mut self, amount: Amount) -> Figures {
        let start = Instant::now();
        let mut before = None;
        let all = amount.detached + amount.killed;
        for round in 0..all {
            if round == WARM_UP.min(all / 2) {
                before = Some(self.holdings());
            }
            let is_kill = (round + 1) * amount.killed / all > round * amount.killed / all;
            match is_kill {
                true => self.kill_a_recorder(round),
                false => self.record_and_detach(round),
            }
        }
        let before = before.expect("there is a round");
        let after = self.settled(&before);
        self.figures.growth = after.kilobytes.saturating_sub(before.kilobytes);
        self.figures.seconds = start.elapsed().as_secs();
        self.figures.rounds = self.sample.count("rounds");
        let about = format!("{:?}, {all} recordings", self.beside);
        assert!(
            after.threads <= before.threads + MORE_THREADS,
            "{about}: threads"
        );
        assert!(after.files <= before.files + MORE_FILES, "{about}: files");
        let most = GROWTH_KB + GROWTH_OF_A_RECORDING_KB * u64::from(all);
        let growth = self.figures.growth;
        assert!(growth < most, "{about}: {growth} KB of memory");
        let came_about = self.figures.detached > 0 || amount.detached < WARM_UP;
        assert!(came_about, "{about}: none came about");
        let more_handles = after.weak_handles.saturating_sub(before.weak_handles);
        assert!(more_handles < 16, "{about}: {more_handles} weak handles");
        let _ = fs::remove_file(&self.trace);
        self.end()
    }

    fn end(self) -> Figures {
        let (code, log) = self.sample.ended();
        assert_eq!(code, 0, "{log}");
        let warnings = log.lines().filter(|line| {
            let of_jni =
                line.starts_with("WARNING in native method") || line.contains("JNI local refs");
            of_jni || line.contains("FATAL ERROR in native method")
        });
        assert_eq!(warnings.collect::<Vec<_>>(), Vec::<&str>::new(), "{log}");
        self.figures
    }

    fn pid(&self) -> String {
        self.sample.pid().to_string()
    }

    fn options(&self, round: u32) -> Vec<String> {
        let identity = ["heads", "all", "none"][round as usize % 3];
        let options = [
            "--identity",
            identity,
            "--every",
            "300ms",
            "--overhead",
            "100%",
        ];
        let place = ["--replace", "-o", &self.trace];
        options
            .iter()
            .chain(&place)
            .map(|&o| o.to_owned())
            .collect()
    }

    fn record_and_detach(&mut self, round: u32) {
        let pid = self.pid();
        if !self.attach(round) {
            return;
        }
        if self.random.u32(..3) == 0 {
            let collect: &[&str] = if self.random.bool() {
                &["--collect"]
            } else {
                &[]
            };
            // The heap may be too full for it.
            let _ = self.run(&[&["snapshot", &pid, "soaked"], collect].concat());
        }
        self.pause(500);
        let detached = self.run(&["detach", &pid]);
        assert!(detached.status.success(), "{}", detached.stderr);
        self.figures.detached += 1;
    }

    /// Whether it could; a heap that is full may not let it.
    fn attach(&mut self, round: u32) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let pid = self.pid();
        let options = self.options(round);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let arguments = [&["attach", &pid], &options[..]].concat();
        loop {
            let attached = self.run(&arguments);
            if attached.status.success() {
                return true;
            }
            self.figures.refused += 1;
            if matches!(self.beside, Beside::FullHeap) {
                return false;
            }
            // The recorder before it was killed, and the agent has not noticed yet.
            assert!(Instant::now() < deadline, "{}", attached.stderr);
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn kill_a_recorder(&mut self, round: u32) {
        let pid = self.pid();
        let mut recorder = command(&["attach", &pid, "--foreground"])
            .args(self.options(round))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        self.pause(600);
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        self.figures.killed += 1;
    }

    fn pause(&mut self, most: u64) {
        thread::sleep(Duration::from_millis(self.random.u64(..most)));
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        process::run(&mut command(arguments), PATIENCE).unwrap_or_else(|why| panic!("{why}"))
    }

    /// What it has in the end, once threads that ended for Java are gone for the system, too.
    fn settled(&mut self, before: &Holdings) -> Holdings {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.holdings();
            let enough = now.threads <= before.threads + MORE_THREADS
                && now.files <= before.files + MORE_FILES;
            if enough || Instant::now() > deadline {
                return now;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Once the agent is gone and the program rests.
    fn holdings(&mut self) -> Holdings {
        self.sample.wait_until_gone("anthill");
        self.sample.send("rest");
        // What the program's own classes left goes with them.
        self.sample.jcmd(&["GC.run"]);
        let process = PathBuf::from(format!("/proc/{}", self.sample.pid()));
        let holdings = Holdings {
            threads: entries(&process.join("task")),
            files: entries(&process.join("fd")),
            kilobytes: resident(&process),
            weak_handles: self.sample.weak_handles(),
        };
        self.sample.send("work");
        holdings
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("the JVM runs").count()
}

/// Without pages that are shared: ZGC maps its heap three times before JDK 21, and each place it touched counts again.
fn resident(process: &Path) -> u64 {
    let status = fs::read_to_string(process.join("status")).expect("the JVM runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

/// One JDK with one collector.
struct Series {
    /// Each begins beside something else, so that few recordings of each meet everything.
    number: usize,
    jdk: &'static Jdk,
    collector: &'static str,
    amount: Amount,
}

impl Series {
    /// With one JVM after the other, each beside something else.
    fn run(&self) -> Option<Figures> {
        let mut left = self.amount;
        let mut sum = Figures::default();
        let mut beside = Beside::ALL.iter().cycle().skip(self.number);
        let mut tried = 0;
        while left.detached + left.killed > 0 {
            let part = Amount {
                detached: left.detached.min(ROUNDS_OF_A_JVM * 2 / 3),
                killed: left.killed.min(ROUNDS_OF_A_JVM / 3),
            };
            let beside = *beside.next()?;
            tried += 1;
            let seed = u64::from(left.detached) << 32 | u64::from(left.killed);
            let Some(soaked) = Soaked::start(self.jdk, self.collector, beside, seed) else {
                if tried > Beside::ALL.len() && sum.jvms == 0 {
                    return None;
                }
                continue;
            };
            let figures = soaked.soak(part);
            self.tell(&format!("{beside:?}"), &figures);
            sum.add(&figures);
            left.detached -= part.detached;
            left.killed -= part.killed;
        }
        Some(sum)
    }

    /// A row of the table in docs/reliability.md.
    fn tell(&self, beside: &str, figures: &Figures) {
        println!(
            "| {} | {} | {beside} | {} | {} | {} | {} | {} | {:.1} MB | {} s |",
            self.jdk.version(),
            self.collector,
            figures.jvms,
            figures.detached,
            figures.killed,
            figures.refused,
            figures.rounds,
            figures.growth as f64 / 1024.0,
            figures.seconds,
        );
    }
}

/// `ANTHILL_SOAK=2000,1000,300`: recordings that are detached and that are killed, with G1, and of both together with each other
/// collector; `ANTHILL_SOAK_JVMS`: how many JVMs at a time.
fn amounts() -> Option<[u32; 3]> {
    let wanted = env::var("ANTHILL_SOAK").ok()?;
    let mut numbers = wanted
        .split(',')
        .map(|number| number.parse().expect("a number"));
    Some([(); 3].map(|()| numbers.next().expect("three numbers")))
}

fn at_a_time() -> usize {
    let wanted = env::var("ANTHILL_SOAK_JVMS").ok();
    wanted.map_or(1, |number| number.parse().expect("a number"))
}

#[test]
fn programs_outlive_their_recorders() {
    let [detached, killed, others] = amounts().unwrap_or([8, 4, 3]);
    let combinations = COLLECTORS
        .iter()
        .flat_map(|&collector| Jdk::all().iter().map(move |jdk| (jdk, collector)));
    let series = combinations
        .enumerate()
        .map(|(number, (jdk, collector))| Series {
            number,
            jdk,
            collector,
            amount: match collector {
                "G1" => Amount { detached, killed },
                _ => Amount {
                    detached: others - others / 3,
                    killed: others / 3,
                },
            },
        });
    let waiting = Mutex::new(series);
    thread::scope(|scope| {
        for _ in 0..at_a_time() {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(series) = next else { return };
                    if let Some(figures) = series.run() {
                        series.tell("all", &figures);
                    }
                }
            });
        }
    });
}
