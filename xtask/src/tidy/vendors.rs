//! No vendor's name and no vendor's word outside of the vendor's own directories: whatever else knows
//! one would have to be changed for the next vendor.
//!
//! Comments and literals count: a rule that is explained by one vendor is that vendor's rule. Test
//! code is free, since tests are about real programs.

use super::source::Source;
use super::{Finding, Tree};

/// What has to be the same for every vendor.
const NEUTRAL: &[&str] = &[
    "crates/perennial-core/src/",
    "crates/perennial-store/src/",
    "crates/perennial-engine/src/",
    "crates/perennial-api/src/",
    "crates/perennial-sim/src/",
    "crates/perennial/src/cli/",
    "crates/perennial/src/daemon/",
];

/// Where a vendor `V` is at home: `<home>V/`.
const HOMES: &[&str] =
    &["crates/perennial-engine/src/harness/", "crates/perennial-engine/src/transcript/"];

/// Files that name all vendors, each with its reason.
const LISTS: &[(&str, &str)] = &[
    ("crates/perennial-engine/src/harness/vendors.rs", "the list of dialects"),
    ("crates/perennial-engine/src/transcript/prices.rs", "models are priced by their names"),
];

/// How help names a harness as an example. A person has to type one that exists.
const EXAMPLES: &[&str] = &["--harness claude", "such as claude"];

/// Vendors and their programs, in any case and as part of any word: of their variables and of their
/// directories, too (`CODEX_HOME`, `.gemini`).
const NAMES: &[&str] = &["claude", "anthropic", "codex", "openai", "gemini"];

/// What one vendor calls its hooks, its permission modes and what others call otherwise, each as a word
/// of its own.
const WORDS: &[&str] = &[
    "AfterAgent",
    "AfterModel",
    "AfterTool",
    "BeforeAgent",
    "BeforeModel",
    "BeforeTool",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreCompress",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
    "acceptEdits",
    "auto_edit",
    "bypassPermissions",
    "dontAsk",
    "hook_context",
    "isSidechain",
    "sidechain",
    "sidechains",
    "yolo",
];

pub fn away_from_home(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources.iter().filter(|source| is_neutral(&source.path));
    sources.flat_map(named_in).collect()
}

fn is_neutral(path: &str) -> bool {
    let is_below = |directory: &&str| path.starts_with(*directory);
    let is_home = HOMES.iter().any(|home| {
        let below = path.strip_prefix(home).and_then(|below| below.split_once('/'));
        below.is_some_and(|(directory, _)| NAMES.contains(&directory))
    });
    NEUTRAL.iter().any(is_below) && !is_home && LISTS.iter().all(|(list, _)| *list != path)
}

fn named_in(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut begin = 0;
    for line in source.text.split_inclusive('\n') {
        let at = begin;
        begin += line.len();
        if source.is_test(at) || is_declaration(line) {
            continue;
        }
        if let Some(word) = vendors_word(line) {
            findings.push(Finding {
                rule: "vendors",
                place: source.path.clone(),
                amount: 1,
                text: format!("line {}: `{word}` is a vendor's", source.line(at)),
            });
        }
    }
    findings
}

/// `mod VENDOR;`
fn is_declaration(line: &str) -> bool {
    let line = line.trim().trim_start_matches("pub ");
    let name = line.strip_prefix("mod ").and_then(|line| line.strip_suffix(';'));
    name.is_some_and(|name| NAMES.contains(&name))
}

fn vendors_word(line: &str) -> Option<&'static str> {
    let line = EXAMPLES.iter().fold(line.to_owned(), |line, example| line.replace(example, ""));
    let lower = line.to_ascii_lowercase();
    let name = NAMES.iter().find(|name| lower.contains(**name));
    let mut parts = line.split(|c: char| !c.is_ascii_alphanumeric());
    let word = || parts.find_map(|part| WORDS.iter().find(|word| **word == part));
    name.or_else(word).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::read(&Text { path: path.into(), text: text.into() });
        let sources = [source].into_iter().filter(|source| is_neutral(&source.path));
        sources.flat_map(|source| named_in(&source)).map(|finding| finding.text).collect()
    }

    #[test]
    fn vendors_are_found_where_all_are_alike() {
        let line = |number: usize, word: &str| format!("line {number}: `{word}` is a vendor's");
        let text = "//! As Claude Code has it.\nfn f() { match x { \"Stop\" => openai_api() } }\n\
            // after PreToolUse\nenum Event { SessionStarted }\npub mod claude;\n\
            #[cfg(test)]\nmod tests { fn claude() {} }\n";
        let expected = [line(1, "claude"), line(2, "openai"), line(3, "PreToolUse")];
        for path in [
            "crates/perennial-core/src/a.rs",
            "crates/perennial-engine/src/harness/a.rs",
            "crates/perennial-engine/src/host/claude/a.rs",
            "crates/perennial/src/daemon/a.rs",
            "crates/perennial/src/cli/commands/demo/real.rs",
            "crates/perennial-api/src/a.rs",
            "crates/perennial-sim/src/a.rs",
        ] {
            assert_eq!(found(path, text), expected, "{path}");
        }
    }

    #[test]
    fn vendors_are_free_at_home() {
        for path in [
            "crates/perennial-engine/src/harness/claude/a.rs",
            "crates/perennial-engine/src/transcript/codex/a.rs",
            "crates/perennial-engine/src/transcript/prices.rs",
            "crates/perennial/tests/cli/claude.rs",
            "crates/perennial-core/tests/a.rs",
        ] {
            assert_eq!(found(path, "use claude;"), [""; 0], "{path}");
        }
    }

    #[test]
    fn variables_directories_and_words_of_vendors_are_found() {
        for (text, word) in [
            ("let key = \"ANTHROPIC_API_KEY\";", "anthropic"),
            ("home.join(\".codex\")", "codex"),
            ("home.join(\".gemini\")", "gemini"),
            ("(\"CLAUDE_CONFIG_DIR\", dir)", "claude"),
            ("pub is_sidechain: bool,", "sidechain"),
            ("Some(\"bypassPermissions\")", "bypassPermissions"),
            ("run(\"--harness claude\", \"claude\")", "claude"),
        ] {
            let expected = [format!("line 1: `{word}` is a vendor's")];
            assert_eq!(found("crates/perennial/src/cli/a.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn help_may_name_a_harness_as_an_example() {
        for text in ["perennial run --harness claude --dir ~/src", "/// A preset, such as claude"] {
            assert_eq!(found("crates/perennial/src/cli/a.rs", text), [""; 0], "{text}");
        }
    }
}
