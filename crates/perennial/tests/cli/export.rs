//! `export`: a home as one file, while its daemon and its sessions run.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::sealed::{PROGRAM, Sealed};

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn a_home_is_exported_while_it_runs_and_secrets_stay_behind_unless_asked_for() {
    let sealed = Sealed::up();
    let script = "echo printed-by-bob; read x";
    let bob = sealed.spawn_with(&["bob", "--env=TOKEN=hunter2"], &["/bin/sh", "-c", script]);
    let recording = sealed.holder(&bob).join("s1/rec.0");
    sealed.until("it printed", || std::fs::read(&recording).is_ok_and(|bytes| bytes.len() > 15));
    let export = |name: &str, options: &[&str]| {
        let file = sealed.dir.join(name);
        let told: Value =
            sealed.json(&[&["export", file.to_str().expect("Unicode")], options].concat());
        let bytes = std::fs::read(&file).expect("the archive");
        assert_eq!(told["bytes"], bytes.len());
        assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        bytes
    };
    let plain = export("plain.tar", &[]);
    assert!(has(&plain, "manifest.json") && has(&plain, "journal.db"));
    assert!(!has(&plain, "hunter2") && !has(&plain, "/env"), "the environment stays");
    assert!(!has(&plain, "rec.0"), "recordings were not asked for");
    assert!(has(&export("secret.tar", &["--with-secrets"]), "TOKEN=hunter2"));
    assert!(has(&export("recorded.tar", &["--recordings"]), "printed-by-bob\r\n"));

    let before = std::fs::read(sealed.dir.join("plain.tar")).expect("the archive");
    assert_eq!(sealed.refused(3, &["export", "plain.tar"]).kind, "file-exists");
    assert_eq!(std::fs::read(sealed.dir.join("plain.tar")).expect("the archive"), before);
    let names = std::fs::read_dir(&sealed.dir).expect("a directory").flatten();
    let left = names.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "unfinished files are gone");
    assert_eq!(sealed.show("bob").state, "working");

    // Without a daemon, too.
    sealed.ok(["down"]);
    let told = sealed.ok(["export", "down.tar"]);
    assert!(told.contains("without the agents' environment variables"), "{told}");
}

#[test]
fn links_that_an_agent_could_have_made_are_not_followed() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let conversations = sealed.home.conversations().join("claude");
    std::fs::create_dir_all(&conversations).expect("a directory");
    std::fs::write(conversations.join("own.jsonl"), "{}\n").expect("a conversation");
    std::fs::write(sealed.dir.join("key"), "private key").expect("a file");
    symlink(sealed.dir.join("key"), conversations.join("planted.jsonl")).expect("a link");
    let told: Value = sealed.json(&["export", "x.tar"]);
    assert_eq!(told["left_out"], serde_json::json!(["conversations/claude/planted.jsonl"]));
    let bytes = std::fs::read(sealed.dir.join("x.tar")).expect("the archive");
    assert!(has(&bytes, "own.jsonl") && !has(&bytes, "private key"));
}

#[test]
fn a_home_without_a_journal_has_nothing_to_export_and_agents_may_not() {
    let sealed = Sealed::new();
    assert_eq!(sealed.refused(4, &["export", "x.tar"]).kind, "nothing-to-export");
    sealed.start_daemon();
    let file = sealed.dir.join("stolen.tar");
    let code = sealed.dir.join("code");
    let script = format!(
        "{PROGRAM} export {file} 2>{code}.err; echo $? > {code}.new; mv {code}.new {code}; read x",
        file = file.display(),
        code = code.display(),
    );
    sealed.spawn("bob", &script);
    sealed.until("it ended", || code.exists());
    assert_eq!(std::fs::read_to_string(&code).expect("a code").trim(), "3");
    assert!(!file.exists());
}
