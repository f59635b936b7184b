//! Tasks for reading in a terminal. Titles, steps, texts and reasons are others' words: everything is escaped.

use perennial_api::task::{Task, TaskList, TaskPart, TaskSession};
use perennial_core::id;

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, ids, table_with_notes};
use super::text::{self, counted, plain, quotation, quoted_lines};
use crate::cli::vocabulary::Words;

/// The table of `task ls`. `options` ask for the next page.
pub fn table(list: &TaskList, options: &str, canvas: &Canvas<'_>) -> String {
    let tasks = &list.tasks;
    if tasks.is_empty() && !options.is_empty() {
        return "no such tasks\n".to_owned();
    }
    if tasks.is_empty() {
        return "no tasks\nadd one:  perennial task add 'fix the build'\n".to_owned();
    }
    let columns = vec![
        ids(tasks.iter().map(|task| task.id.as_str())),
        column(tasks, ("STATE", 9, 8, Clip::Never), &state),
        column(tasks, ("WHOSE", 8, 8, Clip::End), &|task| {
            Cell::ink(task.assignee.as_deref().map_or("-".to_owned(), plain), Ink::Strong)
        }),
        column(tasks, ("STEPS", 5, 5, Clip::Never), &|task| Cell::new(steps(task))),
        column(tasks, ("AGE", 4, 4, Clip::Never), &|task| {
            Cell::new(canvas.clock.ago(&task.added_at))
        }),
        column(tasks, ("TITLE", 10, 16, Clip::End), &|task| Cell::new(plain(&task.title))),
    ];
    let notes: Vec<Option<String>> = tasks.iter().map(noted).collect();
    let mut shown = table_with_notes(columns, &notes, canvas);
    shown.push_str(&older(list, options, canvas));
    shown
}

/// The table of `loops`.
pub fn loops(list: &TaskList, canvas: &Canvas<'_>) -> String {
    let tasks = &list.tasks;
    if tasks.is_empty() {
        return "no open loops\n".to_owned();
    }
    let of = |task: &Task| task.open_loop.clone().unwrap_or_default();
    let columns = vec![
        ids(tasks.iter().map(|task| task.id.as_str())),
        column(tasks, ("STATE", 7, 8, Clip::Never), &state),
        column(tasks, ("LEFT BY", 8, 8, Clip::End), &|task| Cell::new(plain(&of(task).from))),
        column(tasks, ("TOLD", 9, 8, Clip::End), &|task| {
            Cell::ink(plain(&of(task).to), Ink::Strong)
        }),
        column(tasks, ("TIMES", 5, 5, Clip::Never), &|task| Cell::new(of(task).raised.to_string())),
        column(tasks, ("TITLE", 10, 16, Clip::End), &|task| Cell::new(plain(&task.title))),
    ];
    let next = |task: &Task| {
        let next = canvas.clock.until(of(task).next_at.as_deref()?)?;
        Some(format!("told again in {next}"))
    };
    let notes: Vec<Option<String>> = tasks.iter().map(next).collect();
    let mut shown = table_with_notes(columns, &notes, canvas);
    let advice = "take, assign or drop each: perennial task --help\n";
    shown.push_str(&canvas.paint.ink(Ink::Faint, advice));
    shown
}

type Heading = (&'static str, u8, usize, Clip);

fn column(tasks: &[Task], heading: Heading, cell: &dyn Fn(&Task) -> Cell) -> Column {
    let (title, importance, narrowest, clip) = heading;
    Column { title, importance, narrowest, clip, cells: tasks.iter().map(cell).collect() }
}

fn state(task: &Task) -> Cell {
    match task.state.as_str() {
        "blocked" | "claimed" => Cell::ink(plain(&task.state), Ink::Attention),
        _ => Cell::new(plain(&task.state)),
    }
}

fn steps(task: &Task) -> String {
    match task.steps.len() {
        0 => "-".to_owned(),
        all => format!("{}/{all}", task.steps_done),
    }
}

/// What a task waits for, where that is not plain from its state.
fn note(task: &Task) -> Option<String> {
    match (&task.open_loop, task.state.as_str()) {
        (Some(it), _) => {
            Some(format!("open loop of {}: {} was told", plain(&it.from), plain(&it.to)))
        }
        (None, "open") if !task.waits_for.is_empty() => {
            Some(format!("waits for {}", short(&task.waits_for)))
        }
        (None, "split") => Some(format!("split into {}", short(&task.parts))),
        (None, "blocked" | "claimed") => Some(plain(&task.reason)),
        (None, "taken") if task.rounds > 0 => Some(plain(&task.reason)),
        (None, _) => None,
    }
}

/// Tasks as lists show their ids.
fn short(tasks: &[String]) -> String {
    let ids: Vec<&str> = tasks.iter().map(String::as_str).collect();
    plain(&id::ends(&ids).join(", "))
}

/// The same, and how many sessions it took, where one was not enough.
fn noted(task: &Task) -> Option<String> {
    let unplanned = match task.sessions_unplanned {
        0 => String::new(),
        count => format!(" ({count} unplanned)"),
    };
    let sessions = format!("{} sessions{unplanned}", task.sessions);
    let sessions = (task.sessions > 1).then_some(sessions);
    let both: Vec<String> = [note(task), sessions].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}

fn older(list: &TaskList, options: &str, canvas: &Canvas<'_>) -> String {
    match (list.has_older, list.tasks.last()) {
        (true, Some(last)) => {
            let next = format!("more: perennial task ls {options}--before {}\n", plain(&last.id));
            canvas.paint.ink(Ink::Faint, &next)
        }
        (true, None) | (false, _) => String::new(),
    }
}

/// What became of a task: where it stands, and what there is of steps and notes. `words` name a role whose task it is.
pub fn changed(task: &Task, words: &Words) -> String {
    let steps = match task.steps.len() {
        0 => String::new(),
        all => format!(", {} of {all} steps done", task.steps_done),
    };
    let notes = match task.notes {
        0 => String::new(),
        1 => ", 1 note".to_owned(),
        notes => format!(", {notes} notes"),
    };
    let whose = task.assignee.as_deref().map(|it| words.queue(it));
    let whose = whose.map(|it| format!(" ({})", plain(&it))).unwrap_or_default();
    let (id, state) = (plain(&task.id), plain(&task.state));
    let (title, reason) = (plain(&task.title), plain(&task.reason));
    format!("{id} {state}{whose}: {title}\n  {reason}{steps}{notes}\n{}", next_step(task))
}

/// The first step that is not done, of a task that is to be worked on.
fn next_step(task: &Task) -> String {
    let is_to_do = matches!(task.state.as_str(), "open" | "taken" | "blocked");
    let open = (1..).zip(&task.steps).find(|(_, step)| is_to_do && !step.done);
    open.map(|(at, step)| format!("  next: step {at}, {}\n", quotation(&step.text)))
        .unwrap_or_default()
}

/// Steps that nobody marked as done, of a task that is said to be.
pub fn open_steps(task: &Task) -> Option<String> {
    let all = task.steps.len();
    let open = all.saturating_sub(usize::try_from(task.steps_done).unwrap_or(all));
    let is_said = matches!(task.state.as_str(), "claimed" | "verified");
    (is_said && open > 0).then(|| format!("note: {open} of {all} steps are not marked as done\n"))
}

/// Parts that are not done, of a task that is said to be.
pub fn open_parts(task: &Task) -> Option<String> {
    let is_open = |part: &&TaskPart| !matches!(part.state.as_str(), "verified" | "dropped");
    let open: Vec<&str> =
        task.part_states.iter().filter(is_open).map(|part| part.id.as_str()).collect();
    let is_said = matches!(task.state.as_str(), "claimed" | "verified");
    let (verb, all) = (if open.len() == 1 { "is" } else { "are" }, task.part_states.len());
    let named = plain(&id::ends(&open).join(", "));
    let note = format!("note: {} of {all} parts {verb} not done: {named}\n", open.len());
    (is_said && !open.is_empty()).then_some(note)
}

/// The state of an agent that a task does not wake.
fn nobody_works(task: &Task) -> Option<&str> {
    task.assignee_state.as_deref().filter(|state| matches!(*state, "sleeping" | "frozen"))
}

/// That nobody works on a task until its agent is woken.
pub fn asleep(task: &Task) -> Option<String> {
    let (state, whose) = (nobody_works(task)?, plain(task.assignee.as_deref()?));
    let woken = match state {
        "frozen" => "it is thawed, which needs your approval".to_owned(),
        _ => format!("it is woken: perennial wake {whose}"),
    };
    Some(format!("note: {whose} is {state}; nobody works on the task until {woken}\n"))
}

/// That a task's own check did not pass, where somebody's word verified it.
pub fn check_not_passed(task: &Task) -> Option<String> {
    let by_word = matches!(task.verified_by.as_deref(), Some("operator" | "parent"));
    let check = plain(task.check.as_deref().filter(|_| by_word)?);
    let named =
        if check == "command" { "its check".to_owned() } else { format!("its check {check}") };
    match &task.last_check {
        None => Some(format!("note: {named} has not run: accepted without it\n")),
        Some(last) if !last.passed => {
            Some(format!("note: {named} did not pass when it ran last: {}\n", plain(&last.end)))
        }
        Some(_) => None,
    }
}

/// One task with everything that is known of it.
pub fn card(task: &Task, canvas: &Canvas<'_>) -> String {
    let mut lines: Vec<(&str, String)> = vec![
        ("task", format!("{} {}", plain(&task.id), quotation(&task.title))),
        ("state", standing(task)),
        ("since", canvas.clock.ago(&task.since) + " ago, by " + &plain(&task.by)),
    ];
    let mut add = |label, value: Option<String>| lines.extend(value.map(|value| (label, value)));
    let asleep = nobody_works(task).map(|state| format!(" ({state})")).unwrap_or_default();
    add("whose", task.assignee.as_deref().map(|whose| plain(whose) + &asleep));
    add("project", Some(text::path(text::project(&task.project), canvas.user)));
    let listed = |ids: &[String]| (!ids.is_empty()).then(|| plain(&ids.join(", ")));
    add("depends on", listed(&task.depends_on));
    add("waits for", listed(&task.waits_for));
    add("part of", task.parent.as_deref().map(plain));
    add("reopens", task.reopens.as_deref().map(plain));
    add("estimate", estimate(task));
    add("actual", Some(actual(task)));
    add("reference", task.reference.as_deref().map(plain));
    add("scope", listed(&task.scope));
    let command = (!task.check_command.is_empty()).then(|| task.check_command.join(" "));
    add("check", command.or(task.check.clone()).as_deref().map(plain));
    add("sessions", sessions(task));
    add("rounds", (task.rounds > 0).then(|| format!("{} of {}", task.rounds, task.rounds_max)));
    add("added", Some(canvas.clock.ago(&task.added_at) + " ago, by " + &plain(&task.added_by)));
    let open_loop = task.open_loop.as_ref();
    add(
        "open loop",
        open_loop.map(|it| {
            let next =
                it.next_at.as_deref().and_then(|at| canvas.clock.until(at)).unwrap_or_default();
            let told = match it.raised {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            };
            format!(
                "left by {}; {} was told {told}, again in {next}",
                plain(&it.from),
                plain(&it.to)
            )
        }),
    );
    let mut shown = String::new();
    for (label, value) in lines {
        shown.push_str(&format!("{:<11} {value}\n", format!("{label}:")));
    }
    for (at, step) in (1..).zip(&task.steps) {
        let mark = if step.done { 'x' } else { ' ' };
        shown.push_str(&format!("  {at}. [{mark}] {}\n", plain(&step.text)));
    }
    shown.push_str(&parts_with_states(task));
    if let Some(text) = &task.text {
        shown.push_str(&format!("\n{}", quoted_lines(text)));
    }
    if let Some(check) = &task.last_check {
        let name = check.check.as_deref().map(|name| format!(" {}", plain(name)));
        shown.push_str(&format!(
            "\nlast check{}: {}\n{}",
            name.unwrap_or_default(),
            plain(&check.end),
            quoted_lines(&check.output)
        ));
    }
    shown + &words(task, canvas)
}

/// What is part of it, and where each part stands.
fn parts_with_states(task: &Task) -> String {
    let line = |part: &TaskPart| {
        let (id, state) = (plain(&part.id), plain(&part.state));
        format!("  {id} {state:<8} {}\n", quotation(&part.title))
    };
    let lines: String = task.part_states.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("parts:\n{lines}") }
}

/// What was said of it and written to it.
fn words(task: &Task, canvas: &Canvas<'_>) -> String {
    let mut shown = String::new();
    for said in &task.last_words {
        let (change, by, ago) = (plain(&said.change), plain(&said.by), canvas.clock.ago(&said.at));
        shown.push_str(&format!("\n{change} by {by}, {ago} ago\n{}", quoted_lines(&said.text)));
    }
    for note in &task.last_notes {
        let ago = canvas.clock.ago(&note.at);
        shown.push_str(&format!(
            "\nnote of {}, {ago} ago\n{}",
            plain(&note.by),
            quoted_lines(&note.text)
        ));
    }
    shown
}

/// Its state and why; most reasons begin with the state. Its parts have lines of their own.
fn standing(task: &Task) -> String {
    if task.state == "split" {
        return format!("split into {}", counted(task.parts.len() as u64, "part"));
    }
    match task.reason.starts_with(&task.state) {
        true => plain(&task.reason),
        false => format!("{}, {}", plain(&task.state), plain(&task.reason)),
    }
}

/// How many sessions it took, and why each began after the first.
fn sessions(task: &Task) -> Option<String> {
    let one = |session: &TaskSession| {
        format!("{}.{} {}", plain(&session.agent), session.number, plain(&session.why))
    };
    let listed: Vec<String> = task.last_sessions.iter().map(one).collect();
    let unplanned = match task.sessions_unplanned {
        0 => String::new(),
        count => format!(", {count} unplanned"),
    };
    let more = if task.sessions as usize > listed.len() { "… " } else { "" };
    let all = format!("{}{unplanned}: {more}{}", task.sessions, listed.join(", "));
    (task.sessions > 0).then_some(all)
}

fn estimate(task: &Task) -> Option<String> {
    let tokens = task.estimate_tokens.map(|tokens| counted(tokens, "token"));
    tokens.or_else(|| task.estimate_steps.map(|steps| counted(steps, "step")))
}

fn actual(task: &Task) -> String {
    let tokens = match (task.tokens, task.state.as_str()) {
        (Some(tokens), _) => counted(tokens, "token"),
        (None, "taken") => "tokens counted when its agent leaves the task".to_owned(),
        (None, _) => "tokens not known".to_owned(),
    };
    let more = if task.exceeds_estimate { "; more than twice the estimate" } else { "" };
    format!("{} of {} steps, {tokens}{more}", task.steps_done, task.steps.len())
}
