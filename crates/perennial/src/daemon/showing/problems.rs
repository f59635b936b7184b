//! Every problem that the daemon answers with, as a person reads it: what, why, what to do next.
//!
//! The daemon makes its problems nowhere else: refusals of the core here; requests that are malformed,
//! and things that are missing, in files of their own. `docs/messages.md` lists them all. `next` never
//! names a verb that destroys anything: agents do what error texts suggest.

pub mod checkpoints;
mod crowded;
pub mod handoff;
pub mod mail;
mod malformed;
mod missing;
mod offspring;
mod record;
pub mod signal;
pub mod snapshots;
pub mod task;

use perennial_api::{ExitCode, Problem};
use perennial_core::agent::Agent;
use perennial_core::authority::{Caller, Standing};
use perennial_core::fleet::Fleet;
use perennial_core::hold::HeldFor;
use perennial_core::id::AgentId;
use perennial_core::name::{Name, NameKey};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::state::{Roster, State};
use perennial_core::visibility::Private;
use perennial_engine::supervisor::Rejection;

use crate::daemon::showing::agent_word::agent_word;
use crate::daemon::showing::sentences;
use crate::daemon::showing::view;
use crate::similar::similar;

pub use crowded::*;
pub use malformed::*;
pub use missing::*;
pub use record::*;

pub fn rejection(rejection: &Rejection, fleet: &Fleet) -> Problem {
    match rejection {
        Rejection::Refused(why) => refusal(why, fleet),
        Rejection::NotRecorded(why) => not_recorded("the journal", &why.to_string()),
    }
}

/// A refusal that depends on the caller alone, and names no agent.
pub fn refusal_to(refusal: &Refusal) -> Problem {
    self::refusal(refusal, &Fleet::default())
}

/// Agents outside the cemetery whose names are like this one.
fn meant<'a>(target: &str, fleet: &'a Fleet) -> Vec<&'a str> {
    let present = fleet.agents().filter(|agent| agent.state.roster() != Roster::Cemetery);
    similar(target, present.filter_map(|agent| agent.name.as_ref().map(Name::as_str)))
}

/// The name by which people find this agent; its id, if another has the name by now.
fn name_of(fleet: &Fleet, id: AgentId) -> String {
    let is_found = |agent: &&Agent| {
        let holder = agent.name.as_ref().and_then(|name| fleet.find(name.as_str()).ok());
        holder.is_none_or(|holder| holder.id == id)
    };
    fleet.agent(id).filter(is_found).map_or_else(|| id.to_string(), view::name)
}

pub fn refusal(refusal: &Refusal, fleet: &Fleet) -> Problem {
    let name = |id: AgentId| name_of(fleet, id);
    match refusal {
        Refusal::NoSuchAgent { target } => no_such_agent(target, &meant(target, fleet)),
        Refusal::NameTaken { name: taken, by } => name_taken(taken, *by, &name(*by)),
        Refusal::NotAllowed { caller, verb, standing } => not_allowed(*caller, *verb, *standing),
        Refusal::NotVisible { caller, private } => not_visible(*caller, *private),
        Refusal::NotASession => not_a_session(),
        Refusal::NoSuchMessage { message } => not_waiting(*message),
        Refusal::MessageOver { message, step } => message_over(*message, *step),
        Refusal::MessageLost { message } => message_lost(*message),
        Refusal::MessageExists { message } => {
            Problem::new(409, "message-exists", format!("message {message} already exists"))
                .next("send the text under another id")
        }
        Refusal::AlreadyOffered { message } => {
            let agent = fleet.messages().get(*message).and_then(|text| text.to.agent()).map(name);
            already_offered(*message, agent.as_deref())
        }
        Refusal::WrongState { agent, verb, state } => {
            let name = name(*agent);
            wrong_state(&agent_word(fleet, *agent), &name, *verb, *state)
        }
        Refusal::Running { agent } => running(&name(*agent), fleet.place_in_line(*agent)),
        Refusal::StoppedByOperator { agent } => stopped_by_operator(&name(*agent)),
        Refusal::NeedsApproval { agent } => {
            Problem::new(428, "needs-approval", format!("{} is frozen", name(*agent)))
                .because("only the operator's approval wakes a frozen agent")
                .next(format!("`perennial why {}` shows why it was frozen", name(*agent)))
                .exiting(ExitCode::NeedsOperator)
        }
        Refusal::Held { agent, held_for } => held(&name(*agent), *held_for),
        Refusal::ConversationTaken { conversation, by } => {
            let title = format!("conversation {conversation} is taken");
            Problem::new(409, "conversation-taken", title)
                .because(format!(
                    "agent {} ({by}) writes to it, and a conversation has one writer",
                    name(*by)
                ))
                .next(format!(
                    "use {}, or continue in a copy: `perennial adopt … --fork`",
                    name(*by)
                ))
        }
        Refusal::TooOften { kind, wait } => too_often(*kind, *wait),
        Refusal::ParentBelow { agent, parent } => parent_below(&name(*agent), &name(*parent)),
        Refusal::NoRole { agent } => no_role(&name(*agent)),
        Refusal::NotVacant { role } => not_vacant(role.as_str()),
        Refusal::HasRole { agent } => has_role(&name(*agent)),
        Refusal::AboveOwn { excess } => offspring::above_own(*excess),
        Refusal::NoSuchRole { role } => no_such_role(role.as_str(), fleet),
        Refusal::NotAnswerable => mail::not_answerable(),
        Refusal::TooManyCopies { copies, most } => mail::too_many_copies(*copies, *most),
        Refusal::NoRecipient => mail::no_recipient(),
        Refusal::MailboxFull { mailbox } => mail::full(mailbox, name),
        Refusal::SignalSource { kind } => signal::source(*kind),
        Refusal::SignalTarget { kind } => signal::target(*kind),
        Refusal::SignalPayload { kind, fault } => signal::payload(*kind, fault),
        Refusal::SessionInTree { agent } => snapshots::session_in_tree(&name(*agent)),
        Refusal::RestoreInTree { agent } => snapshots::restore_in_tree(&name(*agent)),
        Refusal::SnapshotDropped { agent, number } => snapshots::dropped(&name(*agent), *number),
        Refusal::Checkpoint { fault } => checkpoints::fault(*fault),
        Refusal::CheckpointOutdated { agent } => checkpoints::outdated(&name(*agent)),
        Refusal::BareCommand { agent, verb } => handoff::bare_command(&name(*agent), *verb),
        Refusal::NoHandoff { agent } => handoff::none(&name(*agent)),
        Refusal::ParentGone { parent } => parent_gone(&name(*parent)),
        Refusal::StillEnding { agent } => still_ending(&name(*agent)),
        Refusal::Task { task: id, why } => task::refused(*id, why, name),
    }
}

fn still_ending(agent: &str) -> Problem {
    Problem::new(409, "still-ending", format!("{agent} can't be cleaned yet"))
        .because("its last session has not ended, or its record does not say so")
        .next(format!("`perennial show {agent}` tells where its session stands"))
}

fn name_taken(taken: &Name, by: AgentId, called: &str) -> Problem {
    Problem::new(409, "name-taken", format!("the name '{taken}' is taken"))
        .because(match called == taken.as_str() {
            true => format!("agent {by} has it"),
            false => format!("agent {by} is called {called}, and names ignore case"),
        })
        .next(format!("choose another name, or see `perennial show {taken}`"))
}

fn no_such_role(role: &str, fleet: &Fleet) -> Problem {
    let known = fleet.roles().keys().into_iter().chain(fleet.policy().declared());
    mail::no_such_role(role, &similar(role, known.map(NameKey::as_str)))
}

fn stopped_by_operator(agent: &str) -> Problem {
    Problem::new(403, "stopped-by-operator", format!("{agent} was stopped by the operator"))
        .because("only the operator wakes an agent that the operator stopped")
        .next(format!("ask the operator to run `perennial wake {agent}`"))
        .exiting(ExitCode::NeedsOperator)
}

fn running(agent: &str, place: Option<(usize, usize)>) -> Problem {
    match place {
        // It is to have a session already.
        Some((place, of)) => {
            let what = format!("{agent} waits in line already, place {place} of {of}");
            Problem::new(409, "running", what)
                .because("its session starts when it is its turn")
                .next(format!("`perennial why {agent}` says what it waits for"))
        }
        None => Problem::new(409, "running", format!("{agent} is already awake"))
            .because("an agent has one session at a time")
            .next(format!("`perennial show {agent}` shows its session")),
    }
}

fn has_role(agent: &str) -> Problem {
    Problem::new(409, "has-role", format!("{agent} already has a role"))
        .because("an agent has one role, and only a person may take it away")
        .next("choose an agent without a role, or ask the operator")
}

fn no_role(agent: &str) -> Problem {
    Problem::new(409, "no-role", format!("{agent} has no role"))
        .because("only a role that an agent holds can be dropped or handed over")
        .next("`perennial role ls` lists roles and who holds them")
}

fn not_vacant(role: &str) -> Problem {
    Problem::new(409, "not-vacant", format!("the role {role} is not vacant"))
        .because("only a vacancy that was announced can be dismissed")
        .next("`perennial role vacancies` lists vacant roles")
}

fn parent_gone(parent: &str) -> Problem {
    Problem::new(409, "parent-gone", format!("{parent} can't be a parent"))
        .because("it is in the cemetery")
        .next("choose a parent that is not dead, or leave --parent out")
}

fn parent_below(agent: &str, parent: &str) -> Problem {
    Problem::new(409, "parent-below", format!("{parent} can't be the parent of {agent}"))
        .because("an agent reports neither to itself nor to an agent below it")
        .next("choose another parent, or use --no-parent")
}

/// `record` is the word that means it, if it is dead.
fn wrong_state(record: &str, name: &str, verb: Verb, state: State) -> Problem {
    let title = if verb == Verb::Snapshot {
        format!("no snapshot of {name} can be taken, or restored in its place")
    } else if verb == Verb::Checkpoint {
        format!("no checkpoint of {name} can be taken")
    } else {
        format!("{name} can't be {}", sentences::done(verb))
    };
    let next = match state {
        State::Dead | State::Expired if verb == Verb::Snapshot => {
            format!(
                "`perennial snapshot restore {record} --to DIR` writes one to another directory"
            )
        }
        State::Dead | State::Expired => format!("`perennial show {record}` shows its record"),
        State::HandingOff if verb == Verb::Handoff => {
            format!(
                "wait for its next session, or end the wait: `perennial handoff {name} --finish`"
            )
        }
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen => format!("`perennial why {name}` shows how it got there"),
    };
    let why = match verb == Verb::Clean {
        true => format!("it is {}, and an agent is cleaned once it is buried", state.word()),
        false => format!("it is {}", state.word()),
    };
    Problem::new(409, "wrong-state", title).because(why).next(next)
}

/// To a caller whose process ended before it could be identified.
pub fn caller_gone() -> Problem {
    Problem::new(403, "caller-unknown", "the caller can't be identified")
        .because("the calling process has already exited")
        .next("let the process that asks wait for the answer")
}

/// To a caller whose process the system does not name.
pub fn caller_unknown() -> Problem {
    Problem::new(403, "caller-unknown", "the caller can't be identified")
        .because("the system does not say which process is at the other end of the connection")
        .next("call from the machine and the PID namespace that the daemon runs in")
}

fn not_a_session() -> Problem {
    Problem::new(403, "not-a-session", "only an agent's own session may do this")
        .because("the calling process does not belong to a session")
        .next("call it from within the session; docs/security.md says how a session is recognised")
}

fn held(name: &str, held_for: HeldFor) -> Problem {
    Problem::new(428, "held", format!("{name} can't be woken: it is held"))
        .because(sentences::held_for(held_for))
        .next(match held_for {
            HeldFor::Verdict => format!("`perennial why {name}` shows what is to be decided"),
            HeldFor::Person | HeldFor::Damage => {
                format!("`perennial why {name}` shows the reason; the operator can wake it")
            }
        })
        .exiting(ExitCode::NeedsOperator)
}

const ASK_THE_OPERATOR: &str = "ask the operator; docs/security.md lists who may do what";

const INSIDE_A_SESSION: &str = "ask the operator. If that is you: commands that you type into an agent's \
    terminal act as that agent, so detach first (Ctrl-\\ d) and run this outside";

const UNCONFIRMED: &str = "the daemon can't confirm that a person is calling: the chain of parent \
    processes up to pid 1 is incomplete or contains a shim that this daemon does not know, or the \
    user is a different one";

fn not_allowed(caller: Caller, verb: Verb, standing: Standing) -> Problem {
    let (who, why) = match caller {
        Caller::Agent(_) => ("an agent", why_no_agent_may(verb, standing)),
        Caller::Job => {
            return Problem::new(403, "not-allowed", "a job may not use Perennial")
                .because("a job is a command that Perennial runs itself; its exit says how it went")
                .next("let the command do without Perennial, and report by its exit code");
        }
        Caller::Ambiguous => {
            return Problem::new(403, "not-allowed", "this process may not use Perennial")
                .because("the processes above it lead to more than one agent")
                .next("call it from within one session only; docs/security.md says how callers are identified");
        }
        Caller::Viewer => ("a viewer", UNCONFIRMED),
        Caller::Person => ("a person", "only an agent's own session may do this"),
    };
    let what = match (verb, standing) {
        (Verb::Stop, Standing::NoTarget) => "stop --all",
        (Verb::Logs, _) => "screen` or `logs --terminal",
        (Verb::Spawn, _) => "spawn`, `run` or `adopt",
        (Verb::Assume, _) => "role assume",
        (Verb::Transfer, _) => "role transfer",
        (Verb::Drop, _) => "role drop",
        (Verb::TaskWork, _) => "task` on this task: `step`, `block`, `done`, `split",
        (Verb::TaskAssign, _) => "task assign` or `task add --to",
        (Verb::TaskVerify, _) => "task verify",
        (Verb::TaskDrop, _) => "task drop` or `task reopen",
        (
            Verb::Look
            | Verb::Attach
            | Verb::Send
            | Verb::Stop
            | Verb::Wake
            | Verb::Restart
            | Verb::Set
            | Verb::Rename
            | Verb::Bury
            | Verb::Prune
            | Verb::Report
            | Verb::Post
            | Verb::Mail
            | Verb::Up
            | Verb::Down
            | Verb::Clean
            | Verb::Signal
            | Verb::Escalate
            | Verb::Task
            | Verb::Snapshot
            | Verb::Checkpoint
            | Verb::Handoff,
            _,
        ) => verb.word(),
    };
    let next = match caller {
        Caller::Agent(_) => INSIDE_A_SESSION,
        Caller::Job | Caller::Ambiguous | Caller::Viewer | Caller::Person => ASK_THE_OPERATOR,
    };
    Problem::new(403, "not-allowed", format!("{who} may not use `{what}`")).because(why).next(next)
}

fn why_no_agent_may(verb: Verb, standing: Standing) -> &'static str {
    match (verb, standing) {
        (Verb::Attach | Verb::Send, _) => {
            "whoever types into a terminal can answer permission dialogs, so only a person may"
        }
        (Verb::Logs, _) => "only a person may see an agent's terminal",
        (Verb::Spawn, _) => {
            "an agent may start only agents of its own, by a harness and without a command line"
        }
        (Verb::Stop, Standing::NoTarget) => "only a person may stop all agents at once",
        (
            Verb::Stop,
            Standing::Itself | Standing::Parent | Standing::Overseer | Standing::Other,
        ) => "an agent may stop only agents below it",
        (Verb::Handoff, Standing::Overseer) => {
            "whoever oversees an agent may only finish a handoff that was asked for already"
        }
        (Verb::Handoff, _) => "an agent may hand off only itself and agents below it",
        (Verb::Wake, _) => "an agent may wake only agents below it",
        (Verb::Restart, _) => "an agent may restart only agents below it",
        (Verb::Report, _) => "an agent may report only on itself",
        (Verb::Assume | Verb::Transfer | Verb::Drop, _) => "an agent may change only its own role",
        (Verb::Up, _) => "a daemon that an agent starts would end with the agent's session",
        (Verb::Prune, _) => "only a person may remove what sessions printed",
        (Verb::Bury, _) => "an agent may bury only itself",
        (Verb::Clean, _) => "only a person may remove what a dead agent left",
        (Verb::TaskWork, _) => "only the agent that has the task, or a person, may do this",
        (Verb::TaskAssign, _) => "an agent gives tasks to itself and to agents below it",
        (Verb::TaskVerify, _) => "only an agent above its worker, or a person, may do this",
        (Verb::TaskDrop, _) => "only whoever added the task, or a person, may do this",
        (Verb::Snapshot, _) => {
            "a snapshot holds all files of a work tree, and a restore replaces them"
        }
        (Verb::Checkpoint, _) => "an agent may take checkpoints only of itself",
        (Verb::Look | Verb::Set | Verb::Rename | Verb::Post | Verb::Mail | Verb::Down, _)
        | (Verb::Signal | Verb::Escalate | Verb::Task, _) => "only a person may do this",
    }
}

fn not_visible(caller: Caller, private: Private) -> Problem {
    let rule = match private {
        Private::Launch | Private::Texts | Private::Transcript => {
            "only a person, the agent itself and the agents above it may do this"
        }
        Private::Terminal | Private::Operator => "only a person may do this",
    };
    let (who, why) = match caller {
        Caller::Agent(_) => ("an agent", rule),
        Caller::Viewer => ("a viewer", UNCONFIRMED),
        Caller::Job => ("a job", rule),
        Caller::Ambiguous => ("a process of several agents", rule),
        Caller::Person => ("a person", rule),
    };
    let whom = if matches!(caller, Caller::Agent(_)) { "another agent" } else { "an agent" };
    let what = match private {
        Private::Launch => format!("how {whom} was started"),
        Private::Texts => format!("texts to {whom}"),
        Private::Transcript => format!("{whom}'s conversation"),
        Private::Terminal => format!("{whom}'s terminal"),
        Private::Operator => "the operator's own commands".to_owned(),
    };
    Problem::new(403, "not-allowed", format!("{who} may not read {what}"))
        .because(why)
        .next(ASK_THE_OPERATOR)
}
