//! P20: what 10,000 tasks and 50,000 mails cost a fleet of 1,000 agents; P4's second half.
//!
//! Two homes. In the one that is judged most of it is over, as it is in use: 8,000 tasks are verified, every agent is on
//! one of the others, the rest lies on queues, and the mails were read. In the other nothing is over: no task is done and
//! no mail is read. Tasks and mails are written into the journal by the supervisor itself; the agents are sessions that the
//! command line starts, and it assigns each of them its task.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use perennial_core::command::Command;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::observation::Report;
use perennial_core::task::{
    Brief, Estimate, Queue, QueueWanted, ROUNDS_MAX, Resolution, Step, TaskCommand, TaskDraft,
};
use perennial_store::text;

use super::letters::{READERS, write_mails};
use super::past::Past;
use crate::clock::{timed, until};
use crate::peers::{Fleet, SLEEPER};
use crate::processes::{pss_kb, rss_kb};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const AGENTS: usize = 1_000;
const TASKS: u128 = 10_000;
const MAILS: u128 = 50_000;
/// A project has this many of the tasks.
const PROJECTS: u128 = 10;
const CALLS: usize = 40;
const FOUND_AGAIN: Duration = Duration::from_secs(60);

const MEMORY_GOAL_MB: f64 = 40.0;
const UP_GOAL_MS: f64 = 1000.0;
/// Of `task ls` beside `ls`.
const LISTING_GOAL: f64 = 2.0;

struct Mix {
    name: &'static str,
    /// How many tasks are verified.
    over: u128,
    are_mails_read: bool,
}

const MIXES: [Mix; 2] = [
    Mix { name: "8,000 tasks and all mails over", over: 8_000, are_mails_read: true },
    Mix { name: "nothing over", over: 0, are_mails_read: false },
];

struct Figures {
    pss_mb: f64,
    rss_mb: f64,
    up_ms: f64,
    ls: Samples,
    task_ls: Samples,
}

pub fn society(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    for (number, mix) in MIXES.iter().enumerate() {
        eprintln!("society: {AGENTS} agents, {TASKS} tasks, {MAILS} mails, {} …", mix.name);
        let home = workshop.room(&format!("society-{number}"))?;
        write_history(&home, mix)?;
        let mut fleet = Fleet::start_on(workshop, home)?;
        for number in 0..AGENTS {
            let name = format!("agent-{number}");
            fleet.spawn(&name, &SLEEPER)?;
            let task = task_id(mix.over + number as u128 + 1).to_string();
            output(&mut fleet.verb(&["task", "assign", &task, &name]))?;
        }
        lines.extend(shown(mix, &measured(&mut fleet)?));
    }
    Ok(())
}

fn shown(mix: &Mix, figures: &Figures) -> [Line; 3] {
    let Figures { pss_mb, rss_mb, up_ms, ls, task_ls } = figures;
    let line = |what: &str, ours: String, goal: String, reached: bool| Line {
        row: "P20",
        what: format!("{what}: {}", mix.name),
        ours,
        peer: "–".to_owned(),
        ratio: None,
        goal,
        reached,
    };
    let memory = format!("{pss_mb:.1} MB ({rss_mb:.1})");
    let goal = format!("≤ {MEMORY_GOAL_MB:.0} MB");
    let ratio = task_ls.p50() / ls.p50();
    [
        line("daemon's PSS (RSS)", memory, goal, *pss_mb <= MEMORY_GOAL_MB),
        line(
            "up after kill -9",
            format!("{up_ms:.0} ms"),
            "≤ 1 s".to_owned(),
            *up_ms <= UP_GOAL_MS,
        ),
        Line {
            peer: format!("ls {:.1} ms (p99 {:.1})", ls.p50(), ls.p99()),
            ratio: Some(ratio),
            ..line(
                &format!("task ls of one project, p50 of {CALLS}"),
                format!("{:.1} ms (p99 {:.1})", task_ls.p50(), task_ls.p99()),
                format!("≤ {LISTING_GOAL:.0} × ls"),
                ratio <= LISTING_GOAL,
            )
        },
    ]
}

/// The listings in turns, whole: as many tasks as one call may show. Then a daemon that is killed, and the next one.
fn measured(fleet: &mut Fleet) -> Result<Figures> {
    let call = |fleet: &Fleet, words: &[&str]| -> Result<f64> {
        let mut verb = fleet.verb(words);
        let (ms, ran) = timed(|| output(&mut verb));
        ran.map(|_| ms)
    };
    let project = project(fleet.home(), 0);
    let tasks = ["--json", "task", "ls", "--project", &project, "-n", "1000"];
    let [mut ls, mut task_ls] = [(); 2].map(|()| Samples::default());
    for _ in 0..CALLS {
        ls.add(call(fleet, &["ls", "--json"])?);
        task_ls.add(call(fleet, &tasks)?);
    }
    fleet.kill_daemon();
    let (up_ms, started) = timed(|| fleet.up());
    started?;
    let connected = || fleet.health("holders_connected").is_ok_and(|it| it >= AGENTS as i64);
    ensure!(until(FOUND_AGAIN, connected), "not all holders were found again");
    // What only listings take counts, too.
    call(fleet, &["ls", "--json"])?;
    call(fleet, &tasks)?;
    let pid = fleet.daemon_pid();
    let (pss_mb, rss_mb) = (pss_kb(pid)? / 1024.0, rss_kb(pid)? / 1024.0);
    Ok(Figures { pss_mb, rss_mb, up_ms, ls, task_ls })
}

fn task_id(number: u128) -> TaskId {
    TaskId(number)
}

/// A directory for each: a project is found by its path.
fn project(home: &Path, number: u128) -> String {
    home.join(format!("project-{number}")).to_string_lossy().into_owned()
}

/// What was worked on, and what was written and read meanwhile.
fn write_history(home: &Path, mix: &Mix) -> Result<()> {
    for number in 0..PROJECTS {
        std::fs::create_dir(project(home, number))?;
    }
    let mut past = Past::begin_in(home)?;
    for number in 1..=READERS {
        past.begin(AgentId(number), &format!("reader-{number}"), "claude")?;
    }
    for number in 1..=TASKS {
        let draft = draft(number, project(home, number % PROJECTS));
        past.ask(Command::Task(Box::new(TaskCommand::Add(Box::new(draft)))))?;
        if number <= mix.over {
            let (task, reason) = (task_id(number), format!("merged as {number:08x}"));
            let done = TaskCommand::Done { task, reason, check: Resolution::None };
            past.ask(Command::Task(Box::new(done)))?;
        }
    }
    write_mails(&mut past, MAILS, mix.are_mails_read)?;
    for number in 1..=READERS {
        past.ask(Command::Stop(AgentId(number).to_string()))?;
        past.report(AgentId(number), Report::Exited(Exit::KillSignal(15)))?;
    }
    past.settle(0)
}

/// A task as agents are given them: a text, steps, a scope, an estimate.
fn draft(number: u128, project: String) -> TaskDraft {
    let text = format!("What task {number} is about, where it was found, and what it needs.\n");
    let body = text::body(&text.repeat(5));
    let step = |at: u32| Step { text: format!("step {at} of task {number}"), is_done: false };
    let brief = Brief {
        title: format!("mend what is broken, number {number}"),
        text: Some(body.text.clone()),
        project,
        steps: (1..=4).map(step).collect(),
        dependencies: Vec::new(),
        parent: None,
        estimate: Some(Estimate::Steps(6)),
        reference: Some(format!("TICKET-{number}")),
        scope: vec![format!("src/part-{}", number % 50)],
        check: None,
        rounds_max: ROUNDS_MAX,
        queue: Queue::Nobody,
        reopens: None,
        had_by: Vec::new(),
    };
    let (to, finished) = (QueueWanted::Nobody, Vec::new());
    TaskDraft { id: task_id(number), brief, body: Some(body), to, finished }
}
