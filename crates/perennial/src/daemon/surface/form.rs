//! In whose words agents are asked for and answered: Perennial's own, or those of a seed.

use perennial_api::agent as wire;
use perennial_core::state::State;
use perennial_core::vocabulary::Vocabulary;

use super::answer::{Answer, ProblemResponse, json};
use crate::daemon::showing::{problems, vocabulary};
use crate::daemon::time;

/// The words of one request.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    vocabulary: Option<Vocabulary>,
}

/// A state of ours, or a word of a vocabulary for one or several.
type Wanted = (Option<State>, Option<(Vocabulary, String)>);

impl Form {
    pub fn of(word: Option<&str>) -> Result<Form, ProblemResponse> {
        let known = |word| {
            Vocabulary::of(word).ok_or_else(|| ProblemResponse(problems::bad_vocabulary(word)))
        };
        Ok(Form { vocabulary: word.map(known).transpose()? })
    }

    /// The state that a word means; without a vocabulary one of ours.
    pub fn state(self, word: Option<String>) -> Result<Wanted, ProblemResponse> {
        let Some(word) = word else { return Ok((None, None)) };
        let Some(vocabulary) = self.vocabulary else {
            let known = State::ALL.into_iter().find(|state| state.word() == word);
            let known = known.ok_or_else(|| ProblemResponse(problems::bad_state(&word)))?;
            return Ok((Some(known), None));
        };
        match vocabulary.states(&word).is_empty() {
            true => Err(ProblemResponse(problems::not_a_state_of(vocabulary, &word))),
            false => Ok((None, Some((vocabulary, word)))),
        }
    }

    pub fn our_role(self, role: String) -> String {
        match self.vocabulary {
            Some(vocabulary) => vocabulary.our_role(&role).to_owned(),
            None => role,
        }
    }

    pub fn write(self, text: &mut Vec<u8>, agent: &wire::Agent) -> serde_json::Result<()> {
        match self.vocabulary {
            Some(words) => {
                serde_json::to_writer(text, &vocabulary::document(words, agent, time::wall()))
            }
            None => serde_json::to_writer(text, agent),
        }
    }

    pub fn one(self, agent: &wire::Agent) -> Answer {
        match self.vocabulary {
            Some(words) => json(&vocabulary::document(words, agent, time::wall())),
            None => json(agent),
        }
    }

    pub fn list(self, agents: &[wire::Agent]) -> Answer {
        let Some(words) = self.vocabulary else { return json(&agents) };
        let now = time::wall();
        let documents = agents.iter().map(|agent| vocabulary::document(words, agent, now));
        json(&documents.collect::<Vec<_>>())
    }
}
