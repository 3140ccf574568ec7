//! Recordings that come and go all the time. Most of a recording's time is the recorder's, not the agent's, so the test recorder does
//! in minutes what the real one (`crates/cli/tests/soak`) does in hours.

use std::env;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anthill_testkit::{Beside, Jdk, Sample, skipped};
use anthill_wire::{Follow, HeadClass, SetSampling, Stop, TakeDump, TakeWalk, ToAgent};

use crate::recorder::{Listener, Recorder};
use crate::{UNLOCK, combinations, is_searchable};

/// How many recordings a JVM gets before the next one is started, beside something else.
const RECORDINGS_OF_A_JVM: u32 = 250;

/// Some of what a recording does, by turns. An agent that has no memory to go on may leave at any moment.
fn record(
    recorder: &mut Recorder,
    folder: &Path,
    random: &mut fastrand::Rng,
    walk: bool,
) -> io::Result<()> {
    let follow = match random.u32(..3) {
        0 if walk => Follow::Tag,
        1 => Follow::Nothing,
        _ => Follow::Handle,
    };
    let bytes = 1 << random.u32(10..20);
    recorder.try_order(&ToAgent::SetSampling(SetSampling { bytes, follow }))?;
    let heads = HeadClass {
        name: "java/util/HashMap".to_owned(),
        subclasses: true,
    };
    recorder.try_order(&ToAgent::HeadClasses(vec![heads]))?;
    let path = folder.join("state").to_str().unwrap().to_owned();
    let (order, collect) = (1, random.bool());
    recorder.try_order(&match random.u32(..6) {
        0 | 1 => ToAgent::TakeDump(TakeDump {
            order,
            path,
            collect,
            find_heads: true,
            limit: 1_000_000,
        }),
        2 if walk => ToAgent::TakeWalk(TakeWalk {
            order,
            path,
            collect,
        }),
        3 => ToAgent::Collect(order),
        _ => ToAgent::Flush(order),
    })?;
    thread::sleep(Duration::from_millis(random.u64(..50)));
    Ok(())
}

/// What is left to be done.
#[derive(Clone, Copy)]
struct Recordings {
    ended: u32,
    broken_off: u32,
}

impl Recordings {
    fn all(self) -> u32 {
        self.ended + self.broken_off
    }
}

/// Some recordings of one JVM; false if it cannot run beside that.
fn soak(
    (jdk, flag, collector): (&Jdk, &str, &str),
    beside: Beside,
    random: &mut fastrand::Rng,
    left: &mut Recordings,
) -> bool {
    let mut flags = vec![UNLOCK.to_owned(), flag.to_owned(), "-Xmx128m".to_owned()];
    flags.extend(beside.flags());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let probe = jdk.command("java").args(&flags).arg("-version").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        skipped(
            &format!("{beside:?}"),
            &format!("not in JDK {}", jdk.version()),
        );
        return false;
    }
    println!(
        "JDK {}, {collector}, {beside:?}: {} to go",
        jdk.version(),
        left.all()
    );
    let sample = Sample::start(jdk, "Busy", beside.arguments(), &flags);
    let before = sample.weak_handles();
    let walk = is_searchable(jdk, collector);
    let last = left.all().saturating_sub(RECORDINGS_OF_A_JVM);
    while left.all() > last {
        let listener = Listener::new(",sample=65536");
        listener.attach_after_another(&sample);
        let mut recorder = listener.accept();
        let recorded = record(&mut recorder, listener.folder(), random, walk);
        assert!(
            recorded.is_ok() || beside == Beside::FullHeap,
            "{recorded:?}"
        );
        if random.u32(..left.all()) < left.broken_off {
            left.broken_off -= 1;
            recorder.vanish();
        } else {
            left.ended -= 1;
            let _ = recorder.try_order(&ToAgent::Stop(Stop {}));
            recorder.all_to_the_end();
        }
    }
    sample.wait_until_gone("anthill");
    let after = sample.weak_handles();
    assert!(after < before + 16, "{after} weak handles, {before} before");
    let (code, log) = sample.ended();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("native method"), "{log}");
    true
}

fn soak_in_turn(jvm: (&Jdk, &str, &str), number: usize, all: Recordings) {
    let mut left = all;
    let mut random = fastrand::Rng::with_seed(number as u64);
    let mut beside = Beside::ALL.iter().cycle().skip(number);
    let mut met = Vec::new();
    while left.all() > 0 {
        let beside = *beside.next().unwrap();
        if soak(jvm, beside, &mut random, &mut left) && !met.contains(&beside) {
            met.push(beside);
        }
    }
    let (jdk, _, collector) = jvm;
    let (ended, broken_off) = (all.ended, all.broken_off);
    println!(
        "| {} | {collector} | {ended} | {broken_off} | {met:?} |",
        jdk.version()
    );
}

/// `ANTHILL_SOAK=2000,1000,300`: recordings that are ended and that break off, with G1, and of both together with each other
/// collector; `ANTHILL_SOAK_JDKS=21,25`: only these releases.
#[test]
fn programs_outlive_thousands_of_recordings() {
    let wanted = env::var("ANTHILL_SOAK").unwrap_or_else(|_| "10,5,6".to_owned());
    let numbers = wanted.split(',').map(|number| number.parse().unwrap());
    let numbers: Vec<u32> = numbers.collect();
    let releases = env::var("ANTHILL_SOAK_JDKS").ok();
    let is_wanted = |jdk: &Jdk| {
        let mut releases = releases.iter().flat_map(|releases| releases.split(','));
        releases.clone().next().is_none()
            || releases.any(|release| release == jdk.feature().to_string())
    };
    for (number, &jvm) in combinations().iter().enumerate() {
        if !is_wanted(jvm.0) {
            continue;
        }
        let all = match jvm.2 {
            "G1" => Recordings {
                ended: numbers[0],
                broken_off: numbers[1],
            },
            _ => Recordings {
                ended: numbers[2] - numbers[2] / 3,
                broken_off: numbers[2] / 3,
            },
        };
        soak_in_turn(jvm, number, all);
    }
}
