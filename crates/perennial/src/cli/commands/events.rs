//! `events`: what happened, from the journal.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use perennial_api::{ClientError, EventView, ExitCode, client};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::render::paint::Ink;
use crate::cli::render::text::{self, plain};
use crate::cli::render::time::LocalTime;
use crate::cli::terminal;

/// Print events from the journal, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial events
          perennial events --agent bob --follow
          perennial events --since 120 --json

With --follow, no event is missed when the daemon restarts. With --json, each line is one event.")]
pub struct Args {
    /// Print only events after this sequence number
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Print only events of this agent, of texts to it and of notifications about
    /// it
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Keep printing events as they happen
    #[arg(long, short)]
    follow: bool,
}

const PAGE: u64 = 1000;
/// A daemon whose arrival was not noticed is found after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if args.follow { follow(args, context) } else { list(args, context) }
}

/// Where an event is in the journal; all that is needed to pass it on.
#[derive(Debug, Deserialize)]
struct EventNumber {
    seq: u64,
}

fn list(args: &Args, context: &Context) -> VerbResult {
    let mut since = args.since.unwrap_or(0);
    let limit = PAGE.to_string();
    let mut printer = EventPrinter::new(context);
    loop {
        let query = [
            ("since", Some(since.to_string())),
            ("agent", args.agent.clone()),
            ("limit", Some(limit.clone())),
        ];
        let answer = context.client.get(&path(&query))?;
        let events: Vec<Box<RawValue>> = answer.read()?;
        let Some(last) = events.last() else { return Ok(ExitCode::Done) };
        let next = place(last)?;
        printer.print(events.iter().map(|event| event.get()))?;
        // A daemon that repeats itself must not keep us forever.
        if next <= since {
            return Ok(ExitCode::Done);
        }
        since = next;
    }
}

fn follow(args: &Args, context: &Context) -> VerbResult {
    let path = path(&[("agent", args.agent.clone())]);
    let mut since = args.since.unwrap_or(0);
    let mut feed = context.client.follow(&path, Some(since))?;
    let arrival = Arrival::watch(&context.home).map_err(ClientError::Unreachable)?;
    let mut printer = EventPrinter::new(context);
    loop {
        // A feed that breaks in whatever way is taken up again after the last event seen.
        while let Ok(Some(message)) = feed.next_message() {
            printer.print(std::iter::once(message.data.as_str()))?;
            if let Some(seq) = message.id.and_then(|id| id.parse().ok()) {
                since = seq;
            }
        }
        eprintln!("note: the daemon is gone; waiting for it to come back");
        feed = loop {
            match context.client.follow(&path, Some(since)) {
                Ok(feed) => break feed,
                // Refused for good; one that is just ending or starting answers with 5xx.
                Err(ClientError::Problem(problem)) if problem.status < 500 => {
                    return Err((*problem).into());
                }
                Err(_) => {
                    arrival.wait(LOOK_AGAIN);
                }
            }
        };
    }
}

fn path(query: &[(&str, Option<String>)]) -> String {
    let query: Vec<_> = query.iter().map(|(name, value)| (*name, value.as_deref())).collect();
    client::path(&["events"], &query)
}

fn place(event: &RawValue) -> Result<u64, Failure> {
    let place: EventNumber = serde_json::from_str(event.get()).map_err(ClientError::Unexpected)?;
    Ok(place.seq)
}

struct EventPrinter<'a> {
    context: &'a Context,
    /// The widest name so far: the column of the texts never moves back.
    widest: usize,
}

impl EventPrinter<'_> {
    fn new(context: &Context) -> EventPrinter<'_> {
        EventPrinter { context, widest: 12 }
    }

    fn print<'a>(&mut self, events: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        if self.context.json {
            for event in events {
                // A line each, whatever white space it came with: JSON has no raw line ends in
                // strings.
                out.write_all(event.replace(['\n', '\r'], " ").as_bytes())?;
                out.write_all(b"\n")?;
            }
            return Ok(out.flush()?);
        }
        let views: Vec<EventView> = events
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .map_err(ClientError::Unexpected)?;
        let widest = views.iter().map(|view| text::width(&who(view))).max();
        self.widest = self.widest.max(widest.unwrap_or(0));
        let clock = LocalTime::system();
        for view in &views {
            out.write_all(line(view, self.widest, &clock, self.context).as_bytes())?;
        }
        Ok(out.flush()?)
    }
}

/// Whom an event is about; who wrote a post; else the daemon.
fn who(event: &EventView) -> String {
    let agent = event.agent.as_deref().or(event.agent_id.as_deref());
    let author = &event.data["by"];
    match agent {
        Some(agent) => plain(agent),
        None if !event.kind.starts_with("post") => "daemon".to_owned(),
        None => match author["name"].as_str().or(author["id"].as_str()) {
            Some(agent) => plain(agent),
            None => text::OPERATOR.to_owned(),
        },
    }
}

fn line(event: &EventView, widest: usize, clock: &LocalTime, context: &Context) -> String {
    let place = context.paint.ink(Ink::Faint, &format!("{:>6}", event.seq));
    let time = context.paint.ink(Ink::Faint, &clock.time(&event.at));
    let who = who(event);
    let padding = " ".repeat(widest.saturating_sub(text::width(&who)));
    let who = context.paint.ink(Ink::Strong, &(who + &padding));
    let text = plain(&event.text);
    // Some sentences have the id already.
    let about = event.about.as_deref().map(plain).filter(|about| !text.contains(about.as_str()));
    let text = about.map_or_else(|| text.clone(), |about| format!("{text}  {about}"));
    let indent = 6 + 2 + clock.time(&event.at).len() + 2 + widest + 2;
    let text = text::wrapped(&text, indent, indent, terminal::output_width());
    format!("{place}  {time}  {who}  {text}\n")
}
