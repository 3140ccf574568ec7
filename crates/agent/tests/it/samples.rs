//! Allocation samples and threads, against the JVM's count of allocated bytes and the program's words.

use std::collections::{HashMap, HashSet};

use anthill_testkit::{Jdk, Sample};
use anthill_wire::{Follow, FromAgent, SetSampling, ToAgent};

use crate::recorder::{Listener, Recorder};

/// Symbols by number, checked to be there before they are named.
#[derive(Default)]
struct Symbols {
    classes: HashMap<u64, String>,
    methods: HashMap<u32, anthill_wire::Method>,
    stacks: HashMap<u32, Vec<(u32, i32)>>,
    threads: HashMap<u32, String>,
    samples: Vec<anthill_wire::Sample>,
}

impl Symbols {
    fn of(messages: &[FromAgent]) -> Symbols {
        let mut symbols = Symbols::default();
        for message in messages {
            match message {
                FromAgent::Class(class) => {
                    symbols.classes.insert(class.id, class.signature.clone());
                }
                FromAgent::Method(method) => {
                    let before = symbols.methods.insert(method.number, method.clone());
                    assert!(before.is_none(), "each method once");
                }
                FromAgent::Stack(stack) => {
                    let frames = stack.frames.iter().map(|f| (f.method, f.location));
                    let frames: Vec<_> = frames.collect();
                    assert!(
                        frames.iter().all(|(m, _)| symbols.methods.contains_key(m)),
                        "methods come before stacks"
                    );
                    assert!(symbols.stacks.insert(stack.number, frames).is_none());
                }
                FromAgent::Thread(thread) => {
                    symbols.threads.insert(thread.number, thread.name.clone());
                }
                FromAgent::Sample(sample) => {
                    assert!(symbols.classes.contains_key(&sample.class));
                    assert!(symbols.threads.contains_key(&sample.thread));
                    assert!(sample.stack == 0 || symbols.stacks.contains_key(&sample.stack));
                    symbols.samples.push(sample.clone());
                }
                _ => {}
            }
        }
        symbols
    }

    fn frames_named<'a>(&'a self, stack: u32, name: &'a str) -> impl Iterator<Item = i32> + 'a {
        let frames = self.stacks.get(&stack).into_iter().flatten();
        frames.filter_map(move |(method, location)| {
            (self.methods[method].name == name).then_some(*location)
        })
    }
}

#[test]
fn the_weights_of_samples_add_up_to_what_was_allocated() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=65536,stacks=8");
        let flags = [&listener.flag(), "-Xmx256m"];
        let mut sample = Sample::start(jdk, "Recorded", &[], &flags);
        let mut recorder = listener.accept();
        recorder.hello();
        let before = sample.count("allocated bytes");
        sample.send("churn 500");
        let allocated = sample.count("allocated bytes") - before;

        let symbols = Symbols::of(&recorder.flushed());
        let churned: Vec<_> = symbols
            .samples
            .iter()
            .filter(|s| symbols.frames_named(s.stack, "churn").next().is_some())
            .collect();
        let weight: u64 = churned.iter().map(|sample| sample.weight).sum();
        let share = weight as f64 / allocated as f64;
        // Some 8,000 samples: their sum is within 1.2 % with a probability of two thirds.
        assert!(
            (0.92..1.08).contains(&share),
            "JDK {}: {share}",
            jdk.version()
        );
        for sample in churned {
            assert_eq!(symbols.threads[&sample.thread], "main");
            assert_eq!(sample.id, 0, "nothing is followed");
        }
        let bytes = symbols
            .samples
            .iter()
            .filter(|s| symbols.classes[&s.class] == "[B");
        assert!(
            bytes.count() * 2 > symbols.samples.len(),
            "most bytes are in byte[]"
        );
    }
}

/// A person who loads the agent for assertions pays for no samples.
#[test]
fn nothing_is_sampled_unless_that_is_asked_for() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new("");
    let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
    let mut recorder = listener.accept();
    sample.send("churn 100");
    let samples = Symbols::of(&recorder.flushed()).samples;
    assert_eq!(samples.len(), 0);
}

/// When sampling becomes sparser, the next sample of a thread still stands for as little as those before.
#[test]
fn a_sample_stands_for_the_interval_by_which_it_was_chosen() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=65536,stacks=8");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        recorder.hello();
        sample.send("churn 5");
        let before = Symbols::of(&recorder.flushed());
        let mut samples = before.samples.iter();
        let churned = samples.find(|s| before.frames_named(s.stack, "churn").next().is_some());
        let churning = churned.expect("5 MB were allocated").thread;
        recorder.order(&ToAgent::SetSampling(SetSampling {
            bytes: 1 << 30,
            follow: Follow::Nothing,
        }));
        recorder.flushed();
        sample.send("churn 5");
        // The object may also be one that the thread allocates while it reads the order.
        let later = Symbols::of(&recorder.flushed()).samples;
        let mut later = later[before.samples.len()..].iter();
        let first = later.find(|s| s.thread == churning);
        let first = first.expect("it had been chosen before");
        assert!(first.weight < 1 << 20, "{}", first.weight);
    }
}

#[test]
fn frames_have_methods_with_lines_and_stacks_are_cut() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=16384,stacks=3");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        sample.send("churn 20");
        let symbols = Symbols::of(&recorder.flushed());
        assert!(symbols.stacks.values().all(|frames| frames.len() <= 3));
        let churn = symbols
            .methods
            .values()
            .find(|method| method.name == "churn")
            .expect("churn was sampled");
        assert_eq!(churn.class, "Lanthill/samples/Recorded;");
        assert_eq!(churn.source.as_deref(), Some("Recorded.java"));
        let lines = &churn.lines;
        assert!(lines.len() > 3 && lines.windows(2).all(|w| w[0].0 < w[1].0));
        let sampled = symbols.samples.iter();
        let places: HashSet<_> = sampled
            .flat_map(|s| symbols.frames_named(s.stack, "churn"))
            .collect();
        assert!(places.iter().all(|&place| place >= 0), "{places:?}");
    }
}

#[test]
fn sampling_can_be_changed_and_switched_off() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=0");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        sample.send("churn 50");
        assert!(Symbols::of(&recorder.flushed()).samples.is_empty());

        let set = |bytes| {
            ToAgent::SetSampling(SetSampling {
                bytes,
                follow: Follow::Nothing,
            })
        };
        recorder.order(&set(16384));
        recorder.flushed();
        sample.send("churn 50");
        let some = Symbols::of(&recorder.flushed()).samples.len();
        assert!(some > 500, "{some}");

        recorder.order(&set(0));
        let then = Symbols::of(&recorder.flushed()).samples.len();
        sample.send("churn 50");
        assert_eq!(Symbols::of(&recorder.flushed()).samples.len(), then);
    }
}

/// The order `sample` gets between: every object is sampled while it is 1.
#[test]
fn every_object_can_be_sampled() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=1,stacks=1");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        // The interval takes effect on a thread after its next sample.
        sample.send("churn 5");
        recorder.flushed();
        let before = Symbols::of(&recorder.messages()).samples.len();
        sample.send("churn 5");
        let symbols = Symbols::of(&recorder.flushed());
        let dropped: u64 = recorder
            .messages()
            .iter()
            .map(|message| match message {
                FromAgent::Dropped(dropped) => dropped.samples,
                _ => 0,
            })
            .sum();
        // 5,000 pieces of garbage, each with an array.
        let seen = symbols.samples.len() - before + dropped as usize;
        assert!((10_000..12_000).contains(&seen), "{seen}");
    }
}

#[test]
fn thousands_of_threads_are_reported_by_name_and_end() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=65536");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        sample.send("threads 2000");
        let messages = recorder.flushed();
        let mut names = HashMap::new();
        let mut java_ids = HashSet::new();
        let mut ended = HashSet::new();
        for message in &messages {
            match message {
                FromAgent::Thread(thread) if thread.name.starts_with("worker ") => {
                    assert!(!thread.earlier);
                    assert!(java_ids.insert(thread.java_id), "ids are unique");
                    names.insert(thread.number, thread.name.clone());
                }
                FromAgent::ThreadEnd(end) => {
                    ended.insert(end.number);
                }
                _ => {}
            }
        }
        let different: HashSet<_> = names.values().collect();
        assert_eq!(different.len(), 2000);
        // `join` returns a little before the JVM reports the end.
        let still = names.keys().filter(|n| !ended.contains(n)).count();
        assert!(still < 20, "{still} have not ended");
    }
}

#[test]
fn virtual_threads_are_sampled_and_go_on() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=16384");
        let mut sample = Sample::start(jdk, "Recorded", &["100"], &[&listener.flag()]);
        let mut recorder = listener.accept();
        let mut run = |recorder: &mut Recorder| {
            sample.tell("virtual 3000");
            for round in 0..3 {
                let (done, _) = recorder.dump(&listener.folder().join(format!("{round}.hprof")));
                assert_eq!(done.failure, None);
                let walked = recorder.walk(&listener.folder().join("walk"));
                assert_eq!(walked.failure, None);
            }
            sample.wait();
            sample.count("virtual threads run")
        };
        let (first, second) = (run(&mut recorder), run(&mut recorder));
        assert_eq!(second, 2 * first);
        if first == 0 {
            continue;
        }
        let symbols = Symbols::of(&recorder.flushed());
        let threads: HashSet<_> = symbols
            .samples
            .iter()
            .filter(|s| symbols.frames_named(s.stack, "run").next().is_some())
            .map(|s| s.thread)
            .collect();
        assert!(
            threads.len() > 1000,
            "{} threads were sampled",
            threads.len()
        );
    }
}

/// Classes come and go while their allocations are sampled and their instances followed; the agent keeps none of
/// them alive.
#[test]
fn classes_can_be_unloaded() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=4096,stacks=16");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        recorder.order(&ToAgent::SetSampling(SetSampling {
            bytes: 4096,
            follow: Follow::Handle,
        }));
        recorder.order(&ToAgent::HeadClasses(vec![anthill_wire::HeadClass {
            name: "anthill/samples/Recorded$Visitor".to_owned(),
            subclasses: false,
        }]));
        for round in 0..4 {
            sample.send("unload 60");
            let (done, _) = recorder.dump(&listener.folder().join(format!("{round}.hprof")));
            assert_eq!(done.failure, None);
        }
        let walked = recorder.walk(&listener.folder().join("walk"));
        assert_eq!(walked.failure, None);
        let symbols = Symbols::of(&recorder.flushed());
        let loaded: HashSet<_> = symbols
            .samples
            .iter()
            .filter(|s| symbols.frames_named(s.stack, "run").next().is_some())
            .map(|s| s.stack)
            .collect();
        assert!(loaded.len() > 50, "visitors were sampled: {}", loaded.len());

        let left = sample.histogram();
        let loaders = left.get("anthill.samples.Recorded$OneClassLoader");
        let loaders = loaders.map_or(0, |total| total.instances);
        assert!(loaders <= 1, "{loaders} loaders are left");
        sample.send("unload 5");
    }
}
