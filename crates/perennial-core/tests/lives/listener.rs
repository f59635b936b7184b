//! A session that is listened to: facts in, what comes of them in its agent's record out.

use std::time::Duration;

use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::event::Event;
use perennial_core::fact::{CallName, Fact, Keys, Origin, Seen};
use perennial_core::fleet::Fleet;
use perennial_core::hearing::{Heard, Hearing, Hearings, Limits, Tell};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Content, Trace};
use perennial_core::observation::Observation;
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::text::Fingerprint;

use crate::told::Told;

/// Whom all of this is about.
const AGENT: u128 = 1;
pub const SILENT_AFTER: Duration = Duration::from_secs(300);

#[derive(Clone)]
pub struct Listener {
    pub told: Told,
    pub hearings: Hearings,
    /// Every reminder that the session was given.
    pub tells: Vec<Tell>,
    /// Every threshold that it was told of.
    pub notices: Vec<Threshold>,
    /// What its transcript holds.
    transcript: Vec<Fact>,
    /// Everything that was recorded.
    pub events: Vec<Event>,
}

pub fn conversation(name: &str) -> ConversationId {
    name.parse().expect("a good id")
}

pub fn calls(names: &[&str]) -> Vec<CallName> {
    names.iter().map(|name| CallName((*name).to_owned())).collect()
}

pub fn hook(seen: Seen) -> Fact {
    Fact { is_answerable: true, ..Fact::new(Origin::Hook, seen) }
}

pub fn tools(names: &[&str]) -> Fact {
    hook(Seen::ToolsFinished { calls: calls(names), in_subagent: false })
}

pub fn prompt(name: &str) -> Fact {
    hook(Seen::PromptSubmitted { text: fingerprint(name) })
}

/// Of a short text, its letters.
pub fn fingerprint(text: &str) -> Fingerprint {
    let mut bytes = [0; 32];
    let length = text.len().min(bytes.len());
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    Fingerprint(bytes)
}

pub fn ended(background_tasks: u32) -> Fact {
    Fact { is_answerable: false, ..hook(Seen::ReplyEnded { background_tasks }) }
}

pub fn percent(tokens: u64, source: Source) -> Sample {
    Sample { tokens, window: 100, usable: 100, source }
}

pub fn line(tokens: u64) -> Fact {
    let sample = Some(percent(tokens, Source::StatusLine));
    Fact::new(Origin::StatusLine, Seen::StatusLine { model: Some("m".to_owned()), sample })
}

impl Listener {
    /// A session of an agent CLI that has begun with something to do.
    pub fn new() -> Listener {
        let mut listener = Listener::unborn();
        let mut began = hook(Seen::SessionBegan(Followed::Started));
        began.conversation = Some(conversation("a"));
        listener.hear(&began);
        listener.hear(&prompt("p1"));
        listener
    }

    /// One whose program runs and has said nothing yet.
    pub fn unborn() -> Listener {
        let mut told = Told::new();
        told.spawn_cli(AGENT, true, None).expect("spawned");
        told.executed(AGENT);
        let limits = Limits { silent_after: Some(SILENT_AFTER) };
        let hearings = Hearings::resume(&Fleet::default(), &[].into(), limits);
        let (tells, notices, transcript, events) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut listener = Listener { told, hearings, tells, notices, transcript, events };
        listener.catch_up();
        listener
    }

    pub fn number(&self) -> SessionNumber {
        self.told.number(AGENT)
    }

    pub fn hear(&mut self, fact: &Fact) -> Heard {
        self.hear_of(self.number(), fact)
    }

    /// Takes in a fact of the session with this number; its signs go into the record.
    pub fn hear_of(&mut self, number: SessionNumber, fact: &Fact) -> Heard {
        self.told.pass(Duration::from_millis(1));
        if fact.origin == Origin::Transcript && fact.seen != Seen::CaughtUp {
            self.transcript.push(fact.clone());
        }
        let (agent, now) = (self.told.agent(AGENT).clone(), self.told.now);
        let heard = self.hearings.hear(&agent, number, fact, now);
        for sign in heard.signs.clone() {
            let observation = Observation::Harness { agent: AgentId(AGENT), number, sign };
            self.events.extend(self.told.observe(&observation));
        }
        self.tells.extend(heard.tell.iter().filter(|tell| !matches!(tell, Tell::StartText(_))));
        if fact.is_answerable && !matches!(fact.seen, Seen::SessionBegan(_)) {
            self.reply(number);
        }
        heard
    }

    /// A hook is answered with the notices that wait; the conversation holds them at once.
    fn reply(&mut self, number: SessionNumber) {
        let (agent, now) = (AgentId(AGENT), self.told.now);
        let offered = self.told.fleet.offer(agent, number, now);
        let ids: Vec<MessageId> = offered.iter().filter_map(|one| one.entity().message()).collect();
        for id in &ids {
            let message = self.told.fleet.messages().get(*id).expect("it waits");
            if let Content::Notice { threshold, .. } = message.content {
                self.notices.push(threshold);
            }
        }
        self.told.fold(&offered);
        self.events.extend(offered);
        let trace = Trace::Mentioned { ids };
        self.events.extend(self.told.observe(&Observation::Traced { agent, number, trace }));
    }

    /// A step of the transcript, written now.
    pub fn write(&mut self, seen: Seen) -> Heard {
        self.told.pass(Duration::from_millis(1));
        let fact = Fact::new(Origin::Transcript, seen).at(Some(self.told.now));
        self.hear(&fact.within(Some(conversation("a"))))
    }

    /// A step that is written while nobody hears.
    pub fn write_unheard(&mut self, seen: Seen) {
        self.told.pass(Duration::from_millis(1));
        let fact = Fact::new(Origin::Transcript, seen).at(Some(self.told.now));
        self.transcript.push(fact.within(Some(conversation("a"))));
    }

    pub fn caught_up(&mut self) -> Heard {
        let fact = Fact::new(Origin::Transcript, Seen::CaughtUp);
        let current = self.told.agent(AGENT).conversations.as_ref();
        let current = current.map(|known| known.current.clone());
        self.hear(&fact.within(current))
    }

    /// What it tells of texts that this conversation is read to its end, and nothing is being written.
    pub fn settled(&self, name: &str) -> Option<Trace> {
        let fact = Fact::new(Origin::Transcript, Seen::Settled).within(Some(conversation(name)));
        self.hearings.trace(self.told.agent(AGENT), self.number(), &fact, self.told.now)
    }

    /// Another daemon: all that is left is the record, what was kept, and the transcript.
    pub fn restart(&mut self) {
        self.resume();
        self.catch_up();
    }

    /// The other daemon before it has read anything.
    pub fn resume(&mut self) {
        let kept = self.hearing().map(Hearing::kept).unwrap_or_default();
        let limits = Limits { silent_after: Some(SILENT_AFTER) };
        let kept = [(AgentId(AGENT), kept)].into();
        self.hearings = Hearings::resume(&self.told.fleet, &kept, limits);
    }

    pub fn catch_up(&mut self) {
        for fact in std::mem::take(&mut self.transcript) {
            self.hear(&Fact { is_old: true, ..fact });
        }
        self.caught_up();
    }

    pub fn hearing(&self) -> Option<&Hearing> {
        self.hearings.get(AgentId(AGENT))
    }

    pub fn shown(&self) -> (State, Reason) {
        let agent = self.told.agent(AGENT);
        (agent.state, agent.reason)
    }

    pub fn keys(&mut self, keys: Keys) {
        self.hear(&Fact::new(Origin::Terminal, Seen::Keys(keys)));
    }
}
