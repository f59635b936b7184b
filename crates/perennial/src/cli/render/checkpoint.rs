//! Checkpoints for people: the table, one of them, and what was taken. Words of agents are quoted line by line.

use perennial_api::checkpoint::{Checkpoint, CheckpointCard, GitState, TaskMark};

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{plain, quoted_lines, wrapped};

pub const NONE: &str = "no checkpoints yet\n";
/// So many files are listed; the others are counted.
const LISTED: usize = 20;

/// The table, with at most this many rows.
pub fn list(found: &[Checkpoint], most: usize, canvas: &Canvas<'_>) -> String {
    let all = &found[..found.len().min(most)];
    if all.is_empty() {
        return NONE.to_owned();
    }
    let column = |title, importance, clip, cell: &dyn Fn(&Checkpoint) -> Cell| Column {
        title,
        importance,
        narrowest: 8,
        clip,
        cells: all.iter().map(cell).collect(),
    };
    let columns = vec![
        column("N", 10, Clip::Never, &|one| Cell::ink(one.number.to_string(), Ink::Strong)),
        column("TAKEN", 9, Clip::Never, &|one| Cell::new(canvas.clock.ago(&one.at))),
        column("WHY", 6, Clip::End, &|one| Cell::new(why(&one.why))),
        column("PHASE", 7, Clip::Never, &|one| Cell::new(plain(&one.phase))),
        column("SNAPSHOT", 3, Clip::Never, &|one| match one.snapshot {
            Some(number) => Cell::new(number.to_string()),
            None => Cell::ink("-", Ink::Faint),
        }),
        column("WORK", 8, Clip::End, &|one| {
            Cell::new(plain(one.summary.as_deref().unwrap_or_default()))
        }),
    ];
    let mut shown = table(columns, canvas.width, canvas.paint);
    if found.len() > all.len() {
        shown.push_str(&canvas.paint.ink(Ink::Faint, "there are older ones: -n lists more\n"));
    }
    shown
}

pub fn why(word: &str) -> String {
    match word {
        "agent" => "by the agent".to_owned(),
        "operator" => "by you".to_owned(),
        "phase" => "new phase".to_owned(),
        "finished" => "session ended".to_owned(),
        "planned-end" => "session's end".to_owned(),
        "before-compaction" => "compaction".to_owned(),
        other => plain(other),
    }
}

/// The last one, in `show`.
pub fn line(last: &Checkpoint, canvas: &Canvas<'_>) -> String {
    let (ago, why) = (canvas.clock.ago(&last.at), why(&last.why));
    let work = last.summary.as_deref().map(|work| format!(": {}", plain(work)));
    format!("{}, {ago} ago ({why}){}", last.number, work.unwrap_or_default())
}

pub fn taken(card: &CheckpointCard, target: &str) -> String {
    let one = &card.checkpoint;
    let files = match &card.git {
        Some(git) if git.changed_count > 0 => format!(", {} not committed", files(git)),
        Some(_) => ", nothing uncommitted".to_owned(),
        None => String::new(),
    };
    let snapshot = match one.snapshot {
        Some(number) => format!("; its files are snapshot {number}"),
        None => "; no snapshot: its directory is in no git work tree that can be read".to_owned(),
    };
    let (number, phase) = (one.number, plain(&one.phase));
    format!(
        "checkpoint {number}: phase {phase}{files}{snapshot}\nshow it with: perennial checkpoints {} {number}\n",
        plain(target)
    )
}

fn files(git: &GitState) -> String {
    match git.changed_count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

pub fn card(card: &CheckpointCard, canvas: &Canvas<'_>) -> String {
    let one = &card.checkpoint;
    let mut page = Page::new(canvas);
    page.title(&format!("checkpoint {}", one.number));
    page.row("taken", &format!("{} ({})", canvas.clock.time(&one.at), why(&one.why)));
    page.row("session", &one.session.to_string());
    page.row("phase", &phases(card));
    if let Some(snapshot) = one.snapshot {
        page.row("snapshot", &snapshot.to_string());
    }
    if card.is_unreadable {
        page.row("work", &plain(one.summary.as_deref().unwrap_or_default()));
        page.row("content", "can't be read");
        return page.text;
    }
    if let Some(note) = &card.note {
        page.row("note", &plain(note));
    }
    if let Some(situation) = &card.situation {
        page.row("situation", &plain(situation));
    }
    if let Some(task) = &card.task {
        page.row("task", &task_line(task));
    }
    found(card, &mut page);
    page.section("How to go on (by Perennial):", &card.resumption_instructions);
    said(card, &mut page);
    page.text
}

fn phases(card: &CheckpointCard) -> String {
    let earlier = card.phases.iter().rev().skip(1).rev().map(|span| plain(&span.phase));
    let mut words: Vec<String> = earlier.collect();
    words.push(plain(&card.checkpoint.phase));
    words.join(" → ")
}

fn task_line(task: &TaskMark) -> String {
    let title = plain(&task.title);
    match (task.open_step, &task.open_step_text) {
        (Some(at), Some(step)) => {
            format!("{title}; step {at} of {}: {}", task.steps, plain(step))
        }
        (_, _) => title,
    }
}

/// What Perennial found.
fn found(card: &CheckpointCard, page: &mut Page<'_, '_>) {
    if let Some(git) = &card.git {
        let branch = git.branch.as_deref().map_or_else(|| "detached".to_owned(), plain);
        let head = git.head.as_deref().map_or_else(|| "no commit".to_owned(), plain);
        let short: String = head.chars().take(10).collect();
        page.row("branch", &format!("{branch} at {short}"));
        let listed = git.changed.iter().take(LISTED);
        let mut paths: Vec<String> = listed
            .map(|one| match one.change.as_str() {
                "modified" => plain(&one.path),
                other => format!("{} ({})", plain(&one.path), plain(other)),
            })
            .collect();
        let more = git.changed_count.saturating_sub(paths.len() as u64);
        if more > 0 {
            paths.push(format!("and {more} more"));
        }
        let changed = if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") };
        page.row("uncommitted", &changed);
    }
    let found = &card.found;
    if !found.edited.is_empty() {
        let newest = found.edited.iter().rev().take(LISTED).map(|path| plain(path));
        page.row("edited", &newest.collect::<Vec<_>>().join(", "));
    }
    if let Some(run) = &found.tests {
        let failing = run.failing.as_deref().map(|test| format!("; failing: {}", plain(test)));
        let told = format!(
            "{}: {}{}",
            plain(&run.outcome),
            plain(&run.command),
            failing.unwrap_or_default()
        );
        page.row("tests", &told);
    }
    if let Some(call) = &found.last_call {
        let open = if call.is_open { ", not ended" } else { "" };
        page.row("last call", &format!("{} {}{open}", plain(&call.tool), plain(&call.about)));
    }
    if let Some(words) = &found.last_words {
        page.row("last words", &plain(words));
    }
}

/// The agent's own words.
fn said(card: &CheckpointCard, page: &mut Page<'_, '_>) {
    let said = &card.said;
    let mut lines = Vec::new();
    lines.extend(said.summary.iter().map(|text| format!("summary: {text}")));
    for one in &said.decisions {
        let why = one.why.as_ref().map(|why| format!(" (because: {why})")).unwrap_or_default();
        lines.push(format!("decided: {}{why}", one.what));
    }
    lines.extend(said.knowledge.iter().map(|text| format!("known: {text}")));
    lines.extend(said.questions.iter().map(|text| format!("open: {text}")));
    lines.extend(said.instructions.iter().map(|text| format!("next: {text}")));
    if !lines.is_empty() {
        page.quoted("What the agent said:", &lines.join("\n"));
    }
}

struct Page<'a, 'b> {
    canvas: &'a Canvas<'b>,
    text: String,
}

impl<'a, 'b> Page<'a, 'b> {
    fn new(canvas: &'a Canvas<'b>) -> Page<'a, 'b> {
        Page { canvas, text: String::new() }
    }

    fn title(&mut self, title: &str) {
        self.text.push_str(&(self.canvas.paint.ink(Ink::Strong, title) + "\n"));
    }

    fn row(&mut self, label: &str, value: &str) {
        const INDENT: usize = 15;
        let value = wrapped(value, INDENT, INDENT, self.canvas.width);
        let label = self.canvas.paint.ink(Ink::Faint, &format!("{label:<12}"));
        self.text.push_str(&format!("  {label} {value}\n"));
    }

    fn section(&mut self, title: &str, words: &str) {
        let words = wrapped(&plain(words), 2, 2, self.canvas.width);
        self.text.push_str(&format!("\n{title}\n  {words}\n"));
    }

    fn quoted(&mut self, title: &str, words: &str) {
        self.text.push_str(&format!("\n{title}\n{}", quoted_lines(words)));
    }
}
