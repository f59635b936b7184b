//! The steps of an agent's conversations, page by page, and what comes.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::Timestamp;
use perennial_api::step::Step;
use perennial_api::{Agent, ClientError, ExitCode, client};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Args;
use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::next_session::is_coming;
use crate::cli::render::steps::Teller;
use crate::cli::render::text::{json_line, plain};
use crate::cli::render::time::LocalTime;

/// How long the daemon may wait for a step, in seconds.
const WAIT_SECONDS: &str = "10";
/// A daemon whose arrival was not noticed is found after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

pub fn run(args: &Args, agent: &Agent, context: &Context) -> VerbResult {
    let arrival = Arrival::watch(&context.home).map_err(ClientError::Unreachable)?;
    let mut reader = PageReader {
        agent,
        session: args.session.map(|number| number.to_string()),
        context,
        place: String::new(),
        is_warned: false,
    };
    let mut printer = StepPrinter { args, context, teller: Teller::new(args.full), seen: 0 };
    match args.tail {
        Some(count) => {
            let mut last = VecDeque::new();
            reader.read_on(|steps| {
                printer.seen += steps.len();
                last.extend(steps.into_iter().filter(|step| is_since(step, args.since)));
                last.drain(..last.len().saturating_sub(count));
                Ok(())
            })?;
            printer.print(last.into())?;
        }
        None => reader.read_on(|steps| printer.print(steps))?,
    }
    if args.follow {
        follow(&mut reader, &mut printer, &arrival)?;
    }
    if printer.seen == 0 {
        return without_steps(args, agent, context);
    }
    Ok(ExitCode::Done)
}

/// Nothing was ever written to a conversation: why that is stands on the terminal.
fn without_steps(args: &Args, agent: &Agent, context: &Context) -> VerbResult {
    let name = plain(&agent.name);
    let is_over = agent.session.as_ref().is_none_or(|session| session.exit.is_some());
    if context.json || args.follow || !is_over {
        eprintln!("note: {name} has no steps yet; `perennial screen {name}` shows its terminal");
        return Ok(ExitCode::Done);
    }
    eprintln!("note: {name} exited before its conversation began; its terminal showed:");
    super::terminal::run(args, context)
}

/// A page as it came, so that JSON is passed through.
#[derive(Debug, Deserialize)]
struct RawPage {
    steps: Vec<Box<RawValue>>,
    next: String,
    more: bool,
    #[serde(default)]
    left_out: u64,
}

struct PageReader<'a> {
    agent: &'a Agent,
    session: Option<String>,
    context: &'a Context,
    place: String,
    is_warned: bool,
}

impl PageReader<'_> {
    /// The next page; the place is moved behind it.
    fn page(&mut self, wait: Option<&str>) -> Result<RawPage, ClientError> {
        let from = Some(self.place.as_str()).filter(|place| !place.is_empty());
        let query = [("session", self.session.as_deref()), ("wait", wait), ("from", from)];
        let path = client::path(&["agents", &self.agent.id, "steps"], &query);
        let page: RawPage = self.context.client.get(&path)?.read()?;
        self.place.clone_from(&page.next);
        if page.left_out > 0 && !std::mem::replace(&mut self.is_warned, true) {
            eprintln!("note: {} subagent transcripts left out: there are too many", page.left_out);
        }
        Ok(page)
    }

    /// Hands out everything that there is.
    fn read_on(
        &mut self,
        mut each: impl FnMut(Vec<Box<RawValue>>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        loop {
            let page = self.page(None)?;
            each(page.steps)?;
            if !page.more {
                return Ok(());
            }
        }
    }

    fn agent(&self) -> Result<Agent, ClientError> {
        self.context.client.get(&client::path(&["agents", &self.agent.id], &[]))?.read()
    }
}

/// Goes on until no session of the agent is there or comes by itself.
fn follow(
    reader: &mut PageReader<'_>,
    printer: &mut StepPrinter<'_>,
    arrival: &Arrival,
) -> Result<(), Failure> {
    let number = |agent: &Agent| agent.session.as_ref().map_or(0, |session| session.number);
    let mut session = number(reader.agent);
    let mut is_gone = false;
    loop {
        // Nothing new: the agent may have moved, and may be done.
        let looked = reader.page(Some(WAIT_SECONDS)).and_then(|page| {
            let is_idle = page.steps.is_empty() && !page.more;
            let agent = if is_idle { Some(reader.agent()?) } else { None };
            Ok((page, agent))
        });
        let (page, agent) = match looked {
            Ok(looked) => looked,
            // Refused for good; one that is just ending or starting answers with 5xx.
            Err(ClientError::Problem(problem)) if problem.status < 500 => {
                return Err((*problem).into());
            }
            Err(_) => {
                if !std::mem::replace(&mut is_gone, true) {
                    eprintln!("note: the daemon is gone; waiting for it to come back");
                }
                arrival.wait(LOOK_AGAIN);
                continue;
            }
        };
        is_gone = false;
        printer.print(page.steps)?;
        let Some(agent) = agent else { continue };
        if number(&agent) > session {
            session = number(&agent);
            eprintln!("note: session {session} of {} started", plain(&reader.agent.name));
        }
        if !is_coming(&agent, Duration::MAX, &LocalTime::system()) {
            eprintln!("note: session {session} of {} ended", plain(&reader.agent.name));
            return reader.read_on(|steps| printer.print(steps));
        }
    }
}

/// Whether a step belongs to the time that is asked for; one without a time does.
fn is_since(step: &RawValue, since: Option<Timestamp>) -> bool {
    #[derive(Deserialize)]
    struct When {
        at: Option<String>,
    }
    let Some(since) = since else { return true };
    let at = serde_json::from_str::<When>(step.get()).ok().and_then(|step| step.at);
    at.and_then(|at| at.parse::<Timestamp>().ok()).is_none_or(|at| at >= since)
}

struct StepPrinter<'a> {
    args: &'a Args,
    context: &'a Context,
    teller: Teller,
    /// Steps that there were, printed or not.
    seen: usize,
}

impl StepPrinter<'_> {
    fn print(&mut self, steps: Vec<Box<RawValue>>) -> Result<(), Failure> {
        self.seen += steps.len();
        let mut out = BufWriter::new(io::stdout().lock());
        for raw in steps.into_iter().filter(|step| is_since(step, self.args.since)) {
            if self.context.json {
                out.write_all(json_line(raw.get()).as_bytes())?;
                continue;
            }
            let step: Step = serde_json::from_str(raw.get()).map_err(ClientError::Unexpected)?;
            let told = self.context.draw(|canvas| self.teller.tell(&step, canvas));
            out.write_all(told.as_bytes())?;
        }
        Ok(out.flush()?)
    }
}
