//! The agent in real JVMs, against what the JVMs and the programs say themselves.

mod collections;
mod dumps;
mod full;
mod recorder;
mod regions;
mod samples;
mod sessions;
mod soak;
mod walks;

use std::sync::OnceLock;

use anthill_testkit::{Jdk, skipped};
use anthill_wire::{HeadClass, ToAgent};

/// The flag of each collector and what the agent calls it.
const COLLECTORS: [(&str, &str); 5] = [
    ("-XX:+UseG1GC", "G1"),
    ("-XX:+UseParallelGC", "Parallel"),
    ("-XX:+UseSerialGC", "Serial"),
    ("-XX:+UseZGC", "ZGC"),
    ("-XX:+UseShenandoahGC", "Shenandoah"),
];

/// Some collectors are experimental in some releases.
const UNLOCK: &str = "-XX:+UnlockExperimentalVMOptions";

/// Runs the test on every JDK with every collector that it has.
fn everywhere(test: impl Fn(&Jdk, &str, &str)) {
    for (jdk, flag, name) in combinations() {
        eprintln!("JDK {} with {name}", jdk.version());
        test(jdk, flag, name);
    }
}

type Combination = (&'static Jdk, &'static str, &'static str);

fn combinations() -> &'static [Combination] {
    static FOUND: OnceLock<Vec<Combination>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = Jdk::all().iter().flat_map(|jdk| {
            let collectors = COLLECTORS.iter();
            collectors.map(move |&(flag, name)| (jdk, flag, name))
        });
        all.filter(|(jdk, flag, name)| {
            let mut java = jdk.command("java");
            let probe = java.args([UNLOCK, flag, "-version"]).output();
            let there = probe.is_ok_and(|probe| probe.status.success());
            if !there {
                skipped(name, &format!("not in JDK {}", jdk.version()));
            }
            there
        })
        .collect()
    })
}

/// The order to follow the heads of the sample program.
fn heads() -> ToAgent {
    ToAgent::HeadClasses(vec![HeadClass {
        name: "anthill/samples/Recorded$Head".to_owned(),
        subclasses: true,
    }])
}

/// Whether heaps can be searched for heads and walked: those that JDK 11 collects beside the program cannot.
fn is_searchable(jdk: &Jdk, collector: &str) -> bool {
    jdk.feature() != 11 || !matches!(collector, "ZGC" | "Shenandoah")
}

/// Runs the test on every JDK with every collector whose heap can be searched.
fn everywhere_searchable(test: impl Fn(&Jdk, &str, &str)) {
    everywhere(|jdk, flag, collector| {
        if is_searchable(jdk, collector) {
            test(jdk, flag, collector);
        }
    });
}
