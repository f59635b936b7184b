//! `signal`: every kind accepted and refused, listed, waited for and told, from outside.

use perennial_api::mail::MailList;
use perennial_api::signal::{Signal, SignalList};
use serde_json::{Map, Value, json};

use crate::mail::{within, worker};
use crate::processes::{kill, running};
use crate::sealed::{PROGRAM, Sealed, pid};

fn list(sealed: &Sealed, options: &[&str]) -> Vec<Signal> {
    let words = [&["signal", "ls", "-n", "500"], options].concat();
    sealed.json::<SignalList>(&words).signals
}

/// A payload that fits the published schema; every identity is `kid`.
fn example(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().expect("properties");
    let value = |name: &str, field: &Value| {
        if name == "identity_name" {
            return json!("kid");
        }
        let kind = field["type"].as_str().or_else(|| field["type"][0].as_str());
        match kind.expect("a type") {
            "integer" => json!(7),
            "array" => json!(["a.rs"]),
            _ if field["format"] == "date-time" => json!("2026-02-26T10:00:00Z"),
            _ if field["enum"].is_array() => field["enum"][0].clone(),
            _ => json!("some words"),
        }
    };
    fields.iter().map(|(name, field)| (name.clone(), value(name, field))).collect()
}

/// What a session of `lead` or `kid` is told for a send, as JSON.
fn send_within(sealed: &Sealed, who: &str, kind: &str, to: &str, payload: &Value) -> Value {
    let file = sealed.dir.join("payload");
    std::fs::write(file, payload.to_string()).expect("written");
    let to = if to.is_empty() { String::new() } else { format!("--to {to}") };
    let command = format!("{PROGRAM} --json signal send {kind} {to} --payload \"$(cat payload)\"");
    let told = within(sealed, who, &command);
    serde_json::from_str(&told).unwrap_or_else(|_| panic!("{kind}: {told}"))
}

// covers: S-08, S-19
#[test]
fn every_kind_is_accepted_once_and_refused_thrice() {
    let sealed = Sealed::up();
    worker(&sealed, "lead", &[]);
    worker(&sealed, "kid", &["--parent", "lead"]);
    let schemas: Vec<Value> = sealed.json(&["signal", "schema"]);
    assert_eq!(schemas.len(), 22);
    for schema in &schemas {
        let kind = schema["title"].as_str().expect("a kind");
        let payload = Value::Object(example(schema));
        let (sender, other, to) = match schema["x-source"].as_str() {
            Some("runner") => ("kid", None, ""),
            Some("guardian") => ("lead", Some("kid"), "kid"),
            _ => ("", Some("kid"), ""),
        };
        // Accepted: from its source. What only Perennial sends is there already.
        match sender {
            "" => {}
            sender => {
                let sent = send_within(&sealed, sender, kind, to, &payload);
                assert_eq!(sent["kind"], kind, "{sent}");
                assert_eq!(sent["payload"], payload, "{sent}");
            }
        }
        let listed = list(&sealed, &["--kind", kind]);
        let listed = listed.iter().find(|one| one.kind == kind).expect("it is listed");
        assert_eq!(schema["x-source"], listed.source);
        assert_eq!(schema["x-target"], listed.target);
        let fields: Vec<&String> = listed.payload.keys().collect();
        assert!(fields.iter().all(|field| schema["properties"].get(field.as_str()).is_some()));
        // Refused: another kind.
        let sender = if sender.is_empty() { "kid" } else { sender };
        let refused = send_within(&sealed, sender, &format!("{kind}X"), to, &payload);
        assert_eq!(refused["kind"], "unknown-signal", "{refused}");
        assert!(refused["detail"].as_str().is_some_and(|why| why.contains(kind)), "{refused}");
        // Refused: another payload. Who is no source is told that first.
        let mut wrong = payload.clone();
        wrong["nonsense"] = json!(1);
        let refused = send_within(&sealed, sender, kind, to, &wrong);
        match kind {
            "AGENT_REGISTERED" => assert_eq!(refused["kind"], "signal-source", "{refused}"),
            _ => {
                assert_eq!(refused["kind"], "signal-payload", "{refused}");
                let why = refused["detail"].as_str().expect("a reason");
                assert!(why.contains("nonsense") && why.contains("its fields are"), "{why}");
            }
        }
        // Refused: another source.
        let refused = match other {
            Some(other) => send_within(&sealed, other, kind, "lead", &payload),
            None => {
                let text = payload.to_string();
                let words = ["signal", "send", kind, "--payload", &text];
                serde_json::to_value(sealed.refused(3, &words)).expect("JSON")
            }
        };
        assert_eq!(refused["kind"], "signal-source", "{kind}: {refused}");
    }
    // Each was told to its target as mail, and what Perennial emitted to nobody.
    let told: MailList = sealed.json(&["mail", "ls", "lead", "-n", "100"]);
    assert!(told.mails.iter().all(|mail| mail.subject.starts_with("signal ")));
    assert_eq!(told.mails.len(), 13, "{told:?}");
    assert!(told.mails.iter().all(|mail| mail.from == "kid"));
    // Nothing of it is lost with the daemon.
    let before = list(&sealed, &[]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(list(&sealed, &[]), before);
}

// covers: S-19
#[test]
fn perennial_signals_what_becomes_of_agents() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("bob", "echo 'words \x1b[31min red\x1b[0m'; read x");
    kill(running(pid(&agent)));
    sealed.watch().running("bob", 2);
    sealed.ok(["stop", "bob"]);
    sealed.ok(["bury", "bob"]);
    let kinds = |signals: &[Signal]| signals.iter().map(|one| one.kind.clone()).collect::<Vec<_>>();
    let signals = list(&sealed, &["--since", "1h"]);
    assert_eq!(
        kinds(&signals),
        [
            "AGENT_TERMINATED",
            "AGENT_TERMINATED",
            "AGENT_REGISTERED",
            "AGENT_CRASHED",
            "AGENT_REGISTERED"
        ]
    );
    let reasons: Vec<&Value> = signals[..2].iter().map(|one| &one.payload["exit_reason"]).collect();
    assert_eq!(reasons, [&json!("retired"), &json!("stopped")]);
    let crash = &signals[3];
    assert_eq!((crash.from.as_str(), crash.to.as_str(), crash.emitted), ("bob", "operator", true));
    assert_eq!(crash.payload["identity_name"], "bob");
    assert_eq!(crash.payload["last_output"], "words in red");
    assert!(crash.payload["last_seen"].is_string());
    assert_eq!(signals[4].payload["node_id"], Value::Null);
    assert_eq!(signals[4].from, "perennial");
    // No conversation, no mailbox: reading them is free.
    let mail: MailList = sealed.json(&["mail", "ls"]);
    assert_eq!(mail.mails.len(), 0);
    for (option, whose, count) in
        [("--from", "bob", 3), ("--from", "perennial", 2), ("--to", "operator", 5)]
    {
        assert_eq!(list(&sealed, &[option, whose]).len(), count, "{option} {whose}");
    }
    assert_eq!(list(&sealed, &["--from", "operator"]).len(), 0);
    let table = sealed.ok(["signal", "ls"]);
    assert!(table.contains("AGENT_CRASHED") && !table.contains('\x1b'), "{table}");
    // Page by page, in both directions.
    let first: SignalList = sealed.json(&["signal", "ls", "-n", "2"]);
    assert!(first.has_more);
    let rest = list(&sealed, &["--before", &first.signals[1].id]);
    assert_eq!(rest, signals[2..]);
    let after = list(&sealed, &["--after", &signals[2].id]);
    assert_eq!(kinds(&after), ["AGENT_TERMINATED", "AGENT_TERMINATED"]);
    assert_eq!(after[0].payload["exit_reason"], "stopped");
    // The next page is asked for in the same direction, of the same kinds.
    let kind = ["signal", "ls", "--kind", "AGENT_TERMINATED", "-n", "1"];
    let newest = sealed.ok(kind);
    let more =
        format!("perennial signal ls --kind AGENT_TERMINATED -n 1 --before {}", signals[0].id);
    assert!(newest.contains(&more), "{newest}");
    let first = sealed.ok([&kind[..], &["--after", &signals[2].id]].concat());
    let more = format!("-n 1 --after {}", signals[1].id);
    assert!(first.contains(&more), "{first}");
}

/// The end is told when it has come, not when it was asked for.
// covers: S-19
#[test]
fn a_session_that_is_slow_to_end_is_told_of_when_it_has_ended() {
    let sealed = Sealed::up();
    for (verb, reason) in [("stop", "stopped"), ("bury", "retired")] {
        // It goes on until it is let go, whatever it is asked.
        let slow = "trap '' INT HUP TERM; : > ready; while ! test -e go; do sleep 0.02; done";
        let name = format!("of-{verb}");
        sealed.ok(["spawn", &name, "--", "sh", "-c", slow]);
        sealed.until("it is ready", || sealed.dir.join("ready").exists());
        let asks = sealed.command([verb, &name]);
        let asks = std::thread::spawn(move || crate::sealed::finish(asks));
        let told = || list(&sealed, &["--kind", "AGENT_TERMINATED", "--from", &name]);
        sealed.until("it is asked", || {
            !matches!(sealed.show(&name).state.as_str(), "working" | "hatching")
        });
        assert_eq!(told(), [], "{verb}");
        std::fs::write(sealed.dir.join("go"), "").expect("written");
        assert_eq!(asks.join().expect("it ran").code, 0);
        let reasons: Vec<Value> =
            told().into_iter().map(|mut one| one.payload["exit_reason"].take()).collect();
        assert_eq!(reasons, [reason]);
        for file in ["ready", "go"] {
            std::fs::remove_file(sealed.dir.join(file)).expect("removed");
        }
    }
}

/// Each signal names who had part in it then, whatever becomes of their names and lives.
// covers: S-19
#[test]
fn a_signal_keeps_the_names_of_its_time() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "lead", "--", "sleep", "1000000"]);
    sealed.ok(["spawn", "kid", "--parent", "lead", "--", "sleep", "1000000"]);
    let of_kid = |signals: Vec<Signal>| -> Vec<(String, String, String)> {
        let is_own = |one: &Signal| one.kind != "AGENT_REGISTERED" || one.to != "operator";
        let parties = |one: Signal| {
            (one.kind, one.payload["identity_name"].as_str().expect("a name").to_owned(), one.to)
        };
        signals.into_iter().filter(is_own).map(parties).collect()
    };
    let said = |kind: &str, who: &str, to: &str| (kind.to_owned(), who.to_owned(), to.to_owned());
    let first = said("AGENT_REGISTERED", "kid", "lead");
    assert_eq!(of_kid(list(&sealed, &[])), std::slice::from_ref(&first));
    sealed.ok(["rename", "kid", "kit"]);
    sealed.ok(["rename", "lead", "boss"]);
    sealed.ok(["stop", "kit"]);
    let stopped = said("AGENT_TERMINATED", "kit", "boss");
    assert_eq!(of_kid(list(&sealed, &[])), [stopped.clone(), first.clone()]);
    // Its parent dies: what was to it stays so, and the next one is to the operator.
    sealed.ok(["bury", "boss"]);
    sealed.ok(["rename", "kit", "kat"]);
    sealed.ok(["bury", "kat"]);
    let kat = list(&sealed, &["--from", "kat"]);
    assert_eq!(of_kid(kat), [said("AGENT_TERMINATED", "kat", "operator"), stopped.clone()]);
    // Those who have left memory, too.
    let before = list(&sealed, &[]);
    sealed.ok(["down"]);
    sealed.start_daemon();
    assert_eq!(list(&sealed, &[]), before);
    assert!(of_kid(before).ends_with(&[stopped, first]));
}

// covers: S-08
#[test]
fn who_waits_is_given_each_signal_once() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let ran = sealed.run(["signal", "wait", "--kind", "NEEDS_INPUT", "--timeout", "0"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    let waiting = sealed.command(["--json", "signal", "wait", "--kind", "NEEDS_INPUT"]);
    let waiting = std::thread::spawn(move || crate::sealed::finish(waiting));
    let ask = |question: &str| {
        within(
            &sealed,
            "bob",
            &format!("{PROGRAM} signal send NEEDS_INPUT --field question={question}"),
        )
    };
    // It may begin to wait after the first ones.
    let mut asked = 0;
    while !waiting.is_finished() {
        asked += 1;
        assert!(ask(&format!("number-{asked}")).contains("sent NEEDS_INPUT to operator"));
    }
    let got: Signal = serde_json::from_str(&waiting.join().expect("it ran").stdout).expect("JSON");
    assert_eq!((got.kind.as_str(), got.from.as_str()), ("NEEDS_INPUT", "bob"));
    ask("one-more");
    let next: Signal = sealed.json(&["signal", "wait", "--from", "bob", "--after", &got.id]);
    assert!(next.id != got.id && next.at > got.at);
    let last = list(&sealed, &["--kind", "NEEDS_INPUT"]).swap_remove(0);
    let ran = sealed.run(["signal", "wait", "--after", &last.id, "--timeout", "0"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    sealed.refused(4, &["signal", "ls", "--after", "sig_00000000000000000000000000"]);
}

/// Payloads are others' words.
#[test]
fn hostile_payloads_act_on_nothing() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let hostile = "\x1b[2J\u{202e}\0'; DROP TABLE signal; -- $(id)";
    let text = json!({ "text": hostile }).to_string();
    sealed.ok(["signal", "send", "GUIDANCE", "--to", "bob", "--payload", &text]);
    let acts =
        |shown: &str| shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}');
    for words in [&["signal", "ls"][..], &["events"], &["mail", "ls", "bob"]] {
        let shown = sealed.ok(words);
        assert!(!acts(&shown), "{words:?}: {shown:?}");
    }
    for (payload, part) in [
        ("[]", "not a JSON object"),
        ("{\"text\": {\"a\": 1}}", "an object"),
        ("{\"text\": true}", "true or false"),
        ("{}", "'text' is missing"),
    ] {
        let ran = sealed.run(["signal", "send", "GUIDANCE", "--to", "bob", "--payload", payload]);
        assert!(ran.code == 2 && ran.stderr.contains(part), "{payload}: {ran:?}");
    }
    let long = format!("text={}", "x".repeat(4001));
    let ran = sealed.run(["signal", "send", "GUIDANCE", "--to", "bob", "--field", &long]);
    assert!(ran.code == 2 && ran.stderr.contains("at most 4000 characters"), "{ran:?}");
    let letters = format!("text={}", "ü".repeat(3_000));
    sealed.ok(["signal", "send", "GUIDANCE", "--to", "bob", "--field", &letters]);
    let empty = sealed.run(["signal", "send", "GUIDANCE", "--to", "bob", "--field", "text="]);
    assert!(empty.code == 2 && empty.stderr.contains("missing or empty"), "{empty:?}");
    // Nobody speaks for another agent.
    let other = within(
        &sealed,
        "bob",
        &format!(
            "{PROGRAM} signal send AGENT_TERMINATED --field identity_name=eve --field exit_reason=x"
        ),
    );
    assert!(other.contains("expected 'bob'"), "{other}");
    // An agent sees its own, and none of others'.
    worker(&sealed, "eve", &[]);
    assert!(!within(&sealed, "eve", &format!("{PROGRAM} signal ls")).contains("GUIDANCE"));
    assert!(within(&sealed, "bob", &format!("{PROGRAM} signal ls")).contains("GUIDANCE"));
}

#[test]
fn a_field_that_is_no_list_is_given_once() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let twice = ["--field", "text=x", "--field", "text=y"];
    let args = [&["signal", "send", "GUIDANCE", "--to", "bob"][..], &twice].concat();
    let refused = sealed.run(args);
    assert!(refused.code == 2 && refused.stderr.contains("is a list"), "{refused:?}");
}

/// What the seed enumerates takes the seed's words only, and null can be sent where there is nothing to say.
#[test]
fn enumerated_fields_take_their_words_and_nullable_ones_null() {
    let sealed = Sealed::up();
    worker(&sealed, "kid", &[]);
    let warning = |urgency: &str| {
        let payload =
            json!({ "identity_name": "kid", "urgency": urgency, "symptoms_detected": ["slow"] });
        send_within(&sealed, "kid", "CONTEXT_WARNING", "", &payload)
    };
    for urgency in ["none", "low", "medium", "high"] {
        assert_eq!(warning(urgency)["payload"]["urgency"], urgency);
    }
    let refused = warning("banana");
    assert_eq!(refused["kind"], "signal-payload", "{refused}");
    let why = refused["detail"].as_str().expect("a reason");
    assert!(why.contains("urgency") && why.contains("none, low, medium or high"), "{why}");
    let hook = |phase: &str| {
        let payload = json!({ "identity_name": "kid", "phase": phase, "work_summary": "x", "hook_path": null });
        send_within(&sealed, "kid", "HOOK_UPDATED", "", &payload)
    };
    for phase in ["investigation", "planning", "implementation", "testing", "completion"] {
        assert_eq!(hook(phase)["payload"]["phase"], phase);
    }
    assert_eq!(hook("lunch")["kind"], "signal-payload");
    // A nullable field: refused without a word about it, and null is how one says that there is none.
    let merge = |fields: &str| {
        let command = format!(
            "{PROGRAM} --json signal send MERGE_READY --field identity_name=kid --field branch=b {fields}"
        );
        let told = within(&sealed, "kid", &command);
        serde_json::from_str::<Value>(&told).unwrap_or_else(|_| panic!("{told}"))
    };
    let refused = merge("--field pr_number=7");
    let why = refused["detail"].as_str().expect("a reason");
    assert!(why.contains("node_id") && why.contains("null"), "{why}");
    let sent = merge("--field pr_number=null --field node_id=null");
    assert_eq!(
        (&sent["payload"]["node_id"], &sent["payload"]["pr_number"]),
        (&Value::Null, &Value::Null),
        "{sent}"
    );
    // Where null is not allowed the word is a text as any other.
    let sent = within(
        &sealed,
        "kid",
        &format!("{PROGRAM} --json signal send NEEDS_REVIEW --field summary=null"),
    );
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    assert_eq!(sent["payload"]["summary"], "null");
}
