//! In whose words agents, tasks, signals, checkpoints, escalations and sessions are asked for and answered: Perennial's own, or those of a seed.

use std::collections::BTreeMap;
use std::path::Path;

use perennial_api::agent as wire;
use perennial_api::checkpoint::CheckpointCard;
use perennial_api::escalation::Escalation;
use perennial_api::graph::GraphSession;
use perennial_api::handoffs::Handoffs;
use perennial_api::signal::SignalList;
use perennial_api::task as wire_task;
use perennial_core::signal::Party;
use perennial_core::state::State;
use perennial_core::task::TaskState;
use perennial_core::vocabulary::{TaskCondition, Vocabulary};
use serde_json::json as value;

use super::answer::{Answer, ProblemResponse, json};
use crate::daemon::showing::problems::task as task_problems;
use crate::daemon::showing::{problems, vocabulary};
use crate::daemon::time;

/// The role that an agent had at each of its checkpoints, by their numbers.
pub type RolesThen = BTreeMap<u64, Option<String>>;

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

    /// The conditions of tasks that a word means; nothing without a word.
    pub fn task_conditions(
        self,
        word: Option<&str>,
    ) -> Result<Option<Vec<TaskCondition>>, ProblemResponse> {
        let Some(word) = word else { return Ok(None) };
        let meant = match self.vocabulary {
            Some(vocabulary) => vocabulary.task_conditions(word),
            None => TaskCondition::ALL.into_iter().filter(|one| one.our_word() == word).collect(),
        };
        match (meant.is_empty(), self.vocabulary) {
            (false, _) => Ok(Some(meant)),
            (true, Some(vocabulary)) => {
                Err(ProblemResponse(task_problems::not_a_state_of(vocabulary, word)))
            }
            (true, None) => Err(ProblemResponse(task_problems::bad_state(word, &TaskState::WORDS))),
        }
    }

    pub fn task(self, task: &wire_task::Task) -> Answer {
        match self.vocabulary {
            Some(words) => json(&vocabulary::tasks::document(words, task)),
            None => json(task),
        }
    }

    pub fn tasks(self, list: &wire_task::TaskList) -> Answer {
        let Some(words) = self.vocabulary else { return json(list) };
        let document = |task| vocabulary::tasks::document(words, task);
        let tasks: Vec<_> = list.tasks.iter().map(document).collect();
        json(&value!({ "has_older": list.has_older, "tasks": tasks }))
    }

    /// A kind of signal in our word.
    pub fn our_kind(self, word: &str) -> &str {
        self.vocabulary.map_or(word, |vocabulary| vocabulary.our_kind(word))
    }

    /// The party that a word means; none without a vocabulary, where an agent may be called so.
    pub fn party(self, word: &str) -> Option<Party> {
        self.vocabulary?.our_party(word)
    }

    pub fn signals(self, list: &SignalList) -> Answer {
        let Some(words) = self.vocabulary else { return json(list) };
        let document = |signal| vocabulary::signals::document(words, signal);
        let signals: Vec<_> = list.signals.iter().map(document).collect();
        let SignalList { has_more, position, .. } = list;
        json(&value!({ "signals": signals, "has_more": has_more, "position": position }))
    }

    /// Whether the answer is in a seed's form.
    pub fn is_a_seeds(self) -> bool {
        self.vocabulary.is_some()
    }

    /// Each with the role that its agent had then.
    pub fn checkpoints(
        self,
        agent: &wire::Agent,
        roles: &RolesThen,
        cards: &[CheckpointCard],
    ) -> Answer {
        let Some(words) = self.vocabulary else { return json(&cards) };
        let document =
            |card| vocabulary::checkpoints::document(words, &then(agent, roles, card), card);
        json(&cards.iter().map(document).collect::<Vec<_>>())
    }

    pub fn checkpoint(
        self,
        agent: &wire::Agent,
        roles: &RolesThen,
        card: &CheckpointCard,
    ) -> Answer {
        match self.vocabulary {
            Some(words) => {
                let agent = then(agent, roles, card);
                json(&vocabulary::checkpoints::document(words, &agent, card))
            }
            None => json(card),
        }
    }

    pub fn escalations(self, all: &[Escalation]) -> Answer {
        let Some(words) = self.vocabulary else { return json(&all) };
        let document = |one| vocabulary::escalations::document(words, one);
        json(&all.iter().map(document).collect::<Vec<_>>())
    }

    /// A session of the entity graph.
    pub fn session(self, mut session: GraphSession) -> GraphSession {
        if let Some(words) = self.vocabulary {
            vocabulary::sessions::of_graph(words, &mut session);
        }
        session
    }

    pub fn handoffs(self, mut handoffs: Handoffs) -> Answer {
        if let Some(words) = self.vocabulary {
            vocabulary::sessions::of_handoffs(words, &mut handoffs);
        }
        json(&handoffs)
    }

    pub fn our_role(self, role: String) -> String {
        match self.vocabulary {
            Some(vocabulary) => vocabulary.our_role(&role).to_owned(),
            None => role,
        }
    }

    pub fn write(
        self,
        text: &mut Vec<u8>,
        agent: &wire::Agent,
        mirror: &Path,
    ) -> serde_json::Result<()> {
        match self.vocabulary {
            Some(words) => {
                let document = vocabulary::document(words, agent, mirror, time::wall());
                serde_json::to_writer(text, &document)
            }
            None => serde_json::to_writer(text, agent),
        }
    }

    pub fn one(self, agent: &wire::Agent, mirror: &Path) -> Answer {
        match self.vocabulary {
            Some(words) => json(&vocabulary::document(words, agent, mirror, time::wall())),
            None => json(agent),
        }
    }

    pub fn list(self, agents: &[wire::Agent], mirror: &Path) -> Answer {
        let Some(words) = self.vocabulary else { return json(&agents) };
        let now = time::wall();
        let documents = agents.iter().map(|agent| vocabulary::document(words, agent, mirror, now));
        json(&documents.collect::<Vec<_>>())
    }
}

/// An agent as it was at a checkpoint, as far as its role goes.
fn then(agent: &wire::Agent, roles: &RolesThen, card: &CheckpointCard) -> wire::Agent {
    let role = roles.get(&u64::from(card.checkpoint.number)).cloned().flatten();
    wire::Agent { role, ..agent.clone() }
}
