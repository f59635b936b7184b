//! A shell's command line, taken apart to see which programs it runs. Reads only: nothing of it is ever run.
//!
//! Not a shell: what it can't take apart says nothing. Variables, substitutions and globs stay as they are written. Whole
//! lines are bounded by the step that they come from, and what is made of one by the limits here.

/// A line with more commands, or a command with more words, says no more.
const COMMANDS_MAX: usize = 64;
const WORDS_MAX: usize = 64;

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    pub words: Vec<String>,
    /// Files that its output is sent to.
    pub writes: Vec<String>,
    /// Its output goes to another program, so its exit is not the line's.
    pub is_piped: bool,
    /// The text that is given to it in the line itself.
    pub given: String,
}

/// The programs of a line, in their order.
pub fn commands(line: &str) -> Vec<Simple> {
    let mut parser =
        Parser { rest: line, current: Simple::default(), done: Vec::new(), awaited: Vec::new() };
    parser.run();
    parser.done
}

struct Parser<'a> {
    rest: &'a str,
    current: Simple,
    done: Vec<Simple>,
    /// Ends of the texts that begin with the next line.
    awaited: Vec<String>,
}

impl Parser<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            if self.done.len() >= COMMANDS_MAX {
                return;
            }
            match next {
                '\n' => {
                    self.skip(1);
                    self.take_given();
                    self.finish(false);
                }
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                ' ' | '\t' | '\r' => self.skip(1),
                '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                ';' | '(' | ')' => {
                    self.skip(1);
                    self.finish(false);
                }
                '&' if self.rest.starts_with("&>") => self.skip(1),
                '&' => {
                    self.skip(if self.rest.starts_with("&&") { 2 } else { 1 });
                    self.finish(false);
                }
                '|' => {
                    let is_or = self.rest.starts_with("||");
                    let is_two = is_or || self.rest.starts_with("|&");
                    self.skip(if is_two { 2 } else { 1 });
                    self.finish(!is_or);
                }
                '<' => self.input(),
                '>' => self.output(),
                _ => {
                    let word = self.word();
                    // A number before a redirection is a descriptor.
                    let is_descriptor = self.rest.starts_with(['<', '>'])
                        && word.bytes().all(|byte| byte.is_ascii_digit());
                    if !is_descriptor && self.current.words.len() < WORDS_MAX {
                        self.current.words.push(word);
                    } else if is_descriptor && word != "1" {
                        // What is told of errors is no content.
                        self.skip(self.rest.len() - self.rest.trim_start_matches(['>', '&']).len());
                        self.blanks();
                        self.word();
                    }
                }
            }
        }
        self.finish(false);
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn finish(&mut self, is_piped: bool) {
        let mut simple = std::mem::take(&mut self.current);
        simple.is_piped = is_piped;
        if !simple.words.is_empty() {
            self.done.push(simple);
        }
    }

    fn input(&mut self) {
        if self.rest.starts_with("<<<") {
            self.skip(3);
            self.blanks();
            self.current.given = self.word();
        } else if self.rest.starts_with("<<") {
            self.skip(2);
            self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
            self.blanks();
            let end = self.word();
            self.awaited.push(end);
        } else {
            self.skip(1);
            self.blanks();
            self.word();
        }
    }

    fn output(&mut self) {
        self.rest = self.rest.trim_start_matches(['>', '|']);
        // Into another descriptor.
        if let Some(rest) = self.rest.strip_prefix('&') {
            self.rest = rest;
            self.word();
            return;
        }
        self.blanks();
        let file = self.word();
        if self.current.writes.len() < WORDS_MAX {
            self.current.writes.push(file);
        }
    }

    /// The texts that begin here belong to the command before them.
    fn take_given(&mut self) {
        for end in std::mem::take(&mut self.awaited) {
            let mut length = 0;
            let mut is_closed = false;
            for line in self.rest.split_inclusive('\n') {
                if line.trim() == end {
                    is_closed = true;
                    self.current.given.push_str(&self.rest[..length]);
                    self.skip(length + line.len());
                    break;
                }
                length += line.len();
            }
            if !is_closed {
                self.current.given.push_str(self.rest);
                self.rest = "";
            }
        }
    }

    /// One word, without its quotes.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut chars = self.rest.char_indices();
        let mut quote = None;
        let mut end = self.rest.len();
        while let Some((at, next)) = chars.next() {
            match (quote, next) {
                (Some(open), next) if next == open => quote = None,
                (Some('"'), '\\') | (None, '\\') => word.extend(chars.next().map(|(_, next)| next)),
                (None, '\'' | '"') => quote = Some(next),
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => {
                    end = at;
                    break;
                }
                (Some(_) | None, next) => word.push(next),
            }
        }
        // A sign that begins nothing is passed over, so that the line ends.
        if end == 0 {
            end = self.rest.chars().next().map_or(0, char::len_utf8);
        }
        self.skip(end);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        commands(line).into_iter().map(|simple| simple.words).collect()
    }

    #[test]
    fn a_line_is_taken_apart_into_programs() {
        assert_eq!(
            words("cd 'a b' && FOO=1 cargo test -- --nocapture 2>&1 | tail -5; echo done"),
            [
                vec!["cd", "a b"],
                vec!["FOO=1", "cargo", "test", "--", "--nocapture"],
                vec!["tail", "-5"],
                vec!["echo", "done"]
            ]
        );
        let piped: Vec<bool> =
            commands("a | b || c").into_iter().map(|simple| simple.is_piped).collect();
        assert_eq!(piped, [true, false, false]);
        assert_eq!(words("make \\\n  test # not this"), [["make", "test"]]);
        assert_eq!(words("(cd x; go test ./...)"), [vec!["cd", "x"], vec!["go", "test", "./..."]]);
    }

    #[test]
    fn a_text_in_the_line_is_no_command() {
        let line = "cat > notes.md <<'EOF'\ncargo test\nEOF\nls";
        let found = commands(line);
        assert_eq!(found[0].words, ["cat"]);
        assert_eq!(found[0].writes, ["notes.md"]);
        assert_eq!(found[0].given, "cargo test\n");
        assert_eq!(found[1].words, ["ls"]);
        assert_eq!(found.len(), 2);
        let open = commands("python - <<EOF\nprint(1)");
        assert_eq!((open.len(), open[0].given.as_str()), (1, "print(1)"));
    }

    #[test]
    fn where_output_goes_is_told_and_descriptors_are_not() {
        assert_eq!(commands("echo x >> a/b.txt")[0].writes, ["a/b.txt"]);
        for line in ["make 2>err.log", "make >&2", "make 2>/dev/null", "make 1>&2"] {
            let found = commands(line);
            assert_eq!(found[0].words, ["make"], "{line}");
            assert!(found[0].writes.is_empty(), "{line}");
        }
        assert_eq!(commands("make &> all.log")[0].writes, ["all.log"]);
    }

    #[test]
    fn hostile_lines_end() {
        for line in
            ["'", "\"", "\\", "<<", "<<<", ">", ">&", "&", "|||||", "((((", "<<''", "\u{0}é>"]
        {
            commands(line);
            commands(&line.repeat(2000));
        }
        assert!(commands(&"a;".repeat(5000)).len() <= COMMANDS_MAX);
        assert!(commands(&"a ".repeat(5000))[0].words.len() <= WORDS_MAX);
    }
}
