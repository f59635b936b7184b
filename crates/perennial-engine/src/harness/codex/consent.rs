//! Whether our hooks are named to the program. It keeps a digest of each hook that its owner has trusted in
//! its own dialog; another hook brings that dialog up at every start, and does not run before.
//!
//! Reads that record, and never writes it (CX1). The owner brings the dialog up once, by an argument that
//! means the same to the program: `--enable hooks`.

use perennial_store::text::digest;
use serde_json::{Map, Value, json};

/// Where hooks that are given by argument lie, in the program's own names of hooks.
const BY_ARGUMENT: &str = "/<session-flags>/config.toml";
/// The owner's own argument that turns the question off.
const UNASKED: &str = "--dangerously-bypass-hook-trust";
/// The owner's own words that want the question.
const ASKED: [&str; 2] = ["--enable", "hooks"];

/// One hook, as it is given by argument.
#[derive(Debug)]
pub struct OwnHook<'a> {
    pub event: &'a str,
    pub matcher: Option<&'a str>,
    pub command: &'a str,
    pub timeout_s: u32,
    /// The others are named without it, too.
    pub is_optional: bool,
}

/// The hooks that are named to the program: all of them if the owner wants to be asked, those that the owner has trusted
/// if only optional ones are missing among them, and otherwise none. `config` is the owner's configuration.
pub fn given<'a, 'h>(
    hooks: &'h [OwnHook<'a>],
    config: &toml::Table,
    extra: &[String],
) -> Vec<&'h OwnHook<'a>> {
    let is_asked = extra.windows(2).any(|pair| pair == ASKED);
    if is_asked || extra.iter().any(|argument| argument == UNASKED) {
        return hooks.iter().collect();
    }
    let record = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let is_trusted = |hook: &OwnHook<'_>| {
        let trusted =
            record.and_then(|record| record.get(name(hook))?.get("trusted_hash")?.as_str());
        trusted == Some(hash(hook).as_str())
    };
    match hooks.iter().all(|hook| hook.is_optional || is_trusted(hook)) {
        true => hooks.iter().filter(|hook| is_trusted(hook)).collect(),
        false => Vec::new(),
    }
}

/// How long the program lets a hook of this event run: of these it takes no longer time, and knows the
/// hook by the shorter one.
pub fn timeout_s(event: &str, wanted: u32) -> u32 {
    const LONGEST_AT_AN_END: u32 = 3;
    match event {
        "Interrupt" | "SessionEnd" => wanted.min(LONGEST_AT_AN_END),
        _ => wanted,
    }
}

/// What the program calls a hook that is the only one of its event.
pub fn name(hook: &OwnHook<'_>) -> String {
    format!("{BY_ARGUMENT}:{}:0:0", snake(hook.event))
}

/// What the program knows a hook by: the digest of a sorted form of it.
pub fn hash(hook: &OwnHook<'_>) -> String {
    let OwnHook { event, matcher, command, timeout_s, is_optional: _ } = hook;
    let handler =
        json!({ "async": false, "command": command, "timeout": timeout_s, "type": "command" });
    // Sorted by name, as this map is.
    let mut form = Map::new();
    form.insert("event_name".to_owned(), json!(snake(event)));
    form.insert("hooks".to_owned(), json!([handler]));
    if let Some(matcher) = matcher {
        form.insert("matcher".to_owned(), json!(matcher));
    }
    format!("sha256:{}", digest(&Value::Object(form).to_string()))
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut snake = String::with_capacity(event.len() + 4);
    for character in event.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: OwnHook<'_> = OwnHook {
        event: "Stop",
        matcher: None,
        command: "/bin/cat",
        timeout_s: 3,
        is_optional: false,
    };
    const QUESTION: OwnHook<'_> = OwnHook {
        event: "PreToolUse",
        matcher: Some("request_user_input"),
        command: "/a b/x hook PreToolUse",
        timeout_s: 5,
        is_optional: false,
    };

    /// As Codex 0.166.0 lists these hooks.
    #[test]
    fn a_hook_has_the_name_and_the_digest_that_the_program_gives_it() {
        assert_eq!(name(&STOP), "/<session-flags>/config.toml:stop:0:0");
        assert_eq!(
            hash(&STOP),
            "sha256:5e140a32269134794d44e196ebf4be6652ee411f15a08eaee9c0c899c13c61b4"
        );
        assert_eq!(name(&QUESTION), "/<session-flags>/config.toml:pre_tool_use:0:0");
        assert_eq!(
            hash(&QUESTION),
            "sha256:d93adb66b4845034a764212978a5e9a688b613a5aa25bea3d3d2f86718273233"
        );
    }

    #[test]
    fn only_the_owners_word_for_each_hook_is_consent() {
        let trusted = |hooks: &[&OwnHook<'_>]| {
            let entries = hooks.iter().map(|hook| {
                format!("[hooks.state.\"{}\"]\ntrusted_hash = \"{}\"\n", name(hook), hash(hook))
            });
            entries.collect::<String>().parse::<toml::Table>().expect("a table")
        };
        let given = |hooks: &[OwnHook<'_>], config: &toml::Table, extra: &[String]| {
            given(hooks, config, extra).len()
        };
        let both = [STOP, QUESTION];
        assert_eq!(given(&both, &trusted(&[&STOP, &QUESTION]), &[]), 2);
        assert_eq!(given(&both, &trusted(&[&STOP]), &[]), 0, "one is not trusted");
        let changed = OwnHook { command: "/bin/other", ..QUESTION };
        assert_eq!(given(&both, &trusted(&[&STOP, &changed]), &[]), 0, "another command");
        assert_eq!(given(&both, &toml::Table::new(), &[]), 0);
        let newer = [STOP, OwnHook { is_optional: true, ..QUESTION }];
        assert_eq!(given(&newer, &trusted(&[&STOP]), &[]), 1, "an optional one is missing");
        assert_eq!(given(&newer, &trusted(&[&STOP, &QUESTION]), &[]), 2);
        for words in [&["--dangerously-bypass-hook-trust"][..], &["--enable", "hooks"]] {
            let extra: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(given(&both, &toml::Table::new(), &extra), 2, "{words:?}");
        }
        assert_eq!(given(&both, &toml::Table::new(), &["--enable".to_owned(), "x".to_owned()]), 0);
    }
}
