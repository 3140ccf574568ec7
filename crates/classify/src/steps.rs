//! The steps of a classification, written as text: `where size > 1K, type, pointed-from, type`.

use crate::catalog::{CATALOG, Call, Entry, What};
use crate::language::{
    Body, Checker, Definitions, Expression, Mistake, Parser, Role, Source, Token,
};
use crate::pattern::closest;

#[derive(Clone, Debug)]
pub enum Step {
    /// A classifier or transformer of the catalog.
    Predefined(Call),
    /// The values of an expression are the keys.
    Classify(Expression),
    /// Only objects that fulfil it go on.
    Where(Expression),
    /// Goes on with the objects it leads to.
    To(Expression),
}

impl Step {
    /// Steps separated by commas, without definitions of one's own.
    pub fn parse_list(text: &str) -> Result<Vec<Step>, Mistake> {
        Definitions::default().steps(text)
    }

    /// Whether it turns an object into other objects, which the steps after it classify.
    pub fn is_transformer(&self) -> bool {
        match self {
            Step::Predefined(call) => call.entry().transformer,
            Step::To(_) => true,
            Step::Classify(_) | Step::Where(_) => false,
        }
    }

    /// Whether every object surely comes to the next step.
    pub(crate) fn keeps_all(&self) -> bool {
        match self {
            Step::Predefined(call) => call.argument.is_none() || call.what == What::Field,
            // The group has only what it keeps.
            Step::Where(_) => true,
            // A list may be empty.
            Step::Classify(_) | Step::To(_) => false,
        }
    }

    /// The fields whose values it asks for.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Step::Predefined(_) => Vec::new(),
            Step::Classify(expression) | Step::Where(expression) | Step::To(expression) => {
                expression.fields()
            }
        }
    }

    /// How a message calls it.
    pub fn name(&self) -> &str {
        match self {
            Step::Predefined(call) => call.entry().name,
            Step::Classify(expression) | Step::Where(expression) | Step::To(expression) => {
                expression.source()
            }
        }
    }

    fn has_role(role: Role, expression: Expression) -> Step {
        match role {
            Role::Classifier => Step::Classify(expression),
            Role::Filter => Step::Where(expression),
            Role::Transformer => Step::To(expression),
        }
    }
}

impl Definitions {
    /// Steps separated by commas: names of the catalog or of definitions, `where CONDITION`,
    /// `to OBJECTS`, or any expression to classify by.
    pub fn steps(&self, text: &str) -> Result<Vec<Step>, Mistake> {
        let mut parser = Parser::new(text);
        let mut steps = Vec::new();
        loop {
            let at = parser.span().start;
            steps.push(self.step(&mut parser)?);
            if let Some(message) = misplaced(&steps) {
                return Err(parser.mistake(at, message));
            }
            if parser.at_end() {
                break;
            }
            parser.expect_symbol(",", "and another step, or the end")?;
        }
        let classifying = steps.iter().rev();
        let mut classifying = classifying.skip_while(|step| matches!(step, Step::Where(_)));
        match classifying.next() {
            Some(last) if last.is_transformer() => {
                let message = format!(
                    "after `{}` a classifier is needed for the objects it leads to",
                    last.name()
                );
                Err(Mistake::at(text, text.len(), message))
            }
            _ => Ok(steps),
        }
    }

    /// A condition as a step.
    pub fn filter(&self, text: &str) -> Result<Step, Mistake> {
        let mut parser = Parser::new(text);
        let condition = self.condition(&mut parser)?;
        parser.end()?;
        Ok(condition)
    }

    /// The condition that comes next, as a step; a parenthesis may end it.
    pub fn condition(&self, parser: &mut Parser) -> Result<Step, Mistake> {
        let is_end = |parser: &Parser| is_step_end(parser) || parser.is_symbol(")");
        self.written_until(is_end, Role::Filter, parser)
            .map(Step::Where)
    }

    /// The condition that comes next, in a language of its own that goes on behind it. `=` compares
    /// there, and a name that means nothing else is a field: `closed = true`.
    pub fn plain_condition(&self, parser: &mut Parser) -> Result<Step, Mistake> {
        let at = parser.span().start;
        parser.single_equals = true;
        let body = parser.expression().map(Body::Expression);
        parser.single_equals = false;
        let source = Source::new(CONDITION, parser.source());
        let mut checker = Checker::new(&source, self);
        checker.plain_fields = true;
        let checked = checker.body(&body?, Some(Role::Filter))?;
        let written = &parser.source()[at..parser.last_end()];
        Ok(Step::Where(Expression::new(written, checked, self)))
    }

    fn step(&self, parser: &mut Parser) -> Result<Step, Mistake> {
        if is_step_end(parser) {
            return Err(parser.mistake(parser.span().start, "a step is missing here"));
        }
        for (word, role) in [("where", Role::Filter), ("to", Role::Transformer)] {
            if parser.take_word(word) {
                return Ok(Step::has_role(role, self.written(role, parser)?));
            }
        }
        let position = parser.position();
        let at = parser.span().start;
        let name = parser.hyphenated().map(|(name, _)| name);
        if let Some(name) = &name {
            if let Some(step) = self.named(name, at, parser)? {
                return Ok(step);
            }
        }
        let alone = is_step_end(parser) || parser.is_symbol("(");
        parser.back_to(position);
        let result = self.written(Role::Classifier, parser);
        match (result, name) {
            // A hyphen would be read as a minus.
            (Err(_), Some(name)) if alone && name.contains('-') => {
                Err(self.no_step(parser, &name, at))
            }
            (result, _) => result.map(Step::Classify),
        }
    }

    fn no_step(&self, parser: &Parser, name: &str, at: usize) -> Mistake {
        let catalog = CATALOG.iter().map(|entry| entry.name);
        let defined = self.all().iter().map(|definition| definition.name.as_str());
        parser
            .mistake(at, format!("there is no `{name}`"))
            .suggesting(closest(name, catalog.chain(defined)))
    }

    /// A step that is a name, or a name and arguments, and nothing else.
    fn named(&self, name: &str, at: usize, parser: &mut Parser) -> Result<Option<Step>, Mistake> {
        if let Some(entry) = CATALOG.iter().find(|entry| entry.name == name) {
            return predefined(entry, at, parser);
        }
        let defined = self.all().iter().find(|definition| definition.name == name);
        let Some(definition) = defined else {
            return Ok(None);
        };
        let arguments = match parser.take_symbol("(") {
            true => parser.arguments()?,
            false => Vec::new(),
        };
        if !is_step_end(parser) {
            return Ok(None);
        }
        let source = Source::new(STEPS, parser.source());
        let checked = Checker::new(&source, self).inline(definition, &arguments, at)?;
        let written = &parser.source()[at..parser.last_end()];
        let expression = Expression::new(written, checked, self);
        Ok(Some(Step::has_role(definition.role, expression)))
    }

    /// The expression or script that comes next, as a step of its own.
    fn written(&self, role: Role, parser: &mut Parser) -> Result<Expression, Mistake> {
        self.written_until(is_step_end, role, parser)
    }

    fn written_until(
        &self,
        is_end: impl Fn(&Parser) -> bool,
        role: Role,
        parser: &mut Parser,
    ) -> Result<Expression, Mistake> {
        let at = parser.span().start;
        let body = match parser.is_symbol("{") {
            true => Body::Script(parser.block()?),
            false => Body::Expression(parser.expression()?),
        };
        if !is_end(parser) {
            return Err(parser.unexpected("an operator, `,` or the end"));
        }
        let source = Source::new(STEPS, parser.source());
        let checked = Checker::new(&source, self).body(&body, Some(role))?;
        let written = &parser.source()[at..parser.last_end()];
        Ok(Expression::new(written, checked, self))
    }
}

/// Where steps come from, for messages.
const STEPS: &str = "the steps";
const CONDITION: &str = "the condition";

fn is_step_end(parser: &Parser) -> bool {
    parser.at_end() || parser.is_symbol(",")
}

/// An entry of the catalog. Its argument is any text; what else could be meant is an expression.
fn predefined(entry: &Entry, at: usize, parser: &mut Parser) -> Result<Option<Step>, Mistake> {
    let argument = match parser.is_symbol("(") {
        true if entry.argument.is_none() => return Ok(None),
        true => Some(raw_argument(parser)?),
        false => None,
    };
    if !is_step_end(parser) {
        return Ok(None);
    }
    let call = Call::new(entry, argument).map_err(|message| parser.mistake(at, message))?;
    Ok(Some(Step::Predefined(call)))
}

/// The text between parentheses, without the quotes if it is in quotes.
fn raw_argument(parser: &mut Parser) -> Result<String, Mistake> {
    let open = parser.span();
    parser.advance();
    let mut depth = 1;
    let mut tokens = Vec::new();
    loop {
        let end = parser.span().start;
        match parser.advance() {
            Token::End => {
                return Err(parser.mistake(open.start, "this parenthesis is not closed"));
            }
            Token::Symbol("(") => depth += 1,
            Token::Symbol(")") => depth -= 1,
            token => tokens.push(token),
        }
        if depth == 0 {
            return Ok(match tokens.as_slice() {
                [Token::Text(text)] => text.clone(),
                _ => parser.source()[open.end..end].trim().to_owned(),
            });
        }
    }
}

/// Why the last of these steps cannot stand where it does.
fn misplaced(steps: &[Step]) -> Option<String> {
    let (last, before) = steps.split_last()?;
    let is_health =
        |step: &Step| matches!(step, Step::Predefined(call) if call.what == What::InstanceHealth);
    if !is_health(last) {
        return None;
    }
    let reason = |step: &Step| {
        if is_health(step) {
            Some("the parts of an object have no parts of their own".to_owned())
        } else if step.is_transformer() {
            Some(format!(
                "`{}` cannot come after `{}`: the bytes would be those of other objects",
                last.name(),
                step.name()
            ))
        } else {
            None
        }
    };
    before.iter().find_map(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter for what a step is, and its name or source.
    fn read(text: &str) -> Vec<String> {
        let steps = Step::parse_list(text).unwrap();
        let shown = steps.iter().map(|step| match step {
            Step::Predefined(call) => match &call.argument {
                Some(argument) => format!("p {}({argument})", step.name()),
                None => format!("p {}", step.name()),
            },
            Step::Classify(_) => format!("c {}", step.name()),
            Step::Where(_) => format!("w {}", step.name()),
            Step::To(_) => format!("t {}", step.name()),
        });
        shown.collect()
    }

    #[test]
    fn names_expressions_filters_and_transformers_are_told_apart() {
        assert_eq!(
            read("type, pointed-from,field(state), field(\"x y\")"),
            ["p type", "p pointed-from", "p field(state)", "p field(x y)"]
        );
        assert_eq!(
            read("feature(/a b/@ (x)/2f.txt), type"),
            ["p feature(/a b/@ (x)/2f.txt)", "p type"]
        );
        assert_eq!(
            read("package(type), size > 10, field(\"a\").size, length - size"),
            [
                "c package(type)",
                "c size > 10",
                "c field(\"a\").size",
                "c length - size"
            ]
        );
        assert_eq!(
            read("where references.any(r => min(r.size, 3) > 2), to dominator , type"),
            [
                "w references.any(r => min(r.size, 3) > 2)",
                "t dominator",
                "p type"
            ]
        );
        assert_eq!(
            read("of-type(\"java.*\"), at-least(1K), where of_type('x') && size > 1"),
            [
                "w of-type(\"java.*\")",
                "w at-least(1K)",
                "w of_type('x') && size > 1"
            ]
        );
    }

    #[test]
    fn mistakes_are_located() {
        for (text, column, suggestion) in [
            ("type, colour", 7, None),
            ("field", 1, None),
            ("type(x)", 6, None),
            ("field(x", 6, None),
            ("type,", 6, None),
            ("", 1, None),
            ("where size > 3 & length > 2", 16, Some("&&")),
            ("type, 'x", 7, None),
            ("type,,size", 6, None),
            ("type, points-to", 16, None),
            ("type, points-to, where size > 1", 32, None),
            ("instance-health, instance-health", 18, None),
            ("points-to, instance-health", 12, None),
            ("to dominator, instance-health", 15, None),
            ("type, pointed-form, type", 7, Some("pointed-from")),
            ("where lenght > 3, type", 7, Some("length")),
            ("where size, type", 7, None),
            ("where size and length, type", 12, Some("&&")),
            ("size)", 5, None),
            ("to size, type", 4, None),
            ("type size", 6, None),
            ("type, rooted(first)", 7, None),
            ("type, indirectly-rooted(frist)", 7, None),
            ("at-least, type", 1, None),
            ("at-least('x'), type", 1, None),
        ] {
            let mistake = Step::parse_list(text).unwrap_err();
            assert_eq!(mistake.column, column, "{text}: {mistake}");
            assert_eq!(
                mistake.suggestion.as_deref(),
                suggestion,
                "{text}: {mistake}"
            );
        }
    }
}
