//! The sample of `java/tomcat`: a real Tomcat that leaks the class loader of a web application. Its
//! libraries are what `./x test` keeps in `.tools/lib/tomcat`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::javac::{compile, libraries};
use crate::sample::classes;
use crate::{Jdk, Sample, repository, skipped};

struct Compiled {
    /// What the server runs with: its classes, those of the samples, Tomcat's libraries.
    class_path: Vec<PathBuf>,
    /// The classes of the web application, which the server must not see.
    application: PathBuf,
}

impl Sample {
    /// Starts a Tomcat on loopback that undeploys a web application with so many `products`, which
    /// stays alive in the way that `leak` says; Tomcat works in `folder`. Nothing, and said so,
    /// without Tomcat's libraries.
    ///
    /// # Panics
    /// Like [`Sample::start`].
    pub fn start_tomcat(jdk: &Jdk, leak: &str, folder: &Path, products: u32) -> Option<Sample> {
        static COMPILED: OnceLock<Option<Compiled>> = OnceLock::new();
        let compiled = COMPILED.get_or_init(compiled).as_ref()?;
        let application = compiled.application.to_str()?;
        let products = products.to_string();
        let arguments = [leak, application, folder.to_str()?, &products];
        let (class_path, flags) = (&compiled.class_path, ["-Xmx128m"]);
        let sample = Sample::start_with(jdk, class_path, "LeakyTomcat", &arguments, &flags);
        Some(sample)
    }
}

fn compiled() -> Option<Compiled> {
    let libraries = libraries("tomcat");
    if libraries.is_empty() {
        skipped(
            "tests on Tomcat",
            "no libraries in .tools/lib/tomcat; ./x test fetches them with Maven",
        );
        return None;
    }
    let java = repository().join("java/tomcat");
    let mut class_path = vec![classes().to_owned()];
    class_path.extend(libraries);
    class_path.push(compile(&java.join("server/anthill/samples"), &class_path));
    let application = compile(&java.join("webapp/shop"), &class_path);
    Some(Compiled {
        class_path,
        application,
    })
}
