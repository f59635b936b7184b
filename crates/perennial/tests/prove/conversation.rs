//! One agent on a real Claude Code, the texts that were sent to it, and the judge of what arrived.
//!
//! Invariants
//! - J1  What counts is the last request of the main loop: the conversation as the model has it then.
//! - J2  A text whose `send` succeeded is in it once, by itself, after all that were sent before it.
//!   One whose `send` failed is in it once at most.

use std::time::Duration;

use serde_json::{Value, json};
use understudy::{Kind, Part, Record, Role};

use crate::claude::{Stage, bash, turns};
use crate::proof::{Proof, within};
use crate::sealed::ended;

/// How long a text may take to the model when nobody is killed any more.
const SETTLED: Duration = Duration::from_secs(120);
/// How long a single one is waited for before the next; whether it was lost is judged at the end.
const ARRIVED: Duration = Duration::from_secs(20);
const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

pub struct Conversation {
    pub stage: Stage,
    texts: Vec<Text>,
    /// Whether this binary has the verb `sent`.
    tells_sent: bool,
}

struct Text {
    token: String,
    acknowledged: bool,
    /// Sent at the same moment as the one before it: either may be first.
    beside_last: bool,
}

impl Conversation {
    /// An agent `ada` that has had its first turn and waits.
    pub fn start() -> Conversation {
        let stage = Stage::new();
        stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Ready." }])));
        stage.told("UNDERSTUDY");
        let ready = within(SETTLED, || stage.sealed.show("ada").reason == "idle");
        assert!(ready, "the first turn never ended: {:?}", stage.sealed.show("ada").reason);
        let tells_sent = stage.sealed.run(["--json", "sent", "ada"]).code == 0;
        Conversation { stage, texts: Vec::new(), tells_sent }
    }

    /// A new text's token. All are as long, so that none begins with another one.
    fn token(&self) -> String {
        format!("[text-{:04}]", self.texts.len())
    }

    fn note(&mut self, token: String, acknowledged: bool, beside_last: bool) {
        self.texts.push(Text { token, acknowledged, beside_last });
    }

    /// Sends a text with these words in it; its token, and whether the product took it.
    pub fn send(&mut self, words: &str) -> (String, bool) {
        let token = self.token();
        let taken = self.stage.sealed.run(["send", "ada", &format!("{token} {words}")]).code == 0;
        self.note(token.clone(), taken, false);
        (token, taken)
    }

    /// Sends two texts at the same moment.
    pub fn send_pair(&mut self) -> [String; 2] {
        let first = self.token();
        self.note(first.clone(), false, false);
        let second = self.token();
        self.note(second.clone(), false, true);
        let pair = [first, second];
        let running = pair.clone().map(|token| {
            let mut command =
                self.stage.sealed.command(["send", "ada", &format!("{token} a pair")]);
            command.stdin(std::process::Stdio::null());
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.spawn().expect("the binary runs")
        });
        let taken = running.map(|child| ended(child, "send").code == 0);
        let newest = self.texts.iter_mut().rev();
        newest.zip(taken.into_iter().rev()).for_each(|(text, taken)| text.acknowledged = taken);
        pair
    }

    /// Has the agent begin a turn whose tool call takes this long, and waits until the model has it.
    pub fn begin_turn(&mut self, seconds: &str) {
        let program = json!([{ "tools": bash(&format!("sleep {seconds}")) }, { "text": "Done." }]);
        let (token, _) = self.send(&turns(&program));
        self.arrives(&token);
    }

    /// Whether the model is told this text within a while.
    pub fn arrives(&self, token: &str) -> bool {
        let is_told =
            |record: &Record| record.request.kind == Kind::Main && record.request.contains(token);
        self.stage.model.wait_for(is_told, ARRIVED).is_ok()
    }

    /// What the product says of the texts that are not seen yet: state and reason of each.
    pub fn unseen(&self) -> Vec<(String, String)> {
        if !self.tells_sent {
            return Vec::new();
        }
        let text = self.stage.sealed.run(["--json", "sent", "ada"]).stdout;
        let all: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        all.iter()
            .map(|one| (word(one, "state"), word(one, "why")))
            .filter(|(state, _)| !matches!(state.as_str(), "seen" | "withdrawn"))
            .collect()
    }

    pub fn tells_sent(&self) -> bool {
        self.tells_sent
    }

    /// Waits until everything has arrived that will, and judges.
    pub fn judge(mut self, proof: &mut Proof) {
        let rests = within(SETTLED, || {
            self.unseen().is_empty() && self.stage.sealed.show("ada").reason == "idle"
        });
        if !rests {
            let ada = self.stage.sealed.show("ada");
            let unseen = self.unseen();
            proof.violated(&format!("never came to rest: {} {} {unseen:?}", ada.state, ada.reason));
        }
        let (last, _) = self.send("the last one");
        if !self.arrives(&last) {
            proof.violated("the last text never arrived");
        }
        let requests = self.stage.model.requests();
        let is_main = |record: &&std::sync::Arc<Record>| record.request.kind == Kind::Main;
        let Some(record) = requests.iter().rfind(is_main) else {
            return proof.violated("the model was never asked");
        };
        let violations = judged(&self.texts, record);
        for violation in &violations {
            proof.violated(violation);
        }
        if !violations.is_empty() {
            self.tell_story(record);
        }
    }

    /// What was told and what the journal has, for whoever looks into a violation.
    fn tell_story(&self, record: &Record) {
        for part in told(record) {
            eprintln!("    told: {:?}", part.chars().take(60).collect::<String>());
        }
        self.stage.sealed.ok(["events"]).lines().for_each(|line| eprintln!("    {line}"));
    }
}

/// The texts that the model has of its user.
fn told(record: &Record) -> Vec<&str> {
    let prompts = record.request.messages.iter().filter(|message| message.role == Role::User);
    prompts
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Thinking(_)
            | Part::Filler(_)
            | Part::Call { .. }
            | Part::Result { .. }
            | Part::Unread(_) => None,
        })
        .collect()
}

/// What is wrong with the texts of a conversation (J2).
fn judged(texts: &[Text], record: &Record) -> Vec<String> {
    let parts = told(record);
    let mut wrong = Vec::new();
    let mut newest = None;
    for text in texts {
        let token = &text.token;
        let found: Vec<usize> = (0..parts.len())
            .flat_map(|at| parts[at].matches(token.as_str()).map(move |_| at))
            .collect();
        match found.as_slice() {
            [] if text.acknowledged => wrong.push(format!("lost: {token}")),
            [] | [_] => {}
            [..] => wrong.push(format!("told {} times: {token}", found.len())),
        }
        let Some(first) = found.first().copied() else { continue };
        let mut within = texts.iter().filter(|other| parts[first].contains(&other.token));
        // Told once, with the first of them.
        if within.next().is_some_and(|other| other.token == *token) && within.next().is_some() {
            wrong.push(format!("glued: {:?}", parts[first]));
        }
        if text.acknowledged && !text.beside_last {
            if newest.is_some_and(|newest| first < newest) {
                wrong.push(format!("out of order: {token}"));
            }
            newest = Some(first);
        }
    }
    wrong
}
