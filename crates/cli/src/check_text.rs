//! Verdicts for people.

use anthill_api::check::{Answer, Severity, Verdict};
use anthill_documents::duration;

use crate::failure::Failure;
use crate::output::Out;
use crate::output::units::{count, counted};

/// What does not hold with paths, then one line for each check. `limit` is how many violations of each
/// are shown.
pub fn text(verdicts: &Answer, limit: usize, out: &mut Out) -> Result<(), Failure> {
    if verdicts.checks.is_empty() {
        out.line("Nothing to check: there are no rules, and the program makes no assertions.")?;
        return Ok(());
    }
    for check in verdicts.checks.iter().filter(|check| !check.holds) {
        out.heading(&headline(check))?;
        if let Some(rule) = check.rule.as_ref().filter(|rule| **rule != check.name) {
            out.line(format!("  {rule}"))?;
        }
        if let Some(duration) = duration(check) {
            out.line(format!("  {duration}"))?;
        }
        if let Some(first) = check.first.as_ref().filter(|_| check.states == 0) {
            out.line(format!("  first in {}", first.name))?;
        }
        for violation in check.violations.iter().take(limit) {
            out.blank()?;
            let mut shown = violation.told.clone();
            // The heading has said it.
            shown.rule = None;
            for line in shown.to_string().lines() {
                out.line(format!("  {line}"))?;
            }
        }
        let left = check.violations.len().saturating_sub(limit);
        if left > 0 {
            let left = counted(left as u64, "more violation", "more violations");
            out.remark(&format!("  … {left}; --limit 0 shows all"))?;
        }
        if check.omitted > 0 {
            out.remark(&format!("  … {} more objects", count(check.omitted)))?;
        }
        out.blank()?;
    }
    summary(verdicts, out)
}

fn headline(check: &Verdict) -> String {
    let severity = match check.severity {
        Severity::Error => "",
        Severity::Warning => "warning: ",
        Severity::Note => "note: ",
    };
    format!("✗ {severity}{}", check.name)
}

fn summary(verdicts: &Answer, out: &mut Out) -> Result<(), Failure> {
    for check in &verdicts.checks {
        let mark = match (&check.not_checked, check.holds) {
            (Some(_), _) => "?",
            (None, true) => "✓",
            (None, false) => "✗",
        };
        let detail = match (&check.not_checked, check.holds, check.assertions) {
            (Some(why), ..) => format!(": not checked: {why}"),
            (None, false, _) => {
                format!(": {}", counted(check.count(), "violation", "violations"))
            }
            (None, true, Some(assertions)) => format!(": {} hold", count(assertions)),
            (None, true, None) => String::new(),
        };
        out.line(format!("{mark} {}{detail}", check.name))?;
    }
    Ok(())
}
