//! What class loaders say about themselves: what they load from, which web application they are of, and whether
//! it still runs.

use anthill_graph::NodeId;
use anthill_heap::{ObjectId, Value};

use crate::Session;

/// Characters of a path that are read.
const LONGEST_PATH: usize = 500;
/// Places that one class loader loads from; a class path can have thousands.
const MOST_PLACES: u32 = 100;

const LOADER: &str = "java.lang.ClassLoader";

/// What is known about a class loader besides its class and its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderFacts {
    /// The name that it was given.
    pub name: Option<String>,
    /// The context path of the web application that it is of: `/shop`.
    pub context: Option<String>,
    /// The state that the web application says it is in: `STARTED`, `DESTROYED`.
    pub state: Option<String>,
    /// Jars and directories that it loads from, at most 100.
    pub places: Vec<String>,
    /// The class loader that it asks first.
    pub parent: Option<ObjectId>,
}

impl Session {
    /// What is known about a class loader.
    pub fn loader_facts(&self, loader: ObjectId) -> LoaderFacts {
        LoaderFacts {
            name: self.records().loader_name(self.state(), loader),
            context: self.application_context(loader),
            state: self.loader_state(loader),
            places: self.loader_places(loader, MOST_PLACES),
            parent: self.parent_loader(loader),
        }
    }

    /// The state that a web application's class loader says it is in: one of Tomcat's `LifecycleState`.
    pub fn loader_state(&self, loader: NodeId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        if loader >= state.len() {
            return None;
        }
        let value = records.field_object(state, loader, "state")?;
        let name = records.field_object(state, value, "name")?;
        records.text(state, name, 40).or_else(|| {
            // Without texts: a constant is in the static field of its name.
            let constant = Value::Object(state.addresses.address(value));
            let mut fields = state.class(value).statics.iter();
            let field = fields.find(|field| field.value == constant)?;
            Some(field.name.clone())
        })
    }

    /// The folder of the web application that a class loader of Tomcat is of.
    pub fn application_folder(&self, loader: NodeId) -> Option<String> {
        let path = self.urls_of(loader, "localRepositories", 1).pop()?;
        let (folder, _) = path.split_once("/WEB-INF/")?;
        Some(folder.to_owned())
    }

    /// In a word or two what a class loader without a name loads: the context path of a web application, or the
    /// first of its jars and directories.
    pub(crate) fn loader_subject(&self, loader: ObjectId) -> Option<String> {
        self.application_context(loader).or_else(|| {
            let places = self.loader_places(loader, MOST_PLACES);
            let first = file_name(places.first()?);
            Some(match places.len() - 1 {
                0 => first.to_owned(),
                more => format!("{first} and {more} more"),
            })
        })
    }

    /// By what Tomcat knows about a running application; one that was stopped has only its folder.
    fn application_context(&self, loader: ObjectId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        let follow = |from, field| records.field_object(state, from, field);
        let path = || {
            let context = follow(follow(loader, "resources")?, "context")?;
            records.text(state, follow(context, "path")?, LONGEST_PATH)
        };
        match path() {
            Some(path) if path.is_empty() => Some("/".to_owned()),
            Some(path) => Some(path),
            None => Some(context_path(file_name(&self.application_folder(loader)?))),
        }
    }

    /// Jars and directories: those that Tomcat or a `URLClassLoader` lists; otherwise where the first class is from.
    fn loader_places(&self, loader: ObjectId, most: u32) -> Vec<String> {
        let (state, records) = (self.state(), self.records());
        let own = self.urls_of(loader, "localRepositories", most);
        if !own.is_empty() {
            return own;
        }
        let path = records.field_object(state, loader, "ucp");
        let listed = path.map_or_else(Vec::new, |path| self.urls_of(path, "path", most));
        if !listed.is_empty() {
            return listed;
        }
        let source = || {
            let classes = records.field_object(state, loader, "classes")?;
            let class = self.list(classes, 1).into_iter().next()?;
            let class = &state.classes()[state.mirrored(class)? as usize];
            let source = records.field_object(state, class.protection_domain?, "codesource")?;
            self.url(records.field_object(state, source, "location")?)
        };
        source().into_iter().collect()
    }

    /// The paths of the URLs in a list.
    fn urls_of(&self, object: ObjectId, field: &str, most: u32) -> Vec<String> {
        let list = self.records().field_object(self.state(), object, field);
        let urls = list.map_or_else(Vec::new, |list| self.list(list, most));
        urls.into_iter().filter_map(|url| self.url(url)).collect()
    }

    /// The first elements of an `ArrayList` or a `Vector`.
    fn list(&self, list: ObjectId, most: u32) -> Vec<ObjectId> {
        let (state, records) = (self.state(), self.records());
        let Some(array) = records.field_object(state, list, "elementData") else {
            return Vec::new();
        };
        let elements = records.elements(state, array, 0..most).into_iter();
        let objects = elements.filter_map(|element| match element {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        });
        objects.collect()
    }

    /// Where a `java.net.URL` leads, without what is the same in all: `file:` and the `!/` at the end of a jar.
    fn url(&self, url: ObjectId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        let path = records.field_object(state, url, "path")?;
        let path = records.text(state, path, LONGEST_PATH)?;
        let path = path.strip_prefix("file:").unwrap_or(&path);
        Some(path.strip_suffix("!/").unwrap_or(path).to_owned())
    }

    fn parent_loader(&self, loader: ObjectId) -> Option<ObjectId> {
        let (state, records) = (self.state(), self.records());
        // A subclass may have a field of that name for something else.
        let mut fields = records.field_places(state, state.class_id(loader));
        let (_, _, place) = fields.find(|(class, field, _)| {
            field.name == "parent" && state.classes()[*class as usize].name == LOADER
        })?;
        match records.cursor().field(state, loader, place)? {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        }
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// The context path that Tomcat derives from the name of an application's folder: `ROOT`, `shop##2`, `a#b`.
fn context_path(folder: &str) -> String {
    let name = folder.split("##").next().unwrap_or(folder);
    match name {
        "ROOT" => "/".to_owned(),
        name => format!("/{}", name.replace('#', "/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_tomcat_have_their_context_path_in_their_name() {
        // Tomcat's documentation of naming.
        for (folder, path) in [
            ("ROOT", "/"),
            ("shop", "/shop"),
            ("foo#bar", "/foo/bar"),
            ("foo##42", "/foo"),
            ("foo#bar##2", "/foo/bar"),
        ] {
            assert_eq!(context_path(folder), path);
        }
        assert_eq!(file_name("/a/b/plugin.jar"), "plugin.jar");
        assert_eq!(file_name("/a/classes/"), "classes");
    }
}
