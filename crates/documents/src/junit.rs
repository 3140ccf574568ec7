//! Verdicts as the XML report of a test suite, as Maven Surefire writes it: every build server reads it.

use std::io::{self, Write};

use anthill_api::check::{Answer, Severity, Verdict};

use crate::words::duration;

/// What is below the severity that makes a check fail is told, but is no failure.
pub fn junit(
    verdicts: &Answer,
    name: &str,
    least: Severity,
    out: &mut dyn Write,
) -> io::Result<()> {
    let checks = &verdicts.checks;
    let skipped = checks
        .iter()
        .filter(|check| check.not_checked.is_some())
        .count();
    let failures = verdicts.violated(least);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuite name=\"{}\" time=\"0\" tests=\"{}\" errors=\"0\" skipped=\"{skipped}\" failures=\"{failures}\">",
        escaped(&format!("anthill check {name}")),
        checks.len()
    )?;
    for check in checks {
        case(check, name, least, out)?;
    }
    writeln!(out, "</testsuite>")?;
    out.flush()
}

fn case(check: &Verdict, file: &str, least: Severity, out: &mut dyn Write) -> io::Result<()> {
    let opening = format!(
        "  <testcase name=\"{}\" classname=\"{}\" time=\"0\"",
        escaped(&check.name),
        escaped(file)
    );
    if let Some(why) = &check.not_checked {
        writeln!(out, "{opening}>")?;
        writeln!(out, "    <skipped message=\"{}\"/>", escaped(why))?;
        return writeln!(out, "  </testcase>");
    }
    if check.holds {
        return writeln!(out, "{opening}/>");
    }
    let first = check.violations.first();
    let message = first.map_or(String::new(), |one| one.what.clone());
    let kind = first.map_or("", |one| one.told.kind.name());
    let mut body = String::new();
    body.extend(check.rule.iter().map(|rule| format!("{rule}\n")));
    body.extend(duration(check).map(|duration| format!("{duration}\n")));
    body.extend(check.violations.iter().map(|one| format!("\n{}", one.told)));
    if check.omitted > 0 {
        body += &format!("\n… {} more objects\n", check.omitted);
    }
    writeln!(out, "{opening}>")?;
    let body = escaped(&body);
    match check.severity >= least {
        true => writeln!(
            out,
            "    <failure message=\"{}\" type=\"{kind}\">{body}</failure>",
            escaped(&message)
        )?,
        false => writeln!(out, "    <system-out>{body}</system-out>")?,
    }
    writeln!(out, "  </testcase>")
}

/// Text in XML; characters that XML cannot have are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(char),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_have_is_replaced() {
        assert_eq!(escaped("a<b>&\"\u{1}\n"), "a&lt;b&gt;&amp;&quot;\u{fffd}\n");
    }
}
