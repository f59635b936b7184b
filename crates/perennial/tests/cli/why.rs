//! `why`: evidence, history, what happens next, what the reader can do.

use perennial_api::answer::Why;

use crate::sealed::Sealed;
use crate::send::{WITNESS, send_waiting};
use crate::terminal::Terminal;

#[test]
fn what_happens_next_follows_the_restart_policy() {
    let sealed = Sealed::up();
    for (restart, next) in [("never", "it sleeps"), ("always", "it is restarted")] {
        let agent = sealed.spawn_with(&[restart, "--restart", restart], &["/bin/cat"]);
        assert_eq!(agent.next, format!("{next} when its program ends"));
        assert!(sealed.ok(["why", restart]).contains(&agent.next));
    }
    sealed.ok(["stop", "never"]);
    assert_eq!(sealed.show("never").next, "it sleeps until it is woken");
}

#[test]
fn history_evidence_and_advice_have_headings() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    sealed.ok(["stop", "bob"]);
    let why = sealed.ok(["why", "bob"]);
    for part in [
        "evidence: stopped by the operator (person, ",
        "\nHistory, newest first:\n",
        "session 1 requested",
        "session 1 starting",
        "sleeping: stopped by the operator",
        "\nWhat happens next: it sleeps until it is woken\n",
        "\nWhat you can do:\n  perennial wake bob ",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn waiting_texts_are_listed_with_the_reason() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let id = send_waiting(&sealed, "bob", "do it now");
    let why = sealed.ok(["why", "bob"]);
    for part in ["Waiting texts:", &id, "do it now", "the agent has no running session"] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn the_newest_comes_first_and_what_is_hidden_is_counted() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    for number in 0..20 {
        sealed.ok(["rename", if number == 0 { "bob" } else { "robert" }, "robert"]);
        sealed.ok(["rename", "robert", "bob"]);
        sealed.ok(["rename", "bob", "robert"]);
    }
    let all: Why = sealed.json(&["why", "robert", "--all"]);
    assert_eq!(all.earlier, 0);
    let total = all.story.len();
    assert!(total > 30, "{total}");
    let some: Why = sealed.json(&["why", "robert", "-n", "7"]);
    assert_eq!(some.story, all.story[total - 7..]);
    assert_eq!(some.earlier as usize, total - 7);
    let told = sealed.ok(["why", "robert"]);
    let (_, history) = told.split_once("\nHistory, newest first:\n").expect("a history");
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 21, "{told}");
    assert!(lines[0].ends_with(&all.story[total - 1].text), "{told}");
    let hidden = format!("  {} earlier events: perennial why robert --all", total - 20);
    assert_eq!(lines[20], hidden);
    assert_eq!(sealed.run(["why", "robert", "-n", "0"]).code, 2);

    // On a terminal of 30 lines, long output goes through the pager, short output does not.
    let shown = |args: &[&str], pager: &str| {
        let mut command = sealed.command(args);
        command.env("PERENNIAL_PAGER", pager).env("NO_COLOR", "1");
        let ran = Terminal::run(command).end();
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    let mark = "sed s/^/PAGED|/";
    for args in [&["why", "robert", "--all"][..], &["events"], &["--help"]] {
        let paged = shown(args, mark);
        assert!(paged.lines().all(|line| line.starts_with("PAGED|")), "{paged}");
        for pager in ["", "cat", "no-such-pager"] {
            let direct = shown(args, pager);
            assert!(!direct.contains("PAGED|"), "{direct}");
            assert_eq!(direct.lines().count(), paged.lines().count(), "{pager}");
        }
    }
    for args in [
        &["why", "robert", "-n", "3"][..],
        &["why", "robert", "--all", "--no-pager"],
        &["why", "robert", "--all", "--json"],
    ] {
        let direct = shown(args, mark);
        assert!(!direct.contains("PAGED|"), "{direct}");
    }
}

/// A person knows agents by name: `why` once told by whose order, from whom and to whom in ids.
#[test]
fn other_agents_are_told_by_name() {
    let sealed = Sealed::up();
    for name in ["bob", "eve", "zoe"] {
        sealed.ok(["spawn", name, "--", "sleep", "1000000"]);
    }
    sealed.ok(["role", "assume", "bob", "architect"]);
    sealed.ok(["role", "transfer", "bob", "eve"]);
    sealed.ok(["set", "bob", "--parent", "zoe"]);
    sealed.ok(["bury", "zoe"]);
    let bob = sealed.ok(["why", "bob"]);
    assert!(bob.contains("handed its role over to eve"), "{bob}");
    assert!(bob.contains("parent zoe"), "{bob}");
    assert!(sealed.ok(["why", "eve"]).contains("took over the role architect from bob"));
    assert!(!bob.contains("agt_"), "{bob}");
}
