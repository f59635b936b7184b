//! What the tests with real agent CLIs share: where a client is, and a run of it in a home of its
//! own that prints JSON lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use understudy::{Answer, Kind, Understudy};

/// The program that a variable names, or the one that `cargo xtask test` installed.
pub fn found(variable: &str, installed: &str) -> PathBuf {
    let installed = || {
        let tools = ".cache/perennial-test-tools/node_modules";
        std::env::home_dir().unwrap_or_default().join(tools).join(installed)
    };
    let found = std::env::var_os(variable).map_or_else(installed, PathBuf::from);
    assert!(found.exists(), "nothing at {}: cargo xtask test installs it", found.display());
    found
}

/// Runs a client in `root/work` with the home `root/home`, and returns the JSON lines it printed.
pub fn lines(
    root: &Path,
    program: &[&Path],
    arguments: &[&str],
    own: &[(&str, &str)],
) -> Vec<Value> {
    for name in ["home", "work", "tmp"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    // A client that retries for good must not hold the tests.
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120"])
        .args(program)
        .args(arguments)
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("LANG", "C.UTF-8")
        .envs(own.iter().copied())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    let lines = printed.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

/// What the requests were for, in order.
pub fn kinds(server: &Understudy) -> Vec<Kind> {
    server.requests().iter().map(|record| record.request.kind).collect()
}

/// The turns that the main loop was given, in order.
pub fn turns(server: &Understudy) -> Vec<usize> {
    let seen = server.requests();
    let main = seen.iter().filter(|record| record.request.kind == Kind::Main);
    main.map(|record| match record.answer {
        Answer::Prompt { turn, .. } | Answer::Script { turn, .. } => turn,
        Answer::Itself | Answer::Fixed => panic!("{record:?}"),
    })
    .collect()
}

/// The texts of the tool results in the newest request.
pub fn results(server: &Understudy) -> Vec<String> {
    let seen = server.requests();
    let parts = seen.last().unwrap().request.messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        understudy::Part::Result { text, .. } => Some(text.clone()),
        understudy::Part::Text(_)
        | understudy::Part::Thinking(_)
        | understudy::Part::Filler(_)
        | understudy::Part::Call { .. }
        | understudy::Part::Unread(_) => None,
    });
    results.collect()
}
