//! The properties of conversations and of the clock: one writer, the current one taken up, each
//! threshold once per window and in order, no dialog that nobody sees any more.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::agent::{Agent, DIALOG_AFTER};
use perennial_core::context::Threshold;
use perennial_core::conversation::{ConversationId, Opening, Turn};
use perennial_core::event::{AgentEvent, Move};
use perennial_core::handoff::HandoffEvent;
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::reason::{Finding, Reason, Witness};
use perennial_core::restart::CHURN_LIMIT;
use perennial_core::session::Phase;
use perennial_core::state::{Cause, Roster, State};
use perennial_core::succession::Afresh;
use perennial_core::time::Time;

use crate::cli::{Cli, Mode, Window, sample};
use crate::world::World;

/// What is remembered of one agent's talk, apart from how the core folds it.
#[derive(Debug, Clone, Default)]
pub struct Talk {
    conversation: Option<ConversationId>,
    /// All that its sessions were seen in.
    known: BTreeSet<ConversationId>,
    /// Over, if nothing was recorded of one.
    turn: Option<Turn>,
    passed: Option<Threshold>,
    /// The highest that the model was told of in this window.
    told: Option<Threshold>,
    /// How many windows began.
    windows: u64,
    /// How many of them in each conversation, after its first.
    begun: BTreeMap<ConversationId, u64>,
    /// How often each of them was compacted, by symptoms.
    compacted: BTreeMap<ConversationId, u64>,
    /// Somebody asked for a new conversation, and no session has begun one since.
    is_fresh: bool,
}

impl World {
    /// Holds an event about a harness against what was recorded before it, and the truth.
    pub fn check_sign(&mut self, agent: &Agent, event: &AgentEvent) {
        match event {
            AgentEvent::SessionWanted { opening, .. } => self.check_opening(agent, opening),
            AgentEvent::ConversationFollowed { number, conversation, how } => {
                self.check_followed(agent, *number, conversation);
                let opening = agent.session.as_ref().map(|session| &session.opening);
                let is_new = matches!(opening, Some(Opening::Fresh(_) | Opening::Anew { .. }));
                let talk = self.talk(agent.id);
                talk.is_fresh &= !is_new;
                talk.conversation = Some(conversation.clone());
                talk.known.insert(conversation.clone());
                if how.begins_a_window() {
                    (talk.passed, talk.told) = (None, None);
                    talk.windows += 1;
                }
            }
            AgentEvent::WindowBegan { .. } => {
                let talk = self.talk(agent.id);
                (talk.passed, talk.told) = (None, None);
                talk.windows += 1;
                self.check_window(agent.id);
            }
            AgentEvent::ClockPassed { threshold, .. } => self.check_passed(agent.id, *threshold),
            AgentEvent::ClockTold { threshold, .. } => {
                if self.talk(agent.id).passed < Some(*threshold) {
                    self.broken("C1: only what has passed is told", || format!("{threshold:?}"));
                }
            }
            AgentEvent::Handoff(event) => self.check_symptom(agent.id, event),
            AgentEvent::SessionProgressed { .. } if agent.launch.is_bare() => {
                self.broken("a bare command shows nothing", || format!("{event:?}"));
            }
            AgentEvent::Held(_)
            | AgentEvent::HoldLifted { .. }
            | AgentEvent::SessionProgressed { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Work(_)
            | AgentEvent::Hatched(_)
            | AgentEvent::Rehomed { .. }
            | AgentEvent::Moved(_)
            | AgentEvent::SessionStarting { .. }
            | AgentEvent::SessionFound { .. }
            | AgentEvent::SessionRunning { .. }
            | AgentEvent::SessionEnding { .. }
            | AgentEvent::SessionEnded { .. }
            | AgentEvent::Renamed { .. }
            | AgentEvent::RoleTaken { .. }
            | AgentEvent::RoleLeft { .. }
            | AgentEvent::Summarised { .. }
            | AgentEvent::LegacyLeft { .. }
            | AgentEvent::Snapshot(_)
            | AgentEvent::Checkpoint(_)
            | AgentEvent::RoundPassed { .. }
            | AgentEvent::BurialAsked { .. }
            | AgentEvent::Rest(_)
            | AgentEvent::SettingsChanged { .. }
            | AgentEvent::PutOff { .. } => {}
        }
    }

    /// A window is recorded to begin no more often than it did.
    fn check_window(&mut self, id: AgentId) {
        let talk = self.talk(id);
        let Some(conversation) = talk.conversation.clone() else { return };
        let begun = talk.begun.entry(conversation.clone()).or_default();
        *begun += 1;
        let (recorded, truth) = (*begun, self.machine.conversations.get(&conversation));
        let truth = truth.map_or(0, |window| window.begun);
        // Dates in a file that is read again can't be compared where the clock was set back.
        let is_dated = self.machine.behind.is_zero();
        if recorded > truth && is_dated && !self.is_astray(id) {
            self.broken("H9: a compaction begins a window once", || {
                format!("{}: {recorded} in {conversation}, truth {truth}", id.0)
            });
        }
    }

    /// H24: compactions are recorded no more often than there were any.
    fn check_symptom(&mut self, id: AgentId, event: &HandoffEvent) {
        let HandoffEvent::Symptom { symptom, .. } = event else { return };
        let talk = self.talk(id);
        let known = talk.conversation.clone().filter(|_| symptom.is_compaction());
        let Some(conversation) = known else { return };
        let counted = talk.compacted.entry(conversation.clone()).or_default();
        *counted += 1;
        let (counted, truth) = (*counted, self.machine.conversations.get(&conversation));
        let truth = truth.map_or(0, |window| window.begun);
        let is_dated = self.machine.behind.is_zero();
        if counted > truth && is_dated && !self.is_astray(id) {
            self.broken("H24: a compaction is a symptom once", || {
                format!("{}: {counted} in {conversation}, truth {truth}", id.0)
            });
        }
    }

    /// How many windows of an agent have begun, by the journal.
    pub fn window_count(&self, id: AgentId) -> u64 {
        self.ledger.talks.get(&id).map_or(0, |talk| talk.windows)
    }

    /// What the window has passed, by the journal.
    pub fn passed(&self, id: AgentId) -> Option<Threshold> {
        self.ledger.talks.get(&id).and_then(|talk| talk.passed)
    }

    /// Whether the journal has it that this agent's sessions were in a conversation.
    pub fn is_known(&self, id: AgentId, conversation: &ConversationId) -> bool {
        self.ledger.talks.get(&id).is_some_and(|talk| talk.known.contains(conversation))
    }

    fn talk(&mut self, id: AgentId) -> &mut Talk {
        self.ledger.talks.entry(id).or_default()
    }

    /// A session takes up the conversation that the last one had, in the turn that it was in.
    fn check_opening(&mut self, agent: &Agent, opening: &Opening) {
        let talk = self.talk(agent.id).clone();
        let is_futile = agent.history.futile >= CHURN_LIMIT;
        let is_first = agent.session.is_none();
        let right = match opening {
            Opening::Bare => agent.launch.is_bare(),
            Opening::Fresh(new) => {
                let unused = !self.machine.conversations.contains_key(new);
                let is_wanted = is_futile || talk.is_fresh;
                !agent.launch.is_bare() && unused && (talk.conversation.is_none() || is_wanted)
            }
            Opening::Anew { conversation: new, turn, why } => {
                let unused = !self.machine.conversations.contains_key(new);
                let recorded = talk.turn.unwrap_or(Turn::Over);
                let is_wanted = match why {
                    Afresh::Asked => talk.is_fresh,
                    Afresh::Handoff => agent.succession.afresh == Some(Afresh::Handoff),
                    Afresh::Churn => is_futile,
                    Afresh::Thrash => agent.succession.afresh == Some(Afresh::Thrash),
                };
                unused && talk.conversation.is_some() && *turn == recorded && is_wanted
            }
            // The owner's own, as it was left.
            Opening::Resume { .. } if is_first => !agent.launch.is_bare(),
            Opening::Resume { conversation, turn } => {
                let recorded = talk.turn.unwrap_or(Turn::Over);
                let is_current = talk.conversation.as_ref() == Some(conversation);
                is_current && *turn == recorded && !talk.is_fresh
            }
        };
        if !right {
            self.broken("a session takes up the current conversation", || {
                format!("{} wanted {opening:?} after {talk:?}", agent.id.0)
            });
        }
        if let (true, Opening::Resume { conversation, turn }) = (is_first, opening) {
            let talk = self.talk(agent.id);
            talk.conversation = Some(conversation.clone());
            talk.known.insert(conversation.clone());
            talk.turn = Some(*turn);
        }
    }

    /// What a session is said to have, it has or had.
    fn check_followed(&mut self, agent: &Agent, number: SessionNumber, id: &ConversationId) {
        let cli = self.machine.session(agent.id, number).cli.as_ref();
        if !cli.is_some_and(|cli| cli.conversations.contains(id)) {
            self.broken("a conversation is its session's own", || {
                format!("{}.{number} never had {id}", agent.id.0)
            });
        }
        // What can't be read may be that the other one has left it.
        let holder = self.other_holder(agent.id, id);
        if let Some(holder) = holder.filter(|holder| !self.judge.has_gap(*holder)) {
            self.broken("F2: a conversation is one agent's", || {
                format!("{id}: {} beside {}", agent.id.0, holder.0)
            });
        }
    }

    /// Each notice reaches the model once per window, crashes of the daemon included.
    pub fn check_notice(&mut self, id: AgentId, notice: MessageId, threshold: Threshold) {
        // A window that began while the hook waited for its reply has been told nothing.
        if self.texts.window(notice) != Some(self.window_count(id)) || self.is_astray(id) {
            return;
        }
        let told = self.talk(id).told.replace(threshold);
        if told >= Some(threshold) {
            self.broken("H2: a notice is given once per window", || {
                format!("{}: {threshold:?} after {told:?}", id.0)
            });
        }
    }

    fn check_passed(&mut self, id: AgentId, threshold: Threshold) {
        let passed = self.talk(id).passed;
        let next = match passed {
            None => Some(Threshold::Half),
            Some(Threshold::Half) => Some(Threshold::ThreeQuarters),
            Some(Threshold::ThreeQuarters) => Some(Threshold::NineTenths),
            Some(Threshold::NineTenths) => None,
        };
        if next != Some(threshold) {
            self.broken("C1: thresholds pass once per window, in order", || {
                format!("{}: {threshold:?} after {passed:?}", id.0)
            });
        }
        self.talk(id).passed = Some(threshold);
    }

    /// Follows the turn; no start is given up while a dialog may be in its way, and only what
    /// hangs is ended for it.
    pub fn check_turn(&mut self, agent: &Agent, moved: &Move, at: Time) {
        let is_ending = agent.session.as_ref().is_some_and(|s| matches!(s.phase, Phase::Ending(_)));
        let is_asked_fresh = matches!(moved.evidence.fact, Finding::AskedFresh(_));
        self.talk(agent.id).is_fresh |= is_asked_fresh;
        match (moved.to, moved.cause) {
            (State::Working, _) => self.talk(agent.id).turn = Some(Turn::Open),
            (State::Waiting, Cause::TurnEnded) => {
                let is_open = matches!(
                    moved.reason,
                    Reason::NeedsPermission | Reason::NeedsAnswer | Reason::RateLimited
                );
                self.talk(agent.id).turn = Some(if is_open {
                    Turn::Open
                } else if moved.reason == Reason::StoppedInTurn {
                    Turn::Stopped
                } else {
                    Turn::Over
                });
            }
            // What had crashed, or stands in the line, goes on with its turn when it is restarted.
            (State::Waking, Cause::Restarted) if agent.state == State::Crashed || !is_ending => {}
            (State::Sleeping, Cause::Stop) | (State::Waking, Cause::Restarted)
                if moved.evidence.witness == Witness::Operator =>
            {
                let talk = self.talk(agent.id);
                talk.turn = talk.turn.map(|turn| match turn {
                    Turn::Open => Turn::Stopped,
                    Turn::Over | Turn::Stopped => turn,
                });
            }
            (_, _) => {}
        }
        let Some(session) = agent.session.as_ref().filter(|_| !agent.launch.is_bare()) else {
            return;
        };
        // A machine that sleeps shows nothing.
        let shows_at = session.started_at.map(|started| started + DIALOG_AFTER + session.unseen);
        let could_show = shows_at.is_some_and(|shows_at| shows_at <= at);
        if moved.cause == Cause::StartLimit && could_show {
            self.broken("a dialog is waited for", || format!("{moved:?}"));
        }
        let truth = self.machine.session(agent.id, session.number);
        let hangs = truth.cli.as_ref().is_some_and(|cli| cli.mode == Mode::Hung);
        if moved.reason == Reason::Silent && !hangs {
            self.broken("only what hangs is silent", || format!("{moved:?}"));
        }
    }

    /// The session's program has begun with what the journal says.
    pub fn check_opening_carried_out(&mut self, agent: AgentId, number: SessionNumber) {
        let recorded = self.ledger.record.agent(agent).and_then(|agent| agent.session.as_ref());
        let recorded = recorded.filter(|s| s.number == number).map(|s| s.opening.clone());
        let session = self.machine.session(agent, number);
        let prepared = session.prepared.as_ref().map(|prepared| prepared.opening.clone());
        if prepared != recorded {
            self.broken("a session takes up the current conversation", || {
                format!("{}.{number} begins with {prepared:?}, wanted {recorded:?}", agent.0)
            });
        }
        if let Some(Opening::Resume { conversation, .. }) = prepared
            && !self.machine.conversations.contains_key(&conversation)
        {
            self.broken("what is resumed is there", || conversation.to_string());
        }
    }

    /// A conversation has one writer at a time, as far as the journal knows who writes it.
    pub fn check_one_writer(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        conversation: &ConversationId,
    ) {
        let writes = |cli: &Cli| cli.conversation() == Some(conversation);
        let other = self.machine.sessions.iter().find(|((other, of), session)| {
            (*other, *of) != (agent, number)
                && session.is_alive()
                && session.cli.as_ref().is_some_and(writes)
                && self.is_recorded(*other, conversation)
        });
        if let Some(((other, of), _)) = other {
            let what = format!("{conversation}: {}.{number} and {}.{of}", agent.0, other.0);
            self.broken("a conversation has one writer", || what);
        }
    }

    /// Another agent whose conversation this is, by the record.
    fn other_holder(&self, agent: AgentId, conversation: &ConversationId) -> Option<AgentId> {
        let holds = |other: &&Agent| {
            let live = other.live_session();
            let may_write = other.state.roster() != Roster::Cemetery || live.is_some();
            let current = other.conversations.as_ref().map(|known| &known.current);
            let takes_up = live.is_some_and(|session| session.taken_up() == Some(conversation));
            other.id != agent && may_write && (current == Some(conversation) || takes_up)
        };
        self.ledger.record.agents().find(holds).map(|other| other.id)
    }

    /// Whether an agent can't be followed: its record has a gap, or its session went into a conversation
    /// that is another agent's by the record.
    pub fn is_astray(&self, agent: AgentId) -> bool {
        let number = self.machine.alive(agent);
        let session = number.and_then(|number| self.machine.sessions.get(&(agent, number)));
        let current = session.and_then(|session| session.cli.as_ref()?.conversation());
        let is_anothers = |id| self.other_holder(agent, id).is_some();
        self.judge.has_gap(agent) || current.is_some_and(is_anothers)
    }

    fn is_recorded(&self, agent: AgentId, conversation: &ConversationId) -> bool {
        self.ledger.record.agent(agent).is_some_and(|agent| {
            let current = agent.conversations.as_ref().map(|known| &known.current);
            let session = agent.session.as_ref();
            current == Some(conversation)
                || session.is_some_and(|s| s.taken_up() == Some(conversation))
        })
    }

    /// Once no dialog is left, nobody waits for one to be answered.
    pub fn check_no_dialog(&mut self) {
        if self.ledger.is_forgetful {
            return;
        }
        let stuck = self.ledger.record.agents().find(|agent| {
            let number = agent.session.as_ref().map(|session| session.number);
            agent.state == State::Waiting
                && agent.reason.is_before_first_sign()
                && number.is_some_and(|number| self.mode(agent.id, number) != Some(Mode::Dialog))
        });
        if let Some(line) = stuck.map(|agent| crate::words::agent(agent, self.now)) {
            self.broken("no stuck first-run dialog", || line);
        }
    }

    fn mode(&self, agent: AgentId, number: SessionNumber) -> Option<Mode> {
        let session = self.machine.sessions.get(&(agent, number))?;
        session.cli.as_ref().map(|cli| cli.mode)
    }

    /// At rest the record has what the machine has: conversation and clock.
    pub fn check_talks(&mut self) {
        if self.ledger.is_blurred {
            return;
        }
        let agents: Vec<Agent> = self.ledger.record.agents().cloned().collect();
        for agent in agents {
            let Some(number) = self.machine.alive(agent.id) else {
                continue;
            };
            let Some(cli) = self.machine.session(agent.id, number).cli.clone() else {
                continue;
            };
            let known = agent.conversations.as_ref().map(|known| &known.current);
            let is_anothers =
                cli.conversation().is_some_and(|id| self.other_holder(agent.id, id).is_some());
            if is_anothers {
                continue;
            }
            if known != cli.conversation() {
                self.broken("the record follows the conversation", || {
                    format!("{}: {known:?}, truth {:?}", agent.id.0, cli.conversations)
                });
            }
            let window = cli.conversation().and_then(|id| self.machine.conversations.get(id));
            let Window { tokens, peak, .. } = window.copied().unwrap_or_default();
            let passed = agent.clock.passed;
            // Dates in a file that is read for the first time can't be compared then.
            let is_dated = self.machine.behind.is_zero();
            if !is_dated {
                continue;
            }
            if passed < reached(tokens) || passed > reached(peak) {
                self.broken("C1, C2: what this window has reached has passed, no more", || {
                    format!("{}: {passed:?}, truth {tokens} tokens, {peak} once", agent.id.0)
                });
            }
        }
    }
}

/// The highest threshold that this number of tokens reaches.
fn reached(tokens: u64) -> Option<Threshold> {
    let percent = sample(tokens).usable_percent();
    Threshold::ALL.into_iter().rfind(|threshold| percent >= threshold.percent())
}
