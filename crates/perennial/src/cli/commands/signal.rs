//! `signal`: typed machine messages between agents, those above them and the operator.

use std::collections::BTreeMap;

use perennial_api::signal::{SendSignal, Signal, SignalList};
use perennial_api::{ExitCode, client};
use perennial_core::signal::SignalKind;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::render::signal;
use crate::cli::since::since;
use crate::daemon::showing::problems::signal::unknown_kind;
use crate::signal_schema::schema;

/// The longest that one answer of the daemon waits.
const WAIT_S: u64 = 25;

/// Send, list and wait for signals: typed messages between agents and those above them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal ls --kind AGENT_CRASHED
          perennial signal send GUIDANCE --to bob --field text='use the second port'
          perennial signal wait --kind NEEDS_INPUT --timeout 60
          perennial signal schema NEEDS_INPUT

A signal that somebody sends is also told to its target, as mail is. Perennial itself emits \
AGENT_REGISTERED, AGENT_CRASHED and AGENT_TERMINATED; nobody's conversation is told of those.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Send(SendArgs),
    Ls(LsArgs),
    Wait(WaitArgs),
    Schema(SchemaArgs),
}

/// Send a signal
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal send GUIDANCE --to bob --field text='use the second port'
          perennial signal send NEEDS_INPUT --payload '{\"question\": \"which port?\"}'
          perennial signal send MERGE_CONFLICT --to bob --field identity_name=bob \\
              --field conflicting_files=src/a --field conflicting_files=src/b \\
              --payload '{\"resolution_hints\": null}'

`perennial signal schema KIND` shows the fields of a kind, who may send it and to whom.")]
pub struct SendArgs {
    /// The kind, such as NEEDS_INPUT
    kind: String,
    /// An agent's name or id, guardian or operator [default: the guardian]
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// The fields as a JSON object
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// One field; may be repeated, also for each part of a list
    #[arg(long, value_name = "NAME=VALUE")]
    field: Vec<String>,
}

/// Which signals are listed or waited for.
#[derive(Debug, clap::Args)]
struct Which {
    /// Only of this kind; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only from this agent, operator or perennial
    #[arg(long, value_name = "SOURCE")]
    from: Option<String>,
    /// Only to this agent, or operator
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
}

/// List signals, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal ls
          perennial signal ls --kind AGENT_CRASHED --kind AGENT_TERMINATED --since 1h
          perennial signal ls --to operator --json
          perennial signal ls --after sig_01kf3v6mbnefyr5j9mmct2xk8e")]
pub struct LsArgs {
    #[command(flatten)]
    which: Which,
    /// Only since then: a time, or how long ago
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<jiff::Timestamp>,
    /// Only signals older than this one
    #[arg(long, value_name = "ID", conflicts_with = "after")]
    before: Option<String>,
    /// Only signals behind this one, oldest first
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Show at most this many signals
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = 20)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 500>)]
    count: u64,
}

/// Wait for the next signal and print it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal wait --kind NEEDS_INPUT
          perennial signal wait --from bob --timeout 60
          perennial signal wait --after sig_01kf3v6mbnefyr5j9mmct2xk8e

Without --after, only a signal from now on counts. With the id of the last one after --after, each is given once. \
If none comes in time, the exit code is 7.")]
pub struct WaitArgs {
    #[command(flatten)]
    which: Which,
    /// Only signals behind this one
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = within::<0, { u32::MAX as u64 }>)]
    timeout: Option<u64>,
}

/// Print the JSON Schema of a kind of signal, or list all kinds
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal schema
          perennial signal schema NEEDS_INPUT
          perennial signal schema --json")]
pub struct SchemaArgs {
    /// The kind; without it, all are listed
    kind: Option<String>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Send(args) => send(args, context),
        Verb::Ls(args) => ls(&args, context),
        Verb::Wait(args) => wait(&args, context),
        Verb::Schema(args) => schemas(&args, context),
    }
}

fn send(args: SendArgs, context: &Context) -> VerbResult {
    let payload = match &args.payload {
        Some(text) => serde_json::from_str(text).map_err(|_| problems::payload_not_an_object())?,
        None => serde_json::Map::new(),
    };
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for field in &args.field {
        let (name, value) =
            field.split_once('=').ok_or_else(|| problems::field_without_value(field))?;
        fields.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    let body = SendSignal { kind: args.kind, to: args.to, payload, fields };
    let answer = context.client.post(&client::path(&["signals"], &[]), &body)?;
    context.show(&answer, |sent: &Signal| signal::sent(sent))?;
    Ok(ExitCode::Done)
}

impl Which {
    fn kinds(&self) -> Option<String> {
        (!self.kind.is_empty()).then(|| self.kind.join(","))
    }
}

fn ls(args: &LsArgs, context: &Context) -> VerbResult {
    let (kinds, count) = (args.which.kinds(), args.count.to_string());
    let since = args.since.map(|since| since.to_string());
    let query = [
        ("kind", kinds.as_deref()),
        ("from", args.which.from.as_deref()),
        ("to", args.which.to.as_deref()),
        ("since", since.as_deref()),
        ("before", args.before.as_deref()),
        ("after", args.after.as_deref()),
        ("limit", Some(count.as_str())),
    ];
    let answer = context.client.get(&client::path(&["signals"], &query))?;
    context.show(&answer, |list: &SignalList| context.draw(|canvas| signal::list(list, canvas)))?;
    Ok(ExitCode::Done)
}

fn wait(args: &WaitArgs, context: &Context) -> VerbResult {
    let kinds = args.which.kinds();
    let (mut position, mut left) = (None, args.timeout);
    loop {
        let seconds = left.unwrap_or(WAIT_S).min(WAIT_S);
        let place = position.map(|position: u64| position.to_string());
        let wait = seconds.to_string();
        let query = [
            ("kind", kinds.as_deref()),
            ("from", args.which.from.as_deref()),
            ("to", args.which.to.as_deref()),
            ("after", args.after.as_deref().filter(|_| position.is_none())),
            ("position", place.as_deref()),
            ("wait_s", Some(wait.as_str())),
            ("limit", Some("1")),
        ];
        let list: SignalList = context.client.get(&client::path(&["signals"], &query))?.read()?;
        if let Some(found) = list.signals.first() {
            match context.json {
                true => context.print_json(&serde_json::to_vec(found).unwrap_or_default())?,
                false => context.print(&signal::one(found))?,
            }
            return Ok(ExitCode::Done);
        }
        position = Some(list.position);
        // The daemon has waited for so long.
        left = left.map(|left| left.saturating_sub(seconds));
        if left == Some(0) {
            return Err(problems::no_signal_in_time(args.timeout.unwrap_or_default()).into());
        }
    }
}

/// Needs no daemon: the table is in the program.
fn schemas(args: &SchemaArgs, context: &Context) -> VerbResult {
    let text = match &args.kind {
        Some(word) => {
            let kind = SignalKind::of_word(word).ok_or_else(|| unknown_kind(word))?;
            serde_json::to_string_pretty(&schema(kind)).unwrap_or_default() + "\n"
        }
        None if context.json => {
            let all: serde_json::Value = SignalKind::ALL.into_iter().map(schema).collect();
            serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
        }
        None => context.draw(signal::kinds),
    };
    context.print(&text)?;
    Ok(ExitCode::Done)
}
