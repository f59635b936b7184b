//! What is to be done for one agent, from its state alone. Changes nothing.

use super::{Agent, burial};
use crate::checkpoint;
use crate::effect::{Action, Effect, Plan, SessionEffect, Timer};
use crate::keeping;
use crate::session::Phase;
use crate::snapshot;
use crate::time::Time;

/// What to do so that the world matches the journal, and when to look again.
pub fn plan(agent: &Agent, may_start: bool, now: Time) -> Plan {
    let mut plan = plan_life(agent, may_start, now);
    keeping::plan(agent, &mut plan);
    checkpoint::plan(agent, &mut plan);
    snapshot::plan(agent, &mut plan);
    plan
}

fn plan_life(agent: &Agent, may_start: bool, now: Time) -> Plan {
    let is_due = agent.is_left_over() || agent.has_outlived() || burial::is_ripe(agent);
    let ends_at = if is_due { Some(now) } else { agent.ends_at() };
    let named = [(Timer::StateEnds, ends_at), (Timer::Dialog, agent.dialog_at())];
    // Nothing comes about by itself while a hold stands.
    let named = named.into_iter().filter(|_| agent.hold.is_none());
    let timers = named.filter_map(|(timer, at)| Some((timer, at?))).collect();
    let mut plan = Plan { effects: Vec::new(), timers };
    if agent.is_over() {
        plan.effects.push(Effect::RemoveSecrets { agent: agent.id });
    }
    let Some(session) = &agent.session else {
        return plan;
    };
    let action = match session.phase {
        Phase::Wanted => {
            let may_start = may_start && agent.hold.is_none();
            if burial::is_ripe(agent) {
                return plan;
            }
            plan.timers = may_start.then_some((Timer::Turn, now)).into_iter().collect();
            return plan;
        }
        // What can't be read may be about a later session: only an order to end is carried out.
        Phase::Starting | Phase::Running | Phase::Ended if agent.is_damaged() => return plan,
        // What was lost may have been its start, its end and all that followed.
        Phase::Starting if agent.awaits_word_on_loss() => return plan,
        // KE2
        Phase::Starting if keeping::holds_back(agent) => return plan,
        Phase::Ending(_) if keeping::holds_back(agent) => Action::Hold,
        Phase::Starting => Action::Start(Box::new(agent.launch.clone()), session.opening.clone()),
        Phase::Running => Action::Hold,
        Phase::Ending(pace) => Action::End(pace),
        Phase::Ended => Action::Release,
    };
    let (number, recorded) = (session.number, session.process);
    let effect = SessionEffect { agent: agent.id, number, recorded, action };
    plan.effects.push(Effect::Session(effect));
    plan
}
