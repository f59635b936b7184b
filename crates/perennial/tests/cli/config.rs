//! `config`: every key is shown with its source, mistakes are told with their line, and an edit is checked
//! before it replaces the file.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::sealed::{Ran, Sealed, finish};

fn file(sealed: &Sealed) -> PathBuf {
    sealed.home.config.join("config.toml")
}

fn write(sealed: &Sealed, text: &str) {
    std::fs::create_dir_all(&sealed.home.config).expect("a directory");
    std::fs::write(file(sealed), text).expect("written");
}

/// Edits with a script that gets the file as its argument.
fn edit(sealed: &Sealed, script: &str) -> Ran {
    let editor = sealed.dir.join("editor");
    std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = sealed.command(["config", "edit"]);
    command.env("EDITOR", format!("{} --wait", editor.display()));
    finish(command)
}

#[test]
fn every_key_is_shown_with_its_source_without_a_daemon() {
    let sealed = Sealed::new();
    write(&sealed, "silent_after_s = 60\ndetach_keys = 'C-a d'\n");
    let mut command = sealed.command(["--json", "config", "show"]);
    command.env("PERENNIAL_DETACH_KEYS", "C-b");
    let shown: Value = serde_json::from_str(&finish(command).stdout).expect("JSON");
    let of = |name: &str| {
        let keys = shown["keys"].as_array().expect("keys");
        keys.iter().find(|key| key["key"] == name).expect("the key").clone()
    };
    assert_eq!(
        (&of("silent_after_s")["value"], &of("silent_after_s")["source"]),
        (&60.into(), &"file".into())
    );
    assert_eq!(
        (&of("detach_keys")["value"], &of("detach_keys")["source"]),
        (&"C-b".into(), &"environment".into())
    );
    assert_eq!(
        (&of("record_limit_mib")["value"], &of("record_limit_mib")["source"]),
        (&8.into(), &"default".into())
    );
    let text = sealed.ok(["config", "show"]);
    assert!(text.contains("silent_after_s = 60  (config.toml; default 300)\n  "), "{text}");
    assert!(text.contains("record_limit_mib = 8  (default)"), "{text}");
    let explained = sealed.ok(["config", "explain", "silent_after_s"]);
    assert!(
        explained.contains("60 (config.toml)") && explained.contains("when the daemon starts"),
        "{explained}"
    );
    let problem = sealed.refused(4, &["config", "explain", "nonsense"]);
    assert!(problem.detail.contains("silent_after_s"), "{problem:?}");
    let problem = sealed.refused(4, &["config", "explain", "detach_kes"]);
    assert_eq!(problem.detail, "did you mean detach_keys?");
    let asked = sealed.run(["config", "explain", "notify"]).stdout;
    assert!(asked.contains("first-run dialog"), "{asked}");
}

#[test]
fn a_file_that_is_only_checked_is_not_said_to_be_ignored() {
    let sealed = Sealed::new();
    std::fs::write(sealed.dir.join("other.toml"), "notifi = []\n").expect("written");
    let problem = sealed.refused(1, &["config", "check", "other.toml"]);
    assert_eq!(problem.title, "other.toml has a mistake");
    assert!(!problem.next.contains("config edit"), "{problem:?}");
    let problem = sealed.refused(1, &["config", "check", "no-such.toml"]);
    assert_eq!(problem.title, "can't read no-such.toml");
}

#[test]
fn without_a_terminal_or_a_chosen_editor_nothing_is_edited() {
    let sealed = Sealed::new();
    assert_eq!(sealed.refused(2, &["config", "edit"]).kind, "no-terminal");
    let ran = sealed.run(["config", "edit"]);
    assert!(ran.code == 2 && ran.stderr.contains("EDITOR"), "{ran:?}");
}

#[test]
fn a_mistake_is_told_with_file_and_line_and_up_tells_of_it_too() {
    let sealed = Sealed::new();
    assert!(sealed.ok(["config", "check"]).contains("every key has its default"));
    write(&sealed, "silent_after_s = 60\n");
    assert!(sealed.ok(["config", "check"]).contains("no mistakes"));
    write(&sealed, "silent_after_s = 60\nnotifi = []\n");
    let problem = sealed.refused(1, &["config", "check"]);
    let place = format!("{}:2: ", file(&sealed).display());
    assert!(problem.detail.contains(&place) && problem.detail.contains("notifi"), "{problem:?}");
    let up = sealed.run(["up"]);
    assert_eq!(up.code, 0, "{up:?}");
    assert!(up.stdout.contains("line 2: ") && up.stdout.contains("notifi"), "{up:?}");
    write(&sealed, "\ndetach_keys = 'foo'\n");
    let again = sealed.ok(["up"]);
    assert!(again.contains("line 2: "), "what was edited since is told: {again}");
}

/// The defaults hold, and one is told: nothing else depends on the file.
#[test]
fn a_mistake_keeps_nobody_from_a_terminal_or_an_explanation() {
    let sealed = Sealed::up();
    write(&sealed, "notify = 'x'\n");
    let ran = sealed.run(["run", "--", "echo", "hi"]);
    assert!(ran.code == 0 && ran.stdout == "hi\n", "{ran:?}");
    assert!(ran.stderr.contains("has a mistake and is ignored: line 1"), "{ran:?}");
    assert!(sealed.ok(["config", "explain", "notify"]).contains("example"));
    let shown = sealed.run(["config", "show"]);
    assert!(shown.code == 0 && shown.stdout.contains("notify = []  (default)"), "{shown:?}");
}

#[test]
fn an_edit_is_checked_before_it_replaces_the_file_and_says_what_needs_a_restart() {
    let sealed = Sealed::up();
    let unchanged = edit(&sealed, "[ \"$1\" = --wait ] && grep -q notify \"$2\"");
    assert!(unchanged.code == 0 && unchanged.stdout.contains("unchanged"), "{unchanged:?}");
    assert!(!file(&sealed).exists());

    let bad = edit(&sealed, "echo 'silent_after_s = -1' > \"$2\"");
    assert!(bad.code == 1 && bad.stderr.contains("the old one still applies"), "{bad:?}");
    assert!(!file(&sealed).exists());

    // The next edit goes on with the copy.
    let good = edit(&sealed, "sed -i 's/-1/77/' \"$2\"");
    assert!(good.code == 0 && good.stdout.contains("saved"), "{good:?}");
    assert!(good.stdout.contains("silent_after_s: the daemon still uses "), "{good:?}");
    assert_eq!(std::fs::read_to_string(file(&sealed)).expect("the file"), "silent_after_s = 77\n");
    let shown = sealed.json::<Value>(&["config", "show"]);
    let key =
        shown["keys"].as_array().expect("keys").iter().find(|key| key["needs_restart"] == true);
    assert_eq!(key.expect("one key")["key"], "silent_after_s");
}

#[test]
fn an_agent_neither_edits_nor_reads_what_the_daemon_runs_with() {
    let sealed = Sealed::up();
    let script = "{ $0 config edit; echo edited $?; $0 --json config show; } > said 2>&1";
    sealed.spawn_with(
        &["bob", "--restart", "never"],
        &["/bin/sh", "-c", script, crate::sealed::PROGRAM],
    );
    sealed.watch().ended("bob", 1);
    let said = std::fs::read_to_string(sealed.dir.join("said")).expect("what it said");
    assert!(said.contains("edited 3") && said.contains("only a person"), "{said}");
    assert!(said.contains("\"daemon\":null"), "{said}");
}
