//! A home with its daemon, a scripted model, and one agent `ada` of some harness.
//!
//! Everything that it knows of the harness is its preset's (CF1).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use perennial_api::Agent;
use perennial_api::step::Step;
use perennial_engine::harness::conformance::{Conformance, Surroundings};
use perennial_engine::harness::{Preset, conversation};
use serde_json::{Value, json};
use understudy::{Kind, Record, Script, Turn, Understudy};

use super::harness::Harness;
use super::{Instead, Seen};
use crate::processes::{self, running};
use crate::sealed::{Sealed, finish, pid};
use crate::watch::Watch;

/// How long a real agent CLI may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long something is looked for that a preset says there is not.
const BRIEF: Duration = Duration::from_secs(15);

/// How long a person waits before they press Enter again.
const ENTER_AGAIN: Duration = Duration::from_secs(2);

pub const NAME: &str = "ada";

pub struct Stage {
    pub sealed: Sealed,
    pub model: Understudy,
    pub preset: Preset,
    pub conformance: Conformance,
    pub watch: Watch,
    pub work: PathBuf,
    /// The last event that was waited for.
    since: u64,
}

impl Stage {
    #[track_caller]
    pub fn new(harness: &Harness) -> Stage {
        let sealed = Sealed::new();
        std::fs::create_dir_all(&sealed.home.config).expect("made");
        let preset = harness.install(&sealed.home.config);
        let unknown = super::unknown_names(&preset);
        assert!(unknown.is_empty(), "no such scenario: {}", unknown.join(", "));
        let conformance = preset.conformance.clone();
        let conformance = conformance.expect("a preset with [conformance]");
        let model = Understudy::start(Script::default()).expect("a model");
        let (work, bin) = (sealed.dir.join("work"), sealed.dir.join("bin"));
        for made in [&work, &bin, &sealed.dir.join("tmp")] {
            std::fs::create_dir_all(made).expect("made");
        }
        if Path::new(&preset.program).is_relative() {
            let link = bin.join(&preset.program);
            std::os::unix::fs::symlink(harness.program(&preset), link).expect("linked");
        }
        sealed.start_daemon();
        let watch = sealed.watch();
        let stage = Stage { sealed, model, preset, conformance, watch, work, since: 0 };
        for (path, text) in stage.surroundings(&stage.model.url()).files(&stage.conformance) {
            let path = stage.sealed.dir.join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        stage
    }

    fn surroundings<'a>(&'a self, model_url: &'a str) -> Surroundings<'a> {
        Surroundings { preset: &self.preset, home: &self.sealed.dir, work: &self.work, model_url }
    }

    /// A verb, where the agent works and with the environment that it gets.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sealed.command(arguments);
        let bin = self.sealed.dir.join("bin");
        command
            .current_dir(&self.work)
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.sealed.dir.join("tmp"))
            .envs(self.surroundings(&self.model.url()).environment(&self.conformance));
        command
    }

    /// What the model says to whoever has no turns of their own in the prompt.
    pub fn model_says(&self, turns: impl IntoIterator<Item = Turn>) {
        self.model.script_everybody(Vec::from_iter(turns));
    }

    /// Spawns the agent with these options.
    #[track_caller]
    pub fn spawn_with(&self, options: &[String], prompt: Option<&str>) -> Agent {
        self.spawn_named(NAME, options, prompt)
    }

    /// Makes an agent of a conversation, with what makes it ask nobody.
    #[track_caller]
    pub fn adopt(&self, name: &str, conversation: &str, options: &[&str]) {
        let mut arguments = vec!["adopt", name, "--harness", &self.preset.name];
        arguments.extend(["--conversation", conversation]);
        arguments.extend(self.conformance.free.iter().map(String::as_str));
        arguments.extend(options);
        let ran = finish(self.command(&arguments));
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    #[track_caller]
    pub fn spawn_named(&self, name: &str, options: &[String], prompt: Option<&str>) -> Agent {
        let mut arguments = vec!["--json", "spawn", name, "--harness", &self.preset.name];
        arguments.extend(options.iter().map(String::as_str));
        arguments.extend(prompt.into_iter().flat_map(|prompt| ["--prompt", prompt]));
        let ran = finish(self.command(&arguments));
        assert_eq!(ran.code, 0, "{ran:?}");
        serde_json::from_str(&ran.stdout).expect("an agent")
    }

    /// Spawns the agent with what makes it ask nobody, and a prompt that says these turns.
    #[track_caller]
    pub fn spawn(&self, turns: &Value) -> Agent {
        self.spawn_with(&self.conformance.free, Some(&prompt(turns)))
    }

    /// Spawns it, and waits until its first turn has been answered so and is over.
    #[track_caller]
    pub fn spawn_idle(&mut self, text: &str) -> Agent {
        let usage = json!({ "input": 1000, "output": 5 });
        let ada = self.spawn(&json!([{ "text": text, "usage": usage }]));
        self.idle();
        self.settled(text);
        ada
    }

    /// Sends a text that says these turns.
    #[track_caller]
    pub fn send(&self, turns: &Value) {
        self.sealed.ok(["send", NAME, &prompt(turns)]);
    }

    /// A tool call by which the model runs a shell command.
    pub fn shell(&self, command: &str) -> Value {
        let shell = &self.conformance.shell;
        json!([{ "name": shell.tool, "input": shell.call(command) }])
    }

    pub fn show(&self) -> Agent {
        self.sealed.show(NAME)
    }

    /// The conversation that the agent has now.
    #[track_caller]
    pub fn conversation(&self) -> String {
        self.conversation_of(NAME)
    }

    #[track_caller]
    pub fn conversation_of(&self, name: &str) -> String {
        self.sealed.show(name).conversations.first().expect("a conversation").clone()
    }

    /// The operator changes their configuration, before there is an agent.
    pub fn configure(&mut self, config: &str) {
        self.sealed.ok(["down"]);
        std::fs::write(self.sealed.home.config.join("config.toml"), config).expect("written");
        self.sealed.start_daemon();
        (self.watch, self.since) = (self.sealed.watch(), 0);
    }

    /// What `logs` shows, without what Perennial told.
    #[track_caller]
    pub fn steps(&self) -> Vec<Step> {
        let text = self.sealed.run(["--json", "logs", NAME]).stdout;
        let steps = text.lines().map(|line| serde_json::from_str(line).expect("a step a line"));
        steps.filter(|step: &Step| step.kind != "told").collect()
    }

    /// The requests of the agent's own loop.
    pub fn requests(&self) -> Vec<Record> {
        let all = self.model.requests().into_iter().map(|record| (*record).clone());
        all.filter(|record| record.request.kind == Kind::Main).collect()
    }

    /// The newest of them.
    #[track_caller]
    pub fn last_request(&self) -> Record {
        self.requests().pop().expect("a request")
    }

    /// Waits until the model was told these words.
    #[track_caller]
    pub fn told(&self, words: &str) {
        let is_told =
            |record: &Record| record.request.kind == Kind::Main && record.request.contains(words);
        if let Err(late) = self.model.wait_for(is_told, PATIENCE) {
            panic!("the model was never told {words:?}: {late}\n{}", self.account());
        }
    }

    /// Waits until the agent waits, its turn over.
    #[track_caller]
    pub fn idle(&mut self) {
        self.moved("waiting", "idle");
    }

    /// Waits until the agent has come to this state since what was waited for last.
    #[track_caller]
    pub fn moved(&mut self, state: &str, reason: &str) {
        self.since = self.watch.moved_after(self.since, NAME, state, reason).event.seq;
    }

    /// What is waited for next comes after everything so far.
    pub fn look_ahead(&mut self) {
        self.watch.drain();
        self.since = self.watch.seen.last().map_or(self.since, |seen| seen.event.seq);
    }

    /// Waits until `logs` shows this answer and its figures are read: our copy of the conversation is made
    /// before them.
    #[track_caller]
    pub fn settled(&self, answer: &str) {
        let is_said = |step: &Step| step.kind == "text" && step.text.as_deref() == Some(answer);
        self.until("the transcript is read", || {
            self.show().usage.is_some_and(|usage| usage.output > 0)
                && self.steps().iter().any(is_said)
        });
    }

    /// Looks again and again for something that has to come (CF4).
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl FnMut() -> bool) {
        assert!(within(PATIENCE, is_so), "never: {what}\n{}", self.account());
    }

    /// Looks for something that a limit may be about. Where the preset has that limit, not for long.
    pub fn looks_for(&self, scenario: &str, what: &str, is_so: impl FnMut() -> bool) -> Seen {
        let is_limit = super::claimed(&self.preset, scenario) == Some(super::Outcome::Not);
        match within(if is_limit { BRIEF } else { PATIENCE }, is_so) {
            true => Ok(()),
            false => Err(Instead(format!("not seen: {what}\n{}", self.account()))),
        }
    }

    /// KILL to the program of the session.
    #[track_caller]
    pub fn kill(&self) {
        processes::kill(running(pid(&self.show())));
    }

    /// Presses a key, as a person at the terminal does.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.sealed.ok(["send", NAME, "--key", key]);
    }

    /// A person types a command of the program's own, sees it, and presses Enter until it has done what is
    /// expected of it: a program that is busy may take the first one for part of the line.
    pub fn type_command(
        &self,
        scenario: &str,
        command: &str,
        what: &str,
        mut is_done: impl FnMut() -> bool,
    ) -> Seen {
        self.sealed.ok(["send", NAME, "--no-enter", command]);
        self.until(command, || self.screen().contains(command));
        self.looks_for(scenario, what, || {
            // A session that has ended takes no keys.
            let _ended = self.sealed.run(["send", NAME, "--key", "Enter"]);
            within(ENTER_AGAIN, &mut is_done)
        })
    }

    pub fn screen(&self) -> String {
        self.sealed.run(["screen", NAME]).stdout
    }

    /// The vendor's own file of the agent's conversation.
    pub fn transcript(&self) -> Option<PathBuf> {
        let home = conversation::home(&self.preset.conversation, &self.sealed.dir, |_| None);
        let id = self.conversation().parse().ok()?;
        conversation::find(&self.preset, &home, &id)
    }

    /// A pipe in the agent's directory.
    #[track_caller]
    pub fn pipe(&self, name: &str) -> PathBuf {
        let pipe = self.work.join(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        pipe
    }

    /// For whoever looks into a failure.
    fn account(&self) -> String {
        let told = |args: &[&str]| self.sealed.run(args.iter().copied()).stdout;
        format!(
            "--- why\n{}\n--- logs\n{}\n--- screen\n{}\n--- events\n{}",
            told(&["why", NAME]),
            told(&["logs", NAME]),
            self.screen(),
            told(&["events"])
        )
    }
}

/// A prompt that tells the scripted model what to say.
pub fn prompt(turns: &Value) -> String {
    format!("go {} {turns}", understudy::MARK)
}

/// How often a request has these words.
pub fn count(record: &Record, words: &str) -> usize {
    let texts = record.request.messages.iter().map(|message| message.text());
    texts.map(|text| text.matches(words).count()).sum()
}

/// Whether it is so within this time. No event tells: it is looked at again and again.
fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        // A busy wait would take a core from who is waited for.
        std::thread::park_timeout(Duration::from_millis(20));
    }
    true
}
