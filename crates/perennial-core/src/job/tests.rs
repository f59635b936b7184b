//! A job is wanted, run once and released; jobs take turns.

use super::*;

const NOW: Time = Time(7);

fn fold(events: &[JobEvent]) -> Jobs {
    let mut jobs = Jobs::default();
    for event in events {
        jobs.evolve(JobId(1), event, NOW);
    }
    jobs
}

#[test]
fn a_job_runs_once_and_its_end_is_final() {
    let (_, wanted) =
        notify(&["say".into()], &Agent::unborn(AgentId(3), NOW), "bob".into(), Reason::Idle, NOW);
    let process = Process { pid: 4, start_ticks: 5 };
    let running = JobEvent::Running { number: 1, process };
    let ended = JobReport::Ended { end: JobEnd::Code(0), output: String::new() };
    let jobs = fold(std::slice::from_ref(&wanted));
    let job = jobs.get(JobId(1)).expect("wanted");
    assert_eq!(observe(job, 2, &ended), None, "O1");
    assert_eq!(observe(job, 1, &JobReport::Executed(process)), Some(running.clone()));
    let end = observe(job, 1, &ended).expect("its end, whoever missed its beginning");
    let begun = fold(&[wanted.clone(), running.clone()]);
    assert!(
        matches!(
            &plan(&begun, JobId(1)).effects[..],
            [Effect::Job(JobEffect { action: JobAction::Hold(_), .. })]
        ),
        "O1: it is taken up, never run again"
    );
    let jobs = fold(&[wanted, running, end]);
    let job = jobs.get(JobId(1)).expect("until it is released");
    assert_eq!(observe(job, 1, &ended), None);
    assert!(matches!(
        &plan(&jobs, JobId(1)).effects[..],
        [Effect::Job(JobEffect { action: JobAction::Release, .. })]
    ));
}

fn wanted_for(agent: AgentId) -> JobEvent {
    notify(&["say".into()], &Agent::unborn(agent, NOW), "bob".into(), Reason::NeedsPermission, NOW)
        .1
}

#[test]
fn jobs_of_one_agent_take_turns_and_hold_up_nobody_else() {
    let (loud, other, mut jobs) = (AgentId(1), AgentId(2), Jobs::default());
    for id in 0..100 {
        jobs.evolve(JobId(id), &wanted_for(loud), Time(id as u64));
    }
    jobs.evolve(JobId(100), &wanted_for(other), Time(100));
    let is_run = |jobs: &Jobs, id: u128| !plan(jobs, JobId(id)).effects.is_empty();
    let run: Vec<u128> = (0..=100).filter(|id| is_run(&jobs, *id)).collect();
    assert_eq!(run, [0, 100], "O3");
    assert_eq!((jobs.waiting(loud).count(), jobs.waiting(other).count()), (99, 0));
    // O4: those that were not begun end, and the next one is not held up by them.
    for (id, ended) in outdated(&jobs, loud, NOW) {
        jobs.evolve(id, &ended, Time(101));
    }
    assert!(jobs.get(JobId(0)).is_some_and(|job| !job.is_over()), "the one that was begun");
    assert_eq!(jobs.waiting(loud).count(), 0);
    // Two of one moment, of two appends: the first may run by now.
    let mut jobs = Jobs::default();
    for id in [9, 3] {
        jobs.evolve(JobId(id), &wanted_for(loud), Time(7));
    }
    assert_eq!(outdated(&jobs, loud, NOW), []);
}

#[test]
fn a_job_with_an_unreadable_record_is_not_run_again() {
    let mut jobs = fold(&[wanted_for(AgentId(3))]);
    jobs.mark_unreadable(JobId(1));
    assert!(matches!(
        &plan(&jobs, JobId(1)).effects[..],
        [Effect::Job(JobEffect { action: JobAction::Release, .. })]
    ));
}

#[test]
fn so_many_jobs_run_at_once_and_the_end_of_one_lets_the_next_begin() {
    let (all, mut jobs) = (RUNNING_MAX as u128 + 3, Jobs::default());
    for id in 0..all {
        // The last id was wanted first.
        jobs.evolve(JobId(all - id), &wanted_for(AgentId(id)), Time(id as u64));
    }
    let is_run = |jobs: &Jobs, id: u128| !plan(jobs, JobId(id)).effects.is_empty();
    let running: Vec<u128> = (1..=all).filter(|id| is_run(&jobs, *id)).collect();
    assert_eq!(running, (4..=all).collect::<Vec<_>>(), "O3");
    let ended = JobEvent::Ended { number: 1, end: JobEnd::Code(0), output: String::new() };
    let touched = jobs.evolve(JobId(5), &ended, Time(99));
    assert!(touched.contains(&Entity::Job(JobId(3))), "the next is planned: {touched:?}");
    assert!(is_run(&jobs, 3) && !is_run(&jobs, 2));
    assert!(is_run(&jobs, 5), "the one that ended is released");
}

/// O3, U8: what another node runs, or left running when it died, takes no place here.
#[test]
fn jobs_of_another_node_take_no_place_of_this_one() {
    let mut jobs = Jobs::default();
    let process = Process { pid: 4, start_ticks: 5 };
    for id in 1..=RUNNING_MAX as u128 + 1 {
        let mut about = Agent::unborn(AgentId(id), Time(id as u64));
        about.node = NodeId(if id <= RUNNING_MAX as u128 { 1 } else { 2 });
        let (_, wanted) =
            notify(&["say".into()], &about, "a".into(), Reason::NeedsAnswer, Time(id as u64));
        jobs.evolve(JobId(id), &wanted, Time(id as u64));
        if about.node == NodeId(1) {
            jobs.evolve(JobId(id), &JobEvent::Running { number: 1, process }, Time(id as u64));
        }
    }
    assert!(!plan(&jobs, JobId(RUNNING_MAX as u128 + 1)).effects.is_empty(), "node 2 runs nothing");
}
