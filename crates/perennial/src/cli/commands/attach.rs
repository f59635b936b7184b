//! `attach`: an agent's terminal in this one, straight from its holder.
//!
//! The daemon only hands out the ticket; it may end or be killed meanwhile.

use std::path::Path;
use std::time::Duration;

use perennial_api::answer::Ticket;
use perennial_api::request::{Mode, TicketRequest};
use perennial_api::{Agent, ExitCode, client};
use perennial_engine::host::attach::Attachment;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::next_session::{Then, next_session};
use crate::cli::problems;
use crate::cli::render::roster::{name, next};
use crate::cli::render::text::plain;
use crate::cli::render::time::LocalTime;
use crate::cli::terminal::detach_key::{self, DetachKey};
use crate::cli::terminal::visit::{Leaving, Visit};
use crate::cli::terminal::{self, Size};

/// Ctrl-\
pub const DETACH_KEY: u8 = 0x1c;
/// A retry that is further away than this is not waited for.
const RETRY_PATIENCE: Duration = Duration::from_secs(30);
const USUAL_SIZE: Size = Size { rows: 24, cols: 80 };

/// Use an agent's terminal; press Ctrl-\ twice to detach
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial attach bob
          perennial attach bob --detach-key q

The agent keeps running when you detach or close this terminal. You stay attached when its program \
restarts and when the daemon stops.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// Detach when Ctrl and this key are pressed twice
    #[arg(long, value_name = "KEY", default_value = "\\", value_parser = detach_key::parse)]
    detach_key: u8,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    to(&args.target, args.detach_key, context)
}

pub fn to(target: &str, detach_key: u8, context: &Context) -> VerbResult {
    if !terminal::is_interactive() {
        return Err(problems::no_terminal_to_attach(target).into());
    }
    loop {
        let ticket = ticket(target, Mode::Attach, context)?;
        let (leaving, session) = visit(target, &ticket, detach_key, context)?;
        let who = name(&ticket.agent);
        let running = format!("{who} keeps running; to return: perennial attach {who}");
        let end = match leaving {
            Leaving::Ended(end) => end,
            Leaving::Detached => {
                return farewell(&format!("detached; {running}"), ExitCode::Done, context);
            }
            // A kill signal, or the terminal went away.
            Leaving::Told => {
                return farewell(&format!("detached; {running}"), ExitCode::Failed, context);
            }
            Leaving::TooSlow => {
                let text = format!("this terminal was too slow; {running}");
                return farewell(&text, ExitCode::Failed, context);
            }
            Leaving::Lost(why) => {
                let text = format!("lost the connection to {who} ({why}); see perennial why {who}");
                return farewell(&text, ExitCode::Failed, context);
            }
        };
        context.print(&format!("\r\n[session {session} ended: {end}]\n"))?;
        let waiting = |agent: &Agent| {
            let next = next(agent, &LocalTime::system()).map(|next| format!("{next}; "));
            eprintln!("[{}press Ctrl-C to leave]", next.unwrap_or_default());
        };
        match next_session(&ticket.agent.id, session, RETRY_PATIENCE, context, waiting) {
            Then::Running => {}
            Then::Over(agent) => return over(agent.as_deref(), context),
        }
    }
}

/// One connection to one holder; how it ended, and in which session.
fn visit(
    target: &str,
    ticket: &Ticket,
    detach_key: u8,
    context: &Context,
) -> Result<(Leaving, u32), Failure> {
    let size = terminal::any_size().unwrap_or(USUAL_SIZE);
    let socket = Path::new(&ticket.socket);
    let attachment = Attachment::attach(socket, &ticket.ticket, (size.rows, size.cols), None)
        .map_err(|error| problems::holder_unreachable(target, &error))?;
    let replayed_to = recorded(target, attachment.session(), context);
    let who = name(&ticket.agent);
    let key = detach_key::name(detach_key);
    let session = attachment.session();
    let visit = Visit::begin(attachment, DetachKey::new(detach_key), replayed_to)
        .map_err(|error| problems::terminal_unusable(&error))?;
    // Printed once the terminal is raw, so a person who sees it can type.
    context.print(&format!("[{who}, session {session}; detach: {key} {key}]\r\n"))?;
    Ok(visit.stay())
}

pub fn ticket(target: &str, mode: Mode, context: &Context) -> Result<Ticket, Failure> {
    let path = client::path(&["agents", target, "ticket"], &[]);
    Ok(context.client.post(&path, &TicketRequest { mode })?.read()?)
}

/// How much of the session is recorded by now: what is older is history, whose questions to the
/// terminal have been answered. Not knowing it only means that none is taken for history.
fn recorded(target: &str, session: u32, context: &Context) -> u64 {
    let session = session.to_string();
    let most = u64::MAX.to_string();
    let query = [("session", Some(session.as_str())), ("from", Some(most.as_str()))];
    context
        .client
        .get(&client::path(&["agents", target, "logs"], &query))
        .ok()
        .and_then(|answer| answer.header("x-end").and_then(|end| end.parse().ok()))
        .unwrap_or(0)
}

fn farewell(text: &str, code: ExitCode, context: &Context) -> VerbResult {
    context.print(&format!("\r\n[{text}]\n"))?;
    Ok(code)
}

/// Shows the agent's state after its session, if a daemon can tell it.
fn over(agent: Option<&Agent>, context: &Context) -> VerbResult {
    if let Some(agent) = agent {
        let next = next(agent, &LocalTime::system()).map(|next| format!(": {next}"));
        let (name, state) = (name(agent), plain(&agent.state));
        context.print(&format!("[{name} is {state}{}]\n", next.unwrap_or_default()))?;
    }
    Ok(ExitCode::Done)
}
