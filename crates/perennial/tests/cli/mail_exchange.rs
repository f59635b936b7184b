//! Claude, Codex and Gemini write to each other, each model by its own tool `mail_send`: in a turn, at its end, and
//! idle with a half-typed line in the way. Judged by what the models received, by their vendors' files, and by `mail ls`.

use perennial_api::mail::{Mail, MailList};
use perennial_engine::harness::Preset;
use perennial_engine::harness::conformance::Surroundings;
use perennial_engine::harness::conversation;
use serde_json::json;
use understudy::{Kind, Part, Record, Role, Turn};

use crate::codex;
use crate::conformance::harness::Harness;
use crate::conformance::stage::{Stage, count};
use crate::sealed::finish;

/// Each writes to the next one, the last one to the first.
const RING: [&str; 3] = ["claude", "codex", "gemini"];
const DRAFT: &str = "half a line";

/// How a mail came, by what the model had said last when it was first told of it.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// With the result of a tool call.
    InTurn,
    /// After the words that would have ended the turn.
    AtItsEnd,
    /// Typed, as a prompt of its own.
    Idle,
}

struct Trio {
    stage: Stage,
    presets: [Preset; 3],
}

fn next(name: &str) -> &'static str {
    let at = RING.iter().position(|one| *one == name).expect("one of them");
    RING[(at + 1) % RING.len()]
}

fn done(name: &str) -> String {
    format!("{name} is done.")
}

impl Trio {
    /// One home with an agent of each vendor, whose models are told apart by their addresses.
    fn new() -> Trio {
        let stage = Stage::new(&Harness::named(RING[0]));
        let presets = RING.map(|name| {
            let harness = Harness::named(name);
            let preset = harness.install(&stage.sealed.home.config);
            let link = stage.sealed.dir.join("bin").join(&preset.program);
            if !link.exists() {
                std::os::unix::fs::symlink(harness.program(&preset), link).expect("linked");
            }
            preset
        });
        let trio = Trio { stage, presets };
        for preset in &trio.presets {
            let url = trio.stage.model.url_of(&preset.name);
            let files = trio.surroundings(preset, &url).files(conformance(preset));
            for (path, mut text) in files {
                // Its hooks run once their owner has trusted them.
                if preset.name == "codex" {
                    text += &codex::trusted();
                }
                let path = trio.stage.sealed.dir.join(path);
                std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
                std::fs::write(path, text).expect("written");
            }
        }
        trio
    }

    fn surroundings<'a>(&'a self, preset: &'a Preset, model_url: &'a str) -> Surroundings<'a> {
        let (home, work) = (&self.stage.sealed.dir, &self.stage.work);
        Surroundings { preset, home, work, model_url }
    }

    fn preset(&self, name: &str) -> &Preset {
        self.presets.iter().find(|preset| preset.name == name).expect("one of them")
    }

    #[track_caller]
    fn spawn(&self, name: &str) {
        let preset = self.preset(name);
        let url = self.stage.model.url_of(name);
        let mut words = vec!["spawn", name, "--harness", name, "--prompt", "Begin."];
        words.extend(conformance(preset).free.iter().map(String::as_str));
        let mut command = self.stage.command(&words);
        command.envs(self.surroundings(preset, &url).environment(conformance(preset)));
        let ran = finish(command);
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    /// The model writes to the next one of the ring.
    fn writes(&self, name: &str, when: &str) -> Turn {
        let tool = conformance(self.preset(name)).own_tool.clone().expect("our tools");
        let text = format!("{when}, from {name}");
        Turn::tool(tool.replace("{tool}", "mail_send"), json!({ "to": next(name), "text": text }))
    }

    fn runs_nothing(&self, name: &str) -> Turn {
        let shell = &conformance(self.preset(name)).shell;
        Turn::tool(shell.tool.clone(), json!(shell.call("true")))
    }

    /// The mails to an agent, the oldest first.
    fn mails(&self, name: &str) -> Vec<Mail> {
        let list: MailList = self.stage.sealed.json(&["mail", "ls", name]);
        list.mails.into_iter().rev().collect()
    }

    #[track_caller]
    fn until_sent(&self, name: &str, count: usize) {
        self.stage.until("the mail is recorded", || self.mails(name).len() == count);
    }

    #[track_caller]
    fn until_idle(&self, name: &str, seen: usize) {
        let is_seen = |mail: &Mail| mail.state == "seen";
        self.stage.until("its mail is seen, and its turn is over", || {
            let mails = self.mails(name);
            mails.len() == seen
                && mails.iter().all(is_seen)
                && self.stage.sealed.show(name).reason == "idle"
        });
    }

    /// The requests of an agent's main loop.
    fn requests(&self, name: &str) -> Vec<Record> {
        let all = self.stage.model.requests().into_iter().map(|record| (*record).clone());
        let is_own = |record: &Record| {
            record.request.kind == Kind::Main && record.name.as_deref() == Some(name)
        };
        all.filter(is_own).collect()
    }

    #[track_caller]
    fn released(&self, gate: &str) {
        if let Err(late) = self.stage.model.wait_until_held(gate) {
            panic!("{gate}: {late}\n{}", self.stage.sealed.ok(["events"]));
        }
        self.stage.model.release(gate);
    }

    /// A person begins a line; what comes for an idle agent meanwhile waits, and goes in once the line is free again.
    #[track_caller]
    fn waits_for_a_draft(&self, name: &str, mut sends: impl FnMut()) {
        self.stage.sealed.ok(["send", name, "--no-enter", DRAFT]);
        let screen = || self.stage.sealed.run(["screen", name]).stdout;
        self.stage.until("the draft", || screen().contains(DRAFT));
        sends();
        self.until_sent(name, 3);
        self.stage.until("the mail waits for the draft", || {
            self.mails(name)[2].why.as_deref().is_some_and(|why| why.contains("typed but not sent"))
        });
        assert!(screen().contains(DRAFT), "{}", screen());
        let words = format!("| idle, from {}", before(name));
        assert!(!self.requests(name).iter().any(|record| record.request.contains(&words)));
        let keys = DRAFT.chars().flat_map(|_| ["--key", "BSpace"]);
        self.stage.sealed.ok(["send", name].into_iter().chain(keys));
    }

    /// How these words first came to the model; `None`: they did not, or more than once.
    fn way(&self, name: &str, mail: &Mail, words: &str) -> Option<Way> {
        let requests = self.requests(name);
        if requests.last().is_none_or(|last| count(last, words) != 1) {
            return None;
        }
        let first = requests.iter().find(|record| record.request.contains(words))?;
        let events = self.stage.sealed.ok(["events", "--json"]);
        let is_typed = |line: &str| line.contains("message-entered") && line.contains(&mail.id);
        let messages = &first.request.messages;
        let said = messages.iter().rfind(|message| message.role == Role::Assistant)?;
        let is_call = said.parts.iter().any(|part| matches!(part, Part::Call { .. }));
        match (events.lines().any(is_typed), is_call) {
            (true, _) => Some(Way::Idle),
            (false, true) => Some(Way::InTurn),
            (false, false) => said.text().contains(&done(name)).then_some(Way::AtItsEnd),
        }
    }

    /// The vendor's own file of the agent's conversation.
    fn transcript(&self, name: &str) -> String {
        let preset = self.preset(name);
        let home = conversation::home(&preset.conversation, &self.stage.sealed.dir, |_| None);
        let id = self.stage.conversation_of(name).parse().expect("an id");
        let path = conversation::find(preset, &home, &id).expect("a file");
        std::fs::read_to_string(path).expect("a transcript")
    }
}

fn before(name: &str) -> &'static str {
    RING.into_iter().find(|one| next(one) == name).expect("one of them")
}

fn conformance(preset: &Preset) -> &perennial_engine::harness::conformance::Conformance {
    preset.conformance.as_ref().expect("a preset with [conformance]")
}

// covers: H-19, X-04
#[test]
fn claude_codex_and_gemini_exchange_mail_in_a_turn_at_its_end_and_idle() {
    let trio = Trio::new();
    let model = &trio.stage.model;
    for name in RING {
        let gate = |word: &str| format!("{name}:{word}");
        let mut script = vec![
            // With some vendors the first result carries who the agent is.
            trio.runs_nothing(name),
            trio.writes(name, "in the turn").gate(gate("first")),
            trio.runs_nothing(name).gate(gate("tool")),
        ];
        let at_the_end = trio.writes(name, "at the end");
        let ends = Turn::text(done(name)).gate(gate("end"));
        // The last of the ring begins: the others answer what they were told when their turn was to end.
        script.extend(match name {
            "gemini" => [at_the_end.gate(gate("second")), ends],
            _ => [ends, at_the_end],
        });
        script.extend([
            Turn::text(format!("{name} went on.")),
            trio.writes(name, "idle").gate(gate("idle")),
            Turn::text(format!("{name} wrote to {}.", next(name))),
            Turn::text(format!("{name} has heard all.")),
        ]);
        model.script(name, script);
        trio.spawn(name);
    }
    // In the turn.
    RING.iter().for_each(|name| trio.released(&format!("{name}:first")));
    RING.iter().for_each(|name| trio.until_sent(name, 1));
    RING.iter().for_each(|name| trio.released(&format!("{name}:tool")));
    // At its end: each is about to say its last words when the one before it writes.
    for name in ["claude:end", "codex:end", "gemini:second"] {
        model.wait_until_held(name).expect("a turn that is about to end");
    }
    // No mail is given while it is not known that the one before was taken.
    for name in RING {
        trio.stage.until("the first mail is seen", || {
            trio.mails(name).first().is_some_and(|mail| mail.state == "seen")
        });
    }
    trio.released("gemini:second");
    for name in RING {
        trio.until_sent(name, 2);
        trio.released(&format!("{name}:end"));
    }
    RING.iter().for_each(|name| trio.until_idle(name, 2));
    // Idle.
    trio.stage.sealed.ok(["send", "claude", "Write to codex once more."]);
    model.wait_until_held("claude:idle").expect("a turn");
    for name in RING {
        trio.waits_for_a_draft(next(name), || {
            trio.released(&format!("{name}:idle"));
            trio.stage.until("its turn is over", || trio.stage.sealed.show(name).reason == "idle");
        });
    }
    for name in RING {
        trio.until_idle(name, 3);
        let ways =
            [("in the turn", Way::InTurn), ("at the end", Way::AtItsEnd), ("idle", Way::Idle)];
        let transcript = trio.transcript(name);
        for (mail, (when, way)) in trio.mails(name).iter().zip(ways) {
            let words = format!("| {when}, from {}", before(name));
            assert_eq!(mail.from, before(name));
            assert_eq!(trio.way(name, mail, &words), Some(way), "{name}: {mail:?}");
            assert!(transcript.contains(&format!("{} from the agent", mail.id)), "{transcript}");
        }
        assert_eq!(trio.stage.sealed.show(name).session.map(|session| session.number), Some(1));
    }
}
