//! Every sample program on every JDK: what it says about itself agrees with what the JVM counts.

use anthill_testkit::{DumpOptions, Histogram, Jdk, Sample, skipped};

/// The feature releases whose dumps are known to differ.
const MATRIX: [u32; 4] = [11, 17, 21, 25];

fn on_each_jdk(name: &str, arguments: &[&str], check: impl Fn(&mut Sample)) {
    for jdk in Jdk::all() {
        check(&mut Sample::start(jdk, name, arguments, &["-Xmx256m"]));
    }
}

fn instances(histogram: &Histogram, class: &str) -> u64 {
    histogram.get(class).map_or(0, |total| total.instances)
}

fn instances_of_sample(histogram: &Histogram, class: &str) -> u64 {
    instances(histogram, &format!("anthill.samples.{class}"))
}

#[test]
fn the_matrix_says_which_jdks_are_missing() {
    let features: Vec<u32> = Jdk::all().iter().map(Jdk::feature).collect();
    for feature in MATRIX {
        if !features.contains(&feature) {
            skipped(
                &format!("tests on JDK {feature}"),
                "it is not here; run ./x test",
            );
        }
    }
}

#[test]
fn multi_cache_holds_each_product_in_two_maps() {
    on_each_jdk("MultiCache", &["20000"], |sample| {
        let products = sample.count("products");
        let histogram = sample.histogram();
        assert_eq!(products, 20_000);
        assert_eq!(instances_of_sample(&histogram, "Product"), products);
        assert_eq!(sample.count("own prices"), products / 10 * 9);
        assert!(instances(&histogram, "int[]") >= 2 * products);
        assert!(instances(&histogram, "java.util.HashMap$Node") >= 2 * products);
        // The maps' promised retained sets hold only while no bin has become a tree.
        assert_eq!(instances(&histogram, "java.util.HashMap$TreeNode"), 0);
    });
}

#[test]
fn three_caches_share_all_their_entries() {
    on_each_jdk("ThreeCaches", &["700", "10"], |sample| {
        let entries = sample.count("entries");
        let owned: u64 = sample
            .truth()
            .keys()
            .filter(|key| key.starts_with("entries owned by "))
            .map(|key| sample.count(key))
            .sum();
        assert_eq!(entries, 7_000);
        assert_eq!(owned, entries);
        let histogram = sample.histogram();
        assert_eq!(
            instances_of_sample(&histogram, "ThreeCaches$Entry"),
            entries
        );
    });
}

#[test]
fn buggy_stack_keeps_what_it_popped() {
    on_each_jdk("BuggyStack", &["10000"], |sample| {
        for _ in 0..2 {
            let stale = sample.count("stale items");
            assert_eq!(stale, 10_000);
            assert_eq!(sample.count("items on the stack"), 0);
            let histogram = sample.histogram();
            assert_eq!(instances_of_sample(&histogram, "BuggyStack$Item"), stale);
            sample.send("again");
        }
        assert_eq!(sample.count("items replaced"), 1_000);
    });
}

#[test]
fn a_fixed_stack_keeps_nothing() {
    on_each_jdk("BuggyStack", &["10000", "fixed"], |sample| {
        let histogram = sample.histogram();
        assert_eq!(sample.count("stale items"), 0);
        assert_eq!(instances_of_sample(&histogram, "BuggyStack$Item"), 0);
    });
}

#[test]
fn swap_leak_keeps_every_object_it_ever_made() {
    on_each_jdk("SwapLeak", &["100", "7"], |sample| {
        let alive = sample.count("objects alive");
        let histogram = sample.histogram();
        assert_eq!(alive, 800);
        assert_eq!(instances_of_sample(&histogram, "SwapLeak$SObject"), alive);
        assert_eq!(
            instances_of_sample(&histogram, "SwapLeak$SObject$Rep"),
            alive
        );
    });
}

#[test]
fn order_table_leaks_where_it_says() {
    for (leak, alive) in [("table", 1_000), ("customer", 100), ("none", 100)] {
        on_each_jdk("OrderTable", &["100", "10", leak], |sample| {
            let histogram = sample.histogram();
            assert_eq!(sample.count("orders alive"), alive, "{leak}");
            assert_eq!(
                instances_of_sample(&histogram, "OrderTable$Order"),
                alive,
                "{leak}"
            );
            // The JVM itself has a few trees of its own.
            let entries = instances(&histogram, "java.util.TreeMap$Entry");
            assert!(entries >= sample.count("orders in the table"), "{leak}");
        });
    }
}

#[test]
fn growing_registry_grows_on_command() {
    on_each_jdk("GrowingRegistry", &["1000", "500"], |sample| {
        for step in 1..=3 {
            let histogram = sample.histogram();
            assert_eq!(sample.count("registry entries"), 1_000 * step);
            let listeners = instances_of_sample(&histogram, "GrowingRegistry$Listener");
            assert_eq!(listeners, 1_000 * step);
            let settings = instances_of_sample(&histogram, "GrowingRegistry$Setting");
            assert_eq!(settings, sample.count("constant entries"));
            sample.send("grow");
        }
    });
}

#[test]
fn chain_has_all_its_nodes() {
    on_each_jdk("Chain", &["100000"], |sample| {
        let histogram = sample.histogram();
        assert_eq!(sample.count("nodes"), 100_000);
        assert_eq!(instances_of_sample(&histogram, "Chain$Node"), 100_000);
    });
}

#[test]
fn shapes_counts_what_it_holds() {
    on_each_jdk("Shapes", &[], |sample| {
        let histogram = sample.histogram();
        for class in ["Leaf", "Weak", "Soft", "Phantom", "Finalizable", "Held"] {
            assert_eq!(
                instances_of_sample(&histogram, &format!("Shapes${class}")),
                sample.count(&format!("{class} instances")),
                "{class} on JDK {}",
                sample.jdk().version()
            );
        }
        assert_eq!(
            instances_of_sample(&histogram, "Shapes$Target"),
            sample.count("Target instances after a full GC")
        );
        for class in ["Größe", "Класс", "クラス"] {
            assert_eq!(
                instances_of_sample(&histogram, &format!("Shapes${class}")),
                1,
                "{class} on JDK {}",
                sample.jdk().version()
            );
        }
        let threads = sample.jcmd(&["Thread.print"]);
        assert!(threads.contains(&sample.truth()["thread"]));
    });
}

#[test]
fn dumps_are_written_plain_and_compressed_and_replace_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    for jdk in Jdk::all() {
        let sample = Sample::start(jdk, "Chain", &["1000"], &["-Xmx64m"]);
        let plain = folder.path().join(format!("chain {}.hprof", jdk.version()));
        for all in [false, true] {
            sample.dump(&plain, DumpOptions { all, gz: false });
            let bytes = std::fs::read(&plain).unwrap();
            assert!(bytes.starts_with(b"JAVA PROFILE 1.0.2\0"));
        }
        if jdk.feature() >= 17 {
            let packed = plain.with_extension("hprof.gz");
            sample.dump(
                &packed,
                DumpOptions {
                    all: false,
                    gz: true,
                },
            );
            let bytes = std::fs::read(&packed).unwrap();
            assert!(bytes.starts_with(b"\x1f\x8b"));
        }
    }
}
