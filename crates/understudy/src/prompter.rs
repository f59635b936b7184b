//! The prompter: chooses the turn that answers a request.
//!
//! Invariants
//! - P1  Only a request of the kind that a turn is for can use it up; side requests never take a
//!   turn of the main loop.
//! - P2  First the program in the prompt, then the script of the name in the address, or of the
//!   session, or of everybody; then a fixed answer. A named script that is over does not go on
//!   with everybody's.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::inline;
use crate::log::{Answer, Log};
use crate::request::{Kind, Request};
use crate::script::Script;
use crate::turn::Turn;

/// The name of the script that is for everybody.
const EVERYBODY: &str = "";

#[derive(Debug, Default)]
pub struct Prompter {
    scripts: Mutex<BTreeMap<String, Vec<Cue>>>,
}

#[derive(Debug)]
struct Cue {
    turn: Turn,
    given: u64,
}

impl Prompter {
    pub fn new(script: Script) -> Prompter {
        let prompter = Prompter::default();
        prompter.replace(None, script.turns);
        for (name, turns) in script.scripts {
            prompter.replace(Some(&name), turns);
        }
        prompter
    }

    /// Gives a name, or everybody, a new script from its beginning.
    pub fn replace(&self, name: Option<&str>, turns: Vec<Turn>) {
        let cues = turns.into_iter().map(|turn| Cue { turn, given: 0 }).collect();
        self.lock().insert(name.unwrap_or(EVERYBODY).into(), cues);
    }

    /// The scripted turn for a request and where it stands, if there is one.
    pub fn choose(
        &self,
        name: Option<&str>,
        request: &Request,
        log: &Log,
    ) -> Result<Option<(Turn, Answer)>, serde_json::Error> {
        if request.kind == Kind::Main
            && let Some(program) = inline::find(request)?
        {
            let fingerprint = program.fingerprint;
            // A turn that failed left no message to be counted.
            let failed = log.failed(name, request.session.as_deref(), fingerprint);
            if let Some((turn, chosen)) = program.turn_at(program.spoken + failed) {
                let failed = chosen.leaves_no_message();
                let answer = Answer::Prompt { program: fingerprint, turn, failed };
                return Ok(Some((chosen.clone(), answer)));
            }
        }
        Ok(self.next_of_script(name, request))
    }

    fn next_of_script(&self, name: Option<&str>, request: &Request) -> Option<(Turn, Answer)> {
        let mut scripts = self.lock();
        let session = request.session.as_deref().filter(|session| scripts.contains_key(*session));
        let name = name.or(session).unwrap_or(EVERYBODY);
        let cues = scripts.get_mut(name)?;
        let fits = |cue: &Cue| {
            cue.turn.to == request.kind
                && cue.given < cue.turn.repeat.times()
                && cue.turn.matching.as_ref().is_none_or(|words| news_contain(request, words))
        };
        let turn = cues.iter().position(fits)?;
        cues[turn].given += 1;
        Some((cues[turn].turn.clone(), Answer::Script { name: name.into(), turn }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Cue>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn news_contain(request: &Request, words: &str) -> bool {
    request.since_prompt().iter().any(|message| message.text().contains(words))
}
