//! A second, made-up vendor behind the port: other words for hooks, ids of its own choice, paths with
//! parts that only it knows, lines that are no JSON. What works for it is wired to no vendor.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId, SessionId, SessionNumber};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::observation::{Observation, Report, Stocktaking};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_engine::harness::dialect::{Call, Dialect, NotUnderstood, Wiring};
use perennial_engine::harness::prepare::Continuity;
use perennial_engine::harness::template::{Slot, Values};
use perennial_engine::harness::typing::fingerprint;
use perennial_engine::harness::{
    FirstWords, Preset, SessionFiles, Unprepared, conversation, prepare,
};
use perennial_engine::supervisor::{Input, Output, Supervisor, Waiter};
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::facts;
use perennial_engine::transcript::line_reader::{ContextUse, LineReader, Notes};
use perennial_engine::transcript::page::{self, Place, Source};
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, Excerpt, Step, Tokens, Usage};
use perennial_engine::transcript::survey::Survey;
use perennial_engine::transcript::tail::{self, Buffer};
use perennial_store::Seq;

const PRESET: &str = r#"
program = "parrot"
version_args = ["version"]
measured = "1"
dialect = "claude"
resume_prompt = "go on"

[argv]
start = ["--hooks", "{settings}", { when = "prompt", args = ["{prompt}"] }]
resume = ["again", "{conversation}", "--hooks", "{settings}"]

[permission]
modes = []

[end]
clean_codes = [0]
kill_signal = "TERM"

[environment]
set = {}
trust = {}
scrub = []

[conversation]
home = ".parrot"
transcript = "talks/*/talk-*-{conversation}.txt"

[hooks]
timeout_s = 5
events = [{ event = "Hello" }, { event = "Said" }]

[input]
first_column = 1
right_margin = 0
tab_columns = 4

[context]
window_source = "model-table"
compaction_reserve_tokens = 0
window_tokens = 1000
"#;

#[derive(Debug)]
struct Parrot;

impl Dialect for Parrot {
    fn name(&self) -> &'static str {
        "parrot"
    }

    fn preset(&self) -> &'static str {
        PRESET
    }

    fn wire(
        &self,
        preset: &Preset,
        _: &Launch,
        _: &SessionFiles<'_>,
        _: &Path,
    ) -> Result<Wiring, Unprepared> {
        let events: Vec<&str> = preset.hooks.events.iter().map(|hook| &*hook.event).collect();
        let values = Values::from([(Slot::Settings, vec![events.join("+")])]);
        Ok(Wiring { values, ..Wiring::default() })
    }

    /// `ID` or `ID TEXT`.
    fn hook(&self, event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
        let input = String::from_utf8_lossy(input);
        let (id, text) = input.split_once(' ').unwrap_or((&input, ""));
        let id: ConversationId = id.parse().map_err(|_| NotUnderstood::NoConversation)?;
        let seen = match event {
            "Hello" => Some(Seen::SessionBegan(Followed::Started)),
            "Said" => Some(Seen::PromptSubmitted { text: fingerprint(text) }),
            _ => None,
        };
        let fact = seen.map(|seen| Fact::new(Origin::Hook, seen).within(Some(id)));
        Ok(Call { fact, is_partial: false })
    }

    fn reply(&self, event: &str, text: &str) -> Option<Vec<u8>> {
        (event == "Said").then(|| format!("psst: {text}").into_bytes())
    }

    fn line_reader(&self) -> Box<dyn LineReader> {
        Box::new(Lines(Notes::default()))
    }

    fn usages(&self, whole: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> u64 {
        tail::lines(whole).filter_map(usage).for_each(|usage| each(usage, None));
        0
    }

    fn is_begun(&self, transcript: &[u8]) -> bool {
        transcript.starts_with(b"you ")
    }
}

/// `you TEXT`, and `it TOKENS` for an answer.
#[derive(Debug)]
struct Lines(Notes);

impl LineReader for Lines {
    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) {
        self.0.lines += 1;
        let said = line.strip_prefix(b"you ").map(String::from_utf8_lossy);
        let prompt = said.map(|text| Content::Prompt(Excerpt::of_prompt(&text)));
        let content = prompt.or_else(|| usage(line).map(Content::Usage));
        if let Some(content) = content {
            each(Step { id: None, parent: None, time: None, is_subagent: false, content });
        }
    }

    fn restart(&mut self) {
        self.0 = Notes::default();
    }

    fn oversized(&mut self) {}

    fn notes(&self) -> Notes {
        self.0
    }

    fn context(&self) -> ContextUse {
        ContextUse::Unknown
    }
}

fn usage(line: &[u8]) -> Option<Usage> {
    let output = std::str::from_utf8(line.strip_prefix(b"it ")?).ok()?.parse().ok()?;
    let tokens = Tokens { output, ..Tokens::default() };
    Some(Usage { message: output.to_string(), tokens, ..Usage::default() })
}

/// Read as any preset is; only the registry of the product does not have the vendor.
fn preset() -> Preset {
    let config = tempfile::tempdir().expect("a directory");
    fs::create_dir(config.path().join("harness")).expect("a directory");
    fs::write(config.path().join("harness/parrot.toml"), PRESET).expect("written");
    let preset = Preset::load(config.path(), "parrot").expect("a good preset");
    Preset { dialect: &Parrot, ..preset }
}

fn launch() -> Launch {
    Launch {
        harness: "parrot".into(),
        host: Host::Shim,
        argv: vec!["parrot".into()],
        dir: "/work".into(),
        env_names: Vec::new(),
        project: "/work".into(),
        options: Options { prompt: Some("hi".into()), ..Options::default() },
    }
}

/// What a session with this opening is started with, in this home directory.
fn started(home: &Path, opening: &Opening) -> (Vec<String>, Continuity) {
    let place = SessionFiles {
        session_dir: &home.join("session"),
        home,
        variables: &[],
        exe: Path::new("/opt/perennial"),
        copies: &home.join("copies"),
    };
    let prepared =
        prepare(&preset(), &launch(), opening, &place, &FirstWords::NONE).expect("prepared");
    (prepared.argv, prepared.continuity)
}

fn step(supervisor: &mut Supervisor, input: Input) {
    for output in supervisor.step(input, Time(1_700_000_000_000_000)) {
        if let Output::Append { append, .. } = output {
            step(supervisor, Input::Durable(append, Seq(0)));
        }
    }
}

/// A supervisor with one agent, whose first session runs.
fn running() -> (Supervisor, AgentId) {
    let agent = AgentId(7);
    let mut supervisor = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    let boot = BootId("00000000-0000-4000-8000-000000000001".into());
    step(
        &mut supervisor,
        Input::Observed(Observation::Started {
            boot,
            version: "test".into(),
            is_copy: false,
            stocktaking: Stocktaking::default(),
        }),
    );
    let (name, restart) = ("polly".parse().ok(), Restart::OnCrash);
    let (role, parent, conversation) = (None, None, None);
    let spawn = Spawn {
        id: agent,
        name,
        role,
        parent,
        launch: launch(),
        restart,
        conversation,
        situations: Vec::new(),
    };
    let command = Command::Spawn(Box::new(spawn));
    let request = Request { caller: Caller::Person, command };
    step(&mut supervisor, Input::Request { waiter: Waiter(1), request });
    let report = Report::Executed(Process { pid: 1000, start_ticks: 1 });
    let number = SessionNumber::FIRST;
    step(&mut supervisor, Input::Observed(Observation::Session { agent, number, report }));
    (supervisor, agent)
}

#[test]
fn a_vendor_chooses_the_ids_of_its_conversations() {
    let home = tempfile::tempdir().expect("a directory");
    let (mut supervisor, agent) = running();
    let number = SessionNumber::FIRST;
    let made_up = ConversationId::of(SessionId { agent, number });
    let (argv, continuity) = started(home.path(), &Opening::Fresh(made_up.clone()));
    assert_eq!(argv, ["parrot", "--hooks", "Hello+Said", "hi"]);
    assert_eq!(continuity, Continuity::Begun);
    // It died before it named its conversation: nothing can be resumed, and it begins again.
    let resume = |conversation| Opening::Resume { conversation, turn: Turn::Open };
    let (argv, continuity) = started(home.path(), &resume(made_up));
    assert_eq!((argv[1].as_str(), continuity), ("--hooks", Continuity::Gone));
    let own: ConversationId = "thread-1".parse().expect("an id");
    for (event, input) in [("Hello", "thread-1"), ("Said", "thread-1 hi")] {
        let fact = Parrot.hook(event, input.as_bytes()).expect("understood").fact;
        let fact = fact.expect("a fact");
        step(&mut supervisor, Input::Heard { agent, number, fact });
    }
    let known = supervisor.fleet().agent(agent).expect("it lives").conversations.clone();
    assert_eq!(known.expect("it has one").current, own);
    let theirs = home.path().join(".parrot/talks/2026/talk-0815-thread-1.txt");
    fs::create_dir_all(theirs.parent().expect("below")).expect("made");
    fs::write(&theirs, "you hi\n").expect("written");
    let (argv, continuity) = started(home.path(), &resume(own));
    assert_eq!(argv, ["parrot", "again", "thread-1", "--hooks", "Hello+Said"]);
    assert_eq!(continuity, Continuity::Kept);
}

#[test]
fn transcripts_in_another_form_are_followed_paged_and_surveyed() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("talks/2026/talk-0815-thread-1.txt");
    fs::create_dir_all(path.parent().expect("below")).expect("made");
    fs::write(&path, "you hi\nit 5\nyou bye\nit 7\n").expect("written");
    let files = conversation::all(&preset(), home.path());
    assert_eq!(files.len(), 1);
    assert_eq!((&files[0].path, files[0].conversation.as_str()), (&path, "thread-1"));
    let account = Account::new(Prices::built_in());
    let mut conversation = Conversation::new(&Parrot, path.clone(), account, 0);
    let mut seen = Vec::new();
    let each = |step: &Step| seen.extend(facts::fact(step).map(|fact| fact.seen));
    conversation.update(&mut Buffer::default(), each).expect("it can be read");
    let prompt = |text| Seen::Prompt { text: fingerprint(text) };
    assert_eq!(seen, [prompt("hi"), Seen::Answered, prompt("bye"), Seen::Answered]);
    assert_eq!(conversation.account().total().tokens.output, 12);
    let mut survey = Survey::new(Prices::built_in());
    survey.add(&Parrot, path.clone(), "thread-1");
    assert!(survey.update().is_empty());
    assert_eq!(survey.account().total().tokens.output, 12);
    let source = Source { path, name: "thread-1".to_owned(), is_subagent: false };
    let page = page::read(&Parrot, &[source], &Place::default(), |_| true);
    assert_eq!((page.steps.len(), page.is_last), (4, true));
    // Where the next conversation will be is the vendor's secret: what is above it is watched.
    let next = "thread-2".parse().expect("an id");
    let watched = conversation::directories(&preset(), home.path(), "/work", &next);
    assert_eq!(watched, [home.path().join("talks")]);
}

#[test]
fn what_a_vendor_does_not_have_is_told_as_absent() {
    let preset = preset();
    let drawn = Parrot.status_line(b"{}", &preset.context, None);
    assert_eq!(drawn, Err(NotUnderstood::NoStatusLine));
    assert_eq!(Parrot.listing(b"{}"), None);
    assert_eq!(Parrot.reply("Hello", "x"), None);
    assert_eq!(Parrot.reply("Said", "x").as_deref(), Some(&b"psst: x"[..]));
}
