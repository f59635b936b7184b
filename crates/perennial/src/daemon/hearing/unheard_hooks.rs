//! Hooks that no daemon heard: they failed open. What was kept of them beside their session is heard when a daemon
//! finds the session (H26); what could not be kept is counted.
//!
//! What is lost is told once, in the log and by `doctor`. What was kept counts as the session's own word: whoever
//! can write there can write to the journal, too.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use perennial_api::home::HOOKS_MISSED_BYTES_MAX;
use perennial_core::conversation::{ConversationId, Whereabouts};
use perennial_core::fact::Fact;
use perennial_core::hearing;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use perennial_engine::regular_file::{self, Links};
use serde::Deserialize;

use crate::daemon::driving::driver::Driver;
use crate::unheard_hook::{self, UNHEARD_HOOKS_BYTES_MAX, UnheardHook};

/// What is read of the file at the most. Hooks that write at the same time may pass the limit, each by
/// one line.
const LONGEST: u64 = 2 * HOOKS_MISSED_BYTES_MAX;

#[derive(Deserialize)]
struct Missed {
    #[serde(default)]
    session: String,
}

/// Takes the file away and says how many calls of which session it holds.
pub fn take(path: &Path) -> Vec<String> {
    let counted = match regular_file::open(path, Links::Refuse) {
        Ok(file) => count(BufReader::new(file.take(LONGEST))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "the note of missed hooks can't be read");
            return Vec::new();
        }
    };
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, "the note of missed hooks can't be taken away");
    }
    let told = |(session, calls): (String, u64)| {
        let session: String = session.chars().filter(|c| !c.is_control()).take(64).collect();
        format!("{calls} hook calls of session {session} were lost because no daemon was running")
    };
    counted.into_iter().map(told).collect()
}

fn count(lines: impl BufRead) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for line in lines.split(b'\n').map_while(Result::ok) {
        if let Ok(missed) = serde_json::from_slice::<Missed>(&line) {
            *counted.entry(missed.session).or_default() += 1;
        }
    }
    counted
}

impl Driver {
    /// Hears what the hooks of a live session said while no daemon heard them.
    pub fn hear_unheard(&mut self, agent: AgentId, number: SessionNumber) {
        let calls = take_kept(&self.world.harnesses.holder(agent).unheard_hooks(number));
        let Some(known) = self.supervisor.fleet().agent(agent).filter(|_| !calls.is_empty()) else {
            return;
        };
        let harnesses = &self.world.harnesses;
        let Ok(preset) = harnesses.preset(&known.launch.harness) else { return };
        let own = known.to_read();
        let own: Vec<ConversationId> =
            own.iter().flat_map(|own| own.newest_first().cloned()).collect();
        let fact = |call: &UnheardHook| -> Option<Fact> {
            let said = preset.dialect.hook(&call.event, call.input.as_bytes()).ok()?.fact?;
            let lies = match &said.conversation {
                Some(named) if !own.contains(named) => {
                    harnesses.whereabouts(agent, &preset, &known.launch.dir, &own, named)
                }
                Some(_) | None => Whereabouts::Own,
            };
            Some(said.at(Some(Time(call.at))).within_own(own.first().cloned(), lies))
        };
        let facts = hearing::unheard(known, calls.iter().filter_map(fact).collect());
        tracing::info!(%agent, %number, calls = calls.len(), news = facts.len(), "hooks that no daemon heard");
        for fact in facts {
            self.hear(agent, number, fact);
        }
    }
}

/// Takes the file away and says what it holds. What is written meanwhile is in the next one.
fn take_kept(path: &Path) -> Vec<UnheardHook> {
    let taken = path.with_extension("taken");
    match std::fs::rename(path, &taken) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "hooks that no daemon heard can't be taken");
            return Vec::new();
        }
    }
    let mut text = Vec::new();
    let read = regular_file::open(&taken, Links::Refuse)
        .and_then(|file| file.take(2 * UNHEARD_HOOKS_BYTES_MAX).read_to_end(&mut text));
    if let Err(error) = read {
        tracing::warn!(%error, "hooks that no daemon heard can't be read");
    }
    let _gone = std::fs::remove_file(&taken);
    unheard_hook::read(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_calls_are_told_once_by_session() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missed");
        assert_eq!(take(&path), Vec::<String>::new());
        let line = |session| format!("{{\"event\":\"Stop\",\"session\":\"{session}\"}}\n");
        std::fs::write(&path, line("a.1") + &line("a.1") + "garbage\n" + &line("b.2")).unwrap();
        let told = take(&path);
        assert_eq!(told.len(), 2);
        let lost = "2 hook calls of session a.1 were lost because no daemon was running";
        assert_eq!(told[0], lost);
        assert_eq!(take(&path), Vec::<String>::new());
    }
}
