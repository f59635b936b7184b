//! The table of `ls`, in the daemon's order: agents that need you first.

use std::path::Path;

use perennial_api::{Agent, state};

use super::card::command;
use super::paint::{Ink, Paint, state_ink};
use super::table::{Cell, Clip, Column, table};
use super::text::{self, plain};
use super::time::LocalTime;

/// What the table is drawn on.
#[derive(Debug)]
pub struct Canvas<'a> {
    pub clock: &'a LocalTime,
    pub paint: Paint,
    pub width: Option<usize>,
    /// The user's own directory, shown as `~`.
    pub user: Option<&'a Path>,
}

/// A name of up to this many columns is never cut: it is what one has to type.
const NAME_WHOLE: usize = 24;

/// `unlisted` is the number of dead agents that are not among these.
pub fn roster(agents: &[Agent], unlisted: usize, canvas: &Canvas<'_>) -> String {
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Agent) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: agents.iter().map(cell).collect(),
    };
    let path = |path: &str| text::path(path, canvas.user);
    let optional = |value: &Option<String>| Cell::new(plain(value.as_deref().unwrap_or_default()));
    let is_measured = agents.iter().any(|agent| agent.context.is_some());
    let columns = vec![
        column("", 10, 1, Clip::Never, &|agent| {
            Cell::ink(if agent.needs_you { "!" } else { "" }, Ink::Attention)
        }),
        column("NAME", 10, NAME_WHOLE, Clip::Middle, &|agent| Cell::ink(name(agent), Ink::Strong)),
        column("STATE", 9, 11, Clip::Never, &|agent| {
            Cell::ink(plain(&agent.state), state_ink(&agent.state))
        }),
        column("REASON", 8, 20, Clip::End, &|agent| Cell::new(reason(agent, canvas.clock))),
        column("SINCE", 7, 4, Clip::Never, &|agent| Cell::new(canvas.clock.ago(&agent.since))),
        column("CONTEXT", 7, 4, Clip::Never, &|agent| context(agent, is_measured)),
        column("TEXTS", 8, 1, Clip::Never, &|agent| texts(agent)),
        // Mail is addressed to it. Nothing is lost by it where nobody has a role.
        column("ROLE", 6, 6, Clip::End, &|agent| optional(&agent.role)),
        column("SESSION", 5, 3, Clip::Never, &|agent| Cell::new(session(agent))),
        // Often empty, and `show` has it: it goes before a command does.
        column("PARENT", 2, 6, Clip::End, &|agent| optional(&agent.parent)),
        column("DIR", 4, 10, Clip::Start, &|agent| Cell::ink(path(&agent.dir), Ink::Faint)),
        column("COMMAND", 3, 10, Clip::End, &|agent| Cell::ink(command(agent), Ink::Faint)),
    ];
    let mut shown = table(columns, canvas.width, canvas.paint);
    let cemetery = Some(unlisted).filter(|count| *count > 0).map(in_cemetery);
    for line in std::iter::once(counts(agents)).chain(cemetery) {
        shown.push_str(&canvas.paint.ink(Ink::Faint, &line));
        shown.push('\n');
    }
    shown
}

/// How many dead agents are not listed, and what lists them.
pub fn in_cemetery(count: usize) -> String {
    format!("{count} in the cemetery: perennial ls --roster cemetery")
}

/// What the agent is asked for by: its name, `bob~1` for an earlier one of that name, or its id.
pub fn name(agent: &Agent) -> String {
    let words = [&agent.target, &agent.name, &agent.id];
    plain(words.into_iter().find(|word| !word.is_empty()).unwrap_or(&agent.id))
}

/// The agent's state, and for how long it has been in it.
pub fn headline(agent: &Agent, canvas: &Canvas<'_>) -> String {
    let name = canvas.paint.ink(Ink::Strong, &name(agent));
    let ink = |word: &str| canvas.paint.ink(state_ink(&agent.state), word);
    let ago = canvas.clock.ago(&agent.since);
    let happened = match agent.state.as_str() {
        state::DEAD => Some("died"),
        state::CRASHED | state::EXPIRED => Some(agent.state.as_str()),
        _ => None,
    };
    match happened {
        Some(word) if ago == "0s" => format!("{name} {} just now", ink(word)),
        Some(word) => format!("{name} {} {ago} ago", ink(word)),
        None if ago == "0s" => format!("{name} is now {}", ink(&plain(&agent.state))),
        None => format!("{name} has been {} for {ago}", ink(&plain(&agent.state))),
    }
}

/// One line after a verb: what the agent is now.
pub fn brief(agent: &Agent) -> String {
    let session = match agent.session.as_ref().filter(|session| session.exit.is_none()) {
        Some(session) => match session.pid {
            Some(pid) => format!(" (session {}, pid {pid})", session.number),
            None => format!(" (session {})", session.number),
        },
        None => String::new(),
    };
    let is_silent = matches!(agent.state.as_str(), state::HATCHING | state::WAKING)
        && agent.session.as_ref().is_some_and(|session| session.pid.is_some());
    let silent = if is_silent { ": running, no sign of life yet" } else { "" };
    format!("{} is {}{session}{silent}\n", name(agent), plain(&agent.state))
}

/// As `brief`, with the reason where it does not simply run.
pub fn outcome(agent: &Agent, clock: &LocalTime) -> String {
    let brief = brief(agent);
    let outcome = match agent.state.as_str() {
        state::HATCHING | state::WAKING | state::WORKING if agent.in_line.is_none() => brief,
        _ => format!("{}: {}\n", brief.trim_end(), reason(agent, clock)),
    };
    outcome + &crowded(&agent.role_also_held_by)
}

/// The warning about a role that is meant for one holder.
pub fn crowded(others: &[String]) -> String {
    match others.is_empty() {
        true => String::new(),
        false => format!(
            "warning: this role is meant for one holder, and is also held by {}\n",
            plain(&others.join(", "))
        ),
    }
}

/// The reason, and how long it will last where that is known. The time limit of a start is not shown:
/// it says nothing about the reason.
pub fn reason(agent: &Agent, clock: &LocalTime) -> String {
    let text = if agent.reason_text.is_empty() { &agent.reason } else { &agent.reason_text };
    let starts = matches!(agent.state.as_str(), state::HATCHING | state::WAKING);
    let ends = agent.next_at.as_deref().filter(|_| !starts);
    match (ends.and_then(|at| clock.until(at)), agent.reason.as_str()) {
        (Some(left), "retrying") => {
            let exit = agent.session.as_ref().and_then(|session| session.exit.as_ref());
            let is_clean = exit.is_some_and(|exit| exit.code == Some(0));
            let verb = if is_clean { "restarting" } else { "retrying" };
            format!("{}; {verb} {}", plain(text), ahead(&left))
        }
        (Some(left), "breaker-open") => format!("{}; next try {}", plain(text), ahead(&left)),
        (Some(left), _) => format!("{} ({left} left)", plain(text)),
        (None, _) => plain(text),
    }
}

/// What happens next, and when; `None` from an older daemon.
pub fn next(agent: &Agent, clock: &LocalTime) -> Option<String> {
    let next = Some(plain(&agent.next)).filter(|next| !next.is_empty())?;
    let left = agent.next_at.as_deref().and_then(|at| clock.until(at)).filter(|left| left != "0s");
    Some(match (left, &agent.next_timed) {
        (Some(left), Some(timed)) => plain(timed).replace("{left}", &left),
        // From an older daemon.
        (Some(left), None) => format!("{next} in {left}"),
        (None, _) => next,
    })
}

/// `in 4m`, or `now` for what is less than a second away.
fn ahead(left: &str) -> String {
    if left == "0s" { "now".to_owned() } else { format!("in {left}") }
}

/// How many texts are waiting for it; empty if there are none.
fn texts(agent: &Agent) -> Cell {
    let count = Some(agent.texts_waiting).filter(|count| *count > 0);
    Cell::ink(count.map(|count| count.to_string()).unwrap_or_default(), Ink::Attention)
}

/// How full its usable window is; empty if no agent has one.
fn context(agent: &Agent, is_measured: bool) -> Cell {
    match &agent.context {
        Some(context) => {
            let ink = match context.usable_percent {
                90.. => Ink::Alarm,
                75.. => Ink::Attention,
                _ => Ink::Plain,
            };
            Cell::ink(format!("{} %", context.usable_percent), ink)
        }
        None if is_measured => Cell::ink("-", Ink::Faint),
        None => Cell::default(),
    }
}

fn session(agent: &Agent) -> String {
    match &agent.session {
        Some(session) => match session.pid.filter(|_| session.exit.is_none()) {
            Some(pid) => format!("{} pid {pid}", session.number),
            None => session.number.to_string(),
        },
        None => String::new(),
    }
}

/// How many are listed of each roster.
fn counts(agents: &[Agent]) -> String {
    let of = |roster: &str| agents.iter().filter(|agent| agent.roster == roster).count();
    let parts: Vec<String> = [
        (of("living"), "living"),
        (of("freezer"), "in the freezer"),
        (of("cemetery"), "in the cemetery"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, place)| format!("{count} {place}"))
    .collect();
    let calling = match agents.iter().filter(|agent| agent.needs_you).count() {
        0 => String::new(),
        1 => "; 1 needs you".to_owned(),
        count => format!("; {count} need you"),
    };
    format!("{}{calling}", parts.join(", "))
}

#[cfg(test)]
pub mod sample {
    //! Agents to draw.

    use perennial_api::Agent;
    use perennial_api::agent::{Evidence, Exit, Session};

    pub fn working() -> Agent {
        Agent {
            id: "agt_01".into(),
            name: "alice".into(),
            state: "working".into(),
            roster: "living".into(),
            reason: "running".into(),
            reason_text: "running".into(),
            evidence: Evidence {
                witness: "kernel".into(),
                fact: "its program started as pid 4711".into(),
                at: "2026-11-15T11:55:00.000125Z".into(),
            },
            since: "2026-11-15T11:55:00Z".into(),
            role: Some("builder".into()),
            harness: "command".into(),
            host: "shim".into(),
            project: "/home/eve/src".into(),
            dir: "/home/eve/src".into(),
            argv: vec!["make".into(), "watch".into()],
            restart: "on-crash".into(),
            session: Some(Session {
                number: 2,
                id: "agt_01.2".into(),
                phase: "running".into(),
                pid: Some(4711),
                started_at: Some("2026-11-15T11:55:00Z".into()),
                ..Session::default()
            }),
            predecessor_id: Some("agt_01.1".into()),
            previous_exit: Some(Exit { signal: Some(9), ..Exit::default() }),
            respawn_count: 1,
            created_at: "2026-11-15T10:00:00Z".into(),
            last_seen: Some("2026-11-15T12:00:00Z".into()),
            ..Agent::default()
        }
    }

    pub fn crashed() -> Agent {
        Agent {
            id: "agt_02".into(),
            name: "bob".into(),
            state: "crashed".into(),
            reason: "breaker-open".into(),
            reason_text: "crashed too often (exit 1)".into(),
            until: Some("2026-11-15T12:04:00Z".into()),
            next: "it is restarted".into(),
            next_timed: Some("it is restarted in {left}".into()),
            next_at: Some("2026-11-15T12:04:00Z".into()),
            role: None,
            dir: "/srv/\x1b[31mred".into(),
            session: Some(Session {
                number: 6,
                phase: "ended".into(),
                pid: Some(99),
                exit: Some(Exit { code: Some(1), ..Exit::default() }),
                ..Session::default()
            }),
            needs_you: true,
            ..working()
        }
    }

    pub fn stopped() -> Agent {
        Agent {
            id: "agt_03".into(),
            name: "carol".into(),
            state: "sleeping".into(),
            roster: "freezer".into(),
            reason: "stopped".into(),
            reason_text: "stopped".into(),
            since: "2026-11-13T09:00:00Z".into(),
            role: None,
            session: None,
            previous_exit: None,
            predecessor_id: None,
            ..working()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::time::fixed;

    fn drawn(width: Option<usize>, paint: Paint) -> String {
        let agents = [sample::crashed(), sample::working(), sample::stopped()];
        let clock = fixed();
        let user = Some(Path::new("/home/eve"));
        roster(&agents, 0, &Canvas { clock: &clock, paint, width, user })
    }

    #[test]
    fn wide() {
        insta::assert_snapshot!(drawn(None, Paint::OFF));
    }

    #[test]
    fn narrow() {
        insta::assert_snapshot!(drawn(Some(60), Paint::OFF));
    }

    fn with_name(name: &str, width: usize) -> String {
        let (clock, agent) = (fixed(), Agent { name: name.into(), ..sample::working() });
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(width), user: None };
        let drawn = roster(&[sample::crashed(), agent], 0, &canvas);
        assert!(drawn.lines().all(|line| text::width(line) <= width), "{drawn}");
        drawn
    }

    /// A name is what one has to type, so one of the usual length stays whole.
    #[test]
    fn a_name_of_usual_length_is_never_cut() {
        let name = "a-name-of-twenty-four-le";
        assert_eq!(name.len(), NAME_WHOLE);
        for width in [60, 80] {
            assert!(with_name(name, width).contains(name));
        }
    }

    /// One name of 64 letters, which is allowed, must not take everybody's reason away. It is cut in
    /// the middle: names of a series differ at their ends, others at their beginnings. Whoever needs
    /// it whole gets it in a wider terminal, in a pipe, and by `--json`.
    #[test]
    fn a_very_long_name_is_cut_in_its_middle_and_leaves_room_for_the_rest() {
        let name = format!("first{}last", "-".repeat(55));
        let drawn = with_name(&name, 80);
        for part in ["first", "-last", "…", "REASON", "SINCE", "ROLE"] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        assert!(with_name(&name, 200).contains(&name));
    }

    /// An agent with a parent once took COMMAND from everybody, and half of the reason.
    #[test]
    fn a_parent_costs_neither_the_reason_nor_the_command() {
        let finished = Agent {
            state: state::SLEEPING.into(),
            reason: "finished".into(),
            reason_text: "finished (exit 0)".into(),
            parent: Some("bob".into()),
            argv: vec!["true".into()],
            dir: "/w".into(),
            role: None,
            session: None,
            ..sample::working()
        };
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let drawn = roster(&[Agent { role: None, ..sample::crashed() }, finished], 0, &canvas);
        for part in ["finished (exit 0)", "COMMAND"] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }

    #[test]
    fn the_footer_counts_what_is_listed_apart_from_what_is_not() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None };
        let agents = [sample::crashed(), sample::stopped()];
        let footer = |unlisted| {
            let drawn = roster(&agents, unlisted, &canvas);
            drawn.lines().skip(3).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(footer(0), "1 living, 1 in the freezer; 1 needs you");
        assert_eq!(
            footer(4),
            "1 living, 1 in the freezer; 1 needs you\n\
             4 in the cemetery: perennial ls --roster cemetery"
        );
    }

    #[test]
    fn the_reason_is_told_where_it_does_not_simply_run() {
        let clock = fixed();
        let running = outcome(&sample::working(), &clock);
        assert_eq!(running, "alice is working (session 2, pid 4711)\n");
        let finished = Agent {
            state: state::SLEEPING.into(),
            reason: "finished".into(),
            reason_text: "finished (exit 0)".into(),
            session: None,
            ..sample::working()
        };
        assert_eq!(outcome(&finished, &clock), "alice is sleeping: finished (exit 0)\n");
    }

    #[test]
    fn context_is_shown_when_somebody_has_one_and_it_fits() {
        let mut ada = sample::working();
        ada.context = Some(perennial_api::agent::Context {
            usable_percent: 76,
            ..perennial_api::agent::Context::default()
        });
        let (clock, agents) = (fixed(), [sample::crashed(), ada]);
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let drawn = roster(&agents, 0, &canvas);
        assert!(drawn.lines().all(|line| text::width(line) <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    /// `ls` once dropped the role of everybody as soon as somebody's context was measured.
    #[test]
    fn the_role_is_shown_beside_the_context() {
        let named = |name: &str| Agent { name: name.into(), ..sample::working() };
        let mut ada = named("librarian-2");
        ada.context = Some(perennial_api::agent::Context {
            usable_percent: 76,
            ..perennial_api::agent::Context::default()
        });
        let (clock, agents) = (fixed(), [sample::crashed(), ada, sample::stopped()]);
        for (width, titles) in
            [(80, &["REASON", "CONTEXT", "ROLE"][..]), (100, &["CONTEXT", "ROLE", "SESSION"])]
        {
            let canvas =
                Canvas { clock: &clock, paint: Paint::OFF, width: Some(width), user: None };
            let drawn = roster(&agents, 0, &canvas);
            assert!(drawn.lines().all(|line| text::width(line) <= width), "{drawn}");
            assert!(titles.iter().all(|title| drawn.contains(title)), "{width}: {drawn}");
        }
    }

    #[test]
    fn how_long_is_told_as_people_say_it() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None };
        let told = |state: &str, since: &str| {
            let (state, since) = (state.to_owned(), since.to_owned());
            headline(&Agent { state, since, ..sample::working() }, &canvas)
        };
        let (now, before) = ("2026-11-15T12:00:00Z", "2026-11-15T11:56:00Z");
        assert_eq!(told("working", now), "alice is now working");
        assert_eq!(told("working", before), "alice has been working for 4m");
        assert_eq!(told("dead", before), "alice died 4m ago");
        assert_eq!(told("crashed", now), "alice crashed just now");
    }

    #[test]
    fn texts_that_wait_are_counted_where_there_are_any() {
        let (clock, mut ada) = (fixed(), sample::working());
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        assert!(!roster(&[ada.clone()], 0, &canvas).contains("TEXTS"));
        ada.texts_waiting = 2;
        let drawn = roster(&[sample::crashed(), ada], 0, &canvas);
        assert!(drawn.lines().all(|line| text::width(line) <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn painted() {
        insta::assert_snapshot!(drawn(Some(100), Paint::ON).replace('\x1b', "␛"));
    }
}
