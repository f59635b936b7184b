//! kill -9 in the middle of appends: whatever was acknowledged is there afterwards, whole, and the
//! journal goes on.

use perennial_core::id::NodeId;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use perennial_core::id::AgentId;
use perennial_store::{Journal, Seq, Version};

use crate::events::*;

const HOME: &str = "PERENNIAL_TEST_KILLED_IN";
const KILLS: usize = 25;

/// Not a test of its own: the program that is killed. Appends without end, telling each sequence
/// number when it is acknowledged.
#[test]
fn the_killed_program() {
    let Some(home) = env::var_os(HOME) else { return };
    let journal = open(Path::new(&home));
    let loaded = perennial_store::load(&journal, NodeId::HOME).unwrap();
    let mut version = loaded.versions.values().copied().max().unwrap_or(Version(0));
    loop {
        let text = format!("{}", version.0);
        let entries = [ADA, BOB].map(|agent| (version.0, vec![summarised(agent, &text)]));
        let told = |answer: Result<Seq, _>| {
            let line = format!("acknowledged {}\n", answer.unwrap().0);
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        };
        journal.append(batch(entries.to_vec()), Box::new(told));
        version = Version(version.0 + 1);
        // Some in flight at the moment of the kill, but not without bound.
        if version.0 % 8 == 0 {
            settle(&journal);
        }
    }
}

#[test]
fn what_was_acknowledged_survives_kills() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::the_killed_program", "--nocapture", "--test-threads=1"])
            .env(HOME, directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = lines.filter_map(|line| {
            let line = line.ok()?;
            line.rsplit_once("acknowledged ")?.1.parse::<u64>().ok()
        });
        for _ in 0..=round * 3 {
            acknowledged = told.next().expect("it appends");
        }
        child.kill().unwrap();
        // What it still told before it died counts too.
        acknowledged = told.last().unwrap_or(acknowledged).max(acknowledged);
        child.wait().unwrap();

        let journal = open(directory.path());
        let records = all(&journal);
        assert!(records.len() as u64 >= acknowledged, "round {round}");
        assert_eq!(records.len() % 2, 0, "round {round}: half an append");
        assert!(records.iter().all(|record| record.event.is_ok()), "round {round}");
        let of = |agent: AgentId| {
            let stream = perennial_core::entity::Entity::Agent(agent);
            records.iter().filter(|record| record.stream.as_ref() == Some(&stream)).count()
        };
        assert_eq!(of(ADA), of(BOB), "round {round}");
    }
    assert!(acknowledged > 100);
}
