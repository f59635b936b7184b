//! Jobs with real processes: every way to end, bounds, and kills of everybody around them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use perennial_core::exit::UnknownExit;
use perennial_core::id::JobId;
use perennial_core::session::Process;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{HostReport, JobExit, JobReport, JobSpec, cgroup};
use rustix::process::Signal;

use crate::fixture::{Fixture, LONG, is_alive, kill, resident_bytes, until};

/// No test waits for it; whatever a failed one leaves is over by then.
const LIMIT: Duration = LONG;

struct Ended {
    exit: JobExit,
    output: String,
    dropped: u64,
}

fn new_job() -> JobId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    JobId(u128::from(std::process::id()) << 64 | u128::from(number))
}

fn spec(dir: &Path, argv: &[&str]) -> JobSpec {
    JobSpec {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        dir: dir.display().to_string(),
        env: Vec::new(),
        limit: LIMIT,
        output_bytes_max: 8 << 10,
    }
}

fn script(dir: &Path, script: &str) -> JobSpec {
    spec(dir, &["sh", "-c", script])
}

/// Waits for a report about this run that `pick` accepts.
fn report<T>(
    fixture: &mut Fixture,
    (job, number): (JobId, u32),
    what: &str,
    mut pick: impl FnMut(&JobReport) -> Option<T>,
) -> T {
    fixture.wait(what, |report| match report {
        HostReport::Job { job: j, number: n, report } if (*j, *n) == (job, number) => pick(report),
        HostReport::Job { .. }
        | HostReport::Session { .. }
        | HostReport::Began { .. }
        | HostReport::Connected { .. }
        | HostReport::Line { .. }
        | HostReport::Announced { .. }
        | HostReport::Outranked { .. }
        | HostReport::Disconnected { .. } => None,
    })
}

fn executed(fixture: &mut Fixture, run: (JobId, u32)) -> Process {
    report(fixture, run, "executed", |report| match report {
        JobReport::Executed(process) => Some(*process),
        JobReport::Held { .. } => None,
        JobReport::Ended { exit, .. } => panic!("ended: {exit:?}"),
    })
}

fn ended(fixture: &mut Fixture, run: (JobId, u32)) -> Ended {
    report(fixture, run, "ended", |report| match report {
        JobReport::Ended { exit, output_tail, dropped_bytes } => Some(Ended {
            exit: exit.clone(),
            output: String::from_utf8_lossy(output_tail).into_owned(),
            dropped: *dropped_bytes,
        }),
        JobReport::Held { .. } | JobReport::Executed(_) => None,
    })
}

/// Runs number 1 of a new job to its end.
fn run(fixture: &mut Fixture, spec: JobSpec) -> Ended {
    let job = new_job();
    fixture.holders().jobs().run(job, 1, spec);
    ended(fixture, (job, 1))
}

fn directory(fixture: &Fixture, job: JobId) -> HolderDirectory {
    HolderDirectory::of_job(&fixture.settings.jobs_dir, job)
}

fn shim_pid(fixture: &Fixture, job: JobId) -> Option<i32> {
    directory(fixture, job).shim_pid().expect("the lock is readable")
}

fn lines(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn assert_gone(pids: &[i32]) {
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_job_ends_with_its_code_and_all_that_it_printed() {
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    let end = run(&mut fixture, script(&dir, "echo out; echo err >&2; cat; exit 3"));
    assert_eq!(end.exit, JobExit::Code(3));
    assert_eq!((end.output.as_str(), end.dropped), ("out\nerr\n", 0), "no terminal, no input");
    let end = run(&mut fixture, script(&dir, "kill -9 $$"));
    assert_eq!(end.exit, JobExit::KillSignal(9));
}

#[test]
fn a_job_has_a_small_environment_a_directory_and_no_terminal() {
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    let mut order = script(&dir, "pwd; tty; ps -o tty= -p $$; env -u PWD -u SHLVL -u _ | sort");
    order.env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("A".into(), "b c".into())];
    let job = new_job();
    fixture.holders().jobs().run(job, 1, order);
    let output = ended(&mut fixture, (job, 1)).output;
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    let (head, env) = lines.split_at(3);
    assert_eq!(head, [dir.to_str().expect("a path"), "not a tty", "?"]);
    let names: Vec<&str> = env.iter().filter_map(|line| line.split('=').next()).collect();
    let known = ["A", "HOME", "LANG", "PATH", "PERENNIAL_HOME", "PERENNIAL_JOB", "TERM", "TMPDIR"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(env.contains(&"A=b c") && env.contains(&"TERM=dumb"), "{env:?}");
    assert!(env.contains(&"PATH=/usr/bin:/bin"), "its own value wins: {env:?}");
    assert!(env.contains(&format!("PERENNIAL_JOB={job}.1").as_str()), "{env:?}");
}

#[test]
fn what_cannot_run_says_why() {
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    for (order, why) in [
        (spec(&dir, &["no-such-program"]), "no-such-program was not found in PATH"),
        (spec(&dir, &["/no/such/program"]), "/no/such/program: No such file or directory"),
        (spec(&dir, &[]), "the command is empty"),
        (spec(Path::new("/no/such/dir"), &["/bin/true"]), "directory /no/such/dir: No such file"),
    ] {
        let end = run(&mut fixture, order);
        let JobExit::NotStarted(said) = end.exit else { panic!("{:?}", end.exit) };
        assert!(said.starts_with(why), "{said}");
    }
}

/// A tree that ignores what can be ignored, forks away from its parents and writes its pids.
const FORKING: &str = r#"
trap '' INT TERM HUP
child='trap "" INT TERM HUP; echo $$ >> pids; while :; do sleep 1000; done'
for i in 1 2 3; do setsid sh -c "$child" & done
for i in 1 2 3; do (env -i PATH=/usr/bin:/bin setsid sh -c "$child" &); done
echo $$ >> pids
while [ "$(wc -l < pids)" -lt 7 ]; do sleep 0.01; done
echo all are there
while :; do sleep 1000; done
"#;

fn limit_ends_a_tree(mut fixture: Fixture) {
    let dir = fixture.path().to_owned();
    let mut order = script(&dir, FORKING);
    order.limit = Duration::from_secs(3);
    let end = run(&mut fixture, order);
    assert_eq!((end.exit, end.output.as_str()), (JobExit::Limit, "all are there\n"));
    let pids = lines(&dir.join("pids"));
    assert_eq!(pids.len(), 7);
    assert_gone(&pids);
}

#[test]
fn the_limit_ends_a_forking_tree_without_a_cgroup() {
    limit_ends_a_tree(Fixture::new());
}

#[test]
fn the_limit_ends_a_forking_tree_with_a_cgroup() {
    match cgroup::available() {
        Ok(root) => limit_ends_a_tree(Fixture::with(|settings| settings.cgroup = Some(root))),
        Err(why) => eprintln!("not tried: {why}"),
    }
}

#[test]
fn a_job_that_heeds_term_at_its_limit_says_limit_too() {
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    let mut order = script(&dir, "trap 'echo saved; exit 0' TERM; while :; do sleep 0.01; done");
    order.limit = Duration::from_secs(1);
    let end = run(&mut fixture, order);
    assert_eq!(end.exit, JobExit::Limit);
    assert!(end.output.ends_with("saved\n"), "{}", end.output);
}

#[test]
fn the_limit_is_kept_without_a_daemon() {
    let mut fixture = Fixture::new();
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let mut order = script(&dir, "exec sleep 1000");
    order.limit = Duration::from_millis(500);
    fixture.holders().jobs().run(job, 1, order.clone());
    let process = executed(&mut fixture, (job, 1));
    fixture.stop_daemon();
    until("the shim has gone by itself", || shim_pid(&fixture, job).is_none());
    assert!(!is_alive(process.pid));
    fixture.start_daemon();
    fixture.holders().jobs().run(job, 1, order);
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Limit);
}

#[test]
fn a_flood_of_output_is_bounded_and_its_end_is_kept() {
    let mut fixture = Fixture::new();
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let flood = "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the last line; touch done; \
                 while [ ! -e go ]; do sleep 0.01; done";
    fixture.holders().jobs().run(job, 1, script(&dir, flood));
    executed(&mut fixture, (job, 1));
    let shim = shim_pid(&fixture, job).expect("a shim");
    until("all is printed", || dir.join("done").exists());
    assert!(resident_bytes(shim) < 8 << 20, "{} bytes", resident_bytes(shim));
    std::fs::write(dir.join("go"), "").expect("writes");
    let end = ended(&mut fixture, (job, 1));
    assert_eq!(end.exit, JobExit::Code(0));
    assert!(end.output.ends_with("x\nthe last line\n"));
    assert_eq!(end.output.len() as u64 + end.dropped, 50_000_000 + 1 + 14);
    assert_eq!(end.output.len(), 8 << 10);
    let run_dir = directory(&fixture, job).path().join("s1");
    let disk = |dir: &Path| -> u64 {
        let entries = std::fs::read_dir(dir).expect("readable").flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
    };
    assert!(disk(&run_dir) <= 17 << 10, "{} bytes", disk(&run_dir));
    fixture.holders().jobs().release(job, 1);
    until("the output is removed", || !run_dir.exists());
}

#[test]
fn a_program_that_closes_its_output_costs_nothing_and_goes_on() {
    let mut fixture = Fixture::new();
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let closes = "echo before; exec >&- 2>&-; touch closed; while [ ! -e go ]; do sleep 0.01; done";
    fixture.holders().jobs().run(job, 1, script(&dir, closes));
    executed(&mut fixture, (job, 1));
    until("it is closed", || dir.join("closed").exists());
    std::fs::write(dir.join("go"), "").expect("writes");
    let end = ended(&mut fixture, (job, 1));
    assert_eq!((end.exit, end.output.as_str()), (JobExit::Code(0), "before\n"));
}

#[test]
fn what_a_job_leaves_behind_is_ended_before_its_end_is_told() {
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    // A chain, daemonised: it is ended link by link, long after the main process has gone.
    let chain = "echo $$ >> pids; [ $1 -eq 0 ] || sh chain $(($1 - 1)) & trap '' HUP TERM; wait; \
                 exec sleep 1000";
    std::fs::write(dir.join("chain"), chain).expect("writes");
    let daemonises = "(setsid sh chain 30 &); \
                      while [ \"$(cat pids 2> /dev/null | wc -l)\" -lt 31 ]; do sleep 0.01; done";
    let end = run(&mut fixture, script(&dir, daemonises));
    assert_eq!(end.exit, JobExit::Code(0));
    let pids = lines(&dir.join("pids"));
    assert_eq!(pids.len(), 31);
    assert_gone(&pids);
}

#[test]
fn a_run_told_twice_runs_once_and_is_answered_twice() {
    let mut fixture = Fixture::new();
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let order = script(&dir, "echo $$ >> pids; while [ ! -e go ]; do sleep 0.01; done; exit 4");
    let jobs = fixture.holders().jobs();
    jobs.run(job, 1, order.clone());
    jobs.run(job, 1, order.clone());
    let process = executed(&mut fixture, (job, 1));
    jobs.run(job, 1, order.clone());
    assert_eq!(executed(&mut fixture, (job, 1)), process);
    std::fs::write(dir.join("go"), "").expect("writes");
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Code(4));
    jobs.run(job, 1, order.clone());
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Code(4));
    assert_eq!(lines(&dir.join("pids")).len(), 1);
    // Its end is on record: nothing of it stays.
    jobs.release(job, 1);
    until("the directory is gone", || !directory(&fixture, job).path().exists());
    // The next number is another run.
    jobs.run(job, 2, order);
    assert_eq!(ended(&mut fixture, (job, 2)).exit, JobExit::Code(4));
    assert_eq!(lines(&dir.join("pids")).len(), 2);
}

#[test]
fn the_next_daemon_adopts_a_running_job_and_its_end() {
    let mut fixture = Fixture::new();
    let (runs, ends, dir) = (new_job(), new_job(), fixture.path().to_owned());
    let running = script(&dir, "echo $$ >> runs; while [ ! -e go ]; do sleep 0.01; done; echo ok");
    let ending = script(&dir, "echo $$ >> ends; while [ ! -e end ]; do sleep 0.01; done; exit 7");
    let jobs = fixture.holders().jobs();
    jobs.run(runs, 1, running.clone());
    jobs.run(ends, 1, ending.clone());
    let process = executed(&mut fixture, (runs, 1));
    executed(&mut fixture, (ends, 1));
    fixture.stop_daemon();
    std::fs::write(dir.join("end"), "").expect("writes");
    until("a shim whose job is over goes by itself", || shim_pid(&fixture, ends).is_none());
    fixture.start_daemon();
    let jobs = fixture.holders().jobs();
    jobs.run(runs, 1, running);
    jobs.run(ends, 1, ending);
    assert_eq!(executed(&mut fixture, (runs, 1)), process);
    assert_eq!(ended(&mut fixture, (ends, 1)).exit, JobExit::Code(7));
    std::fs::write(dir.join("go"), "").expect("writes");
    let end = ended(&mut fixture, (runs, 1));
    assert_eq!((end.exit, end.output.as_str()), (JobExit::Code(0), "ok\n"));
    assert_eq!(lines(&dir.join("runs")).len() + lines(&dir.join("ends")).len(), 2);
}

/// It is on record that it ran, and whatever would show that was removed.
#[test]
fn a_job_that_was_begun_and_whose_directory_is_lost_ends_unknown_and_is_not_run() {
    let mut fixture = Fixture::new();
    let (job, ran) = (new_job(), fixture.path().join("ran"));
    let again = script(fixture.path(), &format!("echo $$ >> {}", ran.display()));
    fixture.holders().jobs().hold(job, 1, again);
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Unknown(UnknownExit::HolderDied));
    assert!(!ran.exists(), "it was run");
}

fn killed_shim(mut fixture: Fixture, is_daemon_there: bool) {
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let order = script(&dir, FORKING);
    fixture.holders().jobs().run(job, 1, order.clone());
    executed(&mut fixture, (job, 1));
    until("the tree is there", || lines(&dir.join("pids")).len() == 7);
    let pids = lines(&dir.join("pids"));
    let shim = shim_pid(&fixture, job).expect("a shim");
    if is_daemon_there {
        kill(shim, Signal::KILL);
    } else {
        fixture.stop_daemon();
        kill(shim, Signal::KILL);
        until("the shim is gone", || shim_pid(&fixture, job).is_none());
        fixture.start_daemon();
        fixture.holders().jobs().run(job, 1, order.clone());
    }
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Unknown(UnknownExit::HolderDied));
    assert_gone(&pids);
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.holders().jobs().run(job, 1, order);
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Unknown(UnknownExit::HolderDied));
    assert_eq!(lines(&dir.join("pids")), pids, "never run again");
}

#[test]
fn a_killed_shim_ends_its_job_which_is_never_run_again() {
    killed_shim(Fixture::new(), true);
}

#[test]
fn a_shim_killed_without_a_daemon_ends_its_job_which_is_never_run_again() {
    killed_shim(Fixture::new(), false);
}

#[test]
fn end_takes_the_tree_and_an_end_before_the_beginning_holds() {
    let mut fixture = Fixture::new();
    let (job, never, dir) = (new_job(), new_job(), fixture.path().to_owned());
    let jobs = fixture.holders().jobs();
    jobs.run(job, 1, script(&dir, FORKING));
    executed(&mut fixture, (job, 1));
    until("the tree is there", || lines(&dir.join("pids")).len() == 7);
    jobs.end(job, 1);
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::KillSignal(9));
    assert_gone(&lines(&dir.join("pids")));
    jobs.end(never, 1);
    assert!(matches!(ended(&mut fixture, (never, 1)).exit, JobExit::NotStarted(_)));
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.holders().jobs().run(never, 1, script(&dir, "touch ran"));
    assert!(matches!(ended(&mut fixture, (never, 1)).exit, JobExit::NotStarted(_)));
    assert!(!dir.join("ran").exists());
}

#[test]
fn a_shim_goes_when_its_job_is_over_answered_or_not() {
    let mut fixture = Fixture::new();
    let (silent, released, dir) = (new_job(), new_job(), fixture.path().to_owned());
    let jobs = fixture.holders().jobs();
    for job in [silent, released] {
        jobs.run(job, 1, script(&dir, "exit 6"));
        assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Code(6));
        if job == released {
            jobs.release(job, 1);
        }
        until("the shim has gone", || shim_pid(&fixture, job).is_none());
    }
    until("its directory is gone", || !directory(&fixture, released).path().exists());
    // Nobody said that it was recorded: it is on disk.
    assert!(directory(&fixture, silent).path().join("s1/exit.json").exists());
}

#[test]
fn a_hanging_shim_is_ended_after_the_limit() {
    let mut fixture = Fixture::with(|settings| settings.ladder.grace = Duration::from_millis(300));
    let (job, dir) = (new_job(), fixture.path().to_owned());
    let mut order = script(&dir, "exec sleep 1000");
    order.limit = Duration::from_millis(300);
    fixture.holders().jobs().run(job, 1, order);
    let process = executed(&mut fixture, (job, 1));
    let shim = shim_pid(&fixture, job).expect("a shim");
    kill(shim, Signal::STOP);
    assert_eq!(ended(&mut fixture, (job, 1)).exit, JobExit::Unknown(UnknownExit::HolderDied));
    assert!(!is_alive(process.pid) && !is_alive(shim));
}

/// Told before anything runs: a caller from below that shim is a job from its first moment.
#[test]
fn the_shim_of_a_job_is_told_before_the_program_runs() {
    let mut fixture = Fixture::new();
    let (job, dir) = (new_job(), fixture.path().to_owned());
    fixture.holders().jobs().run(job, 1, script(&dir, "exit 0"));
    let mut order = Vec::new();
    report(&mut fixture, (job, 1), "ended", |report| {
        order.push(match report {
            JobReport::Held { shim, .. } => format!("held by a process: {}", shim.pid > 1),
            JobReport::Executed(_) => "executed".to_owned(),
            JobReport::Ended { .. } => "ended".to_owned(),
        });
        matches!(report, JobReport::Ended { .. }).then_some(())
    });
    assert_eq!(order.first().map(String::as_str), Some("held by a process: true"));
    assert_eq!(order.last().map(String::as_str), Some("ended"));
}

/// Everybody around the jobs is killed at any moment: each run is executed at most once, each is
/// answered, and nobody is left.
#[test]
fn no_run_is_executed_twice_whatever_is_killed() {
    const JOBS: usize = 24;
    let mut fixture = Fixture::new();
    let dir = fixture.path().to_owned();
    let jobs: Vec<JobId> = (0..JOBS).map(|_| new_job()).collect();
    // Exclusive creation, as a second execution would fail at; one child leaves the tree.
    let order = script(
        &dir,
        "set -C; : > \"ran.$PERENNIAL_JOB\" || echo \"$PERENNIAL_JOB\" >> violations; set +C
         (setsid sh -c 'echo $$ >> pids; exec sleep 1000' &)
         exec sleep 0.05",
    );
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 16) % bound
    };
    for (index, job) in jobs.iter().enumerate() {
        fixture.holders().jobs().run(*job, 1, order.clone());
        match random(3) {
            0 => {
                fixture.stop_daemon();
                fixture.start_daemon();
                // What a daemon finds in its journal when it starts.
                let known = fixture.holders().jobs();
                jobs[..=index].iter().for_each(|job| known.run(*job, 1, order.clone()));
            }
            1 => {
                let victim = jobs[usize::try_from(random(index as u64 + 1)).expect("small")];
                if let Some(pid) = shim_pid(&fixture, victim) {
                    kill(pid, Signal::KILL);
                }
            }
            _ => fixture.holders().jobs().run(*job, 1, order.clone()),
        }
    }
    let known = fixture.holders().jobs();
    for job in &jobs {
        known.run(*job, 1, order.clone());
        let exit = ended(&mut fixture, (*job, 1)).exit;
        assert!(
            matches!(exit, JobExit::Code(0) | JobExit::Unknown(UnknownExit::HolderDied)),
            "{exit:?}"
        );
    }
    assert!(!dir.join("violations").exists(), "a run was executed twice");
    assert_gone(&lines(&dir.join("pids")));
}
