//! `docs/messages.md`: every reason, sentence and problem that a person can read, at one sitting.
//!
//! Test code only. The test compares the file with what the code says; with `PERENNIAL_WRITE_DOCS`
//! set, as `cargo xtask docs` does, it writes the file. Problems are drawn as they appear on a
//! terminal of 80 columns, so the file is also their snapshot.

mod problems;
mod sentences;

use std::fmt::Write;
use std::path::Path;

use crate::cli::render::text::width;

const COLUMNS: usize = 80;

fn document() -> String {
    let mut text = String::from(
        "# Messages\n\n\
         Everything that Perennial tells people about agents, and every problem that it reports.\n\
         Made by `cargo xtask docs` from `crates/perennial/src/daemon/showing/sentences.rs` and\n\
         `problems.rs` and `crates/perennial/src/cli/problems.rs`: edit those. Names, ids, paths and\n\
         numbers are examples.\n",
    );
    sentences::add(&mut text);
    problems::add(&mut text);
    text
}

fn table(text: &mut String, title: &str, head: &str, rows: Vec<(String, String)>) {
    let _ = write!(text, "\n## {title}\n\n| {head} | text |\n|---|---|\n");
    for (left, right) in rows {
        let _ = writeln!(text, "| {left} | {} |", right.replace('|', "\\|"));
    }
}

fn list(text: &mut String, title: &str, lines: Vec<String>) {
    let _ = write!(text, "\n## {title}\n\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository's root")
}

#[test]
fn docs_messages_is_what_the_code_says() {
    let path = repository().join("docs").join("messages.md");
    let text = document();
    if std::env::var_os("PERENNIAL_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs/messages.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/messages.md is out of date: run `cargo xtask docs`");
}

/// A value that was forgotten shows as its placeholder; a text that was not wrapped, as a long line.
#[test]
fn no_message_holds_a_placeholder_or_is_too_wide() {
    let mut text = String::new();
    problems::add(&mut text);
    for line in text.lines() {
        assert!(width(line) <= COLUMNS, "{line}");
    }
    sentences::add(&mut text);
    for line in text.lines() {
        assert_eq!(placeholder(line), None, "{line}");
    }
}

/// The first word that stands where a value should be.
pub fn placeholder(line: &str) -> Option<&str> {
    let is_shouted = |word: &&str| {
        ["NAME", "AGENT", "TEXT", "TITLE", "ID", "PROGRAM", "ARGS", "ARGV", "DIR", "N"]
            .contains(word)
    };
    let words = || line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words()
        .find(is_shouted)
        .or_else(|| line.contains("\\n").then_some("\\n"))
        .or_else(|| (line.contains('{') && line.contains('}')).then_some("{}"))
}

/// The console log of the README is pasted from a terminal of 80 columns.
#[test]
fn the_console_log_of_the_readme_fits_80_columns_and_the_two_commands_are_there() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    let (_, rest) = readme.split_once("<!-- console-log: begin").expect("the log's beginning");
    let (log, _) = rest.split_once("<!-- console-log: end -->").expect("the log's end");
    let lines: Vec<&str> = log.lines().skip_while(|line| *line != "```console").skip(1).collect();
    assert!(lines.len() > 10 && lines.iter().all(|line| width(line) <= COLUMNS), "{log}");
    for command in ["\ncargo run --release -- up ", "\ncargo xtask test "] {
        assert!(readme.contains(command), "{command}");
    }
}

#[test]
fn placeholders_are_found() {
    for bad in ["run perennial show NAME", "there are {count} agents", "two\\nlines", "show <ID>"] {
        assert!(placeholder(bad).is_some(), "{bad}");
    }
    for good in ["NAMED agents", "SIGKILL", "PERENNIAL_HOME and PATH", "use $HOME"] {
        assert_eq!(placeholder(good), None, "{good}");
    }
}
