//! `completions`: scripts that ask perennial what a word may become. Tried in a real bash; zsh and fish, if they
//! are installed, check the syntax of theirs.

use std::process::Command;

use crate::sealed::{PROGRAM, Sealed, finish};

/// What bash offers for a line, whose last word is to be completed.
fn offered(sealed: &Sealed, line: &[&str]) -> Vec<String> {
    let script = r#"
        source <("$1" completions bash)
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _perennial "$1"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut command = sealed.command([] as [&str; 0]);
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, "bash", PROGRAM, PROGRAM]).args(line);
    bash.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = bash;
    let ran = finish(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line:?}");
    ran.stdout.lines().filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_offers_verbs_agents_states_sessions_and_no_internal_verb() {
    let sealed = Sealed::new();
    assert_eq!(offered(&sealed, &["attach", ""]), [] as [&str; 0], "no daemon, no agents");
    assert!(!sealed.root.exists(), "asking starts nothing");
    sealed.start_daemon();
    for name in ["bob", "Bobby", "carol"] {
        sealed.spawn(name, "read x");
    }
    sealed.ok(["bury", "carol", "--summary", "done"]);
    for (line, words) in [
        (&["att"][..], &["attach"][..]),
        (&["attach", "bo"], &["bob", "Bobby"]),
        (&["attach", "c"], &[]),
        (&["wake", "bo"], &[]),
        (&["show", "c"], &["carol"]),
        (&["send", "bob", "--key", "Es"], &["Escape"]),
        (&["ls", "--state", "work"], &["working"]),
        (&["ls", "--state", "=", "work"], &["working"]),
        (&["logs", "bob", "--session", ""], &["1"]),
        (&["spawn", "x", "--harness", "cl"], &["claude"]),
        (&["spawn", "x", "--", "bo"], &[]),
        (&["ho"], &[]),
    ] {
        assert_eq!(offered(&sealed, line), words, "{line:?}");
    }
    sealed.ok(["stop", "bob"]);
    assert_eq!(offered(&sealed, &["attach", "bo"]), ["Bobby"]);
    assert_eq!(offered(&sealed, &["wake", "bo"]), ["bob"]);
    let sent: perennial_api::answer::Message = sealed.json(&["send", "bob", "hello"]);
    assert_eq!(offered(&sealed, &["unsend", ""]), [sent.id]);
    let post: perennial_api::post::Post = sealed.json(&["board", "post", "hello"]);
    assert_eq!(offered(&sealed, &["board", "show", ""]), [post.id]);
    // Bash breaks an address at its colon, and has its beginning already.
    sealed.ok(["role", "assume", "bob", "architect"]);
    let mail: Vec<perennial_api::mail::Mail> =
        sealed.json(&["mail", "send", "operator", "-s", "hello", "-m", "x"]);
    for (line, words) in [
        (&["mail", "send", "bo"][..], &["bob", "Bobby"][..]),
        (&["mail", "send", "op"], &["operator"]),
        (&["mail", "send", "role:arch"], &["role:architect"]),
        (&["mail", "send", "role", ":", "arch"], &["architect"]),
        (&["mail", "send", "team", ":"], &["Bobby", "bob"]),
        (&["mail", "ls", "role", ":", "arch"], &["architect"]),
        (&["mail", "read", ""], &[&mail[0].id]),
        (&["mail", "reply", "msg_"], &[&mail[0].id]),
        (&["role", "show", "arch"], &["architect"]),
        (&["role", "assume", "bo"], &["bob", "Bobby"]),
        (&["role", "assume", "bob", "arch"], &["architect"]),
        (&["spawn", "x", "--role", "arch"], &["architect"]),
        (&["legacy", "c"], &["carol"]),
    ] {
        let (mut found, mut words) = (offered(&sealed, line), words.to_vec());
        found.sort();
        words.sort_unstable();
        assert_eq!(found, words, "{line:?}");
    }
    let verbs = offered(&sealed, &[""]);
    assert!(verbs.contains(&"ls".to_owned()), "{verbs:?}");
    for hidden in ["hook", "shim", "daemon", "complete", "ps", "kill"] {
        assert!(!verbs.contains(&hidden.to_owned()), "{hidden}");
    }
}

#[test]
fn scripts_are_good_in_the_shells_that_are_installed() {
    let sealed = Sealed::new();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let path = sealed.dir.join(shell);
        std::fs::write(&path, sealed.ok(["completions", shell])).expect("a file");
        match Command::new(shell).arg(check).arg(&path).status() {
            Ok(status) => assert!(status.success(), "{shell}"),
            Err(_) => println!("{shell} is not installed: its script was not checked"),
        }
    }
    assert_eq!(sealed.run(["completions", "tcl"]).code, 2);
}
