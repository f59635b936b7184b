//! `import`: what was exported is another home's, as a copy; hostile archives change nothing.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::processes;
use crate::sealed::Sealed;

#[track_caller]
fn export(original: &Sealed, options: &[&str]) -> String {
    let file = original.dir.join("fleet.tar");
    let _earlier = std::fs::remove_file(&file);
    let file = file.to_str().expect("Unicode").to_owned();
    original.ok([&["export", &file], options].concat());
    file
}

#[test]
fn a_home_comes_back_whole_and_as_a_copy() {
    let original = Sealed::up();
    let worker = original.spawn("worker", "read x");
    let sleeper = original.spawn("sleeper", "echo said; echo $TOKEN; read x");
    original.ok(["stop", "sleeper"]);
    original.spawn("gone", "read x");
    original.ok(["bury", "gone", "--summary", "parser done"]);
    original.watch().ended("sleeper", 1);
    let conversation = original.home.conversations().join("claude/c1.jsonl");
    std::fs::create_dir_all(conversation.parent().expect("a parent")).expect("a directory");
    std::fs::write(&conversation, "{\"said\":1}\n").expect("a conversation");
    std::fs::write(original.home.config.join("config.toml"), "silent_after_s = 7\n")
        .expect("config");
    let file = export(&original, &["--recordings"]);
    let shim = original.shim(&worker);

    let copy = Sealed::new();
    let told = copy.ok(["import", &file]);
    assert!(told.contains("perennial up"), "{told}");
    assert_eq!(
        std::fs::read(copy.home.conversations().join("claude/c1.jsonl")).expect("it"),
        b"{\"said\":1}\n"
    );
    assert!(!copy.home.data.join("node.json").exists(), "it is another node");
    copy.start_daemon();
    copy.until("it is held", || copy.show("worker").reason == "home-copied");
    assert_eq!(copy.show("worker").held_for.as_deref(), Some("person"));
    assert_eq!(
        (copy.show("sleeper").id, copy.show("sleeper").state),
        (sleeper.id, "sleeping".to_owned())
    );
    assert_eq!(copy.show("gone").summary.as_deref(), Some("parser done"));
    assert!(copy.ok(["logs", "sleeper"]).contains("said"));
    let config = std::fs::read_to_string(copy.home.config.join("config.toml"));
    assert_eq!(config.expect("config"), "silent_after_s = 7\n");
    assert!(processes::is_alive(shim), "the original goes on");
    // The variables were left behind: those of whoever imported it take their place.
    copy.ok(["wake", "sleeper"]);
    copy.watch().running("sleeper", 2);
    let env =
        std::fs::read(copy.holder(&copy.show("sleeper")).join("env")).expect("an environment");
    let own = format!("HOME={}", copy.dir.display());
    assert!(String::from_utf8_lossy(&env).contains(&own));
    assert_eq!(original.show("worker").session, worker.session);
}

#[test]
fn secrets_come_along_if_they_were_exported() {
    let original = Sealed::up();
    let bob = original.spawn_with(&["bob", "--env=TOKEN=hunter2"], &["/bin/sh", "-c", "read x"]);
    let file = export(&original, &["--with-secrets"]);
    let copy = Sealed::new();
    let told: Value = copy.json(&["import", &file]);
    assert_eq!(told["environments"], "as they were");
    let env = |sealed: &Sealed| std::fs::read(sealed.holder(&bob).join("env")).expect("env");
    assert_eq!(env(&copy), env(&original));
}

#[test]
fn a_home_that_has_something_is_left_as_it_is() {
    let original = Sealed::up();
    original.spawn("bob", "read x");
    let file = export(&original, &[]);
    assert_eq!(original.refused(3, &["import", &file]).kind, "home-not-empty");
    assert_eq!(original.show("bob").state, "working");
    original.ok(["down"]);
    assert_eq!(original.refused(3, &["import", &file]).kind, "home-not-empty");
    // What is left of a journal that is gone counts, too.
    std::fs::remove_file(original.home.journal()).expect("removed");
    let problem = original.refused(3, &["import", &file]);
    assert!(problem.detail.contains("journal.head"), "{}", problem.detail);
    let other = Sealed::new();
    assert_eq!(other.refused(1, &["import", "absent.tar"]).kind, "unreadable");
    std::fs::create_dir_all(&other.home.config).expect("a directory");
    std::fs::write(other.home.config.join("config.toml"), "").expect("a file");
    assert_eq!(other.refused(3, &["import", &file]).kind, "home-not-empty");
    assert!(!other.home.journal().exists());
}

/// An entry of a hostile archive: its name, its contents, and the kind that its header has.
type Entry<'a> = (&'a str, &'a [u8], u8);

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(archive: &mut Vec<u8>, (name, contents, kind): Entry<'_>) {
    let mut block = [0_u8; 512];
    let size = format!("{:011o}\0", contents.len());
    for (at, text) in [
        (0, name),
        (100, "0000600\0"),
        (108, "0000000\0"),
        (116, "0000000\0"),
        (124, &size),
        (136, "00000000000\0"),
        (148, "        "),
        (257, "ustar\x0000"),
    ] {
        block[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive.extend(block);
    archive.extend(contents);
    archive.resize(archive.len().next_multiple_of(512), 0);
}

/// An archive that announces its entries as they are, changed by `change`.
fn archive(records: u64, entries: &[Entry<'_>], change: impl Fn(&mut Value)) -> Vec<u8> {
    let listed = entries.iter().map(|(name, contents, _)| {
        json!({ "name": name, "size": contents.len(), "sha256": hex(contents) })
    });
    let mut manifest = json!({
        "format": 1, "version": "0.1.0", "records": records, "unreadable": 0, "with_secrets": false,
        "agents": [], "entries": listed.collect::<Vec<_>>(),
    });
    change(&mut manifest);
    let mut archive = Vec::new();
    put(&mut archive, ("manifest.json", manifest.to_string().as_bytes(), b'0'));
    entries.iter().for_each(|entry| put(&mut archive, *entry));
    archive.extend([0; 1024]);
    archive
}

/// The journal of a small home, after `sql` was run on it.
fn journal(path: &Path, sql: &str) -> (u64, Vec<u8>) {
    let connection = rusqlite::Connection::open(path).expect("a journal");
    connection.execute_batch(sql).expect("changed");
    let query = "SELECT max(seq) FROM event";
    let records: i64 = connection.query_row(query, [], |row| row.get(0)).expect("records");
    let copy = path.with_extension("copy");
    let _earlier = std::fs::remove_file(&copy);
    connection.execute("VACUUM INTO ?1", [copy.to_str().expect("Unicode")]).expect("copied");
    (records.cast_unsigned(), std::fs::read(copy).expect("a journal"))
}

#[test]
fn hostile_archives_change_nothing() {
    let original = Sealed::up();
    let agent = original.spawn("bob", "read x").id;
    original.ok(["stop", "bob"]);
    original.ok(["down"]);
    let (records, sound) = journal(&original.home.journal(), "");
    let own = ("journal.db", &sound[..], b'0');
    let same = |_: &mut Value| {};
    let (env, absolute) = (format!("holders/{agent}/env"), original.dir.join("planted"));
    let absolute = absolute.to_str().expect("Unicode").to_owned();
    let good = archive(records, &[own], same);
    let with = |entry: Entry<'_>| archive(records, &[own, entry], same);
    let mut flipped = good.clone();
    let middle = flipped.len() - 4096;
    flipped[middle] ^= 1;
    let trigger = "CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM quarantine; END";
    let (_, triggered) = journal(&original.home.journal(), trigger);
    let altered = "DROP TRIGGER evil; UPDATE event SET payload = replace(payload, 'bob', 'eve')";
    let (_, broken) = journal(&original.home.journal(), altered);
    let hostile: Vec<(&str, Vec<u8>, &str)> = vec![
        ("cut off", good[..good.len() - 512].to_vec(), "cut off, or longer"),
        ("longer", [&good[..], &[0; 512]].concat(), "cut off, or longer"),
        ("no archive", b"#!/bin/sh\n".repeat(100), "does not begin with a manifest"),
        ("empty", Vec::new(), "too short"),
        ("a flipped bit", flipped, "not as its manifest says"),
        ("upwards", with(("conversations/../../../evil", b"x", b'0')), "no home has"),
        ("absolute", with((&absolute, b"x", b'0')), "no home has"),
        ("unknown", with(("node.json", b"{}", b'0')), "no home has"),
        ("a link", with(("config.toml", b"", b'2')), "not as its manifest says"),
        ("a device", with(("config.toml", b"", b'3')), "not as its manifest says"),
        ("twice", archive(records, &[own, own], same), "twice"),
        ("a hidden secret", with((&env, b"A=b\0", b'0')), "says that it has no secrets"),
        ("no journal", archive(records, &[("config.toml", b"", b'0')], same), "no journal"),
        (
            "huge",
            archive(records, &[own], |it| it["entries"][0]["size"] = json!(1_u64 << 40)),
            "no home has",
        ),
        (
            "larger",
            archive(records, &[own], |it| it["entries"][0]["size"] = json!(1 << 30)),
            "cut off",
        ),
        ("newer", archive(records, &[own], |it| it["format"] = json!(2)), "a newer program"),
        ("an id", archive(records, &[own], |it| it["agents"] = json!(["../x"])), "no home has"),
        ("fewer records", archive(records + 1, &[own], same), "more or fewer records"),
        ("a trigger", archive(records, &[("journal.db", &triggered, b'0')], same), "trigger evil"),
        ("a broken chain", archive(records, &[("journal.db", &broken, b'0')], same), "journal"),
        ("no database", archive(1, &[("journal.db", b"hello", b'0')], same), "journal"),
    ];
    let target = Sealed::new();
    let file = target.dir.join("hostile.tar");
    let import = ["import", file.to_str().expect("Unicode")];
    for (what, bytes, why) in hostile {
        std::fs::write(&file, bytes).expect("written");
        let problem = target.refused(3, &import);
        assert_eq!(problem.kind, "bad-archive", "{what}");
        assert!(problem.detail.contains(why), "{what}: {}", problem.detail);
        for base in [&target.home.data, &target.home.config] {
            let names = std::fs::read_dir(base).into_iter().flatten().flatten();
            let left: Vec<_> = names.map(|entry| entry.file_name()).collect();
            assert!(left.iter().all(|name| name == "daemon.lock"), "{what}: {left:?}");
        }
        assert!(!Path::new(&absolute).exists(), "{what}");
    }
    std::fs::write(&file, good).expect("written");
    target.ok(import);
    target.start_daemon();
    assert_eq!(target.show("bob").id, agent);
}
