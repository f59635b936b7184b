//! `handoff`: a session saves its work and gives way to the next one of the same agent.

use perennial_api::agent::Agent;
use perennial_api::{ExitCode, client, request};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::counted;
use crate::cli::render::roster::outcome;
use crate::cli::render::time::LocalTime;
use crate::cli::{own_session, problems};
use crate::span;

/// Have an agent save its work and continue in a new session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial handoff bob
          perennial handoff bob -s 'half of the parser' -m 'lexer first'
          perennial handoff bob --deadline 20s
          perennial handoff bob --finish   end the session now: it was asked before
          perennial handoff -s '…' -m '…'  within an agent's session: that agent

The session is asked to save its work and to end its turn. Then it ends, and the next one begins a new \
conversation with a briefing: where the work stood, the subject and the notes. Whatever the session does, it \
ends at the deadline; what is then known of its work, and a snapshot of its files, are kept. No file and no \
commit is touched. Agents may hand off themselves and agents below them.")]
pub struct Args {
    /// The agent's name or id; within an agent's session, that agent
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    /// What it is about, on one line
    #[arg(short, long)]
    subject: Option<String>,
    /// What the next session should know
    #[arg(short = 'm', long, value_name = "TEXT")]
    notes: Option<String>,
    /// How long the session has to save its work, such as 30s or 5m; default:
    /// 60s
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    deadline: Option<String>,
    /// End the wait for a session that was asked before
    #[arg(long, conflicts_with = "deadline")]
    finish: bool,
    /// The session to end; that of another one is left alone
    #[arg(long, value_name = "N", requires = "finish", value_parser = counted)]
    session: Option<u32>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let target = match &args.target {
        Some(target) => target.clone(),
        None => own_session::agent()?,
    };
    let asked = request::Handoff {
        subject: args.subject.clone(),
        notes: args.notes.clone(),
        deadline_s: args.deadline.as_deref().map(seconds).transpose()?,
        finish: args.finish,
        session: args.session,
    };
    let path = client::path(&["agents", &target, "handoff"], &[]);
    let answer = context.client.post(&path, &asked)?;
    let clock = LocalTime::system();
    context.show(&answer, |agent: &Agent| outcome(agent, &clock))?;
    Ok(ExitCode::Done)
}

fn seconds(text: &str) -> Result<u64, Failure> {
    let known = span::seconds(text).filter(|seconds| (1..=3600).contains(seconds));
    known.ok_or_else(|| problems::bad_deadline(text).into())
}
