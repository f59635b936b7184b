//! Roles as clients see them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use perennial_api::role as wire;
use perennial_core::agent::Agent;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::message::{self, Content, Mailbox, Message, MessageState};
use perennial_core::name::{Name, NameKey};
use perennial_core::role::{self, DeclaredIn, Holder, Mandate, RoleTerms, Vacancy, Vacant};
use perennial_core::round::{self, NoRounds, Rounds};
use perennial_core::state::{Roster, State};
use perennial_core::time::Time;
use perennial_engine::harness::mail_texts;

use super::{sentences, view};
use crate::daemon::time::rfc3339;
use crate::roles::Declaration;

/// A role as it is declared where that counts.
#[derive(Debug)]
pub struct DeclaredRole {
    pub name: String,
    pub place: DeclaredIn,
    /// The file that declares it.
    pub file: PathBuf,
    pub declaration: Declaration,
    /// Where else it is declared, without effect.
    pub also: Vec<DeclaredIn>,
}

/// Roles by name: as they are declared, and those that nobody declared as their newest holder has them.
pub fn list(
    fleet: &Fleet,
    declared: &BTreeMap<NameKey, DeclaredRole>,
    now: Time,
) -> Vec<wire::Role> {
    let known = fleet.roles().keys().into_iter().filter(|key| is_of_use(fleet, key));
    let mut keys: Vec<&NameKey> = known.chain(declared.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().map(|key| role(fleet, key, declared.get(key), now)).collect()
}

/// Whether somebody holds it, its vacancy is told, or mail waits in it. One that nobody declared is not listed
/// after that.
fn is_of_use(fleet: &Fleet, key: &NameKey) -> bool {
    let has_mail = || fleet.messages().within(&Mailbox::Role(key.clone())).next().is_some();
    let is_held = fleet.roles().holders(key).next().is_some();
    is_held || role::vacant(fleet, key).is_some() || has_mail()
}

fn role(fleet: &Fleet, key: &NameKey, declared: Option<&DeclaredRole>, now: Time) -> wire::Role {
    let holders: Vec<&Agent> =
        fleet.roles().holders(key).filter_map(|id| fleet.agent(id)).collect();
    let vacant = role::vacant(fleet, key);
    let newest = holders.last();
    let terms = match (declared, newest) {
        (Some(it), _) => it.declaration.terms(&it.file),
        (None, Some(holder)) => holder.role_terms.clone(),
        (None, None) => RoleTerms {
            mandate: vacant.as_ref().map(|it| it.vacancy.mandate.clone()).unwrap_or_default(),
            ..RoleTerms::default()
        },
    };
    let written = newest.and_then(|holder| holder.role.clone());
    let written = written.or_else(|| vacant.as_ref().map(|it| it.vacancy.role.clone()));
    let at = terms.hands_off_at();
    let RoleTerms { mandate, span, overseer, restart, is_single, every, verify, .. } = terms;
    let missing = |it: &DeclaredRole| it.declaration.missing_mandate(&it.file).is_some();
    wire::Role {
        name: declared.map(|it| it.name.clone()).or(written).unwrap_or_else(|| key.to_string()),
        declared_in: declared.map(|it| it.place.word().to_owned()),
        also_declared_in: declared
            .map(|it| it.also.iter().map(|place| place.word().to_owned()).collect())
            .unwrap_or_default(),
        mandate: self::mandate(&mandate),
        mandate_missing: declared.is_some_and(missing),
        span: span.word().to_owned(),
        overseer,
        restart: restart.map(|restart| sentences::restart(restart).to_owned()),
        single_holder: is_single,
        every_s: every.map(|every| every.as_secs()),
        verify: verify.word().to_owned(),
        cycle: declared.and_then(|it| it.declaration.cycle()),
        handoff_at_percent: at,
        not_in_force: declared.map(|it| it.declaration.not_in_force()).unwrap_or_default(),
        holders: holders.into_iter().map(|agent| holder(fleet, agent, now)).collect(),
        vacancy: vacant.map(|vacant| now_vacant(&vacant)),
        mail_waiting: fleet.messages().within(&Mailbox::Role(key.clone())).count() as u64,
    }
}

fn holder(fleet: &Fleet, agent: &Agent, now: Time) -> wire::RoleHolder {
    wire::RoleHolder {
        id: agent.id.to_string(),
        name: view::name(agent),
        state: agent.state.word().to_owned(),
        roster: agent.state.roster().word().to_owned(),
        rounds: rounds(fleet, agent, now),
    }
}

/// The rounds that an agent's role asks of it.
pub fn rounds(fleet: &Fleet, agent: &Agent, now: Time) -> Option<wire::Rounds> {
    role::held(agent)?;
    let every = agent.role_terms.every?;
    let Rounds { given, since } = agent.rounds;
    let current = fleet.messages().round(agent.id);
    let due = current.filter(|round| matches!(round.state, MessageState::Waiting { .. }));
    Some(wire::Rounds {
        every_s: every.as_secs(),
        given,
        given_at: (given > 0).then(|| rfc3339(since)),
        next_at: round::due_at(fleet, agent).map(rfc3339),
        waiting: due.and_then(number),
        waiting_for: due
            .map(|round| sentences::waits(message::why(fleet, round, now), agent.reason)),
        none_because: match (round::hindrance(agent), current.and_then(number)) {
            (Some(why), _) => Some(no_rounds(why, agent)),
            (None, Some(number)) => Some(format!("round {number} has not been taken yet")),
            (None, None) => None,
        },
    })
}

fn number(round: &Message) -> Option<u64> {
    match round.content {
        Content::Round { number, .. } => Some(number),
        Content::Typed { .. }
        | Content::Mail(_)
        | Content::Notice { .. }
        | Content::Reminder { .. }
        | Content::Handoff { .. } => None,
    }
}

fn no_rounds(why: NoRounds, agent: &Agent) -> String {
    match why {
        NoRounds::Bare => "a bare command is given no rounds".to_owned(),
        NoRounds::Held => "the agent is held".to_owned(),
        NoRounds::Burial => "it will be buried when its turn ends".to_owned(),
        NoRounds::NoSession if agent.state == State::Sleeping => {
            format!("it sleeps; `perennial wake {}` starts a session", view::name(agent))
        }
        NoRounds::NoSession => "it has no running session".to_owned(),
    }
}

/// Every role without a living holder, those that are declared first.
pub fn vacancies(fleet: &Fleet) -> Vec<wire::Vacancy> {
    role::vacancies(fleet, None).iter().map(now_vacant).collect()
}

/// The vacancy of one role.
pub fn vacancy_of(fleet: &Fleet, role: &Name) -> Option<wire::Vacancy> {
    role::vacant(fleet, &role.key()).map(|vacant| now_vacant(&vacant))
}

/// The vacancy that the burial of this agent would leave.
pub fn to_be_vacant(fleet: &Fleet, id: AgentId) -> Option<wire::Vacancy> {
    let agent = fleet.agent(id)?;
    role::to_be_vacant(fleet, agent).map(|it| vacancy(&it))
}

/// A vacancy, with those in the freezer as they are now.
fn now_vacant(vacant: &Vacant<'_>) -> wire::Vacancy {
    let holders = vacant.holders.iter();
    let in_freezer = holders.filter(|agent| agent.state.roster() == Roster::Freezer);
    wire::Vacancy {
        in_freezer: in_freezer.map(|agent| view::name(agent)).collect(),
        declared: vacant.is_declared,
        ..vacancy(vacant.vacancy)
    }
}

/// A vacancy as it was announced.
pub fn vacancy(vacancy: &Vacancy) -> wire::Vacancy {
    let Vacancy { role, last, mandate, frozen, since, is_declared } = vacancy;
    wire::Vacancy {
        role: role.clone(),
        last_holder: name(last.id, last.name.as_ref()),
        last_holder_id: last.id.to_string(),
        mandate: self::mandate(mandate),
        in_freezer: frozen
            .iter()
            .map(|Holder { id, name }| self::name(*id, name.as_ref()))
            .collect(),
        since: rfc3339(*since),
        declared: *is_declared,
    }
}

fn name(id: AgentId, name: Option<&Name>) -> String {
    name.map_or_else(|| id.to_string(), ToString::to_string)
}

pub fn mandate(mandate: &Mandate) -> wire::Mandate {
    match mandate {
        Mandate::NotWritten => wire::Mandate::default(),
        Mandate::Path(path) => wire::Mandate { path: Some(path.clone()), text: None },
        Mandate::Text(text) => wire::Mandate { path: None, text: Some(text.clone()) },
    }
}

/// A mandate, or that there is none.
pub fn mandate_words(mandate: &Mandate) -> &str {
    mandate.written().unwrap_or("not yet written")
}

/// A mandate at the end of a sentence; one of several lines below it, with its lines.
fn told_mandate(mandate: &Mandate) -> String {
    match mandate_words(mandate) {
        words if words.trim().lines().count() > 1 => {
            format!("\n{}", mail_texts::quoted(words.trim(), usize::MAX))
        }
        // A text may end with a full stop of its own.
        words => format!("{}.", words.trim().trim_end_matches('.')),
    }
}

/// The title and the text of the post that announces a vacancy.
pub fn announcement(vacancy: &Vacancy) -> (String, String) {
    let Vacancy { role, last, mandate, frozen, .. } = vacancy;
    let title = format!("Role '{role}' is now vacant");
    let mut text = format!(
        "Role '{role}' is now vacant. Last held by {} ({}). Mandate: {}",
        name(last.id, last.name.as_ref()),
        last.id,
        told_mandate(mandate),
    );
    for Holder { id, name } in frozen {
        let holder = self::name(*id, name.as_ref());
        text.push_str(&format!(" {holder} also holds it, and is in the freezer."));
    }
    (title, text)
}
