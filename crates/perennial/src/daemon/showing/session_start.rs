//! What a session is told when it starts: which agent it is, which other agents there are, its context clock.

use perennial_core::agent::Agent;
use perennial_core::context::Sample;
use perennial_core::conversation::Followed;
use perennial_core::fleet::{Companion, Fleet};
use perennial_core::role::{self, Vacant};
use perennial_core::state::Roster;
use perennial_engine::harness::mail_texts;
use perennial_engine::harness::session_texts::{self, CurrentTask, Other, Recipient, VacantRole};

use crate::daemon::driving::presence::Presence;
use crate::daemon::showing::{role as showing, view};

/// For a session whose window begins so, or that asks for it.
pub fn text(
    fleet: &Fleet,
    agent: &Agent,
    how: Option<Followed>,
    presence: &Presence,
    sample: Option<&Sample>,
) -> String {
    let name = view::name(agent);
    let parent = agent.parent.and_then(|id| fleet.agent(id));
    // Who is buried answers nobody, and another agent may have its name.
    let parent = parent.filter(|it| it.state.roster() != Roster::Cemetery).map(view::name);
    let others: Vec<(String, Companion<'_>)> =
        fleet.companions(agent).map(|other| (view::name(other.agent), other)).collect();
    let states: Vec<String> = others
        .iter()
        .map(|(_, other)| {
            let (state, reason) = other.agent.vouched(presence.confirmation(other.agent));
            format!("{} ({})", state.word(), reason.word())
        })
        .collect();
    let lines: Vec<Other<'_>> = others
        .iter()
        .zip(&states)
        .map(|((name, other), state)| Other {
            name,
            role: other.agent.role.as_deref(),
            state,
            summary: other.agent.summary.as_deref(),
            is_sibling: other.is_sibling,
        })
        .collect();
    let vacant = role::vacancies(fleet, Some(agent));
    let vacant: Vec<VacantRole<'_>> = vacant
        .iter()
        .map(|Vacant { vacancy, .. }| VacantRole {
            role: &vacancy.role,
            mandate: showing::mandate_words(&vacancy.mandate),
        })
        .collect();
    let unread = unread_mail(fleet, agent);
    let task = fleet.tasks().current(agent.id);
    let id = task.map(|task| task.id.to_string()).unwrap_or_default();
    let task = task.map(|task| CurrentTask {
        id: &id,
        title: &task.brief.title,
        open_step: task
            .open_step()
            .map(|(at, step)| (at, task.brief.steps.len(), step.text.as_str())),
        given_back: Some(task.reason.as_str()).filter(|_| task.rounds > 0),
        last_note: task.last_note.as_deref().map(|(_, note)| note.head.as_str()),
    });
    let recipient = Recipient {
        name: &name,
        role: agent.role.as_deref(),
        mandate: agent.role.as_ref().map(|_| showing::mandate_words(&agent.role_terms.mandate)),
        parent: parent.as_deref(),
        session: agent.session.as_ref().map_or(0, |session| u64::from(session.number.0)),
        dir: &agent.launch.dir,
        was_stopped: agent.awaits_operator_at_window(how),
        unread_mail: unread.as_deref(),
        task,
    };
    session_texts::session_start(&recipient, &lines, &vacant, sample)
}

/// How much unread mail an agent has, and of whom, for the start of its session.
pub fn unread_mail(fleet: &Fleet, agent: &Agent) -> Option<String> {
    let mails = fleet.messages().of(agent.id).filter_map(|message| {
        message.mail().map(|mail| mail_texts::sender(message.from, mail.sender_name.as_ref()))
    });
    mail_texts::unread_line(mails)
}
