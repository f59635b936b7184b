//! `prune` and `keep_recordings_days`: recordings of ended sessions go, and nothing else does.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use perennial_api::Agent;
use perennial_api::answer::Pruned;
use serde_json::{Value, json};

use crate::authority::Fleet;
use crate::callers::Who;
use crate::sealed::{Sealed, finish};
use crate::terminal::Terminal;

const TALKS: &str = "echo hello; read x";
const ALL: [&str; 3] = ["prune", "--older-than", "0d"];

fn recording(sealed: &Sealed, agent: &Agent, session: u64) -> PathBuf {
    sealed.holder(agent).join(format!("s{session}/rec.0"))
}

#[track_caller]
fn printed(sealed: &Sealed, agent: &Agent, session: u64) {
    let file = recording(sealed, agent, session);
    sealed.until("it printed", || std::fs::read(&file).is_ok_and(|bytes| bytes.len() > 5));
}

/// An agent whose sessions have ended, but for the last one, which runs.
#[track_caller]
fn with_sessions(sealed: &Sealed, name: &str, count: u64) -> Agent {
    let agent = sealed.spawn(name, TALKS);
    printed(sealed, &agent, 1);
    for session in 2..=count {
        sealed.ok(["restart", name]);
        printed(sealed, &agent, session);
    }
    agent
}

/// Every file of a directory with its bytes, but for sockets; what a running session adds does not count.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => all.extend(tree(&path)),
            kind if kind.is_file() => _ = all.insert(path.clone(), std::fs::read(&path).unwrap()),
            _ => {}
        }
    }
    all
}

fn sessions(pruned: &Pruned) -> Vec<(&str, Vec<u64>)> {
    let numbers = |agent: &perennial_api::answer::PrunedAgent| {
        agent.recordings.iter().map(|one| one.session).collect()
    };
    pruned.agents.iter().map(|agent| (agent.target.as_str(), numbers(agent))).collect()
}

/// As if a session had printed last this many days ago.
fn age(file: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    for path in [file.to_owned(), file.with_file_name("rec.0.marks")] {
        if let Ok(file) = std::fs::File::options().write(true).open(path) {
            file.set_modified(then).expect("a time");
        }
    }
}

fn configure(sealed: &Sealed, text: &str) {
    std::fs::create_dir_all(&sealed.home.config).expect("a directory");
    std::fs::write(sealed.home.config.join("config.toml"), text).expect("written");
}

#[test]
fn a_dry_run_changes_nothing_and_only_recordings_of_ended_sessions_go() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 3);
    let ada = with_sessions(&sealed, "ada", 1);
    sealed.ok(["bury", "ada", "--summary", "done"]);
    let copies = sealed.home.conversations().join("claude");
    std::fs::create_dir_all(&copies).expect("a directory");
    std::fs::write(copies.join("own.jsonl"), "{}\n").expect("a conversation");
    let before = tree(&sealed.root);
    let holders = tree(&sealed.home.holders());
    assert_eq!(sealed.ok(["prune", "--dry-run"]), "nothing to remove\n", "nothing is 30 days old");
    let would: Pruned = sealed.json(&[&ALL[..], &["--dry-run"]].concat());
    assert!(would.is_dry_run);
    assert_eq!(sessions(&would), [("bob", vec![1, 2]), ("ada", vec![1])]);
    let size = |file: PathBuf| std::fs::metadata(file).map_or(0, |seen| seen.len());
    let marks = |file: PathBuf| file.with_file_name("rec.0.marks");
    let of_ada = recording(&sealed, &ada, 1);
    assert_eq!(would.agents[1].bytes, size(of_ada.clone()) + size(marks(of_ada)));
    assert_eq!(
        (would.recordings, would.bytes),
        (3, would.agents.iter().map(|one| one.bytes).sum())
    );
    assert_eq!(tree(&sealed.home.holders()), holders);
    let listed = sealed.ok([&ALL[..], &["--dry-run"]].concat());
    assert!(listed.contains("bob") && listed.contains("1-2"), "{listed}");
    assert!(listed.contains("would remove 3 recordings of 2 agents"), "{listed}");

    let told = sealed.ok(ALL);
    assert!(told.starts_with("removed 3 recordings of 2 agents ("), "{told}");
    let after = tree(&sealed.root);
    let gone: Vec<&PathBuf> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    let is_pruned = |path: &&&PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let of = [(&bob, 1), (&bob, 2), (&ada, 1)];
        let dirs = of.map(|(agent, number)| recording(&sealed, agent, number));
        name.starts_with("rec.0") && dirs.iter().any(|one| one.parent() == path.parent())
    };
    assert_eq!(gone.iter().filter(is_pruned).count(), gone.len(), "{gone:?}");
    assert!((3..=6).contains(&gone.len()), "recordings and their marks: {gone:?}");
    assert_eq!(after[&copies.join("own.jsonl")], b"{}\n");
    assert!(sealed.ok(["logs", "bob"]).contains("hello"), "a running session's recording stays");
    assert_eq!(sealed.ok(ALL), "nothing to remove\n");
    let none: Pruned = sealed.json(&ALL);
    assert_eq!((none.recordings, none.agents.len()), (0, 0));
}

#[test]
fn what_was_removed_is_recorded_and_logs_and_screen_say_so() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 2);
    let ada = with_sessions(&sealed, "ada", 1);
    sealed.ok(["bury", "ada", "--summary", "done"]);
    sealed.ok(ALL);
    let events = sealed.ok(["events", "--json"]);
    let read = |line| serde_json::from_str::<Value>(line).expect("an event");
    let events: Vec<Value> = events.lines().map(read).collect();
    let mut pruned: Vec<&Value> =
        events.iter().filter(|event| event["kind"] == "recordings-pruned").collect();
    pruned.sort_by_key(|event| event["data"]["agent"] == json!(ada.id));
    assert_eq!(pruned.len(), 2, "{pruned:?}");
    assert_eq!(pruned[0]["data"]["agent"], json!(bob.id));
    assert_eq!(pruned[0]["data"]["sessions"], json!([1]));
    assert_eq!(pruned[1]["data"]["by"]["kind"], "person");
    assert!(pruned[1]["data"]["bytes"].as_u64().is_some_and(|bytes| bytes > 5));
    let check = || {
        for args in [
            &["logs", "bob", "--session", "1"][..],
            &["screen", "bob", "--session", "1"],
            &["logs", "ada"],
            &["screen", "ada"],
        ] {
            let problem = sealed.refused(4, args);
            assert_eq!(problem.kind, "recording-removed", "{args:?}");
            assert!(problem.detail.contains("removed it on 20"), "{problem:?}");
        }
        let raw = sealed.run(["logs", "bob", "--session", "1", "--raw"]);
        assert!(raw.code == 4 && raw.stderr.contains("by `prune` or `clean`"), "{raw:?}");
    };
    check();
    sealed.kill_daemon();
    sealed.start_daemon();
    check();
}

#[test]
fn the_newest_session_of_an_agent_stays_unless_it_is_asked_for() {
    let sealed = Sealed::up();
    let eve = with_sessions(&sealed, "eve", 2);
    let bob = with_sessions(&sealed, "bob", 1);
    sealed.ok(["stop", "eve"]);
    let newest = ["--newest", "--older-than", "0d"];
    assert_eq!(sealed.run([&["prune"][..], &newest].concat()).code, 2, "of everybody");
    let request = json!({ "newest": true, "printed_before": "2999-01-01T00:00:00Z" });
    let problem = sealed.client().post("/v1/prune", &request).expect_err("a problem");
    assert!(problem.to_string().contains("newest recordings of all agents"), "{problem}");
    let of_two: Pruned = sealed.json(&["prune", "eve", "bob", "--older-than", "0d"]);
    assert_eq!(sessions(&of_two), [("eve", vec![1])]);
    assert!(recording(&sealed, &eve, 2).exists());
    let of_two: Pruned = sealed.json(&[&["prune", "eve", "bob"][..], &newest].concat());
    assert_eq!(sessions(&of_two), [("eve", vec![2])], "that of a running session stays");
    assert!(recording(&sealed, &bob, 1).exists());
    // One that is named and not there stops all of it; so does a time that is none.
    assert_eq!(sealed.refused(4, &["prune", "bob", "nobody"]).kind, "no-such-agent");
    assert_eq!(sealed.run(["prune", "--older-than", "soon"]).code, 2);
    let request = json!({ "targets": ["bob"] });
    let problem = sealed.client().post("/v1/prune", &request).expect_err("a problem");
    assert!(problem.to_string().contains("invalid time"), "{problem}");
}

#[test]
fn links_and_other_files_in_a_holders_directory_are_left_alone() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 3);
    let (first, second) = (sealed.holder(&bob).join("s1"), sealed.holder(&bob).join("s2"));
    let outside = sealed.dir.join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("rec.0"), "another's").expect("a file");
    // What an agent could have put there.
    std::fs::remove_dir_all(&second).expect("removed");
    symlink(&outside, &second).expect("a link");
    symlink(outside.join("rec.0"), first.join("rec.777")).expect("a link");
    for name in ["rec.x", "rec.007", "rec.1.marks.bak", "exit.json", "notes"] {
        std::fs::write(first.join(name), name).expect("a file");
    }
    let unknown = sealed.home.holders().join("agt_01jcnhrzjae008000000000001/s1");
    std::fs::create_dir_all(&unknown).expect("a directory");
    std::fs::write(unknown.join("rec.0"), "of nobody").expect("a file");
    let pruned: Pruned = sealed.json(&ALL);
    assert_eq!(sessions(&pruned), [("bob", vec![1])]);
    assert!(!first.join("rec.0").exists());
    for name in ["rec.x", "rec.007", "rec.1.marks.bak", "exit.json", "notes"] {
        assert!(first.join(name).is_file(), "{name}");
    }
    assert!(first.join("rec.777").is_symlink() && second.is_symlink());
    assert_eq!(std::fs::read_to_string(outside.join("rec.0")).expect("a file"), "another's");
    assert!(unknown.join("rec.0").exists(), "the journal does not know whose it is");
}

#[test]
fn without_a_limit_nothing_goes_by_itself_and_with_one_what_is_older_goes_at_the_start() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 3);
    let eve = with_sessions(&sealed, "eve", 2);
    let ada = with_sessions(&sealed, "ada", 1);
    let mut watch = sealed.watch();
    sealed.ok(["stop", "eve"]);
    sealed.ok(["bury", "ada", "--summary", "done"]);
    // Of bob's, the second is younger than the limit, and the third runs; of eve's, the second is her newest.
    let old = [(&bob, 1), (&bob, 3), (&eve, 1), (&eve, 2), (&ada, 1)];
    for (agent, session) in old {
        age(&recording(&sealed, agent, session), 40);
    }
    age(&recording(&sealed, &bob, 2), 20);
    let has = |agent: &Agent, session| recording(&sealed, agent, session).exists();
    for config in ["", "keep_recordings_days = 0", "keep_recordings_days = 90"] {
        configure(&sealed, config);
        sealed.ok(["down"]);
        sealed.start_daemon();
        watch.resume();
        let carol = with_sessions(&sealed, &format!("carol{}", config.len()), 2);
        // Removed by the thread that has looked for old ones before.
        sealed.ok(["prune", &carol.name, "--older-than", "0d"]);
        assert!(!has(&carol, 1) && has(&carol, 2));
        for (agent, session) in old {
            assert!(has(agent, session), "{config}: {} {session}", agent.name);
        }
    }
    configure(&sealed, "keep_recordings_days = 30");
    sealed.ok(["down"]);
    sealed.start_daemon();
    watch.resume();
    for agent in [&bob, &eve, &ada] {
        watch.wait("what is old is pruned", |seen| {
            let (event, data) = (&seen.event, &seen.event.data);
            let is_it = event.kind == "recordings-pruned" && data["agent"] == json!(agent.id);
            (is_it && data["by"]["kind"] == "daemon" && data["sessions"] == json!([1]))
                .then_some(())
        });
        sealed.until("it is gone", || !has(agent, 1));
    }
    assert!(has(&bob, 2) && has(&bob, 3) && has(&eve, 2));
    let problem = sealed.refused(4, &["logs", "ada"]);
    assert!(problem.detail.contains("keep_recordings_days"), "{problem:?}");
}

/// A daemon that died between the record and the removal leaves the rest to the next one.
#[test]
fn what_is_on_record_as_removed_is_removed_at_the_next_start() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 2);
    let file = recording(&sealed, &bob, 1);
    let bytes = std::fs::read(&file).expect("a recording");
    sealed.ok(ALL);
    assert!(!file.exists());
    sealed.kill_daemon();
    std::fs::write(&file, bytes).expect("put back");
    sealed.start_daemon();
    sealed.until("it is gone", || !file.exists());
    assert!(recording(&sealed, &bob, 2).exists());
}

#[test]
fn only_a_person_may_prune() {
    let fleet = Fleet::new();
    let bob = with_sessions(&fleet.sealed, "bob", 2);
    for args in [&ALL[..], &["prune", "--dry-run"], &["prune", "bob", "--yes", "--older-than=0d"]] {
        let ran = fleet.call(&[], args);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains("an agent may not use `prune`"), "{ran:?}");
    }
    let ran = finish(Who::Viewer.runs(fleet.sealed.command(ALL)));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(recording(&fleet.sealed, &bob, 1).exists());
}

#[test]
fn a_person_at_a_terminal_is_asked_first() {
    let sealed = Sealed::up();
    let bob = with_sessions(&sealed, "bob", 2);
    let file = recording(&sealed, &bob, 1);
    let question = "remove 1 recording of 1 agent (";
    let mut terminal = Terminal::run(sealed.command(ALL));
    terminal.wait(question);
    terminal.type_keys("n\r");
    let ran = terminal.end();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(file.exists());
    let mut terminal = Terminal::run(sealed.command(ALL));
    terminal.wait(question);
    terminal.wait("This can't be undone. [y/N] ");
    terminal.type_keys("y\r");
    let ran = terminal.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!file.exists());
    // Nobody is asked about nothing, nor about a dry run, nor with --yes.
    assert_eq!(Terminal::run(sealed.command(ALL)).end().code, 0);
    sealed.ok(["restart", "bob"]);
    let dry = sealed.command([&ALL[..], &["--dry-run"]].concat());
    assert_eq!(Terminal::run(dry).end().code, 0);
    assert!(recording(&sealed, &bob, 2).exists());
    let sure = sealed.command([&ALL[..], &["--yes"]].concat());
    assert_eq!(Terminal::run(sure).end().code, 0);
    assert!(!recording(&sealed, &bob, 2).exists());
}
