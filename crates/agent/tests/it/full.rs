//! Heaps that are full while threads are in JNI critical sections. A search makes HotSpot stop all threads and then allocate. If that
//! needs a collection, and the collection waits for a thread in a critical section, which is stopped as well, nothing ever goes on.

use std::time::{Duration, Instant};

use anthill_testkit::{Jdk, Sample};
use anthill_wire::{HeadClass, ToAgent};

use crate::recorder::Listener;
use crate::{COLLECTORS, Combination, UNLOCK, combinations};

/// Long enough for agents that do not look whether there is room.
const WALKING: Duration = Duration::from_secs(2);

/// Whether searches allocate, and collections wait for critical sections.
fn is_endangered(jdk: &Jdk, collector: &str) -> bool {
    match collector {
        "Shenandoah" => false,
        "G1" => (16..22).contains(&jdk.feature()),
        _ => jdk.feature() >= 16,
    }
}

/// The newest release with this collector that is endangered.
fn endangered(collector: &str) -> Option<Combination> {
    let all = combinations().iter().copied();
    all.filter(|&(jdk, _, name)| name == collector && is_endangered(jdk, name))
        .max_by_key(|(jdk, ..)| jdk.feature())
}

#[test]
fn searches_of_full_heaps_do_not_stop_the_program_for_good() {
    let all = COLLECTORS.iter().filter_map(|(_, name)| endangered(name));
    for (jdk, flag, collector) in all {
        let about = format!("{collector} of JDK {}", jdk.version());
        let listener = Listener::new(",sample=0");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx48m"];
        let mut sample = Sample::start(jdk, "Critical", &[], &flags);
        let mut recorder = listener.accept();
        sample.tell("work");
        let start = Instant::now();
        let (mut walks, mut refused) = (0, 0);
        while start.elapsed() < WALKING {
            walks += 1;
            let walked = recorder.walk(&listener.folder().join("walk"));
            refused += u32::from(walked.failure.is_some());
        }
        eprintln!("{about}: {walks} walks, {refused} refused");
        if collector == "ZGC" {
            // It may fail for want of memory, but it ends.
            recorder.order(&ToAgent::HeadClasses(vec![HeadClass {
                name: "java/util/HashMap".to_owned(),
                subclasses: true,
            }]));
            recorder.dump(&listener.folder().join("dump.hprof"));
        }
    }
}
