//! Expressions against a reference implementation: a plain walk over the parsed expression, object
//! by object, that knows nothing of types, classes decided beforehand, tables or threads.

use std::cmp::Ordering;

use anthill_heap::{ClassKind, ObjectId, Value as Stored};
use anthill_syntax::Pattern;
use fastrand::Rng;

use super::{Binary, Expr, ExprKind, Unary};
use crate::Context;
use crate::brute_force::{Keys, on_random_heaps, said};

#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    Object(ObjectId),
    List(Vec<Plain>),
    Path(Vec<Plain>),
}

use Plain::{Bool, List, Null, Number, Object, Path, Text};

struct ReferenceEvaluator<'a> {
    context: &'a Context<'a>,
}

type Scope = Vec<(String, Plain)>;

fn truth(value: &Plain) -> bool {
    *value == Bool(true)
}

fn text(text: &str) -> Plain {
    Text(text.to_owned())
}

impl ReferenceEvaluator<'_> {
    fn evaluate(&self, expression: &Expr, object: ObjectId, scope: &Scope) -> Plain {
        let value = |part: &Expr| self.evaluate(part, object, scope);
        match &expression.kind {
            ExprKind::Null => Null,
            ExprKind::Bool(value) => Bool(*value),
            ExprKind::Int(number) => Number(*number),
            ExprKind::Text(literal) => text(literal),
            ExprKind::Unary(Unary::Not, of) => Bool(!truth(&value(of))),
            ExprKind::Unary(Unary::Minus, of) => match value(of) {
                Number(number) => Number(-number),
                _ => Null,
            },
            ExprKind::Binary(operator, a, b) => self.binary(*operator, value(a), value(b)),
            ExprKind::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                value(if truth(&value(condition)) {
                    then
                } else {
                    otherwise
                })
            }
            ExprKind::Name(name) => match scope.iter().rev().find(|known| known.0 == *name) {
                Some((_, value)) => value.clone(),
                None if name == "object" => Object(object),
                None => self.member(Object(object), name, &[], object, scope),
            },
            ExprKind::Call(name, arguments) if name == "path" => {
                Path(arguments.iter().map(value).collect())
            }
            ExprKind::Call(name, arguments) if name == "is" || name == "rooted" => {
                self.member(Object(object), name, arguments, object, scope)
            }
            ExprKind::Call(name, arguments) => {
                self.member(value(&arguments[0]), name, &arguments[1..], object, scope)
            }
            ExprKind::Member {
                of,
                name,
                arguments,
                ..
            } => {
                let arguments = arguments.as_deref().unwrap_or_default();
                self.member(value(of), name, arguments, object, scope)
            }
            ExprKind::Element(parts) => match (value(&parts[0]), value(&parts[1])) {
                (List(items), Number(index)) if index >= 0 => {
                    items.get(index as usize).cloned().unwrap_or(Null)
                }
                _ => Null,
            },
            ExprKind::List(items) => List(items.iter().map(value).collect()),
            ExprKind::Float(_) | ExprKind::Lambda(..) => panic!("none is made"),
        }
    }

    fn binary(&self, operator: Binary, a: Plain, b: Plain) -> Plain {
        let order = match (&a, &b) {
            (Number(a), Number(b)) => Some(a.cmp(b)),
            (Text(a), Text(b)) => Some(a.cmp(b)),
            _ => None,
        };
        let number = |exact: fn(i64, i64) -> i64| match (&a, &b) {
            (Number(a), Number(b)) => Number(exact(*a, *b)),
            _ => Null,
        };
        match operator {
            Binary::Or => Bool(truth(&a) || truth(&b)),
            Binary::And => Bool(truth(&a) && truth(&b)),
            Binary::Equal => Bool(a == b),
            Binary::NotEqual => Bool(a != b),
            Binary::Less => Bool(order == Some(Ordering::Less)),
            Binary::Greater => Bool(order == Some(Ordering::Greater)),
            Binary::LessEqual => Bool(order.is_some_and(|order| order.is_le())),
            Binary::GreaterEqual => Bool(order.is_some_and(|order| order.is_ge())),
            Binary::Matches => match (&a, &b) {
                (Text(a), Text(b)) => Bool(Pattern::new(b).matches(a)),
                _ => Bool(false),
            },
            Binary::Plus => match (&a, &b) {
                (Text(_), _) | (_, Text(_)) => Text(self.shown(&a) + &self.shown(&b)),
                _ => number(|a, b| a + b),
            },
            Binary::Minus => number(|a, b| a - b),
            Binary::Times => number(|a, b| a * b),
            Binary::Divide | Binary::Remainder if b == Number(0) => Null,
            Binary::Divide => number(|a, b| a / b),
            Binary::Remainder => number(|a, b| a % b),
        }
    }

    fn member(
        &self,
        of: Plain,
        name: &str,
        arguments: &[Expr],
        object: ObjectId,
        scope: &Scope,
    ) -> Plain {
        let argument = |index: usize| self.evaluate(&arguments[index], object, scope);
        match of {
            Object(of) if name == "is" => self.is(of, argument(0)),
            Object(of) if name == "rooted" && !arguments.is_empty() => {
                let List(kinds) = self.property(of, "roots") else {
                    panic!("a list");
                };
                Bool(kinds.contains(&argument(0)))
            }
            Object(of) => self.property(of, name),
            Null if ["any", "has", "rooted"].contains(&name) && !arguments.is_empty() => {
                Bool(false)
            }
            Null if name == "all" => Bool(true),
            Null if name == "count" || name == "sum" => Number(0),
            Null if name == "range" => List(Vec::new()),
            Null if name == "filter" || name == "map" || name == "distinct" => List(Vec::new()),
            Text(of) => match (name, arguments.first().map(|_| argument(0))) {
                ("length", _) => Number(of.chars().count() as i64),
                ("lower", _) => Text(of.to_lowercase()),
                ("contains", Some(Text(other))) => Bool(of.contains(&other)),
                ("starts_with", Some(Text(other))) => Bool(of.starts_with(&other)),
                ("split", Some(Text(other))) => List(of.split(&other).map(text).collect()),
                _ => Null,
            },
            Number(of) => match (name, arguments.first().map(|_| argument(0))) {
                ("min", Some(Number(other))) => Number(of.min(other)),
                ("max", Some(Number(other))) => Number(of.max(other)),
                ("range", Some(Number(end))) => List((of..end).map(Number).collect()),
                ("range", _) => List(Vec::new()),
                ("bucket", _) if of <= 0 => Number(0),
                ("bucket", _) => {
                    let powers = (0..63).map(|power| 1i64 << power);
                    Number(powers.into_iter().find(|power| *power >= of).unwrap())
                }
                _ => Null,
            },
            List(items) => self.list(items, name, arguments, object, scope),
            _ => Null,
        }
    }

    fn list(
        &self,
        items: Vec<Plain>,
        name: &str,
        arguments: &[Expr],
        object: ObjectId,
        scope: &Scope,
    ) -> Plain {
        let with = |item: &Plain| {
            let ExprKind::Lambda(parameter, body) = &arguments[0].kind else {
                panic!("a lambda");
            };
            let mut scope = scope.clone();
            scope.push((parameter.clone(), item.clone()));
            self.evaluate(body, object, &scope)
        };
        let holds = |item: &Plain| truth(&with(item));
        let numbers = || {
            let numbers = items.iter().filter_map(|item| match item {
                Number(number) => Some(*number),
                _ => None,
            });
            numbers.collect::<Vec<i64>>()
        };
        match (name, arguments.is_empty()) {
            ("any", _) => Bool(items.iter().any(holds)),
            ("all", _) => Bool(items.iter().all(holds)),
            ("count", true) => Number(items.len() as i64),
            ("count", false) => Number(items.iter().filter(|item| holds(item)).count() as i64),
            ("filter", _) => List(items.into_iter().filter(|item| holds(item)).collect()),
            ("map", _) => List(items.iter().map(with).collect()),
            ("first", true) => items.first().cloned().unwrap_or(Null),
            ("first", false) => items.into_iter().find(|item| holds(item)).unwrap_or(Null),
            ("last", _) => items.last().cloned().unwrap_or(Null),
            ("sum", _) => Number(numbers().iter().sum()),
            ("min", _) => numbers().into_iter().min().map_or(Null, Number),
            ("max", _) => numbers().into_iter().max().map_or(Null, Number),
            ("distinct", _) => {
                let mut distinct = Vec::new();
                for item in items {
                    if !distinct.contains(&item) {
                        distinct.push(item);
                    }
                }
                List(distinct)
            }
            ("has", _) => {
                let wanted = self.evaluate(&arguments[0], object, scope);
                Bool(items.contains(&wanted))
            }
            _ => panic!("no {name}"),
        }
    }

    fn is(&self, object: ObjectId, name: Plain) -> Plain {
        let state = self.context.graph.state;
        let mut class = Some(state.class_id(object));
        while let Some(id) = class {
            if text(&state.classes()[id as usize].name) == name {
                return Bool(true);
            }
            class = state.classes()[id as usize].super_class;
        }
        Bool(false)
    }

    fn property(&self, object: ObjectId, name: &str) -> Plain {
        let graph = self.context.graph;
        let state = graph.state;
        let class = state.class(object);
        let array = matches!(class.kind, ClassKind::Array(_));
        let objects = || 0..state.len();
        let references = |from: ObjectId| {
            let to = graph.referenced(from).filter(|&to| to < state.len());
            to.collect::<Vec<_>>()
        };
        let all = |objects: Vec<ObjectId>| List(objects.into_iter().map(Object).collect());
        match name {
            "type" => text(&class.name),
            "package" => match class.name.trim_end_matches("[]").rsplit_once('.') {
                Some((package, _)) => text(package),
                None => text(""),
            },
            "superclass" => match class.super_class {
                Some(class) => text(&state.classes()[class as usize].name),
                None => Null,
            },
            "is_array" => Bool(array),
            "kind" if !array => text("instance"),
            "kind" if state.detail(object) < 255 => text("small array"),
            "kind" => text("big array"),
            "length" if array => Number(state.detail(object).into()),
            "length" | "text" => Null,
            "size" => Number(graph.size(object) as i64),
            "retained" => Number(self.context.dominators.retained(object) as i64),
            "reachable" => Bool(self.context.dominators.is_reachable(object)),
            "rooted" => Bool(self.property(object, "roots") != List(Vec::new())),
            "roots" => {
                let address = Stored::Object(state.addresses.address(object));
                let mut statics = state.classes().iter().flat_map(|class| &class.statics);
                let held = statics.any(|field| field.value == address);
                let rooted = state.tables.roots.iter().any(|root| root.object == object);
                let kinds = [(held, "static field"), (rooted, "JNI global")];
                let kinds = kinds.into_iter().filter(|kind| kind.0);
                List(kinds.map(|kind| text(kind.1)).collect())
            }
            "in_degree" => {
                let fields = objects().flat_map(|from| state.references(from));
                let referents = objects().filter_map(|from| Some(state.referent(from)?.0));
                let count = fields.filter(|&&to| to == object).count()
                    + referents.filter(|&to| to == object).count();
                Number(count as i64)
            }
            "out_degree" => {
                let holders = state.columns.referrers_by_referent.iter();
                let referents = holders.filter(|&&from| from == object);
                Number((state.references(object).len() + referents.count()) as i64)
            }
            "references" => all(references(object)),
            "referrers" => {
                let from = objects().filter(|&from| self.context.dominators.is_reachable(from));
                let times = |from| {
                    let to = references(from).into_iter();
                    to.filter(|&to| to == object).map(move |_| from)
                };
                all(from.flat_map(times).collect())
            }
            "dominator" => match self.context.dominators.immediate[object as usize] {
                above if above < state.len() => Object(above),
                _ => Null,
            },
            _ => panic!("no {name}"),
        }
    }

    fn shown(&self, value: &Plain) -> String {
        let all = |items: &[Plain]| {
            let shown: Vec<String> = items.iter().map(|item| self.shown(item)).collect();
            shown.join(", ")
        };
        match value {
            Null => "null".to_owned(),
            Bool(value) => value.to_string(),
            Number(number) => number.to_string(),
            Text(text) => text.clone(),
            Object(object) => self.context.object_name(*object),
            List(items) | Path(items) => all(items),
        }
    }

    /// The keys of a whole value: nothing is a key as well.
    fn all_keys(&self, value: &Plain) -> Keys {
        let keys = self.keys(value);
        match keys.is_empty() {
            true => [vec!["(none)".to_owned()]].into(),
            false => keys,
        }
    }

    fn keys(&self, value: &Plain) -> Keys {
        match value {
            List(items) => items.iter().flat_map(|item| self.keys(item)).collect(),
            Path(items) => [items.iter().flat_map(|item| self.path(item)).collect()].into(),
            plain => [self.path(plain)].into(),
        }
    }

    fn path(&self, value: &Plain) -> Vec<String> {
        match value {
            List(items) | Path(items) => items.iter().flat_map(|item| self.path(item)).collect(),
            Text(text) if text.is_empty() => vec!["(empty)".to_owned()],
            plain => vec![self.shown(plain)],
        }
    }
}

/// Writes expressions of given types.
struct Writer<'r> {
    random: &'r mut Rng,
    /// Parameters of lambdas that are objects.
    objects: Vec<String>,
    depth: usize,
}

impl Writer<'_> {
    fn pick(&mut self, words: &[&str]) -> String {
        words[self.random.usize(..words.len())].to_owned()
    }

    /// Fills a pattern: `B`, `N`, `T`, `O`, `L`, `S` and `M` stand for a condition, a number, a text,
    /// an object, a list of objects, a list of texts, a list of numbers, `C` for a condition about
    /// a parameter of its own, `X` and `Y` for a number and a text of one, `K` for a class.
    fn fill(&mut self, patterns: &[&str], plain: &[&str]) -> String {
        if self.depth == 0 || self.random.usize(..4) == 0 {
            let plain = self.pick(plain);
            return plain.replace('@', &self.holder());
        }
        self.depth -= 1;
        let pattern = self.pick(patterns);
        let mut written = String::new();
        for c in pattern.chars() {
            match c {
                'B' => written += &self.condition(),
                'N' => written += &self.number(),
                'T' => written += &self.text(),
                'O' => written += &self.object(),
                'L' => written += &self.objects(),
                'S' => written += &self.texts(),
                'M' => written += &self.numbers(),
                'C' => written += &self.lambda(Writer::condition),
                'X' => written += &self.lambda(Writer::number),
                'Y' => written += &self.lambda(Writer::text),
                'K' => written += &self.pick(&["'C0'", "'C1'"]),
                '@' => written += &self.holder(),
                c => written.push(c),
            }
        }
        self.depth += 1;
        written
    }

    fn holder(&mut self) -> String {
        match self.random.usize(..self.objects.len() + 2) {
            index if index < self.objects.len() => self.objects[index].clone(),
            _ => "object".to_owned(),
        }
    }

    fn lambda(&mut self, body: fn(&mut Self) -> String) -> String {
        let parameter = format!("p{}", self.objects.len());
        self.objects.push(parameter.clone());
        let body = body(self);
        self.objects.pop();
        format!("{parameter} => {body}")
    }

    fn condition(&mut self) -> String {
        self.fill(
            &[
                "(B && B)",
                "(B || B)",
                "!B",
                "(N < N)",
                "(N == N)",
                "(N >= N)",
                "(T == T)",
                "(T ~ T)",
                "(O == O)",
                "(O != null)",
                "L.any(C)",
                "L.all(C)",
                "T.contains(T)",
                "(B ? B : B)",
                "O.is(K)",
                "O.rooted(T)",
                "S.has(T)",
                "O.reachable",
                "referrers.any(C)",
                "O.referrers.all(C)",
                "(T < T)",
            ],
            &[
                "true",
                "false",
                "@.is_array",
                "@.reachable",
                "@.rooted",
                "@.is('C0')",
                "(@.type == 'C1')",
                "(@.length > 200)",
                "(@.package == 'p')",
            ],
        )
    }

    fn number(&mut self) -> String {
        self.fill(
            &[
                "(N + N)",
                "(N - N)",
                "(N * N)",
                "(N / N)",
                "(N % N)",
                "-N",
                "min(N, N)",
                "N.max(N)",
                "bucket(N)",
                "L.count",
                "L.count(C)",
                "M.sum",
                "M.min",
                "M.max",
                "T.length",
                "(B ? N : N)",
                "O.size",
                "O.length",
                "O.in_degree",
                "M[N]",
            ],
            &[
                "0",
                "1",
                "7",
                "300",
                "@.size",
                "@.length",
                "@.retained",
                "@.in_degree",
                "@.out_degree",
            ],
        )
    }

    fn text(&mut self) -> String {
        self.fill(
            &[
                "(T + N)",
                "(T + T)",
                "T.lower",
                "(B ? T : T)",
                "O.type",
                "O.package",
                "O.superclass",
                "S.first",
                "S.last",
                "S[N]",
                "O.kind",
            ],
            &[
                "'C0'",
                "'C*'",
                "'static field'",
                "'.'",
                "@.type",
                "@.kind",
                "@.package",
                "@.superclass",
                "@.text",
            ],
        )
    }

    fn object(&mut self) -> String {
        self.fill(
            &[
                "O.dominator",
                "L.first",
                "L.first(C)",
                "L.last",
                "L[N]",
                "(B ? O : O)",
            ],
            &["@", "@.dominator"],
        )
    }

    fn objects(&mut self) -> String {
        self.fill(
            &[
                "O.references",
                "O.referrers",
                "L.filter(C)",
                "L.distinct",
                "(B ? L : L)",
            ],
            &["@.references", "@.referrers"],
        )
    }

    fn texts(&mut self) -> String {
        self.fill(
            &[
                "L.map(Y)",
                "T.split('.')",
                "S.distinct",
                "O.roots",
                "[T, T]",
            ],
            &["@.roots", "@.type.split('.')"],
        )
    }

    fn numbers(&mut self) -> String {
        self.fill(
            &[
                "L.map(X)",
                "M.distinct",
                "(B ? M : M)",
                "[N, N, N]",
                "range(N % 9, N % 9)",
            ],
            &["@.references.map(x => x.size)"],
        )
    }
}

#[test]
fn random_expressions_evaluate_as_the_reference_does() {
    on_random_heaps(|context, seed| {
        let mut random = Rng::with_seed(seed + 77);
        for _ in 0..3 {
            let mut writer = Writer {
                random: &mut random,
                objects: Vec::new(),
                depth: 5,
            };
            let source = match writer.random.usize(..8) {
                0 => writer.condition(),
                1 => writer.number(),
                2 => writer.text(),
                3 => writer.object(),
                4 => writer.objects(),
                5 => writer.texts(),
                6 => writer.numbers(),
                _ => format!(
                    "path({}, {}, {})",
                    writer.text(),
                    writer.texts(),
                    writer.number()
                ),
            };
            // In parentheses, so that no name is taken for that of a predefined classifier.
            let source = format!("({source})");
            let expression = Expr::parse(&source).unwrap();
            let reference = ReferenceEvaluator { context };
            let scope = Scope::new();
            let found = said(context, &source);
            for (object, found) in (0..).zip(found) {
                let value = reference.evaluate(&expression, object, &scope);
                assert_eq!(
                    found,
                    reference.all_keys(&value),
                    "seed {seed}, object {object}: {source}"
                );
            }
        }
    });
}
