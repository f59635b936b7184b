//! What a broken daemon does: too early, or in the belief of what is not so yet.

use perennial_core::effect::{Action, Effect};
use perennial_core::event::Event;
use perennial_core::exit::Exit;
use perennial_core::observation::{Observation, Report};
use perennial_engine::supervisor::{Input, Output, Reply, Waiter};
use perennial_store::Batch;

use super::Mutation;
use crate::daemon::Life;
use crate::world::{Happening, World};

impl World {
    /// What a broken daemon carries out.
    pub fn mutated_outputs(
        &mut self,
        life: Life,
        waiter: Option<Waiter>,
        outputs: Vec<Output>,
    ) -> Vec<Output> {
        match self.mutation {
            Some(Mutation::ActBeforeDurable) => self.act_early(life, outputs),
            Some(Mutation::AnswerBeforeDurable) => {
                let queued = outputs.iter().any(|o| matches!(o, Output::Append { .. }));
                let early = waiter.filter(|_| queued);
                let answer = early.map(|waiter| Output::Answer { waiter, answer: Ok(Vec::new()) });
                outputs.into_iter().chain(answer).collect()
            }
            Some(Mutation::HookBeforeDurable) => {
                let hook = waiter.filter(|waiter| self.hooks.contains_key(waiter));
                let early = hook.and_then(|waiter| answered_early(waiter, &outputs));
                outputs.into_iter().chain(early).collect()
            }
            Some(Mutation::EndedWhenAsked) => {
                for output in &outputs {
                    self.believe_ended(life, output);
                }
                outputs
            }
            Some(_) | None => outputs,
        }
    }

    fn believe_ended(&mut self, life: Life, output: &Output) {
        if let Output::Carry(Effect::Session(effect)) = output
            && matches!(effect.action, Action::End(_))
        {
            let (agent, number) = (effect.agent, effect.number);
            let report = Report::Exited(Exit::Code(0));
            let input = Input::Observed(Observation::Session { agent, number, report });
            self.hop(Happening::Reaches { life, input });
        }
    }

    fn act_early(&self, life: Life, outputs: Vec<Output>) -> Vec<Output> {
        let mut early = Vec::new();
        for output in outputs {
            let effects = match &output {
                Output::Append { batch, .. } => self.early_effects(life, batch),
                Output::Answer { .. }
                | Output::Reply { .. }
                | Output::Carry(_)
                | Output::Silent { .. }
                | Output::Committed { .. } => Vec::new(),
            };
            early.push(output);
            early.extend(effects);
        }
        early
    }

    fn early_effects(&self, life: Life, batch: &Batch) -> Vec<Output> {
        let Some(daemon) = self.daemon(life) else {
            return Vec::new();
        };
        let mut fleet = daemon.supervisor.fleet().clone();
        let pending = daemon.pending.iter().flat_map(|(_, events)| events);
        let fresh: Vec<&Event> = batch.entries.iter().flat_map(|entry| &entry.events).collect();
        for event in pending.chain(fresh.iter().copied()) {
            fleet.evolve(event);
        }
        let touched = fresh.iter().flat_map(|event| fleet.clone().evolve(event));
        let effects = touched.flat_map(|entity| fleet.plan(&entity, self.now).effects);
        effects.map(Output::Carry).collect()
    }
}

/// The answer to a hook with what is being appended.
fn answered_early(waiter: Waiter, outputs: &[Output]) -> Option<Output> {
    let appended = outputs.iter().find_map(|output| match output {
        Output::Append { batch, .. } => Some(batch),
        Output::Answer { .. }
        | Output::Reply { .. }
        | Output::Carry(_)
        | Output::Silent { .. }
        | Output::Committed { .. } => None,
    })?;
    let offered = appended.entries.iter().filter_map(|entry| entry.stream.message()).collect();
    Some(Output::Reply { waiter, with: Reply::Texts(offered) })
}
