//! What the guards count: `cargo xtask guard` runs `guard SUBJECT` under valgrind, which counts the
//! instructions of `measured_…` only, and `guard journal` by itself, which prints what it counted.
//!
//! No clock and no chance: the same code counts the same.

use perennial_store::Seq;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::mpsc::channel;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::exit::Exit;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId, SessionNumber};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::observation::{Observation, Report, Stocktaking};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_engine::harness::Dialect;
use perennial_engine::harness::vendors::DIALECTS;
use perennial_engine::supervisor::{Input, Output, Supervisor, Waiter};
use perennial_engine::transcript::line_reader::LineReader;
use perennial_store::{Journal, SqliteJournal};
use serde_json::json;

/// The vendor's words that the subjects are in.
const DIALECT: &dyn Dialect = DIALECTS[0];

/// How often each subject is measured; also the number of agents in the fleet.
const TIMES: u64 = 100;
const NOW: Time = Time(1_700_000_000_000_000);

fn main() {
    let subject = std::env::args().nth(1).unwrap_or_default();
    match subject.as_str() {
        "crash" => crashes(),
        "hook" => hooks(),
        "line" => lines(),
        "journal" => println!("{}", journal()),
        _ => eprintln!("usage: guard crash|hook|line|journal"),
    }
}

fn crashes() {
    let mut fleet = running(BARE_COMMAND);
    for number in 1..=TIMES {
        let killed = Report::Exited(Exit::KillSignal(9));
        let agent = AgentId(number.into());
        let report = Observation::Session { agent, number: SessionNumber::FIRST, report: killed };
        black_box(measured_crash(&mut fleet, report));
    }
}

fn hooks() {
    let mut fleet = running(DIALECT.name());
    let input = hook_input();
    for number in 1..=TIMES {
        let agent = AgentId(number.into());
        // Not measured: the first words of a session are rare.
        hear(&mut fleet, agent, "SessionStart", &input);
        hear(&mut fleet, agent, "UserPromptSubmit", &input);
        black_box(measured_hook(&mut fleet, agent, "PostToolUse", &input));
    }
}

fn lines() {
    let line = json!({ "type": "assistant", "uuid": "7d0c", "parentUuid": "5e0a",
        "sessionId": "5e0a9a43-7d0c-4e3b-9d51-0b8a5d7c1f22", "timestamp": "2026-11-16T08:00:00.000Z",
        "requestId": "r", "message": { "id": "m", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{ "type": "text", "text": "word ".repeat(200) }],
        "usage": { "input_tokens": 100, "output_tokens": 20 } } })
    .to_string();
    let mut reader = DIALECT.line_reader();
    for _ in 0..TIMES {
        black_box(measured_line(&mut *reader, line.as_bytes()));
    }
}

#[inline(never)]
fn measured_crash(fleet: &mut Supervisor, report: Observation) -> usize {
    step(fleet, Input::Observed(report))
}

#[inline(never)]
fn measured_hook(fleet: &mut Supervisor, agent: AgentId, event: &str, input: &[u8]) -> usize {
    hear(fleet, agent, event, input)
}

#[inline(never)]
fn measured_line(reader: &mut dyn LineReader, line: &[u8]) -> usize {
    let mut steps = 0;
    reader.read(line, &mut |_| steps += 1);
    steps
}

/// What one hook brings: read, and its fact heard.
fn hear(fleet: &mut Supervisor, agent: AgentId, event: &str, input: &[u8]) -> usize {
    let Ok(call) = DIALECT.hook(event, input) else { return 0 };
    let number = SessionNumber::FIRST;
    call.fact.map_or(0, |fact| step(fleet, Input::Heard { agent, number, fact }))
}

/// A step and, when it wants something recorded, the one that follows it; how much came out.
fn step(fleet: &mut Supervisor, input: Input) -> usize {
    let outputs = fleet.step(input, NOW);
    let appended = outputs.iter().filter_map(|output| match output {
        Output::Append { append, .. } => Some(*append),
        Output::Answer { .. }
        | Output::Reply { .. }
        | Output::Carry(_)
        | Output::Silent { .. }
        | Output::Committed { .. } => None,
    });
    let appended: Vec<_> = appended.collect();
    let more: usize =
        appended.into_iter().map(|append| step(fleet, Input::Durable(append, Seq(0)))).sum();
    outputs.len() + more
}

/// A fleet whose agents all run their first session.
fn running(harness: &str) -> Supervisor {
    let mut fleet = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    begin(
        &mut |input| {
            step(&mut fleet, input);
        },
        harness,
    );
    fleet
}

fn begin(step: &mut dyn FnMut(Input), harness: &str) {
    let boot = BootId("00000000-0000-4000-8000-000000000001".into());
    step(Input::Observed(Observation::Started {
        boot,
        version: "guard".into(),
        is_copy: false,
        stocktaking: Stocktaking::default(),
    }));
    for number in 1..=TIMES {
        let (agent, waiter) = (AgentId(number.into()), Waiter(number));
        let command = Command::Spawn(Box::new(spawn(agent, harness)));
        step(Input::Request { waiter, request: Request { caller: Caller::Person, command } });
        let process = Process { pid: 1000 + number as i32, start_ticks: 1 };
        let report = Report::Executed(process);
        let number = SessionNumber::FIRST;
        step(Input::Observed(Observation::Session { agent, number, report }));
    }
}

fn spawn(id: AgentId, harness: &str) -> Spawn {
    let launch = Launch {
        harness: harness.into(),
        host: Host::Shim,
        argv: vec!["program".into()],
        dir: "/tmp".into(),
        env_names: Vec::new(),
        project: "/tmp".into(),
        options: Options::default(),
    };
    let name = format!("agent-{}", id.0).parse().ok();
    let restart = Restart::OnCrash;
    Spawn {
        id,
        name,
        role: None,
        parent: None,
        launch,
        restart,
        conversation: None,
        situations: Vec::new(),
    }
}

/// A kilobyte, as a tool call leaves it.
fn hook_input() -> Vec<u8> {
    json!({ "session_id": "5e0a9a43-7d0c-4e3b-9d51-0b8a5d7c1f22", "transcript_path": "/x.jsonl",
        "cwd": "/", "source": "startup", "tool_name": "Bash",
        "tool_input": { "command": "ls ".repeat(100) }, "tool_response": "x".repeat(400) })
    .to_string()
    .into_bytes()
}

/// The hooks of one turn against a journal on disk: its commits, its records and its bytes.
fn journal() -> serde_json::Value {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("journal.db");
    let journal = SqliteJournal::open(&path).expect("a journal");
    let mut fleet = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    begin(
        &mut |input| {
            record(&mut fleet, &journal, input);
        },
        DIALECT.name(),
    );
    let log_bytes = |path: &Path| {
        let log = path.with_extension("db-wal");
        log.metadata().map_or(0, |metadata| metadata.len())
    };
    let (before, rows_before) = (log_bytes(&path), journal.head().0.0);
    let input = hook_input();
    let turn = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUse", "Stop"];
    let mut commits = 0;
    for event in turn {
        let call = DIALECT.hook(event, &input).expect("a hook of ours");
        if let Some(fact) = call.fact {
            let (agent, number) = (AgentId(1), SessionNumber::FIRST);
            commits += record(&mut fleet, &journal, Input::Heard { agent, number, fact });
        }
    }
    let bytes = log_bytes(&path) - before;
    json!({ "commits of a turn's hooks": commits, "bytes of a turn's hooks": bytes,
        "records of a turn's hooks": journal.head().0.0 - rows_before })
}

/// Steps, and appends for good what that wants recorded; how many commits that took.
fn record(fleet: &mut Supervisor, journal: &SqliteJournal, input: Input) -> u64 {
    let mut commits = 0;
    for output in fleet.step(input, NOW) {
        let Output::Append { append, batch } = output else { continue };
        let (done, is_done) = channel();
        let tell = move |result| {
            // The receiver waits below for exactly this.
            let _ = done.send(result);
        };
        journal.append(batch, Box::new(tell));
        let seq = is_done.recv().expect("an answer").expect("recorded");
        commits += 1 + record(fleet, journal, Input::Durable(append, seq));
    }
    commits
}
