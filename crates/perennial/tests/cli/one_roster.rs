//! Three vendors and a bare command in one roster, with one model server: told in one form, killed at once, each goes on
//! with its own conversation.
//!
//! Judged by what the model server received. Waits for events; nothing is asserted of one instant.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use perennial_api::Agent;
use perennial_api::step::Step;
use perennial_engine::harness::Preset;
use perennial_engine::harness::conformance::{Conformance, Surroundings};
use rustix::process::Signal;
use serde_json::{Value, json};
use understudy::{Kind, Message, Record, Role, Script, Understudy};

use crate::conformance::harness::Harness;
use crate::conformance::stage::{count, prompt};
use crate::processes::{running, signal};
use crate::sealed::{Sealed, finish, pid};
use crate::watch::Watch;

const PATIENCE: Duration = Duration::from_secs(120);
const BARE: &str = "shell";
/// Says which session it is, and repeats every line.
const PROGRAM: &str = "echo \"I am session ${PERENNIAL_SESSION##*.}\"; while read line; do echo \"got <$line>\"; done";

/// An agent of one vendor.
struct Member {
    name: &'static str,
    harness: &'static str,
    preset: Preset,
    conformance: Conformance,
}

/// One home with one model server.
struct Roster {
    sealed: Sealed,
    model: Understudy,
    members: Vec<Member>,
}

impl Roster {
    fn new() -> Roster {
        let sealed = Sealed::new();
        let model = Understudy::start(Script::default()).expect("a model");
        for dir in ["work", "bin", "tmp"] {
            std::fs::create_dir_all(sealed.dir.join(dir)).expect("made");
        }
        let names = [("clara", "claude"), ("cody", "codex"), ("gemma", "gemini")];
        let members = names.into_iter().map(|(name, harness)| {
            let of = Harness::named(harness);
            let preset = of.install(&sealed.home.config);
            let link = sealed.dir.join("bin").join(&preset.program);
            std::os::unix::fs::symlink(of.program(&preset), link).expect("linked");
            let conformance = preset.conformance.clone().expect("[conformance]");
            Member { name, harness, preset, conformance }
        });
        let members = members.collect();
        let roster = Roster { sealed, model, members };
        for member in &roster.members {
            roster.surrounded(member, |around| {
                for (path, text) in around.files(&member.conformance) {
                    let path = roster.sealed.dir.join(path);
                    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
                    std::fs::write(path, text).expect("written");
                }
            });
        }
        roster.sealed.start_daemon();
        roster
    }

    fn surrounded<T>(&self, member: &Member, then: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let (work, url) = (self.sealed.dir.join("work"), self.model.url());
        let (preset, home) = (&member.preset, &self.sealed.dir);
        then(&Surroundings { preset, home, work: &work, model_url: &url })
    }

    fn command(&self, member: &Member, arguments: &[&str]) -> Command {
        let bin = self.sealed.dir.join("bin");
        let mut command = self.sealed.command(arguments);
        command
            .current_dir(self.sealed.dir.join("work"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.sealed.dir.join("tmp"))
            .envs(self.surrounded(member, |around| around.environment(&member.conformance)));
        command
    }

    #[track_caller]
    fn spawn(&self, member: &Member) {
        let said = json!([{ "text": first(member.name), "usage": { "input": 900, "output": 9 } }]);
        let said = prompt(&said);
        let mut arguments = vec!["--json", "spawn", member.name, "--harness", member.harness];
        arguments.extend(member.conformance.free.iter().map(String::as_str));
        arguments.extend(["--prompt", &said]);
        let ran = finish(self.command(member, &arguments));
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    fn names(&self) -> Vec<&'static str> {
        self.members.iter().map(|member| member.name).chain([BARE]).collect()
    }

    /// The requests of one agent's own loop: only its conversation begins with its words.
    fn requests(&self, name: &str) -> Vec<Record> {
        let all = self.model.requests().into_iter().map(|record| (*record).clone());
        let own = first(name);
        all.filter(|one| one.request.kind == Kind::Main && one.request.contains(&own)).collect()
    }

    #[track_caller]
    fn told(&self, name: &str, words: &str) -> Record {
        let own = first(name);
        let is_told = |one: &Record| {
            let request = &one.request;
            request.kind == Kind::Main && request.contains(words) && request.contains(&own)
        };
        if let Err(late) = self.model.wait_for(is_told, PATIENCE) {
            let why = self.sealed.run(["why", name]).stdout;
            let screen = self.sealed.run(["screen", name]).stdout;
            panic!("the model of {name} was never told {words:?}: {late}\n{why}\n{screen}");
        }
        self.requests(name).into_iter().rfind(is_told).expect("it was told")
    }

    /// What `logs` shows, without what Perennial told.
    fn steps(&self, name: &str) -> Vec<Step> {
        let text = self.sealed.run(["--json", "logs", name]).stdout;
        let steps = text.lines().map(|line| serde_json::from_str(line).expect("a step a line"));
        steps.filter(|step: &Step| step.kind != "told").collect()
    }

    /// Waits until the answer is in `logs` and its figures are read: what a crash now resumes is on disk.
    #[track_caller]
    fn settled(&self, name: &str, answer: &str) {
        let is_said = |step: &Step| step.kind == "text" && step.text.as_deref() == Some(answer);
        self.sealed.until(&format!("{name}'s transcript is read"), || {
            self.sealed.show(name).usage.is_some_and(|usage| usage.output > 0)
                && self.steps(name).iter().any(is_said)
        });
    }

    fn bare_shows(&self, words: &str) -> bool {
        self.sealed.ok(["logs", BARE]).contains(words)
    }
}

fn first(name: &str) -> String {
    format!("{name} was here first.")
}

fn again(name: &str) -> String {
    format!("{name} is back.")
}

/// What a listing, a card, a story and a log have for every agent, whatever it runs.
#[track_caller]
fn told_in_one_form(roster: &Roster) {
    let sealed = &roster.sealed;
    let names = roster.names();
    let list = sealed.ok(["ls"]);
    let columns = list.lines().next().unwrap_or_default();
    assert!(columns.starts_with("NAME") && list.contains("4 living"), "{list}");
    for name in &names {
        assert_eq!(list.lines().filter(|line| line.starts_with(name)).count(), 1, "{list}");
    }
    // The same members, whether they have a value or not.
    let members = |value: &Value| -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let all: Vec<Value> = names.iter().map(|name| sealed.json(&["show", name])).collect();
    assert!(all.windows(2).all(|two| members(&two[0]) == members(&two[1])), "{all:#?}");
    // What is before the label's column differs by vendor only in what an agent CLI shows of itself.
    let labels = |name: &str| -> Vec<String> {
        let shown = sealed.ok(["show", name]);
        let label = |line: &str| line.get(2..15).map(|label| label.trim().to_owned());
        let own =
            ["phase", "model", "permissions", "context", "tokens", "conversation", "earlier", ""];
        let is_shared = |label: &String| !own.contains(&label.as_str());
        shown.lines().skip(1).filter_map(label).filter(is_shared).collect()
    };
    for name in &names {
        assert_eq!(labels(name), labels(BARE), "{name}: {}", sealed.ok(["show", name]));
        let why = sealed.ok(["why", name]);
        let headings =
            ["evidence:", "What happens next:", "What you can do:", "History, newest first:"];
        let places: Vec<Option<usize>> = headings.iter().map(|it| why.find(it)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{why}");
        assert!(why.starts_with(&format!("{name} ")), "{why}");
    }
    for member in &roster.members {
        let kinds: Vec<String> =
            roster.steps(member.name).into_iter().map(|step| step.kind).collect();
        assert_eq!(kinds, ["prompt", "text"], "{}", member.name);
        let logs = sealed.ok(["logs", member.name]);
        assert!(logs.contains(&first(member.name)), "{logs}");
    }
    assert!(roster.bare_shows("I am session 1"));
}

/// The names end up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    //
    #[test]
    fn four_in_one_roster_are_killed_at_once_and_each_goes_on_with_its_own() {
        let roster = Roster::new();
        let sealed = &roster.sealed;
        for member in &roster.members {
            roster.spawn(member);
        }
        sealed.spawn(BARE, PROGRAM);
        let mut watch = sealed.watch();
        let mut idle_at = Vec::new();
        for Member { name, .. } in &roster.members {
            idle_at.push(watch.moved_after(0, name, "waiting", "idle").event.seq);
            roster.settled(name, &first(name));
        }
        sealed.until("the bare command speaks", || roster.bare_shows("I am session 1"));
        told_in_one_form(&roster);
        let before: Vec<Agent> = roster.names().iter().map(|name| sealed.show(name)).collect();
        let calls = |name: &str| roster.requests(name).len();
        let called: Vec<usize> = roster.members.iter().map(|one| calls(one.name)).collect();
        assert_eq!(called, [1, 1, 1], "each model was called once");
        // All at once.
        let programs: Vec<_> = before.iter().map(|agent| running(pid(agent))).collect();
        for program in programs {
            assert!(signal(program, Signal::KILL));
        }
        each_goes_on(&roster, &mut watch, &idle_at, &before);
        sealed.assert_nobody_doubled();
    }
}

#[track_caller]
fn each_goes_on(roster: &Roster, watch: &mut Watch, idle_at: &[u64], before: &[Agent]) {
    let sealed = &roster.sealed;
    for name in roster.names() {
        let (_, exit) = watch.ended(name, 1);
        assert_eq!(exit, json!({ "signal": 9 }), "{name}");
        watch.running(name, 2);
    }
    for (member, since) in roster.members.iter().zip(idle_at) {
        watch.moved_after(*since, member.name, "waiting", "idle");
    }
    // Nobody was in a turn: no model was called for that, and nobody's prompt came again.
    for (Member { name, .. }, before) in roster.members.iter().zip(before) {
        assert_eq!(roster.requests(name).len(), 1, "{name}");
        assert_eq!(sealed.show(name).conversations, before.conversations, "{name}");
        sealed.ok(["send", name, &prompt(&json!([{ "text": again(name) }]))]);
    }
    sealed.until("the second bare session speaks", || roster.bare_shows("I am session 2"));
    sealed.ok(["send", BARE, "and you"]);
    for Member { name, .. } in &roster.members {
        let last = roster.told(name, &again(name));
        let said = |one: &Message| one.role == Role::Assistant && one.text().contains(&first(name));
        assert!(last.request.messages.iter().any(said), "{name} has forgotten: {last:#?}");
        // Its first prompt and this text, each once, and nothing of anybody else's.
        assert_eq!(count(&last, understudy::MARK), 2, "{last:#?}");
        let others = roster.members.iter().filter(|other| other.name != *name);
        assert!(others.into_iter().all(|other| !last.request.contains(&first(other.name))));
        roster.settled(name, &again(name));
    }
    for (Member { name, .. }, before) in roster.members.iter().zip(before) {
        assert_eq!(roster.requests(name).len(), 2, "{name}");
        let now = sealed.show(name);
        assert_eq!(now.conversations, before.conversations, "{name}");
        let kinds: Vec<String> = roster.steps(name).into_iter().map(|step| step.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "prompt").count(), 2, "{name}: {kinds:?}");
    }
    sealed.until("the bare command took its text", || roster.bare_shows("got <and you>"));
}
