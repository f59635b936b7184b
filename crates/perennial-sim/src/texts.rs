//! The properties of texts to agents: what people were told, what the journal says and what stands in
//! the conversations, held against each other.
//!
//! Never folds with the core that it judges: what is known of a text here is made from the fields of
//! its events alone.
//!
//! Rules
//! - X1  No text is lost: one that was acknowledged is recorded; at rest it is seen, withdrawn or
//!   returned, unless its agent has no session to give it to. What is said to be seen stands there.
//! - X2  No text is doubled: it stands in the agent's conversations at most once, and goes to a model again only
//!   where the session that had it was gone before it had written it down.
//! - X3  In order, and one at a time: nothing is offered past an earlier text that waits, or that an
//!   earlier session was offered and nobody has looked for since, nor beside one that is being typed.
//! - X4  Nothing is offered to a session that is over, or ends; nothing is typed for an agent that is
//!   held, or in a dialog, as far as the journal knew.
//! - X5  A notice is of the window that there is; each is told once (`signs`, `facts`).
//! - X7  What was taken back is not typed after that was answered.
//! - X8  A hook is given only what the journal has as offered to its session.
//! - X10 A text by hook is said to be passed over only behind an answer that was written since its offer, or
//!   when its session has been idle for long.
//! - X11 No text is said to be blocked by a hook: no simulated agent CLI has a hook that blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use perennial_core::context::Threshold;
use perennial_core::conversation::ConversationId;
use perennial_core::fact::{Fact, Seen};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Content, Held, MessageEvent};
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;

use crate::cli::Mode;
use crate::world::World;

/// A session that is idle for less may still take what it was given.
const IDLE_FOR_LONG: Duration = Duration::from_secs(20);

/// Everything that was sent, and what Perennial says by itself.
#[derive(Debug, Default)]
pub struct Texts {
    count: u128,
    all: BTreeMap<MessageId, Account>,
    /// How many texts went to a model again after a session was killed with them.
    pub told_twice: u64,
    pub sent: u64,
    pub seen: u64,
}

/// What is known of one text.
#[derive(Debug, Clone)]
struct Account {
    /// A person's, typed; else Perennial's own.
    fingerprint: Option<Fingerprint>,
    threshold: Option<Threshold>,
    /// Which window of its agent it was recorded in.
    window: u64,
    to: Option<AgentId>,
    recorded_at: Time,
    stage: Stage,
    is_acknowledged: bool,
    /// Somebody was told that it was taken back.
    is_unsent: bool,
    /// The harness told of it.
    is_shown: bool,
    lines: Vec<ConversationId>,
    /// Whose model had it before there was a line.
    taken: Vec<(AgentId, SessionNumber)>,
    entered: Vec<(AgentId, SessionNumber)>,
    /// Every session that it was offered to, by the journal, and when the last time.
    offered: Vec<SessionNumber>,
    offered_at: Time,
    /// How far the clock was behind at its offers, and whether it was further back for a line: the one
    /// case in which a daemon that finds the line there can't tell whose it is.
    behind: Duration,
    is_misdated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Unrecorded,
    Waiting,
    Offered { session: SessionNumber, is_heard: bool },
    Over,
}

impl Account {
    fn new(fingerprint: Option<Fingerprint>) -> Account {
        Account {
            fingerprint,
            threshold: None,
            window: 0,
            to: None,
            recorded_at: Time::default(),
            stage: Stage::Unrecorded,
            is_acknowledged: false,
            is_unsent: false,
            is_shown: false,
            lines: Vec::new(),
            taken: Vec::new(),
            entered: Vec::new(),
            offered: Vec::new(),
            offered_at: Time::default(),
            behind: Duration::ZERO,
            is_misdated: false,
        }
    }

    fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Offered { .. })
    }
}

impl Texts {
    /// A new text, which is known by its number wherever it turns up.
    pub fn new_text(&mut self) -> (MessageId, Fingerprint) {
        self.count += 1;
        self.sent += 1;
        let id = MessageId(self.count);
        let mut print = [1; 32];
        print[..16].copy_from_slice(&self.count.to_be_bytes());
        self.all.insert(id, Account::new(Some(Fingerprint(print))));
        (id, Fingerprint(print))
    }

    /// The texts of persons, newest last.
    pub fn typed(&self) -> Vec<MessageId> {
        let typed = self.all.iter().filter(|(_, text)| text.fingerprint.is_some());
        typed.map(|(id, _)| *id).collect()
    }

    pub fn fingerprint(&self, id: MessageId) -> Option<Fingerprint> {
        self.all.get(&id)?.fingerprint
    }

    /// Which window of its agent a text was recorded in.
    pub fn window(&self, id: MessageId) -> Option<u64> {
        self.all.get(&id).map(|text| text.window)
    }

    pub fn is_shown(&mut self, id: MessageId) {
        if let Some(text) = self.all.get_mut(&id) {
            text.is_shown = true;
        }
    }

    pub fn is_taken(&mut self, id: MessageId, agent: AgentId, number: SessionNumber) {
        if let Some(text) = self.all.get_mut(&id) {
            self.told_twice += u64::from(!text.taken.is_empty());
            text.taken.push((agent, number));
        }
    }

    /// Somebody was told that it is recorded.
    pub fn is_acknowledged(&mut self, id: MessageId) {
        if let Some(text) = self.all.get_mut(&id) {
            text.is_acknowledged = true;
        }
    }

    pub fn is_unsent(&mut self, id: MessageId) {
        if let Some(text) = self.all.get_mut(&id) {
            text.is_unsent = true;
        }
    }
}

impl World {
    /// Holds an event about a text against what was recorded before it, and the truth.
    pub fn check_text(&mut self, id: MessageId, event: &MessageEvent, at: Time) {
        if self.check_mail(id, event, at) {
            return;
        }
        let window = self.window_of(event);
        let text = self.texts.all.entry(id).or_insert_with(|| Account::new(None));
        match event {
            MessageEvent::Recorded { to, content, .. } => {
                text.to = to.agent();
                text.recorded_at = at;
                text.stage = Stage::Waiting;
                if let Content::Notice { threshold, .. } = content {
                    text.threshold = Some(*threshold);
                    text.window = window;
                }
            }
            MessageEvent::Offered { session, behind, .. } => {
                text.offered.push(*session);
                text.offered_at = at;
                text.behind = text.behind.max(*behind);
                self.check_offered(id, *session);
                self.enter_stage(id, Stage::Offered { session: *session, is_heard: false });
            }
            MessageEvent::Entered { is_last, .. } => {
                let is_true = !text.entered.is_empty();
                if *is_last {
                    self.enter_stage(id, Stage::Over);
                }
                if !is_true {
                    self.broken("X1: what is entered was typed", || id.to_string());
                }
            }
            MessageEvent::Held { why, .. } => {
                self.enter_stage(id, Stage::Waiting);
                if *why == Held::NotTaken {
                    self.check_passed_over(id, at);
                }
            }
            // X11
            MessageEvent::Blocked { .. } => {
                self.broken("X11: nothing is blocked", || id.to_string());
            }
            MessageEvent::Heard { .. } => {
                let is_true = text.is_shown;
                if let Stage::Offered { is_heard, .. } = &mut text.stage {
                    *is_heard = true;
                }
                if !is_true {
                    self.broken("X3: what is heard was said", || id.to_string());
                }
            }
            MessageEvent::Seen { .. } => self.check_seen(id),
            MessageEvent::Withdrawn { .. } => {
                // Perennial's own is withdrawn also when a session did not take it.
                let waits = text.stage == Stage::Waiting || text.fingerprint.is_none();
                self.enter_stage(id, Stage::Over);
                if !waits {
                    self.broken("X7: only what waits is taken back", || id.to_string());
                }
            }
            MessageEvent::Returned => self.enter_stage(id, Stage::Over),
            MessageEvent::Forwarded { .. } | MessageEvent::Read { .. } => {
                self.broken("X1: only mail is forwarded or read", || id.to_string());
            }
        }
    }

    fn check_seen(&mut self, id: MessageId) {
        let Some(text) = self.texts.all.get(&id) else { return };
        let is_true = text.fingerprint.is_none() || !text.lines.is_empty();
        self.texts.seen += u64::from(is_true);
        self.enter_stage(id, Stage::Over);
        if !is_true {
            self.broken("X1: what is seen stands there", || id.to_string());
        }
    }

    /// Which window of its agent a text is recorded in.
    fn window_of(&self, event: &MessageEvent) -> u64 {
        let MessageEvent::Recorded { to, .. } = event else { return 0 };
        to.agent().map_or(0, |to| self.window_count(to))
    }

    /// X10
    fn check_passed_over(&mut self, id: MessageId, at: Time) {
        let Some(text) = self.texts.all.get(&id) else { return };
        let is_soon = at.since(text.offered_at) < IDLE_FOR_LONG;
        // Dates can't be compared where the clock was set back.
        if text.fingerprint.is_some() || !is_soon || !self.machine.behind.is_zero() {
            return;
        }
        let is_later = |line: &Fact| line.seen == Seen::Answered && line.at > Some(text.offered_at);
        if !self.machine.transcripts.values().flatten().any(is_later) {
            self.broken("X10: a text by hook is passed over by an answer", || id.to_string());
        }
    }

    fn enter_stage(&mut self, id: MessageId, stage: Stage) {
        let Some(text) = self.texts.all.get_mut(&id) else { return };
        let is_final = text.stage == Stage::Over;
        if !is_final {
            text.stage = stage;
        } else {
            self.broken("X1: what is over is over", || format!("{id}: {stage:?}"));
        }
    }

    /// X3, X4, X5
    fn check_offered(&mut self, id: MessageId, session: SessionNumber) {
        let Some(text) = self.texts.all.get(&id) else { return };
        let Some(to) = text.to else { return };
        let is_typed = text.fingerprint.is_some();
        let account = self.judge.account(to).filter(|account| !account.has_gap);
        let Some(account) = account else { return };
        let place = (text.recorded_at, id);
        let others = || {
            let typed = |other: &Account| other.fingerprint.is_some() && other.to == Some(to);
            self.texts.all.iter().filter(move |(one, other)| **one != id && typed(other))
        };
        let overtaken = others().find(|(one, other)| {
            let is_open = match other.stage {
                Stage::Waiting => true,
                Stage::Offered { session: earlier, .. } => earlier < session,
                Stage::Unrecorded | Stage::Over => false,
            };
            is_open && (other.recorded_at, **one) < place
        });
        let beside =
            others().find(|(_, other)| other.stage == Stage::Offered { session, is_heard: false });
        let what = || format!("{id} is offered to {}.{session}", to.0);
        let found = if text.stage != Stage::Waiting {
            Some(("X2: what is offered waits", what()))
        } else if !account.is_running(session) {
            Some(("X4: nothing is offered to what is over", what()))
        } else if account.promise.is_held {
            Some(("X4: nothing is offered to what is held", what()))
        } else if is_typed && account.is_in_dialog() {
            Some(("X4: nothing is typed into a dialog", what()))
        } else if let Some((other, _)) = overtaken.filter(|_| is_typed) {
            Some(("X3: in the order of recording", format!("{} past {other}", what())))
        } else if let Some((other, _)) = beside.filter(|_| is_typed) {
            Some(("X3: one text is typed at a time", format!("{} beside {other}", what())))
        } else if text.threshold > self.passed(to) {
            Some(("X5: a notice is of this window", what()))
        } else {
            None
        };
        if let Some((property, what)) = found {
            self.broken(property, || what);
        }
    }

    /// X8: a hook of this session is given these texts.
    pub fn check_given(&mut self, agent: AgentId, number: SessionNumber, given: &[MessageId]) {
        let is_offered = |id: &MessageId| {
            if self.mails.is_mail(*id) {
                return self.mails.is_offered(*id, agent, number);
            }
            let text = self.texts.all.get(id);
            text.is_some_and(|text| text.to == Some(agent) && text.offered.contains(&number))
        };
        if let Some(id) = given.iter().find(|id| !is_offered(id)) {
            self.broken("X8: a hook is given what its session was offered", || {
                format!("{id} is given to {}.{number}", agent.0)
            });
        }
    }

    /// A text was typed, and Enter pressed.
    pub fn check_entered(&mut self, agent: AgentId, number: SessionNumber, id: MessageId) {
        let Some(text) = self.texts.all.get_mut(&id) else { return };
        let is_again = text.entered.contains(&(agent, number)) && self.judge_is_bare(agent);
        let Some(text) = self.texts.all.get_mut(&id) else { return };
        text.entered.push((agent, number));
        if text.is_unsent {
            self.broken("X7: what was taken back is not typed", || id.to_string());
        } else if is_again {
            self.broken("X2: a bare command gets a text once", || id.to_string());
        }
    }

    fn judge_is_bare(&self, agent: AgentId) -> bool {
        self.judge.account(agent).is_some_and(|account| account.is_bare)
    }

    /// X2: a text comes to a CLI. None has it already that lives, nor any conversation.
    pub fn check_not_doubled(&mut self, agent: AgentId, id: MessageId) {
        let Some(text) = self.texts.all.get(&id).cloned() else { return };
        // What can't be read may be the conversation that it stands in.
        if self.is_astray(agent) || text.is_misdated {
            return;
        }
        let lives = |(agent, number): &(AgentId, SessionNumber)| {
            let session = self.machine.sessions.get(&(*agent, *number));
            session.is_some_and(|session| session.is_alive())
        };
        let queued = self.machine.sessions.values().any(|session| {
            let cli = session.cli.as_ref().filter(|_| session.is_alive());
            cli.is_some_and(|cli| cli.queue.iter().any(|prompt| prompt.contains(&id)))
        });
        // One that nobody knows of is lost, and what stands in it.
        if let Some(line) = text.lines.iter().find(|line| self.is_known(agent, line)) {
            self.broken("X2: no text is doubled", || format!("{id} stands in {line}"));
        } else if text.lines.is_empty() && text.taken.iter().any(lives) {
            self.broken("X2: no text is doubled", || format!("a session that lives has {id}"));
        } else if queued {
            self.broken("X2: no text is doubled", || format!("{id} is queued"));
        }
    }

    /// The transcript has a line about it.
    pub fn is_written(&mut self, id: MessageId, conversation: &ConversationId) {
        if let Some(text) = self.texts.all.get_mut(&id) {
            text.is_misdated |= self.machine.behind > text.behind;
            text.lines.push(conversation.clone());
        }
    }

    /// X1: at rest, everybody who can be given a text has it.
    pub fn check_no_text_lost(&mut self, since: Time) {
        let lost = self.texts.all.iter().find(|(_, text)| {
            let is_given = text.to.is_some_and(|to| self.can_be_given(to));
            // What Perennial says by itself waits for the next hook.
            let is_old = text.fingerprint.is_some() || text.recorded_at < since;
            let is_forgotten = text.is_acknowledged && text.stage == Stage::Unrecorded;
            is_forgotten || (text.is_under_way() && is_given && is_old)
        });
        if let Some((id, text)) = lost {
            let what = format!("{id} {text:?}");
            self.broken("X1: no text is lost", || what);
        }
    }

    /// Whether an agent has a session that reads what it is given.
    pub fn can_be_given(&self, to: AgentId) -> bool {
        let Some(account) = self.judge.account(to) else { return false };
        let session = self.machine.sessions.get(&(to, account.number));
        let cli = session.and_then(|session| session.cli.as_ref());
        !self.is_astray(to)
            && account.is_running(account.number)
            && cli.is_none_or(|cli| cli.mode == Mode::Idle)
    }

    /// X1: nothing is left for those who are buried.
    pub fn check_all_returned(&mut self) {
        let left = self.texts.all.iter().find(|(_, text)| text.is_under_way());
        if let Some((id, text)) = left {
            let what = format!("{id} {text:?}");
            self.broken("X1: what is left is returned at burial", || what);
        }
    }
}
