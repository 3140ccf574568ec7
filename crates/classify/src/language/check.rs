//! Expressions are checked before any object is visited: names, numbers of arguments, types.

mod statements;

use std::sync::Arc;

use anthill_syntax::{Mistake, closest};

use super::functions::{Function, Kind, PATH, SIGNATURES, Signature};
use super::node::{CURRENT, Node, Op, Spot};
use super::parser::{Binary, Expr, ExprKind, Unary};
use super::types::Type;
use super::value::Value;
use super::{Body, Definition, Definitions, Role, Source};
use crate::catalog::{CATALOG, Call, Cardinality, Entry};

/// The name of the object that is classified.
const OBJECT: &str = "object";

/// Definitions that use definitions that use …
const DEEPEST_DEFINITIONS: usize = 50;

/// Levels of nodes once definitions stand in place of their names: whatever handles nodes is
/// recursive.
const DEEPEST: usize = 300;

/// Nodes that stand in place of names, all together.
const LARGEST: usize = 100_000;

pub(crate) struct Checked {
    pub node: Node,
    pub ty: Type,
}

pub(crate) struct Checker<'c> {
    source: &'c Source,
    definitions: &'c Definitions,
    /// What names stand for, innermost last.
    scope: Vec<Binding>,
    /// The next slot for a variable.
    slot: usize,
    depth: usize,
    /// Nodes that were put in place of names.
    inlined: usize,
    /// Loops around the statement that is checked.
    loops: usize,
    /// The types of what the script returns, with their places.
    returns: Vec<(Type, usize)>,
    /// Whether names that mean nothing else are fields: `closed` for `field("closed")`.
    pub names_are_fields: bool,
}

struct Binding {
    name: String,
    node: Node,
    ty: Type,
    /// Whether it can be given another value.
    assignable: bool,
}

impl Binding {
    fn fixed(name: &str, node: Node, ty: Type) -> Self {
        Binding {
            name: name.to_owned(),
            node,
            ty,
            assignable: false,
        }
    }
}

impl<'c> Checker<'c> {
    pub(crate) fn new(source: &'c Source, definitions: &'c Definitions) -> Self {
        Checker {
            source,
            definitions,
            scope: Vec::new(),
            slot: CURRENT + 1,
            depth: 0,
            inlined: 0,
            loops: 0,
            returns: Vec::new(),
            names_are_fields: false,
        }
    }

    /// The body of a definition, whatever its arguments will be.
    pub(crate) fn definition(mut self, definition: &Definition) -> Result<Checked, Mistake> {
        for parameter in &definition.parameters {
            let unknown = Node::new(Op::Unknown, []);
            self.scope
                .push(Binding::fixed(parameter, unknown, Type::Any));
        }
        self.body(&definition.body, Some(definition.role))
    }

    /// The body of a function, whose parameters are the first variables.
    pub(crate) fn function(
        mut self,
        parameters: &[String],
        body: &Body,
    ) -> Result<Checked, Mistake> {
        for parameter in parameters {
            self.declare(parameter, Type::Any);
        }
        self.body(body, None)
    }

    fn mistake(&self, at: usize, message: impl Into<String>) -> Mistake {
        Mistake::at(&self.source.text, at, message)
    }

    /// An expression or a script that must have a role.
    pub(crate) fn body(&mut self, body: &Body, role: Option<Role>) -> Result<Checked, Mistake> {
        let checked = match body {
            Body::Expression(expression) => {
                let checked = self.check(expression)?;
                self.returns = vec![(checked.ty.clone(), expression.span.start)];
                checked
            }
            Body::Script(block) => self.script(block)?,
        };
        for (ty, at) in &self.returns {
            if let Some(refusal) = role.and_then(|role| role.refuses(ty)) {
                return Err(self.mistake(*at, refusal));
            }
        }
        Ok(checked)
    }

    pub(crate) fn check(&mut self, expression: &Expr) -> Result<Checked, Mistake> {
        let at = expression.span.start;
        let constant = |value, ty| {
            Ok(Checked {
                node: Node::constant(value),
                ty,
            })
        };
        match &expression.kind {
            ExprKind::Null => constant(Value::Null, Type::Null),
            ExprKind::Bool(value) => constant(Value::Bool(*value), Type::Bool),
            ExprKind::Int(number) => constant(Value::Int(*number), Type::Number),
            ExprKind::Float(number) => constant(Value::Float(*number), Type::Number),
            ExprKind::Text(text) => constant(Value::Text(text.clone().into()), Type::Text),
            ExprKind::Name(name) => self.name(name, at),
            ExprKind::Unary(operator, of) => self.unary(*operator, of),
            ExprKind::Binary(operator, a, b) => self.binary(*operator, a, b),
            ExprKind::Choice(parts) => self.choice(parts),
            ExprKind::Call(name, arguments) => self.call(name, arguments, at),
            ExprKind::Member {
                of,
                name,
                name_span,
                arguments,
            } => {
                let of_checked = self.check(of)?;
                let arguments = arguments.as_deref().unwrap_or_default();
                self.member(of_checked, of.span.start, name, arguments, name_span.start)
            }
            ExprKind::Element(parts) => self.element(parts),
            ExprKind::List(items) => self.list(items),
            ExprKind::Lambda(..) => Err(self.mistake(
                at,
                "`x => …` is only allowed as an argument of a list function, such as `any`",
            )),
        }
    }

    fn wanted(&mut self, expression: &Expr, wanted: &Type) -> Result<Node, Mistake> {
        let checked = self.check(expression)?;
        self.fits(&checked.ty, wanted, expression.span.start)?;
        Ok(checked.node)
    }

    fn fits(&self, found: &Type, wanted: &Type, at: usize) -> Result<(), Mistake> {
        if found.fits(wanted) {
            return Ok(());
        }
        let mistake = self.mistake(at, format!("expected {wanted}, found {found}"));
        Err(match (found, wanted) {
            (Type::Object, Type::Text) => mistake.suggesting(Some(".text` or `.type")),
            (Type::List(_), Type::Bool) => mistake.suggesting(Some(".any(x => …)")),
            _ => mistake,
        })
    }

    fn unary(&mut self, operator: Unary, of: &Expr) -> Result<Checked, Mistake> {
        let ty = match operator {
            Unary::Not => Type::Bool,
            Unary::Minus => Type::Number,
        };
        let node = self.wanted(of, &ty)?;
        let node = Node::new(Op::Unary(operator), [node]);
        Ok(Checked { node, ty })
    }

    fn binary(&mut self, operator: Binary, a: &Expr, b: &Expr) -> Result<Checked, Mistake> {
        use Binary::*;
        let at = b.span.start;
        let (left, right) = (self.check(a)?, self.check(b)?);
        let both = |checker: &Self, wanted: Type| {
            checker.fits(&left.ty, &wanted, a.span.start)?;
            checker.fits(&right.ty, &wanted, at)?;
            Ok(wanted)
        };
        let ty = match operator {
            Or | And => both(self, Type::Bool)?,
            Minus | Times | Divide | Remainder => both(self, Type::Number)?,
            Matches => {
                both(self, Type::Text)?;
                Type::Bool
            }
            Equal | NotEqual => {
                if left.ty.clone().join(right.ty.clone()).is_none() {
                    let message = format!("{} never equals {}", left.ty, right.ty);
                    return Err(self.mistake(at, message));
                }
                Type::Bool
            }
            Less | LessEqual | Greater | GreaterEqual => {
                let text = left.ty == Type::Text || right.ty == Type::Text;
                both(self, if text { Type::Text } else { Type::Number })?;
                Type::Bool
            }
            Plus if left.ty == Type::Text || right.ty == Type::Text => {
                for (ty, at) in [(&left.ty, a.span.start), (&right.ty, at)] {
                    if matches!(ty, Type::List(_) | Type::Path) {
                        return Err(self.mistake(at, format!("{ty} cannot be part of a text")));
                    }
                }
                Type::Text
            }
            Plus if left.ty == Type::Any && right.ty == Type::Any => Type::Any,
            Plus => both(self, Type::Number)?,
        };
        let node = Node::new(Op::Binary(operator), [left.node, right.node]);
        Ok(Checked { node, ty })
    }

    fn choice(&mut self, [condition, then, otherwise]: &[Expr; 3]) -> Result<Checked, Mistake> {
        let condition = self.wanted(condition, &Type::Bool)?;
        let (a, b) = (self.check(then)?, self.check(otherwise)?);
        let message = format!("either {} or {}: one type is needed", a.ty, b.ty);
        let Some(ty) = a.ty.join(b.ty) else {
            return Err(self.mistake(otherwise.span.start, message));
        };
        let node = Node::new(Op::Choice, [condition, a.node, b.node]);
        Ok(Checked { node, ty })
    }

    fn element(&mut self, [of, index]: &[Expr; 2]) -> Result<Checked, Mistake> {
        let checked = self.check(of)?;
        let ty = match checked.ty {
            Type::List(element) => *element,
            Type::Object | Type::Any | Type::Null => Type::Any,
            other => {
                let message = format!("only a list or an array has elements, not {other}");
                return Err(self.mistake(of.span.start, message));
            }
        };
        let index = self.wanted(index, &Type::Number)?;
        let node = Node::new(Op::Element, [checked.node, index]);
        Ok(Checked { node, ty })
    }

    fn list(&mut self, items: &[Expr]) -> Result<Checked, Mistake> {
        let mut nodes = Vec::new();
        let mut ty = Type::Null;
        for item in items {
            let checked = self.check(item)?;
            ty = ty.join(checked.ty).unwrap_or(Type::Any);
            nodes.push(checked.node);
        }
        if items.is_empty() {
            ty = Type::Any;
        }
        Ok(Checked {
            node: Node::new(Op::List, nodes),
            ty: Type::list(ty),
        })
    }

    fn call_function(
        &mut self,
        name: &str,
        index: usize,
        parameters: usize,
        arguments: &[Expr],
        at: usize,
    ) -> Result<Checked, Mistake> {
        if arguments.len() != parameters {
            let message = format!("`{name}` needs {parameters} arguments");
            return Err(self.mistake(at, message));
        }
        let mut nodes = Vec::new();
        for argument in arguments {
            nodes.push(self.check(argument)?.node);
        }
        Ok(Checked {
            node: Node::new(Op::Call(index, self.spot(at)), nodes),
            ty: Type::Any,
        })
    }

    fn spot(&self, at: usize) -> Arc<Spot> {
        Arc::new(Spot {
            origin: self.source.origin.clone(),
            source: self.source.text.clone(),
            at,
        })
    }

    /// A new variable; its slot.
    fn declare(&mut self, name: &str, ty: Type) -> usize {
        let slot = self.slot;
        self.slot += 1;
        self.scope
            .push(Binding::fixed(name, Node::variable(slot), ty));
        slot
    }

    /// Forgets the variables after the first ones.
    fn forget(&mut self, keep: usize) {
        self.slot -= self.scope.len() - keep;
        self.scope.truncate(keep);
    }

    fn in_scope(&self, name: &str) -> Option<Checked> {
        let known = self.scope.iter().rev().find(|known| known.name == name);
        known.map(|known| Checked {
            node: known.node.clone(),
            ty: known.ty.clone(),
        })
    }

    fn current() -> Checked {
        Checked {
            node: Node::variable(CURRENT),
            ty: Type::Object,
        }
    }

    fn name(&mut self, name: &str, at: usize) -> Result<Checked, Mistake> {
        if let Some(known) = self.in_scope(name) {
            self.inlined += known.node.size();
            self.check_size(&known.node, at)?;
            return Ok(known);
        }
        if name == OBJECT {
            return Ok(Self::current());
        }
        if let Some(definition) = self.definitions.find(name) {
            return self.inline(definition, &[], at);
        }
        match find(name, &Type::Object, 0) {
            Some(signature) => self.apply(signature, Self::current(), &[]),
            None => self.predefined(name, Self::current(), &[], at),
        }
    }

    fn call(&mut self, name: &str, arguments: &[Expr], at: usize) -> Result<Checked, Mistake> {
        if name == PATH {
            return self.path(arguments);
        }
        if let Some(definition) = self.definitions.find(name) {
            return self.inline(definition, arguments, at);
        }
        if let Some((index, parameters)) = self.definitions.find_function(name) {
            return self.call_function(name, index, parameters, arguments, at);
        }
        if let Some(signature) = find(name, &Type::Object, arguments.len()) {
            return self.apply(signature, Self::current(), arguments);
        }
        match arguments.split_first() {
            Some((of, rest)) if SIGNATURES.iter().any(|known| known.name == name) => {
                let checked = self.check(of)?;
                self.member(checked, of.span.start, name, rest, at)
            }
            _ => self.predefined(name, Self::current(), arguments, at),
        }
    }

    fn path(&mut self, arguments: &[Expr]) -> Result<Checked, Mistake> {
        let mut parts = Vec::new();
        for argument in arguments {
            parts.push(self.check(argument)?.node);
        }
        let node = Node::new(Op::Path, parts);
        Ok(Checked {
            node,
            ty: Type::Path,
        })
    }

    fn member(
        &mut self,
        of: Checked,
        of_at: usize,
        name: &str,
        arguments: &[Expr],
        at: usize,
    ) -> Result<Checked, Mistake> {
        if let Some(signature) = find(name, &of.ty, arguments.len()) {
            return self.apply(signature, of, arguments);
        }
        let same_name = SIGNATURES.iter().filter(|known| known.name == name);
        let applicable: Vec<&Signature> = same_name
            .clone()
            .filter(|known| of.ty.fits(&known.of.ty(&Type::Any)))
            .collect();
        if let Some(signature) = applicable.first() {
            let message = format!("`{name}` needs {}", count(signature));
            return Err(self.mistake(at, message));
        }
        if of.ty.fits(&Type::Object) {
            return self.predefined(name, of, arguments, at);
        }
        if let Some(other) = same_name.clone().next() {
            let wanted = other.of.ty(&Type::Any);
            let message = format!("`{name}` applies to {wanted}, not to {}", of.ty);
            return Err(self.mistake(of_at, message));
        }
        let fitting = SIGNATURES
            .iter()
            .filter(|known| of.ty.fits(&known.of.ty(&Type::Any)));
        let names = fitting.map(|known| known.name);
        Err(self
            .mistake(at, format!("{} has no `{name}`", of.ty))
            .suggesting(closest(name, names)))
    }

    fn apply(
        &mut self,
        signature: &Signature,
        of: Checked,
        arguments: &[Expr],
    ) -> Result<Checked, Mistake> {
        let item = match &of.ty {
            Type::List(item) => (**item).clone(),
            _ => Type::Any,
        };
        let mut gives = signature.gives.ty(&item);
        let mut parts = vec![of.node];
        let mut op = match signature.function {
            Function::Property(property) => Op::Property(property),
            function => Op::Function(function),
        };
        for (argument, kind) in arguments.iter().zip(signature.takes) {
            match kind {
                Kind::Test | Kind::Mapping => {
                    let (slot, body) = self.lambda(argument, &item, *kind)?;
                    op = Op::Each(signature.function, slot, self.spot(argument.span.start));
                    if *kind == Kind::Mapping {
                        gives = Type::list(body.ty);
                    }
                    parts.push(body.node);
                }
                Kind::Name => op = self.named(signature.function, argument)?,
                _ => {
                    let node = self.wanted(argument, &kind.ty(&item))?;
                    parts.push(node);
                }
            }
        }
        let node = Node::new(op, parts);
        Ok(Checked { node, ty: gives })
    }

    /// A function whose argument is a name that must be known beforehand.
    fn named(&mut self, function: Function, argument: &Expr) -> Result<Op, Mistake> {
        let node = self.wanted(argument, &Type::Text)?;
        let name = match node.op {
            Op::Const(Value::Text(name)) => name.into_owned(),
            Op::Unknown => return Ok(Op::Unknown),
            _ => {
                let message = "expected a text in quotes: the name must be known beforehand";
                return Err(self.mistake(argument.span.start, message));
            }
        };
        Ok(match function {
            Function::Is => Op::Is(name),
            _ => Op::Field(name),
        })
    }

    fn lambda(
        &mut self,
        argument: &Expr,
        item: &Type,
        kind: Kind,
    ) -> Result<(usize, Checked), Mistake> {
        let ExprKind::Lambda(name, body) = &argument.kind else {
            let message = "write the function of an element as `x => …`";
            return Err(self.mistake(argument.span.start, message));
        };
        let slot = self.declare(name, item.clone());
        let checked = self.check(body);
        self.forget(self.scope.len() - 1);
        let checked = checked?;
        if kind == Kind::Test {
            self.fits(&checked.ty, &Type::Bool, body.span.start)?;
        }
        Ok((slot, checked))
    }

    /// The body of a definition in place of its name.
    pub(crate) fn inline(
        &mut self,
        definition: &Definition,
        arguments: &[Expr],
        at: usize,
    ) -> Result<Checked, Mistake> {
        let name = &definition.name;
        if arguments.len() != definition.parameters.len() {
            let message = format!("it is `{}`", definition.usage());
            return Err(self.mistake(at, message));
        }
        if self.depth == DEEPEST_DEFINITIONS {
            let message = format!("definitions are nested too deeply at `{name}`");
            return Err(self.mistake(at, message));
        }
        let mut scope = Vec::new();
        for (parameter, argument) in definition.parameters.iter().zip(arguments) {
            let checked = self.check(argument)?;
            scope.push(Binding::fixed(parameter, checked.node, checked.ty));
        }
        let mut inner = Checker {
            source: &definition.source,
            definitions: self.definitions,
            scope,
            slot: self.slot,
            depth: self.depth + 1,
            inlined: self.inlined,
            loops: 0,
            returns: Vec::new(),
            names_are_fields: false,
        };
        let result = inner.body(&definition.body, None);
        self.inlined = inner.inlined;
        let checked = result.map_err(|mistake| {
            let message = format!("`{name}` cannot be used this way: {}", mistake.message);
            self.mistake(at, message)
        })?;
        self.inlined += checked.node.size();
        self.check_size(&checked.node, at)?;
        Ok(checked)
    }

    /// Definitions must not lead to something that nobody could evaluate.
    fn check_size(&self, node: &Node, at: usize) -> Result<(), Mistake> {
        if self.inlined > LARGEST || node.height() > DEEPEST {
            let message = "the expression is too large after expanding definitions";
            return Err(self.mistake(at, message));
        }
        Ok(())
    }

    /// A classifier of the catalog; hyphens of its name are written `_`.
    fn predefined(
        &mut self,
        name: &str,
        of: Checked,
        arguments: &[Expr],
        at: usize,
    ) -> Result<Checked, Mistake> {
        let found = CATALOG.iter().find(|entry| in_expressions(entry) == name);
        let Some(entry) = found.filter(|entry| !entry.transformer) else {
            if self.names_are_fields && arguments.is_empty() {
                let node = Node::new(Op::Field(name.to_owned()), [of.node]);
                let ty = Type::Any;
                return Ok(Checked { node, ty });
            }
            return Err(self.unknown(name, at));
        };
        let mut argument = None;
        if let Some(first) = arguments.first() {
            let node = self.wanted(first, &Type::Any)?;
            argument = match node.op {
                Op::Const(Value::Text(text)) => Some(text.into_owned()),
                Op::Const(Value::Int(number)) => Some(number.to_string()),
                _ => {
                    let message =
                        "the argument of a predefined classifier must be known beforehand";
                    return Err(self.mistake(first.span.start, message));
                }
            };
        }
        let call = Call::new(entry, argument, self.definitions.files())
            .map_err(|message| self.mistake(at, message))?;
        let ty = match entry.cardinality {
            Cardinality::One => Type::Text,
            Cardinality::Many => Type::list(Type::Path),
            Cardinality::Hierarchy => Type::Path,
        };
        let node = Node::new(Op::Predefined(call), [of.node]);
        Ok(Checked { node, ty })
    }

    fn unknown(&self, name: &str, at: usize) -> Mistake {
        let signatures = SIGNATURES.iter().map(|known| known.name.to_owned());
        let scope = self.scope.iter().map(|known| known.name.clone());
        let catalog = CATALOG.iter().filter(|entry| !entry.transformer);
        let names: Vec<String> = signatures
            .chain(scope)
            .chain(catalog.map(in_expressions))
            .chain(self.definitions.names_in_expressions())
            .chain(self.definitions.function_names())
            .chain([OBJECT.to_owned(), PATH.to_owned()])
            .collect();
        let suggestion = closest(name, names.iter().map(String::as_str));
        self.mistake(at, format!("unknown name `{name}`"))
            .suggesting(suggestion)
    }
}

/// The name of a catalog entry where `-` is an operator.
fn in_expressions(entry: &Entry) -> String {
    entry.name.replace('-', "_")
}

/// The function of that name for such a receiver and so many arguments.
fn find(name: &str, of: &Type, arguments: usize) -> Option<&'static Signature> {
    let mut fitting = SIGNATURES.iter().filter(|known| {
        let least = known.takes.len() - usize::from(known.optional);
        known.name == name
            && (least..=known.takes.len()).contains(&arguments)
            && of.fits(&known.of.ty(&Type::Any))
    });
    fitting.next()
}

fn count(signature: &Signature) -> String {
    match (signature.takes.len(), signature.optional) {
        (0, _) => "no argument".to_owned(),
        (1, false) => "one argument".to_owned(),
        (1, true) => "at most one argument".to_owned(),
        (most, true) => format!("{} or {most} arguments", most - 1),
        (most, false) => format!("{most} arguments"),
    }
}
