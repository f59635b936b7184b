//! Deliberate breakage: each of these is a mistake that a supervisor, a core, a journal or a
//! holder could make. Exploration must find every one, or it proves nothing.
//!
//! They act in the simulation's own wrapper, never in the real code.

mod outputs;

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::conversation::Followed;
use perennial_core::entity::Entity;
use perennial_core::exit::Exit;
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::message::{Content, Held, Message, MessageState, Outcome, Trace};
use perennial_core::observation::{Observation, Report};
use perennial_core::state::State;
use perennial_engine::supervisor::{Input, Waiter};

use crate::daemon::Life;
use crate::world::{Happening, World};

/// Later than anything that is waited for.
const LONG: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// Effects are carried out when their append is queued, not when it is durable.
    ActBeforeDurable,
    /// Callers are answered when their append is queued.
    AnswerBeforeDurable,
    /// One exit report in four never arrives.
    DropExit,
    /// Reports are taken to be about the agent's newest session, whatever their number.
    ForgetFence,
    /// An agent stopped while it waited for a retry is retried all the same.
    StopKeepsRetry,
    /// A session that was asked to end counts as ended.
    EndedWhenAsked,
    /// A report that could not be recorded is forgotten.
    LoseUntold,
    /// The claim of a session number is not exclusive, and a new daemon starts what runs.
    SharedClaim,
    /// A crash may leave half of an append in the journal.
    TornAppend,
    /// The journal takes what was queued behind a failed append.
    UnchainedAppends,
    /// The journal does not look at expected versions.
    VersionsIgnored,
    /// Exits are reported with code 0, whatever they were.
    PoliteExits,
    /// Every session of an agent CLI begins a conversation of its own.
    FreshAlways,
    /// Signs are taken to be about the agent's newest session, whatever their number.
    ForgetSignFence,
    /// Nobody hears that a context window began.
    LoseWindow,
    /// Nobody hears which conversation a session has.
    LoseBegan,
    /// An agent with an unreadable record is taken to be what the rest of its records say.
    DamageNotHeld,
    /// TERM counts as a clean end.
    TermIsClean,
    /// An agent that waits for its retry is told to stop: the answer is yes, and nothing happens.
    StopWithoutEffect,
    /// Every agent's word counts like the operator's.
    AgentsAreObeyed,
    /// Nobody notices that the machine slept.
    JumpUnnoticed,
    /// A holder begins the next session beside what is left of the last one.
    NextBesideTree,
    /// A holder does not remember what it has typed.
    HolderForgets,
    /// A job is run again by each new daemon.
    JobRunsAgain,
    /// Whatever was entered counts as heard.
    HeardWhenEntered,
    /// A conversation counts as read to its end, long ago, whenever anything is heard.
    SettledAtOnce,
    /// An answer about one attempt counts for the newest.
    ForgetAttempt,
    /// A text is given up while the turn runs that it is queued in.
    GiveUpInTurn,
    /// Every answer counts as later than what was offered.
    AnswersAreLate,
    /// Somebody takes a text back: the answer is yes, and nothing happens.
    UnsendWithoutEffect,
    /// What stands in a conversation is not heard of.
    LosePrompts,
    /// Nor are the texts of Perennial's own that stand there.
    LoseMentions,
    /// Nobody hears that a conversation was read to its end.
    LoseSettled,
    /// Nobody hears that a text could not be typed.
    LoseHeld,
    /// A hook is given its texts when their offer is queued.
    HookBeforeDurable,
    /// Somebody sends a mail: the answer is yes, and nothing happens.
    MailInVain,
    /// A reply has its mails twice.
    MailTwice,
    /// A reply has its mails in reverse.
    MailReversed,
    /// A reply is without the first of its mails.
    MailSkipped,
    /// A reply is lost, and its mails count as seen.
    MailSeenUnread,
    /// What the model was told by a reply with mail does not get into the conversation.
    MailUnwritten,
    /// Nobody sees the ids of mails in prompts.
    LoseMailIds,
    /// A typed list has its mails in reverse.
    ListReversed,
    /// A typed list has its last mail twice.
    ListTwice,
}

impl Mutation {
    pub const ALL: [Mutation; 44] = [
        Mutation::ActBeforeDurable,
        Mutation::AnswerBeforeDurable,
        Mutation::DropExit,
        Mutation::ForgetFence,
        Mutation::StopKeepsRetry,
        Mutation::EndedWhenAsked,
        Mutation::LoseUntold,
        Mutation::SharedClaim,
        Mutation::TornAppend,
        Mutation::UnchainedAppends,
        Mutation::VersionsIgnored,
        Mutation::PoliteExits,
        Mutation::FreshAlways,
        Mutation::ForgetSignFence,
        Mutation::LoseWindow,
        Mutation::LoseBegan,
        Mutation::TermIsClean,
        Mutation::StopWithoutEffect,
        Mutation::AgentsAreObeyed,
        Mutation::JumpUnnoticed,
        Mutation::NextBesideTree,
        Mutation::DamageNotHeld,
        Mutation::HolderForgets,
        Mutation::JobRunsAgain,
        Mutation::HeardWhenEntered,
        Mutation::SettledAtOnce,
        Mutation::ForgetAttempt,
        Mutation::GiveUpInTurn,
        Mutation::AnswersAreLate,
        Mutation::UnsendWithoutEffect,
        Mutation::LosePrompts,
        Mutation::LoseMentions,
        Mutation::LoseSettled,
        Mutation::LoseHeld,
        Mutation::HookBeforeDurable,
        Mutation::MailInVain,
        Mutation::MailTwice,
        Mutation::MailReversed,
        Mutation::MailSkipped,
        Mutation::MailSeenUnread,
        Mutation::MailUnwritten,
        Mutation::LoseMailIds,
        Mutation::ListReversed,
        Mutation::ListTwice,
    ];
}

impl World {
    /// What reaches the supervisor of a broken daemon; `None`: nothing does.
    pub fn mutated_input(&mut self, life: Life, input: Input) -> Option<Input> {
        let Some(mutation) = self.mutation else {
            return Some(input);
        };
        match (mutation, input) {
            (
                Mutation::ForgetSignFence
                | Mutation::LoseWindow
                | Mutation::LoseBegan
                | Mutation::LosePrompts
                | Mutation::LoseMentions
                | Mutation::LoseSettled
                | Mutation::LoseMailIds
                | Mutation::AnswersAreLate,
                Input::Heard { agent, number, fact },
            ) => self.mutated_fact(life, mutation, (agent, number, fact)),
            (
                Mutation::PoliteExits | Mutation::ForgetFence | Mutation::TermIsClean,
                Input::Observed(Observation::Session { agent, number, report }),
            ) => {
                let (number, report) =
                    self.mutated_report(life, mutation, (agent, number, report))?;
                Some(Input::Observed(Observation::Session { agent, number, report }))
            }
            (Mutation::DropExit, Input::Observed(observation)) => {
                let dropped = exit_of(&observation).is_some() && self.random.per_mille(250);
                (!dropped).then_some(Input::Observed(observation))
            }
            (Mutation::LoseUntold, Input::Observed(observation)) => {
                let lost = self.journal.full && exit_of(&observation).is_some();
                (!lost).then_some(Input::Observed(observation))
            }
            (Mutation::AgentsAreObeyed, Input::Request { waiter, request }) => {
                Some(Input::Request { waiter, request: by_a_person(request) })
            }
            (
                Mutation::ForgetAttempt,
                Input::Observed(Observation::Delivered { message, outcome, attempt }),
            ) => {
                let known = self.daemon(life)?.supervisor.fleet().messages().get(message);
                let attempt = known.map_or(attempt, |known| known.attempts);
                Some(Input::Observed(Observation::Delivered { message, attempt, outcome }))
            }
            (Mutation::LoseHeld, Input::Observed(report)) if is_held(&report) => None,
            (
                Mutation::HeardWhenEntered | Mutation::SettledAtOnce | Mutation::GiveUpInTurn,
                input,
            ) => {
                self.conclude_early(life, mutation, &input);
                Some(input)
            }
            (Mutation::UnsendWithoutEffect, Input::Request { waiter, request }) => {
                if let Command::Unsend { id } = request.command
                    && self.daemon(life)?.supervisor.fleet().messages().get(id).is_some()
                {
                    self.answered(waiter, &Ok(vec![Entity::Message(id)]));
                    return None;
                }
                Some(Input::Request { waiter, request })
            }
            (Mutation::MailInVain, input) => self.mail_in_vain(input),
            (Mutation::JumpUnnoticed, Input::Observed(Observation::ClockJumped { .. })) => None,
            (Mutation::StopWithoutEffect, input) => self.stop_in_vain(life, input),
            (Mutation::StopKeepsRetry, input) => {
                self.keep_retry(life, &input);
                Some(input)
            }
            (_, input) => Some(input),
        }
    }

    fn newest_number(&self, life: Life, agent: AgentId) -> Option<SessionNumber> {
        let fleet = self.daemon(life)?.supervisor.fleet();
        Some(fleet.agent(agent)?.session.as_ref()?.number)
    }

    fn mutated_report(
        &self,
        life: Life,
        mutation: Mutation,
        (agent, number, report): (AgentId, SessionNumber, Report),
    ) -> Option<(SessionNumber, Report)> {
        if mutation == Mutation::PoliteExits && report.exit().is_some() {
            return Some((number, Report::Exited(Exit::Code(0))));
        }
        let by_term = Exit::KillSignal(15);
        if mutation == Mutation::TermIsClean && report.exit() == Some(by_term) {
            return Some((number, Report::Finished(by_term)));
        }
        let is_unfenced = mutation == Mutation::ForgetFence;
        let newest = self.newest_number(life, agent).filter(|_| is_unfenced);
        Some((newest.unwrap_or(number), report))
    }

    fn mutated_fact(
        &mut self,
        life: Life,
        mutation: Mutation,
        (agent, number, fact): (AgentId, SessionNumber, Fact),
    ) -> Option<Input> {
        if loses(mutation, &fact) {
            return None;
        }
        let is_unfenced = mutation == Mutation::ForgetSignFence;
        let newest = self.newest_number(life, agent).filter(|_| is_unfenced);
        let number = newest.unwrap_or(number);
        let is_late = mutation == Mutation::AnswersAreLate && fact.seen == Seen::Answered;
        let at = if is_late { Some(self.now + LONG) } else { fact.at };
        let ids =
            if mutation == Mutation::LoseMailIds { Vec::new() } else { fact.mentions.clone() };
        let is_unnamed = mutation == Mutation::LoseBegan && fact.origin == Origin::Hook;
        let conversation = fact.conversation.clone().filter(|_| !is_unnamed);
        let fact = Fact { mentions: ids, conversation, ..fact };
        Some(Input::Heard { agent, number, fact: Fact { at, ..fact } })
    }

    /// Concludes something about texts that nothing has shown yet.
    fn conclude_early(&mut self, life: Life, mutation: Mutation, input: &Input) {
        let Some(daemon) = self.daemon(life) else {
            return;
        };
        let messages = daemon.supervisor.fleet().messages();
        let at = self.now + LONG;
        let report = match (mutation, input) {
            (
                Mutation::HeardWhenEntered,
                Input::Observed(Observation::Delivered {
                    message, outcome: Outcome::Entered, ..
                }),
            ) => messages.get(*message).and_then(heard),
            (Mutation::SettledAtOnce, Input::Heard { agent, number, .. }) => {
                let trace = Trace::Settled { at };
                Some(Observation::Traced { agent: *agent, number: *number, trace })
            }
            (Mutation::GiveUpInTurn, Input::Heard { agent, .. }) => {
                let is_offered = |message: &&Message| {
                    message.is_typed() && matches!(message.state, MessageState::Offered { .. })
                };
                messages.of(*agent).find(is_offered).map(|message| Observation::Delivered {
                    message: message.id,
                    attempt: message.attempts,
                    outcome: Outcome::Held(Held::NotTaken),
                })
            }
            (_, _) => None,
        };
        if let Some(report) = report {
            self.hop(Happening::Reaches { life, input: Input::Observed(report) });
        }
    }

    fn stop_in_vain(&mut self, life: Life, input: Input) -> Option<Input> {
        if let Input::Request { waiter, request } = &input
            && let Command::Stop(target) = &request.command
            && let Ok(agent) = self.daemon(life)?.supervisor.fleet().find(target)
            && agent.state == State::Crashed
            && request.caller == Caller::Person
        {
            let (waiter, id) = (*waiter, agent.id);
            self.answered(waiter, &Ok(vec![id.into()]));
            return None;
        }
        Some(input)
    }

    fn keep_retry(&mut self, life: Life, input: &Input) {
        let Input::Request { request, .. } = input else {
            return;
        };
        let Command::Stop(target) = &request.command else {
            return;
        };
        let Some(daemon) = self.daemon(life) else {
            return;
        };
        let Ok(agent) = daemon.supervisor.fleet().find(target) else {
            return;
        };
        if let Some(until) = agent.until.filter(|_| agent.state == State::Crashed) {
            let command = Command::Wake(target.clone());
            let request = Request { caller: Caller::Person, command };
            let input = Input::Request { waiter: Waiter(0), request };
            self.after(until.since(self.now), Happening::Reaches { life, input });
        }
    }
}

/// The order of an agent, as if a person had given it.
fn by_a_person(request: Request) -> Request {
    let is_agent = matches!(request.caller, Caller::Agent(_));
    use Command::{Restart, RestartFresh, Stop, Wake, WakeFresh};
    let gives = matches!(request.command, Wake(_) | Restart(_) | WakeFresh(_) | RestartFresh(_));
    let is_verb = gives || matches!(request.command, Stop(_));
    let caller = if is_agent && is_verb { Caller::Person } else { request.caller };
    Request { caller, ..request }
}

/// Whether a text could not be typed.
fn is_held(report: &Observation) -> bool {
    matches!(report, Observation::Delivered { outcome: Outcome::Held(_), .. })
}

/// The harness is taken to have told of a text that was offered.
fn heard(message: &Message) -> Option<Observation> {
    let MessageState::Offered { session, .. } = message.state else {
        return None;
    };
    let Content::Typed { fingerprint, .. } = &message.content else {
        return None;
    };
    let trace = Trace::PromptHeard((*fingerprint).into());
    Some(Observation::Traced { agent: message.to.agent()?, number: session, trace })
}

fn loses(mutation: Mutation, fact: &Fact) -> bool {
    matches!(
        (mutation, &fact.seen),
        (Mutation::LoseWindow, Seen::SessionBegan(Followed::Compacted) | Seen::Compacted)
            | (Mutation::LoseBegan, Seen::SessionBegan(_))
            | (Mutation::LosePrompts, Seen::Prompt { .. })
            | (Mutation::LoseMentions, Seen::Added { .. })
            | (Mutation::LoseSettled, Seen::Settled)
    )
}

fn exit_of(observation: &Observation) -> Option<Exit> {
    match observation {
        Observation::Session { report, .. } => report.exit(),
        Observation::Harness { .. }
        | Observation::Traced { .. }
        | Observation::ReminderDue { .. }
        | Observation::Delivered { .. }
        | Observation::Job { .. }
        | Observation::Kept { .. }
        | Observation::Snapshots { .. }
        | Observation::Composed { .. }
        | Observation::Spent { .. }
        | Observation::Due { .. }
        | Observation::Started { .. }
        | Observation::Outranked { .. }
        | Observation::Stopping
        | Observation::JournalFailed { .. }
        | Observation::RecordingsFound(_)
        | Observation::ClockJumped { .. } => None,
    }
}
