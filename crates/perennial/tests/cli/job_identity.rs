//! What a job's own processes get at the daemon's socket: nothing, not even a look, whatever they do
//! to their environment.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use perennial_core::id::{Epoch, JobId};
use perennial_engine::host::{Holders, HostReport, JobExit, JobReport, JobSpec, Ladder, Settings};

use crate::sealed::{PROGRAM, Sealed};
use crate::watch::PATIENCE;

const JOB: JobId = JobId(7);

/// A host of this test's own on the home: the daemon is not told what it runs, but finds it.
fn host(sealed: &Sealed) -> (Holders, Receiver<HostReport>) {
    let settings = Settings {
        holders_dir: sealed.home.holders(),
        jobs_dir: sealed.home.jobs(),
        home: sealed.home.root.clone(),
        program: PROGRAM.into(),
        epoch: Epoch(1000),
        ladder: Ladder::default(),
        record_limit_bytes: 64 << 10,
        nofile: None,
        cgroup: None,
    };
    let (sender, reports) = channel();
    let holders = Holders::start(settings, move |report| {
        let _test_over = sender.send(report);
    });
    (holders.expect("holders start"), reports)
}

fn run(holders: &Holders, sealed: &Sealed, script: &str) {
    let spec = JobSpec {
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
        dir: sealed.dir.display().to_string(),
        env: vec![("PROGRAM".to_owned(), PROGRAM.to_owned())],
        limit: Duration::from_secs(60),
        output_bytes_max: 8 << 10,
    };
    holders.jobs().run(JOB, 1, spec);
}

/// Waits for the job's end: its code and what it printed.
fn ended(holders: Holders, reports: &Receiver<HostReport>) -> (JobExit, String) {
    let end = loop {
        match reports.recv_timeout(PATIENCE).expect("a report") {
            HostReport::Job { report: JobReport::Ended { exit, output_tail, .. }, .. } => {
                break (exit, String::from_utf8_lossy(&output_tail).into_owned());
            }
            HostReport::Job { .. }
            | HostReport::Session { .. }
            | HostReport::Began { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Announced { .. }
            | HostReport::Outranked { .. }
            | HostReport::Disconnected { .. } => {}
        }
    };
    holders.jobs().release(JOB, 1);
    holders.stop();
    end
}

#[test]
fn a_job_may_not_even_look() {
    let sealed = Sealed::up();
    let (holders, reports) = host(&sealed);
    run(
        &holders,
        &sealed,
        "for verb in ls doctor down; do $PROGRAM --json $verb; echo $?; done 2>&1",
    );
    let (exit, output) = ended(holders, &reports);
    assert_eq!(exit, JobExit::Code(0));
    assert_eq!(output.matches("a job may not use Perennial").count(), 3, "{output}");
    assert_eq!(output.lines().filter(|line| *line == "3").count(), 3, "{output}");
    sealed.ok(["ls"]);
}

#[test]
fn the_next_daemon_knows_a_job_that_has_cleared_its_environment() {
    let sealed = Sealed::up();
    let (holders, reports) = host(&sealed);
    let script = "touch ready; while [ ! -e go ]; do sleep 0.02; done
        exec env -i PERENNIAL_HOME=\"$PERENNIAL_HOME\" \"$PROGRAM\" --json ls 2>&1";
    run(&holders, &sealed, script);
    sealed.until("it waits", || sealed.dir.join("ready").exists());
    sealed.ok(["down"]);
    sealed.start_daemon();
    std::fs::write(sealed.dir.join("go"), "").expect("writes");
    let (exit, output) = ended(holders, &reports);
    assert_eq!(exit, JobExit::Code(3), "{output}");
    assert!(output.contains("a job may not use Perennial"), "{output}");
}

/// What an earlier daemon had no time to remove.
#[test]
fn directories_of_jobs_that_are_over_are_removed_at_the_start() {
    let sealed = Sealed::new();
    let left = sealed.home.jobs().join(JOB.to_string());
    std::fs::create_dir_all(left.join("s1")).expect("made");
    sealed.start_daemon();
    assert!(!left.exists());
}
