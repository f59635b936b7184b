//! `damage`: the daemon is killed, a file of the journal is spoilt at random, and nobody who runs is forgotten or
//! doubled. Who runs is asked of the kernel, never of the product.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::processes::{self, Found};
use crate::proof::Proof;
use crate::sealed::Sealed;

/// Trials that share a home: damage adds up.
const TRIALS: usize = 5;
const AGENTS: usize = 3;
const FILES: [&str; 3] = ["journal.db", "journal.db-wal", "journal.db-shm"];

pub fn damage(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let sealed = Sealed::up();
            for number in 0..AGENTS {
                let name = format!("agent-{number}");
                let script = ["/bin/sh", "-c", "exec sleep 1000000"];
                sealed.spawn_with(&[&name, "--restart", "always"], &script);
            }
            for number in 0..TRIALS {
                if !proof.goes_on() {
                    break;
                }
                proof.begin_trial();
                trial(proof, &sealed, number);
            }
        });
    }
}

fn trial(proof: &mut Proof, sealed: &Sealed, number: usize) {
    // Something that only the log has.
    let late = format!("late-{number}");
    sealed.run(["spawn", late.as_str(), "--", "/bin/sleep", "1000000"]);
    let ends_first = proof.below(4) == 0;
    if ends_first {
        sealed.run(["stop", late.as_str()]);
    }
    sealed.kill_daemon();
    let before = sessions(sealed);
    let records = records(sealed);
    let spoilt = spoil(proof, sealed);
    let up = sealed.run(["up"]);
    if up.code != 0 {
        follow_advice(proof, sealed, &spoilt, &before, &up.stderr);
    }
    judge(proof, sealed, &spoilt, &before, records);
}

/// The first process of every session that runs.
fn sessions(sealed: &Sealed) -> Vec<Found> {
    let found = sealed.processes();
    let shims: BTreeSet<i32> =
        found.iter().filter(|one| one.is_shim()).map(|one| one.process.pid).collect();
    let is_first = |one: &Found| one.session.is_some() && shims.contains(&one.parent);
    found.into_iter().filter(is_first).collect()
}

/// Flips, cuts off or deletes; returns what was done.
fn spoil(proof: &mut Proof, sealed: &Sealed) -> String {
    let present = FILES.map(|name| sealed.home.data.join(name));
    let present: Vec<&PathBuf> = present[..2].iter().filter(|path| path.exists()).collect();
    let path = present[proof.below(present.len() as u64) as usize];
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let length = fs::metadata(path).map_or(0, |found| found.len()).max(1);
    let open = || File::options().read(true).write(true).open(path).expect("a file");
    match proof.below(8) {
        0 => {
            fs::remove_file(path).expect("a file");
            format!("{name} deleted")
        }
        1 | 2 => {
            let left = proof.below(length);
            open().set_len(left).expect("cut off");
            format!("{name} cut off at {left} of {length}")
        }
        _ => {
            let (file, count) = (open(), 1 + proof.below(16));
            let mut at = Vec::new();
            for _ in 0..count {
                let (place, bit) = (proof.below(length), proof.below(8));
                let mut byte = [0];
                let _past_end = file.read_exact_at(&mut byte, place);
                file.write_all_at(&[byte[0] ^ (1 << bit)], place).expect("flipped");
                at.push(place);
            }
            format!("{name} flipped at {at:?} of {length}")
        }
    }
}

/// `up` refuses: it must name everybody who runs, and what it advises must lead on.
fn follow_advice(proof: &mut Proof, sealed: &Sealed, spoilt: &str, before: &[Found], said: &str) {
    for one in before {
        if !said.contains(&format!("(pid {})", one.process.pid)) {
            proof.violated(&format!("{spoilt}: up does not name {:?}: {said}", one.session));
        }
    }
    if !said.contains("to another directory") {
        proof.violated(&format!("{spoilt}: up says no way out: {said}"));
    }
    let aside = tempfile::tempdir_in(&sealed.home.data).expect("a directory");
    for name in FILES {
        let _absent = fs::rename(sealed.home.data.join(name), aside.path().join(name));
    }
    let again = sealed.run(["up"]);
    if again.code != 0 {
        proof.violated(&format!("{spoilt}: the way out leads nowhere: {}", again.stderr.trim()));
    }
}

fn judge(proof: &mut Proof, sealed: &Sealed, spoilt: &str, before: &[Found], records: Records) {
    let now = sessions(sealed);
    let listed = sealed.run(["ls", "--json"]).stdout;
    for one in &now {
        let mark = one.session.as_deref().unwrap_or_default();
        let (agent, _) = mark.split_once('.').unwrap_or_default();
        if !listed.contains(agent) {
            proof.violated(&format!("{spoilt}: {mark} runs and is not listed"));
        }
        if now.iter().filter(|other| of_agent(other) == Some(agent)).count() > 1 {
            proof.violated(&format!("{spoilt}: {agent} runs twice"));
        }
    }
    for one in before {
        if now.iter().all(|other| other.process != one.process) {
            proof.violated(&format!("{spoilt}: {:?} does not run any more", one.session));
        }
    }
    let doctor = sealed.run(["doctor", "--json"]).stdout;
    let is_named = doctor.contains("missing from the journal")
        || doctor.contains("can't be read")
        || doctor.contains("not the one that was written")
        || doctor.contains(" fault");
    let is_whole = records.is_some_and(|before| records_now(sealed, before.len()) == Some(before));
    if !is_named && !is_whole {
        proof.violated(&format!("{spoilt}: doctor says nothing: {doctor}"));
    }
    processes::kill(sealed.daemon());
    sealed.start_daemon();
}

/// Every record's number, payload and hash; nothing where they can't all be read.
type Records = Option<Vec<(i64, Vec<u8>, Vec<u8>)>>;

fn records(sealed: &Sealed) -> Records {
    records_now(sealed, usize::MAX >> 1)
}

/// The first of them, as they are in the file, by SQLite's word.
fn records_now(sealed: &Sealed, count: usize) -> Records {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let journal = Connection::open_with_flags(sealed.home.journal(), flags).ok()?;
    // Closing must not fold the log into the file.
    journal.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok()?;
    let sql = "SELECT seq, CAST(payload AS BLOB), hash FROM event ORDER BY seq LIMIT ?1";
    let mut statement = journal.prepare(sql).ok()?;
    let rows =
        statement.query_map([count as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.ok()?.collect::<Result<_, _>>().ok()
}

fn of_agent(found: &Found) -> Option<&str> {
    Some(found.session.as_deref()?.split_once('.')?.0)
}
