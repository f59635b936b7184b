//! Every problem, as a terminal of 80 columns shows it.
//!
//! Each public constructor is called here at least once; a test compares the sources.

use std::fmt::Write;
use std::io;
use std::path::Path;

use perennial_api::agent::{Agent, Session};
use perennial_api::request::BODY_LIMIT;
use perennial_api::{ClientError, Problem};
use perennial_core::agent as core_agent;
use perennial_core::authority::{Caller, Standing};
use perennial_core::event::Birth;
use perennial_core::fleet::{Fleet, Restored};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, MessageId, NodeId, PostId};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::message::MessageStep;
use perennial_core::name::{BadName, Name};
use perennial_core::reason::{Evidence, Finding, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_core::visibility::Private;
use perennial_engine::harness::typing::Unsendable;

use super::COLUMNS;
use crate::cli;
use crate::daemon::showing::problems::{self as daemon, NotRunnable};
use crate::daemon::surface::server;

const ADA: AgentId = AgentId(1);
const TEXT: MessageId = MessageId(7);

pub fn add(text: &mut String) {
    section(text, "Refusals", &refusals());
    section(text, "Malformed requests", &malformed());
    section(text, "Missing or unreadable", &missing());
    section(text, "The command line's own problems", &of_command_line());
    section(text, "Talking to the daemon", &of_client());
}

fn section(text: &mut String, title: &str, problems: &[Problem]) {
    let _ = write!(text, "\n## {title}\n");
    for problem in problems {
        let (kind, code) = (&problem.kind, problem.exit().number());
        let shown = cli::told(problem, false, Some(COLUMNS));
        let _ = write!(text, "\n`{kind}` (exit code {code})\n```text\n{shown}```\n");
    }
}

fn denied() -> io::Error {
    io::Error::other("Permission denied (os error 13)")
}

/// A fleet of one agent, ada.
fn fleet() -> Fleet {
    let fact = Finding::Asked(Verb::Spawn);
    let birth = Birth {
        name: Some("Ada".parse().expect("a name")),
        role: None,
        parent: None,
        node: NodeId::HOME,
        launch: Launch {
            harness: BARE_COMMAND.to_owned(),
            host: Host::Shim,
            argv: vec!["bash".to_owned()],
            dir: "/src".to_owned(),
            env_names: Vec::new(),
            project: "/src".to_owned(),
            options: Options::default(),
        },
        restart: Restart::Never,
        evidence: Evidence { witness: Witness::Operator, fact, at: Time(1) },
        until: Time(2),
    };
    let agents = vec![core_agent::Agent::born(ADA, &birth, Time(1))];
    Fleet::restore(Restored { agents, ..Restored::default() })
}

fn refusals() -> Vec<Problem> {
    let conversation = "0f3c2a1e-1b2c".parse().expect("an id");
    let ada: Name = "ada".parse().expect("a name");
    let not_allowed =
        |caller, verb| Refusal::NotAllowed { caller, verb, standing: Standing::Other };
    let not_visible = |caller, private| Refusal::NotVisible { caller, private };
    let agent = Caller::Agent(ADA);
    let wrong_state = |verb, state| Refusal::WrongState { agent: ADA, verb, state };
    let held = |held_for| Refusal::Held { agent: ADA, held_for };
    let all = [
        Refusal::NoSuchAgent { target: "bob".to_owned() },
        Refusal::NameTaken { name: ada, by: ADA },
        wrong_state(Verb::Stop, State::Sleeping),
        wrong_state(Verb::Send, State::Dead),
        wrong_state(Verb::Wake, State::Dead),
        Refusal::Running { agent: ADA },
        Refusal::StoppedByOperator { agent: ADA },
        Refusal::NeedsApproval { agent: ADA },
        held(HeldFor::Verdict),
        held(HeldFor::Person),
        held(HeldFor::Damage),
        Refusal::ConversationTaken { conversation, by: ADA },
        Refusal::NoSuchMessage { message: TEXT },
        Refusal::AlreadyOffered { message: TEXT },
        Refusal::MessageExists { message: TEXT },
        Refusal::ParentGone { parent: ADA },
        not_allowed(agent, Verb::Attach),
        not_allowed(agent, Verb::Logs),
        not_allowed(agent, Verb::Spawn),
        not_allowed(agent, Verb::Stop),
        Refusal::NotAllowed { caller: agent, verb: Verb::Stop, standing: Standing::NoTarget },
        not_allowed(agent, Verb::Wake),
        not_allowed(agent, Verb::Bury),
        not_allowed(Caller::Viewer, Verb::Stop),
        not_allowed(Caller::Job, Verb::Look),
        not_visible(agent, Private::Texts),
        not_visible(agent, Private::Transcript),
        not_visible(Caller::Viewer, Private::Texts),
        Refusal::NotASession,
    ];
    let fleet = fleet();
    let mut problems: Vec<Problem> = all.iter().map(|one| daemon::refusal(one, &fleet)).collect();
    problems.extend([
        daemon::already_offered(TEXT, Some("bob")),
        daemon::caller_gone(),
        daemon::caller_unknown(),
    ]);
    problems
}

fn malformed() -> Vec<Problem> {
    let bad_name = "b b".parse::<Name>().expect_err("no name");
    let not_found = NotRunnable::Missing("not found in PATH".to_owned());
    let forbidden = NotRunnable::NotExecutable(denied().to_string());
    vec![
        daemon::bad_name("b b", &bad_name),
        daemon::bad_name(&"x".repeat(65), &BadName::TooLong),
        daemon::bad_role("b b", bad_name),
        daemon::empty_summary(),
        daemon::long_summary(20_000),
        daemon::long_title(300),
        daemon::blank_title(),
        daemon::bad_title("two\nlines"),
        daemon::long_post(70_000),
        daemon::empty_post(),
        daemon::bad_restart("sometimes"),
        daemon::needs_harness("--prompt"),
        daemon::no_harness("clod", &["claude".to_owned()], ""),
        daemon::no_harness("mine", &[], "mine.toml is not a preset: missing field `program`"),
        daemon::no_such_mode("brave", &["default", "plan"]),
        daemon::bad_roster("heaven"),
        daemon::bad_state("tired"),
        daemon::bad_conversation("../x"),
        daemon::no_program(),
        daemon::long_command_line(),
        daemon::large_environment(),
        daemon::nul_in_argument(),
        daemon::bad_variable("A=B"),
        daemon::variable_without_value("CI"),
        daemon::no_directory("/src", "No such file or directory (os error 2)"),
        daemon::program_not_runnable("sleeep", &not_found, None),
        daemon::program_not_runnable("claude", &not_found, Some("claude")),
        daemon::program_not_runnable("./build.sh", &forbidden, None),
        daemon::unsendable(&Unsendable::Empty, "bob"),
        daemon::unsendable(&Unsendable::TooLong(70_000), "bob"),
        daemon::unsendable(&Unsendable::EndsProgram("exit".into()), "bob"),
        daemon::unsendable(&Unsendable::Shell('!'), "bob"),
        daemon::unsendable(&Unsendable::Command("/clear".into()), "bob"),
        daemon::unsendable(&Unsendable::OwnMark("<command-name>".into()), "bob"),
        daemon::bad_place(),
        daemon::bad_request(&io::Error::other("expected value at line 1 column 1")),
        daemon::bad_path("invalid UTF-8"),
        daemon::bad_query("limit: invalid digit found in string"),
        daemon::bad_body(&io::Error::other("connection reset")),
        daemon::bad_percent(),
        daemon::half_sent("body", server::PATIENCE),
        daemon::large_body(BODY_LIMIT),
        daemon::large_head(server::HEADER_BYTES),
        daemon::too_many_connections(server::CONNECTIONS),
        daemon::harness_not_understood(&io::Error::other("not a JSON object")),
        daemon::no_such_route("/v1/moon"),
        daemon::no_such_method("/v1/agents"),
    ]
}

/// An agent in a state; with `session` 0, one that has had no session.
fn shown(state: State, session: u64) -> Agent {
    let newest = Session { number: session, ..Session::default() };
    Agent {
        state: state.word().to_owned(),
        roster: state.roster().word().to_owned(),
        session: (session > 0).then_some(newest),
        ..Agent::default()
    }
}

fn missing() -> Vec<Problem> {
    let conversation = "0f3c2a1e-1b2c".parse().expect("an id");
    vec![
        daemon::no_such_agent("bob"),
        daemon::agent_gone(),
        daemon::no_such_session("bob", 7, 3),
        daemon::no_such_session("bob", 1, 0),
        daemon::no_running_session("bob", &shown(State::Sleeping, 3)),
        daemon::no_running_session("bob", &shown(State::Hatching, 0)),
        daemon::no_running_session("bob~1", &shown(State::Dead, 3)),
        daemon::no_such_message("msg_x"),
        daemon::not_waiting(TEXT),
        daemon::message_over(TEXT, MessageStep::Seen),
        daemon::message_over(TEXT, MessageStep::Entered),
        daemon::message_over(TEXT, MessageStep::Withdrawn),
        daemon::message_over(TEXT, MessageStep::Returned),
        daemon::message_lost(TEXT),
        daemon::no_such_post("pst_x"),
        daemon::post_unread(PostId(9)),
        daemon::no_conversation("bob"),
        daemon::no_such_conversation(&conversation, "claude"),
        daemon::not_started("bob", "its program could not be started: Permission denied"),
        daemon::preset_unusable("can't read /home/eve/.config/perennial/harnesses/mine.toml"),
        daemon::terminal_unreachable("bob", "the session's holder can't be reached"),
        daemon::recording_unread("Input/output error (os error 5)"),
        daemon::journal_unread("the journal's file is damaged"),
        daemon::not_recorded("the journal", "the disk is full"),
        daemon::not_recorded("the agent's environment", "No space left on device (os error 28)"),
        daemon::answer_not_writable("key must be a string"),
        daemon::daemon_ending(),
    ]
}

fn of_command_line() -> Vec<Problem> {
    use cli::problems as cli;
    let path = Path::new("/home/eve/.local/state/perennial");
    let usage = "perennial ls --help";
    vec![
        cli::misused("unexpected argument '--rol' found", String::new(), usage),
        cli::nameless_spawn("-- bash -l"),
        cli::output(&io::Error::other("No space left on device (os error 28)")),
        cli::no_home(&perennial_api::home::HomeError::Homeless),
        cli::no_terminal_to_run(),
        cli::no_terminal_to_attach("bob"),
        cli::own_variable("PERENNIAL_AGENT"),
        cli::nameless_variable(),
        cli::no_directory(&denied()),
        cli::directory_not_unicode("/srv/\u{fffd}"),
        cli::prompt_for_adopted("bob"),
        cli::preset_unusable(&io::Error::other("no harness 'clod'; known harnesses: claude")),
        cli::no_home_variable(),
        cli::daemon_not_started(&denied()),
        cli::daemon_not_awaited(&denied()),
        cli::daemon_failed_silently(&path.join("log/daemon.log")),
        cli::daemon_failed(),
        cli::daemon_error("can't open the journal", "the file is damaged".to_owned()),
        cli::home_unusable(path, &denied()),
        cli::own_program_unknown(&denied()),
        cli::nothing_to_shut_down(),
        cli::daemon_still_running(4711, 30),
        cli::terminal_unusable(&denied()),
        cli::holder_unreachable("bob", &denied()),
        cli::too_slow("bob"),
        cli::no_steps("--json", "a bare command has no steps, only a recording"),
        cli::stdin_not_text(&io::Error::other("stream did not contain valid UTF-8")),
        cli::blank_title(),
        cli::nothing_to_post(),
        cli::post_too_long("NOTES"),
        cli::post_not_text("logo.png"),
        cli::post_unreadable("NOTES", &denied()),
        cli::no_stage(Path::new("/tmp/perennial-demo-4711"), &denied()),
        cli::stage_not_removed(Path::new("/tmp/perennial-demo-4711"), &denied()),
        cli::demo_untrue("ada's second session is not running"),
        cli::bad_pid(0),
        cli::not_killed(4711, &denied()),
        cli::not_watched(4711, &denied()),
    ]
}

fn of_client() -> Vec<Problem> {
    let not_json = || serde_json::from_str::<u8>("x").expect_err("no number");
    [
        ClientError::NoDaemon(denied()),
        ClientError::Unreachable(denied()),
        ClientError::NoAnswer(30),
        ClientError::Broken(io::Error::other("unexpected end of file")),
        ClientError::Unexpected(not_json()),
        ClientError::Unspeakable(not_json()),
    ]
    .iter()
    .map(ClientError::problem)
    .collect()
}

#[test]
fn every_problem_is_listed() {
    let own = include_str!("problems.rs");
    for source in [
        include_str!("../daemon/showing/problems.rs"),
        include_str!("../daemon/showing/problems/malformed.rs"),
        include_str!("../daemon/showing/problems/missing.rs"),
        include_str!("../cli/problems.rs"),
    ] {
        let functions = source.lines().filter_map(|line| line.strip_prefix("pub fn "));
        for name in functions.filter_map(|rest| rest.split(['(', '<']).next()) {
            // A rejection is a refusal, or what could not be recorded.
            let is_listed =
                own.contains(&format!("::{name}(")) || ["rejection", "refusal_to"].contains(&name);
            assert!(is_listed, "{name} is not called in messages/problems.rs");
        }
    }
}

/// Agents do what error texts suggest.
#[test]
fn no_problem_suggests_a_destructive_command() {
    let all = [refusals(), malformed(), missing(), of_command_line(), of_client()].concat();
    for problem in all {
        for verb in ["stop", "bury", "down", "kill", "rm", "unsend"] {
            let command = format!("perennial {verb}");
            assert!(!problem.next.contains(&command), "{problem:?}");
            assert!(!problem.next.contains(&format!("`{verb} ")), "{problem:?}");
        }
    }
}
