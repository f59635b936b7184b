//! `readers`: an agent opens thousands of feeds and reads none of them; a person's `ls` is as quick as before,
//! and the daemon's memory is that of before once they are gone. A trial is one reader.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::flooder::{Flood, Flooding};
use crate::proof::{Proof, within};
use crate::sealed::Sealed;

const ROUNDS: usize = 5;
/// In each round, without the readers and with them.
const LISTINGS: usize = 40;
const FEED: &str = "GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n";
/// Descriptors that this program needs for other things.
const OTHER_DESCRIPTORS: u64 = 100;
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(30);

pub fn readers(proof: &mut Proof) {
    proof.home(|proof| {
        let mut readers = 0;
        while proof.goes_on() {
            proof.begin_trial();
            readers += 1;
        }
        let possible = raise_descriptor_limit().saturating_sub(OTHER_DESCRIPTORS);
        if possible < readers {
            println!("readers: this system allows for {possible} connections of one process");
        }
        flood(proof, readers.min(possible));
    });
}

fn flood(proof: &mut Proof, readers: u64) {
    let sealed = Sealed::up();
    let eve = sealed.spawn("eve", "exec sleep 1000000");
    let flood = Flood::of(usize::try_from(readers).expect("a count"), FEED);
    // The first ones find nothing in the caches.
    listings(&sealed);
    let memory_before = memory(&sealed);
    let (mut memory_with, mut unanswered) = (0, 0);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    // By turns: whatever else the machine does is in both.
    for _ in 0..ROUNDS {
        without.extend(listings(&sealed));
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env_clear().env("PERENNIAL_SESSION", format!("{}.1", eve.id));
        let flooding = Flooding::start(command, &sealed.home.socket(), &flood);
        println!("readers: {readers} opened, answered {:?}", flooding.answers);
        with.extend(listings(&sealed));
        memory_with = memory(&sealed).max(memory_with);
        unanswered += flooding.answered(0);
    }
    let most = memory_before * 12 / 10;
    let is_back = within(GIVEN_BACK_WITHIN, || memory(&sealed) <= most);
    let memory_after = memory(&sealed);
    let (without, with) = (median(without), median(with));
    println!(
        "readers: median `ls` {without:?} without, {with:?} with; memory {memory_before} KiB before, \
         {memory_with} with, {memory_after} after"
    );
    if with > without * 2 {
        proof.violated(&format!("`ls` took {with:?} with the readers, {without:?} without"));
    }
    if !is_back {
        proof.violated(&format!("{memory_after} KiB afterwards, {memory_before} before"));
    }
    if unanswered > 0 {
        proof.violated(&format!("{unanswered} readers got no answer"));
    }
}

/// How long a person's `ls` takes, from its start to its end.
fn listings(sealed: &Sealed) -> Vec<Duration> {
    let listing = |_| {
        let begun = Instant::now();
        sealed.ok(["ls"]);
        begun.elapsed()
    };
    (0..LISTINGS).map(listing).collect()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// The daemon's resident memory in KiB.
fn memory(sealed: &Sealed) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", sealed.daemon().pid));
    let status = status.expect("the daemon lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How many descriptors this program, and the one that it runs again, may open now.
fn raise_descriptor_limit() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("within the maximum");
    maximum.unwrap_or(u64::MAX)
}
