//! `mail`: texts for one agent, a role, a team or the operator.

use std::path::PathBuf;

use perennial_api::mail::{Mail, MailList, TEXT_LIMIT};
use perennial_api::{ExitCode, client, request};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::render::mail;
use crate::cli::render::text::plain;
use crate::cli::{problems, text_source};

/// Send and read mail: to an agent, a role, a team or the operator
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial mail ls
          perennial mail send bob -s 'the build' -m 'main is red since 14:00'
          perennial mail send role:architect --all --file NOTES
          perennial mail read
          perennial mail reply msg_01kf3v6mbnefyr5j9mmct2xk8e -m 'fixed'

An agent CLI gets its mail in its turn, at its end, or when it is idle. Other programs read it with \
`perennial mail read`.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Send(SendArgs),
    Ls(LsArgs),
    Read(ReadArgs),
    Reply(ReplyArgs),
}

/// Send a mail
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial mail send bob -s 'the build' -m 'main is red since 14:00'
          perennial mail send team:bob -m 'release on Friday' --priority high
          perennial mail send operator -s 'question' -m 'which port?'
          git log -3 | perennial mail send role:reviewer -s 'what landed' -m -

A subject is one line of at most 200 bytes; a text is at most 64 KiB.")]
pub struct SendArgs {
    /// An agent's name or id, role:NAME, team:NAME (an agent and all below it) or operator
    to: String,
    /// A one-line subject
    #[arg(short = 's', long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
    #[command(flatten)]
    source: TextSource,
    /// low waits for the next turn; high and urgent are marked
    #[arg(long, value_name = "PRIORITY", value_enum)]
    priority: Option<PriorityWord>,
    /// To every holder of a role, not to one
    #[arg(long)]
    all: bool,
}

/// Where the text comes from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct TextSource {
    /// The text, or - to read it from standard input
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PriorityWord {
    Low,
    Normal,
    High,
    Urgent,
}

/// List mail, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial mail ls
          perennial mail ls --unread
          perennial mail ls --sent
          perennial mail ls --thread msg_01kf3v6mbnefyr5j9mmct2xk8e
          perennial mail ls bob -n 100 --json
          perennial mail ls --before msg_01kf3v6mbnefyr5j9mmct2xk8e")]
pub struct LsArgs {
    /// Whose mailbox: an agent's name or id, role:NAME or operator; your own by default
    mailbox: Option<String>,
    /// Show only unread mail
    #[arg(long)]
    unread: bool,
    /// Show what was sent, with what became of it
    #[arg(long)]
    sent: bool,
    /// Show the thread of this mail, as far as you may read it
    #[arg(long, value_name = "ID", conflicts_with_all = ["mailbox", "sent"])]
    thread: Option<String>,
    /// Show only mails older than this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Show at most this many mails
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = 20)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1_000>)]
    count: u64,
}

/// Read mails; your own count as read
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial mail read
          perennial mail read msg_01kf3v6mbnefyr5j9mmct2xk8e

Without an id: your unread mails, the oldest first, ten at once.")]
pub struct ReadArgs {
    /// The mails' ids, from `perennial mail ls`
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

/// Answer a mail; the answer goes to its sender
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial mail reply msg_01kf3v6mbnefyr5j9mmct2xk8e -m 'port 8080'")]
pub struct ReplyArgs {
    /// The mail's id
    id: String,
    /// A subject other than that of the mail
    #[arg(short = 's', long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
    #[command(flatten)]
    source: TextSource,
    /// low waits for the next turn; high and urgent are marked
    #[arg(long, value_name = "PRIORITY", value_enum)]
    priority: Option<PriorityWord>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Send(args) => {
            let mail = request::Mail {
                to: Some(args.to),
                reply_to: None,
                subject: args.subject,
                text: args.source.read()?,
                priority: args.priority.map(Into::into),
                all: args.all,
            };
            send(&mail, context)
        }
        Verb::Reply(args) => {
            let mail = request::Mail {
                to: None,
                reply_to: Some(args.id),
                subject: args.subject,
                text: args.source.read()?,
                priority: args.priority.map(Into::into),
                all: false,
            };
            send(&mail, context)
        }
        Verb::Ls(args) => ls(&args, context),
        Verb::Read(args) => {
            let body = request::ReadMail { ids: args.ids };
            let answer = context.client.post(&client::path(&["mail", "read"], &[]), &body)?;
            // An answer in JSON is that of the daemon alone.
            let left = match body.ids.is_empty() && !context.json {
                true => unread(context)?,
                false => 0,
            };
            context.show(&answer, |mails: &Vec<Mail>| {
                context.draw(|canvas| mail::read(mails, left, canvas))
            })?;
            Ok(ExitCode::Done)
        }
    }
}

fn send(mail: &request::Mail, context: &Context) -> VerbResult {
    let answer = context.client.post(&client::path(&["mail"], &[]), mail)?;
    context.show(&answer, |mails: &Vec<Mail>| mails.iter().map(mail::sent).collect())?;
    Ok(ExitCode::Done)
}

/// A line about the caller's own unread mail, if there is any. Who has no mailbox is told nothing.
pub fn unread_line(context: &Context) -> String {
    match unread(context) {
        Ok(0) | Err(_) => String::new(),
        Ok(count) => format!(
            "you have {count} unread mail{}: perennial mail read\n",
            if count == 1 { "" } else { "s" }
        ),
    }
}

/// How many mails of the caller's own are unread.
fn unread(context: &Context) -> Result<u64, Failure> {
    let query = [("limit", Some("1"))];
    let list: MailList = context.client.get(&client::path(&["mail"], &query))?.read()?;
    Ok(list.unread)
}

fn ls(args: &LsArgs, context: &Context) -> VerbResult {
    let set = |is_set: bool| is_set.then_some("true");
    let count = args.count.to_string();
    let query = [
        ("mailbox", args.mailbox.as_deref()),
        ("unread", set(args.unread)),
        ("sent", set(args.sent)),
        ("thread", args.thread.as_deref()),
        ("before", args.before.as_deref()),
        ("limit", Some(count.as_str())),
    ];
    let answer = context.client.get(&client::path(&["mail"], &query))?;
    context.show(&answer, |list: &MailList| {
        let options = options(args);
        let asked = mail::Asked {
            options: &options,
            is_own: args.mailbox.is_none(),
            only_unread: args.unread,
            is_later_page: args.before.is_some(),
        };
        context.draw(|canvas| match (args.sent, &args.thread) {
            (_, Some(_)) => mail::thread(list, asked, canvas),
            (true, None) => mail::outbox(list, asked, canvas),
            (false, None) => mail::inbox(list, asked, canvas),
        })
    })?;
    Ok(ExitCode::Done)
}

/// What the next page is asked for with, a blank behind each word.
fn options(args: &LsArgs) -> String {
    let mut words: Vec<String> = args.mailbox.iter().map(|name| plain(name)).collect();
    words.extend(args.unread.then(|| "--unread".to_owned()));
    words.extend(args.sent.then(|| "--sent".to_owned()));
    words.extend(args.thread.iter().map(|id| format!("--thread {}", plain(id))));
    words.into_iter().map(|word| word + " ").collect()
}

impl From<PriorityWord> for request::Priority {
    fn from(word: PriorityWord) -> request::Priority {
        match word {
            PriorityWord::Low => request::Priority::Low,
            PriorityWord::Normal => request::Priority::Normal,
            PriorityWord::High => request::Priority::High,
            PriorityWord::Urgent => request::Priority::Urgent,
        }
    }
}

impl TextSource {
    fn read(self) -> Result<String, Failure> {
        const MAIL: text_source::Kind = text_source::Kind {
            limit: TEXT_LIMIT,
            missing: problems::nothing_to_mail,
            too_long: problems::mail_too_long,
            not_text: problems::mail_not_text,
        };
        text_source::read(self.text, self.file, &MAIL)
    }
}
