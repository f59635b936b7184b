//! Context symptoms with real agent CLIs: what is noticed, what follows, and what the model is told after a compaction.
//! Judged by events, signals and what the scripted model received.

use jiff::{SignedDuration, Timestamp};
use perennial_api::checkpoint::Checkpoint;
use perennial_api::signal::{Signal, SignalList};
use serde_json::{Value, json};
use understudy::{Kind, Record, Repeat, Turn, Usage};

use crate::checkpoint::git;
use crate::codex;
use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage};
use crate::sealed::Sealed;

const PROMPT: &str = "Write the parser.";
const OWN_WORDS: &str = "I'm running out of context.";

fn tokens(input: u64) -> Usage {
    serde_json::from_value(json!({ "input": input, "output": 5 })).expect("usage")
}

fn said(text: &str, input: u64) -> Turn {
    Turn::text(text).usage(tokens(input))
}

/// A tool call that does nothing but count.
fn called(stage: &Stage, input: u64) -> Turn {
    let call = stage.shell("true");
    let (name, with) = (call[0]["name"].as_str().expect("a name"), call[0]["input"].clone());
    Turn::tool(name, with).usage(tokens(input))
}

/// An agent in a repository with a change that is not committed.
fn stage(name: &str) -> Stage {
    let stage = Stage::new(&Harness::named(name));
    if name == "codex" {
        // Its hooks run once their owner has trusted them.
        let path = stage.sealed.dir.join(".codex/config.toml");
        let config = std::fs::read_to_string(&path).expect("a configuration");
        std::fs::write(path, config + &codex::trusted()).expect("written");
    }
    std::fs::write(stage.work.join("lexer.rs"), "one\n").expect("written");
    git(&stage.work, "init -q -b main .");
    git(&stage.work, "add -A");
    git(&stage.work, "commit -qm first");
    std::fs::write(stage.work.join("lexer.rs"), "one\ntwo\n").expect("written");
    stage
}

impl Stage {
    fn plays(&self, turns: Vec<Turn>) {
        let goes_on = Turn { repeat: Repeat::ALWAYS, ..said("Going on.", 1000) };
        self.model_says(turns.into_iter().chain([goes_on]));
    }

    fn recorded(&self) -> Vec<Value> {
        let lines = self.sealed.ok(["events", "--agent", NAME, "--json"]);
        lines.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
    }

    /// What was noticed so far, as `symptom urgency`.
    fn noticed(&self) -> Vec<String> {
        let word =
            |event: &Value, name: &str| event["data"][name].as_str().unwrap_or("").to_owned();
        let all = self.recorded();
        let symptoms = all.iter().filter(|event| event["kind"] == "handoff-symptom");
        symptoms.map(|it| format!("{} {}", word(it, "symptom"), word(it, "urgency"))).collect()
    }

    #[track_caller]
    fn notices(&self, expected: &[&str]) {
        self.until(&format!("{expected:?}"), || self.noticed() == expected);
    }

    /// Sends a prompt, and waits until its turn is over.
    fn asks(&mut self, prompt: &str) {
        self.look_ahead();
        self.sealed.ok(["send", NAME, prompt]);
        self.idle();
    }

    fn warnings(&self) -> Vec<Signal> {
        let list: SignalList = self.sealed.json(&["signal", "ls", "--kind", "CONTEXT_WARNING"]);
        list.signals
    }

    fn letters(&self) -> usize {
        self.sealed.ok(["mail", "ls"]).matches("context of ada").count()
    }

    /// G-09: the same session was told where its work stood, after its conversation was compacted.
    #[track_caller]
    fn is_briefed_after_compaction(&self) {
        self.until("the briefing of the same session", || {
            let all = self.model.requests();
            let compacted = all.iter().position(|it| it.request.kind == Kind::Compaction);
            let briefed = |it: &Record| {
                it.request.kind == Kind::Main
                    && it.request.contains("You are a continuation of session 1")
                    && it.request.contains("Resume from phase:")
            };
            compacted.is_some_and(|at| all[at..].iter().any(|it| briefed(it)))
        });
        assert_eq!(self.show().session.map(|session| session.number), Some(1));
    }

    /// The checkpoint was stored before the compaction began its window, with the snapshot.
    #[track_caller]
    fn is_kept_before_compaction(&self) {
        let all = self.recorded();
        let at = |kind: &str, field: &str, value: &str| {
            let is =
                |it: &Value| it["kind"] == kind && (field.is_empty() || it["data"][field] == value);
            all.iter().position(is)
        };
        let announced = at("handoff-symptom", "symptom", "compaction");
        let kept = at("checkpoint-taken", "why", "before-compaction");
        assert!(announced.is_some() && announced < kept, "{all:#?}");
        assert!(kept < at("window-began", "", ""), "{all:#?}");
        let moment = |at: Option<usize>| {
            let text = at.and_then(|at| all[at]["at"].as_str()).expect("a moment");
            text.parse::<Timestamp>().expect("a moment")
        };
        let waited = moment(kept).duration_since(moment(announced));
        eprintln!("the compaction waited {waited:?} for its checkpoint");
        assert!(waited < SignedDuration::from_secs(2), "{waited:?}");
        let checkpoints: Vec<Checkpoint> = self.sealed.json(&["checkpoints", NAME]);
        let own = checkpoints.iter().find(|it| it.why == "before-compaction").expect("taken");
        assert!(own.snapshot.is_some(), "{own:?}");
    }
}

/// The names end up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    /// Two compactions in one turn of an agent whose role hands off.
    // covers: S-14, S-19
    #[test]
    fn claude_that_compacts_twice_is_handed_off_by_its_role() {
        let mut stage = stage("claude");
        stage.configure("[role.scribe]\nhandoff_at = 80\n");
        let full = 980_000;
        let saved = Turn::text("Saved.").matching("[Perennial handoff]").usage(tokens(1000));
        stage.plays(vec![
            saved,
            said("Begun.", 1000),
            said(&format!("{OWN_WORDS} So I say."), 400_000),
            said("Half.", 500_000),
            called(&stage, full),
            called(&stage, full),
            said("Ended.", 1000),
        ]);
        stage.spawn_with(&stage.conformance.free, Some(PROMPT));
        stage.idle();
        // The clock outranks words.
        stage.asks("How far?");
        stage.notices(&["own-word low"]);
        assert!(stage.warnings().is_empty());
        stage.asks("Go on.");
        stage.sealed.ok(["role", "assume", NAME, "scribe"]);
        stage.sealed.ok(["send", NAME, "Read all of it."]);
        stage.notices(&["own-word low", "compaction medium", "compaction high"]);
        stage.until("the successor", || {
            stage.show().session.is_some_and(|session| session.number == 2)
        });
        stage.is_kept_before_compaction();
        let asked: SignalList = stage.sealed.json(&["signal", "ls", "--kind", "HANDOFF_REQUESTED"]);
        let reason = asked.signals[0].payload["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.starts_with("symptom: its conversation was compacted 2 times"), "{reason}");
        let warnings = stage.warnings();
        let urgencies: Vec<&Value> = warnings.iter().map(|it| &it.payload["urgency"]).collect();
        assert_eq!(urgencies.len(), 2, "{warnings:#?}");
        assert!(urgencies.contains(&&json!("medium")) && urgencies.contains(&&json!("high")));
        let (from, payload) = (warnings[0].from.as_str(), &warnings[0].payload);
        assert_eq!((from, &payload["identity_name"]), (NAME, &json!(NAME)));
        assert!(
            payload["symptoms_detected"][0].as_str().is_some_and(|it| it.contains("a compaction"))
        );
        let why = stage.sealed.ok(["why", NAME, "--all"]);
        assert!(why.contains("sign of a full context window (high)"), "{why}");
    }

    /// After a compaction the same session knows where its work stood; words count where the clock agrees, and nobody is
    /// cycled unasked.
    // covers: S-14, G-09
    #[test]
    fn claude_without_a_role_is_told_of_its_work_and_the_operator_of_its_words() {
        let mut stage = stage("claude");
        let usable =
            stage.preset.context.window_tokens - stage.preset.context.compaction_reserve_tokens;
        let print = stage.shell("echo \"I'm running out of context, at the context limit\"");
        let name = print[0]["name"].as_str().expect("a name").to_owned();
        stage.plays(vec![
            said("Begun.", 1000),
            Turn::tool(name, print[0]["input"].clone()).usage(tokens(usable / 100 * 76)),
            said("Printed.", usable / 100 * 76),
            said(OWN_WORDS, usable / 100 * 77),
            said("Filled.", usable / 100 * 85),
        ]);
        stage.spawn_with(&stage.conformance.free, Some(PROMPT));
        stage.idle();
        stage.asks("Print it.");
        stage.notices(&["words low"]);
        stage.asks("How far?");
        stage.notices(&["words low", "own-word high"]);
        stage.asks("Read all of it.");
        stage.until("the operator has mail", || stage.letters() == 1);
        let shown = stage.sealed.ok(["show", NAME]);
        assert!(shown.contains("says that it is running out of context (urgency high)"), "{shown}");
        stage
            .type_command("symptoms", "/compact", "a summary", || {
                stage.model.requests().iter().any(|it| it.request.kind == Kind::Compaction)
            })
            .unwrap_or_else(|instead| panic!("{}", instead.0));
        stage.notices(&["words low", "own-word high", "compaction medium"]);
        stage.until("the window began", || {
            stage.recorded().iter().any(|event| event["kind"] == "window-began")
        });
        stage.is_kept_before_compaction();
        stage.until("it listens", || stage.show().reason == "idle");
        stage.asks("Where are we?");
        stage.is_briefed_after_compaction();
        // Something more urgent was told of in that window.
        assert_eq!((stage.letters(), stage.warnings().len()), (1, 1));
        assert!(!stage.recorded().iter().any(|event| event["kind"] == "handoff-asked"));
    }

    /// The program gives up; the next session does not take that conversation up again.
    // covers: S-14
    #[test]
    fn claude_that_thrashes_begins_afresh() {
        let mut stage = stage("claude");
        stage.plays(vec![
            said("Begun.", 1000),
            said("More.", 2000),
            Turn { repeat: Repeat::ALWAYS, ..called(&stage, 980_000) },
        ]);
        stage.spawn_with(&stage.conformance.free, Some(PROMPT));
        stage.idle();
        stage.asks("Go on.");
        stage.sealed.ok(["send", NAME, "Read all of it."]);
        stage.until("it has given up", || {
            stage.noticed().contains(&"thrash high".to_owned()) && stage.show().state == "waiting"
        });
        assert_eq!(stage.show().reason, "service-failed");
        stage.until("the next session is to begin afresh", || {
            let briefing = stage.sealed.ok(["briefing", NAME]);
            briefing.contains("full again right after each compaction")
        });
        let old = stage.conversation();
        stage.plays(Vec::new());
        stage.sealed.ok(["restart", NAME]);
        stage.told("You are a continuation of session 1");
        stage.until("a conversation of its own", || stage.conversation() != old);
        let why = stage.sealed.ok(["why", NAME, "--all"]);
        assert!(why.contains("its window was full again right after each compaction"), "{why}");
    }

    /// Its hook comes first, if its owner trusts it; what it says can't postpone anything.
    // covers: S-14, G-09
    #[test]
    fn codex_is_kept_before_it_compacts() {
        let mut stage = stage("codex");
        stage.plays(vec![said("Begun.", 1000), said("More.", 100_000)]);
        stage.spawn_with(&stage.conformance.free, Some(PROMPT));
        stage.idle();
        stage.asks("Go on.");
        stage
            .type_command("symptoms", "/compact", "a summary", || {
                stage.model.requests().iter().any(|it| it.request.kind == Kind::Compaction)
            })
            .unwrap_or_else(|instead| panic!("{}", instead.0));
        stage.notices(&["compaction medium"]);
        stage.until("the window began", || {
            stage.recorded().iter().any(|event| event["kind"] == "window-began")
        });
        stage.is_kept_before_compaction();
        stage.until("it listens", || stage.show().reason == "idle");
        stage.asks("Where are we?");
        stage.is_briefed_after_compaction();
    }

    /// It announces a compression before every call, and means it where the clock says so.
    // covers: S-14, G-09
    #[test]
    fn gemini_is_believed_where_the_clock_agrees() {
        let mut stage = stage("gemini");
        stage.plays(vec![
            said("Begun.", 1000),
            said("More.", 100_000),
            said("More.", 400_000),
            said("Full.", 600_000),
        ]);
        stage.spawn_with(&stage.conformance.free, Some(PROMPT));
        stage.idle();
        stage.asks("Go on.");
        stage.asks("Go on, please.");
        assert!(stage.noticed().is_empty(), "{:?}", stage.noticed());
        stage.asks("Read all of it.");
        stage.until("the clock", || {
            stage.show().context.is_some_and(|context| context.usable_percent == 100)
        });
        stage.asks("Where are we?");
        stage.notices(&["compaction medium"]);
        stage.until("the window began", || {
            stage.show();
            stage.recorded().iter().any(|event| event["kind"] == "window-began")
        });
        stage.is_kept_before_compaction();
        stage.asks("And now?");
        stage.is_briefed_after_compaction();
    }
}

/// What a bare command prints is anybody's words.
// covers: S-14
#[test]
fn a_bare_command_that_prints_of_its_context_is_low() {
    let sealed = Sealed::up();
    sealed.spawn("bare", "echo \"I'm running out of context, at the context limit\"; read x");
    let lines = || sealed.ok(["events", "--agent", "bare", "--json"]);
    sealed.until("a symptom", || lines().contains("handoff-symptom"));
    let event = lines().lines().find(|it| it.contains("handoff-symptom")).map(str::to_owned);
    assert!(event.is_some_and(|it| it.contains("\"words\"") && it.contains("\"low\"")));
    let signals: SignalList = sealed.json(&["signal", "ls", "--kind", "CONTEXT_WARNING"]);
    assert!(signals.signals.is_empty());
    assert!(sealed.ok(["show", "bare"]).contains("noticed"), "a person can see it");
}
