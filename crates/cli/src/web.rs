//! The web view's side of the commands: files that stay open, and commands as questions about them.

mod ahead;
mod description;
mod making;
mod office;
mod question;
mod recent;
mod reporter;

pub use office::{Office, Request, Trees, lock};
