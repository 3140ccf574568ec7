//! Walks, against the JVM's histogram and the program's fields.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use anthill_testkit::Sample;
use anthill_wire::walk_file::{Record, Records, ReferenceKind, RootKind};
use anthill_wire::{FromAgent, Shape, field_places};

use crate::recorder::{Listener, Recorder};
use crate::{UNLOCK, everywhere, everywhere_searchable, is_searchable};

#[derive(Default)]
struct Walk {
    /// Class and size by id.
    objects: HashMap<u64, (u64, u64)>,
    references: Vec<(ReferenceKind, u64, u64, i32)>,
    roots: Vec<(RootKind, u64, bool)>,
}

impl Walk {
    fn read(path: &Path) -> Walk {
        let bytes = fs::read(path).unwrap();
        let mut walk = Walk::default();
        let mut ended = false;
        for record in Records::new(&bytes).unwrap() {
            match record.unwrap() {
                Record::Object {
                    id, class, size, ..
                } => {
                    assert!(walk.objects.insert(id, (class, size)).is_none(), "once");
                }
                Record::Reference {
                    kind,
                    from,
                    to,
                    index,
                } => walk.references.push((kind, from, to, index)),
                Record::Root {
                    kind,
                    object,
                    frame,
                } => walk.roots.push((kind, object, frame.is_some())),
                Record::End {
                    objects,
                    references,
                    roots,
                } => {
                    assert_eq!(objects as usize, walk.objects.len());
                    assert_eq!(references as usize, walk.references.len());
                    assert_eq!(roots as usize, walk.roots.len());
                    ended = true;
                }
            }
        }
        assert!(ended);
        let known = |id| walk.objects.contains_key(id);
        assert!(
            walk.references
                .iter()
                .all(|(_, from, to, _)| known(from) && known(to))
        );
        assert!(walk.roots.iter().all(|(_, object, _)| known(object)));
        walk
    }

    fn of_class(&self, class: u64) -> HashSet<u64> {
        let objects = self.objects.iter();
        objects
            .filter(|(_, (c, _))| *c == class)
            .map(|(id, _)| *id)
            .collect()
    }
}

/// Names and shapes of the classes.
struct Classes {
    names: HashMap<u64, String>,
    shapes: HashMap<u64, Shape>,
}

impl Classes {
    fn of(recorder: &Recorder) -> Classes {
        let mut classes = Classes {
            names: HashMap::new(),
            shapes: HashMap::new(),
        };
        for message in recorder.messages() {
            match message {
                FromAgent::Class(class) => {
                    classes.names.insert(class.id, class.signature);
                }
                FromAgent::Shape(shape) => {
                    let before = classes.shapes.insert(shape.class, shape);
                    assert!(before.is_none(), "each class once");
                }
                _ => {}
            }
        }
        classes
    }

    fn id(&self, name: &str) -> u64 {
        let mut ids = self.names.iter().filter(|(_, known)| *known == name);
        *ids.next().unwrap_or_else(|| panic!("no class {name}")).0
    }

    /// The field a reference from an instance of `class`, or from the class itself, comes from.
    fn field(&self, class: u64, index: i32) -> &str {
        let (first, places) = field_places(class, |class| self.shapes.get(&class)).unwrap();
        let place = places[index as usize - first];
        &self.shapes[&place.class].fields[place.field].name
    }
}

/// `Lanthill/samples/X;` as the histogram writes it, for classes that are no arrays.
fn histogram_name(signature: &str) -> Option<String> {
    let name = signature.strip_prefix('L')?.strip_suffix(';')?;
    Some(name.replace('/', "."))
}

#[test]
fn a_walk_meets_what_the_jvm_counts_and_names_its_fields() {
    everywhere_searchable(|jdk, flag, collector| {
        let listener = Listener::new(",sample=0");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx256m"];
        let sample = Sample::start(jdk, "Recorded", &["3000"], &flags);
        let mut recorder = listener.accept();
        let histogram = sample.histogram();
        let path = listener.folder().join("walk");
        let done = recorder.walk(&path);
        let about = format!("{collector} of JDK {}", jdk.version());
        assert_eq!(
            (done.failure, done.identities_missing),
            (None, None),
            "{about}"
        );
        let walk = Walk::read(&path);
        assert_eq!(done.objects as usize, walk.objects.len(), "{about}");
        let classes = Classes::of(&recorder);

        let mut totals: HashMap<String, (u64, u64)> = HashMap::new();
        for (class, size) in walk.objects.values() {
            if let Some(name) = histogram_name(&classes.names[class]) {
                let total = totals.entry(name).or_default();
                total.0 += 1;
                total.1 += size;
            }
        }
        let mut equal = 0;
        for (name, total) in &histogram {
            let own = name.starts_with("anthill.") && !name.ends_with("[]");
            let walked = totals.get(name).copied().unwrap_or_default();
            let same = walked == (total.instances, total.bytes);
            assert!(same || !own, "{about}: {name} {walked:?} is {total:?}");
            equal += usize::from(same);
        }
        // The rest are arrays, what only the JVM itself holds, and what changes all the time.
        assert!(
            equal * 2 > histogram.len(),
            "{about}: {equal} of {}",
            histogram.len()
        );

        let head = classes.id("Lanthill/samples/Recorded$SpecialHead;");
        let heads = walk.of_class(head);
        assert_eq!(heads.len(), 300, "{about}");
        let recorded = classes.id("Lanthill/samples/Recorded;");
        let (mut payloads, mut lists) = (0, 0);
        for &(kind, from, to, index) in &walk.references {
            if kind == ReferenceKind::Field && heads.contains(&from) {
                assert_eq!(classes.field(head, index), "payload");
                assert_eq!(classes.names[&walk.objects[&to].0], "[I");
                payloads += 1;
            }
            if kind == ReferenceKind::StaticField && from == recorded {
                let field = classes.field(recorded, index);
                if field == "HEADS" {
                    assert_eq!(classes.names[&walk.objects[&to].0], "Ljava/util/ArrayList;");
                    lists += 1;
                }
            }
        }
        assert_eq!((payloads, lists), (300, 1), "{about}");
        let in_frames = walk.roots.iter().filter(|root| root.2).count();
        let locals = walk
            .roots
            .iter()
            .filter(|root| root.0 == RootKind::StackLocal);
        assert!(in_frames > 0 && locals.count() > 0, "{about}");
    });
}

#[test]
fn ids_last_from_walk_to_walk() {
    everywhere_searchable(|jdk, flag, collector| {
        let listener = Listener::new(",sample=0");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx256m"];
        let mut sample = Sample::start(jdk, "Recorded", &["1000"], &flags);
        let mut recorder = listener.accept();
        let path = listener.folder().join("walk");
        let walk = |recorder: &mut Recorder| {
            assert_eq!(recorder.walk(&path).failure, None);
            let class = Classes::of(recorder).id("Lanthill/samples/Recorded$Head;");
            Walk::read(&path).of_class(class)
        };
        let first = walk(&mut recorder);
        sample.send("churn 100");
        sample.send("drop 500");
        sample.send("heads 100");
        sample.send("gc");
        let second = walk(&mut recorder);
        let (born, died) = (second.difference(&first), first.difference(&second));
        // Every tenth is of the subclass.
        assert_eq!((born.count(), died.count()), (90, 450), "{collector}");
    });
}

/// A walk would leave tags at places that objects are about to leave: the JVM would crash on them.
#[test]
fn heaps_that_cannot_be_walked_safely_are_not_walked() {
    everywhere(|jdk, flag, collector| {
        let listener = Listener::new(",sample=524288");
        let flags = [&listener.flag(), UNLOCK, flag];
        let _sample = Sample::start(jdk, "Recorded", &["10"], &flags);
        let mut recorder = listener.accept();
        let searchable = is_searchable(jdk, collector);
        assert_eq!(recorder.hello().searchable, searchable, "{collector}");
        let walked = recorder.walk(&listener.folder().join("walk"));
        assert_eq!(walked.failure.is_none(), searchable, "{collector}");
    });
}
