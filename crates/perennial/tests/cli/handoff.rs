//! Handoffs with real agent CLIs: who asks, what the session is told, and that the next one goes on with the notes,
//! whatever the session did. Judged by what the scripted model received, by events and by the work tree.

use std::time::{Duration, Instant};

use perennial_api::event::Event;
use perennial_api::signal::{Signal, SignalList};
use perennial_api::task::Task;
use serde_json::{Value, json};
use understudy::{Repeat, Turn, Usage};

use crate::codex;
use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage};
use crate::sealed::Sealed;
use crate::unfinished_work::{Tree, tree, unfinished_work};
use crate::vocabulary::is_told;

/// A whole handoff, however the session behaves (S-15).
const WHOLE_CYCLE: Duration = Duration::from_secs(90);

const SUBJECT: &str = "half of the parser";
const NOTES: &str = "look at lexer.rs first";

fn stage(name: &str) -> Stage {
    let stage = Stage::new(&Harness::named(name));
    if name == "codex" {
        // Its hooks run once their owner has trusted them.
        let path = stage.sealed.dir.join(".codex/config.toml");
        let config = std::fs::read_to_string(&path).expect("a configuration");
        std::fs::write(path, config + &codex::trusted()).expect("written");
    }
    unfinished_work(&stage.work);
    stage
}

impl Stage {
    /// The second session is there, was told what has to be told, and no file differs.
    #[track_caller]
    fn is_taken_over(&self, since: Instant, before: &Tree, told: &[&str]) {
        self.until("the successor answered", || {
            let ada = self.show();
            let number = ada.session.as_ref().map(|session| session.number);
            number == Some(2) && ada.reason == "idle"
        });
        assert!(since.elapsed() < WHOLE_CYCLE, "{:?}", since.elapsed());
        let requests = self.requests();
        let first =
            |it: &&understudy::Record| it.request.contains("You are a continuation of session 1");
        let briefing = requests.iter().find(first).expect("a briefing");
        for words in told {
            assert!(briefing.request.contains(words), "{words}: {briefing:#?}");
        }
        assert_eq!(self.show().conversations.len(), 2, "its conversation is its own");
        assert_eq!(&tree(&self.work), before, "no file, mode or index is another");
        let kinds = self.kinds();
        let at = |kind: &str| kinds.iter().position(|it| it == kind);
        assert!(at("handoff-asked") < at("handoff-answered"), "{kinds:?}");
        assert!(at("handoff-answered") < at("handoff-completed"), "{kinds:?}");
        let starts = kinds.iter().filter(|kind| *kind == "session-running").count();
        assert_eq!(starts, 2, "{kinds:?}");
    }

    fn kinds(&self) -> Vec<String> {
        let kind = |line: &str| {
            let event: Event = serde_json::from_str(line).expect("an event");
            event.what.kind().to_owned()
        };
        self.events().lines().map(kind).collect()
    }

    fn events(&self) -> String {
        self.sealed.ok(["events", "--agent", NAME, "--json"])
    }

    fn answered(&self) -> String {
        let events = self.events();
        let line =
            events.lines().find(|line| line.contains("handoff-answered")).expect("an answer");
        let at = line.find("\"how\"").expect("how");
        line[at..].split('"').nth(3).unwrap_or_default().to_owned()
    }

    fn signals(&self, kind: &str) -> Vec<Signal> {
        let list: SignalList = self.sealed.json(&["signal", "ls", "--kind", kind]);
        list.signals
    }
}

/// The agent's first prompt. What it says is repeated in briefings, so that no turns of the script stand in it.
const PROMPT: &str = "Write the parser.";

impl Stage {
    /// The model says these, in order, to whoever says so first; then it goes on for ever.
    fn scripted(&self, turns: Vec<Turn>) {
        let goes_on = Turn { repeat: Repeat::ALWAYS, ..Turn::text("Going on.").usage(little()) };
        self.model_says(turns.into_iter().chain([goes_on]));
    }

    fn begins(&self) {
        self.spawn_with(&self.conformance.free, Some(PROMPT));
    }

    fn begins_and_waits(&mut self) {
        self.begins();
        self.idle();
        self.settled("Begun.");
    }
}

fn little() -> Usage {
    serde_json::from_value(json!({ "input": 1000, "output": 5 })).expect("usage")
}

fn begun() -> Turn {
    Turn::text("Begun.").matching(PROMPT).usage(little())
}

fn saved() -> Turn {
    Turn::text("Saved.").matching("[Perennial handoff]").usage(little())
}

/// How a session behaves that is to hand off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Cooperative,
    /// It takes its time, and ends its turn before the deadline.
    Slow,
    /// It never ends its turn.
    Deaf,
}

impl Behaviour {
    /// What the model says last in the session, held where the session does not cooperate.
    fn last_words(self, turn: Turn) -> Turn {
        match self {
            Behaviour::Cooperative => turn,
            Behaviour::Slow | Behaviour::Deaf => turn.gate(HELD),
        }
    }

    fn deadline_s(self) -> u64 {
        match self {
            Behaviour::Cooperative | Behaviour::Slow => 60,
            Behaviour::Deaf => 3,
        }
    }

    fn answer(self) -> &'static str {
        match self {
            Behaviour::Cooperative | Behaviour::Slow => "turn-ended",
            Behaviour::Deaf => "deaf",
        }
    }
}

const HELD: &str = "held";

impl Stage {
    /// Waits until the session is held, and lets one go on that is only slow.
    #[track_caller]
    fn behaves(&self, behaviour: Behaviour) {
        if behaviour == Behaviour::Cooperative {
            return;
        }
        self.model.wait_until_held(HELD).expect("it saves its work");
        self.until("it hands off", || self.show().state == "handing-off");
        assert_eq!(self.show().session.map(|session| session.number), Some(1));
        if behaviour == Behaviour::Slow {
            is_told(&self.sealed, NAME, "handing-off", Some("working"));
            self.model.release(HELD);
        }
    }

    /// An answer that leaves the window filled to this share.
    fn fill(&self, percent: u64, saves: Turn) {
        self.until("the window is measured", || self.show().context.is_some());
        let usable = self.show().context.expect("measured").usable;
        let usage = json!({ "input": usable * percent / 100, "output": 5 });
        let usage = serde_json::from_value(usage).expect("usage");
        self.scripted(vec![Turn::text("Filled.").matching("Read all of it.").usage(usage), saves]);
        self.sealed.ok(["send", NAME, "Read all of it."]);
    }

    #[track_caller]
    fn was_asked_because(&self, reason: &str) {
        let asked = &self.signals("HANDOFF_REQUESTED")[0];
        let told = asked.payload["reason"].as_str().unwrap_or_default();
        assert!(told.starts_with(reason), "{asked:?}");
    }
}

/// Asked by the operator in the middle of a turn.
#[track_caller]
fn asked_in_a_turn_that_never_ends(name: &str) {
    let stage = stage(name);
    stage.scripted(vec![begun().gate(HELD)]);
    stage.begins();
    stage.model.wait_until_held(HELD).expect("a turn");
    let (before, since) = (tree(&stage.work), Instant::now());
    stage.sealed.ok(["handoff", NAME, "-s", SUBJECT, "-m", NOTES, "--deadline", "2s"]);
    stage.is_taken_over(since, &before, &[SUBJECT, NOTES]);
    assert_eq!(stage.answered(), "deaf");
    stage.model.release(HELD);
}

/// By its own tool, in the middle of its work.
#[track_caller]
fn hands_itself_off(name: &str, behaviour: Behaviour) {
    let mut stage = stage(name);
    stage.configure(&format!("handoff_deadline_s = {}\n", behaviour.deadline_s()));
    let (before, since) = (tree(&stage.work), Instant::now());
    let tool = stage.conformance.own_tool.clone().expect("tools").replace("{tool}", "handoff");
    let input = json!({ "subject": SUBJECT, "notes": NOTES });
    let call = Turn::tool(tool, input).matching(PROMPT).usage(little());
    stage.scripted(vec![call, behaviour.last_words(Turn::text("Ended.").usage(little()))]);
    stage.begins();
    stage.behaves(behaviour);
    stage.is_taken_over(since, &before, &[SUBJECT, NOTES]);
    stage.told("this session ends with your turn");
    assert_eq!(stage.answered(), "word");
    stage.model.release(HELD);
}

/// At the share of its role, when the turn has ended.
#[track_caller]
fn handed_off_by_the_clock(name: &str, behaviour: Behaviour) {
    let mut stage = stage(name);
    let deadline_s = behaviour.deadline_s();
    stage
        .configure(&format!("handoff_deadline_s = {deadline_s}\n[role.scribe]\nhandoff_at = 80\n"));
    stage.scripted(vec![begun()]);
    stage.begins_and_waits();
    stage.sealed.ok(["role", "assume", NAME, "scribe"]);
    let (before, since) = (tree(&stage.work), Instant::now());
    stage.fill(82, behaviour.last_words(saved()));
    stage.behaves(behaviour);
    stage.is_taken_over(since, &before, &["which handed its work over to you"]);
    assert_eq!(stage.answered(), behaviour.answer());
    stage.was_asked_because("clock: ");
    stage.model.release(HELD);
}

/// By its role's rule: so many rounds, then the next session.
#[track_caller]
fn handed_off_by_the_cycle_rule(name: &str, behaviour: Behaviour) {
    let mut stage = stage(name);
    let deadline_s = behaviour.deadline_s();
    stage.configure(&format!(
        "handoff_deadline_s = {deadline_s}\n[role.patrol]\nevery = '1s'\n\
         cycle = {{ after = 1, unit = 'round' }}\n"
    ));
    let walked = Turn::text("Walked.").matching("round 1 of").usage(little());
    stage.scripted(vec![begun(), walked, behaviour.last_words(saved())]);
    stage.begins_and_waits();
    let (before, since) = (tree(&stage.work), Instant::now());
    stage.sealed.ok(["role", "assume", NAME, "patrol"]);
    stage.behaves(behaviour);
    stage.until("the successor is there", || {
        stage.show().session.is_some_and(|session| session.number == 2)
    });
    // No more rounds.
    stage.sealed.ok(["role", "drop", NAME]);
    stage.is_taken_over(since, &before, &["which handed its work over to you"]);
    assert_eq!(stage.answered(), behaviour.answer());
    stage.was_asked_because("cycle: 1 round done in this session");
    stage.model.release(HELD);
}

/// An idle session is asked by its input line; it ends its turn, and the next one has the notes.
#[track_caller]
fn handed_off_by_the_verb(name: &str) {
    let mut stage = stage(name);
    stage.scripted(vec![begun(), saved()]);
    stage.begins_and_waits();
    let (before, since) = (tree(&stage.work), Instant::now());
    let told = stage.sealed.ok(["handoff", NAME, "-s", SUBJECT, "-m", NOTES]);
    assert!(told.contains("handing-off (session 1"), "{told}");
    stage.is_taken_over(since, &before, &[SUBJECT, NOTES, "which handed its work over to you"]);
    assert_eq!(stage.answered(), "turn-ended");
    let asked = &stage.signals("HANDOFF_REQUESTED")[0];
    assert_eq!((asked.from.as_str(), asked.to.as_str()), ("operator", NAME));
    assert_eq!(asked.payload["deadline_seconds"], json!(60));
    assert_eq!(asked.payload["reason"], json!(format!("asked for: {SUBJECT}")));
    let done = &stage.signals("HANDOFF_COMPLETE")[0];
    assert_eq!((done.from.as_str(), done.to.as_str()), (NAME, "operator"));
    let head = std::fs::read_to_string(stage.work.join(".git/refs/heads/main")).expect("a branch");
    assert_eq!(done.payload["final_commit"], json!(head.trim()));
    assert_eq!(done.payload["hook_path"], json!("work/ada.json"));
    // G-06: by mail, too.
    let mail = stage.sealed.ok(["mail", "ls", NAME]);
    assert!(mail.contains(SUBJECT), "{mail}");
}

/// The names end up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    // covers: S-15, S-16, S-19, G-04, G-06
    #[test]
    fn claude_is_handed_off_by_the_verb() {
        handed_off_by_the_verb("claude");
    }

    // covers: S-15, G-04
    #[test]
    fn codex_is_handed_off_by_the_verb() {
        handed_off_by_the_verb("codex");
    }

    // covers: S-15, G-04
    #[test]
    fn gemini_is_handed_off_by_the_verb() {
        handed_off_by_the_verb("gemini");
    }

    // In the middle of a turn that does not end: the session ends at the deadline, and nothing is lost.

    // covers: S-15
    #[test]
    fn claude_that_hears_nothing_is_ended_at_the_deadline() {
        asked_in_a_turn_that_never_ends("claude");
    }

    // covers: S-15
    #[test]
    fn codex_that_hears_nothing_is_ended_at_the_deadline() {
        asked_in_a_turn_that_never_ends("codex");
    }

    // covers: S-15
    #[test]
    fn gemini_that_hears_nothing_is_ended_at_the_deadline() {
        asked_in_a_turn_that_never_ends("gemini");
    }

    /// Slow: asked in a turn whose tool runs for a while; told with the tool's result, it ends its turn in time.
    // covers: S-15
    #[test]
    fn claude_that_is_slow_is_waited_for() {
        let stage = stage("claude");
        let pipe = stage.pipe("slow");
        let input = json!({ "command": format!("read x < {}", pipe.display()) });
        let slow = Turn::tool("Bash", input).matching(PROMPT).usage(little());
        stage.scripted(vec![slow, saved()]);
        stage.begins();
        stage.until("it works", || stage.show().state == "working");
        let (before, since) = (tree(&stage.work), Instant::now());
        stage.sealed.ok(["handoff", NAME, "-s", SUBJECT, "-m", NOTES, "--deadline", "40s"]);
        std::fs::write(&pipe, "on\n").expect("written");
        stage.told("[Perennial handoff]");
        stage.is_taken_over(since, &before, &[SUBJECT, NOTES]);
        assert_eq!(stage.answered(), "turn-ended");
    }

    // covers: S-15, G-04
    #[test]
    fn claude_hands_itself_off() {
        hands_itself_off("claude", Behaviour::Cooperative);
    }

    // covers: S-15, G-04
    #[test]
    fn codex_hands_itself_off_and_is_slow() {
        hands_itself_off("codex", Behaviour::Slow);
    }

    /// It said that it is done, and goes on: it is ended all the same.
    // covers: S-15, G-04
    #[test]
    fn codex_hands_itself_off_and_never_ends_its_turn() {
        hands_itself_off("codex", Behaviour::Deaf);
    }

    // covers: G-11, G-02, S-15
    #[test]
    fn codex_is_handed_off_by_its_clock() {
        handed_off_by_the_clock("codex", Behaviour::Cooperative);
    }

    /// It takes its time to save its work, and is waited for.
    // covers: G-11, G-02, S-15
    #[test]
    fn claude_is_handed_off_by_its_clock_and_is_slow() {
        handed_off_by_the_clock("claude", Behaviour::Slow);
    }

    // covers: G-11, G-02, S-15
    #[test]
    fn codex_is_handed_off_by_its_clock_and_hears_nothing() {
        handed_off_by_the_clock("codex", Behaviour::Deaf);
    }

    /// No role says that it is handed off by itself: the operator is told, and nothing else happens.
    // covers: G-11
    #[test]
    fn claude_without_a_role_is_left_alone_and_the_operator_is_told() {
        left_alone(None);
    }

    // covers: G-11
    #[test]
    fn claude_in_a_crew_is_left_alone_and_the_operator_is_told() {
        left_alone(Some("crew"));
    }

    // covers: G-11
    #[test]
    fn claude_in_a_role_that_nobody_declared_is_left_alone_and_the_operator_is_told() {
        left_alone(Some("nonsuch"));
    }

    fn left_alone(role: Option<&str>) {
        let mut stage = stage("claude");
        stage.scripted(vec![begun()]);
        stage.begins_and_waits();
        if let Some(role) = role {
            stage.sealed.ok(["role", "assume", NAME, role]);
        }
        stage.fill(82, saved());
        stage.until("the operator has mail", || {
            stage.sealed.ok(["mail", "ls"]).contains("context of ada")
        });
        stage.until("it waits", || stage.show().reason == "idle");
        assert_eq!(stage.show().session.map(|session| session.number), Some(1));
        assert!(!stage.kinds().iter().any(|kind| kind == "handoff-asked"));
    }

    // covers: G-02, S-15
    #[test]
    fn codex_is_handed_off_by_the_rule_of_its_role() {
        handed_off_by_the_cycle_rule("codex", Behaviour::Cooperative);
    }

    // covers: G-02, S-15
    #[test]
    fn codex_is_handed_off_by_the_rule_of_its_role_and_is_slow() {
        handed_off_by_the_cycle_rule("codex", Behaviour::Slow);
    }

    /// It does not answer, and is ended at the deadline.
    // covers: G-02, S-15
    #[test]
    fn claude_is_handed_off_by_the_rule_of_its_role_and_hears_nothing() {
        handed_off_by_the_cycle_rule("claude", Behaviour::Deaf);
    }

    /// A worker's session ends by the word of whoever looks after it, which is asked by mail; and so does, by its own rules,
    /// the session of the overseer: by mail of one that it oversees, then by an event that its role lists. The second time
    /// the overseer does nothing, and the daemon ends the worker's session at the deadline.
    // covers: G-02, S-15, S-16
    #[test]
    fn a_worker_is_handed_off_through_its_overseer_or_at_the_deadline() {
        const WITNESS: &str = "wil";
        let mut stage = stage("claude");
        stage.configure(&roles("after = 1, unit = 'interaction'", 60));
        let asks = json!({ "subject": SUBJECT, "notes": NOTES });
        let asks = Turn::tool("mcp__perennial__handoff", asks).matching(PROMPT).usage(little());
        let ends = json!({ "target": NAME, "finish": true });
        let ends = Turn::tool("mcp__perennial__handoff", ends).matching("LIFECYCLE: session 1");
        let watches = Turn::text("Watching.").matching("Watch over them.").usage(little());
        stage.scripted(vec![asks, ends.usage(little()), watches, saved()]);
        stage.spawn_in_role(WITNESS, "witness", "Watch over them.");
        let before = tree(&stage.work);
        stage.until("it watches", || stage.sealed.show(WITNESS).reason == "idle");
        let since = Instant::now();
        stage.spawn_in_role(NAME, "worker", PROMPT);
        stage.is_taken_over(since, &before, &[SUBJECT, NOTES]);
        let answers: Vec<String> = stage.said("handoff-answered", "how");
        assert_eq!(answers, ["word", "ordered"], "it was ready, and its overseer ended it");
        stage.begun(WITNESS, 2);
        assert_eq!(stage.asked(WITNESS), ["cycle: 1 interaction done in this session"]);

        stage.configure(&roles(
            "after = 9, unit = 'interaction', interesting = ['lifecycle-request']",
            3,
        ));
        stage.sealed.ok(["role", "drop", WITNESS]);
        stage.sealed.ok(["role", "assume", WITNESS, "witness"]);
        let add = |title: &str| {
            let words = ["task", "add", title, "--to", NAME];
            stage.sealed.json::<Vec<Task>>(&words).swap_remove(0).id
        };
        let (first, second) = (add("mend the fence"), add("paint the gate"));
        stage.told("mend the fence");
        stage.begun(NAME, 2);
        stage.sealed.ok(["task", "done", &first, "-m", "fine"]);
        stage.begun(NAME, 3);
        assert_eq!(
            stage.asked(NAME).last().expect("asked"),
            "cycle: 1 assignment done in this session"
        );
        let second: Task = stage.sealed.json(&["task", "show", &second]);
        assert_eq!((second.state.as_str(), second.sessions), ("taken", 2));
        stage.begun(WITNESS, 3);
        assert_eq!(
            stage.asked(WITNESS).last().expect("asked"),
            "interesting: event: lifecycle-request"
        );
        assert_eq!(tree(&stage.work), before);
    }

    /// A mortal worker that counts its assignments, and the witness that looks after it.
    fn roles(cycle: &str, deadline_s: u64) -> String {
        format!(
            "handoff_deadline_s = {deadline_s}\n[role.worker]\nspan = 'mortal'\noverseer = 'witness'\n\
             cycle = {{ after = 1, unit = 'assignment' }}\n[role.witness]\ncycle = {{ {cycle} }}\n"
        )
    }

    fn words<const N: usize>(words: [&str; N]) -> [String; N] {
        words.map(str::to_owned)
    }

    impl Stage {
        fn spawn_in_role(&self, name: &str, role: &str, prompt: &str) {
            let options = [&self.conformance.free[..], &words(["--role", role])].concat();
            self.spawn_named(name, &options, Some(prompt));
        }

        /// Waits until this session of an agent has had its first turn.
        #[track_caller]
        fn begun(&self, name: &str, number: u64) {
            self.until(&format!("session {number} of {name} waits"), || {
                let shown = self.sealed.show(name);
                shown.reason == "idle" && shown.session.is_some_and(|it| it.number == number)
            });
        }

        /// Why its sessions were asked to hand off, oldest first.
        fn asked(&self, name: &str) -> Vec<String> {
            let mut all = self.signals("HANDOFF_REQUESTED");
            all.retain(|signal| signal.payload["identity_name"] == json!(name));
            all.sort_by(|one, other| one.id.cmp(&other.id));
            all.iter().filter_map(|it| it.payload["reason"].as_str()).map(str::to_owned).collect()
        }

        /// A field of all events of a kind.
        fn said(&self, kind: &str, field: &str) -> Vec<String> {
            let events = self.events();
            let of = |line: &str| {
                let event: Value = serde_json::from_str(line).expect("an event");
                (event["kind"] == json!(kind))
                    .then(|| event["data"][field].as_str().map(str::to_owned))
            };
            events.lines().filter_map(of).flatten().collect()
        }
    }
}

#[test]
fn what_has_no_session_or_is_a_bare_command_is_refused() {
    let sealed = Sealed::up();
    sealed.spawn("bare", "read x");
    let told = sealed.refused(3, &["handoff", "bare"]);
    assert!(told.detail.contains("bare command"), "{told:?}");
    sealed.refused(2, &["handoff", "bare", "--deadline", "soon"]);
    sealed.refused(4, &["handoff", "nobody"]);
    let long = "x".repeat(2001);
    let told = sealed.refused(2, &["handoff", "bare", "-m", &long]);
    assert!(told.detail.contains("2000 bytes"), "{told:?}");
    for empty in [["handoff", "bare", "-s", ""], ["handoff", "bare", "-m", " "]] {
        let told = sealed.refused(2, &empty);
        assert!(told.title.ends_with("empty"), "{told:?}");
    }
}
