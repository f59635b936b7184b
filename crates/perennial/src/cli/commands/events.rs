//! `events`: what happened, from the journal.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::Timestamp;
use perennial_api::{ClientError, EventView, ExitCode, client, sse};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::render::paint::Ink;
use crate::cli::render::text::{self, plain};
use crate::cli::render::time::LocalTime;
use crate::cli::since::since;
use crate::cli::terminal;

/// Print events from the journal, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial events
          perennial events --agent bob --follow
          perennial events --since 10m
          perennial events --since 120 --json

With --follow, no event is missed when the daemon restarts. With --json, each line is one event.")]
pub struct Args {
    /// Print only events after this sequence number, or since then: 10m, 2h, 14:30
    #[arg(long, value_name = "SEQ|TIME", value_parser = place_or_time)]
    since: Option<Since>,
    /// Print only events of this agent, of texts to it and of notifications about
    /// it
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Keep printing events as they happen
    #[arg(long, short)]
    follow: bool,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    After(u64),
    Time(Timestamp),
}

/// As clap reads it.
fn place_or_time(text: &str) -> Result<Since, String> {
    match text.parse() {
        Ok(seq) => Ok(Since::After(seq)),
        Err(_) => match since(text) {
            Ok(time) => Ok(Since::Time(time)),
            Err(why) => Err(format!("not a sequence number like 120, and {why}")),
        },
    }
}

impl Args {
    /// The event after which to begin.
    fn after(&self) -> u64 {
        match self.since {
            Some(Since::After(seq)) => seq,
            Some(Since::Time(_)) | None => 0,
        }
    }

    fn earliest(&self) -> Option<Timestamp> {
        match self.since {
            Some(Since::Time(time)) => Some(time),
            Some(Since::After(_)) | None => None,
        }
    }
}

const GONE: &str = "the daemon does not answer; waiting for it to come back";
const TOO_SLOW: &str = "the output was not read fast enough; continuing after the last event";
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

#[derive(Debug, Deserialize)]
struct EventTime {
    at: String,
}

fn list(args: &Args, context: &Context) -> VerbResult {
    let mut since = args.after();
    let limit = PAGE.to_string();
    let mut printer = EventPrinter::new(args, context, context.long_output());
    loop {
        let query = [
            ("since", Some(since.to_string())),
            ("agent", args.agent.clone()),
            ("limit", Some(limit.clone())),
        ];
        let answer = context.client.get(&path(&query))?;
        let events: Vec<Box<RawValue>> = answer.read()?;
        let Some(last) = events.last() else { break };
        let next = place(last)?;
        printer.print(events.iter().map(|event| event.get()))?;
        // A daemon that repeats itself must not keep us forever.
        if next <= since {
            break;
        }
        since = next;
    }
    printer.out.finish()?;
    Ok(ExitCode::Done)
}

fn follow(args: &Args, context: &Context) -> VerbResult {
    let path = path(&[("agent", args.agent.clone())]);
    let mut since = args.after();
    let mut feed = context.client.follow(&path, Some(since))?;
    let arrival = Arrival::watch(&context.home).map_err(ClientError::Unreachable)?;
    let mut printer = EventPrinter::new(args, context, io::stdout());
    loop {
        // A feed that breaks in whatever way is taken up again after the last event seen.
        let mut is_dropped = false;
        while let Ok(Some(message)) = feed.next_message() {
            is_dropped = message.event.as_deref() == Some(sse::DROPPED);
            if is_dropped {
                break;
            }
            printer.print(std::iter::once(message.data.as_str()))?;
            if let Some(seq) = message.id.and_then(|id| id.parse().ok()) {
                since = seq;
            }
        }
        eprintln!("note: {}", if is_dropped { TOO_SLOW } else { GONE });
        feed = loop {
            match context.client.follow(&path, Some(since)) {
                Ok(feed) => break feed,
                // Refused for good, unless it says when to try again; one that is just ending or starting
                // answers with 5xx.
                Err(ClientError::Problem(problem))
                    if problem.status < 500 && problem.retry_after_seconds.is_none() =>
                {
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

struct EventPrinter<'a, W: Write> {
    context: &'a Context,
    out: W,
    earliest: Option<Timestamp>,
    /// The widest name so far: the column of the texts never moves back.
    widest: usize,
}

impl<W: Write> EventPrinter<'_, W> {
    fn new<'a>(args: &Args, context: &'a Context, out: W) -> EventPrinter<'a, W> {
        EventPrinter { context, out, earliest: args.earliest(), widest: 12 }
    }

    /// Whether it is of the time that is asked for.
    fn is_wanted(&self, event: &str) -> bool {
        let Some(earliest) = self.earliest else { return true };
        let at = serde_json::from_str::<EventTime>(event).ok();
        at.and_then(|event| event.at.parse::<Timestamp>().ok()).is_none_or(|at| at >= earliest)
    }

    fn print<'a>(&mut self, events: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
        let events: Vec<&str> = events.filter(|event| self.is_wanted(event)).collect();
        let events = events.into_iter();
        let mut out = BufWriter::new(&mut self.out);
        if self.context.json {
            for event in events {
                out.write_all(text::json_line(event).as_bytes())?;
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
    let author = format!("{} ", self::who(event));
    let text = plain(&event.text);
    // Who posted stands before it.
    let is_post = event.kind.starts_with("post");
    let text = text.strip_prefix(&author).filter(|_| is_post).unwrap_or(&text).to_owned();
    // Some sentences have the id already.
    let about = event.about.as_deref().map(plain).filter(|about| !text.contains(about.as_str()));
    let text = about.map_or_else(|| text.clone(), |about| format!("{text}  {about}"));
    let indent = 6 + 2 + clock.time(&event.at).len() + 2 + widest + 2;
    let text = text::wrapped(&text, indent, indent, terminal::output_width());
    format!("{place}  {time}  {who}  {text}\n")
}
