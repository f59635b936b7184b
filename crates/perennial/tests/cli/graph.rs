//! `graph`: who did what in which session, for good, from outside.

use perennial_api::graph::{GraphPage, GraphSession};
use serde_json::{Value, json};

use crate::callers::{Who, ask_one};
use crate::claude::{Stage, kind, state, turns};
use crate::sealed::{Sealed, finish};

fn export(sealed: &Sealed) -> String {
    sealed.ok(["graph", "export"])
}

/// The graph as it is when its file is made anew.
fn rebuilt(sealed: &Sealed) -> String {
    std::fs::remove_file(sealed.home.graph()).expect("there was one");
    export(sealed)
}

#[track_caller]
fn queried(sealed: &Sealed, words: &[&str]) -> Vec<(String, String)> {
    let found: Vec<GraphSession> = sealed.json(&[&["graph", "query"], words].concat());
    let number = |one: &GraphSession| one.session.rsplit_once('.').expect("a number").1.to_owned();
    found.iter().map(|one| (one.agent.clone(), number(one))).collect()
}

fn named(agent: &str, number: &str) -> (String, String) {
    (agent.to_owned(), number.to_owned())
}

fn has(session: &GraphSession, quality: &str, what: &str) -> bool {
    let is_it = |one: &perennial_api::graph::Belonging| {
        one.quality == quality
            && (one.entity.as_deref() == Some(what) || one.text.as_deref() == Some(what))
    };
    session.belongings.iter().any(is_it)
}

/// The real agent CLI: the scripted model takes the role and reports; then it is buried and cleaned.
// covers: H-16, H-17
#[test]
fn who_was_the_architect_is_known_after_burial_and_clean() {
    let stage = Stage::new();
    let sealed = &stage.sealed;
    let mut watch = sealed.watch();
    let call = |name: &str, input: Value| json!({ "tools": [{ "name": format!("mcp__perennial__{name}"), "input": input }] });
    let program = json!([
        call("role", json!({ "action": "assume", "role": "architect" })),
        call("report", json!({ "summary": "the plan is drawn" })),
        { "text": "Done." },
    ]);
    let options = ["--permission-mode", "manual", "--model", "opus"];
    let eve = stage.spawn("eve", &options, &turns(&program));
    kind(&mut watch, "eve", "took-role", 1);
    kind(&mut watch, "eve", "summarised", 1);
    state(&mut watch, "eve", "waiting", "idle");
    assert_eq!(queried(sealed, &["--role", "Architect"]), [named("eve", "1")]);
    let conversation = stage.conversation("eve");
    let copy = sealed.home.conversations().join(format!("claude/{conversation}.jsonl"));
    sealed.until("there is a copy", || copy.exists());
    sealed.ok(["bury", "eve"]);
    sealed.until("it is over", || sealed.show("eve").session.is_some_and(|it| it.exit.is_some()));
    let before = export(sealed);
    let cleaned = sealed.ok(["clean", "eve", "--yes"]);
    assert!(cleaned.contains("1 recording and 1 copy of a conversation"), "{cleaned}");
    assert!(!copy.exists());
    assert_eq!(export(sealed), before);
    assert_eq!(rebuilt(sealed), before);
    let found: Vec<GraphSession> = sealed.json(&["graph", "show", "role:architect"]);
    let [session] = &found[..] else { panic!("{found:?}") };
    assert_eq!(session.entity, format!("situation:session-{}.1", eve.id));
    for (quality, what) in [
        ("actor", "agent:opus"),
        ("actor", "person:operator"),
        ("method", "role:architect"),
        ("description", "the plan is drawn"),
        ("state", "dead"),
        ("identity", &format!("identity:{}", eve.id)),
    ] {
        assert!(has(session, quality, what), "{quality} {what}: {session:?}");
    }
    assert!(session.until.as_ref().is_some_and(|until| *until > session.since));
}

#[test]
fn sessions_are_found_by_who_as_what_and_when() {
    let sealed = Sealed::up();
    let bob = sealed
        .spawn_with(&["bob", "--role", "Architect", "--restart", "never"], &["sleep", "9999"]);
    sealed.ok(["restart", "bob"]);
    sealed.ok(["role", "drop", "bob"]);
    let between = sealed.show("bob").session.and_then(|it| it.started_at).expect("it runs");
    sealed.ok(["restart", "bob"]);
    sealed.ok(["rename", "bob", "tom"]);
    sealed.ok(["spawn", "eve", "--role", "architect", "--parent", "tom", "--", "sleep", "9999"]);
    assert_eq!(
        queried(&sealed, &["--role", "architect"]),
        [named("eve", "1"), named("bob", "2"), named("bob", "1")]
    );
    // By the name that it had, or by its id.
    assert_eq!(queried(&sealed, &["--agent", "tom"]), [named("tom", "3")]);
    assert_eq!(queried(&sealed, &["--agent", &bob.id]).len(), 3);
    assert_eq!(queried(&sealed, &["--actor", "command"]).len(), 4);
    assert_eq!(queried(&sealed, &["--actor", "command", "--limit", "2"]).len(), 2);
    assert!(queried(&sealed, &["--actor", "opus"]).is_empty());
    assert!(queried(&sealed, &["--role", "architect", "--since", "2999-01-01"]).len() == 1);
    let early = queried(&sealed, &["--role", "architect", "--until", &between]);
    assert_eq!(early, [named("bob", "2"), named("bob", "1")]);
    assert!(queried(&sealed, &["--until", "2001-01-01"]).is_empty());
    let shown = sealed.ok(["graph", "show", &format!("{}.2", bob.id)]);
    assert!(shown.starts_with(&format!("situation:session-{}.2  ", bob.id)), "{shown}");
    assert!(shown.contains("role:architect"), "{shown}");
    let listed = sealed.ok(["graph", "show"]);
    assert!(listed.contains("person:operator") && listed.contains("role:architect"), "{listed}");
    assert!(sealed.ok(["graph", "query"]).contains("ACTOR"));
    assert_eq!(sealed.refused(4, &["graph", "show", "role:nobody"]).kind, "no-such-entity");
    assert_eq!(sealed.refused(2, &["graph", "show", "situation:session-x"]).kind, "bad-session");
    // Page by page, by anybody who may look; and only that.
    for who in [Who::Person, Who::Viewer, Who::Agent(&bob)] {
        let (mut path, mut sessions) = ("/v1/graph?limit=1".to_owned(), Vec::new());
        loop {
            let answer = ask_one(&sealed, who, &path);
            assert_eq!(answer.status, 200, "{who:?}");
            let page: GraphPage = serde_json::from_value(answer.body).expect("a page");
            sessions.extend(page.sessions.into_iter().map(|one| one.entity));
            let Some(next) = page.next else { break };
            path = format!("/v1/graph?limit=1&before={next}");
        }
        assert_eq!(sessions.len(), 4, "{who:?}");
    }
    for (path, kind) in [
        ("/v1/graph?before=x", "bad-place"),
        ("/v1/graph?since=x", "bad-time"),
        ("/v1/graph?session=x", "bad-session"),
        ("/v1/graph?nonsense=1", "bad-query"),
    ] {
        let answer = ask_one(&sealed, Who::Person, path);
        assert_eq!((answer.status, answer.body["kind"].as_str()), (400, Some(kind)), "{path}");
    }
}

/// A projection: made again it is the same, whatever became of its file, and nothing comes of asking it.
// covers: H-17
#[test]
fn the_graph_is_made_again_from_the_journal_and_changes_nothing() {
    let sealed = Sealed::up();
    let hostile = "\"]; evil [label=\"x\\ \u{1b}[31m <b> \u{202e}";
    sealed.ok(["spawn", "bob", "--role", "architect", "--", "sleep", "9999"]);
    sealed.ok(["spawn", "eve", "--parent", "bob", "--", "sleep", "9999"]);
    for _ in 0..3 {
        sealed.ok(["restart", "bob"]);
    }
    sealed.ok(["bury", "bob", "--summary", hostile]);
    sealed.until("it is over", || sealed.show("bob").session.is_some_and(|it| it.exit.is_some()));
    let before = sealed.ok(["events", "--json"]);
    let whole = export(&sealed);
    assert_eq!(sealed.ok(["events", "--json"]), before, "asking is no event");
    let read: Value = serde_json::from_str(&whole).expect("JSON");
    let texts = read["belongings"].as_array().expect("a list").iter();
    assert!(texts.into_iter().any(|one| one["text"] == hostile), "{whole}");
    assert_eq!(rebuilt(&sealed), whole);
    let dot = sealed.ok(["graph", "export", "--format", "dot"]);
    assert!(dot.starts_with("digraph perennial {") && !dot.contains('\u{1b}'), "{dot}");
    assert!(dot.contains("role:architect\" -> \"situation:session-"), "{dot}");
    let as_json: Value = sealed.json(&["graph", "export", "--format", "dot"]);
    assert_eq!(as_json["dot"], dot.as_str());
    // Damaged, replaced by a directory's worth of nonsense, or left behind by a killed daemon.
    std::fs::write(sealed.home.graph(), "nonsense ".repeat(1000)).expect("written");
    assert_eq!(export(&sealed), whole);
    std::fs::write(sealed.home.graph(), "").expect("written");
    assert_eq!(export(&sealed), whole);
    for _ in 0..5 {
        std::fs::remove_file(sealed.home.graph()).expect("there was one");
        let mut asking = sealed.command(["graph", "export"]).spawn().expect("it runs");
        sealed.kill_daemon();
        let _ = asking.wait();
        sealed.start_daemon();
        let after = export(&sealed);
        let without = |text: &str| -> Vec<Value> {
            let read: Value = serde_json::from_str(text).expect("JSON");
            let all = read["belongings"].as_array().expect("a list").clone();
            // Eve's session is confirmed anew by each daemon; nothing of bob's changes.
            all.into_iter().filter(|one| !one.to_string().contains("\"state\"")).collect()
        };
        assert_eq!(without(&after), without(&whole));
        assert_eq!(rebuilt(&sealed), after);
    }
}

/// Several at once, while agents come and go: every answer is whole.
#[test]
fn many_readers_at_once_get_whole_answers() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--role", "architect", "--", "sleep", "9999"]);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| finish(sealed.command(["graph", "query", "--json"]))))
            .collect();
        sealed.ok(["restart", "bob"]);
        for reader in readers {
            let ran = reader.join().expect("it ran");
            assert_eq!(ran.code, 0, "{ran:?}");
            let found: Vec<GraphSession> = serde_json::from_str(&ran.stdout).expect("sessions");
            assert!((1..=2).contains(&found.len()));
        }
    });
    assert_eq!(queried(&sealed, &[]).len(), 2);
}

/// The seed's form: a session is live, frozen or dead; what it worked on is its domain; its summaries are descriptions.
// covers: H-16
#[test]
fn a_session_has_the_seeds_states_domains_and_both_summaries() {
    let sealed = Sealed::up();
    let report = format!(
        "if test -e again; then s='half way'; else s='begun'; fi; touch again; \
         {} report --summary \"$s\"; read x",
        crate::sealed::PROGRAM
    );
    sealed.ok(["spawn", "bob", "--situation", "auth", "--", "/bin/sh", "-c", &report]);
    sealed.until("it is reported", || sealed.show("bob").summary.is_some());
    let newest = |words: &[&str]| -> GraphSession {
        sealed.json::<Vec<GraphSession>>(&[&["graph", "query"], words].concat()).swap_remove(0)
    };
    let states = |session: &GraphSession| -> Vec<String> {
        let of_state = session.belongings.iter().filter(|one| one.quality == "state");
        of_state.filter_map(|one| one.text.clone()).collect()
    };
    let session = newest(&[]);
    assert_eq!(states(&session), ["live"]);
    assert!(has(&session, "domain", "situation:auth"), "{session:?}");
    assert!(has(&session, "description", "begun"), "{session:?}");
    // Found by what it worked on, in any case, also by what it works on besides.
    sealed.ok(["set", "bob", "--situation", "auth", "--situation", "docs"]);
    for situation in ["auth", "AUTH", "docs"] {
        assert_eq!(
            queried(&sealed, &["--situation", situation]),
            [named("bob", "1")],
            "{situation}"
        );
    }
    assert!(queried(&sealed, &["--situation", "aut"]).is_empty());
    sealed.ok(["stop", "bob"]);
    assert_eq!(states(&newest(&["--situation", "docs"])), ["frozen"]);
    sealed.ok(["wake", "bob"]);
    sealed.until("it is reported", || has(&newest(&[]), "description", "half way"));
    // The session before stays as it ended; only the newest is its agent's.
    let both: Vec<GraphSession> = sealed.json(&["graph", "query"]);
    let both: Vec<Vec<String>> = both.iter().map(states).collect();
    assert_eq!(both, [["live"], ["dead"]]);
    sealed.ok(["bury", "bob", "--summary", "it is done"]);
    let session = newest(&[]);
    assert_eq!(states(&session), ["dead"]);
    for description in ["half way", "it is done"] {
        assert!(has(&session, "description", description), "{description}: {session:?}");
    }
    let before = export(&sealed);
    assert_eq!(rebuilt(&sealed), before);
}
