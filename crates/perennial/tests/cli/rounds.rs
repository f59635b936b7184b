//! Rounds of a role, with real agent CLIs: each is a prompt of its own, one at a time.

use std::path::Path;

use understudy::{Repeat, Turn};

use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage, count};

const FOURTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/fourth/parley.toml");

const CONFIG: &str =
    "[role.patrol]\nmandate = '''walk the fence\nnote what is open'''\nevery = '2s'\n";

/// A holder who is idle is asked for a round. The next one, due while that turn runs, comes only when it is over, once,
/// though the daemon is killed meanwhile; and who leaves the role is asked no more. `mandate`: how its input line is
/// given the mandate.
fn rounds_one_at_a_time(mut stage: Stage, mandate: &[&str]) {
    stage.configure(CONFIG);
    let again = Turn { repeat: Repeat::ALWAYS, ..Turn::text("Walked.") };
    stage.model_says([Turn::text("Walking.").matching("round 1 of").gate("first"), again]);
    stage.spawn_idle("Hello.");
    stage.sealed.ok(["role", "assume", NAME, "patrol"]);
    stage.told("round 1 of your role patrol, one every 2s");
    let told = stage.last_request();
    for words in mandate {
        assert_eq!(count(&told, words), 1, "{told:#?}");
    }
    // The second one is due in the turn that the first began, and waits.
    stage.model.wait_until_held("first").expect("the answer to the first");
    let rounds = || stage.show().rounds.expect("rounds");
    stage.until("the second round waits", || rounds().waiting_for.is_some());
    assert_eq!((rounds().given, rounds().every_s, rounds().next_at), (1, 2, None));
    let why = stage.sealed.ok(["why", NAME]);
    assert!(
        why.contains("Rounds: every 2s; 1 given") && why.contains("round 2 is due and waits"),
        "{why}"
    );
    stage.sealed.kill_daemon();
    stage.sealed.start_daemon();
    stage.until("it is known again", || stage.show().state == "working");
    assert!(stage.requests().iter().all(|record| !record.request.contains("round 2 of")));
    assert!(rounds().waiting_for.is_some_and(|why| !why.is_empty()));
    stage.model.release("first");
    stage.told("round 2 of your role patrol");
    stage.told("round 3 of your role patrol");
    let told = stage.last_request();
    for number in 1..=2 {
        assert_eq!(count(&told, &format!("round {number} of your role")), 1, "{told:#?}");
    }
    for (verb, words) in [
        (&["show", NAME][..], "every 2s; "),
        (&["role", "show", "patrol"], "one every 2s"),
        (&["role", "show", "patrol"], "ada: every 2s; "),
    ] {
        let shown = stage.sealed.ok(verb);
        assert!(shown.contains(words), "{verb:?}: {shown}");
    }
    stage.sealed.ok(["role", "drop", NAME]);
    assert_eq!(stage.show().rounds, None);
}

#[test]
fn claude_is_asked_for_one_round_at_a_time() {
    let mandate = ["| walk the fence", "| note what is open"];
    rounds_one_at_a_time(Stage::new(&Harness::named("claude")), &mandate);
}

#[test]
fn a_fourth_vendor_is_asked_for_one_round_at_a_time() {
    let mut harness = Harness::of_file(Path::new(FOURTH));
    harness.program = Some(Path::new(FOURTH).with_extension(""));
    // Its input line has no second line.
    let mandate = ["The mandate: “walk the fence note what is open”."];
    rounds_one_at_a_time(Stage::new(&harness), &mandate);
}
