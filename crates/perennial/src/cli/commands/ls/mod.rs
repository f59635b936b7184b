//! `ls`: lists agents, those that need you first.

mod watch;

use std::path::Path;

use perennial_api::{Agent, ExitCode, Response, client};
use serde_json::json;

use crate::cli::commands::mail;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::render::document::{Document, documents, of_agents};
use crate::cli::render::roster::{in_cemetery, roster};
use crate::cli::vocabulary::{StateWord, Words};

/// List agents, those that need you first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial ls
          perennial ls --roster living --json
          perennial ls --all
          perennial ls --role architect
          perennial ls --stale=60
          perennial ls --count
          perennial ls --watch
          perennial ls --state alive --vocabulary tavern

With --watch --json, each line is one agent that has changed.

  !        needs you; `perennial why` shows the reason
  CONTEXT  how much of its usable context window is filled
  TEXTS    how many texts are waiting for it; `perennial sent` lists them")]
pub struct Args {
    /// Include the dead; bob~1 is the agent that was called bob before
    #[arg(long)]
    all: bool,
    /// List only this roster
    #[arg(long, value_parser = ["living", "freezer", "cemetery"])]
    roster: Option<String>,
    /// List only this state, such as waiting or crashed
    #[arg(long, value_parser = StateWord)]
    #[arg(hide_possible_values = true)]
    state: Option<String>,
    /// List only agents that work in this project
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// List only agents that work on this situation
    #[arg(long)]
    situation: Option<String>,
    /// List only agents that have not been confirmed for this long [default: 300]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "300", value_parser = within::<0, { u32::MAX as u64 }>)]
    stale: Option<u64>,
    /// Keep the list on the screen and up to date; q quits
    #[arg(long, short, conflicts_with = "vocabulary")]
    watch: bool,
    /// List only holders of this role; of the dead, those who held it last
    #[arg(long)]
    role: Option<String>,
    /// Print only how many there are of each roster
    #[arg(long, conflicts_with_all = ["watch", "vocabulary"])]
    count: bool,
    #[command(flatten)]
    words: Words,
}

/// The agents that were asked for, and how many there are in the cemetery.
struct Listing {
    agents: Vec<Agent>,
    dead: usize,
    /// The daemon can't record anything now.
    is_read_only: bool,
}

const READ_ONLY: &str =
    "the daemon is read-only, and states may be out of date: perennial doctor\n";

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if args.watch {
        return watch::run(args, context);
    }
    let answer = context.client.get(&args.path())?;
    if args.count {
        return count(&Listing::read(&answer)?, args, context);
    }
    if let Some(vocabulary) = args.words.vocabulary().filter(|_| !context.json) {
        let agents: Vec<Document> = answer.read()?;
        let drawn = match agents.is_empty() {
            true => "no matching agents\n".to_owned(),
            false => context.draw(|canvas| documents(&agents, &of_agents(vocabulary), canvas)),
        };
        context.print_long(&drawn)?;
        return Ok(ExitCode::Done);
    }
    if context.json {
        context.print_json(&answer.body)?;
    } else {
        let drawn = args.drawn(&Listing::read(&answer)?, context);
        context.print_long(&(drawn + &mail::unread_line(context)))?;
    }
    Ok(ExitCode::Done)
}

/// How many agents each roster has, of those that were asked for.
fn count(listing: &Listing, args: &Args, context: &Context) -> VerbResult {
    let listed = |roster: &str| listing.agents.iter().filter(|one| one.roster == roster).count();
    let [living, freezer, mut cemetery] = ["living", "freezer", "cemetery"].map(listed);
    // Without a filter the dead are counted, not listed.
    if !args.is_filtered() {
        cemetery = listing.dead;
    }
    match context.json {
        true => {
            let counts = json!({ "living": living, "freezer": freezer, "cemetery": cemetery });
            context.print_json(counts.to_string().as_bytes())?;
        }
        false => context
            .print(&format!("living    {living}\nfreezer   {freezer}\ncemetery  {cemetery}\n"))?,
    }
    Ok(ExitCode::Done)
}

impl Listing {
    fn read(answer: &Response) -> Result<Listing, Failure> {
        let dead = answer.header("x-dead").and_then(|count| count.parse().ok()).unwrap_or(0);
        let is_read_only = answer.header("x-read-only").is_some();
        Ok(Listing { agents: answer.read()?, dead, is_read_only })
    }
}

/// A directory as the daemon knows it; a project that is no longer there is asked for as written.
fn absolute(project: &str) -> String {
    Path::new(project)
        .canonicalize()
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok())
        .unwrap_or_else(|| project.to_owned())
}

impl Args {
    fn path(&self) -> String {
        let project = self.project.as_deref().map(absolute);
        let stale = self.stale.map(|seconds| seconds.to_string());
        client::path(
            &["agents"],
            &[
                ("all", self.all.then_some("true")),
                ("roster", self.roster.as_deref()),
                ("state", self.state.as_deref()),
                ("project", project.as_deref()),
                ("situation", self.situation.as_deref()),
                ("stale", stale.as_deref()),
                ("role", self.role.as_deref()),
                ("vocabulary", self.words.word()),
            ],
        )
    }

    fn listing(&self, context: &Context) -> Result<Listing, Failure> {
        Listing::read(&context.client.get(&self.path())?)
    }

    fn drawn(&self, listing: &Listing, context: &Context) -> String {
        let note = if listing.is_read_only { READ_ONLY } else { "" };
        self.listed(listing, context) + note
    }

    fn listed(&self, Listing { agents, dead, .. }: &Listing, context: &Context) -> String {
        if agents.is_empty() {
            return nobody(self, *dead);
        }
        let listed = agents.iter().filter(|agent| agent.roster == "cemetery").count();
        // Of a part of the agents, nothing is said about the others.
        let unlisted = if self.is_filtered() { 0 } else { dead.saturating_sub(listed) };
        context.draw(|canvas| roster(agents, unlisted, canvas))
    }

    fn is_filtered(&self) -> bool {
        self.roster.is_some()
            || self.state.is_some()
            || self.project.is_some()
            || self.situation.is_some()
            || self.stale.is_some()
            || self.role.is_some()
    }
}

fn nobody(args: &Args, dead: usize) -> String {
    if args.is_filtered() {
        "no matching agents\n".to_owned()
    } else {
        let dead = match dead {
            0 => "no agents yet\n".to_owned(),
            count => in_cemetery(count) + "\n",
        };
        dead + "start one:             perennial spawn bob -- sleep 1000\n\
                or use it right away:  perennial run -- bash\n"
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::state::State;

    #[test]
    fn the_words_of_the_wire_are_those_of_the_core() {
        assert_eq!(perennial_api::state::ALL, State::ALL.map(State::word));
    }
}
