//! Attacks on the files of a home, under a running daemon and between two: nobody becomes invisible, nobody is
//! started twice, nothing is acknowledged and lost without a word, and `doctor` names what happened.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use perennial_api::Agent;
use perennial_api::mail::{Mail, MailList};

use crate::processes;
use crate::sealed::{Sealed, pid};

fn data(sealed: &Sealed, name: &str) -> PathBuf {
    sealed.home.data.join(name)
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("aside")
}

/// A home with an agent that is to run for ever.
fn with_ada() -> (Sealed, Agent) {
    let sealed = Sealed::up();
    let ada = sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    (sealed, ada)
}

/// Whatever happened: she runs as before, once, and is listed.
#[track_caller]
fn assert_unharmed(sealed: &Sealed, agent: &Agent) {
    let listed = sealed.ls();
    let found = listed.iter().find(|one| one.id == agent.id).expect("listed");
    assert_eq!(pid(found), pid(agent), "{found:?}");
    assert_eq!(sealed.marked(agent).len(), 1);
    sealed.assert_nobody_doubled();
}

/// Within moments, and without anything having been asked for.
#[track_caller]
fn assert_turns_read_only(sealed: &Sealed, word: &str) {
    sealed.until("it is noticed", || sealed.health().store.read_only.is_some());
    let doctor = sealed.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains(word), "{doctor:?}");
    let refused = sealed.refused(1, &["spawn", "eve", "--", "/bin/true"]);
    assert_eq!(refused.kind, "not-recorded", "{refused:?}");
    assert!(refused.detail.contains(word), "{refused:?}");
}

#[test]
fn a_removed_socket_is_made_again() {
    let (sealed, ada) = with_ada();
    let daemon = sealed.daemon();
    let socket = sealed.home.socket();
    for _ in 0..2 {
        fs::remove_file(&socket).expect("a socket");
        sealed.until("it is made again", || socket.exists());
        sealed.until("it answers", || sealed.run(["ls"]).code == 0);
    }
    assert_unharmed(&sealed, &ada);
    assert_eq!(sealed.daemon(), daemon);
    // One that somebody else has put there is nobody's.
    fs::remove_file(&socket).expect("a socket");
    drop(std::os::unix::net::UnixListener::bind(&socket));
    sealed.until("it answers", || sealed.run(["ls"]).code == 0);
}

#[test]
fn a_journal_or_log_that_is_moved_away_makes_the_daemon_read_only_until_it_is_back() {
    let (sealed, ada) = with_ada();
    for name in ["journal.db", "journal.db-wal"] {
        let path = data(&sealed, name);
        fs::rename(&path, aside(&path)).expect("moved");
        assert_turns_read_only(&sealed, "was moved or removed");
        assert_unharmed(&sealed, &ada);
        fs::rename(aside(&path), &path).expect("moved back");
        sealed.until("it is writable", || sealed.health().store.read_only.is_none());
        sealed.ok(["rename", "ada", "bea"]);
        sealed.ok(["rename", "bea", "ada"]);
    }
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.health().store.lost, None);
    assert_unharmed(&sealed, &ada);
}

#[test]
fn a_journal_that_is_replaced_under_the_daemon_is_not_written_and_its_sessions_are_found() {
    let (sealed, ada) = with_ada();
    let path = data(&sealed, "journal.db");
    let other = Sealed::up();
    other.spawn("eve", "read x");
    other.ok(["down"]);
    fs::copy(data(&other, "journal.db"), aside(&path)).expect("another's journal");
    fs::rename(aside(&path), &path).expect("in its place");
    let inode = fs::metadata(&path).expect("a file").ino();
    assert_turns_read_only(&sealed, "was replaced");
    assert_unharmed(&sealed, &ada);
    sealed.kill_daemon();
    for log in ["journal.db-wal", "journal.db-shm"] {
        fs::remove_file(data(&sealed, log)).expect("a file");
    }
    sealed.start_daemon();
    assert_eq!(fs::metadata(&path).expect("a file").ino(), inode);
    assert!(sealed.run(["doctor"]).stdout.contains("the journal"));
    assert!(sealed.health().store.lost.is_some());
    assert_unharmed(&sealed, &ada);
}

#[test]
fn a_log_that_is_removed_under_the_daemon_is_saved_by_an_orderly_end() {
    let (sealed, ada) = with_ada();
    fs::remove_file(data(&sealed, "journal.db-wal")).expect("a file");
    assert_turns_read_only(&sealed, "was moved or removed");
    sealed.ok(["down"]);
    sealed.start_daemon();
    assert_eq!(sealed.health().store.lost, None);
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_unharmed(&sealed, &ada);
}

#[test]
fn a_log_that_is_cut_off_under_the_daemon_is_noticed_by_the_next_change() {
    let (sealed, ada) = with_ada();
    let log = fs::File::options().write(true).open(data(&sealed, "journal.db-wal"));
    log.and_then(|log| log.set_len(100)).expect("cut off");
    let refused = sealed.refused(1, &["rename", "ada", "bea"]);
    assert!(refused.detail.contains("was cut off"), "{refused:?}");
    assert!(sealed.run(["doctor"]).stdout.contains("was cut off"));
    sealed.kill_daemon();
    sealed.start_daemon();
    assert!(sealed.run(["doctor"]).stdout.contains("missing from the journal"));
    assert_unharmed(&sealed, &ada);
}

#[test]
fn a_removed_lock_is_taken_again_and_lets_no_second_daemon_in() {
    let (sealed, ada) = with_ada();
    let daemon = sealed.daemon();
    fs::remove_file(sealed.home.lock()).expect("a lock");
    sealed.until("it is taken again", || sealed.home.lock().exists());
    sealed.until("it is told", || sealed.log().contains("taken again"));
    let second = sealed.run(["daemon"]);
    assert!(second.code == 3 && second.stderr.contains("another daemon"), "{second:?}");
    assert_eq!(sealed.daemon(), daemon);
    assert_unharmed(&sealed, &ada);
}

#[test]
fn a_log_that_is_lost_with_the_daemon_is_told_and_its_sessions_are_listed() {
    let (sealed, ada) = with_ada();
    sealed.kill_daemon();
    let log = fs::File::options().write(true).open(data(&sealed, "journal.db-wal"));
    let log = log.expect("a log");
    // In the middle of a page.
    let middle = log.metadata().expect("a log").len() / 2 + 100;
    log.set_len(middle).expect("cut off");
    sealed.start_daemon();
    assert!(sealed.run(["doctor"]).stdout.contains("missing from the journal"));
    assert_unharmed(&sealed, &ada);
    sealed.kill_daemon();
    for name in ["journal.db-wal", "journal.db-shm"] {
        fs::remove_file(data(&sealed, name)).expect("a file");
    }
    sealed.start_daemon();
    assert!(sealed.run(["doctor"]).stdout.contains("missing from the journal"));
    assert_unharmed(&sealed, &ada);
}

#[test]
fn rows_that_somebody_deletes_or_doubles_are_named() {
    let (sealed, ada) = with_ada();
    sealed.ok(["down"]);
    let sql = |sql: &str| {
        let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
        assert!(journal.execute(sql, []).expect("sql") > 0, "{sql}");
    };
    sql("DELETE FROM event WHERE seq > (SELECT max(seq) - 2 FROM event)");
    sealed.start_daemon();
    assert!(sealed.run(["doctor"]).stdout.contains("missing from the journal"));
    assert_unharmed(&sealed, &ada);
    sealed.ok(["down"]);
    sql("INSERT INTO event SELECT (SELECT max(seq) + 1 FROM event), stream,
         (SELECT max(version) + 1 FROM event), at, kind, form, payload, hash
         FROM event WHERE kind = 'hatched'");
    sealed.start_daemon();
    assert!(sealed.run(["doctor"]).stdout.contains("can't be read"));
    assert_unharmed(&sealed, &ada);
}

/// The table that `mail ls` and `sent` read is derived: what is altered in it is told, and made again.
#[test]
fn messages_that_somebody_alters_or_deletes_are_named_and_made_again() {
    let (sealed, ada) = with_ada();
    for number in 0..4 {
        let (subject, text) = (format!("subject {number}"), format!("text {number}"));
        sealed.ok(["mail", "send", "ada", "-s", &subject, "-m", &text]);
    }
    let listed: MailList = sealed.json(&["mail", "ls", "ada"]);
    sealed.ok(["down"]);
    assert!(sealed.run(["doctor"]).stdout.contains("records are intact"));
    let [first, second, third, fourth] = &listed.mails[..] else { panic!("{listed:?}") };
    let sql = |sql: &str, head: &str| {
        let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
        assert_eq!(journal.execute(sql, [head]).expect("sql"), 1, "{sql}");
    };
    sql("UPDATE message SET step = 'seen' WHERE head = ?1", &first.head);
    sql("DELETE FROM message WHERE head = ?1", &second.head);
    sql("UPDATE message SET thread = x'00' WHERE head = ?1", &third.head);
    sql("UPDATE text SET body = 'forged' WHERE body = ?1", &fourth.head);
    let doctor = sealed.run(["doctor"]).stdout;
    let told = format!("{} is lost or was altered", fourth.id);
    assert!(doctor.contains("fail  store") && doctor.contains("4 faults"), "{doctor}");
    assert!(unwrapped(&doctor).contains(&told), "{doctor}");
    sealed.start_daemon();
    sealed.until("it is told", || {
        let doctor = sealed.run(["doctor"]).stdout;
        unwrapped(&doctor).contains("messages had 4 faults")
    });
    let log = sealed.log();
    for mail in [first, second, third] {
        assert!(
            log.contains(&format!("{} is missing from the table of messages", mail.id)),
            "{log}"
        );
    }
    let again = || sealed.json::<MailList>(&["mail", "ls", "ada"]);
    sealed.until("the rows are made again", || again().mails.len() == listed.mails.len());
    // One that seemed to have been seen may have been: it waits for another reason now.
    let bare = |list: &MailList| -> Vec<Mail> {
        list.mails.iter().map(|mail| Mail { why: None, ..mail.clone() }).collect()
    };
    assert_eq!(bare(&again()), bare(&listed));
    // What can't be made again stays told.
    sealed.ok(["down"]);
    let doctor = sealed.run(["doctor"]).stdout;
    assert!(doctor.contains("1 fault;") && unwrapped(&doctor).contains(&told), "{doctor}");
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_unharmed(&sealed, &ada);
}

/// A finding on one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_emptied_node_file_and_a_removed_index_change_nothing() {
    let (sealed, ada) = with_ada();
    sealed.kill_daemon();
    fs::write(data(&sealed, "node.json"), "").expect("emptied");
    fs::remove_file(data(&sealed, "journal.db-shm")).expect("a file");
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_unharmed(&sealed, &ada);
}

#[test]
fn what_is_altered_beside_a_holder_starts_nobody_a_second_time() {
    let (sealed, ada) = with_ada();
    sealed.kill_daemon();
    let entries = fs::read_dir(sealed.holder(&ada)).expect("a directory").flatten();
    let files = entries.map(|entry| entry.path().join("process.json"));
    let files: Vec<PathBuf> = files.filter(|path| path.exists()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    fs::write(&files[0], "{\"pid\":1}").expect("altered");
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_unharmed(&sealed, &ada);
    processes::kill(processes::running(pid(&ada)));
    sealed.watch().running("ada", 2);
    sealed.assert_nobody_doubled();
}

#[test]
fn a_journal_that_can_not_be_opened_is_refused_with_who_runs_and_the_way_out() {
    use std::os::unix::fs::FileExt;

    let (sealed, ada) = with_ada();
    sealed.ok(["down"]);
    let journal = fs::File::options().write(true).open(data(&sealed, "journal.db"));
    journal.and_then(|file| file.write_all_at(&[0; 4096], 0)).expect("zeroed");
    let before = fs::read(data(&sealed, "journal.db")).expect("a file");
    let refused = sealed.refused(1, &["up"]);
    assert!(refused.detail.contains(&format!("ada (pid {})", pid(&ada))), "{refused:?}");
    assert!(refused.next.contains("journal.db* to another directory"), "{refused:?}");
    assert_eq!(fs::read(data(&sealed, "journal.db")).expect("a file"), before);
    assert!(sealed.run(["doctor"]).stdout.contains("fail"));
    // What it says leads on.
    let elsewhere = data(&sealed, "aside");
    fs::create_dir(&elsewhere).expect("a directory");
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _absent = fs::rename(data(&sealed, name), elsewhere.join(name));
    }
    sealed.start_daemon();
    assert_eq!(sealed.show("ada").reason, "record-lost");
    assert!(sealed.run(["doctor"]).stdout.contains("missing from the journal"));
    assert_unharmed(&sealed, &ada);
}

#[test]
fn sessions_start_also_after_the_daemons_program_was_moved() {
    let sealed = Sealed::new();
    let program = sealed.dir.join("perennial-copy");
    fs::copy(env!("CARGO_BIN_EXE_perennial"), &program).expect("a copy");
    let own = sealed.command(["up"]);
    let mut up = std::process::Command::new(&program);
    up.arg("up").env_clear();
    up.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_eq!(crate::sealed::finish(up).code, 0);
    fs::rename(&program, aside(&program)).expect("moved");
    let ada = sealed.spawn("ada", "read x");
    assert_unharmed(&sealed, &ada);
    fs::remove_file(aside(&program)).expect("removed");
    let bob = sealed.spawn("bob", "read x");
    assert_unharmed(&sealed, &bob);
}

/// Puts a pipe that nobody writes to in the place of a file.
fn pipe_at(path: &Path) {
    let _absent = fs::remove_file(path);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
}

/// An agent puts pipes where files of its holder were, and ends its shim: nobody else waits for that, now and at
/// the next start.
#[test]
fn a_pipe_in_the_place_of_a_file_blocks_nobody_else() {
    let (sealed, ada) = with_ada();
    for (name, file) in [("mole", "lock"), ("vole", "s1/process.json")] {
        let mole = sealed.spawn_with(&[name, "--restart", "always"], &["/bin/sh", "-c", "read x"]);
        let shim = sealed.shim(&mole);
        pipe_at(&sealed.holder(&mole).join(file));
        processes::kill(shim);
    }
    for _ in 0..20 {
        sealed.health();
    }
    assert_unharmed(&sealed, &ada);
    sealed.ok(["why", "ada"]);
    sealed.ok(["spawn", "bob", "--", "sleep", "1000"]);
    sealed.kill_daemon();
    fs::create_dir_all(&sealed.home.config).expect("a directory");
    let laid_out = sealed.home.mirror().join("laid-out");
    for path in [sealed.home.config.join("config.toml"), sealed.home.hooks_missed(), laid_out] {
        pipe_at(&path);
    }
    sealed.start_daemon();
    assert_unharmed(&sealed, &ada);
    sealed.ok(["restart", "bob"]);
    sealed.kill_daemon();
    pipe_at(&data(&sealed, "node.json"));
    let failed = sealed.run(["up"]);
    assert!(failed.code == 1 && failed.stderr.contains("node.json"), "{failed:?}");
    fs::remove_file(data(&sealed, "node.json")).expect("the pipe");
    sealed.start_daemon();
}

/// A holder's directory that its own user can't read is that agent's trouble alone.
#[test]
fn a_holder_that_can_not_be_read_keeps_no_daemon_from_starting() {
    if !crate::ordinary_user::inside(
        "damage_attacks::a_holder_that_can_not_be_read_keeps_no_daemon_from_starting",
    ) {
        return;
    }
    let (sealed, ada) = with_ada();
    let mole = sealed.spawn("mole", "read x");
    sealed.kill_daemon();
    let holder = sealed.holder(&mole);
    let mode = |bits| fs::set_permissions(&holder, fs::Permissions::from_mode(bits)).expect("set");
    mode(0o000);
    sealed.start_daemon();
    assert_unharmed(&sealed, &ada);
    mode(0o700);
}
