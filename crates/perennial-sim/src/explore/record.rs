//! Escalations, and the cleaning of the dead, in an explored world.

use perennial_core::authority::Caller;
use perennial_core::cleaning::{Artefacts, ConversationCopy};
use perennial_core::command::Command;
use perennial_core::conversation::ConversationId;
use perennial_core::escalation::{EscalateTo, EscalationDraft, Severity};
use perennial_core::id::{AgentId, EscalationId, SessionNumber};
use perennial_core::message::Mailbox;
use perennial_core::retention::{Recording, Recordings, SessionsKnown};
use perennial_core::state::State;
use perennial_core::time::Time;

use super::{Explorer, HARNESS};

impl Explorer {
    /// Somebody escalates, or somebody reads one, or a person takes one back.
    pub(super) fn escalate(&mut self) {
        let open = self.world.judge.open_escalations();
        let one = self.world.random.pick(&open).cloned();
        if let Some((mail, to)) = one.filter(|_| self.world.random.per_mille(300)) {
            if self.world.random.per_mille(200) {
                return self.ask(Caller::Person, Command::Unsend { id: mail });
            }
            let reader = match to {
                Mailbox::Agent(id) => Caller::Agent(id),
                Mailbox::Role(_) | Mailbox::Operator => Caller::Person,
            };
            return self.ask(reader, Command::ReadMail { ids: vec![mail] });
        }
        let caller = match self.somebody().filter(|_| self.world.random.per_mille(850)) {
            Some(agent) => Caller::Agent(agent),
            None => Caller::Person,
        };
        let to = match self.world.random.below(6) {
            0 => EscalateTo::Operator,
            1 => EscalateTo::Role { role: "keeper".parse().expect("a name"), is_declared: true },
            _ => EscalateTo::Parent,
        };
        let severity = self.world.random.pick(&Severity::ALL).copied().unwrap_or(Severity::High);
        let id = EscalationId(self.world.mails.new_mail().0);
        let (body, excerpt) = (perennial_store::text::body("words"), "words".to_owned());
        let draft = EscalationDraft { id, to, severity, subject: id.to_string(), body, excerpt };
        self.ask(caller, Command::Escalate(Box::new(draft)));
    }

    /// Mostly the dead, mostly by a person; else it has to be refused.
    pub(super) fn clean(&mut self) {
        let agents = self.world.ledger.record.agents();
        let dead = agents.filter(|agent| agent.state == State::Dead).map(|agent| agent.id);
        let dead: Vec<AgentId> = dead.collect();
        let one = self.world.random.pick(&dead).copied();
        let Some(agent) = one.filter(|_| self.world.random.per_mille(800)).or(self.somebody())
        else {
            return;
        };
        let known = self.world.ledger.record.agent(agent);
        let recalled = known.and_then(SessionsKnown::of);
        let newest = known.and_then(|known| known.session.as_ref()).map_or(0, |it| it.number.0);
        let printed_at = Time(self.world.now.0.saturating_sub(1));
        let recording = |number| {
            let number = SessionNumber(number);
            Recording { number, bytes: 1, printed_at, may_live: false }
        };
        let recordings =
            Recordings { agent, recalled, recordings: (1..=newest).map(recording).collect() };
        let copies = self.copies(agent);
        let found = Box::new(Artefacts { recordings, harness: HARNESS.to_owned(), copies });
        let caller = match self.somebody().filter(|_| self.world.random.per_mille(100)) {
            Some(agent) => Caller::Agent(agent),
            None => Caller::Person,
        };
        self.ask(caller, Command::Clean { found });
    }

    /// Those of the conversations that it was in, one that nobody needs, and one of each that is needed.
    fn copies(&mut self, agent: AgentId) -> Vec<ConversationCopy> {
        let [free, also, origin, doubtful] = [(); 4].map(|()| self.world.new_conversation());
        let other = self.somebody().unwrap_or(agent);
        let cleaning = &mut self.world.judge.cleaning;
        cleaning.free.insert(free.clone());
        cleaning.needed.extend([origin.clone(), doubtful.clone()]);
        if other != agent {
            cleaning.needed.insert(also.clone());
        }
        let copy = |conversation: ConversationId| ConversationCopy {
            conversation,
            bytes: 1,
            written_at: Time(1),
            also_of: None,
            is_certain: true,
            origin_for: None,
        };
        let mut copies: Vec<ConversationCopy> =
            cleaning.conversations(agent).cloned().map(copy).collect();
        copies.extend([
            copy(free),
            ConversationCopy { also_of: Some(other), ..copy(also) },
            ConversationCopy { origin_for: Some(other), ..copy(origin) },
            ConversationCopy { is_certain: false, ..copy(doubtful) },
        ]);
        copies
    }
}
