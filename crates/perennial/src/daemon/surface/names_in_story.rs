//! Names for the ids of other agents in what is told for people. The journal has ids, since names change hands; a person
//! knows agents by name.

use std::collections::BTreeMap;

use perennial_api::agent as wire;
use perennial_api::answer::Chapter;
use perennial_api::task::Task;
use perennial_core::id::AgentId;
use perennial_store::{Store, recall};

use super::Surface;
use super::answer::ProblemResponse;
use crate::daemon::showing::view;

/// How an agent's id begins, and how long it is.
const PREFIX: &str = "agt_";
const LENGTH: usize = 30;

/// Chapters with words of the agent's own: they stay as they were written.
const OWN_WORDS: [&str; 2] = ["summarised", "legacy-left"];

impl Surface {
    /// The same agent and story, with names in the place of ids that are known.
    pub async fn with_names(
        &self,
        agent: &mut wire::Agent,
        story: &mut [Chapter],
    ) -> Result<(), ProblemResponse> {
        let told = story.iter_mut().filter(|chapter| !OWN_WORDS.contains(&&*chapter.kind));
        let mut texts: Vec<&mut String> = told.map(|chapter| &mut chapter.text).collect();
        texts.push(&mut agent.evidence.fact);
        self.put_names(texts).await
    }

    /// The same in what tells of tasks whom they belong to; what somebody wrote stays.
    pub async fn name_in_tasks(&self, tasks: &mut [Task]) -> Result<(), ProblemResponse> {
        let mut texts: Vec<&mut String> = Vec::new();
        for task in tasks {
            if task.state == "verified" {
                texts.push(&mut task.reason);
            }
            texts.extend([&mut task.by, &mut task.added_by]);
            texts.extend(task.assignee.as_mut().into_iter().chain(task.queue.as_mut()));
            texts.extend(task.last_sessions.iter_mut().map(|one| &mut one.agent));
            texts.extend(task.open_loop.iter_mut().flat_map(|it| [&mut it.from, &mut it.to]));
            texts.extend(task.last_notes.iter_mut().map(|note| &mut note.by));
            texts.extend(task.last_words.iter_mut().map(|words| &mut words.by));
        }
        self.put_names(texts).await
    }

    async fn put_names(&self, texts: Vec<&mut String>) -> Result<(), ProblemResponse> {
        let mut names: BTreeMap<AgentId, Option<String>> = BTreeMap::new();
        for text in &texts {
            names.extend(ids(text).map(|(_, id)| (id, None)));
        }
        if names.is_empty() {
            return Ok(());
        }
        let known = names.keys().copied().collect::<Vec<AgentId>>();
        let look = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let name = |id: AgentId| (id, fleet.agent(id).map(view::name));
            known.into_iter().map(name).collect::<BTreeMap<AgentId, Option<String>>>()
        });
        names = look.await?;
        // Those who have left memory.
        let read = move |journal: &dyn Store| {
            for (id, name) in names.iter_mut().filter(|(_, name)| name.is_none()) {
                *name = recall(journal, *id)?.as_ref().map(view::name);
            }
            Ok(names)
        };
        let names = self.read(read).await?;
        for text in texts {
            *text = named(text, &names);
        }
        Ok(())
    }
}

/// The ids of agents in a text, each with its place.
fn ids(text: &str) -> impl Iterator<Item = (usize, AgentId)> + use<'_> {
    let id =
        |(place, _): (usize, &str)| Some((place, text.get(place..place + LENGTH)?.parse().ok()?));
    text.match_indices(PREFIX).filter_map(id)
}

fn named(text: &str, names: &BTreeMap<AgentId, Option<String>>) -> String {
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for (place, id) in ids(text) {
        let Some(Some(name)) = names.get(&id) else { continue };
        shown.push_str(&text[from..place]);
        shown.push_str(name);
        from = place + LENGTH;
    }
    shown + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ids_become_names_and_others_stay() {
        let (ada, eve) = (AgentId(1), AgentId(2));
        assert_eq!(ada.to_string().len(), LENGTH);
        let names = BTreeMap::from([(ada, Some("ada".to_owned())), (eve, None)]);
        let text = format!("stopped by agent {ada}; parent {eve}, agt_x, é{ada}");
        let shown = format!("stopped by agent ada; parent {eve}, agt_x, éada");
        assert_eq!(named(&text, &names), shown);
    }
}
