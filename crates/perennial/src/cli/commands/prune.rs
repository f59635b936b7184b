//! `prune`: removes recordings of sessions that have ended, copies of conversations of agents that were cleaned, and
//! nothing else.

use jiff::Timestamp;
use perennial_api::answer::{Pruned, PrunedAgent, PrunedRecording};
use perennial_api::request::Prune;
use perennial_api::{ExitCode, Response, client};

use crate::cli::confirm::Confirmation;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::progress;
use crate::cli::render::roster::Canvas;
use crate::cli::render::table::{Cell, Clip, Column, table};
use crate::cli::render::text::{plain, size};
use crate::cli::several::{self, Targets};
use crate::cli::since::since;

/// Remove recordings of sessions that have ended
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial prune --dry-run
          perennial prune --older-than 90d
          perennial prune bob 'web-*' --older-than 0d
          perennial prune bob~1 --older-than 0d --yes

A recording is what a session printed to its terminal: what `logs` and `screen` show of it. The recording of \
a session that has not ended is never removed, and that of an agent's newest session only if the agent \
is buried or you ask for it with --newest. Of an agent that was cleaned (`perennial clean`), Perennial's copies of its \
conversations go, too, once no agent outside the cemetery may resume them. Everything else stays. On a terminal you are asked first. What was removed is recorded; see `perennial events`.

To have this done once a day, set keep_recordings_days: `perennial config explain keep_recordings_days`.")]
pub struct Args {
    /// Names, ids or quoted patterns such as 'web-*' [default: all agents, the dead too]
    #[arg(value_name = "AGENT")]
    names: Vec<String>,
    /// Only if the session's last output is older than this, such as 30d, 12h or 2026-11-17
    #[arg(long, value_name = "TIME", value_parser = since, default_value = "30d")]
    older_than: Timestamp,
    /// Also remove the recording of the newest session of the agents that are named
    #[arg(long, requires = "names")]
    newest: bool,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirmation: Confirmation,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let prune = Prune {
        targets: targets(args.names, context)?,
        printed_before: args.older_than.to_string(),
        newest: args.newest,
        dry_run: args.dry_run,
    };
    if !args.dry_run && args.confirmation.is_due(context) {
        let would: Pruned = ask(&Prune { dry_run: true, ..prune.clone() }, context)?.read()?;
        if would.recordings + would.conversations > 0 {
            eprint!("{}", context.draw(|canvas| listed(&would, canvas)));
            let question = format!("remove {}? This can't be undone.", sum(&would));
            args.confirmation.ask(&question, context)?;
        }
    }
    let answer = ask(&prune, context)?;
    let pruned: Pruned = answer.read()?;
    context.show(&answer, |pruned| context.draw(|canvas| told(pruned, canvas)))?;
    let is_left = |agent: &PrunedAgent| {
        agent.recordings.iter().any(|one| one.is_left)
            || agent.conversations.iter().any(|one| one.is_left)
    };
    match pruned.agents.iter().any(is_left) {
        true => Ok(ExitCode::Failed),
        false => Ok(ExitCode::Done),
    }
}

/// The agents that are meant; nobody, where nobody is named.
fn targets(names: Vec<String>, context: &Context) -> Result<Vec<String>, Failure> {
    match names.is_empty() {
        true => Ok(names),
        false => Targets { names }.agents(context)?.into_iter().collect(),
    }
}

fn ask(prune: &Prune, context: &Context) -> Result<Response, Failure> {
    let client = several::patient(context);
    let path = client::path(&["prune"], &[]);
    Ok(progress::told("looking at recordings", || client.post(&path, prune))?)
}

fn told(pruned: &Pruned, canvas: &Canvas<'_>) -> String {
    match (pruned.recordings + pruned.conversations, pruned.is_dry_run) {
        (0, _) => "nothing to remove\n".to_owned(),
        (_, true) => format!("{}would remove {}\n", listed(pruned, canvas), sum(pruned)),
        (_, false) => format!("removed {}\n{}", sum(&gone(pruned)), left(pruned)),
    }
}

/// What is really gone.
fn gone(pruned: &Pruned) -> Pruned {
    let mut gone = pruned.clone();
    for agent in &mut gone.agents {
        agent.recordings.retain(|one| !one.is_left);
        agent.conversations.retain(|one| !one.is_left);
        agent.bytes = agent.recordings.iter().map(|one| one.bytes).sum::<u64>()
            + agent.conversations.iter().map(|one| one.bytes).sum::<u64>();
    }
    gone.agents.retain(|agent| !agent.recordings.is_empty() || !agent.conversations.is_empty());
    gone.recordings = gone.agents.iter().map(|agent| agent.recordings.len() as u64).sum();
    gone.conversations = gone.agents.iter().map(|agent| agent.conversations.len() as u64).sum();
    gone.bytes = gone.agents.iter().map(|agent| agent.bytes).sum();
    gone
}

fn left(pruned: &Pruned) -> String {
    let mut text = String::new();
    for agent in &pruned.agents {
        let left: Vec<_> = agent.recordings.iter().filter(|one| one.is_left).collect();
        if !left.is_empty() {
            let (name, sessions) = (plain(&agent.target), numbers(left.into_iter()));
            let why = "the daemon's log says why";
            text.push_str(&format!("not removed: session {sessions} of {name}; {why}\n"));
        }
        for copy in agent.conversations.iter().filter(|one| one.is_left) {
            let (name, id) = (plain(&agent.target), plain(&copy.conversation));
            let why = "the daemon's log says why";
            text.push_str(&format!("not removed: conversation {id} of {name}; {why}\n"));
        }
    }
    text
}

fn listed(pruned: &Pruned, canvas: &Canvas<'_>) -> String {
    let column = |title, importance, cell: &dyn Fn(&PrunedAgent) -> String| Column {
        title,
        importance,
        narrowest: 8,
        clip: if title == "SESSIONS" { Clip::End } else { Clip::Never },
        cells: pruned.agents.iter().map(|agent| Cell::new(cell(agent))).collect(),
    };
    let last = |agent: &PrunedAgent| {
        let last = agent.recordings.iter().map(|one| one.printed_at.as_str()).max();
        last.map(|moment| canvas.clock.day(moment)).unwrap_or_default()
    };
    let conversations = |agent: &PrunedAgent| match agent.conversations.len() {
        0 => String::new(),
        count => count.to_string(),
    };
    let columns = vec![
        column("AGENT", 9, &|agent| plain(&agent.target)),
        column("SESSIONS", 7, &|agent| numbers(agent.recordings.iter())),
        column("LAST OUTPUT", 5, &last),
        column("CONVERSATIONS", 6, &conversations),
        column("SIZE", 8, &|agent| size(agent.bytes)),
    ];
    table(columns, canvas.width, canvas.paint)
}

/// `3 recordings of 2 agents (1.2 MiB)`.
fn sum(pruned: &Pruned) -> String {
    let count = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let recordings = count(pruned.recordings, "recording");
    let agents = count(pruned.agents.len() as u64, "agent");
    let what = match (pruned.recordings, pruned.conversations) {
        (_, 0) => recordings,
        (0, copies) => count(copies, "copied conversation"),
        (_, copies) => format!("{recordings} and {}", count(copies, "copied conversation")),
    };
    format!("{what} of {agents} ({})", size(pruned.bytes))
}

/// The numbers of sessions, in order: `1-4, 7`.
fn numbers<'a>(recordings: impl Iterator<Item = &'a PrunedRecording>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in recordings.map(|one| one.session) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            Some(_) | None => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::time::fixed;

    fn agent(target: &str, sessions: &[u64]) -> PrunedAgent {
        let recording = |session: &u64| PrunedRecording {
            session: *session,
            bytes: 2048,
            printed_at: "2026-10-01T12:00:00Z".to_owned(),
            is_left: *session == 9,
        };
        PrunedAgent {
            id: "agt_1".to_owned(),
            target: target.to_owned(),
            recordings: sessions.iter().map(recording).collect(),
            conversations: Vec::new(),
            bytes: 2048 * sessions.len() as u64,
        }
    }

    #[test]
    fn what_is_shown() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let agents = vec![agent("bob", &[1, 2, 3, 5]), agent("ada~1", &[9])];
        let mut pruned =
            Pruned { is_dry_run: true, agents, recordings: 5, conversations: 0, bytes: 10_240 };
        insta::assert_snapshot!(told(&pruned, &canvas), @r"
        AGENT  SESSIONS  LAST OUTPUT  SIZE
        bob    1-3, 5    2026-10-01   8.0 KiB
        ada~1  9         2026-10-01   2.0 KiB
        would remove 5 recordings of 2 agents (10.0 KiB)
        ");
        pruned.is_dry_run = false;
        insta::assert_snapshot!(told(&pruned, &canvas), @r"
        removed 4 recordings of 1 agent (8.0 KiB)
        not removed: session 9 of ada~1; the daemon's log says why
        ");
        assert_eq!(told(&Pruned::default(), &canvas), "nothing to remove\n");
    }
}
