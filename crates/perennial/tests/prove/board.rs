//! `board`: posts are acknowledged while the daemon is killed now and then; all are there afterwards,
//! once and newest first, and the daemon has not grown by them.

use std::time::{Duration, Instant};

use perennial_api::post::Post;
use perennial_api::request;

use crate::processes;
use crate::proof::Proof;
use crate::sealed::Sealed;

/// One trial in this many ends with a kill of the daemon.
const KILL_ONE_IN: u64 = 500;
/// What a daemon may have at most, however many posts there are.
const LARGEST_DAEMON: u64 = 48 << 20;
/// `board ls` answers within this; loose, for a loaded machine.
const LISTED_WITHIN: Duration = Duration::from_secs(1);

/// A trial is a post; all are in one home.
pub fn board(proof: &mut Proof) {
    proof.home(|proof| {
        let sealed = Sealed::up();
        let mut acknowledged = Vec::new();
        while proof.goes_on() {
            let number = proof.begin_trial();
            let text = format!("{number} {}", "x".repeat(proof.below(2000) as usize));
            let body = request::Post { title: Some(format!("post {number}")), text };
            match sealed.client().post("/v1/board", &body).and_then(|answer| answer.read()) {
                Ok(post) => acknowledged.push(post),
                Err(error) => proof.violated(&format!("not posted: {error}")),
            }
            if proof.below(KILL_ONE_IN) == 0 {
                check_size(proof, &sealed);
                sealed.kill_daemon();
                sealed.start_daemon();
            }
        }
        check_size(proof, &sealed);
        check_posts(proof, &sealed, acknowledged);
    });
}

fn check_size(proof: &mut Proof, sealed: &Sealed) {
    let peak = processes::peak_bytes(sealed.daemon().pid);
    if peak > LARGEST_DAEMON {
        proof.violated(&format!("the daemon has grown to {peak} bytes"));
    }
}

fn check_posts(proof: &mut Proof, sealed: &Sealed, mut acknowledged: Vec<Post>) {
    acknowledged.reverse();
    let begun = Instant::now();
    sealed.ok(["board", "ls"]);
    let took = begun.elapsed();
    println!("board ls: {} ms with {} posts", took.as_millis(), acknowledged.len());
    if took > LISTED_WITHIN {
        proof.violated(&format!("board ls took {took:?}"));
    }
    let mut listed: Vec<Post> = Vec::new();
    loop {
        let before = listed.last().map(|post| format!("&before={}", post.id)).unwrap_or_default();
        let path = format!("/v1/board?limit=500{before}");
        let page: Vec<Post> =
            sealed.client().get(&path).and_then(|answer| answer.read()).expect("a page");
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    let without_text = |post: &Post| Post { text: None, ..post.clone() };
    if listed != acknowledged.iter().map(without_text).collect::<Vec<_>>() {
        proof.violated(&format!("{} posts listed of {}", listed.len(), acknowledged.len()));
    }
    for post in acknowledged.iter().step_by(97) {
        if sealed.json::<Post>(&["board", "show", &post.id]) != *post {
            proof.violated(&format!("{} is not what was posted", post.id));
        }
    }
}
