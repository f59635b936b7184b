//! Problems that belong to one subject: mail, panes in tmux, keeping house, the record.

use std::path::{Path, PathBuf};

use perennial_api::Problem;
use perennial_core::checkpoint::{SaidFault, SaidField};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::signal::{PayloadFault, SignalKind};
use perennial_core::snapshot::{RestoreEnded, RestoreOutcome};
use perennial_core::vocabulary::Vocabulary;
use perennial_engine::git::{GitError, Unsupported};

use super::denied;
use crate::cli::archive::read::ReadError;
use crate::cli::problems::{self as cli, house, pane};
use crate::config::Mistake;
use crate::daemon::showing::problems as daemon;

pub fn of_mail() -> Vec<Problem> {
    vec![
        daemon::mail::bad_address("town:bob", "only `role:` and `team:` may precede a name"),
        daemon::refusal_to(&Refusal::NotAnswerable),
        daemon::refusal_to(&Refusal::TooManyCopies { copies: 61, most: 60 }),
        daemon::mail::no_such_role("reviewr", &["reviewer"]),
        daemon::mail::no_such_role("steward", &[]),
        daemon::mail::sends_none(),
        daemon::mail::too_many_ids(51, 50),
        daemon::mail::too_long("text", 70_000, 65_536),
        daemon::mail::empty(),
        daemon::mail::no_such_mail("msg_1"),
        daemon::mail::no_mailbox(),
        daemon::mail::not_yours("operator"),
    ]
}

pub fn of_handoffs() -> Vec<Problem> {
    vec![
        daemon::handoff::bare_command("bob", Verb::Handoff),
        daemon::handoff::none("bob"),
        daemon::handoff::empty("subject"),
        daemon::handoff::long_subject(300),
        daemon::handoff::long_notes(5000),
        daemon::handoff::bad_deadline(0),
    ]
}

pub fn of_snapshots() -> Vec<Problem> {
    let path = || PathBuf::from("/work/web");
    let failed = Some("/work/web/b.txt: no space left on device".to_owned());
    let listed = vec!["b.txt".to_owned(), "c.txt".to_owned()];
    let nothing = RestoreOutcome { failed: failed.clone(), ..RestoreOutcome::default() };
    let outcome = RestoreOutcome {
        written: 12,
        removed: 1,
        left: 2,
        failed,
        listed,
        ..RestoreOutcome::default()
    };
    let stopped = RestoreEnded { restore: 1, number: 3, present: 4, outcome };
    let of = |error: &GitError| daemon::snapshots::failed("no snapshot was taken", error);
    let object = perennial_engine::git::object::ObjectId([0; 20]);
    let in_the_way = (1..=7).map(|number| format!("build/{number}.o")).collect();
    vec![
        daemon::snapshots::session_in_tree("bob"),
        daemon::snapshots::restore_in_tree("bob"),
        daemon::snapshots::dropped("bob", 2),
        daemon::snapshots::restore_stopped("bob", &stopped),
        daemon::snapshots::restore_stopped(
            "bob",
            &RestoreEnded { outcome: nothing, ..stopped.clone() },
        ),
        daemon::snapshots::no_snapshots("bob"),
        daemon::snapshots::no_such_snapshot("bob", 9, 3),
        daemon::snapshots::another_work_tree("bob", "/work/web", "/work/api"),
        daemon::snapshots::relative_directory("then"),
        daemon::snapshots::index_elsewhere(),
        crate::cli::problems::unusable_directory("th\u{fffd}n"),
        crate::cli::problems::no_such_directory(&path(), &std::io::Error::from_raw_os_error(2)),
        of(&GitError::NotARepository(path())),
        of(&GitError::Unsupported(Unsupported::Sha256)),
        of(&GitError::InTheWay(in_the_way)),
        of(&GitError::Locked(path().join(".git/index.lock"))),
        of(&GitError::Replaced(path())),
        of(&GitError::AnotherRepository(path())),
        of(&GitError::NotEmpty(path())),
        of(&GitError::NotElsewhere(path())),
        of(&GitError::NotADirectory(path())),
        of(&GitError::Gone(path())),
        of(&GitError::TooManyFiles(2_000_000)),
        of(&GitError::Interrupted),
        of(&GitError::NoIndex(object)),
        of(&GitError::damaged(&path().join(".git/index"), "its checksum is wrong")),
        of(&GitError::Missing(object)),
    ]
}

pub fn of_checkpoints() -> Vec<Problem> {
    let field = SaidField::Summary;
    vec![
        daemon::checkpoints::fault(SaidFault::Blank { field }),
        daemon::checkpoints::fault(SaidFault::TooLong { field, bytes: 2001, most: 2000 }),
        daemon::checkpoints::fault(SaidFault::TooMany { field: SaidField::Questions, count: 11 }),
        daemon::checkpoints::fault(SaidFault::TooLarge { bytes: 9000 }),
        daemon::checkpoints::outdated("bob"),
        daemon::checkpoints::none("bob"),
        daemon::checkpoints::no_such("bob", 9, 3),
    ]
}

pub fn of_signals() -> Vec<Problem> {
    let kind = SignalKind::NeedsInput;
    let payload = |fault| {
        let fault = Box::new(fault);
        daemon::refusal_to(&Refusal::SignalPayload { kind, fault })
    };
    vec![
        daemon::signal::unknown_kind("NEEDS_INPUTS"),
        daemon::signal::unknown_kind("?"),
        daemon::refusal_to(&Refusal::SignalSource { kind: SignalKind::AgentRegistered }),
        daemon::refusal_to(&Refusal::SignalSource { kind }),
        daemon::refusal_to(&Refusal::SignalSource { kind: SignalKind::Guidance }),
        daemon::refusal_to(&Refusal::SignalTarget { kind }),
        daemon::refusal_to(&Refusal::SignalTarget { kind: SignalKind::Guidance }),
        payload(PayloadFault::Unknown { field: "asked".to_owned() }),
        payload(PayloadFault::Missing { field: "question" }),
        payload(PayloadFault::WrongType { field: "options", found: "a text" }),
        payload(PayloadFault::TooLong { field: "question" }),
        payload(PayloadFault::TooLarge { bytes: 9000 }),
        payload(PayloadFault::OtherIdentity { expected: "bob".to_owned() }),
        daemon::signal::no_such_signal("sig_1"),
        daemon::signal::bad_since("yesterday"),
        daemon::signal::bad_step("bob"),
        daemon::signal::no_parent(),
        daemon::signal::escalation_too_long(200, 150),
        daemon::signal::escalation_subject(),
        daemon::signal::no_such_escalation("esc_1"),
        daemon::signal::bad_situation("two words"),
        daemon::signal::many_situations(9),
        cli::payload_not_an_object(),
        cli::field_without_value("question"),
        cli::no_signal_in_time(60),
        cli::init::no_directory(Path::new("/srv/site"), &denied()),
        cli::init::no_work_tree(Path::new("/srv/site.git")),
        cli::init::in_the_way(Path::new("/srv/site/.perennial")),
        cli::init::not_made(Path::new("/srv/site/.perennial"), &denied()),
    ]
}

pub fn of_panes() -> Vec<Problem> {
    let socket = Path::new("/tmp/tmux-1000/default");
    vec![
        pane::no_tmux(),
        pane::tmux_not_run(Path::new("/usr/bin/tmux"), &denied()),
        pane::tmux_failed(socket, "error creating /tmp/tmux-1000/default (Permission denied)"),
        pane::session_taken("perennial-bob"),
        pane::pane_silent("perennial-bob", "its process did not begin to listen"),
        pane::nameless_pane(),
        pane::not_in_tmux("bob"),
        pane::buried("bob"),
        daemon::nameless_in_tmux(),
        daemon::tmux_without_place(),
        daemon::place_without_tmux(),
    ]
}

pub fn of_house() -> Vec<Problem> {
    let file = Path::new("/home/eve/.config/perennial/config.toml");
    let copy = Path::new("/home/eve/.config/perennial/config.edited.toml");
    let unit = Path::new("/home/eve/.config/systemd/user/perennial.service");
    let archive = Path::new("/home/eve/fleet.tar");
    let journal = Path::new("/home/eve/.local/share/perennial/journal.db");
    let mistake = Mistake { line: Some(3), message: "unknown field `notifi`".to_owned() };
    vec![
        house::for_persons("edit the configuration"),
        house::config_mistake(file, &mistake),
        house::edited_config_mistake(copy, &mistake),
        house::checked_config_mistake(Path::new("./config.toml"), &mistake),
        house::config_unreadable(Path::new("./config.toml"), &denied()),
        house::nowhere_to_edit(),
        house::mandates_missing(
            file,
            &["the mandate of the role architect is missing: there is no file /x".to_owned()],
        ),
        house::trust_needs_a_terminal(),
        house::not_trusted(Path::new("./perennial.toml"), &denied()),
        house::no_such_key("notifi", &["notify"], ""),
        house::no_such_key("colour", &[], "notify, silent_after_s"),
        house::config_not_edited(file, &denied()),
        house::no_editor("vi", &denied()),
        house::editor_failed("vi", copy),
        house::path_not_for_a_unit(Path::new("/home/eve/a\nb")),
        house::foreign_unit(unit),
        house::unit_unusable(unit, &denied()),
        house::no_unit(unit),
        house::no_systemd("systemctl was not found in PATH"),
        house::systemctl_failed(&["enable", "perennial.service"], "Access denied"),
        house::store_is_newer(
            "0.2.0 (build 9262ffa8f80b)",
            "0.1.0 (build 38f0c1d2e3b4)",
            "the file has form 6, this program knows 5",
        ),
        house::export_exists(archive),
        house::export_needs_a_file(),
        house::no_directory_for_export(archive),
        house::nothing_to_export(journal),
        house::not_exported(archive, &denied()),
        house::not_an_archive(archive, &ReadError::Foreign("../../.bashrc".to_owned())),
        house::archive_unread(archive, &denied()),
        house::home_not_empty(&[journal.to_owned()]),
        house::home_in_use("another daemon holds this home (pid 4242)"),
        house::not_imported(&denied()),
    ]
}

pub fn of_the_record() -> Vec<Problem> {
    vec![
        daemon::bad_vocabulary("latin"),
        daemon::not_a_state_of(Vocabulary::Tavern, "tired"),
        daemon::bad_state("alive"),
        daemon::task::not_a_state_of(Vocabulary::S3, "taken"),
        daemon::task::take_by_person(perennial_core::id::TaskId(1)),
        daemon::task::no_such_check("unti", &["lint", "unit"]),
        daemon::task::no_such_check("unit", &[]),
        daemon::task::in_list("port the lexer", daemon::task::bad("title", "it is one line")),
        daemon::task::ambiguous_id("mct2xk8e", &["msg_1".to_owned(), "msg_2".to_owned()]),
        daemon::graph_unread("the file of the entity graph failed"),
        daemon::long_graph_word(4096),
        daemon::bad_session_id("bob"),
        daemon::bad_graph_place("x"),
        cli::no_such_entity("role:archtect"),
        house::clean_needs_a_terminal(),
    ]
}
