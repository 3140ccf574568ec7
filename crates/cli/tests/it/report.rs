//! The first suspect must be the right one, for every leak that a sample program has.

use std::path::{Path, PathBuf};

use anthill_heap::HeapBuilder;
use anthill_testkit::{DumpOptions, Jdk, Sample};
use anthill_trace::Identities;
use serde_json::Value;

use crate::growth::trace_of;
use crate::program::{self, json, print, run, scratch};

/// A dump of a sample, and what the program said about itself; nothing without a JDK.
fn dump(file: &str, sample: &str, arguments: &[&str]) -> Option<(PathBuf, Sample)> {
    let jdk = Jdk::all().first()?;
    let path = scratch(file);
    let sample = Sample::start(jdk, sample, arguments, &["-Xmx512m"]);
    sample.dump(&path, DumpOptions::default());
    Some((path, sample))
}

fn report(path: &Path) -> Value {
    json(&["report", path.to_str().unwrap(), "--no-index"])
}

fn held_by(suspect: &Value) -> Vec<&str> {
    let owners = suspect["owners"].as_array().unwrap();
    owners
        .iter()
        .map(|owner| owner["held_by"].as_str().unwrap())
        .collect()
}

fn pattern<'a>(suspect: &'a Value, name: &str) -> &'a Value {
    let patterns = suspect["patterns"].as_array().unwrap();
    let found = patterns.iter().find(|pattern| pattern["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {patterns:#?}"))
}

fn content<'a>(suspect: &'a Value, class: &str) -> &'a Value {
    let contents = suspect["contents"].as_array().unwrap();
    let found = contents.iter().find(|content| content["class"] == class);
    found.unwrap_or_else(|| panic!("no {class} in {contents:#?}"))
}

#[test]
fn two_caches_own_the_products_together() {
    let Some((path, sample)) = dump("report-multi-cache.hprof", "MultiCache", &["20000"]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(first["severity"], "HIGH");
    assert_eq!(first["kind"], "owners");
    let mut held = held_by(first);
    held.sort_unstable();
    assert_eq!(
        held,
        [
            "static field anthill.samples.IdCache.idCache",
            "static field anthill.samples.NameCache.nameCache"
        ]
    );
    assert_eq!(
        first["retained_objects"],
        sample.count("objects retained by both caches")
    );
    assert_eq!(first["kept"]["class"], "anthill.samples.Product");
    assert_eq!(first["kept"]["objects"], sample.count("products"));
    assert_eq!(first["kept"]["covered"], 100.0);
    assert_eq!(report["suspects"].as_array().unwrap().len(), 1);
}

#[test]
fn three_caches_own_the_rings_together() {
    let Some((path, sample)) = dump("report-three.hprof", "ThreeCaches", &[]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    let mut held = held_by(first);
    held.sort_unstable();
    let field = |name: &str| format!("static field anthill.samples.ThreeCaches.{name}");
    assert_eq!(held, [field("byDate"), field("byId"), field("byName")]);
    assert_eq!(first["kept"]["objects"], sample.count("entries"));
}

#[test]
fn owners_of_the_rings_alone_and_together() {
    let Some((path, sample)) = dump("owners-three.hprof", "ThreeCaches", &[]) else {
        return;
    };
    let group = [
        "owners",
        path.to_str().unwrap(),
        "anthill.samples.ThreeCaches$Entry",
        "--no-index",
    ];
    let owners = json(&group);
    let last = owners["fronts"].as_array().unwrap().last().unwrap();
    assert_eq!(last["covered"], 100.0);
    // A node and a key for every mapping, the map and its table, and the rings.
    let maps = ["byId", "byName", "byDate"].map(|map| 2 * sample.count(&format!("{map} size")) + 2);
    let all = maps.iter().sum::<u64>() + sample.count("entries");
    assert_eq!(last["retained_objects"], all);
    let nobody = run(&[&group[..], &["--most", "2", "--share", "100"]].concat());
    assert_eq!(
        nobody.code, 0,
        "the class object alone keeps all: {}",
        nobody.err
    );
}

#[test]
fn a_hidden_reference_keeps_swapped_objects_alive() {
    let Some((path, sample)) = dump("report-swap.hprof", "SwapLeak", &["20000"]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(
        held_by(first),
        ["static field anthill.samples.SwapLeak.kept"]
    );
    let objects = &content(first, "anthill.samples.SwapLeak$SObject")["objects"];
    assert_eq!(*objects, sample.count("objects alive"));
    let evidence = &pattern(first, "hidden reference of an inner class")["evidence"];
    assert!(
        evidence
            .as_str()
            .unwrap()
            .contains("`this$0` of anthill.samples.SwapLeak$SObject$Rep")
    );
}

#[test]
fn a_stack_refers_to_what_was_popped() {
    let Some((path, sample)) = dump("report-stack.hprof", "BuggyStack", &["100000"]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(
        held_by(first),
        ["static field anthill.samples.BuggyStack.stack"]
    );
    assert_eq!(first["also_held_by"], Value::Array(Vec::new()));
    let evidence = &pattern(first, "obsolete references in an array")["evidence"];
    assert_eq!(sample.count("stale items"), 100_000);
    assert!(
        evidence
            .as_str()
            .unwrap()
            .contains("`size` = 0, but 100,000 elements"),
        "{evidence}"
    );
    let Some((fixed, _)) = dump(
        "report-stack-fixed.hprof",
        "BuggyStack",
        &["100000", "fixed"],
    ) else {
        return;
    };
    let text = print(&["report", fixed.to_str().unwrap(), "--no-index"]);
    assert!(!text.contains("obsolete references"), "{text}");
}

#[test]
fn delivered_orders_are_kept_by_the_table_or_by_customers() {
    let Some((path, sample)) = dump("report-orders.hprof", "OrderTable", &["10000"]) else {
        return;
    };
    let by_table = report(&path);
    let first = &by_table["suspects"][0];
    let table = "static field anthill.samples.OrderTable.district → orderTable";
    assert_eq!(held_by(first), [table]);
    drop(sample);
    let customer = ["20000", "10", "customer"];
    let Some((path, _)) = dump("report-customers.hprof", "OrderTable", &customer) else {
        return;
    };
    let by_customer = report(&path);
    let first = &by_customer["suspects"][0];
    let orders = content(first, "anthill.samples.OrderTable$Order");
    assert_eq!(
        orders["through"],
        "anthill.samples.OrderTable$Customer.lastOrder"
    );
}

#[test]
fn searchers_are_thread_local_values() {
    let Some((path, sample)) = dump("report-searchers.hprof", "Searchers", &[]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(
        (&first["severity"], &first["kind"]),
        (&"HIGH".into(), &"class".into())
    );
    assert_eq!(sample.count("searchers"), 32);
    let sentence = first["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("32 objects of anthill.samples.Searchers$Searcher together"));
    let evidence = &pattern(first, "thread-local value")["evidence"];
    let of = "32 of 32 are values of the thread-local variable anthill.samples.Searchers.SEARCHER,";
    assert!(evidence.as_str().unwrap().starts_with(of), "{evidence}");
}

#[test]
fn the_session_map_of_a_full_heap() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let path = scratch("report-sessions.hprof");
    let _ = std::fs::remove_file(&path);
    let to = format!("-XX:HeapDumpPath={}", path.display());
    let flags = ["-Xmx48m", "-XX:+HeapDumpOnOutOfMemoryError", to.as_str()];
    let sample = Sample::start(jdk, "Sessions", &[], &flags);
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(first["severity"], "HIGH");
    assert_eq!(
        held_by(first),
        ["static field anthill.samples.Sessions.open"]
    );
    let sessions = content(first, "anthill.samples.Sessions$Session")["objects"]
        .as_u64()
        .unwrap();
    let said = sample.count("sessions");
    // The last one may be in the making.
    assert!(
        sessions.abs_diff(said) <= 1,
        "{sessions} in the dump, {said} in the program"
    );
    pattern(first, "collection in a static field");
}

#[test]
fn everything_that_holds_a_suspect_is_named() {
    let Some((path, sample)) = dump("report-two-holders.hprof", "TwoHolders", &[]) else {
        return;
    };
    let report = report(&path);
    let first = &report["suspects"][0];
    assert_eq!(first["elements"]["objects"], sample.count("rows"));
    // Whichever is named first.
    let mut starts: Vec<&str> = first["also_held_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    starts.extend(held_by(first)[0].split(" → ").next());
    starts.sort_unstable();
    let field = |name: &str| format!("static field anthill.samples.TwoHolders.{name}");
    assert_eq!(starts, [field("DATABASES"), field("connection")]);
    let sentence = first["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(" and also by static field anthill.samples.TwoHolders."),
        "{sentence}"
    );
}

#[test]
fn what_was_added_to_when_there_was_no_memory() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let path = scratch("report-full-table.hprof");
    let _ = std::fs::remove_file(&path);
    let to = format!("-XX:HeapDumpPath={}", path.display());
    let flags = ["-Xmx32m", "-XX:+HeapDumpOnOutOfMemoryError", to.as_str()];
    let sample = Sample::start(jdk, "FullTable", &[], &flags);
    let report = report(&path);
    let full = &report["out_of_memory"];
    assert_eq!(full["thread"]["name"], "main");
    let sentence = full["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with(
            "Thread \"main\" ran out of memory while it worked on java.util.ArrayList @ "
        ) && sentence.ends_with(", held by static field anthill.samples.FullTable.rows."),
        "{sentence}"
    );
    assert!(sample.count("rows") > 0);
    let first = &report["suspects"][0];
    assert_eq!(
        held_by(first),
        ["static field anthill.samples.FullTable.rows"]
    );
}

#[test]
fn leaks_that_do_not_look_like_one() {
    let Some((path, _)) = dump("report-weak.hprof", "OtherLeaks", &["weak"]) else {
        return;
    };
    let first = &report(&path)["suspects"][0];
    assert_eq!(
        held_by(first),
        ["static field anthill.samples.OtherLeaks.values"]
    );
    pattern(first, "weak map whose values reach their keys");
    let Some((path, _)) = dump("report-buffers.hprof", "OtherLeaks", &["buffers"]) else {
        return;
    };
    let buffers = report(&path);
    let evidence = pattern(&buffers, "memory outside of the heap")["evidence"]
        .as_str()
        .unwrap();
    assert!(
        evidence.starts_with("5,000 direct byte buffers own 5,000,000 bytes"),
        "{evidence}"
    );
    let Some((path, _)) = dump("report-finalizers.hprof", "OtherLeaks", &["finalizers"]) else {
        return;
    };
    let finalizers = report(&path);
    let evidence = pattern(&finalizers, "backlog in a reference queue")["evidence"]
        .as_str()
        .unwrap();
    // One is being finalized, which takes forever.
    assert!(evidence.starts_with("4,999 references wait"), "{evidence}");
}

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

#[test]
fn the_report_of_the_demonstration_in_every_form() {
    let file = |ending: &str| scratch(&format!("report-demo.{ending}"));
    for ending in ["txt", "md", "html", "json"] {
        let path = file(ending);
        let output = ["report", DEMO, "--no-index", "-o", path.to_str().unwrap()];
        assert_eq!(print(&output), "");
        let written = std::fs::read_to_string(&path).unwrap();
        let again = scratch("report-demo-again").with_extension(ending);
        print(&["report", DEMO, "--no-index", "-o", again.to_str().unwrap()]);
        assert_eq!(
            std::fs::read_to_string(&again).unwrap(),
            written,
            "the same every time"
        );
        if ending != "json" {
            let name = format!("report.{ending}");
            program::assert_expected(&name, &written.replace(DEMO, "multi-cache.hprof.gz"));
        }
    }
    let html = std::fs::read_to_string(file("html")).unwrap();
    assert!(
        !html.contains("http") && !html.contains("<script"),
        "nothing from elsewhere"
    );
}

#[test]
fn ci_can_fail_on_suspects() {
    let fails = |arguments: &[&str]| {
        let ran = run(&[&["report", DEMO, "--no-index"], arguments].concat());
        (ran.code, ran.err)
    };
    let (code, said) = fails(&["--fail-on", "HIGH"]);
    assert_eq!(
        (code, said.contains("at least the severity of --fail-on")),
        (1, true),
        "{said}"
    );
    assert_eq!(fails(&["--fail-on", "medium"]).0, 1);
    assert_eq!(fails(&["--fail-on", "high", "--high", "100"]).0, 0);
    assert_eq!(fails(&[]).0, 0);
    let (code, said) = fails(&["-o", "report.pdf"]);
    assert_eq!(
        (code, said.contains(".html, .md, .json or .txt")),
        (2, true),
        "{said}"
    );
}

#[test]
fn redaction_hides_what_it_says() {
    let text = |arguments: &[&str]| print(&[&["report", DEMO, "--no-index"], arguments].concat());
    let plain = text(&[]);
    assert!(plain.contains("anthill.samples.IdCache") && plain.contains("\"app\""));
    let contents = text(&["--redact"]);
    assert!(contents.contains("anthill.samples.IdCache") && !contents.contains("\"app\""));
    let names = text(&["--redact", "names"]);
    for hidden in [
        "anthill",
        "IdCache",
        "idCache",
        "Product",
        "sales",
        "multi-cache.hprof",
    ] {
        // The commands to look closer with are ours.
        let said = names.replace("anthill paths", "");
        assert!(!said.contains(hidden), "{hidden}: {said}");
    }
    let bad = scratch("known-bad.txt");
    std::fs::write(&bad, "nonsense").unwrap();
    let ran = run(&[
        "report",
        DEMO,
        "--no-index",
        "--known",
        bad.to_str().unwrap(),
    ]);
    assert_eq!(
        (ran.code, ran.err.contains("is not a fingerprint")),
        (2, true)
    );
    assert!(
        !names.contains("anthill.samples") && names.contains("java.util.HashMap"),
        "{names}"
    );
}

/// Dumps of a registry that grows between them.
fn series() -> Option<(Vec<PathBuf>, u64)> {
    let jdk = Jdk::all().first()?;
    let mut sample = Sample::start(jdk, "GrowingRegistry", &["2000"], &["-Xmx256m"]);
    let mut paths = Vec::new();
    let mut sizes = Vec::new();
    for stage in 0..3 {
        let path = scratch(&format!("diff-{stage}.hprof"));
        sample.dump(&path, DumpOptions::default());
        paths.push(path);
        sizes.push(sample.count("registry entries"));
        sample.send("grow");
    }
    Some((paths, sizes[2] - sizes[0]))
}

#[test]
fn what_grew_between_dumps() {
    let Some((paths, more)) = series() else {
        return;
    };
    let names: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let diff = json(&[&["diff", "--no-index"], &names[..]].concat());
    let rows = diff["rows"].as_array().unwrap();
    let row = |class: &str| rows.iter().find(|row| row["name"] == class).unwrap();
    let listeners = row("anthill.samples.GrowingRegistry$Listener");
    assert_eq!(listeners["objects_change"], more);
    assert_eq!(
        (&listeners["change"], &listeners["grows_throughout"]),
        (&"grown".into(), &true.into())
    );
    let suspect = &diff["suspects"][0];
    assert!(
        suspect["sentence"]
            .as_str()
            .unwrap()
            .contains("GrowingRegistry.registry")
    );
    assert_eq!(suspect["change"], "grown");
    let text = print(&[&["diff", "--no-index"], &names[..]].concat());
    assert!(text.contains("grows throughout"), "{text}");
    // A leak that was there before is not new; compared with another program it is.
    let known = run(&["diff", names[0], names[1], "--no-index", "--fail-on-new"]);
    assert_eq!(known.code, 0, "{}", known.err);
    let new = run(&["diff", DEMO, names[1], "--no-index", "--fail-on-new"]);
    assert_eq!(
        (new.code, new.err.contains("new")),
        (1, true),
        "{}",
        new.err
    );
}

#[test]
fn a_leak_stays_the_same_while_its_owners_change() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let mut sample = Sample::start(jdk, "ChangingOwners", &["5000"], &["-Xmx256m"]);
    let (mut paths, mut owners, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for stage in 0..4 {
        let path = scratch(&format!("owners-{stage}.hprof"));
        sample.dump(&path, DumpOptions::default());
        let suspects = &report(&path)["suspects"];
        let is_of_products =
            |suspect: &&Value| suspect["kept"]["class"] == "anthill.samples.Product";
        let suspects = suspects.as_array().unwrap();
        let leak = suspects.iter().find(is_of_products);
        let leak = leak.unwrap_or_else(|| panic!("stage {stage}: {suspects:#?}"));
        owners.push((
            held_by(leak).len() as u64,
            leak["fingerprint"].as_str().unwrap().to_owned(),
        ));
        assert_eq!(owners[stage].0, sample.count("owners"), "{leak:#}");
        others.push(sample.count("passing bytes"));
        paths.push(path.to_str().unwrap().to_owned());
        sample.send("next");
    }
    assert!(owners.iter().any(|one| one.0 != owners[0].0), "{owners:?}");
    assert!(owners.iter().all(|one| one.1 == owners[0].1), "{owners:?}");
    for pair in paths.windows(2) {
        let diff = json(&["diff", &pair[0], &pair[1], "--no-index"]);
        let suspects = diff["suspects"].as_array().unwrap();
        let leaks: Vec<&Value> = suspects
            .iter()
            .filter(|suspect| suspect["fingerprint"] == owners[0].1.as_str())
            .collect();
        assert_eq!(leaks.len(), 1, "{suspects:#?}");
        assert_eq!(leaks[0]["change"], "grown");
    }
    // What is there only in the middle of the series is neither new nor the same.
    assert!(others[0] == 0 && others[2] > 0 && others[3] == 0);
    let series = ["diff", &paths[0], &paths[2], &paths[3], "--no-index"];
    let diff = json(&series);
    let mut suspects = diff["suspects"].as_array().unwrap().iter();
    let passed = suspects.find(|suspect| suspect["change"] == "passed");
    let passed = passed.unwrap_or_else(|| panic!("{diff:#}"));
    let sentence = passed["sentence"].as_str().unwrap();
    assert!(sentence.contains("ChangingOwners.passing"), "{sentence}");
    assert!(print(&series).contains("came and went suspect"));
}

#[test]
fn known_leaks_do_not_fail_again() {
    let report = scratch("known.json");
    let to = report.to_str().unwrap();
    print(&["report", DEMO, "--no-index", "-o", to]);
    let fail = ["report", DEMO, "--no-index", "--fail-on", "high", "--known"];
    let ran = run(&[&fail[..], &[to]].concat());
    assert_eq!(
        (ran.code, ran.out.contains("known")),
        (0, true),
        "{}",
        ran.err
    );
    let list = scratch("known.txt");
    std::fs::write(&list, "# another leak\n0123456789abcdef\n").unwrap();
    assert_eq!(
        run(&[&fail[..], &[list.to_str().unwrap()]].concat()).code,
        1
    );
}

#[test]
fn equal_owners_retain_what_dies_with_them_all() {
    let mut heap = HeapBuilder::new();
    for thread in 0..6 {
        heap.object(&format!("t{thread}"), "java.lang.Thread", 16);
        heap.object(&format!("own{thread}"), &format!("shop.Own{thread}"), 1000);
        heap.edges(&format!("t{thread} -> own{thread}"));
        heap.root(&format!("t{thread}"));
    }
    // Nobody retains it alone.
    heap.object("shared", "shop.Shared", 500);
    heap.edges("t0 -> shared, t1 -> shared");
    let path = trace_of(
        "report-alike.trace",
        [(heap.build(), Identities::default())],
    );
    let report = json(&[
        "report",
        &path,
        "--no-index",
        "--class",
        "20",
        "--object",
        "90",
    ]);
    let suspects = report["suspects"].as_array().unwrap().iter();
    let alike: Vec<&Value> = suspects.filter(|one| one["kind"] == "alike").collect();
    let [threads] = alike[..] else {
        panic!("one group of threads: {report:#}");
    };
    assert_eq!(threads["retained"], 6 * (16 + 1000) + 500);
    assert_eq!(threads["retained_objects"], 13);
    let sentence = threads["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("6 × java.lang.Thread together retain"),
        "{sentence}"
    );
}
