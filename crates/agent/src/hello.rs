//! What the agent tells about the JVM first.

use std::fs;

use anthill_wire::{Hello, PROTOCOL};

use crate::clock;
use crate::dump::Management;
use crate::jni::Jni;
use crate::session::{Session, locked};

const COLLECTORS: [(&str, &str); 6] = [
    ("UseG1GC", "G1"),
    ("UseParallelGC", "Parallel"),
    ("UseSerialGC", "Serial"),
    ("UseZGC", "ZGC"),
    ("UseShenandoahGC", "Shenandoah"),
    ("UseEpsilonGC", "Epsilon"),
];

pub(crate) fn hello(session: &Session, jni: Jni, management: &Result<Management, String>) -> Hello {
    let property = |name| session.jvmti.system_property(name).unwrap_or_default();
    let Said {
        flags,
        vm_arguments,
    } = said(session, jni, management);
    let flag = |name: &str| {
        let found = flags.iter().find(|(flag, _)| flag == name);
        found.map(|(_, value)| value.as_str())
    };
    let collector = COLLECTORS
        .iter()
        .find(|(name, _)| flag(name) == Some("true"))
        .map_or("", |&(_, collector)| collector)
        .to_owned();
    Hello {
        protocol: PROTOCOL,
        pid: std::process::id(),
        attached: session.attached,
        vm_name: property(c"java.vm.name"),
        vm_version: property(c"java.vm.version"),
        vm_vendor: property(c"java.vm.vendor"),
        specification: property(c"java.vm.specification.version"),
        vm_arguments,
        command: property(c"sun.java.command"),
        collector,
        wall_ns: clock::wall(),
        now_ns: clock::now(),
        jvm_start_wall_ns: process_start().unwrap_or(0),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        max_heap: number(flag("MaxHeapSize")),
        used_heap: heap_sizes(jni).map_or(0, |sizes| sizes.used),
        object_alignment: match flags.is_empty() {
            true => 0,
            // A flag at its default is not listed.
            false => (number(flag("ObjectAlignmentInBytes")) as u32).max(8),
        },
        compressed_references: flag("UseCompressedOops").map(|value| value == "true"),
        searchable: false,
        missing: locked(&session.missing).clone(),
        vm_flags: flags,
    }
}

/// Bytes of the heap that the program has and uses.
pub(crate) struct HeapSizes {
    pub committed: u64,
    pub used: u64,
}

/// From `java.lang.Runtime`; nothing if the JVM does not tell.
pub(crate) fn heap_sizes(jni: Jni) -> Option<HeapSizes> {
    let sizes = jni.in_frame(|| {
        let class = jni.find_class(c"java/lang/Runtime")?;
        let get = jni.static_method(class, c"getRuntime", c"()Ljava/lang/Runtime;")?;
        let runtime = jni.call_static_object(class, get, &[])?;
        let size = |name| jni.call_long(runtime, jni.method(class, name, c"()J")?, &[]);
        Ok((size(c"totalMemory")?, size(c"freeMemory")?))
    });
    let (total, free) = sizes.ok()?;
    Some(HeapSizes {
        committed: total as u64,
        used: total.saturating_sub(free) as u64,
    })
}

/// What only the JVM's own commands tell.
#[derive(Default)]
struct Said {
    /// Those that are not at their defaults.
    flags: Vec<(String, String)>,
    vm_arguments: Vec<String>,
}

fn said(session: &Session, jni: Jni, management: &Result<Management, String>) -> Said {
    let answers = management.as_ref().map_err(Clone::clone).and_then(|jvm| {
        Ok(Said {
            flags: parse_flags(&jvm.run(jni, "VM.flags")?),
            vm_arguments: vm_arguments(&jvm.run(jni, "VM.command_line")?),
        })
    });
    answers.unwrap_or_else(|why| {
        let sentence = format!("the JVM's flags and heap dumps from inside: {why}");
        locked(&session.missing).push(sentence);
        Said::default()
    })
}

/// From the answer to `VM.command_line`, which has them in one line.
fn vm_arguments(command_line: &str) -> Vec<String> {
    let line = command_line
        .lines()
        .find_map(|line| line.strip_prefix("jvm_args: "));
    split_arguments(line.unwrap_or_default())
}

/// When the process started, on the wall clock.
fn process_start() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may contain anything.
    let fields = stat.rsplit_once(')')?.1;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: asks for a number, which always exists.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let since_boot = ticks * 1_000_000_000 / per_second.max(1);
    Some(clock::wall().saturating_sub(clock::since_boot().saturating_sub(since_boot)))
}

/// `-XX:+UseG1GC -XX:MaxHeapSize=1024` in pairs.
fn parse_flags(text: &str) -> Vec<(String, String)> {
    text.split_whitespace()
        .filter_map(|flag| {
            let flag = flag.strip_prefix("-XX:")?;
            let (name, value) = match flag.split_once('=') {
                Some(pair) => pair,
                None => match flag.strip_prefix('+') {
                    Some(name) => (name, "true"),
                    None => (flag.strip_prefix('-')?, "false"),
                },
            };
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// The JVM joins its arguments by spaces, so one with a space in it comes apart again only where a new option begins.
fn split_arguments(joined: &str) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for word in joined.trim_end().split(' ') {
        match arguments.last_mut() {
            Some(last) if !word.starts_with('-') => {
                last.push(' ');
                last.push_str(word);
            }
            _ if word.is_empty() => {}
            _ => arguments.push(word.to_owned()),
        }
    }
    arguments
}

fn number(value: Option<&str>) -> u64 {
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_names_and_values() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            parse_flags("-XX:MaxHeapSize=64 -XX:+UseG1GC -XX:-UsePerfData \n"),
            [
                pair("MaxHeapSize", "64"),
                pair("UseG1GC", "true"),
                pair("UsePerfData", "false")
            ]
        );
    }

    #[test]
    fn arguments_are_found_in_the_answer() {
        let answer = "VM Arguments:\njvm_args: -Xmx1g -ea \njava_command: Main 1\n";
        assert_eq!(vm_arguments(answer), ["-Xmx1g", "-ea"]);
        assert!(vm_arguments("VM Arguments:\njava_command: Main -x\n").is_empty());
    }

    #[test]
    fn this_process_started_before_now() {
        let start = process_start().unwrap();
        let age = clock::wall() - start;
        assert!(age < 3_600_000_000_000, "{age}");
    }

    #[test]
    fn an_argument_with_a_space_stays_one() {
        assert_eq!(
            split_arguments("-Xmx1g -Dname=a b -ea"),
            ["-Xmx1g", "-Dname=a b", "-ea"]
        );
        assert!(split_arguments("").is_empty());
    }
}
