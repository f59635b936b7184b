//! Homes that earlier versions left: the present program opens each of them, and loses nothing.
//!
//! And the other way round: a home of a newer program is refused, or the agents that it says more of
//! are held, and no file is changed. What the homes are: `crates/perennial/tests/homes/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use perennial_api::{Agent, EventView};
use perennial_core::id::AgentId;
use rusqlite::Connection;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::sealed::Sealed;

const HOMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/homes");

/// A home of an earlier version.
struct Kept {
    dir: PathBuf,
    agents: Vec<Agent>,
    events: Vec<EventView>,
}

impl Kept {
    fn read(dir: PathBuf) -> Kept {
        let text = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a recorded answer");
        let agents = serde_json::from_str(&text("agents.json")).expect("agents");
        let line = |line: &str| serde_json::from_str(line).expect("an event");
        let events = text("events.jsonl").lines().map(line).collect();
        Kept { agents, events, dir }
    }

    fn all() -> Vec<Kept> {
        let entries = std::fs::read_dir(HOMES).expect("homes").flatten();
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        dirs.retain(|dir| dir.is_dir());
        dirs.sort();
        assert!(!dirs.is_empty(), "no homes in {HOMES}");
        dirs.into_iter().map(Kept::read).collect()
    }

    /// One that was ended in order: it has snapshots.
    fn ended_in_order() -> Kept {
        let is_it = |kept: &Kept| kept.dir.to_string_lossy().ends_with("-down");
        Kept::all().into_iter().find(is_it).expect("a home that was ended in order")
    }

    /// A copy that the present program may open.
    fn copied(&self) -> Sealed {
        let sealed = Sealed::new();
        std::fs::create_dir_all(&sealed.home.data).expect("made");
        for name in ["journal.db", "journal.db-wal"] {
            let _absent = std::fs::copy(self.dir.join(name), sealed.home.data.join(name));
        }
        assert!(sealed.home.journal().exists(), "no journal in {}", self.dir.display());
        sealed
    }
}

fn journal(sealed: &Sealed) -> Connection {
    Connection::open(sealed.home.journal()).expect("a database")
}

/// The bytes of every file below a directory; the index that readers share is no content.
fn bytes_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(bytes_below(&path));
        } else if !path.to_string_lossy().ends_with("-shm") && !path.ends_with("daemon.lock") {
            let bytes = std::fs::read(&path).expect("a file");
            // SQLite leaves an empty log where it only looked.
            if !bytes.is_empty() {
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// The values in an event, wherever they stand in it, as they are written on the wire today. Left out is
/// what the wire no longer tells: what the restart policy remembers, how texts are recognised, and spans
/// in units that are now seconds.
fn values(data: &Value) -> BTreeSet<String> {
    let is_told = |name: &str| {
        !["history", "fingerprint"].contains(&name)
            && !["_micros", "_us", "_ms"].iter().any(|unit| name.ends_with(unit))
    };
    match data {
        Value::Null => BTreeSet::new(),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| is_told(name))
            .flat_map(|(_, it)| values(it))
            .collect(),
        Value::Array(parts) => parts.iter().flat_map(values).collect(),
        // The first versions told moments in microseconds, and a person as the operator.
        Value::Number(number) => match number.as_i64().filter(|number| *number > 1 << 50) {
            Some(micros) => {
                let moment = jiff::Timestamp::from_microsecond(micros).expect("a moment");
                [moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()].into()
            }
            None => [number.to_string()].into(),
        },
        Value::String(word) if word == "operator" => ["person".to_owned()].into(),
        Value::String(text) => [text.clone()].into(),
        Value::Bool(is_so) => [is_so.to_string()].into(),
    }
}

/// What was recorded is shown as it was then.
#[track_caller]
fn assert_same_history(kept: &Kept, now: &[EventView]) {
    assert!(now.len() >= kept.events.len(), "{} events are left", now.len());
    for (old, new) in kept.events.iter().zip(now) {
        let who = |event: &EventView| (event.seq, event.at.clone(), event.agent_id.clone());
        assert_eq!((who(old), &old.kind), (who(new), &new.kind));
        assert!(values(&old.data).is_subset(&values(&new.data)), "{old:#?} became {new:#?}");
    }
}

/// Who somebody is, and what they were started with, never changes by another program.
#[track_caller]
fn assert_same_agent(old: &Agent, new: &Agent) {
    let identity = |agent: &Agent| Agent {
        id: agent.id.clone(),
        name: agent.name.clone(),
        role: agent.role.clone(),
        parent_id: agent.parent_id.clone(),
        harness: agent.harness.clone(),
        host: agent.host.clone(),
        project: agent.project.clone(),
        dir: agent.dir.clone(),
        argv: agent.argv.clone(),
        env_names: agent.env_names.clone(),
        restart: agent.restart.clone(),
        permission_mode: agent.permission_mode.clone(),
        conversations: agent.conversations.clone(),
        created_at: agent.created_at.clone(),
        ..Agent::default()
    };
    assert_eq!(identity(old), identity(new));
    assert_ne!(new.reason, "record-unreadable", "{new:#?}");
    let number = |agent: &Agent| agent.session.as_ref().map(|session| session.number);
    assert!(number(new) >= number(old), "{old:#?} became {new:#?}");
    // Whoever was at rest is left alone; the living are taken up by the rules of today, on a machine
    // that has restarted meanwhile.
    if old.roster != "living" {
        let rest = |agent: &Agent| {
            (agent.state.clone(), agent.reason.clone(), agent.since.clone(), agent.session.clone())
        };
        assert_eq!(rest(old), rest(new));
        assert_eq!((old.respawn_count, &old.summary), (new.respawn_count, &new.summary));
    }
    if let Some(old) = &old.context {
        let new = new.context.as_ref().expect("what was measured is kept");
        assert_eq!((old.tokens, old.window), (new.tokens, new.window));
    }
}

#[track_caller]
fn assert_opens(kept: &Kept, sealed: &Sealed) {
    sealed.start_daemon();
    let now = sealed.ls();
    assert_eq!(now.len(), kept.agents.len(), "{now:#?}");
    for old in &kept.agents {
        let new = now.iter().find(|agent| agent.id == old.id);
        assert_same_agent(old, new.unwrap_or_else(|| panic!("{} is gone", old.name)));
        sealed.ok(["why", &old.id]);
    }
    let answer = sealed.client().get("/v1/events?limit=1000").expect("events");
    assert_same_history(kept, &answer.read::<Vec<EventView>>().expect("events"));
    let report: Value = serde_json::from_str(&sealed.run(["--json", "doctor"]).stdout).expect("it");
    let findings = report["findings"].as_array().expect("findings");
    let store = findings.iter().find(|finding| finding["what"] == "store");
    assert_eq!(store.expect("a finding")["verdict"], "ok", "{report:#}");
    sealed.ok(["down"]);
}

#[test]
fn every_home_of_an_earlier_version_opens_and_everybody_is_there() {
    for kept in Kept::all() {
        println!("{}", kept.dir.display());
        assert_opens(&kept, &kept.copied());
    }
}

/// Its snapshots spare the fold over its events; without them the fold comes to the same.
#[test]
fn a_home_opens_without_its_snapshots_too() {
    let kept = Kept::ended_in_order();
    let sealed = kept.copied();
    assert!(journal(&sealed).execute("DELETE FROM snapshot", []).expect("sql") > 0);
    journal(&sealed).execute("DELETE FROM mark WHERE name = 'covers'", []).expect("sql");
    assert_opens(&kept, &sealed);
}

#[test]
fn a_home_whose_tables_are_newer_is_refused_and_no_byte_of_it_is_changed() {
    for kept in Kept::all() {
        let sealed = kept.copied();
        let newer = "PRAGMA journal_mode = DELETE; PRAGMA user_version = 1000;";
        journal(&sealed).execute_batch(newer).expect("sql");
        let before = bytes_below(&sealed.home.data);
        let ran = sealed.run(["up"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("a newer program made it (version 1000"), "{ran:?}");
        assert!(bytes_below(&sealed.home.data) == before, "a file was changed");
        assert!(!sealed.processes().iter().any(|one| one.is_daemon()), "a daemon runs");
    }
}

/// Adds a record as a newer program would: linked to the chain, of a kind and form of its own.
fn append_newer(sealed: &Sealed, agent: &Agent, kind: &str, form: i64) {
    let id: AgentId = agent.id.parse().expect("an id");
    let journal = journal(sealed);
    let newest = "SELECT stream, version, at FROM event WHERE substr(stream, -16) = ?1
        ORDER BY seq DESC LIMIT 1";
    let (stream, version, at): (Vec<u8>, i64, i64) = journal
        .query_row(newest, [id.0.to_be_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("its newest record");
    let head = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1";
    let (seq, hash): (i64, Vec<u8>) =
        journal.query_row(head, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a head");
    let (seq, version, payload) = (seq + 1, version + 1, r#"{"hope":"eternal"}"#);
    let part = |bytes: &[u8]| [&(bytes.len() as u64).to_be_bytes()[..], bytes].concat();
    let hashed = [
        hash,
        seq.to_be_bytes().into(),
        part(&stream),
        version.to_be_bytes().into(),
        at.to_be_bytes().into(),
        part(kind.as_bytes()),
        form.to_be_bytes().into(),
        part(payload.as_bytes()),
    ];
    let hash = Sha256::digest(hashed.concat()).to_vec();
    let insert = "INSERT INTO event (seq, stream, version, at, kind, form, payload, hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let row = rusqlite::params![seq, stream, version, at, kind, form, payload, hash];
    assert_eq!(journal.execute(insert, row).expect("sql"), 1);
}

/// A record of a newer program: its agent is held and says why, everybody else is as before.
#[test]
fn an_agent_with_a_record_of_a_newer_program_is_held_and_the_others_go_on() {
    for (kind, form, why) in [
        ("moved", 1000, "a newer program wrote it"),
        ("from-a-newer-program", 1, "a newer program may have written it"),
    ] {
        let kept = Kept::ended_in_order();
        let sealed = kept.copied();
        let held = kept.agents.iter().find(|agent| agent.name == "asleep").expect("it was kept");
        append_newer(&sealed, held, kind, form);
        sealed.start_daemon();
        let now = sealed.show("asleep");
        let is = (now.state.as_str(), now.reason.as_str(), now.needs_you);
        assert_eq!(is, ("unknown", "record-unreadable", true), "{kind}");
        let told = [sealed.ok(["why", "asleep"]), sealed.ok(["events", "--agent", "asleep"])];
        assert!(told.concat().contains(why), "{kind}: {told:#?}");
        for old in kept.agents.iter().filter(|old| old.id != held.id) {
            assert_same_agent(old, &sealed.show(&old.id));
        }
        assert!(sealed.marked(&now).is_empty(), "{kind}: it was started");
    }
}
