//! What HotSpot adds to classes of the JDK beyond their declared fields: injected fields and
//! `@Contended` paddings, with the releases told apart by the fields the classes declare.
//!
//! Knows names only; which of several variants a dump's JVM used is for the gaps to say.

use anthill_heap::FieldType;

use super::ClassShape;
use super::fields::{Declared, Group, Slot};

/// What is added to one class. A class has several variants where releases differ and the
/// declared fields do not tell them apart; the most likely one comes first.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    injected: Vec<Injected>,
    padded: bool,
    /// Contended fields and their group.
    groups: Vec<(&'static str, Group)>,
    /// Static fields lie in the class object: not before JDK 7. Concerns `java.lang.Class` only.
    pub statics_in_mirror: bool,
}

#[derive(Clone, Copy, Debug)]
enum Injected {
    Reference,
    /// A native pointer.
    Pointer,
    Long,
    Int,
    Short,
    Byte,
}

use Injected::{Byte, Int, Long, Pointer, Reference, Short};

/// Recognises a release by fields that classes declare from some release on.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Release {
    /// `java.lang.Class` is described, so the other answers mean something.
    pub known: bool,
    /// JDK 8: `Class.annotationData`.
    pub since_8: bool,
    /// JDK 15: `Class.classData`.
    pub since_15: bool,
    /// JDK 19: `Thread.holder`.
    pub since_19: bool,
    /// The dump lists fields from the last to the first, as older releases do.
    pub reversed: bool,
}

impl Release {
    pub(super) fn of(classes: &[ClassShape]) -> Release {
        let mut release = Release::default();
        for class in classes {
            match class.name {
                "java.lang.Class" if !class.fields.is_empty() => {
                    release.known = true;
                    release.since_8 = declares(class, "annotationData");
                    release.since_15 = declares(class, "classData");
                }
                "java.lang.Thread" => release.since_19 = declares(class, "holder"),
                "java.lang.String" => {
                    let at = |field| class.fields.iter().position(|&(name, _)| name == field);
                    release.reversed = at("value") > at("hash");
                }
                _ => {}
            }
        }
        release
    }
}

/// The variants of a class the JVM adds something to; none for all other classes.
pub(super) fn variants(class: &ClassShape, release: Release) -> Vec<Variant> {
    let has = |field| declares(class, field);
    match class.name {
        "java.lang.Class" => class_object(class, release),
        "java.lang.ClassLoader" if release.since_8 => vec![injects(&[Pointer]), injects(&[])],
        "java.lang.ClassLoader" => vec![injects(&[]), injects(&[Pointer])],
        "java.lang.Module" | "java.lang.reflect.Module" => vec![injects(&[Pointer])],
        "java.lang.String" if release.since_15 => vec![injects(&[Byte]), injects(&[])],
        "java.lang.InternalError" => match release.since_15 {
            true => vec![injects(&[Byte]), injects(&[])],
            false => vec![injects(&[])],
        },
        "java.lang.StackFrameInfo" => vec![injects(&[Short])],
        "java.lang.Thread" if release.since_19 => vec![
            injects(&[Pointer, Int, Byte, Short]),
            injects(&[Pointer, Byte, Short]),
            injects(&[Pointer, Short]),
        ],
        "java.lang.Thread" if has("threadLocalRandomSeed") => vec![groups(
            false,
            &[
                "threadLocalRandomSeed",
                "threadLocalRandomProbe",
                "threadLocalRandomSecondarySeed",
            ],
        )],
        "java.lang.VirtualThread" => match has("notified") || has("onWaitingList") {
            true => vec![injects(&[Pointer]), injects(&[])],
            false => vec![injects(&[]), injects(&[Pointer])],
        },
        "java.lang.invoke.MemberName" => match (has("method"), has("vmindex")) {
            (true, _) => vec![injects(&[Pointer])],
            (_, true) => vec![injects(&[])],
            _ => vec![
                injects(&[Reference, Pointer, Pointer]),
                injects(&[Pointer, Pointer]),
            ],
        },
        "java.lang.invoke.ResolvedMethodName" => match has("vmholder") {
            true => vec![injects(&[Pointer])],
            false => vec![injects(&[Reference, Pointer])],
        },
        "java.lang.invoke.MethodHandleNatives$CallSiteContext" => {
            vec![injects(&[Pointer, Long]), injects(&[Pointer])]
        }
        "java.lang.invoke.CallSite" if release.since_19 && !has("context") => {
            vec![injects(&[Pointer, Long]), injects(&[])]
        }
        STACK_CHUNK => vec![
            injects(&[Reference, Byte, Byte, Pointer, Int]),
            injects(&[Reference, Byte, Pointer, Int]),
        ],
        "java.util.concurrent.ConcurrentHashMap$CounterCell"
        | "java.util.concurrent.atomic.Striped64$Cell"
            if release.since_8 =>
        {
            vec![padded()]
        }
        "java.util.concurrent.Exchanger$Node" if has("collides") => vec![padded()],
        "java.util.concurrent.Exchanger$Slot" if has("entry") => vec![padded()],
        "java.util.concurrent.SubmissionPublisher$BufferedSubscription" => {
            vec![groups(true, &["demand", "waiting"])]
        }
        "java.util.concurrent.ForkJoinPool$WorkQueue" if release.since_8 => {
            vec![match (has("pool"), has("parking"), has("access")) {
                (true, ..) => padded(),
                (_, true, _) => groups(
                    false,
                    &["top", "phase", "stackPred", "source", "nsteals", "parking"],
                ),
                (_, _, true) => groups(false, &["top", "access", "phase", "source", "nsteals"]),
                _ => groups(false, &["top", "source", "nsteals"]),
            }]
        }
        "java.util.concurrent.ForkJoinPool" if release.since_8 => {
            vec![match has("bounds") || has("container") {
                true => groups(false, &["ctl", "parallelism"]),
                false => padded(),
            }]
        }
        _ => Vec::new(),
    }
}

/// Frames of an unmounted virtual thread; the only instances of one class that differ in size.
pub(super) const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";

fn class_object(class: &ClassShape, release: Release) -> Vec<Variant> {
    let base = [Pointer, Pointer, Int, Int];
    let with = |references: usize| {
        let mut fields = base.to_vec();
        fields.extend(std::iter::repeat_n(Reference, references));
        injects(&fields)
    };
    let declared = ["signers", "protectionDomain"]
        .iter()
        .filter(|field| declares(class, field))
        .count();
    if release.since_19 {
        return vec![with(4 - declared), with(3 - declared)];
    }
    if release.since_8 {
        return vec![with(3)];
    }
    let permanent = Variant {
        statics_in_mirror: false,
        ..injects(&[Reference, Reference, Reference])
    };
    vec![
        injects(&[Reference, Reference, Reference, Int, Int]),
        permanent,
        with(3),
    ]
}

/// The fields of a class, with what the JVM adds.
pub(super) fn declared(
    class: &ClassShape,
    release: Release,
    variant: Option<&Variant>,
    word: u32,
) -> Declared {
    let groups = variant.map_or(&[][..], |variant| &variant.groups);
    let slot = |&(name, ty): &(&str, FieldType)| {
        let group = groups.iter().find(|(field, _)| *field == name);
        Slot {
            ty,
            group: group.map_or(Group::None, |&(_, group)| group),
        }
    };
    let mut slots: Vec<Slot> = class.fields.iter().map(slot).collect();
    if release.reversed {
        slots.reverse();
    }
    let injected = variant.map_or(&[][..], |variant| &variant.injected);
    slots.extend(injected.iter().map(|field| Slot {
        ty: match field {
            Reference => FieldType::Object,
            Pointer if word == 4 => FieldType::Int,
            Pointer | Long => FieldType::Long,
            Int => FieldType::Int,
            Short => FieldType::Short,
            Byte => FieldType::Byte,
        },
        group: Group::None,
    }));
    Declared {
        slots,
        padded: variant.is_some_and(|variant| variant.padded),
        fixed: has_fixed_offsets(class.name),
    }
}

/// Classes whose fields had fixed offsets up to JDK 14.
fn has_fixed_offsets(name: &str) -> bool {
    matches!(
        name,
        "java.lang.AssertionStatusDirectives"
            | "java.lang.Class"
            | "java.lang.ClassLoader"
            | "java.lang.ref.Reference"
            | "java.lang.ref.SoftReference"
            | "java.lang.StackTraceElement"
            | "java.lang.String"
            | "java.lang.Throwable"
            | "java.lang.Boolean"
            | "java.lang.Character"
            | "java.lang.Float"
            | "java.lang.Double"
            | "java.lang.Byte"
            | "java.lang.Short"
            | "java.lang.Integer"
            | "java.lang.Long"
    )
}

fn declares(class: &ClassShape, field: &str) -> bool {
    class.fields.iter().any(|&(name, _)| name == field)
}

fn injects(injected: &[Injected]) -> Variant {
    Variant {
        injected: injected.to_vec(),
        padded: false,
        groups: Vec::new(),
        statics_in_mirror: true,
    }
}

fn padded() -> Variant {
    Variant {
        padded: true,
        ..injects(&[])
    }
}

fn groups(padded: bool, fields: &[&'static str]) -> Variant {
    Variant {
        padded,
        groups: fields
            .iter()
            .map(|&name| (name, Group::Shared(0)))
            .collect(),
        ..injects(&[])
    }
}
