//! Every message survives its encoding, and no bytes make the decoder panic, hang or take memory.

use anthill_wire::*;

/// Always the same, so that a failure can be repeated.
struct Random(fastrand::Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Random(fastrand::Rng::with_seed(seed))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit)
    }

    fn flag(&mut self) -> bool {
        self.0.bool()
    }

    /// Small, large and extreme numbers.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(3),
            1 => u64::MAX,
            _ => self.0.u64(..) >> self.below(64),
        }
    }

    fn text(&mut self) -> String {
        let length = self.below(12);
        (0..length)
            .map(|_| char::from_u32(self.below(0x3000) as u32).unwrap_or('x'))
            .collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn list<T>(&mut self, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
        let length = self.below(5);
        (0..length).map(|_| make(self)).collect()
    }
}

fn from_agent(r: &mut Random) -> FromAgent {
    match r.below(15) {
        0 => FromAgent::Hello(Hello {
            protocol: r.number() as u32,
            pid: r.number() as u32,
            attached: r.flag(),
            vm_name: r.text(),
            vm_version: r.text(),
            vm_vendor: r.text(),
            specification: r.text(),
            vm_arguments: r.list(Random::text),
            vm_flags: r.list(|r| (r.text(), r.text())),
            command: r.text(),
            collector: r.text(),
            wall_ns: r.number(),
            now_ns: r.number(),
            jvm_start_wall_ns: r.number(),
            cores: r.number() as u32,
            max_heap: r.number(),
            used_heap: r.number(),
            object_alignment: r.number() as u32,
            compressed_references: r.maybe(Random::flag),
            searchable: r.flag(),
            missing: r.list(Random::text),
        }),
        1 => FromAgent::Gc(Gc {
            number: r.number() as u32,
            start_ns: r.number(),
            end_ns: r.number(),
            kind: GcKind::from_number(r.below(5) as u8).expect("there are five kinds"),
            collector: r.text(),
            cause: r.text(),
            used_before: r.number(),
            used_after: r.number(),
            committed: r.number(),
            process_cpu_ns: r.number(),
        }),
        2 => FromAgent::Class(Class {
            id: r.number(),
            signature: r.text(),
        }),
        3 => FromAgent::Method(Method {
            number: r.number() as u32,
            class: r.text(),
            name: r.text(),
            signature: r.text(),
            source: r.maybe(Random::text),
            lines: r.list(|r| (r.number() as u32, r.number() as u32)),
        }),
        4 => FromAgent::Stack(Stack {
            number: r.number() as u32,
            frames: r.list(|r| Frame {
                method: r.number() as u32,
                location: r.number() as i32,
            }),
        }),
        5 => FromAgent::Thread(Thread {
            number: r.number() as u32,
            time_ns: r.number(),
            java_id: r.number(),
            name: r.text(),
            earlier: r.flag(),
        }),
        6 => FromAgent::ThreadEnd(ThreadEnd {
            number: r.number() as u32,
            time_ns: r.number(),
        }),
        7 => FromAgent::Sample(Sample {
            time_ns: r.number(),
            class: r.number(),
            size: r.number(),
            weight: r.number(),
            thread: r.number() as u32,
            stack: r.number() as u32,
            id: r.number(),
        }),
        8 => FromAgent::Identities(Identities {
            order: r.number() as u32,
            objects: r.list(|r| (r.number(), r.number())),
        }),
        9 => FromAgent::StateDone(StateDone {
            order: r.number() as u32,
            failure: r.maybe(Random::text),
            identities_missing: r.maybe(Random::text),
            start_ns: r.number(),
            end_ns: r.number(),
            pause_ns: r.number(),
            pause_measured: r.flag(),
            gc: r.number() as u32,
            objects: r.number(),
            references: r.number(),
        }),
        10 => FromAgent::Shape(Shape {
            class: r.number(),
            superclass: r.number(),
            loader: r.number(),
            interface: r.flag(),
            interfaces: r.list(Random::number),
            fields: r.list(|r| Field {
                name: r.text(),
                signature: r.text(),
                is_static: r.flag(),
            }),
        }),
        11 => FromAgent::Dropped(Dropped {
            samples: r.number(),
            gcs: r.number(),
            threads: r.number(),
        }),
        12 => FromAgent::Cost(Cost {
            time_ns: r.number(),
            agent_cpu_ns: r.number(),
            events: r.number(),
            event_ns: r.number(),
            followed: r.number(),
        }),
        13 => FromAgent::Flushed(r.number() as u32),
        _ => FromAgent::Goodbye(Goodbye {
            time_ns: r.number(),
            reason: if r.flag() {
                GoodbyeReason::JvmEnds
            } else {
                GoodbyeReason::Stopped
            },
        }),
    }
}

fn to_agent(r: &mut Random) -> ToAgent {
    match r.below(7) {
        0 => ToAgent::TakeDump(TakeDump {
            order: r.number() as u32,
            path: r.text(),
            collect: r.flag(),
            find_heads: r.flag(),
            limit: r.number() as u32,
        }),
        1 => ToAgent::TakeWalk(TakeWalk {
            order: r.number() as u32,
            path: r.text(),
            collect: r.flag(),
        }),
        2 => ToAgent::Collect(r.number() as u32),
        3 => ToAgent::SetSampling(SetSampling {
            bytes: r.number() as u32,
            follow: Follow::from_number(r.below(3) as u8).expect("there are three ways"),
        }),
        4 => ToAgent::HeadClasses(r.list(|r| HeadClass {
            name: r.text(),
            subclasses: r.flag(),
        })),
        5 => ToAgent::Flush(r.number() as u32),
        _ => ToAgent::Stop(Stop {}),
    }
}

/// The single frame in the bytes.
fn content(bytes: &[u8]) -> Vec<u8> {
    let mut frames = Frames::new(bytes);
    let content = frames.next_frame().unwrap().expect("a frame").to_vec();
    assert!(frames.next_frame().unwrap().is_none(), "one frame only");
    content
}

#[test]
fn every_message_comes_back_as_it_was() {
    let r = &mut Random::new(1);
    for _ in 0..20_000 {
        let (said, ordered) = (from_agent(r), to_agent(r));
        let (mut said_bytes, mut ordered_bytes) = (Vec::new(), Vec::new());
        said.encode(&mut said_bytes);
        ordered.encode(&mut ordered_bytes);
        assert_eq!(FromAgent::decode(&content(&said_bytes)), Ok(said));
        assert_eq!(ToAgent::decode(&content(&ordered_bytes)), Ok(ordered));
    }
}

#[test]
fn a_message_that_is_cut_off_or_too_long_is_refused() {
    let r = &mut Random::new(2);
    for _ in 0..500 {
        let mut bytes = Vec::new();
        from_agent(r).encode(&mut bytes);
        let mut content = content(&bytes);
        for end in 0..content.len() {
            assert!(FromAgent::decode(&content[..end]).is_err());
        }
        content.push(0);
        assert!(FromAgent::decode(&content).is_err());
    }
}

/// What changed bytes decode to encodes to the same bytes again, or they are refused.
#[test]
fn damaged_messages_and_garbage_never_panic() {
    let r = &mut Random::new(3);
    for _ in 0..50_000 {
        let mut bytes = Vec::new();
        if r.flag() {
            from_agent(r).encode(&mut bytes);
            bytes.drain(..4);
        } else {
            bytes = r.list(|r| r.0.u64(..).to_le_bytes()).concat();
        }
        for _ in 0..r.below(4) {
            if !bytes.is_empty() {
                let at = r.below(bytes.len() as u64) as usize;
                bytes[at] = r.0.u64(..) as u8;
            }
        }
        if let Ok(message) = FromAgent::decode(&bytes) {
            let mut again = Vec::new();
            message.encode(&mut again);
            assert_eq!(again[4..], bytes);
        }
        let _ = ToAgent::decode(&bytes);
        if let Ok(records) = walk_file::Records::new(&[&walk_file::MAGIC[..], &bytes].concat()) {
            assert!(records.count() <= bytes.len() + 1);
        }
    }
}
