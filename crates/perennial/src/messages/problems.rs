//! Every problem, as a terminal of 80 columns shows it.
//!
//! Each public constructor is called here at least once; a test compares the sources.

mod by_subject;

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_api::agent::{Agent, Session};
use perennial_api::attended::Stopped;
use perennial_api::home::{Misplaced, Untrusted};
use perennial_api::request::BODY_LIMIT;
use perennial_api::{ClientError, Problem};
use perennial_core::admission::{Class, Full};
use perennial_core::agent as core_agent;
use perennial_core::allowance::AllowanceKind;
use perennial_core::authority::{Caller, Standing};
use perennial_core::event::Birth;
use perennial_core::fleet::{Excess, Fleet, Restored};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, MessageId, NodeId, PostId};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::message::{Mailbox, MessageStep};
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
use crate::daemon::showing::problems::{self as daemon, NotRunnable, PlaceKind};
use crate::daemon::surface::{feed_reader, server};

const ADA: AgentId = AgentId(1);
const TEXT: MessageId = MessageId(7);

pub fn add(text: &mut String) {
    section(text, "Refusals", &refusals());
    section(text, "Malformed requests", &malformed());
    section(text, "More than a caller's share", &crowded());
    section(text, "Missing or unreadable", &missing());
    section(text, "The command line's own problems", &of_command_line());
    section(text, "The demo", &of_demo());
    section(text, "Mail", &by_subject::of_mail());
    section(text, "Signals, escalations and situations", &by_subject::of_signals());
    section(text, "Snapshots", &by_subject::of_snapshots());
    section(text, "Checkpoints", &by_subject::of_checkpoints());
    section(text, "Handoffs", &by_subject::of_handoffs());
    section(text, "Panes in tmux", &by_subject::of_panes());
    section(text, "Keeping house", &by_subject::of_house());
    section(text, "The record", &by_subject::of_the_record());
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
        Refusal::NameTaken { name: ada.clone(), by: ADA },
        wrong_state(Verb::Stop, State::Sleeping),
        wrong_state(Verb::Send, State::Dead),
        wrong_state(Verb::Wake, State::Dead),
        wrong_state(Verb::Restart, State::Dead),
        wrong_state(Verb::Handoff, State::HandingOff),
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
        Refusal::StillEnding { agent: ADA },
        Refusal::NoRole { agent: ADA },
        Refusal::NotVacant { role: ada },
        Refusal::HasRole { agent: ADA },
        Refusal::NoRecipient,
        Refusal::MailboxFull { mailbox: ADA.into() },
        Refusal::MailboxFull { mailbox: Mailbox::Operator },
        Refusal::TooOften { kind: AllowanceKind::Mail, wait: Duration::from_secs(5) },
        Refusal::ParentBelow { agent: ADA, parent: ADA },
        Refusal::TooOften { kind: AllowanceKind::Words, wait: Duration::from_secs(10) },
        Refusal::TooOften { kind: AllowanceKind::Orders, wait: Duration::from_secs(2) },
        not_allowed(agent, Verb::Attach),
        not_allowed(agent, Verb::Logs),
        not_allowed(agent, Verb::Spawn),
        not_allowed(agent, Verb::Stop),
        Refusal::NotAllowed { caller: agent, verb: Verb::Stop, standing: Standing::NoTarget },
        not_allowed(agent, Verb::Wake),
        not_allowed(agent, Verb::Restart),
        not_allowed(agent, Verb::Bury),
        not_allowed(agent, Verb::Assume),
        not_allowed(Caller::Viewer, Verb::Stop),
        not_allowed(Caller::Job, Verb::Look),
        not_allowed(Caller::Ambiguous, Verb::Look),
        not_allowed(agent, Verb::Up),
        not_visible(agent, Private::Texts),
        not_visible(agent, Private::Transcript),
        not_visible(Caller::Viewer, Private::Texts),
        Refusal::NotASession,
    ];
    let above_own = every_excess().map(|excess| Refusal::AboveOwn { excess });
    let fleet = fleet();
    let all = all.iter().chain(&above_own);
    let mut problems: Vec<Problem> = all.map(|one| daemon::refusal(one, &fleet)).collect();
    problems.extend([
        daemon::already_offered(TEXT, Some("bob")),
        daemon::caller_gone(),
        daemon::caller_unknown(),
    ]);
    problems
}

fn every_excess() -> [Excess; 9] {
    [
        Excess::Program,
        Excess::Parent,
        Excess::Directory,
        Excess::PermissionMode,
        Excess::Trust,
        Excess::Conversation,
        Excess::Host,
        Excess::Children(8),
        Excess::Depth(3),
    ]
}

fn malformed() -> Vec<Problem> {
    let bad_name = "b b".parse::<Name>().expect_err("no name");
    let not_found = NotRunnable::Missing("not found in PATH".to_owned());
    let forbidden = NotRunnable::NotExecutable(denied().to_string());
    vec![
        daemon::bad_name("b b", &bad_name),
        daemon::bad_name(&"x".repeat(65), &BadName::TooLong),
        daemon::bad_name("operator", &BadName::Reserved),
        daemon::bad_role("b b", bad_name),
        daemon::bad_project_file(
            Path::new("/srv/shop/perennial.toml"),
            "line 3: unknown field `notify`, expected `role` or `checks`",
        ),
        daemon::argument_missing("role"),
        daemon::empty_summary(),
        daemon::empty_prompt(),
        daemon::reserved_argument("--session-id", "claude"),
        daemon::long_summary(20_000),
        daemon::long_title(300),
        daemon::blank_title(),
        daemon::bad_title("two\nlines"),
        daemon::long_post(70_000),
        daemon::empty_post(),
        daemon::empty_legacy(),
        daemon::bad_beginning("yesterday"),
        daemon::bad_restart("sometimes"),
        daemon::bad_host("screen"),
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
        daemon::own_variable("PERENNIAL_AGENT"),
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
        daemon::unsendable(&Unsendable::Forgotten("?".into()), "bob"),
        daemon::unsendable_prompt(&Unsendable::Forgotten("?".into())),
        daemon::bad_place(),
        daemon::bad_request(&io::Error::other("expected value at line 1 column 1")),
        daemon::bad_path("invalid UTF-8"),
        daemon::bad_query("limit: invalid digit found in string"),
        daemon::bad_body(&io::Error::other("connection reset")),
        daemon::bad_percent(),
        daemon::bad_legacy_kind("poem"),
        daemon::bad_time("soon"),
        daemon::newest_of_all(),
        daemon::half_sent("body", server::PATIENCE),
        daemon::large_body(BODY_LIMIT),
        daemon::large_head(server::HEADER_BYTES),
        daemon::harness_not_understood(&io::Error::other("not a JSON object")),
        daemon::no_such_route("/v1/moon"),
        daemon::no_such_method("/v1/agents"),
    ]
}

fn crowded() -> Vec<Problem> {
    let own = Full::Own { taken: 16 };
    let agents = Full::Class { class: Class::Agents, taken: 1024 };
    vec![
        daemon::too_many(PlaceKind::Connection, agents),
        daemon::too_many(PlaceKind::Request, own),
        daemon::too_many(PlaceKind::Feed, own),
        daemon::reader_too_slow(Some(120), feed_reader::PATIENCE),
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
        daemon::no_such_agent("bbo", &["bob", "rob"]),
        daemon::agent_gone(),
        daemon::no_such_session("bob", 7, 3),
        daemon::no_such_session("bob", 1, 0),
        daemon::no_running_session("bob", &shown(State::Sleeping, 3), true),
        daemon::no_running_session("bob", &shown(State::Hatching, 0), false),
        daemon::no_running_session("bob~1", &shown(State::Dead, 3), false),
        daemon::no_next_session("bob"),
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
        daemon::no_such_conversation(&conversation, "claude", None),
        daemon::no_such_conversation(&conversation, "claude", Some("codex")),
        daemon::conversation_open(&conversation, 4711),
        daemon::conversation_served(&conversation, "codex", 4711),
        daemon::not_forked(&conversation, "its transcript can't be copied: Permission denied"),
        daemon::fork_of_nothing(),
        daemon::not_started("bob", "its program could not be started: Permission denied"),
        daemon::preset_unusable("can't read /home/eve/.config/perennial/harnesses/mine.toml"),
        daemon::terminal_unreachable("bob", "the session's holder can't be reached"),
        daemon::recording_removed("bob", 2, Witness::Operator, Time(1_795_000_000_000_000)),
        daemon::recording_removed("bob", 2, Witness::Daemon, Time(1_795_000_000_000_000)),
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
        cli::no_such_verb("perennial", "sned", &["send", "sent"], "perennial --help"),
        cli::no_such_verb("perennial board", "pots", &["post"], "perennial board --help"),
        cli::no_verb("perennial", "perennial --help"),
        cli::nameless_spawn("-- bash -l"),
        cli::no_agent_cli(&["claude".to_owned()]),
        cli::which_agent_cli(&["claude".to_owned(), "own".to_owned()]),
        cli::spawn_names_first("joe -- bash"),
        cli::output(&io::Error::other("No space left on device (os error 28)")),
        cli::no_home(&perennial_api::home::HomeError::Homeless),
        cli::no_such_path("journl", &["journal"]),
        cli::no_match("web-*", &[]),
        cli::no_match("wbe-*", &["web-1", "web-2"]),
        cli::program_not_started("bob", "sh was not found in PATH"),
        cli::end_unknown("bob"),
        cli::not_confirmed(),
        cli::no_terminal_to_attach("bob"),
        cli::no_terminal_to_watch(),
        cli::nameless_variable(),
        cli::variable_not_set("NO_SUCH"),
        cli::variable_not_set("a word that may be secret"),
        cli::no_directory(&denied()),
        cli::directory_not_unicode("/srv/\u{fffd}"),
        cli::prompt_for_adopted("bob"),
        cli::preset_unusable(&io::Error::other("no harness 'clod'; known harnesses: claude")),
        cli::no_home_variable(),
        cli::no_daemon_from_here(),
        cli::daemon_not_started(&denied()),
        cli::daemon_not_awaited(&denied()),
        cli::daemon_failed_silently(&path.join("log/daemon.log")),
        cli::daemon_failed(),
        cli::daemon_error("can't read the journal", "the disk failed".to_owned()),
        cli::journal_unopenable(
            "the file is damaged",
            "ada (pid 4711) keeps running",
            &path.join("journal.db"),
        ),
        cli::home_unusable(path, &denied()),
        cli::own_program_unknown(&denied()),
        cli::nothing_to_shut_down(),
        cli::daemon_still_running(4711, 30),
        cli::terminal_unusable(&denied()),
        cli::holder_unreachable("bob", &denied()),
        cli::too_slow("bob"),
        cli::not_applicable("--full", "a bare command has no steps, only lines"),
        cli::raw_to_terminal("bob"),
        cli::text_unreadable("standard input", &denied()),
        cli::not_text("notes.bin"),
        cli::maybe_recorded("bob", ClientError::NoAnswer(30).problem()),
        cli::text_beside_keys(),
        cli::control_in_keys(),
        cli::bad_key_count(0, 4000),
        cli::blank_title(),
        cli::no_such_role("steward"),
        cli::nothing_to_mail(),
        cli::mail_too_long("NOTES"),
        cli::mail_not_text("NOTES"),
        cli::agent_missing(),
        cli::role_words("assume bob architect"),
        cli::nothing_to_post(),
        cli::post_too_long("NOTES"),
        cli::post_not_text("logo.png"),
        cli::post_unreadable("NOTES", &denied()),
    ]
}

fn of_demo() -> Vec<Problem> {
    use cli::problems as cli;
    vec![
        cli::demo_is_no_json(),
        cli::no_stage(Path::new("/tmp/perennial-demo-4711"), &denied()),
        cli::stage_not_removed(Path::new("/tmp/perennial-demo-4711"), &denied()),
        cli::demo_untrue("ada's second session is not running"),
        cli::bad_pid(0),
        cli::bad_deadline("soon"),
        cli::not_killed(4711, &denied()),
        cli::not_watched(4711, &denied()),
    ]
}

fn of_client() -> Vec<Problem> {
    let not_json = || serde_json::from_str::<u8>("x").expect_err("no number");
    let path = || PathBuf::from("/home/eve/.local/state/perennial");
    [
        ClientError::NoDaemon(denied()),
        ClientError::Unreachable(denied()),
        ClientError::Untrusted(Untrusted::NotOurs { path: path(), owner: 1001 }),
        ClientError::Untrusted(Untrusted::Open { path: path() }),
        ClientError::Untrusted(Untrusted::ForeignListener {
            path: path().join("sock"),
            owner: 1001,
        }),
        ClientError::Untrusted(Untrusted::Misplaced {
            path: path().join("sock"),
            why: Misplaced::InSession { pid: 4242 },
        }),
        ClientError::Untrusted(Untrusted::Misplaced {
            path: path().join("sock"),
            why: Misplaced::AnotherHome { pid: 4242 },
        }),
        ClientError::Untrusted(Untrusted::Misplaced {
            path: path().join("sock"),
            why: Misplaced::Unseen,
        }),
        ClientError::NoAnswer(30),
        ClientError::Stopped(Stopped { pid: 4242 }),
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
    let own = [include_str!("problems.rs"), include_str!("problems/by_subject.rs")].concat();
    for source in [
        include_str!("../daemon/showing/problems.rs"),
        include_str!("../daemon/showing/problems/malformed.rs"),
        include_str!("../daemon/showing/problems/missing.rs"),
        include_str!("../daemon/showing/problems/mail.rs"),
        include_str!("../daemon/showing/problems/checkpoints.rs"),
        include_str!("../cli/problems.rs"),
        include_str!("../cli/problems/house.rs"),
        include_str!("../cli/problems/pane.rs"),
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
    let all = [
        refusals(),
        malformed(),
        crowded(),
        missing(),
        of_command_line(),
        of_demo(),
        by_subject::of_mail(),
        by_subject::of_signals(),
        by_subject::of_checkpoints(),
        by_subject::of_panes(),
        by_subject::of_house(),
        by_subject::of_the_record(),
        of_client(),
    ]
    .concat();
    for problem in all {
        for verb in ["stop", "bury", "down", "kill", "rm", "unsend"] {
            let command = format!("perennial {verb}");
            assert!(!problem.next.contains(&command), "{problem:?}");
            assert!(!problem.next.contains(&format!("`{verb} ")), "{problem:?}");
        }
    }
}
