//! Checks the statements of scripts.

use anthill_syntax::Mistake;

use super::{Checked, Checker};
use crate::language::node::{Node, Op};
use crate::language::parser::Expr;
use crate::language::script::{Block, Statement};
use crate::language::types::Type;
use crate::language::value::Value;

impl Checker<'_> {
    pub(super) fn script(&mut self, block: &Block) -> Result<Checked, Mistake> {
        let value = self.block(block)?;
        if let Some(Statement::Value(last)) = block.statements.last() {
            self.returns.push((value.ty, last.span.start));
        }
        let types = self.returns.iter().map(|returned| returned.0.clone());
        let ty = types.reduce(|a, b| match (&a, &b) {
            (Type::List(_), _) | (_, Type::List(_)) => a.join(b).unwrap_or(Type::list(Type::Any)),
            _ => a.join(b).unwrap_or(Type::Any),
        });
        Ok(Checked {
            node: Node::new(Op::Body, [value.node]),
            ty: ty.unwrap_or(Type::Null),
        })
    }

    fn block(&mut self, block: &Block) -> Result<Checked, Mistake> {
        let known = self.scope.len();
        let mut nodes = Vec::new();
        let mut ty = Type::Null;
        for statement in &block.statements {
            let checked = self.statement(statement)?;
            nodes.push(checked.node);
            ty = checked.ty;
        }
        self.forget(known);
        Ok(Checked {
            node: Node::new(Op::Block, nodes),
            ty,
        })
    }

    fn statement(&mut self, statement: &Statement) -> Result<Checked, Mistake> {
        let node = match statement {
            Statement::Value(expression) => return self.check(expression),
            Statement::Let(name, value) => {
                let checked = self.check(value)?;
                let ty = match checked.ty {
                    Type::Null => Type::Any,
                    ty => ty,
                };
                let slot = self.declare(name, ty);
                if let Some(binding) = self.scope.last_mut() {
                    binding.assignable = true;
                }
                Node::new(Op::Let(slot), [checked.node])
            }
            Statement::Assign { name, value, at } => {
                let (slot, ty) = self.assignable(name, *at)?;
                let node = self.wanted(value, &ty)?;
                Node::new(Op::Let(slot), [node])
            }
            Statement::Add { name, value, at } => self.add(name, value, *at)?,
            Statement::If(condition, then, otherwise) => {
                let condition = self.wanted(condition, &Type::Bool)?;
                let then = self.inner(then)?;
                let otherwise = self.inner(otherwise)?;
                Node::new(Op::Choice, [condition, then, otherwise])
            }
            Statement::For {
                name,
                list,
                body,
                at,
            } => {
                let checked = self.check(list)?;
                self.fits(&checked.ty, &Type::list(Type::Any), list.span.start)?;
                let item = match checked.ty {
                    Type::List(item) => *item,
                    _ => Type::Any,
                };
                let slot = self.declare(name, item);
                let body = self.in_loop(body)?;
                self.forget(self.scope.len() - 1);
                Node::new(Op::For(slot, self.spot(*at)), [checked.node, body])
            }
            Statement::While {
                condition,
                body,
                at,
            } => {
                let condition = self.wanted(condition, &Type::Bool)?;
                let body = self.in_loop(body)?;
                Node::new(Op::While(self.spot(*at)), [condition, body])
            }
            Statement::Break(at) | Statement::Continue(at) if self.loops == 0 => {
                return Err(self.mistake(*at, "not inside a loop"));
            }
            Statement::Break(_) => Node::new(Op::Break, []),
            Statement::Continue(_) => Node::new(Op::Continue, []),
            Statement::Return(value) => {
                let node = match value {
                    Some(value) => {
                        let checked = self.check(value)?;
                        self.returns.push((checked.ty, value.span.start));
                        checked.node
                    }
                    None => Node::constant(Value::Null),
                };
                Node::new(Op::Return, [node])
            }
        };
        Ok(Checked {
            node,
            ty: Type::Null,
        })
    }

    fn in_loop(&mut self, body: &Block) -> Result<Node, Mistake> {
        self.loops += 1;
        let node = self.inner(body);
        self.loops -= 1;
        node
    }

    /// A block within another has no value.
    fn inner(&mut self, block: &Block) -> Result<Node, Mistake> {
        let mut node = self.block(block)?.node;
        node.parts.push(Node::constant(Value::Null));
        Ok(node)
    }

    fn assignable(&self, name: &str, at: usize) -> Result<(usize, Type), Mistake> {
        let known = self.scope.iter().rev().find(|known| known.name == name);
        match known.map(|known| (&known.node.op, known)) {
            Some((&Op::Variable(slot), known)) if known.assignable => Ok((slot, known.ty.clone())),
            Some(_) => Err(self.mistake(at, format!("`{name}` cannot be assigned"))),
            None => {
                let message = format!(
                    "unknown variable `{name}`; declare it with `let {name} = \
                …`"
                );
                Err(self.mistake(at, message))
            }
        }
    }

    fn add(&mut self, name: &str, value: &Expr, at: usize) -> Result<Node, Mistake> {
        let (slot, ty) = self.assignable(name, at)?;
        let wanted = match ty {
            Type::List(item) => *item,
            Type::Text => Type::Any,
            ty @ (Type::Number | Type::Any) => ty,
            ty => {
                let message = format!("cannot add to `{name}`, which is {ty}");
                return Err(self.mistake(at, message));
            }
        };
        let node = self.wanted(value, &wanted)?;
        Ok(Node::new(Op::Add(slot, self.spot(at)), [node]))
    }
}
