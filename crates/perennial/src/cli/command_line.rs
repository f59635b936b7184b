//! A command line that a person gives as one argument, taken apart into its words.
//!
//! Quotes and backslashes mean what they mean to a shell; nothing else does, because no shell reads the line. So what only a
//! shell would understand is refused, rather than passed on as an argument that nobody meant.

/// A command as its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine(pub Vec<String>);

/// Why a line is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineFault {
    #[error("a command has at least one word")]
    Empty,
    #[error("a quotation mark is not closed")]
    Open,
    #[error(
        "no shell reads the command, and {0:?} means something only to a shell; quote it, or use sh -c '…'"
    )]
    OfShell(char),
}

/// Means something to a shell wherever it is not quoted.
const OF_SHELL: &str = "|&;<>()$`*?\n";
/// The same within double quotation marks.
const OF_SHELL_QUOTED: &str = "$`";
/// What a backslash quotes within double quotation marks.
const ESCAPED: &str = "\"\\$`";

pub fn command_line(line: &str) -> Result<CommandLine, CommandLineFault> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or(CommandLineFault::Open)? {
                        '\'' => break,
                        quoted => text.push(quoted),
                    }
                }
            }
            '"' => quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => {
                word.get_or_insert_default().push(rest.next().ok_or(CommandLineFault::Open)?);
            }
            other if OF_SHELL.contains(other) => return Err(CommandLineFault::OfShell(other)),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() { Err(CommandLineFault::Empty) } else { Ok(CommandLine(words)) }
}

/// Up to the closing double quotation mark.
fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), CommandLineFault> {
    loop {
        match rest.next().ok_or(CommandLineFault::Open)? {
            '"' => return Ok(()),
            '\\' => {
                let next = rest.next().ok_or(CommandLineFault::Open)?;
                word.extend((!ESCAPED.contains(next)).then_some('\\').into_iter().chain([next]));
            }
            other if OF_SHELL_QUOTED.contains(other) => {
                return Err(CommandLineFault::OfShell(other));
            }
            other => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_a_shell_would_have_them() {
        let words = |line| command_line(line).map(|line| line.0.join("|"));
        for (line, expected) in [
            ("cargo test  -p parser", "cargo|test|-p|parser"),
            ("sh -c 'true && false'", "sh|-c|true && false"),
            (r#"a "b c" d\ e '' x"y"'z'"#, "a|b c|d e||xyz"),
            (r#"a "\"\n\\" 'it'\''s'"#, "a|\"\\n\\|it's"),
        ] {
            assert_eq!(words(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_refused() {
        let fault = |line| command_line(line).unwrap_err();
        assert_eq!(fault("true && false"), CommandLineFault::OfShell('&'));
        assert_eq!(fault("sleep 1; true"), CommandLineFault::OfShell(';'));
        assert_eq!(fault("pytest tests/*"), CommandLineFault::OfShell('*'));
        assert_eq!(fault(r#"echo "$HOME""#), CommandLineFault::OfShell('$'));
        assert_eq!(fault("  "), CommandLineFault::Empty);
        assert_eq!(fault("sh -c 'true"), CommandLineFault::Open);
        assert_eq!(fault("x \\"), CommandLineFault::Open);
    }
}
