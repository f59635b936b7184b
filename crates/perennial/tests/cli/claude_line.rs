//! Texts typed into the input line of a real Claude Code by its shim: no daemon, so that each try is
//! seen by itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::{AgentId, Epoch, SessionNumber};
use perennial_core::launch::{Host, Launch};
use perennial_core::session::Pace;
use perennial_engine::harness::input::Input;
use perennial_engine::harness::{Preset, typing};
use perennial_engine::host::attach::Attachment;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::holders::{
    Delivery, Focus, HeldRecord, HostRefusal, LineReport, Mode, Outcome, Program,
};
use perennial_engine::host::recording::Recording;
use perennial_engine::host::{Holders, HostReport, Ladder, Settings, environment};
use serde_json::{Value, json};
use understudy::{Repeat, Script, Turn, Understudy};

use crate::claude::Stage;

const PATIENCE: Duration = Duration::from_secs(90);
const AGENT: AgentId = AgentId(1);
const NUMBER: SessionNumber = SessionNumber(1);

/// A Claude Code in a shim, a model for it, and its `UserPromptSubmit` hook in a file.
struct Session {
    dir: tempfile::TempDir,
    model: Understudy,
    holders: Holders,
    reports: Receiver<HostReport>,
    input: Input,
    attempts: u32,
}

impl Session {
    fn new(turns: impl Into<Vec<Turn>>) -> Session {
        let session = Session::unstarted(turns);
        session.start(&json!({}));
        session.await_output("\x1b[22;3H");
        session.await_output("for shortcuts");
        session
    }

    /// As the client draws after it was killed while it started: without a place for the caret.
    fn classic(turns: impl Into<Vec<Turn>>) -> Session {
        let session = Session::unstarted(turns);
        let disabled = json!({ "version": "2.1.325", "at": 1_790_000_000_000_u64, "strikes": 3 });
        session.start(&json!({ "fullscreenAutoDisabled": disabled }));
        session.await_output("for");
        session.await_output("shortcuts");
        assert!(!session.output().contains("\x1b[?1049h"), "{:?}", session.output());
        session
    }

    fn unstarted(turns: impl Into<Vec<Turn>>) -> Session {
        let dir = tempfile::tempdir().expect("a directory");
        let model = Understudy::start(Script::new(turns)).expect("a model");
        let preset = Preset::load(Path::new("/nonexistent"), "claude").expect("built in");
        let input = preset.input.expect("has an input line");
        let (holders, reports) = holders(dir.path(), Epoch(1));
        Session { dir, model, holders, reports, input, attempts: 0 }
    }

    /// The next run of the daemon; `between` is while none runs.
    fn restart_daemon(&mut self, between: impl FnOnce()) {
        self.holders.clone().stop();
        between();
        (self.holders, self.reports) = holders(self.dir.path(), Epoch(2));
        self.holders.order(SessionEffect {
            agent: AGENT,
            number: NUMBER,
            recorded: None,
            action: Action::Hold,
        });
    }

    /// `also_seen` joins what the client remembers of earlier starts.
    fn start(&self, also_seen: &Value) {
        let dir = self.dir.path();
        let work = dir.join("work");
        std::fs::create_dir_all(&work).expect("made");
        let project = work.to_string_lossy().into_owned();
        let mut seen = json!({
            "hasCompletedOnboarding": true, "lastOnboardingVersion": "2.1.325", "theme": "dark",
            "hasSeenAutoDefaultNotice": true, "lastReleaseNotesSeen": "2.1.325",
            "officialMarketplaceAutoInstallAttempted": true,
            "officialMarketplaceAutoInstalled": true,
            "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
            "projects": { project.clone(): {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
        });
        let seen_fields = seen.as_object_mut().expect("an object");
        seen_fields.extend(also_seen.as_object().expect("an object").clone());
        std::fs::write(dir.join(".claude.json"), seen.to_string()).expect("written");
        let tell = format!("cat >> {0}; echo >> {0}", dir.join("prompts").display());
        let hook = json!([{ "hooks": [{ "type": "command", "command": tell }] }]);
        let settings = json!({ "hooks": { "UserPromptSubmit": hook } });
        let settings_file = dir.join("hooks.json");
        std::fs::write(&settings_file, settings.to_string()).expect("written");
        let holder = self.directory();
        holder.create().expect("made");
        let home = dir.to_string_lossy().into_owned();
        let url = self.model.url();
        let variables = [
            ("HOME", home.as_str()),
            ("TMPDIR", home.as_str()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "test-key"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("IS_SANDBOX", "1"),
        ];
        environment::write(holder.path(), variables).expect("written");
        let argv: Vec<String> = [
            Stage::claude().to_string_lossy().into_owned(),
            "--settings".to_owned(),
            settings_file.to_string_lossy().into_owned(),
            "--permission-mode".to_owned(),
            "manual".to_owned(),
        ]
        .to_vec();
        let launch = Launch {
            harness: "claude".to_owned(),
            host: Host::Shim,
            argv: argv.clone(),
            dir: project.clone(),
            env_names: Vec::new(),
            project: project.clone(),
            options: Default::default(),
        };
        let action = Action::Start(Box::new(launch), Opening::Bare);
        let input = Some(self.input.rules());
        let program = Program { argv, dir: project, input, ..Program::default() };
        self.holders.order_start(
            SessionEffect { agent: AGENT, number: NUMBER, recorded: None, action },
            program,
        );
        self.line_is(LineReport::default());
    }

    fn directory(&self) -> HolderDirectory {
        HolderDirectory::new(&self.dir.path().join("holders"), AGENT)
    }

    fn output(&self) -> String {
        recorded(&self.directory())
    }

    fn await_output(&self, words: &str) {
        until(words, || self.output().contains(words), || self.output());
    }

    /// Waits for these words behind what has been printed before.
    fn await_more(&self, before: usize, words: &str) {
        await_recorded(&self.directory(), before, words);
    }

    fn line_is(&self, expected: LineReport) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(left).expect("the line is told") {
                HostReport::Line { line, .. } if line == expected => return,
                _ => {}
            }
        }
    }

    /// One try.
    fn deliver(&mut self, text: &str) -> Outcome {
        self.deliver_as_wide(text, 0)
    }

    /// One try, with the text's last line said to be wider than it is.
    fn deliver_as_wide(&mut self, text: &str, too_many_columns: u32) -> Outcome {
        let answers = self.order(text, too_many_columns);
        answers.recv_timeout(PATIENCE).expect("an answer").expect("the shim answers")
    }

    fn order(
        &mut self,
        text: &str,
        too_many_columns: u32,
    ) -> Receiver<Result<Outcome, HostRefusal>> {
        let mut typed = typing::clean(text, &self.input).expect("a prompt");
        *typed.columns.last_mut().expect("a line") += too_many_columns;
        self.attempts += 1;
        let (sender, answers) = channel();
        let delivery = Delivery {
            message: "message".to_owned(),
            attempt: self.attempts,
            text: typed.text,
            columns: typed.columns,
        };
        self.holders.deliver(AGENT, NUMBER, delivery, move |answer| {
            let _test_over = sender.send(answer);
        });
        answers
    }

    /// Tries until one succeeds, and the one prompt that is told for it: a client on a loaded machine
    /// may show an echo too late, and what was pasted then is erased.
    fn delivered(&mut self, text: &str) {
        let before = self.prompts().len();
        let deadline = Instant::now() + PATIENCE;
        let mut outcomes = Vec::new();
        while outcomes.last() != Some(&Outcome::Entered) {
            let shown = (&outcomes, self.output());
            assert!(Instant::now() < deadline, "{text:?} was not entered: {shown:?}");
            outcomes.push(self.deliver(text));
        }
        until(text, || self.prompts().len() > before, || self.output());
        let prompts = self.prompts();
        assert_eq!(prompts.len(), before + 1, "{prompts:?}");
        assert!(typing::is_same_text(&prompts[before], text), "{:?} {text:?}", prompts[before]);
        self.holders.heard(AGENT, NUMBER);
    }

    /// A try that is held because the line is not where the keys are.
    fn held(&mut self, text: &str) {
        let outcome = self.deliver(text);
        // By the caret before the paste, or by the echo that did not come.
        let is_held = matches!(outcome, Outcome::Held(HeldRecord::Doubt | HeldRecord::NoEcho));
        assert!(is_held, "{outcome:?}; {:?}", self.output());
    }

    /// What the hook was told so far.
    fn prompts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("prompts")).unwrap_or_default();
        // The last line may not be whole yet.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        whole
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|told| told["prompt"].as_str().expect("a prompt").to_owned())
            .collect()
    }

    fn attach(&self) -> Attachment {
        let (sender, answers) = channel();
        self.holders.ticket(AGENT, NUMBER, Mode::Attach, move |answer| {
            let _test_over = sender.send(answer);
        });
        let ticket = answers.recv_timeout(PATIENCE).expect("an answer").expect("a ticket");
        Attachment::attach(&ticket.socket, &ticket.token, (24, 80), None).expect("attached")
    }

    fn settings(&self) -> PathBuf {
        self.dir.path().join(".claude/settings.json")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let end = Action::End(Pace::AtOnce);
        self.holders.order(SessionEffect {
            agent: AGENT,
            number: NUMBER,
            recorded: None,
            action: end,
        });
        while let Ok(report) = self.reports.recv_timeout(PATIENCE) {
            if matches!(&report, HostReport::Session { report, .. } if report.exit().is_some()) {
                break;
            }
        }
        let release = Action::Release;
        self.holders.order(SessionEffect {
            agent: AGENT,
            number: NUMBER,
            recorded: None,
            action: release,
        });
        self.holders.clone().stop();
    }
}

fn holders(dir: &Path, epoch: Epoch) -> (Holders, Receiver<HostReport>) {
    let (sender, reports) = channel();
    let settings = Settings {
        holders_dir: dir.join("holders"),
        jobs_dir: dir.join("jobs"),
        home: None,
        program: env!("CARGO_BIN_EXE_perennial").into(),
        epoch,
        ladder: Ladder::default(),
        record_limit_bytes: 8 << 20,
        nofile: None,
        cgroup: None,
    };
    let holders = Holders::start(settings, move |report| {
        let _test_over = sender.send(report);
    });
    (holders.expect("holders start"), reports)
}

fn recorded(holder: &HolderDirectory) -> String {
    let recording = Recording::open(&holder.session(NUMBER));
    let tail = recording.and_then(|recording| recording.tail(8 << 20));
    String::from_utf8_lossy(&tail.map(|(_, bytes)| bytes).unwrap_or_default()).into_owned()
}

fn await_recorded(holder: &HolderDirectory, before: usize, words: &str) {
    let is_there = || recorded(holder).get(before..).is_some_and(|more| more.contains(words));
    until(words, is_there, || recorded(holder));
}

fn until(what: &str, mut is_so: impl FnMut() -> bool, shown: impl Fn() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}; the terminal: {:?}", shown());
        // No event tells; a busy wait would take a core from who is waited for.
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
}

fn hello() -> Turn {
    Turn::text("Hello from the model, on a line that is not short.\n\n- one\n- two\n- three")
        .repeat(Repeat::ALWAYS)
}

/// Texts whose last word the client would complete: from a list, by Enter, or by a suggestion behind the caret.
const COMPLETED: [&str; 4] = ["then /mod", "so nice :sm", "so nice :smile", "look at @noth"];

#[test]
fn texts_are_one_prompt_each_in_order() {
    let mut session = Session::new([hello()]);
    for index in 0..6 {
        session.delivered(&format!("text number {index}"));
    }
    session.delivered("y");
    session.delivered("C:\\dir\\");
    for text in COMPLETED {
        session.delivered(text);
    }
    session.delivered("a\u{202e}b \u{200b}c");
    session.delivered("fam \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{4e16}\u{754c} caf\u{e9}");
    // Shown and told in its composed form.
    session.delivered("cafe\u{301} \u{1112}\u{1161}\u{11ab} \u{212b}");
}

#[test]
fn long_texts_and_texts_of_several_lines_are_one_prompt_each() {
    let mut session = Session::new([hello()]);
    session.delivered("Something to be said before.");
    session.delivered("one\ntwo three\nfour");
    let words: Vec<String> = (0..45).map(|index| format!("word{index}")).collect();
    session.delivered(&words.join(" "));
    session.delivered(&format!("{}yz", "x".repeat(120)));
    session.delivered(&"2 kB in one line ".repeat(120));
    let lines: Vec<String> = (0..33).map(|index| format!("line {index}")).collect();
    session.delivered(&lines.join("\n"));
    session.delivered("and something short");
}

/// A text whose echo is not proven stays in the line, and is erased before the next is typed.
#[test]
fn what_was_not_proven_is_erased_key_by_key() {
    let mut session = Session::new([hello()]);
    session.delivered("before");
    for round in 0..3 {
        for _ in 0..3 {
            let text = format!("{}\nend", "leftover of many rows ".repeat(30));
            // A client that draws late leaves the line in doubt for a while.
            let mut outcome = Outcome::Held(HeldRecord::Doubt);
            while matches!(outcome, Outcome::Held(HeldRecord::Doubt | HeldRecord::Leftover)) {
                outcome = session.deliver_as_wide(&text, 2);
            }
            assert_eq!(outcome, Outcome::Held(HeldRecord::NoEcho));
        }
        session.delivered(&format!("after {round}"));
        session.delivered("and once more");
    }
    assert!(!session.output().contains("invisible"), "{:?}", session.output());
}

#[test]
fn without_a_caret_texts_are_one_prompt_each_too() {
    let mut session = Session::classic([hello()]);
    for index in 0..4 {
        session.delivered(&format!("plain {index}"));
    }
    session.delivered("y");
    session.delivered("a text that is longer than any word of the client");
    session.delivered("one\ntwo three\nfour");
    for text in COMPLETED {
        session.delivered(text);
    }
    session.delivered(&"2 kB in one line ".repeat(120));
    session.delivered("and something short");
}

/// A client that did not take the Enter has the text in its line, as has one whose hook is lost.
#[test]
fn without_a_caret_what_may_be_left_is_erased() {
    let mut session = Session::classic([hello()]);
    for index in 0..3 {
        let text = format!("number {index} of the texts");
        let mut outcome = session.deliver(&text);
        // A client that draws late is tried again.
        while outcome != Outcome::Entered {
            outcome = session.deliver(&text);
        }
        // Nobody tells the holder that it was taken.
        until(&text, || session.prompts().len() > index, || session.output());
        assert_eq!(session.prompts()[index], text);
    }
    assert_eq!(session.prompts().len(), 3);
}

#[test]
fn nothing_is_chosen_in_an_open_menu() {
    let mut session = Session::new([hello()]);
    let mut client = session.attach();
    client.send(b"/model").expect("typed");
    session.line_is(LineReport { draft: true, ..LineReport::default() });
    session.await_output("/model");
    client.send(b"\r").expect("typed");
    session.line_is(LineReport::default());
    session.await_output("Select model");
    let before = std::fs::read(session.settings()).ok();
    session.held("choose nothing");
    session.held("nothing at all");
    client.send(b"\x1b").expect("typed");
    session.delivered("afterwards");
    assert_eq!(std::fs::read(session.settings()).ok(), before);
    assert_eq!(session.prompts(), ["afterwards"]);
}

#[test]
fn a_mode_and_a_search_hold_texts_back_and_run_nothing() {
    let mut session = Session::new([hello()]);
    session.delivered("first");
    let mut client = session.attach();
    client.send(b"!").expect("typed");
    session.line_is(LineReport { draft: true, ..LineReport::default() });
    drop(client);
    assert_eq!(session.deliver("touch ran"), Outcome::Held(HeldRecord::Draft));
    let mut client = session.attach();
    client.send(b"\x7f").expect("typed");
    session.line_is(LineReport::default());
    session.delivered("touch ran");
    client.send(b"\x12").expect("typed");
    session.line_is(LineReport { doubt: true, ..LineReport::default() });
    assert_eq!(session.deliver("found"), Outcome::Held(HeldRecord::Doubt));
    session.await_output("to nav");
    client.send(b"\x1b").expect("typed");
    session.line_is(LineReport::default());
    session.delivered("found");
    assert!(!session.dir.path().join("work/ran").exists());
}

/// Whatever comes first, and whether the text is entered or given up for the keys.
#[test]
fn a_persons_keys_and_a_text_are_never_one_prompt() {
    let mut session = Session::new([hello()]);
    session.delivered("first");
    let mut client = session.attach();
    for round in 0..4 {
        let (text, before) = (format!("text number {round}"), session.prompts().len());
        let answer = session.order(&text, 0);
        client.send(b"mine").expect("typed");
        let outcome = answer.recv_timeout(PATIENCE).expect("an answer").expect("it answers");
        session.line_is(LineReport { draft: true, ..LineReport::default() });
        client.send(b"\r").expect("typed");
        session.line_is(LineReport::default());
        let expected = match outcome {
            Outcome::Entered => vec![text.as_str(), "mine"],
            Outcome::Held(_) | Outcome::Written | Outcome::Unknown => vec!["mine"],
        };
        let count = before + expected.len();
        until("both", || session.prompts().len() >= count, || session.output());
        // A client that ends a turn takes what is typed just then before what it has queued (0021).
        let prompts: BTreeSet<String> = session.prompts().drain(before..).collect();
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(prompts, expected, "{outcome:?}");
        session.holders.heard(AGENT, NUMBER);
    }
}

#[test]
fn a_permission_dialog_is_not_answered() {
    let input = json!({ "command": "touch approved", "description": "x" });
    let mut session = Session::new([Turn::tool("Bash", input), hello()]);
    session.delivered("run it");
    session.await_output("proceed?");
    session.held("no");
    session.held("a longer text");
    assert!(!session.dir.path().join("work/approved").exists());
    assert_eq!(session.prompts(), ["run it"]);
}

#[test]
fn in_a_turn_texts_are_one_prompt_each() {
    let mut session = Session::new([Turn::text("HeldRecord.").gate("lunch"), hello()]);
    session.delivered("work");
    session.model.wait_until_held("lunch").expect("the model is asked");
    for index in 0..4 {
        session.delivered(&format!("meanwhile {index}"));
    }
    session.model.release("lunch");
}

/// An interrupted prompt comes back into the line, and a key takes the caret to where an empty line
/// has it.
#[test]
fn a_prompt_that_came_back_is_not_glued_to_a_text() {
    let cases = [
        ("please look", "\x1b[22;14H", &b"\x1b[H"[..]),
        ("first paragraph\n\nsecond", "\x1b[22;9H", b"\x15"),
    ];
    for (prompt, caret, key) in cases {
        let mut session = Session::new([Turn::text("HeldRecord.").gate("lunch"), hello()]);
        session.delivered(prompt);
        session.model.wait_until_held("lunch").expect("the model is asked");
        let mut client = session.attach();
        session.holders.focus(AGENT, NUMBER, Focus::Turn);
        let before = session.output().len();
        client.send(b"\x1b").expect("typed");
        session.await_more(before, caret);
        session.holders.focus(AGENT, NUMBER, Focus::Line);
        let before = session.output().len();
        client.send(key).expect("typed");
        session.await_more(before, "\x1b[22;3H");
        assert_eq!(session.deliver("another question"), Outcome::Held(HeldRecord::Draft));
        assert_eq!(session.prompts(), [prompt]);
        client.send(b"\x03").expect("typed");
        session.line_is(LineReport::default());
        session.delivered("another question");
    }
}

/// Nothing came back: the line is free, without a key of anybody's.
#[test]
fn an_answer_that_was_interrupted_leaves_the_line_free() {
    let answer = Turn::text("Words that come one by one. ".repeat(9)).gate_in_the_middle("lunch");
    let mut session = Session::new([answer, hello()]);
    session.delivered("please look");
    session.model.wait_until_held("lunch").expect("it answers");
    session.await_output("Words");
    let mut client = session.attach();
    session.holders.focus(AGENT, NUMBER, Focus::Turn);
    let before = session.output().len();
    client.send(b"\x1b").expect("typed");
    session.await_more(before, "nterrupted");
    session.delivered("another question");
}

/// A daemon that is stopped, or hangs, does not tell that the menu is closed.
#[test]
fn words_behind_a_closed_menu_are_a_draft_though_the_daemon_tells_nothing() {
    let mut session = Session::new([hello()]);
    let mut client = open_help(&session);
    let before = session.output().len();
    close_and_type(&session.directory(), before, &mut client);
    session.line_is(LineReport { draft: true, ..LineReport::default() });
    session.holders.focus(AGENT, NUMBER, Focus::Line);
    assert_eq!(session.deliver("a text"), Outcome::Held(HeldRecord::Draft));
    assert!(session.prompts().is_empty());
}

#[test]
fn words_that_were_typed_without_a_daemon_are_a_draft() {
    let mut session = Session::new([hello()]);
    let mut client = open_help(&session);
    let (holder, before) = (session.directory(), session.output().len());
    session.restart_daemon(|| close_and_type(&holder, before, &mut client));
    session.line_is(LineReport { draft: true, ..LineReport::default() });
    session.holders.focus(AGENT, NUMBER, Focus::Line);
    assert_eq!(session.deliver("a text"), Outcome::Held(HeldRecord::Draft));
    assert!(session.prompts().is_empty());
}

/// A menu that the daemon was told of.
fn open_help(session: &Session) -> Attachment {
    let mut client = session.attach();
    client.send(b"/help").expect("typed");
    session.line_is(LineReport { draft: true, ..LineReport::default() });
    session.await_output("/help");
    client.send(b"\r").expect("typed");
    session.line_is(LineReport::default());
    session.await_output("\x1b[4;10H");
    session.holders.focus(AGENT, NUMBER, Focus::Dialog);
    // Answered behind the order.
    let _ticket = session.attach();
    client
}

/// Closes the menu, and types words that end in an empty row.
fn close_and_type(holder: &HolderDirectory, before: usize, client: &mut Attachment) {
    client.send(b"\x1b").expect("typed");
    await_recorded(holder, before, "\x1b[22;3H");
    client.send(b"secret draft").expect("typed");
    await_recorded(holder, before, "\x1b[22;15H");
    client.send(b"\n").expect("typed");
}

#[test]
fn a_suspended_client_is_told_of_and_continued() {
    let mut session = Session::new([hello()]);
    let mut client = session.attach();
    client.send(b"\x1a").expect("typed");
    session.await_output("\x1b[?2004l");
    drop(client);
    session.line_is(LineReport { suspended: true, ..LineReport::default() });
    assert_eq!(session.deliver("unread"), Outcome::Held(HeldRecord::Suspended));
    session.holders.continue_session(AGENT, NUMBER);
    session.line_is(LineReport::default());
    session.delivered("read");
}
