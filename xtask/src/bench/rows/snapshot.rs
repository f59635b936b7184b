//! P12: a snapshot of a work tree, by the engine's own function, beside `git status` and `git stash create` on the same
//! tree, in turns. Unchanged, and with ten changed files.
//!
//! A snapshot has more to do than either: it takes untracked files and the index, and is durable when it returns.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use perennial_engine::git::snapshot::{TakeOrder, take};

use super::ratio;
use crate::clock::{monotonic_ns, timed};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::Workshop;

const TREES: [usize; 3] = [554, 2_300, 20_000];
const ROUNDS: usize = 20;
/// Against `git status` on an unchanged tree.
const GOAL: f64 = 1.2;
/// With ten changed files: the first are milliseconds, the second is up to how many files; and never more than `git stash create`.
const LIMITS: [(usize, f64); 2] = [(600, 30.0), (2_300, 40.0)];

pub fn snapshot(_: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    for files in TREES {
        let dir = tempfile::tempdir()?;
        let work = dir.path().join("work");
        make(&work, files)?;
        let snapshots = dir.path().join("snapshots");
        // The first fills the cache; the second finds everything older than it.
        for _ in 0..2 {
            taken(&work, &snapshots)?;
            crate::clock::pass(std::time::Duration::from_millis(50));
        }
        for changed in [0, 10] {
            lines.push(line(&work, &snapshots, files, changed)?);
        }
    }
    Ok(())
}

fn line(work: &Path, snapshots: &Path, files: usize, changed: usize) -> Result<Line> {
    let [mut ours, mut status, mut stash] = [(); 3].map(|()| Samples::default());
    for round in 0..ROUNDS {
        for file in 0..changed {
            std::fs::write(path(work, file), format!("changed in round {round}: {file}\n"))?;
        }
        let (ms, result) = timed(|| taken(work, snapshots));
        result?;
        ours.add(ms);
        for (words, times) in
            [(&["status", "--porcelain"][..], &mut status), (&["stash", "create"], &mut stash)]
        {
            let (ms, result) = timed(|| git(work, words));
            result?;
            times.add(ms);
        }
    }
    let (ours, status, stash) = (ours.p50(), status.p50(), stash.p50());
    let against = ratio(ours, Some(status));
    let limit = LIMITS.iter().find(|(most, _)| files <= *most).map(|(_, ms)| *ms);
    let (goal, reached) = match changed {
        0 => (format!("≤ {GOAL} × git status"), against.is_some_and(|ratio| ratio <= GOAL)),
        _ => {
            let within = limit.map_or(String::new(), |ms| format!("≤ {ms} ms, "));
            let goal = format!("{within}≤ stash create");
            (goal, ours <= stash && limit.is_none_or(|ms| ours <= ms))
        }
    };
    Ok(Line {
        row: "P12",
        what: format!("snapshot, {files} files, {changed} changed, p50 of {ROUNDS}"),
        ours: format!("{ours:.1} ms"),
        peer: format!("git status {status:.1} ms, stash create {stash:.1} ms"),
        ratio: against,
        goal,
        reached,
    })
}

fn taken(work: &Path, snapshots: &Path) -> Result<()> {
    // The moment is only the date of the commit.
    take(&TakeOrder::new(work, snapshots, i64::try_from(monotonic_ns())?))?;
    Ok(())
}

fn path(work: &Path, file: usize) -> std::path::PathBuf {
    work.join(format!("d{}/f{file}.txt", file % 60))
}

fn make(work: &Path, files: usize) -> Result<()> {
    for file in 0..files {
        let path = path(work, file);
        if file < 60 {
            std::fs::create_dir_all(path.parent().unwrap_or(work))?;
        }
        std::fs::write(path, format!("the content of file {file}\n").repeat(file % 40 + 1))?;
    }
    git(work, &["init", "-q", "."])?;
    git(work, &["add", "-A"])?;
    git(work, &["commit", "-qm", "all"])
}

fn git(work: &Path, words: &[&str]) -> Result<()> {
    let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    let ran = Command::new("git").args(identity).args(words).current_dir(work).output()?;
    ensure!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Ok(())
}
