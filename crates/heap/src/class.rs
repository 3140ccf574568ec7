//! Classes, their fields and the values of static fields.

use serde::{Deserialize, Serialize};

use crate::{ClassId, ObjectId};

/// The type of a field or an array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "Java's own names")]
pub enum FieldType {
    Object,
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

impl FieldType {
    /// All types, in the order of their numbers.
    pub const ALL: [FieldType; 9] = [
        FieldType::Object,
        FieldType::Boolean,
        FieldType::Char,
        FieldType::Float,
        FieldType::Double,
        FieldType::Byte,
        FieldType::Short,
        FieldType::Int,
        FieldType::Long,
    ];

    /// Bytes of a value; for references it depends on who asks.
    pub const fn size(self, reference_size: u32) -> u32 {
        match self {
            FieldType::Object => reference_size,
            FieldType::Boolean | FieldType::Byte => 1,
            FieldType::Char | FieldType::Short => 2,
            FieldType::Float | FieldType::Int => 4,
            FieldType::Double | FieldType::Long => 8,
        }
    }

    /// The name in Java source; references have none of their own.
    pub const fn keyword(self) -> &'static str {
        match self {
            FieldType::Object => "Object",
            FieldType::Boolean => "boolean",
            FieldType::Char => "char",
            FieldType::Float => "float",
            FieldType::Double => "double",
            FieldType::Byte => "byte",
            FieldType::Short => "short",
            FieldType::Int => "int",
            FieldType::Long => "long",
        }
    }
}

/// An instance field, as its class declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// As in the source.
    pub name: String,
    /// What its values are.
    pub ty: FieldType,
}

/// The value of a field. A reference is an address, 0 is null; whether an object is there is
/// for [`crate::AddressMap`] to say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "Java's own names")]
pub enum Value {
    Object(u64),
    Boolean(bool),
    Char(u16),
    Float(f32),
    Double(f64),
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    /// A value of that type that the source leaves out.
    NotRecorded(FieldType),
}

impl Value {
    /// The type of a field with this value.
    pub fn field_type(self) -> FieldType {
        match self {
            Value::Object(_) => FieldType::Object,
            Value::Boolean(_) => FieldType::Boolean,
            Value::Char(_) => FieldType::Char,
            Value::Float(_) => FieldType::Float,
            Value::Double(_) => FieldType::Double,
            Value::Byte(_) => FieldType::Byte,
            Value::Short(_) => FieldType::Short,
            Value::Int(_) => FieldType::Int,
            Value::Long(_) => FieldType::Long,
            Value::NotRecorded(ty) => ty,
        }
    }
}

/// A static field with the value it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticField {
    /// As in the source.
    pub name: String,
    /// Its value in this heap state.
    pub value: Value,
}

/// How strongly the `referent` of a `java.lang.ref.Reference` is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "Java's own names")]
pub enum Strength {
    Strong,
    Soft,
    Weak,
    Phantom,
    Finalizer,
}

impl Strength {
    /// How the class of that name holds its referent; its subclasses do the same.
    pub fn of_class(name: &str) -> Option<Self> {
        match name {
            "java.lang.ref.SoftReference" => Some(Strength::Soft),
            "java.lang.ref.WeakReference" => Some(Strength::Weak),
            "java.lang.ref.PhantomReference" => Some(Strength::Phantom),
            "java.lang.ref.FinalReference" | "java.lang.ref.FinalizerReference" => {
                Some(Strength::Finalizer)
            }
            _ => None,
        }
    }
}

/// The class that declares the field of the referent.
const REFERENCE: &str = "java.lang.ref.Reference";

/// The class of the stacks of virtual threads, whose objects differ in size.
pub const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";

/// What the objects of a class are, and what their detail says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClassKind {
    /// Objects with fields. The objects' detail is 0.
    Instance,
    /// Objects of this class differ in size; their detail is their size in 8-byte words.
    Variable,
    /// Arrays. Their detail is the length.
    Array(FieldType),
    /// The class of class objects. Their detail is the number of the class they stand for.
    Mirror,
}

impl ClassKind {
    /// The kind of the class of that name, in Java notation.
    pub fn of_class(name: &str) -> Self {
        match name.strip_suffix("[]") {
            _ if name == "java.lang.Class" => ClassKind::Mirror,
            _ if name == STACK_CHUNK => ClassKind::Variable,
            Some(element) => {
                let primitive = FieldType::ALL
                    .into_iter()
                    .skip(1)
                    .find(|ty| ty.keyword() == element);
                ClassKind::Array(primitive.unwrap_or(FieldType::Object))
            }
            None => ClassKind::Instance,
        }
    }
}

/// A class that objects have or that the source describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// In Java notation: `java.lang.String`, `byte[]`.
    pub name: String,
    /// What its objects are.
    pub kind: ClassKind,
    /// The class object, if it is in the heap state.
    pub mirror: Option<ObjectId>,
    /// Its superclass; none for `java.lang.Object` and where the source does not tell.
    pub super_class: Option<ClassId>,
    /// The class loader object; `None` is the boot loader.
    pub loader: Option<ObjectId>,
    /// The array of those who signed it.
    pub signers: Option<ObjectId>,
    /// What `Class.getProtectionDomain` is based on.
    pub protection_domain: Option<ObjectId>,
    /// Instance fields this class declares, in the order of the source.
    pub fields: Vec<Field>,
    /// Static fields this class declares, in the order of the source.
    pub statics: Vec<StaticField>,
    /// For `java.lang.ref.Reference` classes: what their referent is.
    pub reference: Option<Strength>,
    /// Whether the source describes the class, or only names it.
    pub described: bool,
}

impl Class {
    /// A class with nothing but a name.
    pub fn new(name: String, kind: ClassKind) -> Self {
        Class {
            name,
            kind,
            mirror: None,
            super_class: None,
            loader: None,
            signers: None,
            protection_domain: None,
            fields: Vec::new(),
            statics: Vec::new(),
            reference: None,
            described: true,
        }
    }

    /// The package in Java notation, empty for the unnamed one.
    pub fn package(&self) -> &str {
        package_of(&self.name)
    }

    /// Whether objects of this class have their referent in a field that `declaring`, one of its
    /// superclasses, declares: it is not among their references.
    pub fn is_referent(&self, declaring: &Class, field: &Field) -> bool {
        self.reference.is_some() && field.name == "referent" && declaring.name == REFERENCE
    }
}

/// The package of a class name; that of an array is its elements'. Primitive arrays and classes
/// of the unnamed package give "".
pub fn package_of(name: &str) -> &str {
    let plain = name.trim_end_matches("[]");
    // A hidden class is named `p.Outer$$Lambda/0x…` or `p.Outer$$Lambda+0x…`, a few end in `.0x…`.
    let plain = plain.split(['/', '+']).next().unwrap_or(plain);
    plain.rsplit_once('.').map_or("", |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_names() {
        assert_eq!(package_of("java.util.Map$Entry[][]"), "java.util");
        assert_eq!(package_of("Main"), "");
        assert_eq!(package_of("byte[]"), "");
        assert_eq!(package_of("p.q.Main$$Lambda/0x000001.x"), "p.q");
    }
}
