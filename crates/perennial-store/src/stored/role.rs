//! Roles as they are stored: their own events, and the terms on which an agent took one.

use std::time::Duration;

use perennial_core::event::AgentEvent;
use perennial_core::id::AgentId;
use perennial_core::reason::Evidence;
use perennial_core::restart::Restart;
use perennial_core::role::{
    Cycle, CycleUnit, Holder, Interesting, Mandate, RoleEvent, RoleTerms, Span, Vacancy, Verify,
};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::part::{self, StoredEvidence};
use super::word::Worded;
use super::{Encoded, encoded};
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] =
    &[("role-taken", 1), ("role-left", 1), ("role-vacated", 1), ("role-dismissed", 1)];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Taken { by: String, living: bool },
    Left { by: String },
    Vacated(StoredVacancy),
    Dismissed {},
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredVacancy {
    role: String,
    last: StoredHolder,
    mandate: StoredMandate,
    frozen: Vec<StoredHolder>,
    since: u64,
    /// Absent where the rest says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct StoredHolder {
    id: String,
    name: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredMandate {
    NotWritten,
    Path(String),
    Text(String),
}

#[derive(Serialize, Deserialize)]
struct StoredTerms {
    mandate: StoredMandate,
    span: Worded<Span>,
    overseer: Option<String>,
    restart: Option<Worded<Restart>>,
    single: bool,
    /// Absent where no rounds are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every_s: Option<u64>,
    /// Absent where the rest says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared: Option<bool>,
    /// Absent where somebody's word is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verify: Option<Worded<Verify>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycle: Option<StoredCycle>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handoff_at: Option<u8>,
}

/// When a holder's session gives way to the next.
#[derive(Serialize, Deserialize)]
struct StoredCycle {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u32>,
    unit: Worded<CycleUnit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interesting: Vec<Worded<Interesting>>,
}

impl From<&Cycle> for StoredCycle {
    fn from(Cycle { after, unit, interesting }: &Cycle) -> StoredCycle {
        let interesting = interesting.iter().copied().map(Worded).collect();
        StoredCycle { after: *after, unit: Worded(*unit), interesting }
    }
}

impl From<StoredCycle> for Cycle {
    fn from(StoredCycle { after, unit, interesting }: StoredCycle) -> Cycle {
        let interesting = interesting.into_iter().map(|it| it.0).collect();
        Cycle { after, unit: unit.0, interesting }
    }
}

/// An agent took a role.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTaking {
    role: String,
    terms: StoredTerms,
    from: Option<String>,
    evidence: StoredEvidence,
}

/// An agent left its role.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredLeaving {
    to: Option<String>,
    evidence: StoredEvidence,
}

/// A round was given, or taken back.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRound {
    pub round: u64,
}

impl StoredRound {
    pub fn encoded(&self) -> Encoded {
        encoded("round-passed", self)
    }
}

impl StoredTaking {
    pub fn of(
        role: &str,
        terms: &RoleTerms,
        from: Option<AgentId>,
        evidence: &Evidence,
    ) -> StoredTaking {
        let from = from.map(|id| id.to_string());
        StoredTaking { role: role.to_owned(), terms: terms.into(), from, evidence: evidence.into() }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let StoredTaking { role, terms, from, evidence } = self;
        Ok(AgentEvent::RoleTaken {
            role: part::name(&role)?.as_str().to_owned(),
            terms: Box::new(terms.into()),
            from: from.as_deref().map(part::agent).transpose()?,
            evidence: evidence.try_into()?,
        })
    }
}

impl StoredLeaving {
    pub fn of(to: Option<AgentId>, evidence: &Evidence) -> StoredLeaving {
        StoredLeaving { to: to.map(|id| id.to_string()), evidence: evidence.into() }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let StoredLeaving { to, evidence } = self;
        let to = to.as_deref().map(part::agent).transpose()?;
        Ok(AgentEvent::RoleLeft { to, evidence: evidence.try_into()? })
    }
}

impl From<&RoleEvent> for Stored {
    fn from(event: &RoleEvent) -> Stored {
        match event {
            RoleEvent::Taken { by, is_living } => {
                Stored::Taken { by: by.to_string(), living: *is_living }
            }
            RoleEvent::Left { by } => Stored::Left { by: by.to_string() },
            RoleEvent::Vacated(vacancy) => Stored::Vacated((&**vacancy).into()),
            RoleEvent::Dismissed => Stored::Dismissed {},
        }
    }
}

impl TryFrom<Stored> for RoleEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<RoleEvent, Damage> {
        Ok(match stored {
            Stored::Taken { by, living } => {
                RoleEvent::Taken { by: part::agent(&by)?, is_living: living }
            }
            Stored::Left { by } => RoleEvent::Left { by: part::agent(&by)? },
            Stored::Vacated(vacancy) => RoleEvent::Vacated(Box::new(vacancy.try_into()?)),
            Stored::Dismissed {} => RoleEvent::Dismissed,
        })
    }
}

impl From<&Vacancy> for StoredVacancy {
    fn from(vacancy: &Vacancy) -> StoredVacancy {
        let Vacancy { role, last, mandate, frozen, since, is_declared } = vacancy;
        StoredVacancy {
            role: role.clone(),
            last: last.into(),
            mandate: mandate.into(),
            frozen: frozen.iter().map(Into::into).collect(),
            since: since.0,
            declared: Some(*is_declared).filter(|it| *it != vacancy_is_declared(mandate)),
        }
    }
}

impl TryFrom<StoredVacancy> for Vacancy {
    type Error = Damage;

    fn try_from(stored: StoredVacancy) -> Result<Vacancy, Damage> {
        let StoredVacancy { role, last, mandate, frozen, since, declared } = stored;
        let mandate: Mandate = mandate.into();
        Ok(Vacancy {
            role: part::name(&role)?.as_str().to_owned(),
            last: last.try_into()?,
            is_declared: declared.unwrap_or_else(|| vacancy_is_declared(&mandate)),
            mandate,
            frozen: frozen.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            since: Time(since),
        })
    }
}

impl From<&Holder> for StoredHolder {
    fn from(holder: &Holder) -> StoredHolder {
        let Holder { id, name } = holder;
        StoredHolder { id: id.to_string(), name: name.as_ref().map(ToString::to_string) }
    }
}

impl TryFrom<StoredHolder> for Holder {
    type Error = Damage;

    fn try_from(stored: StoredHolder) -> Result<Holder, Damage> {
        let name = stored.name.as_deref().map(part::name).transpose()?;
        Ok(Holder { id: part::agent(&stored.id)?, name })
    }
}

impl From<&Mandate> for StoredMandate {
    fn from(mandate: &Mandate) -> StoredMandate {
        match mandate {
            Mandate::NotWritten => StoredMandate::NotWritten,
            Mandate::Path(path) => StoredMandate::Path(path.clone()),
            Mandate::Text(text) => StoredMandate::Text(text.clone()),
        }
    }
}

impl From<StoredMandate> for Mandate {
    fn from(stored: StoredMandate) -> Mandate {
        match stored {
            StoredMandate::NotWritten => Mandate::NotWritten,
            StoredMandate::Path(path) => Mandate::Path(path),
            StoredMandate::Text(text) => Mandate::Text(text),
        }
    }
}

impl From<&RoleTerms> for StoredTerms {
    fn from(terms: &RoleTerms) -> StoredTerms {
        let RoleTerms { mandate, span, overseer, restart, is_single, every, is_declared, .. } =
            terms;
        StoredTerms {
            mandate: mandate.into(),
            span: Worded(*span),
            overseer: overseer.clone(),
            restart: restart.map(Worded),
            single: *is_single,
            every_s: every.map(|every| every.as_secs()),
            declared: Some(*is_declared).filter(|it| *it != are_declared(terms)),
            verify: Some(terms.verify).filter(|it| *it != Verify::default()).map(Worded),
            cycle: terms.cycle.as_ref().map(StoredCycle::from),
            handoff_at: terms.handoff_at,
        }
    }
}

impl From<StoredTerms> for RoleTerms {
    fn from(stored: StoredTerms) -> RoleTerms {
        let StoredTerms { mandate, span, overseer, restart, single, every_s, declared, .. } =
            stored;
        let terms = RoleTerms {
            mandate: mandate.into(),
            span: span.0,
            overseer,
            restart: restart.map(|restart| restart.0),
            is_single: single,
            every: every_s.map(Duration::from_secs),
            is_declared: false,
            verify: stored.verify.map(|verify| verify.0).unwrap_or_default(),
            cycle: stored.cycle.map(Cycle::from),
            handoff_at: stored.handoff_at,
        };
        let is_declared = declared.unwrap_or_else(|| are_declared(&terms));
        RoleTerms { is_declared, ..terms }
    }
}

/// What differs from the defaults was declared.
fn are_declared(terms: &RoleTerms) -> bool {
    RoleTerms { is_declared: false, ..terms.clone() } != RoleTerms::default()
}

/// Of a role that nobody declared, no mandate is known.
fn vacancy_is_declared(mandate: &Mandate) -> bool {
    *mandate != Mandate::NotWritten
}
