//! What a script looks at: agents, their events, what lives on the machine; and what it expects.

use perennial_core::agent::Agent;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::id::AgentId;

use super::{Stage, Wrong};
use crate::journal::Append;
use crate::words;
use crate::world::BEGINNING;

impl Stage {
    pub(super) fn look(&mut self, line: &[&str]) -> Result<(), Wrong> {
        match line {
            ["ls"] => self.list(),
            ["events", who] => {
                let id = self.agent(who)?;
                self.events(id);
            }
            ["holders"] => self.holders(),
            ["expect", who, expected @ ..] => {
                let agent = self.world.ledger.record.find(who).map_err(|_| Wrong::NoAgent)?;
                return expect(agent, expected);
            }
            _ => return Err(Wrong::NotUnderstood),
        }
        Ok(())
    }

    fn list(&mut self) {
        let now = self.world.now;
        let agents = self.world.ledger.record.agents();
        let lines: Vec<String> = agents.map(|agent| words::agent(agent, now)).collect();
        lines.iter().for_each(|line| self.say(&format!("  {}", line.trim_end())));
    }

    fn events(&mut self, id: AgentId) {
        let committed = self.world.journal.committed().iter().flat_map(Append::events);
        let own = committed.filter_map(|event| of(id, event).map(|what| (event.at, what)));
        let lines: Vec<String> = own
            .map(|(at, what)| {
                let since = at.since(BEGINNING);
                let (seconds, millis) = (since.as_secs(), since.subsec_millis());
                format!("  {seconds:>6}.{millis:03}  {}", words::agent_event(what, at))
            })
            .collect();
        lines.iter().for_each(|line| self.say(line));
    }

    /// Everything that lives on the machine.
    fn holders(&mut self) {
        let mut lines = Vec::new();
        for agent in self.world.ledger.record.agents() {
            let name = agent.name.as_ref().map_or("(nameless)", |name| name.as_str());
            let holder = match self.world.machine.shims.get(&agent.id) {
                Some(shim) if shim.hung => "holder hangs",
                Some(_) => "holder",
                None => "no holder",
            };
            let living = self.world.machine.sessions_of(agent.id);
            let living: Vec<String> = living
                .filter(|(_, session)| session.has_processes())
                .map(|(number, session)| {
                    let main = if session.is_alive() { "program" } else { "children" };
                    format!(", {main} of session {number}")
                })
                .collect();
            lines.push(format!("  {name:<8} {holder}{}", living.concat()));
        }
        lines.iter().for_each(|line| self.say(line));
    }
}

fn of(id: AgentId, event: &Event) -> Option<&AgentEvent> {
    event.of_agent().filter(|(own, _)| *own == id).map(|(_, what)| what)
}

/// `STATE [REASON] [session N]`.
fn expect(agent: &Agent, expected: &[&str]) -> Result<(), Wrong> {
    let number = agent.session.as_ref().map_or(0, |session| session.number.0);
    let (state, reason) = (agent.state.word(), agent.reason.word());
    let holds = match expected {
        [s] => *s == state,
        [s, r] => (*s, *r) == (state, reason),
        [s, "session", n] => *s == state && *n == number.to_string(),
        [s, r, "session", n] => (*s, *r) == (state, reason) && *n == number.to_string(),
        _ => return Err(Wrong::NotUnderstood),
    };
    if holds {
        return Ok(());
    }
    let found = format!("{state} {reason} session {number}");
    Err(Wrong::Unexpected { expected: expected.join(" "), found })
}
