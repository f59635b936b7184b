//! Snapshots for people: the table, the card of one, what changed, and what was done.

use perennial_api::snapshot::{
    FileChange, LeftOutFile, RepositoryState, RestoredWorkTree, Snapshot, SnapshotCard,
    SnapshotDiff, SnapshotRestored, SnapshotTaken, SnapshotWorkTree,
};

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{counted, path, plain, several_lines, size, wrapped};

/// So many files that were left out are listed after `take`; `show` lists all.
const LISTED: usize = 10;

/// `why_none` is why there can be none.
pub fn list(all: &[Snapshot], why_none: Option<&str>, canvas: &Canvas<'_>) -> String {
    if all.is_empty() {
        return match why_none {
            None => "no snapshots yet\n".to_owned(),
            Some(why) => {
                format!("no snapshots: {}; commit or copy the files yourself\n", plain(why))
            }
        };
    }
    let (all, gone): (Vec<&Snapshot>, Vec<&Snapshot>) =
        all.iter().partition(|one| one.dropped.is_none());
    let column = |title, importance, clip, cell: &dyn Fn(&Snapshot) -> Cell| Column {
        title,
        importance,
        narrowest: 8,
        clip,
        cells: all.iter().map(|one| cell(one)).collect(),
    };
    let columns = vec![
        column("N", 10, Clip::Never, &|one| Cell::ink(one.number.to_string(), Ink::Strong)),
        column("TAKEN", 9, Clip::Never, &|one| Cell::new(canvas.clock.ago(&one.at))),
        column("FILES", 7, Clip::Never, &|one| Cell::new(one.files.to_string())),
        column("ADDED", 6, Clip::Never, &|one| Cell::new(size(one.bytes))),
        column("LEFT OUT", 8, Clip::Never, &|one| match one.left_out {
            0 => Cell::ink("-", Ink::Faint),
            count => Cell::new(count.to_string()),
        }),
        column("WHY", 4, Clip::End, &|one| Cell::new(why(&one.why))),
        column("BASE", 3, Clip::Never, &|one| {
            Cell::ink(one.base.as_deref().map(short).unwrap_or_default(), Ink::Faint)
        }),
    ];
    table(columns, canvas.width, canvas.paint) + &dropped(&gone)
}

/// What is not there any more, by why it was dropped.
fn dropped(gone: &[&Snapshot]) -> String {
    let (Some(last), Some(first)) = (gone.first(), gone.last()) else { return String::new() };
    let of = |why: &str| gone.iter().filter(|one| one.dropped.as_deref() == Some(why)).count();
    let (number, age) = (of("number"), of("age"));
    let why = match (number, age) {
        (_, 0) => "newer ones are kept".to_owned(),
        (0, _) => "they were too old".to_owned(),
        _ => format!("{number} because newer ones are kept, {age} because they were too old"),
    };
    let which = match first.number == last.number {
        true => format!("snapshot {} was dropped", first.number),
        false => {
            let (count, first, last) = (gone.len(), first.number, last.number);
            format!("{count} snapshots between {first} and {last} were dropped")
        }
    };
    format!("{which}: {why}; `perennial config explain keep_snapshots`\n")
}

fn why(word: &str) -> String {
    match word {
        "before-restore" => "before a restore".to_owned(),
        "phase-change" => "new phase".to_owned(),
        "planned-end" => "session's end".to_owned(),
        other => plain(other),
    }
}

fn short(commit: &str) -> String {
    plain(commit).chars().take(10).collect()
}

pub fn taken(taken: &SnapshotTaken, canvas: &Canvas<'_>) -> String {
    let one = &taken.snapshot;
    let tree = path(&plain(&one.work_tree), canvas.user);
    let mut text = match taken.is_same {
        true => format!("nothing changed since snapshot {} of {tree}\n", one.number),
        false => {
            let files = counted(one.files, "file");
            format!("snapshot {} of {tree}: {files}, {} added\n", one.number, size(one.bytes))
        }
    };
    if one.nested > 0 {
        let nested = match one.nested {
            1 => "1 repository".to_owned(),
            many => format!("{many} repositories"),
        };
        text.push_str(&format!("with {nested} inside it\n"));
    }
    for left in taken.left_out.iter().take(LISTED) {
        text.push_str(&format!("left out: {}\n", left_out(left)));
    }
    if taken.left_out.len() > LISTED {
        text.push_str(&format!("left out: {} more\n", taken.left_out.len() - LISTED));
    }
    if one.torn > 0 {
        text.push_str(&format!("{} changed while being read\n", counted(one.torn.into(), "file")));
    }
    text
}

fn left_out(left: &LeftOutFile) -> String {
    let why = match left.why.as_str() {
        "secret" => "may hold a secret",
        "too_large" => "too large",
        "special" => "not a regular file",
        "unreadable" => "can't be read",
        "too_deep" => "nested too deeply",
        other => other,
    };
    format!("{} ({})", plain(&left.path), plain(why))
}

pub fn card(card: &SnapshotCard, canvas: &Canvas<'_>) -> String {
    let one = &card.snapshot;
    let mut text = canvas.paint.ink(Ink::Strong, &format!("snapshot {}", one.number)) + "\n";
    let mut row = |label: &str, value: &str| {
        const INDENT: usize = 15;
        let value = wrapped(value, INDENT, INDENT, canvas.width);
        let label = canvas.paint.ink(Ink::Faint, &format!("{label:<12}"));
        text.push_str(&format!("  {label} {value}\n"));
    };
    row("taken", &format!("{} ({})", canvas.clock.time(&one.at), why(&one.why)));
    row("work tree", &path(&plain(&one.work_tree), canvas.user));
    row("added", &size(one.bytes));
    row("repository", &path(&plain(&one.repository), canvas.user));
    row("commit", &plain(&one.commit));
    row(
        "base",
        &one.base.as_deref().map_or_else(|| "none; everything was copied".to_owned(), plain),
    );
    for tree in &card.work_trees {
        if !tree.path.is_empty() {
            row("inside", &plain(&tree.path));
        }
        work_tree(tree, &mut row);
    }
    text
}

fn work_tree(tree: &SnapshotWorkTree, row: &mut impl FnMut(&str, &str)) {
    row("files", &tree.files.to_string());
    if let Some(head) = &tree.head {
        let head = plain(head);
        row("HEAD", head.strip_prefix("ref: refs/heads/").unwrap_or(&head));
    }
    if let Some(operation) = &tree.operation {
        row("unfinished", &plain(operation));
    }
    if !tree.has_index {
        row("index", "none");
    }
    for (position, left) in tree.left_out.iter().enumerate() {
        row(if position == 0 { "left out" } else { "" }, &left_out(left));
    }
    for (position, torn) in tree.torn.iter().enumerate() {
        row(if position == 0 { "torn" } else { "" }, &plain(torn));
    }
    for (position, lost) in tree.missing.iter().enumerate() {
        row(if position == 0 { "lost" } else { "" }, &plain(lost));
    }
}

pub fn diff(diff: &SnapshotDiff, canvas: &Canvas<'_>) -> String {
    if diff.changes.is_empty() {
        return format!("nothing changed since snapshot {}\n", diff.number);
    }
    let mut text = String::new();
    match &diff.patch {
        None => diff.changes.iter().for_each(|change| text.push_str(&changed(change))),
        Some(patch) => {
            for line in several_lines(patch).lines() {
                let ink = match line.chars().next() {
                    Some('+') => Some(Ink::Good),
                    Some('-') => Some(Ink::Alarm),
                    Some('@') => Some(Ink::Faint),
                    Some(_) | None => None,
                };
                match ink {
                    Some(ink) => text.push_str(&canvas.paint.ink(ink, line)),
                    None => text.push_str(line),
                }
                text.push('\n');
            }
        }
    }
    if diff.is_cut {
        text.push_str("… the rest is too long to show; --names lists all files\n");
    }
    text
}

fn changed(change: &FileChange) -> String {
    let letter = match change.change.as_str() {
        "added" => "A",
        "deleted" => "D",
        "modified" => "M",
        "mode" => "m",
        _ => "?",
    };
    format!("{letter} {}\n", plain(&change.path))
}

pub fn restored(restored: &SnapshotRestored, agent: &str, canvas: &Canvas<'_>) -> String {
    let written = counted(restored.written, "file");
    let place = path(&plain(&restored.directory), canvas.user);
    let left = lost(restored) + &changed_meanwhile(restored);
    let Some(present) = restored.present else {
        return format!("{written} of snapshot {} written to {place}\n{left}", restored.number);
    };
    let index = match restored.indexes {
        0 => "",
        _ => ", with its index",
    };
    let removed = counted(restored.removed, "file");
    let untouched: String = restored.work_trees.iter().map(untouched).collect();
    format!(
        "restored snapshot {} in {place}{index}: {written} written, {removed} removed\n\
         {left}{untouched}what was there before is snapshot {present}: `perennial snapshot restore {} {present}`\n",
        restored.number,
        plain(agent)
    )
}

/// What of a repository is not as it was at the snapshot, and was not touched.
fn untouched(tree: &RestoredWorkTree) -> String {
    let inside =
        if tree.path.is_empty() { String::new() } else { format!("{}: ", plain(&tree.path)) };
    let (then, now) = match (&tree.then, &tree.now) {
        (Some(then), Some(now)) => (then, now),
        (Some(_), None) if !tree.path.is_empty() => {
            return format!(
                "{inside}was a repository at the snapshot; only its files were restored\n"
            );
        }
        (None, Some(_)) if !tree.path.is_empty() => {
            return format!(
                "{inside}was no repository at the snapshot; its `.git` was not touched\n"
            );
        }
        (_, _) => return String::new(),
    };
    let mut text = String::new();
    if (&then.head, &then.head_commit) != (&now.head, &now.head_commit) {
        text.push_str(&format!(
            "{inside}HEAD is at {} now; at the snapshot it was at {}: branches were not touched\n",
            place_of_head(now),
            place_of_head(then)
        ));
    } else if !tree.path.is_empty() {
        text.push_str(&format!("{inside}a repository of its own: its branches were not touched\n"));
    }
    if let Some(operation) = &now.operation {
        let operation = plain(operation);
        text.push_str(&format!("{inside}a {operation} is unfinished: it was not touched\n"));
    }
    if let Some(operation) = then.operation.as_ref().filter(|_| then.operation != now.operation) {
        let operation = plain(operation);
        text.push_str(&format!(
            "{inside}at the snapshot a {operation} was unfinished: only its files were restored\n"
        ));
    }
    text
}

/// Its commit, and its branch if it is on one.
fn place_of_head(state: &RepositoryState) -> String {
    let commit = state.head_commit.as_deref().map_or_else(|| "no commit".to_owned(), short);
    let head = state.head.as_deref().unwrap_or_default();
    match head.strip_prefix("ref:").map(|name| name.trim().trim_start_matches("refs/heads/")) {
        Some(branch) => format!("{commit} ({})", plain(branch)),
        None => commit,
    }
}

/// What somebody changed while the restore went on.
fn changed_meanwhile(restored: &SnapshotRestored) -> String {
    if restored.changed_count == 0 {
        return String::new();
    }
    let named = named(&restored.changed, restored.changed_count);
    format!("not restored, because somebody changed them while the restore went on:\n{named}")
}

fn named(listed: &[String], count: u64) -> String {
    let named = listed.iter().take(LISTED).map(|path| format!("  {}\n", plain(path)));
    let named: String = named.collect();
    let more = count.saturating_sub(LISTED as u64);
    if more == 0 { named } else { format!("{named}  and {more} more\n") }
}

/// What could not be restored.
fn lost(restored: &SnapshotRestored) -> String {
    if restored.missing_count == 0 {
        return String::new();
    }
    let named = named(&restored.missing, restored.missing_count);
    format!("not restored, because the project's repository has lost them:\n{named}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::time::fixed;

    #[test]
    fn what_is_shown() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let one = Snapshot {
            number: 2,
            at: "2026-11-17T12:00:00Z".to_owned(),
            why: "before-restore".to_owned(),
            work_tree: "/work/web".to_owned(),
            base: Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned()),
            files: 554,
            bytes: 35_000,
            left_out: 1,
            ..Snapshot::default()
        };
        let left = LeftOutFile { path: ".env\u{1b}".to_owned(), why: "secret".to_owned() };
        let told = SnapshotTaken { snapshot: one, is_same: false, left_out: vec![left] };
        let text = taken(&told, &canvas);
        assert!(
            text.starts_with("snapshot 2 of /work/web: 554 files, 34.2 KiB added\nleft out: .env")
        );
        assert!(text.ends_with(" (may hold a secret)\n") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(list(&[], None, &canvas), "no snapshots yet\n");
        let state = |head: &str, commit: &str, operation: Option<&str>| {
            let (head, head_commit) = (Some(head.to_owned()), Some(commit.to_owned()));
            Some(RepositoryState { head, head_commit, operation: operation.map(str::to_owned) })
        };
        let restored = super::restored(
            &SnapshotRestored {
                number: 1,
                present: Some(2),
                directory: "/work/web".to_owned(),
                written: 1,
                removed: 3,
                indexes: 1,
                missing_count: 2,
                missing: vec!["a/".to_owned(), "b".to_owned()],
                changed_count: 1,
                changed: vec!["c".to_owned()],
                work_trees: vec![RestoredWorkTree {
                    then: state("ref: refs/heads/topic", "4b825dc642cb6eb9a060", Some("rebase")),
                    now: state("ref: refs/heads/main", "e69de29bb2d1d6434b8b", Some("merge")),
                    ..RestoredWorkTree::default()
                }],
            },
            "bob",
            &canvas,
        );
        insta::assert_snapshot!(restored, @r"
        restored snapshot 1 in /work/web, with its index: 1 file written, 3 files removed
        not restored, because the project's repository has lost them:
          a/
          b
        not restored, because somebody changed them while the restore went on:
          c
        HEAD is at e69de29bb2 (main) now; at the snapshot it was at 4b825dc642 (topic): branches were not touched
        a merge is unfinished: it was not touched
        at the snapshot a rebase was unfinished: only its files were restored
        what was there before is snapshot 2: `perennial snapshot restore bob 2`
        ");
    }
}
