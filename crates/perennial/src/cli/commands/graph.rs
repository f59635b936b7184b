//! `graph`: the entity graph, which tells who did what, session by session, for good.

use jiff::Timestamp;
use perennial_api::graph::{GraphPage, GraphSession};
use perennial_api::{ExitCode, client};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::render::graph::{self, Exported};
use crate::cli::render::text::plain;
use crate::cli::since::since;
use crate::cli::vocabulary::Words;
use crate::cli::{progress, several};

/// Ask the entity graph: who did what in which session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial graph show role:architect
          perennial graph query --role architect --since 30d
          perennial graph export --format dot | dot -Tsvg > graph.svg

The graph is made from the journal and never changes anything. Each session is a situation of its own, \
situation:session-ID, and others belong to it: as actor the model (agent:MODEL) and the operator (person:operator), as \
method the roles that were held in it, as domain the situations, as description the summary, as identity the agent. \
It keeps all of that when an agent is buried and cleaned.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Show(ShowArgs),
    Query(QueryArgs),
    Export(ExportArgs),
}

/// Show what belongs to an entity, or list all entities
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial graph show
          perennial graph show bob
          perennial graph show role:architect
          perennial graph show agent:opus
          perennial graph show role:polecat --vocabulary gastown")]
pub struct ShowArgs {
    /// An entity, or an agent's name or id [default: list the entities]
    #[arg(value_name = "WHAT")]
    what: Option<String>,
    #[command(flatten)]
    words: Words,
}

/// List sessions with what belongs to them, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial graph query --role architect
          perennial graph query --agent bob --since 2026-11-01
          perennial graph query --actor opus --json
          perennial graph query --role polecat --vocabulary gastown")]
pub struct QueryArgs {
    #[command(flatten)]
    filter: Filter,
    /// List at most this many
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = within::<1, 1_000_000>)]
    limit: u64,
}

/// Print the graph for other programs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial graph export > graph.json
          perennial graph export --role architect --format dot")]
pub struct ExportArgs {
    /// json, or dot for Graphviz
    #[arg(long, value_parser = ["json", "dot"], default_value = "json")]
    format: String,
    #[command(flatten)]
    filter: Filter,
}

/// Which sessions are meant; words ignore case.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Filter {
    /// Only sessions of this agent: its id, or what it was called then
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only sessions in which this role was held
    #[arg(long)]
    role: Option<String>,
    /// Only sessions in which this model acted, or this harness if no model was given
    #[arg(long, value_name = "MODEL")]
    actor: Option<String>,
    /// Only sessions on this situation
    #[arg(long)]
    situation: Option<String>,
    /// Only what went on after this, such as 30d, 12h or 2026-11-17
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Timestamp>,
    /// Only what went on before this
    #[arg(long, value_name = "TIME", value_parser = since)]
    until: Option<Timestamp>,
    /// One session, by its id.
    #[arg(skip)]
    session: Option<String>,
    #[command(flatten)]
    words: Words,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Show(ShowArgs { what: None, words }) => {
            let everything = Filter { words, ..Filter::default() };
            let exported = Exported::of(&all(&everything, u64::MAX, context)?);
            print(context, &json!(exported.entities), || {
                context.draw(|canvas| graph::entities(&exported, canvas))
            })
        }
        Verb::Show(ShowArgs { what: Some(what), words }) => {
            let found = all(&Filter { words, ..named(&what) }, u64::MAX, context)?;
            if found.is_empty() {
                return Err(problems::no_such_entity(&plain(&what)).into());
            }
            print(context, &json!(found), || {
                context.draw(|canvas| graph::belongings(&found, canvas))
            })
        }
        Verb::Query(QueryArgs { filter, limit }) => {
            let found = all(&filter, limit, context)?;
            print(context, &json!(found), || context.draw(|canvas| graph::table(&found, canvas)))
        }
        Verb::Export(ExportArgs { format, filter }) => {
            let exported = Exported::of(&all(&filter, u64::MAX, context)?);
            match (format.as_str(), context.json) {
                ("dot", false) => context.print(&graph::dot(&exported))?,
                ("dot", true) => {
                    let dot = json!({ "dot": graph::dot(&exported) });
                    context.print_json(dot.to_string().as_bytes())?;
                }
                (_, _) => context.print_json(graph::json(&exported).as_bytes())?,
            }
            Ok(ExitCode::Done)
        }
    }
}

fn print(
    context: &Context,
    value: &serde_json::Value,
    draw: impl FnOnce() -> String,
) -> VerbResult {
    match context.json {
        true => context.print_json(value.to_string().as_bytes())?,
        false => context.print_long(&draw())?,
    }
    Ok(ExitCode::Done)
}

/// The sessions that an entity is, or belongs to.
fn named(what: &str) -> Filter {
    let some = |text: &str| Some(text.to_owned());
    let nothing = Filter::default();
    if let Some(session) = what.strip_prefix("situation:session-") {
        return Filter { session: some(session), ..nothing };
    }
    match what.split_once(':') {
        Some(("role", role)) => Filter { role: some(role), ..nothing },
        Some(("agent", actor)) => Filter { actor: some(actor), ..nothing },
        Some(("identity", agent)) => Filter { agent: some(agent), ..nothing },
        Some(("situation", situation)) => Filter { situation: some(situation), ..nothing },
        Some(("person", "operator")) => nothing,
        // Nobody is called that.
        Some(_) => Filter { agent: some(what), ..nothing },
        // A session's id has a dot, which no name has.
        None if what.contains('.') => Filter { session: some(what), ..nothing },
        None => Filter { agent: some(what), ..nothing },
    }
}

/// Up to `limit` sessions, read page by page.
fn all(filter: &Filter, limit: u64, context: &Context) -> Result<Vec<GraphSession>, Failure> {
    const PAGE: u64 = 1_000;
    let client = several::patient(context);
    let (since, until) = (filter.since.map(text), filter.until.map(text));
    let mut found: Vec<GraphSession> = Vec::new();
    let mut before: Option<String> = None;
    loop {
        let wanted = limit.saturating_sub(found.len() as u64).min(PAGE).to_string();
        let path = client::path(
            &["graph"],
            &[
                ("session", filter.session.as_deref()),
                ("agent", filter.agent.as_deref()),
                ("role", filter.role.as_deref()),
                ("actor", filter.actor.as_deref()),
                ("situation", filter.situation.as_deref()),
                ("since", since.as_deref()),
                ("until", until.as_deref()),
                ("before", before.as_deref()),
                ("limit", Some(&wanted)),
                ("vocabulary", filter.words.word()),
            ],
        );
        let answer = progress::told("reading the graph", || client.get(&path))?;
        let page: GraphPage = answer.read()?;
        found.extend(page.sessions);
        before = page.next.filter(|_| (found.len() as u64) < limit);
        if before.is_none() {
            return Ok(found);
        }
    }
}

fn text(at: Timestamp) -> String {
    at.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_entity_is_asked_for_by() {
        let asked = |what: &str| {
            let Filter { agent, role, actor, situation, session, .. } = named(what);
            [agent, role, actor, situation, session].map(Option::unwrap_or_default).join("|")
        };
        assert_eq!(asked("bob"), "bob||||");
        assert_eq!(asked("identity:agt_1"), "agt_1||||");
        assert_eq!(asked("role:architect"), "|architect|||");
        assert_eq!(asked("agent:opus:x"), "||opus:x||");
        assert_eq!(asked("situation:web"), "|||web|");
        assert_eq!(asked("situation:session-agt_1.2"), "||||agt_1.2");
        assert_eq!(asked("agt_1.2"), "||||agt_1.2");
        assert_eq!(asked("person:operator"), "||||");
        assert_eq!(asked("person:zach"), "person:zach||||");
    }
}
