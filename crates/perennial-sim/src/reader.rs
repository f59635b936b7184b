//! The simulated reader of transcripts, by the ways of the daemon's own: it looks when something was
//! heard of a session, or its end was recorded, and a moment later again; then now and then.
//!
//! A transcript lies on the disk, and each daemon reads it from its beginning. A look that finds
//! nothing new tells that the conversation is settled, also after the end of its session.

use std::time::Duration;

use perennial_core::event::{AgentEvent, Event};
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;

use crate::daemon::Life;
use crate::facts::LIMITS;
use crate::world::{Happening, World};

/// A harness speaks before it has written everything down: so much later it is looked at again.
const LATE: Duration = Duration::from_millis(500);

/// What a daemon's reader knows of one agent's conversations.
#[derive(Debug, Clone, Copy)]
pub struct OpenTranscript {
    number: SessionNumber,
    /// When it was last heard, or its transcript had grown.
    heard: Time,
    due: Option<Time>,
}

impl World {
    /// Something was heard of a session: there is something to read now, or soon.
    pub fn look(&mut self, life: Life, agent: AgentId, number: SessionNumber) {
        let heard = self.now;
        let due = Some(heard + LATE);
        let Some(daemon) = self.daemon_mut(life) else { return };
        let known = daemon.supervisor.fleet().agent(agent);
        // What is written now is the newest session's, whoever speaks.
        let newest = known.and_then(|known| Some(known.session.as_ref()?.number));
        let number = newest.map_or(number, |newest| newest.max(number));
        daemon.transcripts_open.insert(agent, OpenTranscript { number, heard, due });
        self.after(LATE, Happening::Listens { life, agent });
        let again = self.random.per_mille(self.faults.duplicate_odds);
        self.read(life, agent, again);
    }

    /// Has the conversations of sessions read that are over with these events.
    pub fn look_at_ended(&mut self, life: Life, events: &[Event]) {
        for event in events {
            if let Some((agent, AgentEvent::SessionEnded { number, .. })) = event.of_agent() {
                self.look(life, agent, *number);
            }
        }
    }

    /// The time of a look has come.
    pub fn listens(&mut self, life: Life, agent: AgentId) {
        let now = self.now;
        let open = |world: &World| world.daemon(life)?.transcripts_open.get(&agent).copied();
        let is_due = |open: &OpenTranscript| open.due.is_some_and(|due| due <= now);
        let Some(OpenTranscript { number, heard, .. }) = open(self).filter(is_due) else { return };
        let has_grown = self.read(life, agent, false);
        let is_alive = self.cli(agent, number).is_some();
        let (heard, due) = if has_grown {
            (now, Some(now + LATE))
        } else {
            (heard, is_alive.then(|| heard + LIMITS.next_look(now.since(heard))))
        };
        let Some(daemon) = self.daemon_mut(life) else { return };
        let known = daemon.supervisor.fleet().agent(agent);
        let current = known.and_then(|known| Some(known.to_read()?.current));
        daemon.transcripts_open.insert(agent, OpenTranscript { number, heard, due });
        if let Some(due) = due {
            self.after(due.since(now), Happening::Listens { life, agent });
        }
        if !has_grown {
            let settled = Fact::new(Origin::Transcript, Seen::Settled).within(current);
            self.hears(life, agent, number, settled);
        }
    }

    /// Tells what is new in every conversation of an agent; whether there was anything.
    fn read(&mut self, life: Life, agent: AgentId, again: bool) -> bool {
        let Some(daemon) = self.daemon(life) else { return false };
        let Some(open) = daemon.transcripts_open.get(&agent).copied() else { return false };
        let known = daemon.supervisor.fleet().agent(agent);
        let Some(conversations) = known.and_then(|known| known.to_read()) else {
            return false;
        };
        let (mut facts, mut ends): (Vec<Fact>, Vec<_>) = (Vec::new(), Vec::new());
        let current = conversations.current.clone();
        for id in conversations.earlier.iter().chain([&current]) {
            let read = daemon.read.get(&(agent, id.clone())).copied();
            // What was left is read to its end, once.
            let from = read.filter(|_| !again || *id != current).unwrap_or(0);
            let steps = self.machine.transcripts.get(id).map_or(&[][..], |steps| &steps[from..]);
            let is_old = from == 0;
            facts.extend(steps.iter().map(|fact| Fact { is_old, ..fact.clone() }));
            ends.push(((agent, id.clone()), from + steps.len()));
        }
        if let Some(daemon) = self.daemon_mut(life) {
            daemon.read.extend(ends);
        }
        let has_grown = !facts.is_empty();
        facts.push(Fact::new(Origin::Transcript, Seen::CaughtUp).within(Some(current)));
        for fact in facts {
            self.hears(life, agent, open.number, fact);
        }
        has_grown
    }
}
