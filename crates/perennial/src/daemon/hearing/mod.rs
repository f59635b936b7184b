//! What is seen of agent CLIs, on its way to the supervisor: hooks, status lines, transcripts, lists.
//!
//! Says which session a fact is of, and puts what is to be told into words. Decides nothing.

pub mod changes;
pub mod commit_watcher;
pub mod past_session;
pub mod reader;
pub mod session_list_watcher;
pub mod spending;
pub mod terminal_reader;
pub mod unheard_hooks;

use std::path::Path;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::context::{Sample, Source};
use perennial_core::event::{AgentEvent, Event};
use perennial_core::fact::{Fact, Keys, Listed, Origin, PausedBy, Seen};
use perennial_core::handoff::HandoffEvent;
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::keeping;
use perennial_core::message::{Content, MessageState, Unread};
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_engine::harness::dialect::Listing;
use perennial_engine::harness::{handoff_texts, mail_texts, round_texts, session_texts};
use perennial_engine::host::announcement::Announced;
use perennial_engine::host::delivery::LineReport;
use perennial_engine::supervisor::Input;
use tokio::sync::oneshot;

use crate::daemon::driving::driver::{Closing, Driver, DriverHandle, Incoming};
use crate::daemon::hearing::reader::{Look, Sighting};
use crate::daemon::hearing::spending::Used;
use crate::daemon::hearing::terminal_reader::Printing;
use crate::daemon::showing::view;

/// A session that began within this was not heard by an earlier daemon.
const NEW_SESSION: Duration = Duration::from_secs(5);

impl DriverHandle {
    /// Hands over what a hook said, and gets what its session is to be told.
    pub async fn called(
        &self,
        agent: AgentId,
        number: Option<SessionNumber>,
        fact: Option<Fact>,
    ) -> Result<Option<String>, Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::Called { agent, number, fact, reply })?;
        answer.await.map_err(|_| Closing)
    }

    pub async fn drawn(
        &self,
        agent: AgentId,
        number: Option<SessionNumber>,
        fact: Fact,
    ) -> Result<String, Closing> {
        let (reply, answer) = oneshot::channel();
        self.send(Incoming::Drawn { agent, number, fact, reply })?;
        answer.await.map_err(|_| Closing)
    }
}

impl Driver {
    /// Takes in what a hook said, and has it answered: at once where there is nothing to wait for.
    /// A session that does not name its number is taken for the live one.
    pub fn called(
        &mut self,
        agent: AgentId,
        number: Option<SessionNumber>,
        fact: Option<Fact>,
        reply: oneshot::Sender<Option<String>>,
    ) {
        let Some(number) = number.or_else(|| self.live(agent)) else {
            let _ = reply.send(None);
            return;
        };
        let Some(fact) = fact else {
            // It may tell that there is something to read.
            self.look_at_conversation(agent, number);
            let _ = reply.send(None);
            return;
        };
        let begins = matches!(fact.seen, Seen::SessionBegan(_));
        let announces = matches!(fact.seen, Seen::CompactionAnnounced { .. });
        let (behind, now) = (self.supervisor.fleet().behind(), self.now());
        let at_turn_end = fact.by_core_time(behind).goes_on_by(now);
        let is_answerable = self.supervisor.is_answerable(agent, number, &fact);
        self.hear(agent, number, fact);
        self.look_at_conversation(agent, number);
        if begins {
            self.watch_list(agent);
        }
        if announces {
            let waiter = self.waiter();
            self.hooks.insert(waiter, reply);
            self.input(Input::Hold { waiter, agent });
        } else if is_answerable || at_turn_end {
            let waiter = self.waiter();
            self.hooks.insert(waiter, reply);
            self.input(Input::Offer { waiter, agent, number, at_turn_end });
        } else {
            let _ = reply.send(None);
        }
    }

    /// Takes in what persons have left in a session's input line.
    pub fn line(&mut self, agent: AgentId, number: SessionNumber, line: LineReport) {
        let keys = match line {
            LineReport { draft: true, .. } => Keys::Draft,
            LineReport { doubt: true, .. } => Keys::Doubt,
            LineReport { .. } => Keys::Clear,
        };
        let suspension = match line {
            LineReport { stopped: true, .. } => Seen::Paused(PausedBy::KillSignal),
            LineReport { paused: true, .. } => Seen::Paused(PausedBy::Person),
            LineReport { suspended: true, .. } => Seen::Suspended,
            LineReport { .. } => Seen::Continued,
        };
        for seen in [suspension, Seen::Keys(keys)] {
            self.hear(agent, number, Fact::new(Origin::Terminal, seen));
        }
    }

    /// Takes in what a session's program announces. It was said just now, or still holds.
    pub fn announced(&mut self, agent: AgentId, number: SessionNumber, state: Announced) {
        if self.is_early(agent, state) {
            return;
        }
        let listed = match state {
            Announced::Busy => Some(Listed::Busy),
            Announced::Idle => Some(Listed::Idle),
            Announced::Permission => Some(Listed::Permission),
            Announced::Question => Some(Listed::Question),
            // Why is in the transcript.
            Announced::Failed | Announced::Unknown => None,
        };
        if let Some(listed) = listed {
            self.hear(agent, number, Fact::new(Origin::Terminal, Seen::Listed(listed)));
        }
        self.look_at_conversation(agent, number);
    }

    /// Whether a program that says so before its session has begun means nothing by it.
    fn is_early(&self, agent: AgentId, state: Announced) -> bool {
        let Some(known) = self.supervisor.fleet().agent(agent) else { return true };
        let has_begun = known.session.as_ref().is_some_and(|session| session.has_announced);
        let preset = self.world.harnesses.preset(&known.launch.harness);
        !has_begun
            && preset.is_ok_and(|preset| {
                let mut rules = preset.announcements.iter();
                rules.any(|rule| rule.once_begun && rule.rule().means == state)
            })
    }

    /// The texts of these messages, as a reply to a hook.
    pub fn texts(&self, offered: &[MessageId]) -> Option<String> {
        let fleet = self.supervisor.fleet();
        let text = |id: &MessageId| {
            let message = fleet.messages().get(*id)?;
            let words = match &message.content {
                Content::Notice { threshold, sample } => {
                    session_texts::notice(*threshold, Some(sample))
                }
                Content::Reminder { calls, sample } => {
                    session_texts::reminder(*calls, sample.as_ref())
                }
                Content::Round { .. } => {
                    return message.as_round(fleet).map(|it| round_texts::told(&it));
                }
                Content::Handoff { .. } => {
                    return message.as_handoff(fleet).map(|it| handoff_texts::told(&it));
                }
                Content::Typed { .. } | Content::Mail(_) => return None,
            };
            Some(format!("{words} ({})", message.id))
        };
        let mut texts: Vec<String> = offered.iter().filter_map(text).collect();
        texts.extend(self.mail(offered));
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// The mails among these messages, as one text.
    fn mail(&self, offered: &[MessageId]) -> Option<String> {
        let fleet = self.supervisor.fleet();
        let mails = offered.iter().filter_map(|id| fleet.messages().get(*id));
        let agent = mails.clone().find_map(|message| message.mail().and(message.to.agent()))?;
        let left = fleet.messages().mail(agent).filter(|message| !message.is_round()).count();
        let mails: Vec<Unread> = mails.filter_map(|message| message.as_told(fleet)).collect();
        (!mails.is_empty()).then(|| mail_texts::told(&mails, left))
    }

    /// Has the conversations read that texts were typed into before this daemon ran.
    pub fn look_after_all(&self) {
        let messages = self.supervisor.fleet().messages();
        messages.iter().for_each(|message| self.look_after(message.id));
    }

    /// Has the conversation read that a text was just typed into.
    pub fn look_after(&self, message: MessageId) {
        let known = self.supervisor.fleet().messages().get(message);
        if let Some((Some(agent), MessageState::Offered { session, .. })) =
            known.map(|message| (message.to.agent(), message.state))
        {
            self.look_at_conversation(agent, session);
        }
    }

    /// Has the conversations read of sessions that are over with these events, since what was typed into them
    /// may stand there, of those whose turn begins or ends with them, since they are read as long as it runs, and of those
    /// that are about to be compacted.
    pub fn look_at_changed(&mut self, events: &[Event]) {
        for event in events {
            match event.of_agent() {
                Some((agent, AgentEvent::SessionRunning { .. })) => {
                    self.watch_terminal(agent);
                    self.watch_commits(agent);
                }
                Some((agent, AgentEvent::SessionEnded { number, .. })) => {
                    self.look_at_conversation(agent, *number);
                }
                Some((agent, AgentEvent::Handoff(event)))
                    if matches!(**event, HandoffEvent::Symptom { .. }) =>
                {
                    if let Some(number) = self.live(agent) {
                        self.look_at_conversation(agent, number);
                    }
                }
                Some((agent, AgentEvent::Moved(moved)))
                    if matches!(moved.to, State::Working | State::Waiting) =>
                {
                    if let Some(number) = self.live(agent) {
                        // Its first word may have come while this daemon was too slow to answer.
                        if moved.reason.is_before_first_sign() {
                            self.hear_unheard(agent, number);
                        }
                        self.look_at_conversation(agent, number);
                    }
                }
                Some(_) | None => {}
            }
        }
    }

    /// Takes in that a status line was drawn; returns a line to show below the prompt.
    pub fn drawn(&mut self, agent: AgentId, number: Option<SessionNumber>, fact: Fact) -> String {
        let Some(number) = number.or_else(|| self.live(agent)) else {
            return String::new();
        };
        self.hear(agent, number, fact);
        self.look_at_conversation(agent, number);
        let known = self.supervisor.fleet().agent(agent);
        let name = known.map(view::name).unwrap_or_default();
        match self.supervisor.hearing(agent).and_then(|hearing| hearing.sample()) {
            Some((sample, _)) => {
                format!("{name} · {} % of the usable window", sample.usable_percent())
            }
            None => name,
        }
    }

    /// Takes in what a conversation's transcript has.
    pub fn sighted(&mut self, sighting: Sighting) {
        let Sighting { agent, number, facts, figures, has_found } = sighting;
        let begins = facts.iter().any(|fact| matches!(fact.seen, Seen::SessionBegan(_)));
        for fact in facts {
            self.hear(agent, number, fact);
        }
        if begins {
            self.look_at_conversation(agent, number);
        }
        if has_found {
            self.mirror_found(agent);
        }
        // Hooks that found no daemon may keep what they said after this one has looked for it.
        if self.live(agent) == Some(number) {
            self.hear_unheard(agent, number);
        }
        let used = figures.map(Used::from);
        if let Some(used) = used.filter(|used| self.spending.take(agent, *used)) {
            self.keep(agent);
            self.supervisor.set_spent(agent, used.total());
            self.observe(perennial_core::observation::Observation::Spent { agent });
        }
    }

    /// Takes in a line of a vendor's list of live sessions, if it is one of ours.
    pub fn listed(&mut self, listing: Listing) {
        let Listing { process, conversation: _, fact } = listing;
        let Some(fact) = fact else { return };
        let found = self.supervisor.fleet().by_process(process);
        let live = found.and_then(|agent| Some((agent.id, agent.live_session()?.number)));
        let Some((agent, number)) = live else { return };
        self.hear(agent, number, fact);
        self.look_at_conversation(agent, number);
    }

    /// Takes in an agent's own word about its window, of which it knows no more than a percentage.
    pub fn reported(&mut self, agent: AgentId, percent: u64) {
        let Some(number) = self.live(agent) else { return };
        let (window, usable, source) = (100, 100, Source::Reported);
        let sample = Sample { tokens: percent, window, usable, source };
        let seen = Seen::Measured { model: None, sample };
        self.hear(agent, number, Fact::new(Origin::Agent, seen));
    }

    /// A session was found alive: what was missed meanwhile lies in files.
    pub fn look_around(&mut self, agent: AgentId) {
        if let Some(number) = self.live(agent) {
            self.hear_unheard(agent, number);
            self.look_at_conversation(agent, number);
        }
        self.watch_list(agent);
        self.watch_terminal(agent);
        self.watch_commits(agent);
    }

    /// From now on hooks are heard. What some said since their session was found is kept beside it.
    pub fn hear_all_unheard(&mut self) {
        let agents = self.supervisor.fleet().agents();
        let live = agents.filter_map(|agent| Some((agent.id, agent.live_session()?.number)));
        for (agent, number) in live.collect::<Vec<_>>() {
            self.hear_unheard(agent, number);
        }
    }

    fn live(&self, agent: AgentId) -> Option<SessionNumber> {
        let known = self.supervisor.fleet().agent(agent)?;
        Some(known.live_session()?.number)
    }

    fn hear(&mut self, agent: AgentId, number: SessionNumber, fact: Fact) {
        tracing::debug!(%agent, %number, ?fact, "fact");
        let before = self.supervisor.hearing(agent).map(|hearing| hearing.kept());
        self.input(Input::Heard { agent, number, fact });
        if self.supervisor.hearing(agent).map(|hearing| hearing.kept()) != before {
            self.keep(agent);
        }
    }

    /// Keeps what was measured for the next daemon; the store writes the latest about once a second.
    fn keep(&mut self, agent: AgentId) {
        let now = self.now();
        let last_seen = self.presence.last(agent, now);
        let sample = spending::sample(&self.supervisor, &self.spending, agent, last_seen);
        self.world.journal.put_latest(vec![sample]);
    }

    /// Watches the vendor's list that the agent's session is in, and takes in its line.
    fn watch_list(&mut self, agent: AgentId) {
        let known = self.supervisor.fleet().agent(agent).filter(|known| !known.launch.is_bare());
        let process = known.and_then(|known| known.live_session()?.process);
        let (Some(known), Some(process)) = (known, process) else { return };
        let list = self.world.harnesses.list(agent, &known.launch.harness);
        let listing = list.and_then(|list| self.world.session_lists.watch(&list, process.pid));
        if let Some(listing) = listing {
            self.listed(listing);
        }
    }

    /// When the agent's newest session began, by the wall clock.
    fn began_at(&self, known: &Agent) -> Option<Time> {
        let session = known.session.as_ref()?;
        let behind = u64::try_from(self.supervisor.fleet().behind().as_micros()).unwrap_or(0);
        Some(Time(session.started_at.unwrap_or(session.wanted_at).0.saturating_sub(behind)))
    }

    /// Has what a session without a preset prints read, for what it shows of its work.
    fn watch_terminal(&mut self, agent: AgentId) {
        let known = self.supervisor.fleet().agent(agent).filter(|known| known.launch.is_bare());
        let session = known.and_then(Agent::live_session);
        let (Some(known), Some(session)) = (known, session) else { return };
        let started_at = session.started_at.unwrap_or(session.wanted_at);
        let (number, role) = (session.number, known.role.clone());
        let rules = self.world.reader.rules().rules(role.as_deref(), &known.launch.harness);
        let is_new = self.now().since(started_at) < NEW_SESSION;
        let dir = self.world.harnesses.holder(agent).session(number);
        let printing = Printing { agent, number, dir, rules, is_new };
        if let Some(sighting) = self.world.terminals.watch(printing) {
            self.sighted(sighting);
        }
    }

    /// Has the work tree of an agent CLI watched for commits.
    fn watch_commits(&self, agent: AgentId) {
        let known = self.supervisor.fleet().agent(agent).filter(|known| !known.launch.is_bare());
        let session = known.and_then(Agent::live_session);
        let (Some(known), Some(session)) = (known, session) else { return };
        // Also one that has no work tree: it may be about to make one.
        let (dir, _) = keeping::place(known);
        self.world.commits.watch(agent, session.number, Path::new(dir));
    }

    /// Has the agent's conversations read.
    fn look_at_conversation(&self, agent: AgentId, number: SessionNumber) {
        let Some(known) = self.supervisor.fleet().agent(agent) else { return };
        // What is written now is the newest session's, also if an earlier one is heard late.
        let newest = known.session.as_ref().map_or(number, |session| session.number.max(number));
        if let Some(conversations) = known.to_read() {
            self.world.reader.look(Look {
                agent,
                number: newest,
                process: known.live_session().and_then(|session| session.process),
                harness: known.launch.harness.clone(),
                conversation: conversations.current,
                earlier: conversations.earlier,
                is_in_turn: known.state == State::Working,
                compaction_announced: known.handoff.announced,
                role: known.role.clone(),
                began_at: self.began_at(known),
            });
        }
    }
}
