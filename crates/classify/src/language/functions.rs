//! The properties and functions there are, with their types and what a person should know.

use super::types::Type;

/// Something of an object that needs no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    Type,
    Package,
    SimpleName,
    Superclass,
    Superclasses,
    Loader,
    IsArray,
    ElementType,
    FieldTypes,
    ReferenceSize,
    Kind,
    Length,
    Size,
    Retained,
    Address,
    Reachable,
    Rooted,
    Roots,
    InDegree,
    OutDegree,
    Text,
    References,
    Referrers,
    Dominator,
    Elements,
}

impl Property {
    /// Whether all objects of a class have the same.
    pub fn is_of_class(self) -> bool {
        matches!(
            self,
            Property::Type
                | Property::Package
                | Property::SimpleName
                | Property::Superclass
                | Property::Superclasses
                | Property::Loader
                | Property::IsArray
                | Property::ElementType
                | Property::FieldTypes
                | Property::ReferenceSize
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Property(Property),
    Is,
    Field,
    RootedBy,
    TextLength,
    PackageOf,
    SimpleNameOf,
    Contains,
    StartsWith,
    EndsWith,
    Lower,
    Upper,
    Trim,
    Split,
    Substring,
    LesserOf,
    GreaterOf,
    Absolute,
    Bucket,
    Floor,
    Range,
    Any,
    All,
    Count,
    Filter,
    Map,
    First,
    Last,
    Sum,
    Least,
    Most,
    Distinct,
    Has,
    Join,
}

/// What a function takes or gives, in terms of the list it is called on where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the language has the same words")]
pub enum Kind {
    Bool,
    Number,
    Text,
    /// A text that is known before any object is visited.
    Name,
    Object,
    Any,
    Numbers,
    Texts,
    Objects,
    /// Any list.
    List,
    /// An element of the list.
    Item,
    /// The list itself.
    Same,
    /// `x => true or false`, for the elements of the list.
    Test,
    /// `x => any value`.
    Mapping,
    /// The list of what the mapping gives.
    Mapped,
}

impl Kind {
    /// The type, given that of the list's elements.
    pub fn ty(self, item: &Type) -> Type {
        match self {
            Kind::Bool => Type::Bool,
            Kind::Number => Type::Number,
            Kind::Text | Kind::Name => Type::Text,
            Kind::Object => Type::Object,
            Kind::Any | Kind::Test | Kind::Mapping => Type::Any,
            Kind::Numbers => Type::list(Type::Number),
            Kind::Texts => Type::list(Type::Text),
            Kind::Objects => Type::list(Type::Object),
            Kind::List | Kind::Mapped => Type::list(Type::Any),
            Kind::Item => item.clone(),
            Kind::Same => Type::list(item.clone()),
        }
    }
}

impl Kind {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Number => "number",
            Kind::Text | Kind::Name => "text",
            Kind::Object => "object",
            Kind::Any => "value",
            Kind::Numbers => "numbers",
            Kind::Texts => "texts",
            Kind::Objects => "objects",
            Kind::List | Kind::Same | Kind::Mapped => "list",
            Kind::Item => "element",
            Kind::Test => "x => …",
            Kind::Mapping => "x => …",
        }
    }
}

/// `of.name(takes…)`, also written `name(of, takes…)`. If it is of an object, `of` may be left out.
pub struct Signature {
    /// Which function.
    pub function: Function,
    /// As it is written.
    pub name: &'static str,
    /// What it is called on.
    pub of: Kind,
    /// Its further arguments.
    pub takes: &'static [Kind],
    /// Whether the last argument can be left out.
    pub optional: bool,
    /// What comes of it.
    pub gives: Kind,
    /// What it does, in a sentence.
    pub description: &'static str,
}

impl Signature {
    /// How it is written.
    pub fn usage(&self) -> String {
        let takes: Vec<&str> = self.takes.iter().map(|kind| kind.name()).collect();
        match (takes.as_slice(), self.optional) {
            ([], _) => self.name.to_owned(),
            (takes, false) => format!("{}({})", self.name, takes.join(", ")),
            ([last], true) => format!("{}, {}({last})", self.name, self.name),
            ([first @ .., last], true) => {
                format!("{}({}[, {last}])", self.name, first.join(", "))
            }
        }
    }
}

const fn signature(
    name: &'static str,
    function: Function,
    of: Kind,
    takes: &'static [Kind],
    gives: Kind,
    description: &'static str,
) -> Signature {
    Signature {
        function,
        name,
        of,
        takes,
        optional: false,
        gives,
        description,
    }
}

const fn property(
    name: &'static str,
    property: Property,
    gives: Kind,
    description: &'static str,
) -> Signature {
    signature(
        name,
        Function::Property(property),
        Kind::Object,
        &[],
        gives,
        description,
    )
}

/// All functions of the language.
#[rustfmt::skip]
pub const SIGNATURES: [Signature; 58] = [
    property("type", Property::Type, Kind::Text, "its class, `java.util.HashMap` or `byte[]`"),
    property("package", Property::Package, Kind::Text, "the package of its class; empty for the unnamed one"),
    property("simple_name", Property::SimpleName, Kind::Text, "its class without package and outer class"),
    property("superclass", Property::Superclass, Kind::Text, "the superclass of its class, or null"),
    property("superclasses", Property::Superclasses, Kind::Texts, "all superclasses of its class, nearest first"),
    property("loader", Property::Loader, Kind::Text, "the class loader of its class; `boot` for the JVM's own"),
    property("is_array", Property::IsArray, Kind::Bool, "whether it is an array"),
    property("element_type", Property::ElementType, Kind::Text, "the element type of an array: `int`, `byte` and so on, or `Object`; otherwise null"),
    property("field_types", Property::FieldTypes, Kind::Texts, "the types of its fields, including those of superclasses: `int`, `byte` and so on, or `Object`"),
    property("reference_size", Property::ReferenceSize, Kind::Number, "the size of a reference in this JVM"),
    property("kind", Property::Kind, Kind::Text, "`instance`, `small array` (under 255 elements) or `big array`"),
    property("length", Property::Length, Kind::Number, "the length of an array, or null"),
    property("size", Property::Size, Kind::Number, "its shallow size"),
    property("retained", Property::Retained, Kind::Number, "its retained size; its shallow size if it is unreachable"),
    property("address", Property::Address, Kind::Number, "its address"),
    property("reachable", Property::Reachable, Kind::Bool, "whether a GC root reaches it"),
    property("rooted", Property::Rooted, Kind::Bool, "whether a GC root or a static field refers to it directly"),
    property("roots", Property::Roots, Kind::Texts, "the kinds of GC roots that refer to it directly, `static field`, `thread`, `local variable` and so on"),
    property("in_degree", Property::InDegree, Kind::Number, "the number of references to it, of any strength"),
    property("out_degree", Property::OutDegree, Kind::Number, "the number of references it holds, of any strength"),
    property("text", Property::Text, Kind::Text, "the text of a string or the name of an enum constant, or null"),
    property("references", Property::References, Kind::Objects, "the objects it refers to by references that keep them alive, in the order of its fields or elements"),
    property("referrers", Property::Referrers, Kind::Objects, "the reachable objects that refer to it by references that keep it alive, each as often as it refers to it"),
    property("dominator", Property::Dominator, Kind::Object, "its immediate dominator, or null"),
    property("elements", Property::Elements, Kind::List, "the elements of an array, null ones included"),
    signature("is", Function::Is, Kind::Object, &[Kind::Name], Kind::Bool, "whether its class or a superclass has this name"),
    signature("field", Function::Field, Kind::Object, &[Kind::Name], Kind::Any, "the value of a field, or null if there is no such field"),
    signature("rooted", Function::RootedBy, Kind::Object, &[Kind::Text], Kind::Bool, "whether a GC root of this kind refers to it directly"),
    signature("length", Function::TextLength, Kind::Text, &[], Kind::Number, "the number of characters"),
    signature("package", Function::PackageOf, Kind::Text, &[], Kind::Text, "the package of the class of this name"),
    signature("simple_name", Function::SimpleNameOf, Kind::Text, &[], Kind::Text, "the name of this class without package and outer class"),
    signature("contains", Function::Contains, Kind::Text, &[Kind::Text], Kind::Bool, "whether it contains the other text"),
    signature("starts_with", Function::StartsWith, Kind::Text, &[Kind::Text], Kind::Bool, "whether it starts with the other text"),
    signature("ends_with", Function::EndsWith, Kind::Text, &[Kind::Text], Kind::Bool, "whether it ends with the other text"),
    signature("lower", Function::Lower, Kind::Text, &[], Kind::Text, "in lower case"),
    signature("upper", Function::Upper, Kind::Text, &[], Kind::Text, "in upper case"),
    signature("trim", Function::Trim, Kind::Text, &[], Kind::Text, "without leading and trailing spaces"),
    signature("split", Function::Split, Kind::Text, &[Kind::Text], Kind::Texts, "its parts, split at the other text"),
    Signature { optional: true, ..signature("substring", Function::Substring, Kind::Text, &[Kind::Number, Kind::Number], Kind::Text, "the part from one index, counted from 0, to before another, or to the end") },
    signature("min", Function::LesserOf, Kind::Number, &[Kind::Number], Kind::Number, "the smaller of two numbers"),
    signature("max", Function::GreaterOf, Kind::Number, &[Kind::Number], Kind::Number, "the larger of two numbers"),
    signature("abs", Function::Absolute, Kind::Number, &[], Kind::Number, "its absolute value"),
    signature("bucket", Function::Bucket, Kind::Number, &[], Kind::Number, "the smallest power of two that is at least as large; 0 for 0 and below"),
    signature("floor", Function::Floor, Kind::Number, &[], Kind::Number, "the largest integer that is not larger"),
    signature("range", Function::Range, Kind::Number, &[Kind::Number], Kind::Numbers, "the integers from it up to, but not including, the other number"),
    signature("any", Function::Any, Kind::List, &[Kind::Test], Kind::Bool, "whether the test holds for an element"),
    signature("all", Function::All, Kind::List, &[Kind::Test], Kind::Bool, "whether the test holds for every element"),
    Signature { optional: true, ..signature("count", Function::Count, Kind::List, &[Kind::Test], Kind::Number, "the number of elements, or of those the test holds for") },
    signature("filter", Function::Filter, Kind::List, &[Kind::Test], Kind::Same, "the elements the test holds for"),
    signature("map", Function::Map, Kind::List, &[Kind::Mapping], Kind::Mapped, "the result of the mapping for each element"),
    Signature { optional: true, ..signature("first", Function::First, Kind::List, &[Kind::Test], Kind::Item, "the first element, or the first the test holds for, or null") },
    signature("last", Function::Last, Kind::List, &[], Kind::Item, "the last element, or null"),
    signature("sum", Function::Sum, Kind::Numbers, &[], Kind::Number, "the sum of the numbers, ignoring nulls"),
    signature("min", Function::Least, Kind::Numbers, &[], Kind::Number, "the smallest of the numbers, or null"),
    signature("max", Function::Most, Kind::Numbers, &[], Kind::Number, "the largest of the numbers, or null"),
    signature("distinct", Function::Distinct, Kind::List, &[], Kind::Same, "the distinct elements"),
    signature("has", Function::Has, Kind::List, &[Kind::Item], Kind::Bool, "whether the value is an element"),
    signature("join", Function::Join, Kind::List, &[Kind::Text], Kind::Text, "the elements as one text, with the other text between them"),
];

/// The function that makes a path of its arguments.
pub(super) const PATH: &str = "path";
