//! A recorded session of a real agent CLI, as facts, and what comes of it when it is heard again.
//!
//! `recorded/*.txt` has a fact per line: seconds since the beginning, who saw it, what was seen, and
//! `name=value` words; a text follows a bar. Made from the daemon's log of facts (level `debug`).

use std::collections::BTreeMap;
use std::time::Duration;

use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::Followed;
use perennial_core::event::AgentEvent;
use perennial_core::fact::{CallName, Fact, Listed, Origin, Seen};
use perennial_core::hearing::Tell;
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::time::Time;

use crate::listener::{Listener, conversation, fingerprint};

pub const CLAUDE: &str = include_str!("recorded/claude.txt");

/// What a session came to: every state in its order, every threshold, and what its model was told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Story {
    pub states: Vec<(State, Reason)>,
    pub clock: Vec<AgentEvent>,
    pub tells: Vec<Tell>,
    pub notices: Vec<Threshold>,
    pub tool_calls: u64,
}

struct Line<'a> {
    at: Duration,
    origin: &'a str,
    what: &'a str,
    words: BTreeMap<&'a str, &'a str>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Line<'a> {
        let (head, text) = line.split_once(" | ").unwrap_or((line, ""));
        let mut parts = head.split(' ');
        let mut next = || parts.next().expect("a line has three words at least");
        let (at, origin, what) = (next(), next(), next());
        let words = parts.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        Line { at: seconds(at), origin, what, words, text }
    }

    fn word(&self, name: &str) -> &'a str {
        self.words.get(name).unwrap_or_else(|| panic!("no {name} in {} {}", self.origin, self.what))
    }

    fn number(&self, name: &str) -> u64 {
        self.word(name).parse().expect("a number")
    }

    fn calls(&self) -> Vec<CallName> {
        let names = self.word("calls").split(',').filter(|name| !name.is_empty());
        names.map(|name| CallName(name.to_owned())).collect()
    }

    fn seen(&self) -> Seen {
        let call = || CallName(self.word("call").to_owned());
        let text = || self.text.to_owned();
        match self.what {
            "began" => Seen::SessionBegan(
                Followed::ALL.into_iter().find(|how| how.word() == self.word("how")).expect("how"),
            ),
            "prompt-submitted" => Seen::PromptSubmitted { text: fingerprint(&text()) },
            "tools-finished" => {
                let in_subagent = self.words.contains_key("subagent");
                Seen::ToolsFinished { calls: self.calls(), in_subagent }
            }
            "permission-asked" => {
                Seen::PermissionAsked { tool: Some(self.word("tool").to_owned()) }
            }
            "idle-told" => Seen::IdleTold,
            "reply-ended" => {
                let background_tasks = self.number("background").try_into().expect("few");
                Seen::ReplyEnded { background_tasks }
            }
            "compacted" => Seen::Compacted,
            "status-line" => Seen::StatusLine { model: None, sample: self.sample() },
            "prompt" => Seen::Prompt { text: fingerprint(&text()) },
            "added" => Seen::Added { text: text() },
            "answered" => Seen::Answered,
            "tool-called" => Seen::ToolCalled(call()),
            "tool-answered" => Seen::ToolAnswered(call()),
            "interrupted" => Seen::Interrupted,
            "caught-up" => Seen::CaughtUp,
            "listed" => Seen::Listed(match self.word("as") {
                "busy" => Listed::Busy,
                "idle" => Listed::Idle,
                "permission" => Listed::Permission,
                "question" => Listed::Question,
                "menu" => Listed::Menu,
                other => panic!("listed as {other}"),
            }),
            "silence" => Seen::Silence { lasted: seconds(self.word("lasted")), received: None },
            other => panic!("{other} is no fact"),
        }
    }

    fn sample(&self) -> Option<Sample> {
        self.words.contains_key("tokens").then(|| Sample {
            tokens: self.number("tokens"),
            window: self.number("window"),
            usable: self.number("usable"),
            source: Source::StatusLine,
        })
    }

    fn fact(&self, beginning: Time) -> Fact {
        let origins = [
            Origin::Hook,
            Origin::StatusLine,
            Origin::Transcript,
            Origin::List,
            Origin::Kernel,
            Origin::Terminal,
            Origin::Agent,
            Origin::Git,
        ];
        let origin = origins.into_iter().find(|origin| origin.word() == self.origin);
        let is_report = matches!(origin, Some(Origin::Hook | Origin::StatusLine));
        let called_at = is_report.then(|| beginning + self.at);
        Fact {
            conversation: self.words.get("conversation").map(|name| conversation(name)),
            at: self.words.get("at").map(|at| beginning + seconds(at)).or(called_at),
            is_old: self.words.contains_key("old"),
            is_answerable: self.words.contains_key("answerable"),
            ..Fact::new(origin.expect("somebody saw it"), self.seen())
        }
    }
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(text.parse().expect("seconds"))
}

/// What happens at a fact, beside its being heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disturbance {
    /// Another daemon takes over before it.
    pub restart: bool,
    /// It is heard twice.
    pub doubled: bool,
}

/// Every fact of a recording, as a line.
pub fn facts(script: &str) -> impl Iterator<Item = &str> {
    script.lines().filter(|line| !line.starts_with('#'))
}

/// Hears the recording, disturbed at each fact as its position in the recording says.
pub fn replay(script: &str, disturb: impl Fn(usize) -> Disturbance) -> Story {
    let mut listener = Listener::unborn();
    let beginning = listener.told.now;
    let mut story = Story::default();
    for (position, line) in facts(script).enumerate() {
        let line = Line::read(line);
        let Disturbance { restart, doubled } = disturb(position);
        listener.told.now = listener.told.now.max(beginning + line.at);
        if restart {
            story.take(&mut listener, Listener::restart);
        }
        for _ in 0..=usize::from(doubled) {
            story.take(&mut listener, |listener| drop(listener.hear(&line.fact(beginning))));
        }
    }
    story.tells.clone_from(&listener.tells);
    story.notices.clone_from(&listener.notices);
    story.tool_calls = listener.hearing().map_or(0, |hearing| hearing.tool_calls());
    story
}

impl Story {
    /// Lets something be heard, and notes what came of it.
    fn take(&mut self, listener: &mut Listener, act: impl FnOnce(&mut Listener)) {
        listener.events.clear();
        act(listener);
        for event in &listener.events {
            let Some((_, event)) = event.of_agent() else { continue };
            match event {
                AgentEvent::Moved(moved) => self.states.push((moved.to, moved.reason)),
                AgentEvent::ClockPassed { .. }
                | AgentEvent::ClockTold { .. }
                | AgentEvent::WindowBegan { .. } => self.clock.push(event.clone()),
                _ => {}
            }
        }
    }
}
