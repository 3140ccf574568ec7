//! The messages of both directions. The agent reports facts and carries out orders; when a state is taken, what
//! is followed and how often is sampled is the recorder's business.

use crate::codec::{kinds, messages, structs};

messages! {
    /// What the agent says.
    pub enum FromAgent {
        /// First of all, once.
        Hello(Hello) = 1,
        /// A pause of the garbage collector is over.
        Gc(Gc) = 2,
        /// A class that later messages name.
        Class(Class) = 3,
        /// A method that later stacks name.
        Method(Method) = 4,
        /// A stack that later samples name.
        Stack(Stack) = 5,
        /// A thread was started, or was running already when the agent came.
        Thread(Thread) = 6,
        /// A thread ended.
        ThreadEnd(ThreadEnd) = 7,
        /// An allocation was sampled.
        Sample(Sample) = 8,
        /// Where tracked objects are in a dump; several messages before its `StateDone`.
        Identities(Identities) = 9,
        /// An order to take a state or to collect was carried out, or failed.
        StateDone(StateDone) = 10,
        /// How a class of a walk is made; all classes of a walk come before its `StateDone`, each class once.
        Shape(Shape) = 11,
        /// Events were lost because they came faster than they could be sent.
        Dropped(Dropped) = 12,
        /// What the agent cost so far; every few seconds, and after every state.
        Cost(Cost) = 13,
        /// The answer to `Flush`: everything that happened before it has been sent.
        Flushed(u32) = 14,
        /// The last message: the JVM ends, or the agent was told to stop.
        Goodbye(Goodbye) = 15,
        /// The Java API is in use: the program may make assertions.
        Asserts(Asserts) = 16,
        /// The answer to `CountAssertions`.
        Assertions(Assertions) = 17,
        /// The program wants to have its assertions checked now, and waits for `CheckDone`.
        CheckAsked(CheckAsked) = 18,
        /// The program is over; the JVM waits for `LetGo`, but not for long.
        ProgramOver(ProgramOver) = 19,
        /// The heap was exhausted for the first time; a dump that was ordered for that is complete.
        Exhausted(Exhausted) = 20,
        /// The answer to `DumpWhenExhausted`.
        ExhaustionPrepared(ExhaustionPrepared) = 21,
    }
}

messages! {
    /// What the recorder says. Orders are carried out one after the other.
    pub enum ToAgent {
        /// Let the JVM write a dump; answered by `StateDone`.
        TakeDump(TakeDump) = 1,
        /// Walk through the heap; answered by `StateDone`.
        TakeWalk(TakeWalk) = 2,
        /// Do a full garbage collection; answered by `StateDone`.
        Collect(u32) = 3,
        /// Sample allocations more often, less often, or no more.
        SetSampling(SetSampling) = 4,
        /// Replaces the classes whose instances are tracked; none stops the tracking.
        HeadClasses(Vec<HeadClass>) = 5,
        /// Send everything, then `Flushed` with this number.
        Flush(u32) = 6,
        /// Stop all events, forget all objects, say goodbye and close the connection; the JVM goes on.
        Stop(Stop) = 7,
        /// Say how many assertions there are.
        CountAssertions(CountAssertions) = 8,
        /// What a check has found, for the program.
        CheckDone(CheckDone) = 9,
        /// The answer to `ProgramOver`: the JVM need not wait any longer.
        LetGo(LetGo) = 10,
        /// Let the JVM write a dump when its heap is exhausted, or no longer.
        DumpWhenExhausted(DumpWhenExhausted) = 11,
    }
}

structs! {
    /// Who the agent is, and what JVM it is in.
    pub struct Hello {
        /// [`PROTOCOL`](crate::PROTOCOL) of the agent.
        pub protocol: u32,
        /// The process, as it sees itself.
        pub pid: u32,
        /// Whether the agent came to a running JVM.
        pub attached: bool,
        /// Such as `OpenJDK 64-Bit Server VM`.
        pub vm_name: String,
        /// Such as `17.0.15+6-Debian-1deb12u1`.
        pub vm_version: String,
        /// Such as `Debian`.
        pub vm_vendor: String,
        /// The feature release: `17`.
        pub specification: String,
        /// Arguments for the JVM, as typed.
        pub vm_arguments: Vec<String>,
        /// Flags that differ from their defaults, as name and value.
        pub vm_flags: Vec<(String, String)>,
        /// The main class or jar and the program's arguments.
        pub command: String,
        /// `G1`, `Parallel`, `Serial`, `ZGC`, `Shenandoah`, `Epsilon`; empty if not known.
        pub collector: String,
        /// Two clocks at the same moment: the wall clock (nanoseconds since 1970) and the monotonic one.
        pub wall_ns: u64,
        /// See `wall_ns`.
        pub now_ns: u64,
        /// When the process started, on the wall clock, to a hundredth of a second; 0 if not known.
        pub jvm_start_wall_ns: u64,
        /// Processors that the JVM may use.
        pub cores: u32,
        /// Bytes; 0 if not known.
        pub max_heap: u64,
        /// Bytes of heap in use at that moment, garbage included; 0 if not known.
        pub used_heap: u64,
        /// Bytes objects are aligned to; 0 if not known.
        pub object_alignment: u32,
        /// Whether references take 4 bytes; none if not known.
        pub compressed_references: Option<bool>,
        /// Whether the heap can be searched and walked while the program runs, so that data structures and all objects can
        /// keep their ids.
        pub searchable: bool,
        /// What cannot be had here and why, each a sentence.
        pub missing: Vec<String>,
    }

    /// A pause of the garbage collector.
    pub struct Gc {
        /// Pauses since the agent came, from 1.
        pub number: u32,
        /// On the monotonic clock.
        pub start_ns: u64,
        /// On the monotonic clock.
        pub end_ns: u64,
        /// What was collected.
        pub kind: GcKind,
        /// The collector's own name for what ran, such as `G1 incremental collections`; empty if not known.
        pub collector: String,
        /// Such as `G1 Evacuation Pause`; empty if not known.
        pub cause: String,
        /// Bytes of heap in use before and after, and committed after; 0 if not known.
        pub used_before: u64,
        /// See `used_before`.
        pub used_after: u64,
        /// See `used_before`.
        pub committed: u64,
        /// CPU time of the whole process when it was reported.
        pub process_cpu_ns: u64,
    }

    /// A class, by the id of its `java.lang.Class` object.
    pub struct Class {
        /// What other messages call it.
        pub id: u64,
        /// As the JVM writes it: `Ljava/lang/String;`, `[I`.
        pub signature: String,
    }

    /// A method, sent before it is named.
    pub struct Method {
        /// What frames call it.
        pub number: u32,
        /// Of the class that declares it, such as `Ljava/util/HashMap;`; empty if it is gone.
        pub class: String,
        /// As in the source.
        pub name: String,
        /// As the JVM writes it: `(I)V`.
        pub signature: String,
        /// The source file, if the class says so.
        pub source: Option<String>,
        /// First bytecode index and line, in the JVM's order; empty if not known or native.
        pub lines: Vec<(u32, u32)>,
    }

    /// A stack, sent before it is named.
    pub struct Stack {
        /// What samples call it.
        pub number: u32,
        /// The innermost first.
        pub frames: Vec<Frame>,
    }

    /// A call on a stack.
    pub struct Frame {
        /// The number of a [`Method`].
        pub method: u32,
        /// Bytecode index; -1 in a native method.
        pub location: i32,
    }

    /// A thread that runs.
    pub struct Thread {
        /// What samples call it.
        pub number: u32,
        /// When it started or was found, on the monotonic clock.
        pub time_ns: u64,
        /// `Thread.getId()`; 0 if not known.
        pub java_id: u64,
        /// Its Java name at that moment.
        pub name: String,
        /// Whether it was running already when the agent came. Of a virtual thread only that it allocated is known.
        pub earlier: bool,
    }

    /// A thread that runs no more.
    pub struct ThreadEnd {
        /// That of its [`Thread`].
        pub number: u32,
        /// On the monotonic clock.
        pub time_ns: u64,
    }

    /// An allocation that was sampled.
    pub struct Sample {
        /// On the monotonic clock.
        pub time_ns: u64,
        /// The id of a [`Class`].
        pub class: u64,
        /// Bytes of the object.
        pub size: u64,
        /// Allocated bytes it stands for.
        pub weight: u64,
        /// The number of a [`Thread`].
        pub thread: u32,
        /// The number of a [`Stack`].
        pub stack: u32,
        /// The object's id; 0 if it is not followed.
        pub id: u64,
    }

    /// Some of the objects that are followed, in a dump.
    pub struct Identities {
        /// The number of the order that asked for the dump.
        pub order: u32,
        /// Id and address, which is its id in the dump.
        pub objects: Vec<(u64, u64)>,
    }

    /// How an order was carried out.
    pub struct StateDone {
        /// The number of the order.
        pub order: u32,
        /// Why there is no state; nothing else counts then.
        pub failure: Option<String>,
        /// Why there are no or not all identities, if some were wanted.
        pub identities_missing: Option<String>,
        /// When the agent began with it, on the monotonic clock.
        pub start_ns: u64,
        /// When it was finished, on the monotonic clock.
        pub end_ns: u64,
        /// How long all threads stood still, everything of the order together.
        pub pause_ns: u64,
        /// Whether the JVM itself measured the pause; otherwise it is the time the calls took.
        pub pause_measured: bool,
        /// The last garbage collection before the state.
        pub gc: u32,
        /// Tracked objects that were sent, or objects of the walk.
        pub objects: u64,
        /// References of the walk.
        pub references: u64,
    }

    /// What a walk needs to know about a class.
    pub struct Shape {
        /// The id of its [`Class`].
        pub class: u64,
        /// The id of another class; 0 if there is none.
        pub superclass: u64,
        /// The id of the class loader object; 0 for the boot loader.
        pub loader: u64,
        /// Whether it is an interface.
        pub interface: bool,
        /// Interfaces it names itself.
        pub interfaces: Vec<u64>,
        /// Fields it declares itself, in the JVM's order; see [`field_places`](crate::field_places).
        pub fields: Vec<Field>,
    }

    /// A field that a class declares.
    pub struct Field {
        /// As in the source.
        pub name: String,
        /// Its type as the JVM writes it: `I`, `Ljava/lang/String;`.
        pub signature: String,
        /// Whether the class object has it instead of the instances.
        pub is_static: bool,
    }

    /// How many events were lost since the last such message.
    pub struct Dropped {
        /// Sampled allocations.
        pub samples: u64,
        /// Pauses of the garbage collector.
        pub gcs: u64,
        /// Starts and ends of threads.
        pub threads: u64,
    }

    /// Sums since the agent came.
    pub struct Cost {
        /// On the monotonic clock.
        pub time_ns: u64,
        /// CPU time of the agent's own threads, states included.
        pub agent_cpu_ns: u64,
        /// Events on threads of the program or the JVM, and the time they took there.
        pub events: u64,
        /// See `events`.
        pub event_ns: u64,
        /// Objects that are followed now.
        pub followed: u64,
    }

    /// Nothing comes after it.
    pub struct Goodbye {
        /// On the monotonic clock.
        pub time_ns: u64,
        /// Why the agent goes.
        pub reason: GoodbyeReason,
    }

    /// An order for a dump by the JVM itself.
    pub struct TakeDump {
        /// What the answer calls it.
        pub order: u32,
        /// Absolute, as the JVM sees it; a file there is replaced.
        pub path: String,
        /// Do a full garbage collection before it.
        pub collect: bool,
        /// Look for new instances of the head classes before it.
        pub find_heads: bool,
        /// Objects that may be followed at the same time; 0 leaves the identities out.
        pub limit: u32,
    }

    /// An order for a walk through the heap.
    pub struct TakeWalk {
        /// What the answer calls it.
        pub order: u32,
        /// Where the file of [`walk_file`](crate::walk_file) is written, best on tmpfs; a file there is replaced.
        pub path: String,
        /// Do a full garbage collection before it.
        pub collect: bool,
    }

    /// How allocations are sampled from now on.
    pub struct SetSampling {
        /// The mean number of bytes between two samples: 0 is off, 1 is every object.
        pub bytes: u32,
        /// Whether sampled objects are found again in states.
        pub follow: Follow,
    }

    /// A class whose instances are heads of data structures.
    pub struct HeadClass {
        /// As the JVM writes it: `java/util/HashMap`.
        pub name: String,
        /// Whether those of its subclasses are, too.
        pub subclasses: bool,
    }

    /// An order without details.
    pub struct Stop {}

    /// A fact without details.
    pub struct Asserts {}

    /// A fact without details.
    pub struct ProgramOver {}

    /// An order without details.
    pub struct LetGo {}

    /// The first `OutOfMemoryError` of the JVM.
    pub struct Exhausted {
        /// On the monotonic clock.
        pub time_ns: u64,
    }

    /// An order for a dump that the JVM writes by itself.
    pub struct DumpWhenExhausted {
        /// Absolute, as the JVM sees it; none takes the order back.
        pub path: Option<String>,
    }

    /// Whether the JVM will write that dump.
    pub struct ExhaustionPrepared {
        /// Why it will not.
        pub failure: Option<String>,
    }

    /// Assertions that have not come true by themselves: those of objects that died are gone.
    pub struct Assertions {
        /// The number of the order to count them.
        pub order: u32,
        /// Objects that should be dead.
        pub dead: u64,
        /// The same of objects that were allocated in regions.
        pub survivors: u64,
        /// Limits of the number of instances of a class.
        pub instances: u64,
        /// Objects that only one reference may lead to.
        pub unshared: u64,
        /// Objects that only their owner may keep alive.
        pub owned: u64,
        /// The last garbage collection before they were counted.
        pub gc: u32,
    }

    /// A thread of the program waits for a check.
    pub struct CheckAsked {
        /// Of the program's, for `CheckDone`.
        pub number: u64,
        /// `Thread.getId()` of a thread whose local variables may refer to objects that should be dead; 0 for none.
        pub forgiven: u64,
    }

    /// An order to count what is left to check.
    pub struct CountAssertions {
        /// What the answer calls it.
        pub order: u32,
        /// Do a full garbage collection before it.
        pub collect: bool,
        /// Whether those count whose violations the program knows already.
        pub reported: bool,
    }

    /// The result of a check.
    pub struct CheckDone {
        /// That of `CheckAsked`; 0 if nobody asked.
        pub number: u64,
        /// Why there was no check; nothing else counts then.
        pub failure: Option<String>,
        /// What the program is to hear of.
        pub violations: Vec<Violation>,
    }

    /// Assertions that do not hold, equal ones together.
    pub struct Violation {
        /// As the Java API calls it: `DEAD`.
        pub kind: String,
        /// What the program says about the assertion.
        pub message: Option<String>,
        /// Of the objects, in Java notation.
        pub class: String,
        /// Of all objects together.
        pub bytes: u64,
        /// How many objects.
        pub count: u64,
        /// The innermost frame first.
        pub made_at: Vec<String>,
        /// Lines each, the root first.
        pub paths: Vec<Vec<String>>,
        /// Everything in words.
        pub text: String,
        /// Everything as JSON.
        pub json: String,
        /// The program's numbers of the assertions.
        pub assertions: Vec<u64>,
        /// The same for violations that differ in their objects only.
        pub key: String,
    }
}

kinds! {
    /// What a pause was for.
    pub enum GcKind {
        /// The JVM does not tell.
        Unknown = 0,
        /// Of the young generation, or a mixed one.
        Young = 1,
        /// Of the old generation, by a collector that has such.
        Old = 2,
        /// Of the whole heap.
        Full = 3,
        /// A pause of a collector that works beside the program.
        ConcurrentPause = 4,
    }

    /// How sampled objects are followed.
    pub enum Follow {
        /// They are not.
        Nothing = 0,
        /// By a weak handle, for dumps.
        Handle = 1,
        /// By a tag, for walks.
        Tag = 2,
    }

    /// Why the agent goes.
    pub enum GoodbyeReason {
        /// The program is over.
        JvmEnds = 1,
        /// The recorder told it to stop.
        Stopped = 2,
    }
}
