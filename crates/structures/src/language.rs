//! The language of data structures: text → definitions. Knows no heap.

use anthill_syntax::{Lexicon, Mistake, Token, TokenCursor, closest};

use crate::slot_policy::SlotPolicy;

/// What is said about a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The type; `*` stands for any characters.
    pub name: String,
    /// What objects of the type are.
    pub kind: Kind,
    /// Where their references lead.
    pub items: Vec<Item>,
    /// The field that says how many elements there are.
    pub size: Option<SizeField>,
    /// The field that says for how many there is room.
    pub capacity: Option<Capacity>,
    /// The field that says where the first element is.
    pub start: Option<FieldName>,
    /// Where the name stands in the source, in bytes.
    pub place: usize,
}

/// What objects are to a data structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The head of a data structure.
    Head,
    /// The head of one whose elements belong to another structure that it leads to.
    View,
    /// An inner part.
    Part,
    /// An inner part of which each is one element.
    Entry,
}

/// What a part refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The fields that this is about; all that are not named elsewhere if there is none.
    pub fields: Vec<FieldName>,
    /// What is there.
    pub target: Target,
    /// What an array has in it, if that is said.
    pub content: Vec<Target>,
    /// Whether it leads to keys.
    pub keys: bool,
}

impl Item {
    /// Whether it names that field.
    pub fn is_about(&self, field: &str) -> bool {
        self.fields.iter().any(|named| named.name == field)
    }
}

/// The name of a field and where it stands in the source, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldName {
    /// As in the Java source.
    pub name: String,
    /// Of its first byte.
    pub place: usize,
}

/// A pointed type and what its objects are to the structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// With wildcards.
    pub name: String,
    /// Where the name stands in the source, in bytes.
    pub place: usize,
    /// Whether subtypes are not meant.
    pub only: bool,
    /// Whether it is outside of the structure, where descent ends.
    pub leaf: bool,
    /// What a reference to it counts.
    pub role: Role,
}

/// What a reference to a leaf counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One element.
    Element,
    /// One element, of which it is the key.
    Key,
    /// Nothing: its key counts.
    Value,
    /// Half an element: keys and values in turn.
    Pair,
    /// Nothing, but it is a leaf.
    Other,
    /// Nothing, and it does not belong to the structure at all.
    Nothing,
}

impl Role {
    const ALL: [(&'static str, Role); 6] = [
        ("element", Role::Element),
        ("key", Role::Key),
        ("value", Role::Value),
        ("pair", Role::Pair),
        ("other", Role::Other),
        ("nothing", Role::Nothing),
    ];

    /// What it adds to twice the number of elements.
    pub fn halves(self) -> u64 {
        match self {
            Role::Element | Role::Key => 2,
            Role::Pair => 1,
            Role::Value | Role::Other | Role::Nothing => 0,
        }
    }
}

/// How the number of elements is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeField {
    /// Nothing if the heap does not tell how many there are.
    pub field: Option<FieldName>,
    /// Each bit that is set is an element.
    pub bits: bool,
}

/// For how many elements there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// A number, or an array that has the room.
    pub field: FieldName,
    /// What counts as room.
    pub measure: Measure,
    /// How much of it may be used.
    pub policy: SlotPolicy,
}

/// What of a field is room for one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A slot of an array; a number counts as it is.
    Slots,
    /// Two slots: keys and values in turn.
    Pairs,
    /// A bit.
    Bits,
}

/// All definitions of a text.
pub fn parse(source: &str) -> Result<Vec<Definition>, Mistake> {
    let mut parser = Parser {
        cursor: TokenCursor::new(source, &LEXICON),
        namespace: String::new(),
    };
    let mut definitions: Vec<Definition> = Vec::new();
    while !parser.cursor.at_end() {
        parser.read_into(&mut definitions)?;
    }
    Ok(definitions)
}

/// Names of types are one word, wildcards and brackets of arrays included.
const LEXICON: Lexicon = Lexicon {
    symbols: &["->", "{", "}", "(", ")", ";", ",", "="],
    line_comments: &["#", "//"],
    block_comments: true,
    literals: false,
    word_length: type_length,
    foreign: &[],
};

/// A name ends where none of its characters follows. `->` and `//` end it too: hidden classes have `/`
/// in their names, no class has two.
fn type_length(rest: &str) -> usize {
    let part_of_name = |c: char| c.is_alphanumeric() || "_$.*?[]/+-".contains(c);
    let length = rest.find(|c| !part_of_name(c)).unwrap_or(rest.len());
    let end = |mark| rest[..length].find(mark).unwrap_or(length);
    match rest[length..].starts_with('>') && rest[..length].ends_with('-') {
        true => end("//").min(length - 1),
        false => end("//").min(end("/*")),
    }
}

struct Parser<'s> {
    cursor: TokenCursor<'s>,
    /// What names without a dot are in.
    namespace: String,
}

const PRIMITIVES: [&str; 8] = [
    "boolean", "byte", "char", "short", "int", "long", "float", "double",
];

impl Parser<'_> {
    fn name(&mut self, wanted: &str) -> Result<(String, usize), Mistake> {
        let Token::Word(name) = self.cursor.peek().clone() else {
            return Err(self.cursor.unexpected(wanted));
        };
        let place = self.cursor.span().start;
        self.cursor.advance();
        Ok((name, place))
    }

    /// The name of a type that something leads to. `Object` is Java's in every namespace.
    fn pointed_name(&mut self, wanted: &str) -> Result<(String, usize), Mistake> {
        match self.cursor.peek() {
            Token::Word(name) if name.trim_end_matches("[]") == "Object" => {
                let (name, place) = self.name(wanted)?;
                Ok((format!("java.lang.{name}"), place))
            }
            _ => self.type_name(wanted),
        }
    }

    /// The name of a type, with its namespace.
    fn type_name(&mut self, wanted: &str) -> Result<(String, usize), Mistake> {
        let (name, place) = self.name(wanted)?;
        let element = name.trim_end_matches("[]");
        if element.is_empty() || element.contains(['[', ']']) {
            let message = format!("`{name}` is not a type; write an array as `Type[]`");
            return Err(self.cursor.mistake(place, message));
        }
        let plain = element.contains('.') || element == "*" || PRIMITIVES.contains(&element);
        Ok(match self.namespace.as_str() {
            "" => (name, place),
            _ if plain => (name, place),
            namespace => (format!("{namespace}.{name}"), place),
        })
    }

    fn read_into(&mut self, definitions: &mut Vec<Definition>) -> Result<(), Mistake> {
        if !self.cursor.take_word("namespace") {
            return self.definition(definitions);
        }
        let (namespace, place) = self.name("the name of a package")?;
        if namespace.contains(['*', '[', '?']) {
            return Err(self
                .cursor
                .mistake(place, "a namespace cannot contain wildcards"));
        }
        let before = std::mem::replace(&mut self.namespace, namespace);
        if self.cursor.take_symbol(";") {
            return Ok(());
        }
        self.cursor.expect_symbol("{", "or `;`")?;
        while !self.cursor.take_symbol("}") {
            self.definition(definitions)?;
        }
        self.namespace = before;
        Ok(())
    }

    fn definition(&mut self, definitions: &mut Vec<Definition>) -> Result<(), Mistake> {
        let named_next = matches!(self.cursor.after(), Token::Word(_));
        let kind = match self.cursor.peek() {
            Token::Word(word) if named_next => match word.as_str() {
                "DS" => Kind::Head,
                "view" => Kind::View,
                "entry" => Kind::Entry,
                word => {
                    let message = format!(
                        "a definition starts with `DS`, `view`, `entry` or a type, not with \
                        `{word}` and another name"
                    );
                    let meant = closest(word, ["DS", "view", "entry", "namespace"]);
                    return Err(self
                        .cursor
                        .mistake(self.cursor.span().start, message)
                        .suggesting(meant));
                }
            },
            _ => Kind::Part,
        };
        if kind != Kind::Part {
            self.cursor.advance();
        }
        let (name, place) =
            self.type_name("a definition (`DS TYPE {`, `TYPE {` or `entry TYPE {`)")?;
        if definitions.iter().any(|known| known.name == name) {
            let message = format!("`{name}` is defined twice");
            return Err(self.cursor.mistake(place, message));
        }
        self.cursor.expect_symbol("{", "after the type")?;
        let mut definition = Definition {
            name,
            kind,
            items: Vec::new(),
            size: None,
            capacity: None,
            start: None,
            place,
        };
        while !self.cursor.take_symbol("}") {
            self.item(&mut definition)?;
        }
        definitions.push(definition);
        Ok(())
    }

    fn item(&mut self, definition: &mut Definition) -> Result<(), Mistake> {
        let assigned = matches!(self.cursor.after(), Token::Symbol("="));
        if assigned {
            self.assigned(definition)?;
        } else {
            let item = self.pointed(definition.kind)?;
            definition.items.push(item);
        }
        self.cursor.expect_symbol(";", "at the end of the item")
    }

    /// `size = …`, `capacity = …` or `start = …`.
    fn assigned(&mut self, definition: &mut Definition) -> Result<(), Mistake> {
        let (word, place) = self.name("`size`, `capacity` or `start`")?;
        let known = ["size", "capacity", "start"];
        if !known.contains(&word.as_str()) {
            let message =
                format!("only `size`, `capacity` and `start` can be set with `=`, not `{word}`");
            let meant = closest(&word, known);
            return Err(self.cursor.mistake(place, message).suggesting(meant));
        }
        self.cursor.advance();
        match word.as_str() {
            "size" => definition.size = Some(self.size()?),
            "start" => definition.start = Some(self.field()?),
            _ => definition.capacity = Some(self.capacity()?),
        }
        Ok(())
    }

    fn size(&mut self) -> Result<SizeField, Mistake> {
        let bits = self.take_word_before_name("bits");
        let field = self.field()?;
        Ok(SizeField {
            field: Some(field).filter(|field| field.name != "?"),
            bits,
        })
    }

    fn field(&mut self) -> Result<FieldName, Mistake> {
        let (name, place) = self.name("the name of a field")?;
        Ok(FieldName { name, place })
    }

    /// A word that is none if it is the last name.
    fn take_word_before_name(&mut self, word: &str) -> bool {
        matches!(self.cursor.after(), Token::Word(_)) && self.cursor.take_word(word)
    }

    /// `[N/M of] [pairs | bits] FIELD [in powers of 2 [from N]] [less N]`
    fn capacity(&mut self) -> Result<Capacity, Mistake> {
        let mut policy = SlotPolicy::default();
        if let Token::Word(fraction) = self.cursor.peek() {
            if fraction.contains('/') {
                policy.most = self.fraction()?;
                self.cursor
                    .expect_word("of", "and a field after a fraction")?;
            }
        }
        let measure = if self.take_word_before_name("pairs") {
            Measure::Pairs
        } else if self.take_word_before_name("bits") {
            Measure::Bits
        } else {
            Measure::Slots
        };
        policy.pairs = measure == Measure::Pairs;
        let field = self.field()?;
        if self.cursor.take_word("in") {
            self.cursor.expect_word("powers", "after `in`")?;
            self.cursor.expect_word("of", "2")?;
            self.cursor.expect_word("2", "")?;
            policy.powers = true;
            if self.cursor.take_word("from") {
                policy.fewest = self.number()?;
            }
        }
        if self.cursor.take_word("less") {
            policy.free = self.number()?;
        }
        Ok(Capacity {
            field,
            measure,
            policy,
        })
    }

    fn number(&mut self) -> Result<u64, Mistake> {
        let (text, place) = self.name("a number")?;
        let number = text.parse::<u32>().ok();
        number.map(u64::from).ok_or_else(|| {
            self.cursor
                .mistake(place, format!("`{text}` is not a number"))
        })
    }

    fn fraction(&mut self) -> Result<(u64, u64), Mistake> {
        let (text, place) = self.name("a fraction")?;
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
        match numbers {
            Some((above, below)) if above > 0 && above <= below => Ok((above.into(), below.into())),
            _ => {
                let message = format!(
                    "`{text}` is not a fraction; write a fraction of at most 1, such as \
                    3/4"
                );
                Err(self.cursor.mistake(place, message))
            }
        }
    }

    fn pointed(&mut self, kind: Kind) -> Result<Item, Mistake> {
        let mut fields = Vec::new();
        let begins_with_fields = matches!(self.cursor.after(), Token::Symbol("->"))
            || matches!(self.cursor.after(), Token::Symbol(","));
        if begins_with_fields {
            loop {
                fields.push(self.field()?);
                if self.cursor.take_symbol("->") {
                    break;
                }
                self.cursor.expect_symbol(",", "or `->`")?;
            }
        }
        let mut target = self.target(kind)?;
        let mut content = Vec::new();
        let mut keys = false;
        if self.cursor.take_word("of") {
            if target.leaf || !target.name.ends_with("[]") {
                let message = "`of` is only allowed for arrays that belong to the structure";
                return Err(self.cursor.mistake(target.place, message));
            }
            loop {
                let mut inner = self.target(kind)?;
                inner.role = self.role(&inner, kind)?;
                content.push(inner);
                if !self.cursor.take_symbol(",") {
                    break;
                }
            }
        } else {
            let is = |token: &Token, word| matches!(token, Token::Word(name) if name == word);
            keys = is(self.cursor.peek(), "as") && is(self.cursor.after(), "key");
            target.role = self.role(&target, kind)?;
        }
        Ok(Item {
            fields,
            target,
            content,
            keys,
        })
    }

    fn target(&mut self, kind: Kind) -> Result<Target, Mistake> {
        let leaf = self.cursor.take_symbol("(");
        let only = matches!(self.cursor.after(), Token::Word(_)) && self.cursor.take_word("only");
        let (name, place) = self.pointed_name("a type, `(type)` for a leaf, or `field ->`")?;
        if leaf {
            self.cursor.expect_symbol(")", "")?;
        }
        Ok(Target {
            name,
            place,
            only,
            leaf,
            role: match kind {
                Kind::Entry => Role::Other,
                _ => Role::Element,
            },
        })
    }

    fn role(&mut self, target: &Target, kind: Kind) -> Result<Role, Mistake> {
        if !self.cursor.take_word("as") {
            return Ok(target.role);
        }
        let (word, place) = self.name("a role")?;
        let names = Role::ALL.iter().map(|(name, _)| *name);
        let Some((_, role)) = Role::ALL.iter().find(|(name, _)| *name == word) else {
            let message = format!("unknown role `{word}`");
            return Err(self
                .cursor
                .mistake(place, message)
                .suggesting(closest(&word, names)));
        };
        let counted = match kind {
            // The entry is the element, whatever it has in it.
            Kind::Entry if *role != Role::Nothing => Role::Other,
            _ => *role,
        };
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_a_linked_list_is_read() {
        let text = "DS java.util.LinkedList {\n  java.util.LinkedList$Node;\n}\n\
                    java.util.LinkedList$Node {\n  java.util.LinkedList$Node;\n  (*);\n}";
        let [list, node] = &parse(text).unwrap()[..] else {
            panic!("two definitions");
        };
        assert_eq!((list.kind, node.kind), (Kind::Head, Kind::Part));
        assert!(!list.items[0].target.leaf && node.items[1].target.leaf);
        let in_namespace = "namespace java.util; DS LinkedList { LinkedList$Node; }\n\
                            LinkedList$Node { LinkedList$Node; (*); }";
        let names = |definitions: Vec<Definition>| -> Vec<String> {
            let targets = definitions.iter().flat_map(|one| &one.items);
            targets.map(|item| item.target.name.clone()).collect()
        };
        assert_eq!(
            names(parse(text).unwrap()),
            names(parse(in_namespace).unwrap())
        );
    }

    #[test]
    fn fields_contents_roles_and_sizes_are_read() {
        let text = "namespace a { DS M { keys, more -> java.lang.Object[] of N, (*) as pair; \
                    size = bits words; size -> long[]; } } DS b.C { C; }";
        let [map, other] = &parse(text).unwrap()[..] else {
            panic!("two definitions");
        };
        let item = &map.items[0];
        assert!(item.is_about("keys") && item.is_about("more") && item.fields.len() == 2);
        assert_eq!(item.content[0].name, "a.N");
        assert_eq!(item.content[1].role, Role::Pair);
        assert!(map.items[1].is_about("size"));
        assert_eq!(map.items[1].target.name, "long[]");
        let size = map.size.as_ref().unwrap();
        assert!(size.bits && size.field.as_ref().unwrap().name == "words");
        assert_eq!(other.items[0].target.name, "C", "the namespace has ended");
        let text = "DS A { only B; x -> (only C) as nothing; }";
        let items = parse(text).unwrap().remove(0).items;
        assert!(items.iter().all(|item| item.target.only));
        assert_eq!(items[1].target.role, Role::Nothing);
    }

    #[test]
    fn capacities_say_how_an_array_is_used() {
        let capacity = |text: &str| {
            let text = format!("DS A {{ capacity = {text}; }}");
            parse(&text).unwrap().remove(0).capacity.unwrap()
        };
        let table = capacity("2/3 of pairs table in powers of 2 from 4");
        assert_eq!(
            (table.field.name.as_str(), table.measure),
            ("table", Measure::Pairs)
        );
        let policy = table.policy;
        assert_eq!(
            (policy.most, policy.powers, policy.fewest, policy.pairs),
            ((2, 3), true, 4, true)
        );
        assert_eq!(capacity("elements less 1").policy.free, 1);
        assert_eq!(capacity("bits words").measure, Measure::Bits);
        assert_eq!(capacity("bits").field.name, "bits");
        let entry = &parse("entry E { k -> (*) as key; v -> (*) as value; }").unwrap()[0];
        let keys: Vec<bool> = entry.items.iter().map(|item| item.keys).collect();
        assert_eq!(keys, [true, false]);
        // The entry is the element; its key is no other one.
        assert!(
            entry
                .items
                .iter()
                .all(|item| item.target.role == Role::Other)
        );
        let view = &parse("view A { m -> *; size = ?; start = offset; }").unwrap()[0];
        assert_eq!(view.kind, Kind::View);
        assert!(view.size.as_ref().unwrap().field.is_none());
        assert_eq!(view.start.as_ref().unwrap().name, "offset");
    }

    #[test]
    fn object_is_that_of_java_in_every_namespace() {
        let text = "namespace a; DS L { Object[]; x -> Object[][] of (Object); Objects; }";
        let items = parse(text).unwrap().remove(0).items;
        let names: Vec<&str> = items.iter().map(|item| item.target.name.as_str()).collect();
        assert_eq!(
            names,
            ["java.lang.Object[]", "java.lang.Object[][]", "a.Objects"]
        );
        assert_eq!(items[1].content[0].name, "java.lang.Object");
    }

    #[test]
    fn mistakes_are_located_and_explained() {
        for (text, line, column, suggestion) in [
            ("DS A {\n B\n}", 3, 1, None),
            ("DS A { B; }\nDS A { }", 2, 4, None),
            ("entyr A { B; }", 1, 1, Some("entry")),
            ("DS A { x -> (*) as elment; }", 1, 20, Some("element")),
            ("DS A { siz = count; }", 1, 8, Some("size")),
            ("DS A { capacty = count; }", 1, 8, Some("capacity")),
            ("DS A { capacity = 3/0 of count; }", 1, 19, None),
            ("DS A { capacity = 3/4 count; }", 1, 23, None),
            ("DS A { capacity = table in powers; }", 1, 34, None),
            ("DS A { capacity = table less one; }", 1, 30, None),
            ("DS A { (B[]) of C; }", 1, 9, None),
            ("DS A { []; }", 1, 8, None),
            ("DS A { B;", 1, 10, None),
            ("namespace a.*;", 1, 11, None),
            ("{", 1, 1, None),
        ] {
            let mistake = parse(text).unwrap_err();
            let found = (mistake.line, mistake.column, mistake.suggestion.as_deref());
            assert_eq!(found, (line, column, suggestion), "{text}: {mistake}");
        }
    }

    #[test]
    fn names_have_wildcards_brackets_and_dollars() {
        let source = "DS a.B$C{t->a.*Node[]// no\n;(*);}#end\n/* {\n */a.B$$Lambda/0x1";
        let mut cursor = TokenCursor::new(source, &LEXICON);
        let mut tokens = Vec::new();
        while !cursor.at_end() {
            tokens.push(cursor.advance().describe());
        }
        assert_eq!(
            tokens.join(" "),
            "`DS` `a.B$C` `{` `t` `->` `a.*Node[]` `;` `(` `*` `)` `;` `}` `a.B$$Lambda/0x1`"
        );
    }

    #[test]
    fn what_cannot_be_read_is_located() {
        for (text, place) in [
            ("DS A {\n  @;\n}", (2, 3)),
            ("DS A { }\n /* never", (2, 2)),
            ("DS A { B; } @", (1, 13)),
        ] {
            let mistake = parse(text).unwrap_err();
            assert_eq!((mistake.line, mistake.column), place, "{text}: {mistake}");
        }
    }
}
