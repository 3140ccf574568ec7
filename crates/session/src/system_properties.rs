//! The system properties of the JVM whose heap it is: what `System.getProperties()` would have said.

use std::collections::BTreeMap;

use anthill_heap::{ObjectId, Value};

use crate::{Error, Session};

impl Session {
    /// The system properties whose keys and values are strings; none if the source has no contents.
    pub fn system_properties(&self) -> Result<BTreeMap<String, String>, Error> {
        let (state, records) = (self.state(), self.records());
        let mut found = BTreeMap::new();
        let Some(properties) = self
            .system_field("props")
            .filter(|_| records.has_contents())
        else {
            return Ok(found);
        };
        // Since JDK 9 they are in a map of their own.
        let map = records.field_object(state, properties, "map");
        self.elements(map.unwrap_or(properties), &mut |element| {
            let text = |value: Option<Value>| match value? {
                Value::Object(address) => records.string(state, state.addresses.find(address)?),
                _ => None,
            };
            if let (Some(key), Some(value)) = (text(element.key), text(element.value)) {
                found.insert(key, value);
            }
        })?;
        Ok(found)
    }

    /// What a static field of `java.lang.System` refers to.
    fn system_field(&self, name: &str) -> Option<ObjectId> {
        let state = self.state();
        let mut classes = state.classes().iter();
        let system = classes.find(|class| class.name == "java.lang.System")?;
        let field = system.statics.iter().find(|field| field.name == name)?;
        match field.value {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        }
    }
}
