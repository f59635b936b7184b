//! `bury`: an agent is retired for good, its record stays, and its name can be used again.

use perennial_api::Agent;

use crate::sealed::Sealed;
use crate::send::{WITNESS, send_waiting, sent, state};
use crate::terminal::Terminal;

// covers: J-12
#[test]
fn a_buried_agent_is_kept_and_its_name_can_be_used_again() {
    let sealed = Sealed::up();
    let first = sealed.spawn("bob", "echo first; read x");
    let buried: Agent = sealed.json(&["bury", "bob", "--summary", "parser done"]);
    assert_eq!((buried.state.as_str(), buried.roster.as_str()), ("dead", "cemetery"));
    assert_eq!(buried.summary.as_deref(), Some("parser done"));
    assert!(sealed.marked(&first).is_empty(), "its session is over");
    for args in [
        &["wake", "bob"][..],
        &["stop", "bob"],
        &["send", "bob", "x"],
        &["bury", "bob", "--summary", "again"],
    ] {
        sealed.refused(3, args);
    }
    let second = sealed.spawn("bob", "read x");
    sealed.ok(["bury", "bob", "--summary", "second"]);
    let third = sealed.spawn("BOB", "read x");
    for (target, id) in [
        ("bob", &third.id),
        ("bob~0", &third.id),
        ("bob~1", &second.id),
        ("bob~2", &first.id),
        (first.id.as_str(), &first.id),
    ] {
        assert_eq!(&sealed.show(target).id, id, "{target}");
    }
    sealed.refused(4, &["show", "bob~3"]);
    assert!(sealed.ok(["logs", "bob~2"]).contains("first"), "what it printed is kept");
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("bob~2").summary.as_deref(), Some("parser done"));
    assert_eq!(sealed.json::<Vec<Agent>>(&["ls", "--roster", "cemetery"]).len(), 2);
}

#[test]
fn texts_that_it_has_not_seen_are_returned_and_listed() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let id = send_waiting(&sealed, "bob", "do it now");
    let buried = sealed.ok(["bury", "bob", "--summary", "done"]);
    assert!(buried.contains(&format!("{id}  do it now")), "{buried}");
    assert_eq!(state(&sent(&sealed, "bob")[0]), ("returned", ""));
}

/// N8: environment values, which may be secrets, stayed on the disk for good.
#[test]
fn what_may_be_secret_is_gone_with_the_burial_or_at_the_next_start() {
    let sealed = Sealed::up();
    let secret = "--env=TOKEN=hunter2";
    let bob = sealed.spawn_with(&["bob", secret], &["/bin/sh", "-c", "echo hi; read x"]);
    let eve = sealed.spawn_with(&["eve", secret], &["/bin/sh", "-c", "read x"]);
    let (of_bob, of_eve) = (sealed.holder(&bob).join("env"), sealed.holder(&eve).join("env"));
    let kept = std::fs::read(&of_eve).expect("an environment");
    assert!(of_bob.exists());
    sealed.ok(["stop", "bob"]);
    assert!(of_bob.exists(), "a stopped agent can be woken");
    sealed.ok(["bury", "bob", "--summary", "done"]);
    assert!(!of_bob.exists());
    assert!(sealed.ok(["logs", "bob"]).contains("hi"), "what it printed is kept");

    // As if the daemon had died between the burial's record and the removal.
    sealed.ok(["bury", "eve", "--summary", "done"]);
    sealed.ok(["down"]);
    std::fs::write(&of_eve, &kept).expect("put back");
    // One that had died in the middle of the removal left only these.
    let (revision, made) =
        (sealed.holder(&bob).join("env.3"), sealed.holder(&bob).join("harness-1"));
    std::fs::create_dir(&made).expect("a directory");
    std::fs::write(made.join("settings.json"), &kept).expect("a file");
    sealed.start_daemon();
    assert!(!of_eve.exists() && !made.exists());
    sealed.ok(["down"]);
    std::fs::write(&revision, &kept).expect("a file");
    sealed.start_daemon();
    assert!(!revision.exists());
}

#[test]
fn a_person_at_a_terminal_is_asked_first() {
    let sealed = Sealed::up();
    for name in ["web-1", "web-2", "bob"] {
        sealed.spawn(name, "read x");
    }
    // In lines of 80 columns.
    let question = "can be woken again. [y/N] ";
    for answer in ["\r", "n\r", "yes please\r", "\u{4}"] {
        let mut terminal = Terminal::run(sealed.command(["rm", "web-*"]));
        terminal.wait(question);
        terminal.type_keys(answer);
        let ran = terminal.end();
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stdout.contains("nothing was changed"), "{ran:?}");
    }
    for everybody in ["--all", "*"] {
        let mut terminal = Terminal::run(sealed.command(["stop", everybody]));
        terminal.wait("stop all 3 running agents (bob, web-1 and web-2)? [y/N] ");
        terminal.type_keys("n\r");
        assert_eq!(terminal.end().code, 3);
    }
    let none = Terminal::run(sealed.command(["bury", "web-*", "eve"])).end();
    assert!(none.code == 4 && none.stdout.contains("no agent"), "nothing is asked: {none:?}");
    assert!(sealed.ls().iter().all(|agent| agent.state == "working"));
    let mut terminal = Terminal::run(sealed.command(["bury", "web-*"]));
    terminal.wait(question);
    terminal.type_keys("y\r");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(sealed.show("web-1").summary, None);
    // Neither with --yes, nor for one that is not there, nor without a terminal.
    assert_eq!(Terminal::run(sealed.command(["bury", "bob", "--yes"])).end().code, 0);
    assert_eq!(Terminal::run(sealed.command(["bury", "eve"])).end().code, 4);
    sealed.spawn("carol", "read x");
    assert!(sealed.ok(["rm", "carol"]).starts_with("carol is dead"));
}
