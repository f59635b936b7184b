//! How what an agent CLI shows reaches a daemon: hooks, the vendor's list, the transcript.
//!
//! Hooks keep their order but for those that are overtaken; list and transcript come by a way of their
//! own. Hooks get lost, anything comes late or twice. What no daemon hears of a session's beginning
//! is kept for the next one; a transcript lies on the disk, and each daemon reads it from its
//! beginning.

use std::time::Duration;

use perennial_core::conversation::Followed;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::fact::{Fact, Listed, Origin, Seen};
use perennial_core::fleet::Fleet;
use perennial_core::hearing::{Hearing, Hearings, Limits, REMINDER_CALLS, reminder_mark};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Content, Message};
use perennial_core::session::Phase;
use perennial_core::time::Time;
use perennial_engine::supervisor::{Input, Waiter};

use crate::cli::{Cli, Mode, SILENT_FOR};
use crate::daemon::Life;
use crate::mutation::Mutation;
use crate::world::{Happening, World};

/// By which way a fact comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Hook,
    Watcher,
}

/// A fact on its way to a daemon.
#[derive(Debug, Clone)]
pub struct Shown {
    agent: AgentId,
    number: SessionNumber,
    fact: Fact,
    called_at: Time,
}

/// A hook that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub struct HookCall {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub called_at: Time,
    pub at_turn_end: bool,
}

/// So long a turn's end waits for its hook.
const TURN_END_WAITS: Duration = Duration::from_secs(5);

/// A hook that is not answered by then goes on without a text.
pub const HOOK_WAITS: Duration = Duration::from_millis(500);
pub const LIMITS: Limits = Limits { silent_after: Some(SILENT_FOR) };

impl World {
    /// A fact on its way, after those that went the same way before it, unless it overtakes them.
    pub fn show(&mut self, agent: AgentId, number: SessionNumber, way: Way, fact: Fact) {
        self.tell(|| format!("{}.{number} shows {:?}", agent.0, fact.seen));
        let late = self.random.per_mille(self.faults.late_odds);
        let micros = if late { &self.faults.late_micros } else { &self.faults.hop_micros };
        let micros = micros.clone();
        let (now, span) = (self.now, self.random.span(&micros));
        let is_plain = is_plain(&fact);
        if is_plain && self.random.per_mille(self.faults.hook_lost_odds) {
            self.tell(|| "  which nobody hears".into());
            return;
        }
        let overtakes = is_plain && self.random.per_mille(self.faults.overtaken_odds);
        let Some(cli) = self.machine.session(agent, number).cli.as_mut() else {
            return;
        };
        let until = match way {
            Way::Hook => &mut cli.hooks_until,
            Way::Watcher => &mut cli.watched_until,
        };
        let at = if overtakes { now + span } else { (now + span).max(*until) };
        *until = at.max(*until);
        let span = at.since(now);
        let shown = Shown { agent, number, fact, called_at: now };
        // Its double comes with it, or long after it, unless nothing would tell it from another one;
        // nobody sends such doubles.
        if self.random.per_mille(self.faults.duplicate_odds) {
            let late = self.faults.late_micros.clone();
            let is_later = !is_nameless(&shown.fact) && self.random.per_mille(500);
            let later = if is_later { self.random.span(&late) } else { span };
            self.after(span.max(later), Happening::Shows(shown.clone()));
        }
        self.after(span, Happening::Shows(shown));
    }

    /// The transcript has another line.
    pub fn write(&mut self, agent: AgentId, number: SessionNumber, seen: Seen) {
        self.write_mentioning(agent, number, seen, Vec::new());
    }

    /// The same for a prompt in which these ids stand.
    pub fn write_mentioning(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        seen: Seen,
        mentions: Vec<MessageId>,
    ) {
        let date = self.now.before(self.machine.behind);
        let Some(id) = self.cli(agent, number).and_then(|cli| cli.conversation().cloned()) else {
            return;
        };
        let fact = Fact::new(Origin::Transcript, seen).at(Some(date)).within(Some(id.clone()));
        let fact = Fact { mentions, ..fact };
        self.machine.transcripts.entry(id).or_default().push(fact);
    }

    /// A fact arrives: a daemon hears it; that a session began is kept for the next one.
    pub fn shows(&mut self, shown: Shown) {
        let Some(daemon) = self.running() else {
            // A status line is drawn again and again: the next daemon hears of the last one.
            if shown.fact.origin == Origin::StatusLine {
                let is_older = |one: &Shown| {
                    one.fact.origin == Origin::StatusLine
                        && (one.agent, one.number) == (shown.agent, shown.number)
                };
                self.machine.missed.retain(|one| !is_older(one));
            }
            if !is_plain(&shown.fact) {
                self.machine.missed.push(shown);
            }
            return;
        };
        let Shown { agent, number, fact, called_at } = shown;
        let life = daemon.life;
        let known = daemon.supervisor.fleet().agent(agent);
        let is_live = known.and_then(|agent| agent.live_session()).is_some_and(|session| {
            session.number == number && matches!(session.phase, Phase::Starting | Phase::Running)
        });
        // It came after the end of its session, or beside it, and may say nothing any more.
        let is_late = !is_live || daemon.unrecorded().any(|event| is_end(event, agent));
        let is_answerable = daemon.supervisor.is_answerable(agent, number, &fact);
        self.ledger.is_blurred |= is_late;
        let is_kernels = fact.origin == Origin::Kernel;
        let announces = matches!(fact.seen, Seen::CompactionAnnounced { .. });
        let at_turn_end = fact.by_core_time(self.machine.behind).goes_on_by(self.now);
        self.hears(life, agent, number, fact);
        if announces {
            let waiter = self.new_waiter();
            self.hooks.insert(waiter, HookCall { agent, number, called_at, at_turn_end });
            self.reach(life, Input::Hold { waiter, agent });
        } else if is_answerable || at_turn_end {
            let waiter = self.new_waiter();
            self.hooks.insert(waiter, HookCall { agent, number, called_at, at_turn_end });
            self.reach(life, Input::Offer { waiter, agent, number, at_turn_end });
        }
        if !is_kernels {
            self.look(life, agent, number);
        }
    }

    pub fn hears(&mut self, life: Life, agent: AgentId, number: SessionNumber, fact: Fact) {
        self.reach(life, Input::Heard { agent, number, fact });
        let kept = self.daemon(life).and_then(|daemon| daemon.supervisor.hearing(agent));
        if let Some(kept) = kept.map(Hearing::kept) {
            self.machine.kept.insert(agent, kept);
        }
    }

    /// What a new daemon knows of the sessions that there are.
    pub fn kept_hearings(&self, fleet: &Fleet) -> Hearings {
        Hearings::resume(fleet, &self.machine.kept, LIMITS)
    }

    /// The texts that were offered stand in the reply, if the hook still waits for it; whether the
    /// harness reads it is another matter.
    pub fn hook_is_answered(&mut self, life: Life, waiter: Waiter, offered: &[MessageId]) {
        let Some(call) = self.hooks.remove(&waiter) else { return };
        let HookCall { agent, number, called_at, at_turn_end } = call;
        self.check_given(agent, number, offered);
        let waits = if at_turn_end { TURN_END_WAITS } else { HOOK_WAITS };
        let is_awaited = self.now.since(called_at) < waits;
        let is_alive = self.cli(agent, number).is_some() && is_awaited;
        let Some(daemon) = self.daemon(life).filter(|_| is_alive) else { return };
        let messages = daemon.supervisor.fleet().messages();
        let known = offered.iter().filter_map(|id| messages.get(*id).cloned());
        let known = self.mutated_mail(life, (agent, number), known.collect());
        let goes_on = at_turn_end && !known.is_empty();
        for message in known {
            self.told(agent, number, &message);
        }
        let is_idle = |cli: &&mut Cli| cli.mode == Mode::Idle && !cli.asks;
        if goes_on && self.cli(agent, number).filter(is_idle).is_some() {
            self.begins_turn(agent, number);
            self.listed(agent, number, Listed::Busy);
            self.act_soon(agent, number);
        }
    }

    /// A session's model is told this, in the reply to a hook: it stands in its transcript from then
    /// on.
    pub fn told(&mut self, agent: AgentId, number: SessionNumber, message: &Message) {
        self.tell(|| format!("{}.{number} is told {:?}", agent.0, message.content));
        let id = message.id;
        let text = match &message.content {
            Content::Notice { threshold, .. } => {
                self.check_notice(agent, id, *threshold);
                id.to_string()
            }
            Content::Reminder { calls, .. } => {
                let told = self.ledger.reminders.insert((agent, number), *calls);
                let is_again =
                    told.is_some_and(|told| told / REMINDER_CALLS >= calls / REMINDER_CALLS);
                if is_again && !self.is_astray(agent) {
                    self.broken("H6: a reminder is given once", || {
                        format!("{}.{number}: after {calls} calls, and {told:?}", agent.0)
                    });
                }
                format!("{} ({id})", reminder_mark(*calls))
            }
            Content::Mail(_) if self.mutation == Some(Mutation::MailUnwritten) => {
                self.mail_is_shown(agent, number, id);
                return;
            }
            Content::Mail(_) => {
                self.mail_is_shown(agent, number, id);
                let conversation =
                    self.cli(agent, number).and_then(|cli| cli.conversation().cloned());
                if let Some(conversation) = conversation {
                    self.mail_is_written(id, &conversation);
                }
                id.to_string()
            }
            Content::Round { .. } | Content::Handoff { .. } => id.to_string(),
            Content::Typed { .. } => return,
        };
        self.write(agent, number, Seen::Added { text });
    }

    /// A daemon that has begun to run reads what was missed, and looks at what lies in files.
    pub fn hear_missed(&mut self) {
        let Some(life) = self.running().map(|daemon| daemon.life) else {
            return;
        };
        if self.machine.looked_by.replace(life) == Some(life) {
            return;
        }
        let hop = Duration::from_micros(self.faults.hop_micros.start);
        for missed in std::mem::take(&mut self.machine.missed) {
            self.after(hop, Happening::Shows(missed));
        }
        let sessions: Vec<_> = self.machine.sessions.keys().copied().collect();
        for (agent, number) in sessions {
            let begun = |cli: &mut Cli| !matches!(cli.mode, Mode::Starting | Mode::Dialog);
            if self.cli(agent, number).is_some_and(begun) {
                self.measured(agent, number);
                self.look_up(agent, number);
                self.look(life, agent, number);
            }
        }
    }
}

/// A hook about the turn: where it gets lost, other facts tell the same.
fn is_plain(fact: &Fact) -> bool {
    fact.origin == Origin::Hook && !matches!(fact.seen, Seen::SessionBegan(_))
}

/// The next one of its kind looks the same.
fn is_nameless(fact: &Fact) -> bool {
    let is_compaction = matches!(fact.seen, Seen::SessionBegan(Followed::Compacted));
    fact.origin == Origin::StatusLine || is_compaction || fact.may_go_on
}

fn is_end(event: &Event, agent: AgentId) -> bool {
    let Some((id, event)) = event.of_agent() else { return false };
    let ends = matches!(event, AgentEvent::SessionEnding { .. } | AgentEvent::SessionEnded { .. });
    ends && id == agent
}
