//! `config`: every key is shown with its source, mistakes are told with their line, and an edit is checked
//! before it replaces the file.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::sealed::{Ran, Sealed, finish};
use crate::terminal::Terminal;

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

const CHECKS: &str = "[checks]\nunit = [\"make\", \"te st\\u001b[2J\"]\nslow = { command = [\"sleep\"], limit = \"10m\" }\n";

/// Of the project in the current directory: each check by its name, and whether it may be run.
fn checks(sealed: &Sealed) -> Vec<(String, bool)> {
    let shown: Value = sealed.json(&["config", "show"]);
    let all = shown["project"]["checks"].as_array().cloned().unwrap_or_default();
    let one = |check: &Value| {
        (check["name"].as_str().unwrap_or_default().to_owned(), check["trusted"] == true)
    };
    all.iter().map(one).collect()
}

fn both(is_trusted: bool) -> Vec<(String, bool)> {
    ["slow", "unit"].map(|name| (name.to_owned(), is_trusted)).to_vec()
}

#[test]
fn a_person_on_a_terminal_trusts_a_projects_commands_as_they_are_and_no_others() {
    let sealed = Sealed::up();
    assert_eq!(checks(&sealed), []);
    let project = sealed.dir.join("perennial.toml");
    std::fs::write(&project, CHECKS).expect("written");
    assert_eq!(checks(&sealed), both(false));
    let shown = sealed.ok(["config", "show"]);
    assert!(
        shown.contains("not yet trusted") && shown.contains("perennial config trust"),
        "{shown}"
    );
    let doctor = sealed.run(["doctor"]).stdout;
    assert!(doctor.contains("not yet trusted: slow, unit"), "{doctor}");
    // Nobody is there to be asked.
    let refused = sealed.run(["config", "trust"]);
    assert!(refused.code == 2 && refused.stderr.contains("on a terminal"), "{refused:?}");
    assert_eq!(checks(&sealed), both(false));
    // A person sees the commands, made harmless, and says no; then yes.
    for (answer, is_trusted) in [("n\r", false), ("y\r", true)] {
        let mut terminal = Terminal::run(sealed.command(["config", "trust"]));
        let said = terminal.wait("Trust it? [y/N] ");
        terminal.type_keys(answer);
        let ran = terminal.end();
        assert_eq!(ran.code, if is_trusted { 0 } else { 3 }, "{ran:?}");
        assert!(said.contains("te st") && !said.contains("\u{1b}[2J"), "{said:?}");
        assert!(said.contains("SHA-256") && said.contains("at most 10m"), "{said}");
        assert_eq!(checks(&sealed), both(is_trusted));
    }
    assert!(sealed.ok(["config", "check", "perennial.toml"]).contains("(trusted)"));
    assert!(!sealed.run(["doctor"]).stdout.contains("not yet trusted"));
    assert!(sealed.ok(["config", "trust"]).contains("already trusted"));
    // Another content is not trusted, by one byte; and the operator's own checks come first.
    std::fs::write(&project, format!("{CHECKS}\n")).expect("written");
    assert_eq!(checks(&sealed), both(false));
    assert!(sealed.ok(["config", "check", "perennial.toml"]).contains("(not yet trusted)"));
    sealed.ok(["config", "trust", "--yes"]);
    assert_eq!(checks(&sealed), both(true));
    write(&sealed, "[checks]\nunit = ['true']\n");
    let shown = sealed.ok(["config", "show"]);
    assert!(shown.contains("no effect: ") && shown.contains("unit"), "{shown}");
}

/// Not even with --yes, in a session of its own.
#[test]
fn no_agent_trusts_a_projects_commands() {
    let sealed = Sealed::up();
    std::fs::write(sealed.dir.join("perennial.toml"), CHECKS).expect("written");
    let script = "{ $0 config trust --yes; echo trusted $?; } > said 2>&1";
    sealed.spawn_with(
        &["bob", "--restart", "never"],
        &["/bin/sh", "-c", script, crate::sealed::PROGRAM],
    );
    sealed.watch().ended("bob", 1);
    let said = std::fs::read_to_string(sealed.dir.join("said")).expect("what it said");
    assert!(said.contains("trusted 3") && said.contains("only a person"), "{said}");
    assert_eq!(checks(&sealed), both(false));
}

#[test]
fn a_projects_file_is_checked_as_one_and_doctor_tells_of_a_broken_one() {
    let sealed = Sealed::up();
    let project = sealed.dir.join("perennial.toml");
    std::fs::write(&project, "[role.a]\nmandate_file = 'a.txt'\n").expect("written");
    let mandate = sealed.dir.join("a.txt");
    let missing = format!("there is no file {}", mandate.display());
    let checked = sealed.run(["config", "check", "perennial.toml"]);
    assert!(checked.code == 1 && checked.stderr.contains(&missing), "{checked:?}");
    let doctor = sealed.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.stdout.replace("\n ", "").contains("a.txt"), "{doctor:?}");
    let shown = sealed.ok(["role", "show", "a"]);
    assert!(shown.contains("missing: there is no such file"), "{shown}");
    std::fs::write(&mandate, "do it").expect("written");
    assert!(sealed.ok(["config", "check", "perennial.toml"]).contains("no mistakes"));
    assert!(!sealed.run(["doctor"]).stdout.contains("perennial.toml"));
    assert!(!sealed.ok(["role", "show", "a"]).contains("missing"));

    // A key of the operator's is none of a project's.
    std::fs::write(&project, "\nnotify = ['x']\n").expect("written");
    let checked = sealed.run(["config", "check", "perennial.toml"]);
    assert!(checked.code == 1 && checked.stderr.contains("perennial.toml:2"), "{checked:?}");
    let doctor = sealed.run(["doctor"]).stdout;
    assert!(doctor.contains("perennial.toml") && doctor.contains("line 2"), "{doctor}");

    // The operator's own file, the same.
    std::fs::remove_file(&project).expect("removed");
    write(&sealed, "[role.b]\nmandate_file = 'b.txt'\n");
    let missing = format!("there is no file {}", sealed.home.config.join("b.txt").display());
    let checked = sealed.run(["config", "check"]);
    assert!(checked.code == 1 && checked.stderr.contains(&missing), "{checked:?}");
    assert!(sealed.run(["doctor"]).stdout.contains("b.txt"));
}
