//! Why a snapshot can't be taken, shown or restored.

use std::path::Path;

use perennial_api::Problem;
use perennial_core::snapshot::{RestoreEnded, RestoreOutcome};
use perennial_engine::git::GitError;

use crate::error_chain::chain;

/// At most this many paths are named in a sentence.
const MOST_NAMED: usize = 5;

pub fn session_in_tree(agent: &str) -> Problem {
    Problem::new(409, "session-in-tree", "a session runs in that work tree; nothing was restored")
        .because(format!("{agent} works there, and its files would change under it"))
        .next("wait until it has no session, or write the files elsewhere with `--to`")
}

pub fn restore_in_tree(agent: &str) -> Problem {
    let title = "files are being restored in that work tree; nothing else was restored";
    Problem::new(409, "restore-in-tree", title)
        .because(format!("a snapshot of {agent} is being restored there"))
        .next("wait until that has ended")
}

/// `changed` names the files that somebody changed meanwhile.
fn changed_meanwhile(outcome: &RestoreOutcome) -> String {
    if outcome.changed == 0 {
        return String::new();
    }
    let named = several(&outcome.changed_listed, outcome.changed);
    format!("; changed while it went on, and left as they are: {named}")
}

/// The first of these paths, and how many more there are.
fn several(listed: &[String], count: u64) -> String {
    let mut named = listed.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = count.saturating_sub(MOST_NAMED as u64);
    if more > 0 {
        named.push_str(&format!(" and {more} more"));
    }
    named
}

pub fn dropped(agent: &str, number: u32) -> Problem {
    Problem::new(404, "no-snapshot", format!("{agent} has no snapshot {number} any more"))
        .because("it was dropped: newer ones are kept, or it was too old")
        .next(format!("`perennial snapshot ls {agent}` lists those that there are"))
}

/// A restore that stopped before its end.
pub fn restore_stopped(agent: &str, ended: &RestoreEnded) -> Problem {
    let RestoreEnded { number, present, outcome, .. } = ended;
    let why = outcome.failed.clone().unwrap_or_default();
    let done = outcome.written + outcome.removed;
    if done == 0 && outcome.left == 0 && outcome.changed == 0 {
        let title = format!("nothing was restored of snapshot {number}");
        return Problem::new(409, "restore-failed", title)
            .because(why)
            .next("see what is named, and restore again");
    }
    let named = several(&outcome.listed, outcome.left);
    let title = format!(
        "snapshot {number} was restored in part: {} files written, {} removed, {} left as they were",
        outcome.written, outcome.removed, outcome.left
    );
    let left = if named.is_empty() { String::new() } else { format!("; not restored: {named}") };
    let changed = changed_meanwhile(outcome);
    Problem::new(409, "restored-in-part", title).because(format!("{why}{left}{changed}")).next(format!(
        "what was there before is snapshot {present}: `perennial snapshot restore {agent} {present}`"
    ))
}

pub fn no_snapshots(agent: &str) -> Problem {
    Problem::new(404, "no-snapshot", format!("{agent} has no snapshots"))
        .because("none was taken of its work tree")
        .next(format!("`perennial snapshot take {agent}` takes one"))
}

pub fn no_such_snapshot(agent: &str, number: u32, newest: u32) -> Problem {
    Problem::new(404, "no-snapshot", format!("{agent} has no snapshot {number}"))
        .because(format!("its snapshots are numbered 1 to {newest}"))
        .next(format!("`perennial snapshot ls {agent}` lists them"))
}

pub fn another_work_tree(agent: &str, then: &str, now: &str) -> Problem {
    let title = format!("{agent} is in another work tree now; nothing was restored");
    Problem::new(409, "another-work-tree", title)
        .because(format!("the snapshot is of {then}, and its directory is in {now}"))
        .next("write the files to another directory with `--to`")
}

pub fn relative_directory(path: &str) -> Problem {
    Problem::new(400, "bad-directory", format!("'{path}' is not an absolute path"))
        .because("the daemon has no working directory of yours")
        .next("give the whole path")
}

pub fn index_elsewhere() -> Problem {
    Problem::new(400, "bad-request", "`index` can't be combined with `to`")
        .because("a directory without a repository has no index")
        .next("leave out one of them")
}

/// What went wrong with the files; `what` was not done.
pub fn failed(what: &str, error: &GitError) -> Problem {
    let title = |why: &str| format!("{what}: {why}");
    match error {
        GitError::NotARepository(path) => {
            let path = path.display();
            Problem::new(409, "no-work-tree", title("there is no git work tree"))
                .because(format!("{path} is not in one"))
                .next("make the directory a git work tree to have its files kept")
        }
        GitError::Unsupported(unsupported) => {
            Problem::new(409, "not-supported", title(&format!("not supported: {unsupported}")))
                .because("Perennial reads repositories itself, so that no hook or filter runs")
                .next("commit or copy the files yourself")
        }
        GitError::InTheWay(paths) => {
            let mut named = paths.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            if paths.len() > MOST_NAMED {
                named.push_str(&format!(" and {} more", paths.len() - MOST_NAMED));
            }
            Problem::new(409, "in-the-way", title("files that no snapshot holds are in the way"))
                .because(format!("ignored or left out, and they would be overwritten: {named}"))
                .next("move them away, or write the files elsewhere with `--to`")
        }
        GitError::Locked(path) => Problem::new(409, "locked", title("git's index is locked"))
            .because(format!("{} exists", path.display()))
            .next("wait until git has finished, or restore without `--index`"),
        GitError::Replaced(path) => {
            Problem::new(409, "work-tree-replaced", title("the work tree is not there any more"))
                .because(format!("{} is a link or another directory now", path.display()))
                .next("put the work tree back in its place, and try again")
        }
        GitError::AnotherRepository(path) => {
            let title = title("another repository is in its place");
            Problem::new(409, "another-repository", title)
                .because(format!(
                    "the repository of {} has not the commit that the snapshot builds on",
                    path.display()
                ))
                .next("write the files to another directory with `--to`")
        }
        GitError::NotEmpty(path) => {
            Problem::new(409, "not-empty", title("the directory is not empty"))
                .because(format!("{} has files in it", path.display()))
                .next("name a directory that is empty or does not exist")
        }
        GitError::NotElsewhere(path) => {
            not_elsewhere(title("the directory is not elsewhere"), path)
        }
        GitError::NotADirectory(path) => not_a_directory(title("that is not a directory"), path),
        GitError::Gone(path) => directory_gone(title("the directory is gone"), path),
        GitError::TooManyFiles(_) | GitError::TooManyBytes(_) | GitError::TooManyPatterns(_) => {
            Problem::new(409, "too-much", title("the work tree is too large"))
                .because(error.to_string())
                .next("have git ignore what need not be kept")
        }
        GitError::NoIndex(_) => Problem::new(409, "no-index", title("the snapshot has no index"))
            .because("the repository had none when the snapshot was taken")
            .next("restore without `--index`"),
        GitError::Interrupted => {
            Problem::new(409, "took-too-long", title("the work tree took too long to read"))
                .because("its files and ignore rules take more time than one snapshot may have")
                .next("have git ignore whole directories that need not be kept, and try again")
        }
        GitError::Damaged { .. } | GitError::Io { .. } | GitError::Missing(_) => {
            Problem::new(500, "snapshot-failed", title("a file can't be read or written"))
                .because(chain(error))
                .next("see the daemon's log; nothing that was there has been lost")
        }
    }
}

fn not_elsewhere(title: String, path: &Path) -> Problem {
    Problem::new(409, "not-elsewhere", title)
        .because(format!("{} is in the work tree or in a repository", path.display()))
        .next("name a directory outside of them, or leave `--to` out")
}

fn not_a_directory(title: String, path: &Path) -> Problem {
    Problem::new(409, "not-a-directory", title)
        .because(format!("{} is a file", path.display()))
        .next("name a directory that is empty or does not exist")
}

fn directory_gone(title: String, path: &Path) -> Problem {
    Problem::new(409, "no-work-tree", title)
        .because(format!("{} does not exist", path.display()))
        .next("put the directory back, or restore a snapshot elsewhere with `--to`")
}
