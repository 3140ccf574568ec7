//! The class loader of a web application that a real Tomcat has undeployed is the first suspect, with
//! what holds it; that of one that runs is no leak.

use std::path::{Path, PathBuf};

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{json, print, scratch};

/// Of each web application: enough to make it a suspect by its size.
const PRODUCTS: u32 = 100_000;

/// The installed JDK and the newest.
fn jdks() -> impl Iterator<Item = &'static Jdk> {
    let all = Jdk::all();
    all.first()
        .into_iter()
        .chain(all[1.min(all.len())..].last())
}

/// A dump of a Tomcat that leaked in a way; nothing without a JDK or Tomcat's libraries.
fn dump(jdk: &Jdk, leak: &str) -> Option<(PathBuf, Sample)> {
    let name = format!("tomcat-{leak}-{}", jdk.version());
    let sample = Sample::start_tomcat(jdk, leak, &scratch(&name), PRODUCTS)?;
    let path = scratch(&format!("{name}.hprof"));
    sample.dump(&path, DumpOptions::default());
    Some((path, sample))
}

fn report(path: &Path) -> Value {
    json(&["report", path.to_str().unwrap(), "--no-index"])
}

/// The suspects without what is private.
fn redacted(path: &Path, what: &str) -> String {
    let path = path.to_str().unwrap();
    let report = json(&["report", path, "--no-index", "--redact", what]);
    report["suspects"].to_string()
}

fn evidence<'a>(suspect: &'a Value, name: &str) -> Option<&'a str> {
    let mut patterns = suspect["patterns"].as_array().unwrap().iter();
    patterns.find(|pattern| pattern["name"] == name)?["evidence"].as_str()
}

/// The first suspect of a leak is the loader of the stopped application; what is said
/// of its holder contains all of `holder`, and `also` holds for the suspect.
fn check(leak: &str, holder: &[&str], also: impl Fn(&Path, &Value)) {
    for jdk in jdks() {
        let Some((path, sample)) = dump(jdk, leak) else {
            return;
        };
        assert_eq!(sample.count("leaked loaders"), 1);
        let report = report(&path);
        let first = &report["suspects"][0];
        let version = jdk.version();
        assert_eq!(first["kind"], "class loader", "JDK {version}");
        assert_eq!(first["owners"][0]["class"], sample.truth()["loader class"]);
        let evidence = evidence(first, "leaked class loader").unwrap();
        assert!(
            evidence.contains("/webapps/shop\" is DESTROYED, but still held through"),
            "JDK {version}: {evidence}"
        );
        for words in holder {
            assert!(
                evidence.contains(words),
                "JDK {version}: {words} in {evidence}"
            );
        }
        let products = first["contents"].as_array().unwrap().iter();
        let products: u64 = products
            .filter(|content| content["class"] == "shop.Product")
            .map(|content| content["objects"].as_u64().unwrap())
            .sum();
        assert_eq!(products, sample.count("products of shop"), "JDK {version}");
        let others = report["suspects"].as_array().unwrap()[1..].iter();
        for other in others {
            assert_eq!(
                self::evidence(other, "leaked class loader"),
                None,
                "{other:#}"
            );
        }
        also(&path, first);
    }
}

#[test]
fn a_running_thread_holds_the_loader() {
    let holder = ["a running thread (java.lang.Thread \"shop-refresher\""];
    check("thread", &holder, |path, suspect| {
        let thread = &suspect["owners"][0]["thread"];
        assert_eq!(thread["name"], "shop-refresher");
        let frames = thread["frames"].to_string();
        assert!(frames.contains("\"shop.Leak.refreshForever("), "{frames}");

        let redacted = redacted(path, "contents");
        assert!(!redacted.contains("shop-refresher"), "{redacted}");
        assert!(redacted.contains("shop.Product"), "{redacted}");
        let loader = "The class loader is DESTROYED, but still held";
        assert!(redacted.contains(loader), "{redacted}");
    });
}

#[test]
fn a_thread_local_value_holds_the_loader() {
    let holder = ["a thread-local value of", "-exec-1\"", ": shop.Product @"];
    check("threadlocal", &holder, |_, suspect| {
        assert!(evidence(suspect, "thread-local value").is_some());
    });
}

#[test]
fn all_that_hold_the_loader_are_named() {
    let field = "static field anthill.samples.SharedRegistry.entries";
    let hook = "a shutdown hook (java.lang.Thread \"shop-goodbye\"";
    let holders = ["a thread-local value of", "-exec-1\"", field, hook];
    check("threadlocal,static,hook", &holders, |path, suspect| {
        check_loaders(path, &holders);
        let evidence = evidence(suspect, "leaked class loader").unwrap();
        assert!(
            evidence.contains("Each of them alone keeps it alive."),
            "{evidence}"
        );
    });
}

/// The class loaders of both applications, told apart by their context paths.
fn check_loaders(path: &Path, holders: &[&str]) {
    let path = path.to_str().unwrap();
    let of = |filter: &str| {
        let found = json(&["loaders", path, "--no-index", "--filter", filter]);
        let [row] = &found["rows"].as_array().unwrap()[..] else {
            panic!("one class loader: {found:#}");
        };
        row.clone()
    };
    let (shop, outlet) = (of("/shop"), of("/outlet"));
    assert_eq!(
        (&shop["state"], &shop["stopped"]),
        (&"DESTROYED".into(), &true.into())
    );
    assert_eq!(
        (&outlet["state"], &outlet["stopped"]),
        (&"STARTED".into(), &false.into())
    );
    let held_by = shop["held_by"].to_string().replace("\\\"", "\"");
    for holder in holders {
        assert!(held_by.contains(holder), "{holder} in {held_by}");
    }
    assert_eq!(shop["held_by"].as_array().unwrap().len(), 3, "{held_by}");
    for row in [&shop, &outlet] {
        assert!(row["objects"].as_u64() > Some(PRODUCTS.into()), "{row:#}");
        assert_eq!(row["parent"]["label"], of("app")["loader"]["label"]);
        let place = row["places"][0].as_str().unwrap();
        assert!(place.ends_with("/WEB-INF/classes/"), "{place}");
    }
    // The server has the jars of Tomcat on its class path.
    let jars = of("tomcat-embed-core*.jar")["places"].to_string();
    assert!(jars.contains("/tomcat-embed-core"), "{jars}");
    let text = print(&["loaders", path, "--no-index"]);
    assert!(
        text.contains("ParallelWebappClassLoader \"/shop\" @"),
        "{text}"
    );
    assert!(
        text.contains("held by static field anthill.samples.SharedRegistry"),
        "{text}"
    );
}

#[test]
fn a_thread_that_inherited_a_context_holds_the_loader() {
    let context = "the access-control context that a thread inherited \
                   (java.lang.Thread \"server-helper\"";
    // Later JDKs have no such context.
    let jdk = jdks().find(|jdk| jdk.feature() < 24);
    for (leak, local) in [("context", false), ("context,threadlocal", true)] {
        let Some((path, sample)) = jdk.and_then(|jdk| dump(jdk, leak)) else {
            return;
        };
        assert_eq!(sample.count("leaked loaders"), 1);
        let report = report(&path);
        let evidence = evidence(&report["suspects"][0], "leaked class loader").unwrap();
        assert!(evidence.contains(context), "{evidence}");
        assert_eq!(
            evidence.contains("a thread-local value of"),
            local,
            "{evidence}"
        );
    }
}

#[test]
fn a_static_field_of_the_parent_holds_the_loader() {
    let field = "static field anthill.samples.SharedRegistry.entries";
    check("static", &[field], |_, suspect| {
        let held = suspect["owners"][0]["held_by"].as_str().unwrap();
        assert!(held.starts_with(field), "{held}");
    });
}

#[test]
fn a_registered_driver_holds_the_loader() {
    let holder = ["a JDBC driver that is still registered (shop.ShopDriver @"];
    check("driver", &holder, |path, _| {
        let redacted = redacted(path, "names");
        assert!(redacted.contains("still registered (class-"), "{redacted}");
        assert!(!redacted.contains("shop.ShopDriver"), "{redacted}");
        assert!(!redacted.contains("webapps"), "{redacted}");
    });
}

#[test]
fn a_shutdown_hook_holds_the_loader() {
    let holder = ["a shutdown hook (java.lang.Thread \"shop-goodbye\""];
    check("hook", &holder, |_, _| ());
}

#[test]
fn a_tomcat_without_a_leak_has_no_leaked_loader() {
    for jdk in jdks() {
        let Some((path, sample)) = dump(jdk, "none") else {
            return;
        };
        assert_eq!(sample.count("leaked loaders"), 0);
        assert_eq!(sample.count("products of outlet"), u64::from(PRODUCTS));
        let report = report(&path);
        let suspects = report["suspects"].as_array().unwrap();
        let loader = |suspect: &Value| suspect["kind"] == "class loader";
        assert!(
            suspects.iter().any(loader),
            "the application that runs is large"
        );
        for suspect in suspects {
            assert_eq!(
                evidence(suspect, "leaked class loader"),
                None,
                "{suspect:#}"
            );
        }
    }
}
