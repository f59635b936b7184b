//! Agents, tasks, signals, checkpoints, escalations and sessions in the words of a seed: what `--vocabulary` prints. Agents are
//! here; the others have a file each.
//!
//! Which fields there are is the core's table (`perennial_core::vocabulary`); here each of them gets its value from the
//! agent as the caller sees it. Shows nothing that `show` would not.

pub mod checkpoints;
pub mod escalations;
pub mod sessions;
pub mod signals;
pub mod tasks;

use std::path::Path;

use perennial_api::Agent;
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_core::vocabulary::{Condition, Source, Vocabulary};
use perennial_engine::mirror::{dead_work_file, living_work_file, path_from};
use perennial_engine::timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Unconfirmed for this long is stale; what `ls --stale` means without a number.
pub const STALE_SECONDS: u64 = 300;

/// An agent, a task, a signal, a checkpoint or an escalation, in a seed's form and in the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Document(Vec<(&'static str, Value)>);

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What a word of the vocabulary is chosen by.
pub fn condition(agent: &Agent, now: Time) -> Condition {
    let state = State::ALL.into_iter().find(|state| state.word() == agent.state);
    let reason = Reason::ALL.into_iter().find(|reason| reason.word() == agent.reason);
    let seen = agent.last_seen.as_deref().and_then(timestamp::parsed);
    Condition {
        // The words of this daemon's own agents are all known.
        state: state.unwrap_or(State::Unknown),
        reason,
        is_stale: seen.is_none_or(|seen| now.since(seen).as_secs() >= STALE_SECONDS),
        // Nothing is merged by Perennial yet.
        is_merged: false,
    }
}

/// An agent's document; `mirror` is the root of the mirror.
pub fn document(vocabulary: Vocabulary, agent: &Agent, mirror: &Path, now: Time) -> Document {
    let condition = condition(agent, now);
    let field = |(name, source): &(&'static str, Source)| match source {
        Source::HookPath => (*name, json!(hook_path(agent, mirror))),
        source => (*name, value(vocabulary, *source, agent, condition)),
    };
    Document(vocabulary.fields().iter().map(field).collect())
}

fn value(vocabulary: Vocabulary, source: Source, agent: &Agent, condition: Condition) -> Value {
    let said = vocabulary.state(condition);
    let session = agent.session.as_ref();
    match source {
        Source::Name => json!(agent.name),
        Source::State => json!(said.state),
        Source::StateDetail => json!(said.detail),
        Source::ReasonText => json!(agent.reason_text),
        Source::Role => json!(agent.role.as_deref().map(|role| vocabulary.role(role))),
        Source::Parent => json!(agent.parent),
        Source::Model => json!(agent.model),
        Source::SessionId => json!(session.map(|session| &session.id)),
        Source::Pid => json!(session.filter(|one| one.exit.is_none()).and_then(|one| one.pid)),
        Source::TmuxSession => json!(agent.tmux_session),
        Source::Directory => json!(agent.dir),
        Source::Summary => json!(agent.summary),
        Source::FinalSummary => {
            json!(agent.summary.as_ref().filter(|_| agent.roster == "cemetery"))
        }
        Source::ContextPercent => {
            json!(agent.context.as_ref().map(|context| context.usable_percent))
        }
        Source::CreatedAt => json!(agent.created_at),
        Source::ChangedAt => json!(agent.since),
        Source::LastSeen => json!(agent.last_seen),
        Source::PredecessorId => json!(agent.crashed_predecessor_id),
        Source::RespawnCount => json!(agent.respawn_count),
        Source::Situations => json!(agent.situations),
        Source::Situation => json!(agent.situations.first()),
        Source::Task => json!(agent.task.as_ref().map(|task| &task.id)),
        Source::TaskReference => {
            json!(agent.task.as_ref().and_then(|task| task.reference.as_ref()))
        }
        // Freeze-states and souls are not part of the record yet; where its work is, is told by whoever knows the mirror.
        Source::FreezeState | Source::Soul | Source::HookPath => Value::Null,
        Source::Fixed(word) => json!(word),
    }
}

/// Where the mirror has its work, from the agent's directory; nothing of an agent without a name.
fn hook_path(agent: &Agent, mirror: &Path) -> Option<String> {
    let id = agent.id.parse().ok().filter(|_| agent.name != agent.id)?;
    let file = match agent.roster == "cemetery" {
        true => dead_work_file(&agent.name, id),
        false => living_work_file(&agent.name),
    };
    Some(path_from(mirror, &agent.project, &agent.dir, &file))
}

#[cfg(test)]
mod tests {
    use perennial_api::agent::Session;

    use super::*;

    fn agent(state: State, reason: Reason) -> Agent {
        Agent {
            name: "impl_auth".to_owned(),
            state: state.word().to_owned(),
            roster: state.roster().word().to_owned(),
            reason: reason.word().to_owned(),
            session: Some(Session { id: "agt_1.1".to_owned(), ..Session::default() }),
            ..Agent::default()
        }
    }

    /// Every state of the model has a document in every vocabulary, in the seed's order.
    #[test]
    fn every_state_is_printed_in_each_vocabulary() {
        for vocabulary in Vocabulary::ALL {
            for (state, reason) in
                State::ALL.into_iter().flat_map(|state| Reason::ALL.map(|reason| (state, reason)))
            {
                let agent = agent(state, reason);
                let printed =
                    serde_json::to_string(&document(vocabulary, &agent, Path::new("/"), Time(0)));
                let printed = printed.expect("plain values");
                let read: Value = serde_json::from_str(&printed).expect("JSON");
                let field = vocabulary.fields().iter().find(|(_, it)| *it == Source::State);
                let (field, _) = field.expect("each has a state");
                let word = read[field].as_str().expect("a word");
                assert!(vocabulary.states(word).contains(&state), "{vocabulary:?} {state:?}");
                let places = vocabulary.fields().iter().map(|(name, _)| {
                    printed.find(&format!("\"{name}\":")).expect("every field is there")
                });
                assert!(places.is_sorted(), "{printed}");
            }
        }
    }

    #[test]
    fn what_is_unconfirmed_for_long_is_stale() {
        let now = timestamp::parsed("2026-02-26T10:10:00Z").expect("a moment");
        let mut agent = agent(State::Unknown, Reason::HolderUnreachable);
        for (seen, word) in [("2026-02-26T10:05:01Z", "active"), ("2026-02-26T10:05:00Z", "stale")]
        {
            agent.last_seen = Some(seen.to_owned());
            assert_eq!(Vocabulary::S3.state(condition(&agent, now)).state, word, "{seen}");
        }
    }
}
