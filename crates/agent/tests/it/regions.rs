//! Regions of a program whose recorders come and go.

use anthill_testkit::{Jdk, Sample};
use anthill_wire::{FromAgent, Stop, ToAgent};

use crate::recorder::{Listener, Recorder};

const OBJECTS: u64 = 100_000;

/// Events while the program allocates objects that are too few for many samples.
fn events(sample: &mut Sample, recorder: &mut Recorder) -> u64 {
    let before = events_so_far(recorder);
    sample.send(&format!("allocate {OBJECTS}"));
    events_so_far(recorder) - before
}

fn events_so_far(recorder: &mut Recorder) -> u64 {
    // Its cost is told with every order.
    recorder.collect();
    let messages = recorder.flushed();
    let last = messages.iter().rev().find_map(|message| match message {
        FromAgent::Cost(cost) => Some(cost.events),
        _ => None,
    });
    last.expect("a cost")
}

#[test]
fn a_region_is_over_when_its_recorder_leaves() {
    for jdk in Jdk::all() {
        let first = Listener::new("");
        let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &[&first.flag()]);
        let mut recorder = first.accept();
        assert!(events(&mut sample, &mut recorder) < OBJECTS / 10);
        sample.send("begin");
        assert!(events(&mut sample, &mut recorder) >= OBJECTS);
        recorder.order(&ToAgent::Stop(Stop {}));
        recorder.all_to_the_end();

        let second = Listener::new("");
        second.attach(&sample);
        let mut recorder = second.accept();
        assert!(events(&mut sample, &mut recorder) < OBJECTS / 10);
        // It ends all the same, and the next one is seen.
        sample.send("end");
        sample.send("begin");
        assert!(events(&mut sample, &mut recorder) >= OBJECTS);
        sample.send("end");
        assert!(events(&mut sample, &mut recorder) < OBJECTS / 10);
    }
}

#[test]
fn a_region_ends_without_a_recorder() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let first = Listener::new("");
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &[&first.flag()]);
    let mut recorder = first.accept();
    recorder.hello();
    sample.send("begin");
    recorder.order(&ToAgent::Stop(Stop {}));
    recorder.all_to_the_end();
    sample.send("end");
    // One too many.
    sample.send("end");

    let second = Listener::new("");
    second.attach(&sample);
    let mut recorder = second.accept();
    assert!(events(&mut sample, &mut recorder) < OBJECTS / 10);
    sample.send("begin");
    assert!(events(&mut sample, &mut recorder) >= OBJECTS);
    sample.send("end");
    assert!(events(&mut sample, &mut recorder) < OBJECTS / 10);
}
