//! Command lines that can be pasted into a POSIX shell.

/// A word that the shell passes on as it is.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:@%+=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The name of a file as an argument: never taken for an option.
pub fn file(name: &str) -> String {
    if name.starts_with('-') {
        word(&format!("./{name}"))
    } else {
        word(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        for text in [
            "app.hprof",
            "my dump.hprof",
            "it's",
            "$HOME/a;b&c.hprof",
            "Outer$Inner",
            "com.acme.*",
            "größe.hprof",
            "~x",
            "",
            "a\nb",
        ] {
            let line = format!("printf %s {}", word(text));
            let output = std::process::Command::new("sh")
                .args(["-c", &line])
                .output();
            assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), text);
        }
        assert_eq!(word("dumps/app-1.hprof.gz"), "dumps/app-1.hprof.gz");
        assert_eq!(file("-x.hprof"), "./-x.hprof");
    }
}
