//! What a new agent inherits from its caller's environment.
//!
//! Everything but the names below and those that agent CLIs set for their children. They describe the
//! caller's terminal, multiplexer or session, and would be wrong in a new session. Variables given with
//! `--env` are always passed.

use std::collections::BTreeMap;
use std::ffi::OsString;

use perennial_engine::harness::vendors::LEFT_BY_AGENT_CLIS;

/// Names, or beginnings of names that end in `*`, each group with its reason.
const SCRUBBED: &[(&str, &str)] = &[
    ("PERENNIAL_*", "identifies the caller; the session gets its own"),
    ("TMUX", "the caller's multiplexer; a session is not in that pane"),
    ("TMUX_PANE", "as TMUX"),
    ("STY", "as TMUX, for screen"),
    ("ZELLIJ*", "as TMUX, for zellij"),
    ("WINDOWID", "the caller's window"),
    ("KITTY_*", "as WINDOWID, for kitty: its remote control would type into the caller's windows"),
    ("WEZTERM_*", "as KITTY_*, for wezterm"),
    ("LINES", "the caller's size; the session has its own terminal"),
    ("COLUMNS", "as LINES"),
    ("SHLVL", "how deep the caller's shells are nested"),
    ("_", "the caller's last command"),
    ("OLDPWD", "where the caller was before"),
    ("PWD", "where the caller is; the session has its own directory"),
    ("SSH_TTY", "the caller's terminal"),
    ("GPG_TTY", "the caller's terminal: a passphrase would be asked there"),
    ("INVOCATION_ID", "the caller's systemd unit"),
    ("JOURNAL_STREAM", "as INVOCATION_ID"),
    ("NOTIFY_SOCKET", "as INVOCATION_ID: a session must not report in the caller's name"),
    ("LISTEN_*", "as INVOCATION_ID: descriptors that a session does not have"),
];

/// An environment to give to a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    pub variables: BTreeMap<String, String>,
    /// Names of variables that are not Unicode and can't be put into JSON; left out.
    pub unspeakable: Vec<String>,
}

pub fn inherited(variables: impl Iterator<Item = (OsString, OsString)>) -> Inherited {
    let mut inherited = Inherited::default();
    for (name, value) in variables {
        // A caller without a terminal says "dumb"; a session has a terminal.
        let is_dumb = name == "TERM" && value == "dumb";
        if is_dumb || name.to_str().is_some_and(is_scrubbed) {
            continue;
        }
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                inherited.variables.insert(name, value);
            }
            (Ok(name), Err(_)) => inherited.unspeakable.push(name),
            (Err(name), _) => inherited.unspeakable.push(name.to_string_lossy().into_owned()),
        }
    }
    inherited
}

fn is_scrubbed(name: &str) -> bool {
    SCRUBBED.iter().chain(LEFT_BY_AGENT_CLIS).any(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn the_callers_place_stays_behind_and_the_rest_goes_along() {
        let bad = OsString::from_vec(vec![b'x', 0xff]);
        let given = [
            ("PATH", "/bin".into()),
            ("PERENNIAL_HOME", "/h".into()),
            ("PERENNIAL_AGENT", "agt_1".into()),
            ("TMUX", "/tmp/t".into()),
            ("TMUX_TMPDIR", "/tmp".into()),
            ("KITTY_LISTEN_ON", "unix:/tmp/kitty".into()),
            ("WEZTERM_UNIX_SOCKET", "/run/wezterm".into()),
            ("CLAUDECODE", "1".into()),
            ("TERM", "dumb".into()),
            ("ANTHROPIC_API_KEY", "k".into()),
            ("SSH_AUTH_SOCK", "/s".into()),
            ("BYTES", bad),
        ];
        let found = inherited(given.into_iter().map(|(name, value)| (name.into(), value)));
        let names: Vec<&str> = found.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["ANTHROPIC_API_KEY", "PATH", "SSH_AUTH_SOCK", "TMUX_TMPDIR"]);
        assert_eq!(found.unspeakable, ["BYTES"]);
    }
}
