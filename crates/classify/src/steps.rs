//! The steps of a classification, written as text: `where size > 1K, type, pointed-from, type`.

use anthill_syntax::{Mistake, Token, TokenCursor, closest};

use crate::catalog::{CATALOG, Call, Entry, What};
use crate::files::Files;
use crate::language::{Body, Checker, Definitions, Expression, Parser, Role, Source};

/// A step of a classification: what is done with the objects next.
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
        let mut cursor = TokenCursor::of_expressions(text);
        let mut steps = Vec::new();
        loop {
            let at = cursor.span().start;
            steps.push(self.step(&mut cursor)?);
            if let Some(message) = misplaced(&steps) {
                return Err(cursor.mistake(at, message));
            }
            if cursor.at_end() {
                break;
            }
            cursor.expect_symbol(",", "and another step, or the end")?;
        }
        let classifying = steps.iter().rev();
        let mut classifying = classifying.skip_while(|step| matches!(step, Step::Where(_)));
        match classifying.next() {
            Some(last) if last.is_transformer() => {
                let message = format!(
                    "`{}` needs a classifier after it, for the objects it leads to",
                    last.name()
                );
                Err(Mistake::at(text, text.len(), message))
            }
            _ => Ok(steps),
        }
    }

    /// A condition as a step.
    pub fn filter(&self, text: &str) -> Result<Step, Mistake> {
        let mut cursor = TokenCursor::of_expressions(text);
        let condition = self.condition(&mut cursor)?;
        cursor.end()?;
        Ok(condition)
    }

    /// The condition that comes next, as a step; a parenthesis may end it.
    pub fn condition(&self, cursor: &mut TokenCursor) -> Result<Step, Mistake> {
        let is_end = |cursor: &TokenCursor| is_step_end(cursor) || cursor.is_symbol(")");
        self.written_until(is_end, Role::Filter, cursor)
            .map(Step::Where)
    }

    /// The condition that comes next, in a language of its own that goes on behind it. `=` compares
    /// there, and a name that means nothing else is a field: `closed = true`.
    pub fn embedded_condition(&self, cursor: &mut TokenCursor) -> Result<Step, Mistake> {
        let at = cursor.span().start;
        let body = Parser::of_condition(cursor)
            .expression()
            .map(Body::Expression)?;
        let source = Source::new(CONDITION, cursor.source());
        let mut checker = Checker::new(&source, self);
        checker.names_are_fields = true;
        let checked = checker.body(&body, Some(Role::Filter))?;
        let written = &cursor.source()[at..cursor.last_end()];
        Ok(Step::Where(Expression::new(written, checked, self)))
    }

    fn step(&self, cursor: &mut TokenCursor) -> Result<Step, Mistake> {
        if is_step_end(cursor) {
            return Err(cursor.mistake(cursor.span().start, "a step is missing here"));
        }
        for (word, role) in [("where", Role::Filter), ("to", Role::Transformer)] {
            if cursor.take_word(word) {
                return Ok(Step::has_role(role, self.written(role, cursor)?));
            }
        }
        let position = cursor.position();
        let at = cursor.span().start;
        let name = cursor.hyphenated().map(|(name, _)| name);
        if let Some(name) = &name {
            if let Some(step) = self.named(name, at, cursor)? {
                return Ok(step);
            }
        }
        let alone = is_step_end(cursor) || cursor.is_symbol("(");
        cursor.back_to(position);
        let result = self.written(Role::Classifier, cursor);
        match (result, name) {
            // A hyphen would be read as a minus.
            (Err(_), Some(name)) if alone && name.contains('-') => {
                Err(self.no_step(cursor, &name, at))
            }
            (result, _) => result.map(Step::Classify),
        }
    }

    fn no_step(&self, cursor: &TokenCursor, name: &str, at: usize) -> Mistake {
        let catalog = CATALOG.iter().map(|entry| entry.name);
        let defined = self.all().iter().map(|definition| definition.name.as_str());
        cursor
            .mistake(at, format!("unknown name `{name}`"))
            .suggesting(closest(name, catalog.chain(defined)))
    }

    /// A step that is a name, or a name and arguments, and nothing else.
    fn named(
        &self,
        name: &str,
        at: usize,
        cursor: &mut TokenCursor,
    ) -> Result<Option<Step>, Mistake> {
        if let Some(entry) = CATALOG.iter().find(|entry| entry.name == name) {
            return predefined(entry, self.files(), at, cursor);
        }
        let defined = self.all().iter().find(|definition| definition.name == name);
        let Some(definition) = defined else {
            return Ok(None);
        };
        let arguments = match cursor.take_symbol("(") {
            true => Parser::new(cursor).arguments()?,
            false => Vec::new(),
        };
        if !is_step_end(cursor) {
            return Ok(None);
        }
        let source = Source::new(STEPS, cursor.source());
        let checked = Checker::new(&source, self).inline(definition, &arguments, at)?;
        let written = &cursor.source()[at..cursor.last_end()];
        let expression = Expression::new(written, checked, self);
        Ok(Some(Step::has_role(definition.role, expression)))
    }

    /// The expression or script that comes next, as a step of its own.
    fn written(&self, role: Role, cursor: &mut TokenCursor) -> Result<Expression, Mistake> {
        self.written_until(is_step_end, role, cursor)
    }

    fn written_until(
        &self,
        is_end: impl Fn(&TokenCursor) -> bool,
        role: Role,
        cursor: &mut TokenCursor,
    ) -> Result<Expression, Mistake> {
        let at = cursor.span().start;
        let body = match cursor.is_symbol("{") {
            true => Body::Script(Parser::new(cursor).block()?),
            false => Body::Expression(Parser::new(cursor).expression()?),
        };
        if !is_end(cursor) {
            return Err(cursor.unexpected("an operator, `,` or the end"));
        }
        let source = Source::new(STEPS, cursor.source());
        let checked = Checker::new(&source, self).body(&body, Some(role))?;
        let written = &cursor.source()[at..cursor.last_end()];
        Ok(Expression::new(written, checked, self))
    }
}

/// Where steps come from, for messages.
const STEPS: &str = "the steps";
const CONDITION: &str = "the condition";

fn is_step_end(cursor: &TokenCursor) -> bool {
    cursor.at_end() || cursor.is_symbol(",")
}

/// An entry of the catalog. Its argument is any text; what else could be meant is an expression.
fn predefined(
    entry: &Entry,
    files: Files,
    at: usize,
    cursor: &mut TokenCursor,
) -> Result<Option<Step>, Mistake> {
    let argument = match cursor.is_symbol("(") {
        true if entry.argument.is_none() => return Ok(None),
        true => Some(raw_argument(cursor)?),
        false => None,
    };
    if !is_step_end(cursor) {
        return Ok(None);
    }
    let call = Call::new(entry, argument, files).map_err(|message| cursor.mistake(at, message))?;
    Ok(Some(Step::Predefined(call)))
}

/// The text between parentheses, without the quotes if it is in quotes.
fn raw_argument(cursor: &mut TokenCursor) -> Result<String, Mistake> {
    let (inner, tokens) = cursor.parenthesized()?;
    Ok(match tokens.as_slice() {
        [Token::Text(text)] => text.clone(),
        _ => cursor.source()[inner].trim().to_owned(),
    })
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
