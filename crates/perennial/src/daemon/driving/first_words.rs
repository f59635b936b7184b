//! What a session is started with, its first words among it. Only translates.

use perennial_core::conversation::{Followed, Opening};
use perennial_core::effect::SessionEffect;
use perennial_core::id::AgentId;
use perennial_core::launch::Launch;
use perennial_engine::briefing::By;
use perennial_engine::harness::FirstWords;
use perennial_engine::host::holders::Program;

use crate::daemon::driving::driver::Driver;
use crate::daemon::showing::briefing::KnownWork;
use crate::daemon::showing::session_start;

impl Driver {
    /// What a session runs; the reason in words where it can't be started.
    pub fn program(
        &self,
        effect: &SessionEffect,
        launch: &Launch,
        opening: &Opening,
    ) -> Result<Program, String> {
        let (fleet, harnesses) = (self.supervisor.fleet(), &self.world.harnesses);
        let Some(known) = fleet.agent(effect.agent) else {
            return harnesses.program(effect, 0, (launch, opening), &FirstWords::NONE);
        };
        let found = || self.world.reader.findings(effect.agent);
        let journal = &*self.world.journal;
        let after = known.succession.beginning;
        let work =
            || KnownWork::of(fleet, known, after).with_checkpoint(journal).with_findings(found());
        let words = FirstWords {
            has_worked: known.succession.has_worked,
            note: &|closing| work().note(closing),
            briefing: &|| work().with_tail(harnesses).full(By::Prompt),
        };
        harnesses.program(effect, known.environment, (launch, opening), &words)
    }

    /// Who the agent is, who else is there, and where its work stood if no prompt tells that.
    pub fn session_start(&self, agent: AgentId, how: Option<Followed>) -> Option<String> {
        let fleet = self.supervisor.fleet();
        let known = fleet.agent(agent)?;
        let sample = self.supervisor.hearing(agent).and_then(|hearing| hearing.sample());
        let sample = sample.as_ref().map(|(sample, _)| sample);
        let start = session_start::text(fleet, known, how, &self.presence, sample);
        Some(match known.told_at_window(how) {
            Some((beginning, form)) => {
                let found = self.world.reader.findings(agent);
                let work = KnownWork::of(fleet, known, beginning);
                let work = work.with_checkpoint(&*self.world.journal).with_findings(found);
                format!("{start}\n{}", work.with_tail(&self.world.harnesses).by_hook(form))
            }
            None => start,
        })
    }
}
