//! When the operator's command is run: once for each dialog, and for nothing else.

use perennial_core::conversation::Followed;
use perennial_core::event::{Event, What};
use perennial_core::fleet::Policy;
use perennial_core::id::{AgentId, JobId};
use perennial_core::job::{JobEvent, Purpose};
use perennial_core::observation::{Observation, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::session::Process;

use crate::told::Told;

fn working(ids: &[u128], notify: &[&str]) -> Told {
    let mut told = Told::new();
    let notify = notify.iter().map(ToString::to_string).collect();
    told.fleet = told.fleet.clone().under(Policy { notify, ..Policy::default() });
    for id in ids {
        told.spawn_cli(*id, true, None).expect("spawned");
        told.begun(*id, &format!("c-{id}"), Followed::Started);
    }
    told
}

/// Whom and what the operator is told of by these events.
fn notified(events: &[Event]) -> Vec<(JobId, AgentId, Reason)> {
    let wanted = |event: &Event| match &event.what {
        What::Job(id, JobEvent::Wanted { purpose: Purpose::Notify { agent, reason, .. }, .. }) => {
            Some((*id, *agent, *reason))
        }
        What::Job(
            _,
            JobEvent::Wanted { purpose: Purpose::Mail { .. } | Purpose::Check { .. }, .. },
        )
        | What::Job(_, JobEvent::Running { .. } | JobEvent::Ended { .. })
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Role(..)
        | What::Post(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    };
    events.iter().filter_map(wanted).collect()
}

fn reasons(events: &[Event]) -> Vec<Reason> {
    notified(events).into_iter().map(|(_, _, reason)| reason).collect()
}

#[test]
fn each_dialog_is_told_once() {
    let mut told = working(&[1], &["say"]);
    let asks = Sign::Waits(Wait::Permission);
    assert_eq!(reasons(&told.show(1, asks.clone())), [Reason::NeedsPermission]);
    assert_eq!(reasons(&told.show(1, asks.clone())), [], "the same dialog, told again");
    let question = Sign::Waits(Wait::Answer);
    assert_eq!(reasons(&told.show(1, question)), [Reason::NeedsAnswer], "another one");
    told.show(1, Sign::TurnBegan);
    assert_eq!(reasons(&told.show(1, asks)), [Reason::NeedsPermission], "of the next turn");
    for quiet in [Sign::TurnBegan, Sign::BackgroundWork, Sign::Waits(Wait::Input)] {
        assert_eq!(reasons(&told.show(1, quiet.clone())), [], "{quiet:?}");
    }
}

#[test]
fn without_a_command_nobody_is_told() {
    let mut told = working(&[1], &[]);
    assert_eq!(reasons(&told.show(1, Sign::Waits(Wait::Permission))), []);
}

/// Two dialogs of one moment, or of one agent, are two jobs.
#[test]
fn each_notification_is_a_job_of_its_own() {
    let told = working(&[1, 2], &["say"]);
    let mut ids = Vec::new();
    for (agent, wait) in [(1, Wait::Permission), (2, Wait::Permission)] {
        let (agent, number) = (AgentId(agent), told.number(agent));
        let sign = Sign::Waits(wait);
        let events = told.fleet.observe(&Observation::Harness { agent, number, sign }, told.now);
        ids.extend(notified(&events).into_iter().map(|(id, ..)| id));
    }
    let mut told = told;
    for wait in [Wait::Permission, Wait::Answer] {
        ids.extend(notified(&told.show(1, Sign::Waits(wait))).into_iter().map(|(id, ..)| id));
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((count, ids.len()), (4, 4));
}

#[test]
fn that_a_job_runs_is_recorded_once() {
    use perennial_core::job::JobReport;
    let mut told = working(&[1], &["say"]);
    let (job, ..) = notified(&told.show(1, Sign::Waits(Wait::Permission)))[0];
    let report = JobReport::Executed(Process { pid: 4, start_ticks: 5 });
    let executed = Observation::Job { job, number: 1, report };
    assert_eq!(told.observe(&executed).len(), 1);
    assert_eq!(told.observe(&executed), [], "a new daemon takes it up");
}

#[test]
fn that_a_session_runs_is_recorded_once() {
    use perennial_core::observation::Report;
    let mut told = working(&[1], &[]);
    let number = told.number(1);
    let again = Report::Executed(Process { pid: 7, start_ticks: 7 });
    assert_eq!(told.report(1, number, again), [], "a holder says so to each daemon");
}
