//! Explanations of small heaps that are known by heart: who holds what, and how it is named.

use serde_json::Value;

use crate::hand_written::{Class, Heap, INT};
use crate::program::{json, print, run};

fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// The ways of `paths` to one object: what each step is held by, then the address of the step.
fn ways(dump: &str, object: u64, more: &[&str]) -> (Vec<Vec<(String, String)>>, u64) {
    let object = hex(object);
    let arguments = [&["paths", dump, &object, "--no-index"], more].concat();
    let answer = json(&arguments);
    let step = |step: &Value| {
        let via = step["via"].as_str().unwrap_or_default().to_owned();
        (via, step["address"].as_str().unwrap().to_owned())
    };
    let way = |path: &Value| path["steps"].as_array().unwrap().iter().map(step).collect();
    let ways = answer["paths"].as_array().unwrap().iter().map(way);
    (ways.collect(), answer["omitted"].as_u64().unwrap())
}

/// The steps of a way as [`ways`] tells them.
fn way(steps: &[(&str, u64)]) -> Vec<(String, String)> {
    let step = |&(via, address): &(&str, u64)| (via.to_owned(), hex(address));
    steps.iter().map(step).collect()
}

/// The target is held by a static field and by a holder that refers back to it: the shortest path
/// to the holder passes the target, a longer one does not.
#[test]
fn a_holder_counts_whose_shortest_path_passes_the_object() {
    let mut heap = Heap::new();
    let node = heap.class("app/Node", Class::with_fields(&["next"]));
    let (target, holder) = (heap.address(1), heap.address(1));
    let second = heap.instance(node, &[holder]);
    let first = heap.instance(node, &[second]);
    heap.instance_at(target, node, &[holder]);
    heap.instance_at(holder, node, &[target]);
    let statics = [("A", target), ("B", first)];
    let main = heap.class("app/Main", Class::with_statics(&statics));
    heap.sticky(main);
    let dump = heap.write("explained/holder.hprof");
    let direct = way(&[("", main), ("static A", target)]);
    let around = way(&[
        ("", main),
        ("static B", first),
        ("next", second),
        ("next", holder),
        ("next", target),
    ]);
    assert_eq!(ways(&dump, target, &[]), (vec![direct.clone(), around], 0));
    assert_eq!(ways(&dump, target, &["--limit", "1"]), (vec![direct], 1));
}

/// Of the nodes of a list only the first is named, and of what is above it everything up to the static field.
#[test]
fn what_is_above_an_owner_is_named_up_to_the_static_field() {
    let mut heap = Heap::new();
    let target = heap.class("app/Target", Class::default());
    let target = heap.instance(target, &[]);
    let node = heap.class("app/Node", Class::with_fields(&["next"]));
    let last = heap.instance(node, &[target]);
    let middle = heap.instance(node, &[last]);
    let first = heap.instance(node, &[middle]);
    let queue = heap.class("app/Queue", Class::with_fields(&["head"]));
    let queue = heap.instance(queue, &[first]);
    let service = heap.class("app/Service", Class::with_fields(&["queue"]));
    let service = heap.instance(service, &[queue]);
    let main = heap.class("app/Main", Class::with_statics(&[("SERVICE", service)]));
    heap.sticky(main);
    let dump = heap.write("explained/above.hprof");
    let answer = json(&["owners", &dump, &hex(target), "--no-index"]);
    let [front] = &answer["fronts"].as_array().unwrap()[..] else {
        panic!("one front: {answer:#}");
    };
    let held = |owner: &Value| {
        let text = |key: &str| owner[key].as_str().unwrap().to_owned();
        (text("address"), text("held_by"))
    };
    let owners = |of: &str| -> Vec<(String, String)> {
        front[of].as_array().unwrap().iter().map(held).collect()
    };
    let path = |steps: &str| format!("static field app.Main.SERVICE{steps}");
    assert_eq!(
        owners("owners"),
        [(hex(last), path(" → queue → head → next → next"))]
    );
    assert_eq!(
        owners("above"),
        [
            (hex(first), path(" → queue → head")),
            (hex(queue), path(" → queue")),
            (hex(service), path("")),
        ]
    );
}

/// What many threads work with is one suspect, although no field leads to it.
#[test]
fn equal_local_variables_of_many_threads_are_one_suspect() {
    let mut heap = Heap::new();
    let thread = heap.class("java/lang/Thread", Class::default());
    for number in 1..=12 {
        let object = heap.instance(thread, &[]);
        heap.thread(number, object);
        let buffer = heap.bytes(&[number as u8; 1000]);
        heap.local(number, buffer);
    }
    let dump = heap.write("explained/locals.hprof");
    let report = json(&["report", &dump, "--no-index", "--brief"]);
    let [suspect] = &report["suspects"].as_array().unwrap()[..] else {
        panic!("one suspect: {report:#}");
    };
    let sentence = suspect["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("12 × byte[]"), "{sentence}");
    assert!(sentence.contains("local variable"), "{sentence}");
    assert!(
        suspect["retained"].as_u64().unwrap() >= 12_000,
        "{suspect:#}"
    );
}

/// A thread-local variable has no name but the field that holds it: a static one before others.
#[test]
fn values_of_threads_are_named_by_the_field_of_their_variable() {
    let mut heap = Heap::new();
    let variable = heap.class("java/lang/ThreadLocal", Class::default());
    let (shared, own) = (heap.instance(variable, &[]), heap.instance(variable, &[]));
    let pool = heap.class("app/Pool", Class::with_fields(&["mine", "current"]));
    let pool = heap.instance(pool, &[own, shared]);
    let statics = [("CURRENT", shared), ("POOL", pool)];
    let main = heap.class("app/Main", Class::with_statics(&statics));
    heap.sticky(main);
    let dump = heap.write("explained/thread-locals.hprof");
    for (variable, field) in [(shared, "app.Main.CURRENT"), (own, "app.Pool.mine")] {
        let object = json(&["object", &dump, &hex(variable), "--no-index"]);
        let label = object["label"].as_str().unwrap();
        let expected = format!("java.lang.ThreadLocal {field} @ {}", hex(variable));
        assert_eq!(label, expected);
    }
}

/// Every one of many referrers counts, but for those that only the object itself leads to.
#[test]
fn every_referrer_that_is_reached_without_the_object_is_a_holder() {
    let mut heap = Heap::new();
    let node = heap.class("app/Node", Class::with_fields(&["next"]));
    let array_class = heap.class("[Lapp/Node;", Class::default());
    let target = heap.address(1);
    let outside: Vec<u64> = (0..300).map(|_| heap.instance(node, &[target])).collect();
    let inside: Vec<u64> = (0..200).map(|_| heap.instance(node, &[target])).collect();
    let below = heap.array(array_class, &inside);
    heap.instance_at(target, node, &[below]);
    let all = heap.array(array_class, &outside);
    heap.jni_global(all);
    heap.jni_global(target);
    let dump = heap.write("explained/referrers.hprof");
    let (first, omitted) = ways(&dump, target, &["--limit", "2"]);
    assert_eq!(first[0], way(&[("", target)]));
    let second = way(&[("", all), ("[0]", outside[0]), ("next", target)]);
    assert_eq!(first[1], second);
    assert_eq!(omitted, 299);
}

#[test]
fn a_class_that_only_instances_hold_is_reached_through_them() {
    let mut heap = Heap::new();
    let plugin = heap.class("plug/Plugin", Class::default());
    let instance = heap.instance(plugin, &[]);
    let other = heap.instance(plugin, &[]);
    heap.instance(plugin, &[]);
    heap.jni_global(instance);
    heap.jni_global(other);
    let dump = heap.write("explained/class-object.hprof");
    let through = |instance| way(&[("", instance), ("class", plugin)]);
    let expected = vec![through(instance), through(other)];
    assert_eq!(ways(&dump, plugin, &[]), (expected, 0));
    let text = print(&["paths", &dump, &hex(plugin), "--no-index"]);
    assert!(text.contains("└─ class → class plug.Plugin @"), "{text}");
}

#[test]
fn a_weak_referent_does_not_name_a_strong_path() {
    let mut heap = Heap::new();
    let fields = ["referent", "queue", "next", "discovered"];
    let reference = heap.class("java/lang/ref/Reference", Class::with_fields(&fields));
    let weak = heap.class(
        "java/lang/ref/WeakReference",
        Class {
            extends: reference,
            ..Class::default()
        },
    );
    let target = heap.instance(heap.object_class, &[]);
    let holder = heap.instance(weak, &[target, target, 0, 0]);
    heap.jni_global(holder);
    let dump = heap.write("explained/referent.hprof");
    let expected = way(&[("", holder), ("queue", target)]);
    assert_eq!(ways(&dump, target, &[]), (vec![expected], 0));
    let merged = json(&["paths", &dump, "java.lang.Object", "--no-index"]);
    assert_eq!(merged["branches"][0]["children"][0]["via"], "queue");
}

/// Two threads hold the same array, which a static field holds too; each has something of its own,
/// and both together hold one thing more.
#[test]
fn threads_keep_what_nothing_else_holds() {
    let mut heap = Heap::new();
    let thread = heap.class("java/lang/Thread", Class::with_fields(&["own"]));
    let node = heap.class("app/Node", Class::with_fields(&["next"]));
    let large = heap.bytes(&[7; 100_000]);
    let cached = heap.instance(node, &[large]);
    let statics = [("ALL", cached)];
    let cache = heap.class("app/Cache", Class::with_statics(&statics));
    heap.sticky(cache);
    let both = heap.instance(node, &[0]);
    for serial in 1..=2 {
        let own = heap.instance(node, &[both]);
        let object = heap.instance(thread, &[own]);
        let local = heap.bytes(&vec![0; 1024 * serial as usize]);
        heap.thread(serial, object);
        heap.local(serial, cached);
        heap.local(serial, both);
        heap.local(serial, local);
    }
    let dump = heap.write("explained/threads.hprof");
    let kept = |more: &[&str]| {
        let answer = json(&[&["threads", &dump, "--no-index"], more].concat());
        let rows = answer["rows"].as_array().unwrap().iter();
        let kept = |row: &Value| row["kept"]["objects"].as_u64().unwrap();
        let bytes = |row: &Value| row["kept"]["retained"].as_u64().unwrap();
        rows.map(|row| (kept(row), bytes(row))).collect::<Vec<_>>()
    };
    // The thread and its own node have 16 bytes each, as has the header of the array.
    let expected = [(3, 48 + 2 * 1024), (3, 48 + 1024)];
    assert_eq!(kept(&["--exact"]), expected);
    assert_eq!(kept(&[]), expected);
    assert_eq!(kept(&["--compat", "mat"]), expected);
}

/// A heap of so many objects in which the stand-in for the boot loader, whose number is that of no
/// object, holds the class of loaders and the array that its static field holds; that array, and how
/// many objects it has.
fn held_by_the_stand_in(objects: u64) -> (Heap, u64, usize) {
    let mut heap = Heap::without_loaders();
    let node = heap.class("app/A", Class::with_fields(&["next"]));
    let array_class = heap.class("[Lapp/A;", Class::default());
    let main = heap.class("app/Main", Class::default());
    heap.sticky(main);
    // The array and the class of the field come last.
    let nodes: Vec<u64> = (heap.objects()..objects - 2)
        .map(|_| heap.instance(node, &[0]))
        .collect();
    let all = heap.array(array_class, &nodes);
    let statics = [("PARALLEL", all)];
    heap.class("java/lang/ClassLoader", Class::with_statics(&statics));
    assert_eq!(heap.objects(), objects);
    (heap, all, nodes.len())
}

/// Asks a question under MAT's view; it must end with an answer or an error.
fn ask_like_mat(question: &[&str]) {
    let ran = run(&[question, &["--compat", "mat", "--no-index"]].concat());
    assert!(!ran.err.contains("panicked"), "{question:?}: {}", ran.err);
    assert!((0..=2).contains(&ran.code), "{question:?}: {}", ran.err);
}

#[test]
fn the_stand_in_for_the_boot_loader_is_in_nobodys_way() {
    for objects in [63, 64, 65, 128] {
        let (heap, array, nodes) = held_by_the_stand_in(objects);
        let dump = heap.write(&format!("explained/stand-in-{objects}.hprof"));
        for question in [
            &["owners", &dump, "app.A"][..],
            &["report", &dump],
            &["inspect", &dump, "app.A"],
            &["paths", &dump, "app.A"],
            &["dominators", &dump],
            &["objects", &dump],
            &["threads", &dump],
            &["waste", &dump],
            &["cut", &dump, "all()", "app.A"],
            &["histogram", &dump, "--by", "loader"],
            &["classify", &dump, "--by", "dominating-root"],
            &["classify", &dump, "--by", "indirectly-rooted"],
            &["classify", &dump, "--by", "dominator,type"],
            &["classify", &dump, "--by", "pointed-from,type"],
            &["classify", &dump, "--by", "gc-closure,type"],
        ] {
            ask_like_mat(question);
        }
        let by = [
            "classify",
            &dump,
            "--class",
            "app.A",
            "--by",
            "closest-root",
        ];
        let tree = json(&[&by[..], &["--compat", "mat", "--no-index"]].concat());
        let fields = &tree["tree"]["children"][0];
        assert_eq!(fields["key"], "static field", "{objects} objects");
        assert_eq!(fields["objects"], nodes);
        let array = hex(array);
        let text = print(&["paths", &dump, &array, "--compat", "mat", "--no-index"]);
        assert!(
            text.contains("GC root: root of the boot loader\n"),
            "{text}"
        );
    }
}

/// Damage makes the stand-in hold anything, and the number of objects anything.
#[test]
fn damaged_dumps_have_answers_under_mats_view() {
    let (heap, ..) = held_by_the_stand_in(64);
    let dump = heap.write("explained/damaged.hprof");
    let whole = std::fs::read(&dump).unwrap();
    let mut random = fastrand::Rng::with_seed(16);
    for _ in 0..40 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.usize(..8) {
            let at = random.usize(40..bytes.len());
            bytes[at] ^= 1 << random.u32(..8);
        }
        std::fs::write(&dump, &bytes).unwrap();
        ask_like_mat(&["report", &dump]);
        ask_like_mat(&["owners", &dump, "all()"]);
        ask_like_mat(&["classify", &dump, "--by", "closest-root"]);
    }
}

/// The JVM's own size of a stack chunk depends on the frames in it; MAT knows its fields only.
#[test]
fn mat_counts_stack_chunks_by_their_fields() {
    let mut heap = Heap::new();
    let class = Class {
        fields: &["parent"],
        others: &[("size", INT), ("sp", INT), ("bottom", INT)],
        ..Class::default()
    };
    let chunk_class = heap.class("jdk/internal/vm/StackChunk", class);
    let words = [100u32, 7, 2].map(u32::to_be_bytes).concat();
    let chunk = heap.instance_with(chunk_class, &[0], &words);
    heap.jni_global(chunk);
    let dump = heap.write("explained/stack-chunk.hprof");
    let arguments = ["objects", &dump, "--class", "*.StackChunk", "--no-index"];
    let shallow = |more: &[&str]| {
        let answer = json(&[&arguments, more].concat());
        answer["rows"][0]["shallow"].as_u64().unwrap()
    };
    assert_eq!(shallow(&["--compat", "mat"]), 32);
    assert!(shallow(&[]) >= 800, "a hundred words and the header");
}

/// A static field leads to the target, and so does an object that only the first holder leads to.
#[test]
fn an_object_that_the_holder_keeps_alive_is_another_holder() {
    let mut heap = Heap::new();
    let target_class = heap.class("app/X", Class::default());
    let node = heap.class("app/Node", Class::with_fields(&["x", "other"]));
    let target = heap.instance(target_class, &[]);
    let alone = heap.instance(target_class, &[]);
    let below = heap.instance(node, &[target, 0]);
    let above = heap.instance(node, &[target, below]);
    heap.jni_global(above);
    heap.jni_global(alone);
    let dump = heap.write("explained/other-holders.hprof");
    let merged = json(&["paths", &dump, "app.X", "--no-index"]);
    assert_eq!(merged["objects"], 2);
    assert_eq!(merged["other_holders"], 1);
}

/// The bytes that `waste` would save of a kind.
fn savable_of(dump: &str, kind: &str) -> u64 {
    let waste = json(&["waste", dump, "--no-index"]);
    let mut kinds = waste["kinds"].as_array().unwrap().iter();
    let found = kinds.find(|found| found["kind"] == kind).unwrap();
    found["savable"].as_u64().unwrap()
}

/// Two equal strings share an array, as after deduplication. Each pair has 16 + 1000 bytes of array.
#[test]
fn an_array_that_something_else_holds_is_not_saved_with_its_strings() {
    for held in [false, true] {
        let mut heap = Heap::new();
        let string = heap.string_class();
        heap.class("[B", Class::default());
        let (kept, shared) = (heap.bytes(&[65; 1000]), heap.bytes(&[65; 1000]));
        let strings: Vec<u64> = [kept, shared, shared]
            .into_iter()
            .map(|array| heap.string(string, array))
            .collect();
        strings.iter().for_each(|&string| heap.jni_global(string));
        let raw = if held { shared } else { 0 };
        let statics = [("RAW", raw)];
        let main = heap.class("app/Main", Class::with_statics(&statics));
        heap.sticky(main);
        let dump = heap.write(&format!("explained/strings-{held}.hprof"));
        let array = if held { 0 } else { 1016 };
        assert_eq!(savable_of(&dump, "duplicate-strings"), 2 * 24 + array);
    }
}

/// Two loaders with a class of the same name each, whose static fields hold an array.
fn same_name_in_two_loaders() -> Heap {
    let mut heap = Heap::new();
    heap.class("[B", Class::default());
    let loader_class = heap.class("app/Loader", Class::default());
    for size in [100, 200] {
        let loader = heap.instance(loader_class, &[]);
        let bytes = heap.bytes(&vec![1; size]);
        let statics = [("DATA", bytes)];
        let class = Class {
            loader,
            ..Class::with_statics(&statics)
        };
        let class = heap.class("app/Plugin", class);
        heap.instance(class, &[]);
        heap.jni_global(class);
    }
    heap
}

/// The keys of the nodes below a node of `classify`, with how many objects each has.
fn children(node: &Value) -> Vec<(String, u64)> {
    let children = node["children"].as_array().unwrap().iter();
    let child = |node: &Value| {
        let key = node["key"].as_str().unwrap().to_owned();
        (key, node["objects"].as_u64().unwrap())
    };
    children.map(child).collect()
}

#[test]
fn classes_of_the_same_name_are_two_roots() {
    let dump = same_name_in_two_loaders().write("explained/same-name.hprof");
    let by = |steps: &str| {
        let arguments = [
            "classify",
            &dump,
            "--class",
            "byte[]",
            "--by",
            steps,
            "--no-index",
        ];
        json(&arguments)["tree"].clone()
    };
    let rows = children(&by("dominating-root"));
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), [1, 1]);
    let is_named = |row: &(String, u64)| {
        row.0
            .starts_with("class app.Plugin (loader app.Loader @ 0x")
    };
    assert!(rows.iter().all(is_named), "{rows:?}");
    let fields = children(&by("closest-root")["children"][0]);
    assert_eq!(fields.iter().map(|row| row.1).collect::<Vec<_>>(), [1, 1]);
    let is_named = |row: &(String, u64)| row.0.starts_with("app.Plugin (loader app.Loader @ 0x");
    assert!(fields.iter().all(is_named), "{fields:?}");
}

/// To each of the two loaders belong a class object, an instance and the loader itself.
#[test]
fn a_loader_has_the_same_objects_in_every_answer() {
    let heap = same_name_in_two_loaders();
    let all = heap.objects();
    let dump = heap.write("explained/loaders.hprof");
    let histogram = json(&["histogram", &dump, "--by", "loader", "--no-index"]);
    let rows = histogram["rows"].as_array().unwrap().iter();
    let mut counted: Vec<u64> = rows.map(|row| row["objects"].as_u64().unwrap()).collect();
    counted.sort_unstable();
    assert_eq!(counted, [3, 3, all - 6]);
    let tree = json(&[
        "classify",
        &dump,
        "--by",
        "loader",
        "--unreachable",
        "--no-index",
    ]);
    let mut classified: Vec<u64> = children(&tree["tree"]).iter().map(|row| row.1).collect();
    classified.sort_unstable();
    assert_eq!(classified, counted);
}

#[test]
fn a_node_with_an_empty_key_can_be_named() {
    let mut heap = Heap::new();
    let bytes = heap.class("[B", Class::default());
    let string = heap.string_class();
    let thread = heap.class("java/lang/Thread", Class::with_fields(&["name", "local"]));
    for class in [bytes, string, thread] {
        heap.sticky(class);
    }
    for (serial, name) in [(1, &b""[..]), (2, b" worker ")] {
        let text = heap.bytes(name);
        let name = heap.string(string, text);
        let local = heap.bytes(&[0; 100]);
        let object = heap.instance(thread, &[name, local]);
        heap.thread(serial, object);
    }
    let dump = heap.write("explained/empty-key.hprof");
    let by = ["classify", &dump, "--by", "closest-root", "--no-index"];
    let node = |keys: &str| json(&[&by[..], &["--node", keys]].concat())["tree"].clone();
    let kinds = children(&json(&by)["tree"]);
    assert!(kinds.iter().any(|kind| kind.0 == "thread"), "{kinds:?}");
    // The thread, its name with the text, and its array.
    for (keys, key) in [
        ("thread > ", ""),
        ("Overall > thread > ", ""),
        ("thread >  worker ", " worker "),
    ] {
        let node = node(keys);
        assert_eq!((&node["key"], &node["objects"]), (&key.into(), &4.into()));
    }
    assert_eq!(node(" thread ")["objects"], 8);
}

#[test]
fn unreachable_objects_retain_themselves_in_every_answer() {
    let mut heap = Heap::new();
    let node = heap.class("app/Node", Class::with_fields(&["next"]));
    let first = heap.instance(node, &[0]);
    heap.instance(node, &[first]);
    let reachable = heap.instance(node, &[0]);
    heap.jni_global(reachable);
    let dump = heap.write("explained/unreachable.hprof");
    let group = "unreachable()";
    let objects = json(&["objects", &dump, "--group", group, "--no-index"]);
    let mut nodes = 0;
    let mut sum = 0;
    for row in objects["rows"].as_array().unwrap() {
        assert_eq!(row["retained"], row["shallow"], "it retains itself");
        nodes += u64::from(row["class"] == "app.Node");
        sum += row["shallow"].as_u64().unwrap();
    }
    assert_eq!(nodes, 2);
    let tree = &json(&["classify", &dump, "--group", group, "--no-index"])["tree"];
    assert_eq!(tree["retained"], sum);
    assert_eq!(tree["retained_objects"], tree["objects"]);
    let inspected = json(&["inspect", &dump, group, "--no-index"]);
    assert_eq!(inspected["retained"], sum);
}

/// A list that is empty, whose array of 16 + 4 · 100 bytes a static field holds or does not.
#[test]
fn an_array_that_something_else_holds_is_not_saved_with_its_collection() {
    for held in [false, true] {
        let mut heap = Heap::new();
        let object_array = heap.class("[Ljava/lang/Object;", Class::default());
        let class = Class {
            fields: &["elementData"],
            others: &[("size", INT)],
            ..Class::default()
        };
        let list_class = heap.class("java/util/ArrayList", class);
        let array = heap.array(object_array, &[0; 100]);
        let list = heap.instance_with(list_class, &[array], &[0; 4]);
        let statics = [("LIST", list), ("RAW", if held { array } else { 0 })];
        let main = heap.class("app/Main", Class::with_statics(&statics));
        heap.sticky(main);
        let dump = heap.write(&format!("explained/list-{held}.hprof"));
        let savable = if held { 0 } else { 416 };
        assert_eq!(savable_of(&dump, "empty-collections"), savable);
    }
}
