//! Roles for people: the table of `role ls`, the card of one, and the notice of a vacancy.

use std::time::Duration;

use perennial_api::role::{Mandate, Role, RoleHolder, Rounds, Vacancy};
use perennial_engine::harness::round_texts;

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{plain, wrapped};
use super::time::LocalTime;

/// At most this many vacancies are listed at once: agents may have made up hundreds of names.
const LISTED: usize = 50;

pub fn list(roles: &[Role], canvas: &Canvas<'_>) -> String {
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Role) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: roles.iter().map(cell).collect(),
    };
    let columns = vec![
        column("ROLE", 10, 24, Clip::Middle, &|role| Cell::ink(plain(&role.name), Ink::Strong)),
        column("HOLDERS", 9, 16, Clip::End, &holders),
        column("SPAN", 4, 6, Clip::Never, &|role| Cell::new(plain(&role.span))),
        column("DECLARED", 3, 8, Clip::Never, &|role| {
            Cell::ink(plain(role.declared_in.as_deref().unwrap_or("no")), Ink::Faint)
        }),
        column("MANDATE", 5, 16, Clip::End, &|role| Cell::new(first_line(&role.mandate))),
    ];
    table(columns, canvas.width, canvas.paint)
}

fn holders(role: &Role) -> Cell {
    let named: Vec<String> = role.holders.iter().map(holder).collect();
    match (&role.vacancy, named.is_empty()) {
        (Some(_), true) => Cell::ink("vacant", Ink::Attention),
        (Some(_), false) => Cell::ink(format!("vacant; {}", named.join(", ")), Ink::Attention),
        (None, _) => Cell::new(named.join(", ")),
    }
}

/// The living by their names; others with their state.
fn holder(holder: &RoleHolder) -> String {
    match holder.roster.as_str() {
        "living" => plain(&holder.name),
        _ => format!("{} ({})", plain(&holder.name), plain(&holder.state)),
    }
}

pub fn card(role: &Role, canvas: &Canvas<'_>) -> String {
    let mut text = format!("{}\n", canvas.paint.ink(Ink::Strong, &plain(&role.name)));
    let mut row = |label: &str, value: &str| {
        const INDENT: usize = 15;
        let value = wrapped(value, INDENT, INDENT, canvas.width);
        let label = canvas.paint.ink(Ink::Faint, &format!("{label:<12}"));
        text.push_str(&format!("  {label} {value}\n"));
    };
    for (position, line) in lines(&role.mandate).iter().enumerate() {
        row(if position == 0 { "mandate" } else { "" }, line);
    }
    if role.mandate_missing {
        row("", "missing: there is no such file");
    }
    let named: Vec<String> = role.holders.iter().map(holder).collect();
    row("holders", &if named.is_empty() { "nobody".to_owned() } else { named.join(", ") });
    if let Some(vacancy) = &role.vacancy {
        row("vacant", &format!("last held by {}", plain(&vacancy.last_holder)));
    }
    if role.mail_waiting > 0 {
        let see = format!("see perennial mail ls role:{}", plain(&role.name));
        row("mail", &format!("{} waiting for the next holder; {see}", role.mail_waiting));
    }
    row("span", &plain(&role.span));
    if let Some(overseer) = &role.overseer {
        row("overseer", &plain(overseer));
    }
    if let Some(restart) = &role.restart {
        row("restart", &plain(restart));
    }
    if role.single_holder {
        row("meant for", "one holder");
    }
    if let Some(every_s) = role.every_s {
        row("rounds", &format!("one every {}", interval(every_s)));
    }
    for (holder, of_holder) in role.holders.iter().filter_map(|it| Some((it, it.rounds.as_ref()?)))
    {
        row("", &format!("{}: {}", plain(&holder.name), rounds(of_holder, canvas.clock)));
    }
    if let Some(cycle) = &role.cycle {
        row("sessions", &plain(cycle));
    }
    if let Some(percent) = role.handoff_at_percent {
        row("handed off", &format!("at {percent} % of the usable context window"));
    }
    row("declared", &declared(role));
    for sentence in &role.not_in_force {
        row("", &format!("not yet in force: {}", plain(sentence)));
    }
    text
}

/// Where it is declared, and where else without effect.
fn declared(role: &Role) -> String {
    let Some(place) = &role.declared_in else { return "nowhere; the defaults hold".to_owned() };
    match role.also_declared_in.iter().any(|place| place == "project") {
        true => format!(
            "{}; the project's perennial.toml declares it, too, without effect",
            plain(place)
        ),
        false => plain(place),
    }
}

/// The rounds of one agent, on one line.
pub fn rounds(rounds: &Rounds, clock: &LocalTime) -> String {
    let given = match (rounds.given, &rounds.given_at) {
        (0, _) | (_, None) => "none given yet".to_owned(),
        (given, Some(at)) => format!("{given} given, the last {} ago", clock.ago(at)),
    };
    let next = match (&rounds.waiting_for, &rounds.next_at) {
        (Some(why), _) => {
            let number = rounds.waiting.unwrap_or(rounds.given + 1);
            format!("round {number} is due and waits: {}", plain(why))
        }
        (None, Some(at)) => match clock.until(at) {
            Some(left) => format!("the next in {left}"),
            None => "the next now".to_owned(),
        },
        (None, None) => match &rounds.none_because {
            Some(why) => format!("none is due: {}", plain(why)),
            None => "none is due".to_owned(),
        },
    };
    format!("every {}; {given}; {next}", interval(rounds.every_s))
}

fn interval(seconds: u64) -> String {
    round_texts::span(Duration::from_secs(seconds))
}

/// A mandate with its lines.
pub fn lines(mandate: &Mandate) -> Vec<String> {
    let written = mandate.path.as_deref().or(mandate.text.as_deref());
    let written = written.map_or("not yet written", str::trim);
    written.lines().map(plain).collect()
}

/// Its first line, and that there are more.
fn first_line(mandate: &Mandate) -> String {
    match &lines(mandate)[..] {
        [] => String::new(),
        [only] => only.clone(),
        [first, ..] => format!("{first} …"),
    }
}

pub fn vacancies(vacancies: &[Vacancy]) -> String {
    let mut told: String =
        vacancies.iter().take(LISTED).map(|vacancy| sentence(vacancy, "is vacant")).collect();
    match vacancies.len().saturating_sub(LISTED) {
        0 if vacancies.is_empty() => told.push_str("no vacant roles\n"),
        0 => {}
        more => told.push_str(&format!("and {more} more; `perennial role ls` lists all roles\n")),
    }
    told
}

/// What is told when a role has no living holder any more.
pub fn notice(vacancy: &Vacancy) -> String {
    sentence(vacancy, "is now vacant")
}

fn sentence(vacancy: &Vacancy, state: &str) -> String {
    let frozen = vacancy.in_freezer.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ");
    let frozen = match frozen.is_empty() {
        true => String::new(),
        false => format!(" Also held by {frozen}, in the freezer."),
    };
    let (role, last) = (plain(&vacancy.role), plain(&vacancy.last_holder));
    match &lines(&vacancy.mandate)[..] {
        [one] => {
            // A text may end with a full stop of its own.
            let one = one.trim_end().trim_end_matches('.');
            format!("Role '{role}' {state}. Last held by {last}. Mandate: {one}.{frozen}\n")
        }
        several => {
            let several = several.join("\n    ");
            format!("Role '{role}' {state}. Last held by {last}.{frozen} Mandate:\n    {several}\n")
        }
    }
}
