//! What a tool does that no list has, by the words of its name. Servers of tools name theirs alike: `write_file`,
//! `mcp__files__edit_file`, `replaceSymbolBody`, `run_in_terminal`.
//!
//! A name is a hint: what it says is less than what a list says, and a name that says nothing is no tool of the work.

/// What a tool does, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolDoes {
    Edits,
    RunsCommand,
    RunsTests,
    Looks,
}

const LOOKS: [&str; 11] =
    ["read", "get", "list", "find", "view", "grep", "glob", "show", "fetch", "open", "search"];
const CHANGES: [&str; 10] = [
    "edit",
    "write",
    "create",
    "replace",
    "insert",
    "append",
    "patch",
    "apply",
    "overwrite",
    "modify",
];
/// What is changed: an issue or a page is not the work tree's.
const OF_WORK_TREE: [&str; 12] = [
    "file", "files", "text", "notebook", "symbol", "line", "lines", "patch", "diff", "code",
    "block", "regex",
];
const RUNS: [&str; 3] = ["run", "exec", "execute"];
const OF_SHELL: [&str; 6] = ["command", "cmd", "shell", "terminal", "bash", "commands"];
const OF_TESTS: [&str; 2] = ["test", "tests"];

/// What a tool of this name does.
pub(super) fn does(tool: &str) -> Option<ToolDoes> {
    let words = words(tool);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let begins = |list: &[&str]| words.first().is_some_and(|word| list.contains(&word.as_str()));
    let replaces = has(&["search", "str"]) && has(&["replace"]);
    if replaces || !begins(&LOOKS) && has(&CHANGES) && has(&OF_WORK_TREE) {
        Some(ToolDoes::Edits)
    } else if begins(&RUNS) && has(&OF_TESTS) {
        Some(ToolDoes::RunsTests)
    } else if begins(&RUNS) && has(&OF_SHELL) || words.len() == 1 && has(&OF_SHELL) {
        Some(ToolDoes::RunsCommand)
    } else {
        begins(&LOOKS).then_some(ToolDoes::Looks)
    }
}

/// The words of a tool's own name in lower case, without that of its server.
fn words(tool: &str) -> Vec<String> {
    let own = tool.rsplit("__").next().unwrap_or(tool);
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for sign in own.chars() {
        let begins = !sign.is_alphanumeric() || sign.is_uppercase() && was_lower;
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        was_lower = sign.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_a_tool_does_to_the_work_tree() {
        for (names, expected) in [
            (
                &[
                    "mcp__filesystem__write_file",
                    "mcp__files__edit_file",
                    "create_text_file",
                    "replaceSymbolBody",
                    "insert_after_symbol",
                    "apply_diff",
                    "write_to_file",
                    "insert_edit_into_file",
                    "search_replace",
                    "str_replace_editor",
                    "writeFILE",
                ][..],
                Some(ToolDoes::Edits),
            ),
            (
                &[
                    "run_in_terminal",
                    "mcp__x__execute_command",
                    "bash",
                    "run_terminal_cmd",
                    "_bash",
                ],
                Some(ToolDoes::RunsCommand),
            ),
            (&["runTests", "mcp__ide__run_tests", "execute_test_suite"], Some(ToolDoes::RunsTests)),
            (
                &[
                    "read_file",
                    "mcp__files__search_files",
                    "get_file_edits",
                    "list_directory",
                    // Who looks changes nothing and runs nothing.
                    "read_patch",
                    "list_tests",
                    "open_terminal",
                    "_read_file",
                ],
                Some(ToolDoes::Looks),
            ),
            (
                &[
                    "create_issue",
                    "update_page",
                    "mcp__mail__write_message",
                    "submit",
                    "",
                    "__",
                    "replace_issue",
                    "create_test",
                    "kill_shell",
                    "run_query",
                ],
                None,
            ),
        ] {
            for name in names {
                assert_eq!(does(name), expected, "{name}");
            }
        }
    }
}
