//! Reasons, evidence, waiting and history.

use std::path::Path;

use perennial_core::agent::Outlook;
use perennial_core::entity::Entity;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, JobId, MessageId, NodeId, PostId};
use perennial_core::message::{Held, Why};
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_store::stored;

use super::{list, table};
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
    table(text, "Reasons with what was seen", "reason", explained.collect());
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

fn exits() -> [Exit; 6] {
    let unknown = Exit::Unknown;
    [
        Exit::Code(1),
        Exit::KillSignal(9),
        unknown(UnknownExit::HolderDied),
        unknown(UnknownExit::MachineRestarted),
        unknown(UnknownExit::HomeCopied),
        unknown(UnknownExit::NotStarted),
    ]
}

fn evidence() -> Vec<(String, String)> {
    let verbs = [
        Verb::Look,
        Verb::Attach,
        Verb::Send,
        Verb::Logs,
        Verb::Spawn,
        Verb::Stop,
        Verb::Wake,
        Verb::Rename,
        Verb::Bury,
        Verb::Report,
        Verb::Post,
        Verb::Down,
    ];
    let shown = [
        Show::SessionBegan,
        Show::TurnBegan,
        Show::TurnEnded,
        Show::PermissionDialog,
        Show::Question,
        Show::RateLimit,
        Show::ServiceError,
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
        seen(Witness::Daemon, Finding::Unreadable("the file is damaged here".into())),
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
        Outlook::Exit(Restart::Never),
        Outlook::Exit(Restart::OnCrash),
        Outlook::Exit(Restart::Always),
        Outlook::Text,
        Outlook::Answer,
        Outlook::Vendor { at: SOME_TIME },
        Outlook::TurnGivenUp { vendor_ready_at: None },
        Outlook::TurnGivenUp { vendor_ready_at: SOME_TIME },
        Outlook::Confirmation,
        Outlook::Hangs,
        Outlook::Successor { at: SOME_TIME },
        Outlook::Retry { at: SOME_TIME },
        Outlook::Wake,
        Outlook::Approval,
        Outlook::Final,
    ];
    let row = |outlook| match sentences::outlook(outlook) {
        (text, Some(_)) => format!("{text} in 4m"),
        (text, None) => text.to_owned(),
    };
    all.map(row).into()
}

fn waits() -> Vec<String> {
    let held = [
        Held::Draft,
        Held::Doubt,
        Held::Dialog,
        Held::Suspended,
        Held::NotDrawn,
        Held::NoEcho,
        Held::Leftover,
        Held::Busy,
        Held::Full,
        Held::OldHolder,
        Held::Damaged,
        Held::Unfit,
        Held::LongLine,
        Held::HomeCopied,
        Held::SessionEnded,
        Held::NotTaken,
    ];
    let why = [
        Why::Unreadable,
        Why::NoSession,
        Why::Starting,
        Why::Dialog,
        Why::TurnRuns,
        Why::AgentHeld,
        Why::Earlier,
        Why::Hook,
        Why::Unheard,
        Why::Unseen,
        Why::Due,
    ];
    let usual = why.into_iter().chain(held.map(Why::After)).map(|why| (why, Reason::Idle));
    let all = usual.chain([(Why::Dialog, Reason::SilentAtStart)]);
    all.map(|(why, agent)| sentences::waits(why, agent).to_owned()).collect()
}

/// One event of each kind: the golden files of the store have them all.
fn history() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../perennial-store/golden");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("the golden files")
        .map(|entry| entry.expect("a golden file").path())
        .collect();
    files.sort();
    let mut rows: Vec<(String, String)> = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a golden file");
        let Ok(stored) = serde_json::from_str::<serde_json::Value>(&text) else { continue };
        let (Some(kind), Some(form)) = (stored["kind"].as_str(), stored["v"].as_u64()) else {
            continue;
        };
        let payload = stored["payload"].to_string();
        let streams = [
            Entity::Agent(ADA),
            Entity::Message(MessageId(7)),
            Entity::Post(PostId(9)),
            Entity::Job(JobId(8)),
            Entity::Name("ada".parse::<perennial_core::name::Name>().expect("a name").key()),
            Entity::Conversation("0f3c2a1e-1".parse().expect("an id")),
            Entity::Node(NodeId::HOME),
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
    rows.into_iter().map(|(kind, text)| (kind, text.replace('\n', "␊"))).collect()
}
