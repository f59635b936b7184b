//! Reasons, evidence, waiting and history.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use perennial_core::agent::Outlook;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Move, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fact::PausedBy;
use perennial_core::hearing::Suspension;
use perennial_core::hold::HeldFor;
use perennial_core::id::{
    AgentId, EscalationId, JobId, MessageId, NodeId, PostId, SessionNumber, SignalId, TaskId,
};
use perennial_core::message::{Held, Why};
use perennial_core::post::{Author, PostEvent};
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::restart::{Restart, Tally};
use perennial_core::role::Span;
use perennial_core::session::Process;
use perennial_core::settings::{NewParent, Place, Settings, VariableChange};
use perennial_core::state::{Cause, State};
use perennial_core::text::{Digest, Text};
use perennial_core::time::Time;
use perennial_store::stored;

use super::{list, table};
use crate::cli::render::text::plain;
use crate::daemon::showing::sentences;

const ADA: AgentId = AgentId(1);
const SOME_TIME: Option<Time> = Some(Time(0));

pub fn add(text: &mut String) {
    let code = |word: &str| format!("`{word}`");
    let reasons = Reason::ALL.map(|why| (code(why.word()), sentences::reason(why).to_owned()));
    table(text, "Reasons", "reason", reasons.into());
    let ends = [Reason::Finished, Reason::Retrying, Reason::BreakerOpen, Reason::CrashedRestartOff];
    let explained = ends.into_iter().flat_map(|why| {
        ends_seen(why).into_iter().map(move |fact| {
            let evidence = seen(Witness::Kernel, fact);
            (code(why.word()), sentences::explained(why, &evidence))
        })
    });
    let mut explained: Vec<(String, String)> = explained.collect();
    explained.dedup();
    let suspensions = [
        Suspension::Forgotten,
        Suspension::Wanted(PausedBy::Person),
        Suspension::Wanted(PausedBy::KillSignal),
    ];
    explained.extend(suspensions.map(|why| {
        (code(sentences::suspended::WORD), sentences::suspended::sentence(why, Some(4711)))
    }));
    table(text, "Reasons with what was seen", "reason", explained);
    table(text, "Evidence", "witness", evidence());
    list(text, "How a session ended", exits().map(sentences::exit).into());
    list(text, "What happens next", outlooks());
    list(text, "What a text waits for", waits());
    let said = [
        sentences::UNREADABLE_ROW,
        sentences::LOST,
        sentences::MAY_BE_READ,
        sentences::WRITTEN,
        sentences::held_for(HeldFor::Verdict),
        sentences::held_for(HeldFor::Person),
        sentences::held_for(HeldFor::Damage),
    ];
    list(text, "Notes on texts and holds", said.map(str::to_owned).into());
    table(text, "History", "event", history());
}

fn seen(witness: Witness, fact: Finding) -> Evidence {
    Evidence { witness, fact, at: Time(0) }
}

/// How a session can have ended, for an agent with this reason.
fn ends_seen(why: Reason) -> Vec<Finding> {
    if why == Reason::Finished {
        return vec![Finding::Exited(Exit::Code(0))];
    }
    let mut ends: Vec<Finding> = exits().map(Finding::Exited).into();
    ends.extend([Finding::NotStarted("Permission denied".into()), Finding::TimeCame]);
    ends
}

fn exits() -> [Exit; 7] {
    let unknown = Exit::Unknown;
    [
        Exit::Code(0),
        Exit::Code(1),
        Exit::KillSignal(9),
        unknown(UnknownExit::HolderDied),
        unknown(UnknownExit::MachineRestarted),
        unknown(UnknownExit::HomeCopied),
        unknown(UnknownExit::NotStarted),
    ]
}

fn evidence() -> Vec<(String, String)> {
    // The verbs that move an agent or change its settings; no other is ever evidence.
    let verbs = [Verb::Spawn, Verb::Stop, Verb::Wake, Verb::Restart, Verb::Set, Verb::Bury];
    let shown = [
        Show::SessionBegan,
        Show::TurnBegan,
        Show::TurnEnded,
        Show::PermissionDialog,
        Show::Question,
        Show::RateLimit,
        Show::ServiceError,
        Show::AccessRefused,
        Show::TooLong,
        Show::BackgroundWork,
        Show::LimitReached,
        Show::NothingAtFirst,
        Show::NothingInTurn,
    ];
    let mut all: Vec<Evidence> =
        verbs.map(|verb| seen(Witness::Operator, Finding::Asked(verb))).into();
    all.push(seen(Witness::Agent(ADA), Finding::Asked(Verb::Stop)));
    all.extend(shown.map(|show| seen(Witness::Harness, Finding::Shown(show))));
    let process = Process { pid: 4711, start_ticks: 0 };
    all.extend([
        seen(Witness::Kernel, Finding::Executed(process)),
        seen(Witness::Holder, Finding::NotStarted("No such file or directory".into())),
        seen(Witness::Kernel, Finding::Exited(Exit::KillSignal(9))),
        seen(Witness::Daemon, Finding::TimeCame),
        seen(Witness::Daemon, Finding::BootChanged),
        seen(Witness::Daemon, Finding::HomeCopied),
        seen(Witness::Daemon, Finding::SessionFound(SessionNumber(3))),
        seen(Witness::Daemon, Finding::RecordsLost),
        seen(Witness::Daemon, Finding::TaskVerified(TaskId(1))),
        seen(Witness::Daemon, Finding::TaskGiven(TaskId(1))),
        seen(Witness::Daemon, Finding::Unreadable("the file is damaged".into())),
    ]);
    let row = |one: &Evidence| (sentences::witness(one.witness).to_owned(), sentences::fact(one));
    all.iter().map(row).collect()
}

fn outlooks() -> Vec<String> {
    let all = [
        Outlook::Held(HeldFor::Damage),
        Outlook::Held(HeldFor::Verdict),
        Outlook::Held(HeldFor::Person),
        Outlook::InLine,
        Outlook::AfterLastSession,
        Outlook::Start { crash_at: None },
        Outlook::Start { crash_at: SOME_TIME },
        Outlook::FirstSign { needs_person_at: SOME_TIME },
        Outlook::Person,
        Outlook::TurnEnd,
        Outlook::Exit(Restart::Never),
        Outlook::Exit(Restart::OnCrash),
        Outlook::Exit(Restart::Always),
        Outlook::Burial,
        Outlook::Text,
        Outlook::Answer,
        Outlook::Vendor { at: SOME_TIME },
        Outlook::TurnGivenUp { vendor_ready_at: SOME_TIME },
        Outlook::Confirmation,
        Outlook::Hangs,
        Outlook::Successor { at: SOME_TIME },
        Outlook::Retry { at: SOME_TIME },
        Outlook::Rest(Span::Mortal),
        Outlook::Rest(Span::Persistent),
        Outlook::Wake,
        Outlook::Task,
        Outlook::Approval,
        Outlook::Final,
    ];
    // As the command line shows them, with a time that is left and without.
    let rows = all.into_iter().flat_map(|outlook| {
        let next = sentences::outlook(outlook);
        let timed = next.timed.map(|(text, _)| text.replace("{left}", "4m"));
        [timed, Some(next.text.to_owned())]
    });
    let mut rows: Vec<String> = rows.flatten().collect();
    let mut seen = BTreeSet::new();
    rows.retain(|row| seen.insert(row.clone()));
    rows
}

fn waits() -> Vec<String> {
    let why = [
        Why::Unreadable,
        Why::NoSession,
        Why::Starting,
        Why::HandsOff,
        Why::Dialog,
        Why::TurnRuns,
        Why::AgentHeld,
        Why::Burial,
        Why::Earlier(MessageId(1)),
        Why::Hook,
        Why::Unheard,
        Why::Unseen,
        Why::Due,
    ];
    let usual = why.into_iter().chain(Held::ALL.map(Why::After)).map(|why| (why, Reason::Idle));
    let all = usual.chain([(Why::Dialog, Reason::SilentAtStart)]);
    all.map(|(why, agent)| sentences::waits(why, agent)).collect()
}

/// Kinds of which the golden files have examples that never occur.
const MADE_UP: [&str; 5] =
    ["moved", "put-off", "post-written", "session-ended", "settings-changed"];

/// One event of each kind: the golden files of the store have them all.
fn history() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../perennial-store/golden");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("the golden files")
        .map(|entry| entry.expect("a golden file").path())
        .collect();
    files.sort();
    let mut rows: Vec<(String, String)> = examples();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a golden file");
        let Ok(stored) = serde_json::from_str::<serde_json::Value>(&text) else { continue };
        let (Some(kind), Some(form)) = (stored["kind"].as_str(), stored["v"].as_u64()) else {
            continue;
        };
        if MADE_UP.contains(&kind) {
            continue;
        }
        let payload = stored["payload"].to_string();
        let streams = [
            Entity::Agent(ADA),
            Entity::Message(MessageId(7)),
            Entity::Post(PostId(9)),
            Entity::Job(JobId(8)),
            Entity::Name("ada".parse::<perennial_core::name::Name>().expect("a name").key()),
            Entity::Conversation("0f3c2a1e-1".parse().expect("an id")),
            Entity::Node(NodeId::HOME),
            Entity::Role("architect".parse::<perennial_core::name::Name>().expect("a name").key()),
            Entity::Signal(SignalId(1)),
            Entity::Escalation(EscalationId(1)),
            Entity::Task(TaskId(11)),
        ];
        for stream in streams {
            let Ok(what) = stored::read(&stream, kind, form, payload.as_bytes()) else { continue };
            let row = (format!("`{kind}`"), sentences::sentence(&what));
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    for (kind, _) in stored::kinds() {
        assert!(rows.iter().any(|(event, _)| *event == format!("`{kind}`")), "no {kind}");
    }
    // The examples of a kind stay in their order.
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    rows.into_iter().map(|(kind, text)| (kind, plain(&text))).collect()
}

fn settings() -> [AgentEvent; 2] {
    let set = |settings| {
        let evidence = seen(Witness::Operator, Finding::Asked(Verb::Set));
        AgentEvent::SettingsChanged { settings: Box::new(settings), evidence }
    };
    let (dir, project) = ("/srv".to_owned(), "/srv/.git".to_owned());
    let (added, removed) = (vec!["CI".to_owned()], vec!["LANG".to_owned()]);
    [
        set(Settings {
            restart: Some(Restart::Never),
            place: Some(Place { dir, project }),
            variables: Some(VariableChange { revision: 2, set: added, unset: removed }),
            parent: Some(NewParent::Agent(ADA)),
            situations: Some(vec!["PRD-AUTH-001".parse().expect("a situation")]),
        }),
        set(Settings { parent: Some(NewParent::Nobody), ..Settings::default() }),
    ]
}

/// What happens to agents and on the board, as it can occur.
fn examples() -> Vec<(String, String)> {
    let after = |seconds: u64| Time(seconds * 1_000_000);
    let moved = |cause, to, reason, (witness, fact), until: Option<u64>| {
        let evidence = Evidence { witness, fact, at: after(0) };
        let until = until.map(after);
        AgentEvent::Moved(Move { cause, to, reason, evidence, until })
    };
    let kernel = |exit| (Witness::Kernel, Finding::Exited(exit));
    let crash =
        |end, wait| moved(Cause::EndedCrashed, State::Crashed, Reason::Retrying, end, Some(wait));
    let failed = |why: &str| (Witness::Holder, Finding::NotStarted(why.to_owned()));
    let (daemon, operator) =
        (|fact| (Witness::Daemon, fact), |verb| (Witness::Operator, Finding::Asked(verb)));
    let shown = |show| (Witness::Harness, Finding::Shown(show));
    let moves = [
        moved(Cause::TurnBegan, State::Working, Reason::InTurn, shown(Show::TurnBegan), None),
        moved(Cause::TurnEnded, State::Waiting, Reason::NeedsAnswer, shown(Show::Question), None),
        crash(kernel(Exit::KillSignal(9)), 0),
        crash(kernel(Exit::Code(1)), 1),
        crash(kernel(Exit::Code(0)), 1),
        crash(failed("No such file or directory (os error 2)"), 1),
        crash(failed(""), 1),
        moved(
            Cause::StartLimit,
            State::Crashed,
            Reason::Retrying,
            daemon(Finding::TimeCame),
            Some(60),
        ),
        moved(
            Cause::EndedCrashed,
            State::Crashed,
            Reason::BreakerOpen,
            kernel(Exit::Code(1)),
            Some(300),
        ),
        moved(Cause::Retry, State::Waking, Reason::Starting, daemon(Finding::TimeCame), Some(90)),
        moved(Cause::EndedFinished, State::Sleeping, Reason::Finished, kernel(Exit::Code(0)), None),
        moved(Cause::Stop, State::Sleeping, Reason::Stopped, operator(Verb::Stop), None),
        moved(Cause::Buried, State::Dead, Reason::Retired, operator(Verb::Bury), None),
        AgentEvent::PutOff { until: Some(after(300)), unseen: Duration::from_secs(7200) },
        AgentEvent::PutOff { until: None, unseen: Duration::from_secs(7200) },
        AgentEvent::PutOff { until: Some(after(300)), unseen: Duration::ZERO },
    ];
    let ended = exits().map(|exit| {
        let (number, tally) = (SessionNumber(3), Tally::ByFirstRule);
        AgentEvent::SessionEnded { number, exit, tally, is_clean: exit.is_clean(), asked: None }
    });
    let posted = |by, title: Option<&str>| {
        let text = Text { digest: Digest([0; 32]), bytes: 300, head: "The build is …".into() };
        What::Post(PostId(9), PostEvent::Written { by, title: title.map(Into::into), text })
    };
    let ada = Author::Agent { id: ADA, name: Some("ada".parse().expect("a name")) };
    let events =
        moves.into_iter().chain(ended).chain(settings()).map(|event| What::Agent(ADA, event));
    let posts = [posted(Author::Person, Some("the build is green")), posted(ada, None)];
    let row = |what: What| (format!("`{}`", stored::kind(&what)), sentences::sentence(&what));
    events.chain(posts).map(row).collect()
}
