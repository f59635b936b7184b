//! `escalate`: has a matter looked at by a role, a parent or the operator.

use std::path::PathBuf;

use perennial_api::escalation::{Escalate, Escalation, Severity};
use perennial_api::mail::TEXT_LIMIT;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::escalation;
use crate::cli::vocabulary::Words;
use crate::cli::{problems, text_source};

/// Have a matter looked at: it is raised one step higher while nobody has seen it
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial escalate [OPTIONS]
           --to <TARGET> --subject <SUBJECT>")]
#[command(after_help = "\
Examples: perennial escalate --to parent -s 'new API' -m 'v2 has no list call'
          perennial escalate --to role:architect -s 'two designs' --file NOTES
          perennial escalate --to operator --severity critical -s 'disk full'
          perennial escalate --to role:deacon -s 'a stuck rig' --vocabulary gastown

It is told as mail. Unseen, it goes to the role that oversees that role, then to the parent of the agent that \
escalates and those above, at last to the operator: after 3 min 45 s with severity critical, 15 minutes \
with high, 1 hour with medium, 4 hours with low (`perennial config explain escalate_after_s`).")]
pub struct Args {
    /// role:NAME, parent or operator
    #[arg(long, value_name = "TARGET")]
    to: String,
    /// How much it matters, and so how soon it is raised
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = SeverityWord::Medium)]
    severity: SeverityWord,
    /// A one-line subject
    #[arg(short = 's', long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: String,
    /// The text, or - to read it from standard input
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with = "file")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    words: Words,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SeverityWord {
    Low,
    Medium,
    High,
    Critical,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    const MATTER: text_source::Kind = text_source::Kind {
        limit: TEXT_LIMIT,
        missing: problems::nothing_to_mail,
        too_long: problems::mail_too_long,
        not_text: problems::mail_not_text,
    };
    let text = match args.text.is_some() || args.file.is_some() {
        true => text_source::read(args.text, args.file, &MATTER)?,
        false => String::new(),
    };
    let severity = match args.severity {
        SeverityWord::Low => Severity::Low,
        SeverityWord::Medium => Severity::Medium,
        SeverityWord::High => Severity::High,
        SeverityWord::Critical => Severity::Critical,
    };
    let to = args.words.our_queue(args.to);
    let body = Escalate { to, severity, subject: args.subject, text };
    let answer = context.client.post(&client::path(&["escalations"], &[]), &body)?;
    context.show(&answer, |one: &Escalation| {
        context.draw(|canvas| escalation::escalated(one, args.words.vocabulary(), canvas))
    })?;
    Ok(ExitCode::Done)
}
