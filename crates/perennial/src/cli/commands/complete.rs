//! `complete` (hidden): what a shell's completion script asks for.
//!
//! Prints one candidate per line, with its meaning behind a tab. Silent and empty where there is no
//! daemon, or where it does not answer at once.

use std::ffi::OsString;
use std::time::Duration;

use clap::CommandFactory;
use perennial_api::answer::Message;
use perennial_api::mail::{Mail, MailList};
use perennial_api::post::Post;
use perennial_api::role::Role;
use perennial_api::{Agent, ExitCode, client};
use perennial_engine::harness::preset;
use serde::de::DeserializeOwned;

use super::paths;
use crate::cli::Cli;
use crate::cli::completion::{Candidate, Known, Whose, candidates};
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::render::roster::{name, reason};
use crate::cli::render::text::plain;
use crate::cli::render::time::LocalTime;
use crate::cli::terminal::key_names;
use crate::config::KEYS;

/// A person waits with a finger on the key.
const PATIENCE: Duration = Duration::from_secs(1);
/// Older sessions are rarely asked for.
const SESSIONS: u64 = 20;

/// List what the last word of a command line may become
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command line up to the cursor
    #[arg(last = true)]
    words: Vec<OsString>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let words: Vec<String> =
        args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut root = Cli::command();
    root.build();
    let mut lines = String::new();
    for Candidate { word, help } in candidates(&root, &words, |known| look_up(known, context)) {
        lines.push_str(&format!("{}\t{}\n", plain(&word), plain(&help)));
    }
    context.print(&lines)?;
    Ok(ExitCode::Done)
}

fn look_up(known: Known<'_>, context: &Context) -> Vec<Candidate> {
    let one = |(word, help): (&str, &str)| Candidate { word: word.into(), help: help.into() };
    match known {
        Known::Agents(whose) => agents(whose, context),
        Known::WaitingTexts => waiting_texts(context),
        Known::Posts => posts(context),
        Known::Addresses(typed) => addresses(typed, context),
        Known::Mails => mails(context),
        Known::Roles => roles(context),
        Known::Keys => key_names::common().map(|name| one((name, ""))).collect(),
        Known::SessionsOf(agent) => sessions(agent, context),
        Known::Harnesses => {
            preset::names(&context.home.config).iter().map(|name| one((name, ""))).collect()
        }
        Known::ConfigKeys => KEYS.iter().map(|key| one((key.name, key.summary))).collect(),
        Known::Paths => {
            paths::paths(context).iter().map(|(name, _, what)| one((name, what))).collect()
        }
    }
}

fn asked<T: DeserializeOwned + Default>(path: &str, context: &Context) -> T {
    let client = context.client.clone().patience(PATIENCE);
    client.get(path).and_then(|answer| answer.read()).unwrap_or_default()
}

/// In the order of `ls`.
fn agents(whose: Whose<'_>, context: &Context) -> Vec<Candidate> {
    let with_dead = matches!(whose, Whose::AlsoDead(typed) if !typed.is_empty());
    let query = [("all", with_dead.then_some("true"))];
    let agents: Vec<Agent> = asked(&client::path(&["agents"], &query), context);
    let clock = LocalTime::system();
    let told = |agent: &Agent| format!("{}: {}", plain(&agent.state), reason(agent, &clock));
    let is_running =
        |agent: &Agent| agent.session.as_ref().is_some_and(|session| session.exit.is_none());
    let is_offered = |agent: &&Agent| match whose {
        Whose::Undead | Whose::AlsoDead(_) => true,
        Whose::Running => is_running(agent),
        Whose::Resting => !is_running(agent),
    };
    let offered = agents.iter().filter(is_offered);
    offered.map(|agent| Candidate { word: name(agent), help: told(agent) }).collect()
}

fn waiting_texts(context: &Context) -> Vec<Candidate> {
    let agents: Vec<Agent> = asked(&client::path(&["agents"], &[]), context);
    let mut offered = Vec::new();
    for agent in agents.iter().filter(|agent| agent.texts_waiting > 0) {
        let sent: Vec<Message> = asked(&client::path(&["agents", &agent.id, "sent"], &[]), context);
        let waiting = sent.into_iter().filter(|text| text.state == "waiting");
        offered.extend(waiting.map(|text| Candidate {
            help: format!("to {}: {}", agent.name, text.head),
            word: text.id,
        }));
    }
    offered
}

fn posts(context: &Context) -> Vec<Candidate> {
    let posts: Vec<Post> = asked(&client::path(&["board"], &[]), context);
    let told = |post: Post| Candidate { help: post.title.unwrap_or(post.head), word: post.id };
    posts.into_iter().map(told).collect()
}

/// Teams only where one is asked for: there are as many as agents.
fn addresses(typed: &str, context: &Context) -> Vec<Candidate> {
    let agents = agents(Whose::Undead, context);
    let teams: Vec<Candidate> = match typed.starts_with('t') {
        true => agents.iter().map(|agent| below("team", agent)).collect(),
        false => Vec::new(),
    };
    let operator = Candidate { word: "operator".to_owned(), help: "you, a person".to_owned() };
    let roles = roles(context).into_iter().map(|role| below("role", &role));
    agents.into_iter().chain([operator]).chain(roles).chain(teams).collect()
}

fn below(kind: &str, candidate: &Candidate) -> Candidate {
    Candidate { word: format!("{kind}:{}", candidate.word), help: candidate.help.clone() }
}

fn mails(context: &Context) -> Vec<Candidate> {
    let list: MailList = asked(&client::path(&["mail"], &[]), context);
    let told = |mail: Mail| Candidate {
        help: format!(
            "from {}: {}",
            mail.from,
            if mail.subject.is_empty() { mail.head } else { mail.subject }
        ),
        word: mail.id,
    };
    list.mails.into_iter().map(told).collect()
}

fn roles(context: &Context) -> Vec<Candidate> {
    let roles: Vec<Role> = asked(&client::path(&["roles"], &[]), context);
    let holders =
        |role: &Role| -> Vec<String> { role.holders.iter().map(|one| one.name.clone()).collect() };
    let told = |role: Role| Candidate {
        help: match holders(&role) {
            names if names.is_empty() => "nobody holds it".to_owned(),
            names => format!("held by {}", names.join(", ")),
        },
        word: role.name,
    };
    roles.into_iter().map(told).collect()
}

/// The newest sessions of an agent, the newest first.
fn sessions(agent: &str, context: &Context) -> Vec<Candidate> {
    let agent: Agent = asked(&client::path(&["agents", agent], &[]), context);
    let newest = agent.session.map_or(0, |session| session.number);
    let numbers = (1..=newest).rev().take(usize::try_from(SESSIONS).unwrap_or(usize::MAX));
    let help = |number| if number == newest { "the newest session" } else { "" };
    numbers
        .map(|number| Candidate { word: number.to_string(), help: help(number).into() })
        .collect()
}
