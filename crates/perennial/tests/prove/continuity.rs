//! `continuity`: the daemon is killed at a random moment while an agent is handed off, cycled by its role, or rests and is
//! woken by a task; `up` follows, and each comes to its end. A trial is one kill.
//!
//! Two homes in three have the small agent CLI of the conformance suite, which answers in milliseconds, so that the kills
//! fall into what Perennial does; the third has Claude Code. `PERENNIAL_HARNESS` names one instead.
//!
//! Invariants
//! - CO1  No session runs twice, and no two at once.
//! - CO2  A handoff that was asked for is complete once, after a checkpoint of its session.
//! - CO3  No checkpoint is lost: their numbers have no gaps, and each can be read.
//! - CO4  The model is told of each handoff: the next session goes on with a briefing.
//! - CO5  No file, mode or index of the work tree is another.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use perennial_api::checkpoint::Checkpoint;
use perennial_api::event::Event;
use perennial_api::task::Task;
use serde_json::{Value, json};
use understudy::{Repeat, Turn, Usage};

use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage};
use crate::proof::{Proof, within};
use crate::unfinished_work::{Tree, tree, unfinished_work};

const TRIALS: usize = 10;
/// How long anything may take after `up`, on a machine that is busy.
const ENDS: Duration = Duration::from_secs(120);
const PROMPT: &str = "Write the parser.";
const HOLD: &str = "Hold on until I say so.";
/// What the model is held at.
const GATE: &str = "held";
/// Longer than an agent that may rest is idle, and shorter than the next round.
const REST_MS: u64 = 14_000;
const ROLES: &str = "[role.keeper]\nspan = 'persistent'\n\n[role.patrol]\nevery = '1s'\n\
                     cycle = { after = 1, unit = 'round' }\n";

#[derive(Debug, Clone, Copy)]
enum Scene {
    /// It answers what it is asked.
    Handoff,
    /// It is in a turn that does not end.
    Deaf,
    /// By the rule of its role.
    Cycle,
    /// Its task is verified, it hibernates, and the next task wakes it.
    Rest,
}

const SCENES: [Scene; 8] = [
    Scene::Handoff,
    Scene::Handoff,
    Scene::Handoff,
    Scene::Deaf,
    Scene::Deaf,
    Scene::Cycle,
    Scene::Cycle,
    Scene::Rest,
];

pub fn continuity(proof: &mut Proof) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    while proof.goes_on() {
        proof.home(|proof| {
            let name = std::env::var("PERENNIAL_HARNESS").ok();
            let is_small = name.as_deref().map_or(proof.below(3) > 0, |name| name == "parley");
            let mut agent = Agent::begin(is_small, name.as_deref());
            for _ in 0..TRIALS {
                if !proof.goes_on() {
                    break;
                }
                proof.begin_trial();
                let scene = SCENES[proof.below(SCENES.len() as u64) as usize];
                *counts.entry(format!("{} {scene:?}", agent.stage.preset.name)).or_default() += 1;
                agent.trial(proof, scene);
            }
        });
    }
    println!("continuity: {counts:?}");
}

/// A whole handoff, however the session behaves (S-15).
const WHOLE_CYCLE: Duration = Duration::from_secs(90);

/// `deaf`: a session hears nothing, and nobody says how long to wait for it: the default deadline counts. A trial is one
/// handoff, in turn with the small agent CLI and with Claude Code.
pub fn deaf(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let is_small = proof.begin_trial() % 2 == 1;
            Agent::begin(is_small, None).is_deaf(proof);
        });
    }
}

/// The agent of one home, and what its work tree was like.
struct Agent {
    stage: Stage,
    before: Tree,
}

impl Agent {
    fn begin(is_small: bool, name: Option<&str>) -> Agent {
        let harness = match is_small {
            true => {
                let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/fourth");
                Harness {
                    program: Some(dir.join("parley")),
                    ..Harness::of_file(&dir.join("parley.toml"))
                }
            }
            false => Harness::named(name.unwrap_or("claude")),
        };
        let mut stage = Stage::new(&harness);
        unfinished_work(&stage.work);
        stage.configure(ROLES);
        says(&stage, None);
        stage.spawn_with(&stage.conformance.free.clone(), Some(PROMPT));
        let agent = Agent { before: tree(&stage.work), stage };
        assert!(agent.is_idle_after(0), "its first turn never ended: {}", agent.why());
        agent
    }

    fn trial(&mut self, proof: &mut Proof, scene: Scene) {
        let number = self.number();
        match scene {
            Scene::Handoff => {
                self.ok(&["handoff", NAME, "-s", "half", "-m", "as it stands"]);
                self.killed_within(proof, 3000);
            }
            Scene::Deaf => {
                let gate = format!("{GATE}-{number}");
                // Once: a briefing repeats what the session was told.
                says(&self.stage, Some(Turn::text("Late.").matching(HOLD).gate(&gate)));
                self.ok(&["send", NAME, HOLD]);
                self.stage.model.wait_until_held(&gate).expect("its turn began");
                self.ok(&["handoff", NAME, "-s", "half", "--deadline", "1s"]);
                self.killed_within(proof, 4000);
            }
            Scene::Cycle => {
                self.ok(&["role", "assume", NAME, "patrol"]);
                self.killed_within(proof, 6000);
                let is_next = within(ENDS, || self.number() > number);
                self.ok(&["role", "drop", NAME]);
                if !is_next {
                    proof.violated(&format!("{scene:?}: no successor: {}", self.why()));
                }
            }
            Scene::Rest => return self.rests(proof, number),
        }
        if !self.is_idle_after(number) {
            proof.violated(&format!("{scene:?}: it did not come to its end: {}", self.why()));
            self.tell_story();
        }
        self.stage.model.release(&format!("{GATE}-{number}"));
        self.judge(proof, scene);
    }

    fn is_deaf(&self, proof: &mut Proof) {
        let number = self.number();
        says(&self.stage, Some(Turn::text("Late.").matching(HOLD).gate(GATE)));
        self.ok(&["send", NAME, HOLD]);
        self.stage.model.wait_until_held(GATE).expect("its turn began");
        let asked = Instant::now();
        self.ok(&["handoff", NAME, "-s", "half"]);
        let has_next = within(ENDS, || self.number() > number);
        let next = asked.elapsed();
        let is_idle = has_next && self.is_idle_after(number);
        let whole = asked.elapsed();
        println!(
            "deaf, {}: the next session after {:.1} s, its first turn over after {:.1} s",
            self.stage.preset.name,
            next.as_secs_f64(),
            whole.as_secs_f64()
        );
        if !is_idle || whole > WHOLE_CYCLE {
            proof.violated(&format!("not whole within {WHOLE_CYCLE:?}: {}", self.why()));
        }
        self.stage.model.release(GATE);
        self.judge(proof, Scene::Deaf);
    }

    fn rests(&mut self, proof: &mut Proof, number: u64) {
        self.ok(&["role", "assume", NAME, "keeper"]);
        let task = self.task_on_it();
        self.ok(&["task", "done", &task, "-m", "fine"]);
        let is_before = proof.below(2) == 0;
        if is_before {
            self.killed_within(proof, REST_MS);
        }
        if !within(ENDS, || self.stage.show().state == "hibernating") {
            return proof.violated(&format!("it never rested: {}", self.why()));
        }
        let task = self.added();
        if !is_before {
            self.killed_within(proof, 3000);
        }
        if !self.is_idle_after(number) {
            proof.violated(&format!("no task woke it: {}", self.why()));
        }
        self.ok(&["role", "drop", NAME]);
        self.ok(&["task", "done", &task, "-m", "fine"]);
        self.judge(proof, Scene::Rest);
    }

    /// A task that it is on, and was told of.
    fn task_on_it(&self) -> String {
        let id = self.added();
        let is_taken = || {
            let shown: Task = self.stage.sealed.json(&["task", "show", &id]);
            shown.state == "taken" && self.stage.show().reason == "idle"
        };
        assert!(within(ENDS, is_taken), "it never took the task: {}", self.why());
        id
    }

    fn added(&self) -> String {
        let words = ["task", "add", "mend the fence", "--to", NAME];
        self.stage.sealed.json::<Vec<Task>>(&words).swap_remove(0).id
    }

    fn ok(&self, words: &[&str]) {
        self.stage.sealed.ok(words.iter().copied());
    }

    fn killed_within(&self, proof: &mut Proof, limit_ms: u64) {
        proof.pass_up_to(limit_ms);
        self.stage.sealed.kill_daemon();
        self.stage.sealed.start_daemon();
    }

    fn number(&self) -> u64 {
        self.stage.show().session.map_or(0, |session| session.number)
    }

    /// Whether a session after this one waits, its turn over.
    fn is_idle_after(&self, number: u64) -> bool {
        within(ENDS, || {
            let ada = self.stage.show();
            ada.reason == "idle" && ada.session.is_some_and(|session| session.number > number)
        })
    }

    fn why(&self) -> String {
        let ada = self.stage.show();
        let said = self.stage.sealed.run(["why", NAME]).stdout.replace('\n', " | ");
        format!("{} ({}): {said}", ada.state, ada.reason)
    }

    fn judge(&self, proof: &mut Proof, scene: Scene) {
        let mut wrong = judged(&self.events());
        if tree(&self.stage.work) != self.before {
            wrong.push("CO5: the work tree is another".to_owned());
        }
        let listed: Vec<Checkpoint> =
            self.stage.sealed.json(&["checkpoints", NAME, "--limit", "1000"]);
        let gap = (1..).zip(listed.iter().rev()).find(|(number, one)| one.number != *number);
        if let Some((number, _)) = gap {
            wrong.push(format!("CO3: checkpoint {number} is not listed"));
        }
        for one in listed {
            if self.stage.sealed.run(["checkpoints", NAME, &one.number.to_string()]).code != 0 {
                wrong.push(format!("CO3: checkpoint {} can't be read", one.number));
            }
        }
        let requests = self.stage.requests();
        for number in numbers(&self.events(), "handoff-asked") {
            let told = format!("You are a continuation of session {number}");
            if !requests.iter().any(|it| it.request.contains(&told)) {
                wrong.push(format!("CO4: nobody was told to go on with session {number}"));
            }
        }
        wrong.iter().for_each(|what| proof.violated(&format!("{scene:?}: {what}")));
        if !wrong.is_empty() {
            self.tell_story();
        }
        self.stage.sealed.assert_nobody_doubled();
    }

    /// What was recorded, said and shown, for whoever looks into a violation.
    fn tell_story(&self) {
        let told = |words: &[&str]| self.stage.sealed.run(words.iter().copied()).stdout;
        for words in [&["events"][..], &["logs", NAME], &["screen", NAME]] {
            told(words).lines().for_each(|line| eprintln!("    {line}"));
        }
        eprintln!("    held at {:?}", self.stage.model.gates());
    }

    fn events(&self) -> Vec<(String, Value)> {
        let of = |line: &str| {
            let event: Event = serde_json::from_str(line).expect("an event");
            let value: Value = serde_json::from_str(line).expect("JSON");
            (event.what.kind().to_owned(), value["data"].clone())
        };
        self.stage.sealed.ok(["events", "--agent", NAME, "--json"]).lines().map(of).collect()
    }
}

/// The model says this first, and then always the same.
fn says(stage: &Stage, first: Option<Turn>) {
    let usage = json!({ "input": 1000, "output": 5 });
    let usage: Usage = serde_json::from_value(usage).expect("usage");
    let goes_on = Turn::text("Going on.").usage(usage).repeat(Repeat::ALWAYS);
    stage.model_says(first.into_iter().chain([goes_on]));
}

/// The sessions that events of this kind are about.
fn numbers(events: &[(String, Value)], kind: &str) -> Vec<u64> {
    let own = events.iter().filter(|(it, _)| it == kind);
    own.filter_map(|(_, data)| data["number"].as_u64()).collect()
}

/// CO1, CO2, CO3
fn judged(events: &[(String, Value)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let runs = numbers(events, "session-running");
    if runs.windows(2).any(|two| two[1] != two[0] + 1) || runs.first() != Some(&1) {
        wrong.push(format!("CO1: sessions that ran: {runs:?}"));
    }
    let (asked, done) = (numbers(events, "handoff-asked"), numbers(events, "handoff-completed"));
    if asked != done {
        wrong.push(format!("CO2: asked of {asked:?}, complete: {done:?}"));
    }
    let place = |kind: &str, key: &str, number: u64| {
        events.iter().position(|(it, data)| it == kind && data[key].as_u64() == Some(number))
    };
    for number in done {
        let stored = place("checkpoint-taken", "session", number);
        if stored.is_none() || stored > place("handoff-completed", "number", number) {
            wrong.push(format!("CO2: session {number} was complete before a checkpoint of it"));
        }
    }
    let taken = numbers(events, "checkpoint-taken");
    if taken != (1..=taken.len() as u64).collect::<Vec<_>>() {
        wrong.push(format!("CO3: checkpoints {taken:?}"));
    }
    wrong
}
