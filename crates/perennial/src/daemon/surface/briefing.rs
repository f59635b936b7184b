//! What the next session of an agent would be told of the work, as it would be told.

use axum::extract::State;
use perennial_api::answer::Briefing;
use perennial_api::query;
use perennial_core::conversation::FirstPrompt;
use perennial_core::id::AgentId;
use perennial_core::state::Roster;
use perennial_core::succession::{Beginning, Form};
use perennial_core::visibility::Private;
use perennial_engine::briefing::By;
use perennial_store::Store;

use super::Shared;
use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query, Segment};
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::briefing::{Foretold, Wanted};
use crate::daemon::showing::problems;

/// A start with a new conversation, whatever it follows.
const FRESH: &str = "fresh";

pub async fn briefing(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(asked): Query<query::Briefing>,
) -> Answer {
    let wanted = wanted(asked.after.as_deref())?;
    // The end of its conversation may be in it.
    let id: AgentId = surface.may_see(caller, target.clone(), Private::Transcript).await?;
    let foretold = surface.driver.look(move |view| {
        let fleet = view.supervisor.fleet();
        let agent = fleet.agent(id).filter(|agent| agent.state.roster() != Roster::Cemetery);
        let agent = agent.ok_or_else(|| ProblemResponse(problems::no_next_session(&target)))?;
        Ok::<_, ProblemResponse>(Foretold::of(fleet, agent, wanted))
    });
    let mut foretold = foretold.await??;
    foretold.work = foretold.work.with_findings(surface.reader.findings(id));
    let harnesses = surface.harnesses.clone();
    json(&surface.read_as(caller, move |journal| Ok(told(foretold, &harnesses, journal))).await?)
}

fn wanted(word: Option<&str>) -> Result<Wanted, ProblemResponse> {
    let Some(word) = word else { return Ok((None, false)) };
    if word == FRESH {
        return Ok((None, true));
    }
    let known = Beginning::of_word(word).filter(|after| *after != Beginning::Birth);
    let known = known.ok_or_else(|| ProblemResponse(problems::bad_beginning(word)))?;
    Ok((Some(known), false))
}

fn told(foretold: Foretold, harnesses: &Harnesses, journal: &dyn Store) -> Briefing {
    let Foretold { work, beginning, told, by_hook, launch_prompt, harness, is_bare } = foretold;
    let work = work.with_checkpoint(journal).with_tail(harnesses);
    let (form, by, text) = match (told, by_hook) {
        (FirstPrompt::OfLaunch, _) => {
            ("launch-prompt", "first-prompt", launch_prompt.unwrap_or_default())
        }
        (FirstPrompt::GoOn, _) => {
            let preset = harnesses.preset(&harness).ok();
            let closing = preset.map(|preset| preset.resume_prompt.clone()).unwrap_or_default();
            ("note", "first-prompt", work.note(&closing))
        }
        (FirstPrompt::Briefing, _) => ("full", "first-prompt", work.full(By::Prompt)),
        (FirstPrompt::Nothing, Some(form)) => {
            let word = match form {
                Form::Note => "note",
                Form::Full => "full",
            };
            (word, "hook", work.by_hook(form))
        }
        (FirstPrompt::Nothing, None) if is_bare => ("none", "bare-command", String::new()),
        (FirstPrompt::Nothing, None) => ("none", "nothing", String::new()),
    };
    let (beginning, form, by) = (beginning.word(), form.to_owned(), by.to_owned());
    let bytes = text.len() as u64;
    Briefing { beginning: beginning.to_owned(), form, by, bytes, text }
}
