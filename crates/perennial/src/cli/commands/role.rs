//! `role`: mandates that outlive their holders.

use perennial_api::role::{Role, RoleChanged, Vacancy};
use perennial_api::{ExitCode, client, request};
use perennial_core::role::DeclaredIn;
use serde::Serialize;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::own_session;
use crate::cli::problems;
use crate::cli::render::role;
use crate::cli::render::roster::{self, name};
use crate::cli::render::text::plain;
use crate::cli::vocabulary::Words;

/// List roles, and give, hand over or drop them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role ls
          perennial role assume bob architect
          perennial role transfer bob eve
          perennial role vacancies

An agent has at most one role. Roles are declared in config.toml (`perennial config explain role`) or in \
the perennial.toml of a project; where both declare one, config.toml counts. A role that nobody declared works, too. A role of one name is one role in \
the whole fleet: its holders may be of several projects, each bound by what its own project declares, and it \
is vacant only when none of them is living.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Ls(LsArgs),
    Show(ShowArgs),
    Assume(AssumeArgs),
    Transfer(TransferArgs),
    Drop(DropArgs),
    Vacancies(VacanciesArgs),
}

/// List roles with their holders, vacant ones first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role ls
          perennial role ls --vocabulary gastown")]
pub struct LsArgs {
    #[command(flatten)]
    words: Words,
}

/// Show one role: its mandate, its holders, what is declared of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role show architect
          perennial role show polecat --vocabulary gastown")]
pub struct ShowArgs {
    /// The role's name
    role: String,
    #[command(flatten)]
    words: Words,
}

/// Give an agent a role; it leaves the one that it had
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role assume bob architect
          perennial role assume architect        in an agent's session: for itself")]
pub struct AssumeArgs {
    /// The agent's name or id, then the role; an agent may leave itself out
    #[arg(value_name = "AGENT ROLE")]
    words: Vec<String>,
}

/// Hand an agent's role over to another agent, which leaves the one that it had
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role transfer bob eve
          perennial role transfer eve            in an agent's session: its own role")]
pub struct TransferArgs {
    /// Who has the role, and who gets it
    #[arg(value_name = "AGENT")]
    words: Vec<String>,
}

/// Take an agent's role from it, or dismiss the vacancy of a role
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial role drop bob
          perennial role drop                    in an agent's session: its own role
          perennial role drop reviewer --vacancy

A vacancy that a person dismisses is no longer listed, nor told to agents, until the role is held and left again.")]
pub struct DropArgs {
    /// The agent's name or id; with --vacancy, the role
    #[arg(value_name = "AGENT")]
    target: Option<String>,
    /// Dismiss the vacancy of this role: for persons only
    #[arg(long, requires = "target")]
    vacancy: bool,
}

/// List roles that were held and have no living holder any more
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial role vacancies

A role is vacant from the burial, transfer or drop that left it without a living holder, until a living agent takes \
it or a person dismisses the vacancy. A role that nobody ever held is not listed. The operator's roles come first, made-up ones last.")]
pub struct VacanciesArgs {}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Ls(LsArgs { words }) => {
            let mut roles = all(context)?;
            roles.iter_mut().for_each(|role| rename(role, &words));
            roles.sort_by_key(|role| {
                let declared = |vacancy: &Vacancy| vacancy.declared;
                (role.vacancy.is_none(), !role.vacancy.as_ref().is_some_and(declared))
            });
            show(context, &roles, |roles| context.draw(|canvas| role::list(roles, canvas)))
        }
        Verb::Vacancies(VacanciesArgs {}) => {
            let mut roles = all(context)?;
            roles.sort_by_key(by_whose_word);
            let vacant: Vec<_> = roles.into_iter().filter_map(|role| role.vacancy).collect();
            show(context, &vacant, |vacant| role::vacancies(vacant))
        }
        Verb::Show(ShowArgs { role, words }) => {
            let role = words.our_role(role);
            let is_it = |one: &Role| one.name.eq_ignore_ascii_case(&role);
            let found = all(context)?.into_iter().find(is_it);
            let mut found = found.ok_or_else(|| problems::no_such_role(&plain(&role)))?;
            rename(&mut found, &words);
            show(context, &found, |found| context.draw(|canvas| role::card(found, canvas)))
        }
        Verb::Assume(AssumeArgs { words }) => {
            let (target, role) = two(words, "assume bob architect")?;
            let path = client::path(&["agents", &target.of()?, "role"], &[]);
            changed(context, &path, &request::Assume { role }, |change| {
                let role = change.agent.role.as_deref().unwrap_or_default();
                format!("{} holds the role {}\n", name(&change.agent), plain(role))
            })
        }
        Verb::Transfer(TransferArgs { words }) => {
            let (target, to) = two(words, "transfer bob eve")?;
            let path = client::path(&["agents", &target.of()?, "role", "transfer"], &[]);
            changed(context, &path, &request::Transfer { to }, |change| {
                let role = change.agent.role.as_deref().unwrap_or_default();
                format!("{} holds the role {} now\n", name(&change.agent), plain(role))
            })
        }
        Verb::Drop(DropArgs { target: Some(role), vacancy: true }) => {
            let answer =
                context.client.post(&client::path(&["roles", &role, "dismiss"], &[]), &())?;
            context.show(&answer, |vacancy: &Vacancy| {
                format!("the vacancy of the role {} is dismissed\n", plain(&vacancy.role))
            })?;
            Ok(ExitCode::Done)
        }
        Verb::Drop(DropArgs { target, .. }) => {
            let target = Target(target).of()?;
            let path = client::path(&["agents", &target, "role", "drop"], &[]);
            changed(context, &path, &(), |change| {
                format!("{} holds no role now\n", name(&change.agent))
            })
        }
    }
}

/// The role in the words of a vocabulary.
fn rename(role: &mut Role, words: &Words) {
    let Some(vocabulary) = words.vocabulary() else { return };
    role.name = vocabulary.role(&role.name).to_owned();
    if let Some(vacancy) = &mut role.vacancy {
        vacancy.role = vocabulary.role(&vacancy.role).to_owned();
    }
    if let Some(overseer) = &mut role.overseer {
        *overseer = vocabulary.role(overseer).to_owned();
    }
}

/// The agent that is meant: without a word, the one whose session calls.
struct Target(Option<String>);

impl Target {
    fn of(self) -> Result<String, Failure> {
        match self.0 {
            Some(target) => Ok(target),
            None => own_session::agent(),
        }
    }
}

/// An agent, which an agent itself may leave out, and another word.
fn two(words: Vec<String>, example: &str) -> Result<(Target, String), Failure> {
    match <[String; 2]>::try_from(words) {
        Ok([target, word]) => Ok((Target(Some(target)), word)),
        Err(words) => match <[String; 1]>::try_from(words) {
            Ok([word]) => Ok((Target(None), word)),
            Err(_) => Err(problems::role_words(example).into()),
        },
    }
}

/// The operator's roles first, then those of the project here and those that are built in; then those of other projects.
fn by_whose_word(role: &Role) -> (usize, bool) {
    let place = |it: &DeclaredIn| role.declared_in.as_deref() == Some(it.word());
    let places = DeclaredIn::BY_PRECEDENCE;
    let is_declared = role.vacancy.as_ref().is_some_and(|vacancy| vacancy.declared);
    (places.iter().position(place).unwrap_or(places.len()), !is_declared)
}

fn all(context: &Context) -> Result<Vec<Role>, Failure> {
    let dir = std::env::current_dir().ok();
    let dir = dir.as_ref().map(|dir| dir.to_string_lossy());
    let path = client::path(&["roles"], &[("dir", dir.as_deref())]);
    Ok(context.client.get(&path)?.read()?)
}

fn show<T: Serialize>(context: &Context, value: &T, draw: impl Fn(&T) -> String) -> VerbResult {
    match context.json {
        true => context.print_json(&serde_json::to_vec(value).unwrap_or_default())?,
        false => context.print(&draw(value))?,
    }
    Ok(ExitCode::Done)
}

fn changed(
    context: &Context,
    path: &str,
    body: &impl Serialize,
    told: impl Fn(&RoleChanged) -> String,
) -> VerbResult {
    let answer = context.client.post(path, body)?;
    context.show(&answer, |change: &RoleChanged| {
        let mut text = told(change);
        text.push_str(&roster::crowded(&change.also_held_by));
        let vacant = change.vacancy.iter().chain(&change.also_vacant);
        vacant.for_each(|vacancy| text.push_str(&role::notice(vacancy)));
        text
    })?;
    Ok(ExitCode::Done)
}
