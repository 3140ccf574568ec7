//! Known leaks of real libraries: `report` names the culprit from one dump, `growth` from two. What is to be named is said by
//! the programs themselves.

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{json, scratch};

/// What a good answer has: the field that a programmer would look for, or another place on the way to it; for equal
/// owners, what there are many of.
struct Wanted {
    culprit: String,
    also: Vec<String>,
    element: String,
    elements: u64,
    /// The name that the program gave it, and bytes outside of the heap.
    named: Option<String>,
    pattern: Option<String>,
    outside: Option<u64>,
}

impl Wanted {
    fn new(sample: &Sample) -> Self {
        let said = |key: &str| sample.truth().get(key).cloned();
        let also = said("also").unwrap_or_default();
        Wanted {
            culprit: said("culprit").expect("every program names its culprit"),
            also: also.split(", ").map(str::to_owned).collect(),
            element: said("element").expect("every program says what it leaks"),
            elements: sample.count("elements"),
            named: said("named"),
            pattern: said("pattern"),
            outside: said("outside").and_then(|bytes| bytes.parse().ok()),
        }
    }

    /// What a text names, in the words of `docs/leaks.md`: the field, with its class or at the end of a path, or
    /// another place on the way to it.
    fn named(&self, text: &str) -> Option<&'static str> {
        let ends_in = |place: &str| {
            let field = place.rsplit('.').next().unwrap_or_default();
            let step = format!(" → {field}");
            let mut ends = text.split(&step).skip(1);
            let continues =
                |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || "_$".contains(c));
            ends.any(|rest| !continues(rest))
        };
        if text.contains(&self.culprit) || ends_in(&self.culprit) {
            return Some("the field");
        }
        let mut also = self.also.iter().filter(|also| !also.is_empty());
        let is_on_the_way = also.any(|also| match also.strip_prefix("thread ") {
            Some(thread) => text.contains(thread.trim_end_matches(|c: char| c.is_ascii_digit())),
            None => text.contains(also.as_str()) || ends_in(also),
        });
        is_on_the_way.then_some("a place on the way")
    }

    fn is_element(&self, class: &Value, objects: &Value) -> bool {
        class == self.element.as_str() && objects == self.elements
    }
}

/// Two dumps of a program that leaks, of the JDK that is installed.
fn check(name: &str) {
    let Some(jdk) = Jdk::installed() else {
        return;
    };
    let Some(mut sample) = Sample::start_leak(jdk, name) else {
        return;
    };
    let dumps = [1, 2].map(|number| scratch(&format!("leak-{name}-{number}.hprof")));
    sample.dump(&dumps[0], DumpOptions::default());
    sample.send("more");
    sample.dump(&dumps[1], DumpOptions::default());
    let wanted = Wanted::new(&sample);
    drop(sample);
    let [before, after] = dumps.each_ref().map(|dump| dump.to_str().unwrap());

    let report = json(&["report", after, "--brief", "--no-index"]);
    let first = &report["suspects"][0];
    let text = format!(
        "{} {} {}",
        first["sentence"], first["place"], first["holders"]
    );
    let (class, objects) = (&first["elements"]["class"], &first["elements"]["objects"]);
    let by_elements = || wanted.is_element(class, objects).then_some("the objects");
    let by_report = wanted.named(&text).or_else(by_elements);
    let by_report =
        by_report.unwrap_or_else(|| panic!("{name}: {} is not named: {text}", wanted.culprit));
    if let Some(named) = &wanted.named {
        let name = first["named_by"]["name"].as_str().unwrap_or_default();
        assert!(name.contains(named.as_str()), "{name}: {first:#}");
    }
    if let Some(pattern) = &wanted.pattern {
        let patterns = first["patterns"].as_array().unwrap();
        let is_named = patterns.iter().any(|one| one["name"] == pattern.as_str());
        assert!(is_named, "{pattern}: {patterns:#?}");
    }
    if let Some(outside) = wanted.outside {
        assert_eq!(first["outside"], outside, "{first:#}");
    }
    // What every program has is nobody's leak.
    for suspect in report["suspects"].as_array().unwrap() {
        let sentence = suspect["sentence"].as_str().unwrap();
        assert!(
            !sentence.contains("ZipFile") && !sentence.contains(" objects of byte[]"),
            "{sentence}"
        );
    }

    let growth = json(&["growth", before, after, "--no-index"]);
    let rows = |key: &str| growth[key].as_array().unwrap().clone();
    let all = [rows("joint"), rows("structures"), rows("places")].concat();
    let most = all.iter().max_by(|a, b| {
        let hgp = |row: &Value| row["hgp"].as_f64().unwrap_or(0.0);
        hgp(a).total_cmp(&hgp(b))
    });
    let most = most.unwrap_or_else(|| panic!("{name}: nothing grew: {growth:#}"));
    let text = format!("{} {} {}", most["name"], most["owners"], most["elements"]);
    let by_growth = wanted
        .named(&text)
        .unwrap_or_else(|| panic!("{name}: {} is not named: {text}", wanted.culprit));
    assert_eq!(
        documented(name),
        [by_report, by_growth],
        "{name}: docs/leaks.md"
    );
}

/// What the table in `docs/leaks.md` says of a program: what `report` and `growth` name first.
fn documented(program: &str) -> [&'static str; 2] {
    let docs = include_str!("../../../../docs/leaks.md");
    let start = format!("| `{program}` |");
    let row = docs.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("docs/leaks.md has no row for {program}"));
    let mut cells = row.trim_end_matches(" |").rsplit(" | ");
    let (growth, report) = (cells.next(), cells.next());
    [report, growth].map(Option::unwrap_or_default)
}

#[test]
fn what_fills_the_heap_is_named_and_not_the_method_that_failed() {
    let Some(jdk) = Jdk::installed() else {
        return;
    };
    let path = scratch("leak-OutOfMemory.hprof");
    let Some(printed) = Sample::fill_heap(jdk, &path) else {
        return;
    };
    let report = json(&["report", path.to_str().unwrap(), "--brief", "--no-index"]);
    let first = &report["suspects"][0];
    let sentence = first["sentence"].as_str().unwrap();
    let field = "held by static field anthill.leaks.OrderBook.ORDERS,";
    assert!(sentence.contains(field), "{sentence}");
    let orders = first["elements"]["objects"].as_u64().unwrap();
    assert!(
        printed.contains(&format!("TRUTH elements = {orders}\n")),
        "{orders}: {printed}"
    );
    assert_eq!(first["elements"]["class"], "anthill.leaks.LimitOrder");
    let sentence = report["out_of_memory"]["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Thread \"order-import\" ran out of memory "),
        "{sentence}"
    );
}

/// The JVM counts what is alive; a dump does not have the fields of class objects that hold these.
#[test]
fn what_class_objects_hold_is_not_garbage() {
    let classes = [
        "java.lang.ClassValue$ClassValueMap",
        "java.lang.ClassValue$Entry",
        "java.lang.Class$ReflectionData",
        "java.lang.Class$AnnotationData",
        "sun.reflect.annotation.AnnotationType",
        "sun.reflect.generics.repository.ClassRepository",
    ];
    for jdk in Jdk::all() {
        let Some(sample) = Sample::start_leak(jdk, "ClassValues") else {
            return;
        };
        let path = scratch(&format!("class-fields-{}.hprof", jdk.version()));
        sample.dump(&path, DumpOptions::default());
        let counted = sample.histogram();
        let path = path.to_str().unwrap();
        let found = json(&["histogram", path, "--no-index", "--limit", "0"]);
        for class in classes {
            let rows = found["rows"].as_array().unwrap().iter();
            let row = rows.clone().find(|row| row["class"] == class);
            let row = row.unwrap_or_else(|| panic!("JDK {}: no {class}", jdk.version()));
            let alive = counted[class].instances;
            let version = jdk.version();
            assert_eq!(row["objects"], alive, "JDK {version}: {class}");
            assert_eq!(row["unreachable_objects"], 0, "JDK {version}: {class}");
        }
        let mat = json(&[
            "histogram",
            path,
            "--no-index",
            "--limit",
            "0",
            "--compat",
            "mat",
        ]);
        let rows = mat["rows"].as_array().unwrap().iter();
        let maps = rows.clone().find(|row| row["class"] == classes[0]);
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let known = maps.map_or(0, |row| {
            number(row, "objects") - number(row, "unreachable_objects")
        });
        // Eclipse MAT does not know what holds them.
        assert!(known < counted[classes[0]].instances, "{known} are alive");
    }
}

macro_rules! leaks {
    ($($test:ident = $program:literal,)*) => {
        $(#[test]
        fn $test() {
            check($program);
        })*
    };
}

leaks! {
    actor_children = "ActorChildren",
    async_log_queue = "AsyncLogQueue",
    caffeine_cache = "CaffeineCache",
    cancelled_timers = "CancelledTimers",
    class_values = "ClassValues",
    copy_on_write_listeners = "CopyOnWriteListeners",
    coroutine_jobs = "CoroutineJobs",
    delete_on_exit = "DeleteOnExit",
    direct_buffers = "DirectBuffers",
    driver_loader = "DriverLoader",
    ehcache_store = "EhcacheStore",
    event_bus_subscribers = "EventBusSubscribers",
    executor_backlog = "ExecutorBacklog",
    guava_cache = "GuavaCache",
    http_clients = "HttpClients",
    http_sessions = "HttpSessions",
    in_memory_table = "InMemoryTable",
    index_readers = "IndexReaders",
    managed_beans = "ManagedBeans",
    metric_names = "MetricNames",
    metric_tags = "MetricTags",
    mock_invocations = "MockInvocations",
    object_stream_handles = "ObjectStreamHandles",
    open_statements = "OpenStatements",
    pending_future = "PendingFuture",
    plugin_loaders = "PluginLoaders",
    property_listeners = "PropertyListeners",
    query_plans = "QueryPlans",
    reactor_sink = "ReactorSink",
    rx_subscribers = "RxSubscribers",
    scheduler_jobs = "SchedulerJobs",
    script_classes = "ScriptClasses",
    shutdown_hooks = "ShutdownHooks",
    spring_listeners = "SpringListeners",
    template_cache = "TemplateCache",
    thread_context_in_pool = "ThreadContextInPool",
    thread_pools = "ThreadPools",
    timer_tasks = "TimerTasks",
    unreturned_pool_objects = "UnreturnedPoolObjects",
    vertx_consumers = "VertxConsumers",
    weak_cache_with_strong_values = "WeakCacheWithStrongValues",
    weak_map_of_handlers = "WeakMapOfHandlers",
    wheel_timeouts = "WheelTimeouts",
}
