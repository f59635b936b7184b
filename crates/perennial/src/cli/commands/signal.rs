//! `signal`: typed machine messages between agents, those above them and the operator.

use std::collections::BTreeMap;

use perennial_api::signal::{SendSignal, Signal, SignalList};
use perennial_api::{ExitCode, client};
use perennial_core::signal::SignalKind;
use perennial_core::vocabulary::Vocabulary;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::render::document::{Document, document, documents, of_signals};
use crate::cli::render::signal;
use crate::cli::render::text::plain;
use crate::cli::since::since;
use crate::cli::vocabulary::Words;
use crate::daemon::showing::problems::signal::unknown_kind;
use crate::signal_schema::schema;

/// The longest that one answer of the daemon waits.
const WAIT_S: u64 = 25;
/// So many are listed.
const COUNT: u64 = 20;

/// Send, list and wait for signals: typed messages between agents and those above them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal ls --kind AGENT_CRASHED
          perennial signal send GUIDANCE --to bob --field text='use port 8081'
          perennial signal wait --kind NEEDS_INPUT --timeout 60
          perennial signal schema NEEDS_INPUT

A signal that somebody sends is also told to its target, as mail is. What Perennial itself emits of its agents \
(AGENT_*, VALIDATION_*, HOOK_UPDATED, HANDOFF_*, CONTEXT_WARNING) is listed, waited for and mirrored; nobody's \
conversation is told of it.")]
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
Examples: perennial signal send GUIDANCE --to bob --field text='use port 8081'
          perennial signal send NEEDS_INPUT --payload '{\"question\": \"why?\"}'
          perennial signal send MERGE_CONFLICT --to bob \\
              --field identity_name=bob \\
              --field conflicting_files=src/a --field conflicting_files=src/b \\
              --field resolution_hints=null

Where a field may be null, the word null says that there is no value. \
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
    #[command(flatten)]
    words: Words,
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
    #[command(flatten)]
    words: Words,
}

/// List signals, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal ls
          perennial signal ls --kind NEEDS_INPUT --kind VIOLATION --since 1h
          perennial signal ls --to operator --json
          perennial signal ls --from spawn --vocabulary s3
          perennial signal ls --after mmct2xk8e0")]
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
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = COUNT)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 500>)]
    count: u64,
}

/// Wait for the next signal and print it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial signal wait --kind NEEDS_INPUT
          perennial signal wait --from bob --timeout 60
          perennial signal wait --after mmct2xk8e0

Without --after, only a signal from now on counts. With the id of the last one after --after, each is given once. \
If none comes in time, the exit code is 7.")]
pub struct WaitArgs {
    #[command(flatten)]
    which: Which,
    /// Only signals behind this one
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(value_parser = within::<0, { u32::MAX as u64 }>)]
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
    let vocabulary = args.words.word().map(str::to_owned);
    let body = SendSignal { kind: args.kind, to: args.to, payload, fields, vocabulary };
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
        ("vocabulary", args.which.words.word()),
    ];
    let answer = context.client.get(&client::path(&["signals"], &query))?;
    if let Some(vocabulary) = args.which.words.vocabulary().filter(|_| !context.json) {
        let found: Documents = answer.read()?;
        let drawn = match found.signals.is_empty() {
            true => "no signals\n".to_owned(),
            false => {
                context.draw(|canvas| documents(&found.signals, &of_signals(vocabulary), canvas))
            }
        };
        context.print_long(&drawn)?;
        return Ok(ExitCode::Done);
    }
    context.show(&answer, |list: &SignalList| {
        context.draw(|canvas| signal::list(list, &options(args), canvas))
    })?;
    Ok(ExitCode::Done)
}

/// What the next page is asked for with, up to the id of the last signal of this one.
fn options(args: &LsArgs) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(args.which.kind.iter().map(|kind| format!("--kind {}", plain(kind))));
    for (option, value) in [("--from", &args.which.from), ("--to", &args.which.to)] {
        words.extend(value.iter().map(|value| format!("{option} {}", plain(value))));
    }
    words.extend(args.since.map(|since| format!("--since {since}")));
    if args.count != COUNT {
        words.push(format!("-n {}", args.count));
    }
    words.push(if args.after.is_some() { "--after" } else { "--before" }.to_owned());
    words.join(" ")
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
            ("vocabulary", args.which.words.word()),
        ];
        let list: Documents = context.client.get(&client::path(&["signals"], &query))?.read()?;
        if let Some(found) = list.signals.into_iter().next() {
            print_one(found, args.which.words.vocabulary(), context)?;
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

/// Signals as the daemon told them: in our form or that of a seed.
#[derive(Debug, serde::Deserialize)]
struct Documents {
    signals: Vec<Document>,
    position: u64,
}

fn print_one(
    found: Document,
    vocabulary: Option<Vocabulary>,
    context: &Context,
) -> Result<(), Failure> {
    match (context.json, vocabulary) {
        (true, _) => context.print_json(&serde_json::to_vec(&found).unwrap_or_default()),
        (false, Some(words)) => {
            context.print(&context.draw(|canvas| document(&found, &of_signals(words), canvas)))
        }
        (false, None) => {
            let found = serde_json::from_value(found.into()).unwrap_or_default();
            context.print(&signal::one(&found))
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
