//! What happened to the snapshots of an agent's work tree, as sentences.

use perennial_core::keeping::MissCause;
use perennial_core::snapshot::{
    DropCause, RestoreBegun, RestoreEnded, SnapshotCause, SnapshotEvent, SnapshotMissed,
};

pub fn sentence(event: &SnapshotEvent) -> String {
    match event {
        SnapshotEvent::Wanted(wanted) => format!("a snapshot is wanted{}", occasion(wanted.why)),
        SnapshotEvent::Taken(taken) => {
            let files = match taken.files.files {
                1 => "1 file".to_owned(),
                many => format!("{many} files"),
            };
            let left = match taken.files.left_out {
                0 => String::new(),
                count => format!(", {count} left out"),
            };
            format!("snapshot {} taken{}: {files}{left}", taken.number, occasion(taken.why))
        }
        SnapshotEvent::Unchanged { why, number, .. } if why.is_asked() => {
            format!(
                "snapshot {number} is kept as asked{}: nothing has changed since",
                occasion(*why)
            )
        }
        SnapshotEvent::Unchanged { why, number, .. } => {
            format!("no snapshot{}: nothing has changed since snapshot {number}", occasion(*why))
        }
        SnapshotEvent::Missed(SnapshotMissed { why, cause, told, .. }) => {
            let told = if told.is_empty() { String::new() } else { format!(" ({told})") };
            format!("no snapshot{}: {}{told}", occasion(*why), missed(*cause))
        }
        SnapshotEvent::Dropped { numbers, why } => {
            format!("{} dropped: {}", several(numbers), dropped(*why))
        }
        SnapshotEvent::Removed { numbers, .. } => {
            format!("the files of {} were removed", several(numbers))
        }
        SnapshotEvent::RestoreEnded(ended) => restored(ended),
        SnapshotEvent::RestoreBegun(RestoreBegun { number, present, with_index, .. }) => {
            let index = if *with_index { " and index" } else { "" };
            format!(
                "restoring files{index} of snapshot {number}; snapshot {present} is what was there"
            )
        }
    }
}

fn several(numbers: &[u32]) -> String {
    match numbers {
        [one] => format!("snapshot {one}"),
        [first, .., last] => format!("{} snapshots ({first} to {last})", numbers.len()),
        [] => "no snapshot".to_owned(),
    }
}

fn dropped(why: DropCause) -> &'static str {
    match why {
        DropCause::Number => "newer ones are kept",
        DropCause::Age => "they were older than is kept",
    }
}

fn restored(ended: &RestoreEnded) -> String {
    let RestoreEnded { number, present, outcome, .. } = ended;
    let done = format!("{} written, {} removed", outcome.written, outcome.removed);
    let changed = match outcome.changed {
        0 => String::new(),
        count => format!(", {count} left as they were, because they were changed while it went on"),
    };
    let before = format!("what was there before is snapshot {present}");
    match &outcome.failed {
        None if outcome.left > 0 => format!(
            "files of snapshot {number} restored: {done}, {} left as they were, because the project's repository has \
             lost them{changed}; {before}",
            outcome.left
        ),
        None => format!("files of snapshot {number} restored: {done}{changed}; {before}"),
        Some(why) => format!(
            "the restore of snapshot {number} stopped: {why}; {done}, {} left as they were{changed}; {before}",
            outcome.left
        ),
    }
}

fn occasion(why: SnapshotCause) -> &'static str {
    match why {
        SnapshotCause::Asked => "",
        SnapshotCause::BeforeRestore => " before a restore",
        SnapshotCause::PlannedEnd => " before the session ends",
        SnapshotCause::Crash => " after the session ended unexpectedly",
        SnapshotCause::Reboot => " after the machine restarted",
        SnapshotCause::PhaseChange => " at a change of phase",
        SnapshotCause::Commit => " at a commit",
        SnapshotCause::Checkpoint => " for a checkpoint",
    }
}

fn missed(cause: MissCause) -> &'static str {
    match cause {
        MissCause::TookTooLong => "it took too long",
        MissCause::NoWorkTree => "its directory is in no git work tree",
        MissCause::Unsupported => "its repository is of a kind that is not read",
        MissCause::Failed => "a file could not be read or written",
        MissCause::HomeCopied => "the home was copied",
    }
}
