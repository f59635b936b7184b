//! What an agent says at a checkpoint, within bounds, and what is kept of what it said before.
//!
//! Pure. Words are kept as they were said, hidden characters included: whoever shows them makes them harmless.

use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::work::WorkPhase;

/// The longest summary, and the longest instructions.
pub const WORDS_BYTES_MAX: usize = 2000;
/// At most this many decisions, facts or questions; the newest list replaces the last one.
pub const ENTRIES_MAX: usize = 10;
/// The longest decision, reason, fact or question.
pub const ENTRY_BYTES_MAX: usize = 300;
/// All of it together.
pub const SAID_BYTES_MAX: usize = 8 << 10;

/// The agent's own words. What it did not say again is kept from its last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Said {
    pub summary: Option<String>,
    pub decisions: Vec<KeyDecision>,
    pub knowledge: Vec<String>,
    pub questions: Vec<String>,
    /// How to go on.
    pub instructions: Option<String>,
    /// When it said so last.
    pub at: Option<Time>,
}

/// What was decided, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDecision {
    pub what: String,
    pub why: Option<String>,
}

/// What is said at one checkpoint. A list that is there replaces the last one, an empty one too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaidDraft {
    pub phase: Option<WorkPhase>,
    pub summary: Option<String>,
    pub decisions: Option<Vec<KeyDecision>>,
    pub knowledge: Option<Vec<String>>,
    pub questions: Option<Vec<String>>,
    pub instructions: Option<String>,
    /// A person's own line beside the checkpoint: not the agent's word.
    pub note: Option<String>,
}

/// One of the things that can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidField {
    Summary,
    Decisions,
    Knowledge,
    Questions,
    Instructions,
    Note,
}

impl SaidField {
    pub fn word(self) -> &'static str {
        match self {
            SaidField::Summary => "summary",
            SaidField::Decisions => "decisions",
            SaidField::Knowledge => "knowledge",
            SaidField::Questions => "questions",
            SaidField::Instructions => "instructions",
            SaidField::Note => "note",
        }
    }
}

/// What is wrong with what somebody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidFault {
    /// There is nothing in it.
    Blank {
        field: SaidField,
    },
    TooLong {
        field: SaidField,
        bytes: usize,
        most: usize,
    },
    TooMany {
        field: SaidField,
        count: usize,
    },
    /// All of it together.
    TooLarge {
        bytes: usize,
    },
}

impl SaidDraft {
    /// Whether something in it is for the agent itself to say.
    pub fn is_agents(&self) -> bool {
        let SaidDraft { phase, summary, decisions, knowledge, questions, instructions, note: _ } =
            self;
        let texts = [summary, instructions].into_iter().any(Option::is_some);
        let lists = [knowledge, questions].into_iter().any(Option::is_some);
        phase.is_some() || texts || lists || decisions.is_some()
    }

    /// CK3
    pub fn checked(&self) -> Result<(), SaidFault> {
        let words = [
            (SaidField::Summary, &self.summary),
            (SaidField::Instructions, &self.instructions),
            (SaidField::Note, &self.note),
        ];
        let mut sum = 0;
        for (field, text) in words {
            let Some(text) = text else { continue };
            sum += within(field, text, WORDS_BYTES_MAX)?;
        }
        let decisions = self.decisions.as_deref().unwrap_or_default();
        counted(SaidField::Decisions, decisions.len())?;
        for one in decisions {
            for text in [Some(&one.what), one.why.as_ref()].into_iter().flatten() {
                sum += within(SaidField::Decisions, text, ENTRY_BYTES_MAX)?;
            }
        }
        let lists =
            [(SaidField::Knowledge, &self.knowledge), (SaidField::Questions, &self.questions)];
        for (field, list) in lists {
            let list = list.as_deref().unwrap_or_default();
            counted(field, list.len())?;
            for text in list {
                sum += within(field, text, ENTRY_BYTES_MAX)?;
            }
        }
        match sum > SAID_BYTES_MAX {
            true => Err(SaidFault::TooLarge { bytes: sum }),
            false => Ok(()),
        }
    }
}

fn within(field: SaidField, text: &str, most: usize) -> Result<usize, SaidFault> {
    if text.trim().is_empty() {
        return Err(SaidFault::Blank { field });
    }
    match text.len() > most {
        true => Err(SaidFault::TooLong { field, bytes: text.len(), most }),
        false => Ok(text.len()),
    }
}

fn counted(field: SaidField, count: usize) -> Result<(), SaidFault> {
    match count > ENTRIES_MAX {
        true => Err(SaidFault::TooMany { field, count }),
        false => Ok(()),
    }
}

impl Said {
    /// What counts after this was said too.
    pub fn with(self, draft: &SaidDraft, now: Time) -> Said {
        let at = if draft.is_agents() { Some(now) } else { self.at };
        Said {
            summary: draft.summary.clone().or(self.summary),
            decisions: draft.decisions.clone().unwrap_or(self.decisions),
            knowledge: draft.knowledge.clone().unwrap_or(self.knowledge),
            questions: draft.questions.clone().unwrap_or(self.questions),
            instructions: draft.instructions.clone().or(self.instructions),
            at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize, bytes: usize) -> Option<Vec<String>> {
        Some(vec!["x".repeat(bytes); count])
    }

    /// CK3
    #[test]
    fn what_is_said_is_bounded_and_the_fault_names_its_field() {
        let most = SaidDraft {
            summary: Some("x".repeat(WORDS_BYTES_MAX)),
            knowledge: entries(ENTRIES_MAX, ENTRY_BYTES_MAX),
            questions: entries(ENTRIES_MAX, ENTRY_BYTES_MAX),
            ..SaidDraft::default()
        };
        assert_eq!(most.checked(), Ok(()));
        let long = Some("é".repeat(WORDS_BYTES_MAX / 2 + 1));
        let draft = SaidDraft { instructions: long, ..SaidDraft::default() };
        let field = SaidField::Instructions;
        let (bytes, most_bytes) = (WORDS_BYTES_MAX + 2, WORDS_BYTES_MAX);
        let fault = SaidFault::TooLong { field, bytes, most: most_bytes };
        assert_eq!(draft.checked(), Err(fault));
        let many = SaidDraft { questions: entries(ENTRIES_MAX + 1, 1), ..SaidDraft::default() };
        let fault = SaidFault::TooMany { field: SaidField::Questions, count: ENTRIES_MAX + 1 };
        assert_eq!(many.checked(), Err(fault));
        let blank = SaidDraft { knowledge: Some(vec![" \n".to_owned()]), ..SaidDraft::default() };
        assert_eq!(blank.checked(), Err(SaidFault::Blank { field: SaidField::Knowledge }));
        let all = SaidDraft { instructions: Some("x".repeat(WORDS_BYTES_MAX)), ..most };
        let bytes = 2 * WORDS_BYTES_MAX + 2 * ENTRIES_MAX * ENTRY_BYTES_MAX;
        assert_eq!(all.checked(), Err(SaidFault::TooLarge { bytes }));
    }

    /// CK2: each of these is the agent's own to say, and a note is not.
    #[test]
    fn a_note_is_nobodys_word() {
        let draft = SaidDraft::default;
        let decision = KeyDecision { what: "x".into(), why: None };
        for own in [
            SaidDraft { phase: Some(WorkPhase::Testing), ..draft() },
            SaidDraft { summary: Some("x".into()), ..draft() },
            SaidDraft { instructions: Some("x".into()), ..draft() },
            SaidDraft { decisions: Some(vec![decision]), ..draft() },
            SaidDraft { knowledge: entries(1, 1), ..draft() },
            SaidDraft { questions: entries(1, 1), ..draft() },
        ] {
            assert!(own.is_agents(), "{own:?}");
            assert_eq!(Said::default().with(&own, Time(1)).at, Some(Time(1)), "{own:?}");
        }
        let note = SaidDraft { note: Some("x".into()), ..draft() };
        assert!(!note.is_agents() && !draft().is_agents());
        assert_eq!(Said::default().with(&note, Time(1)), Said::default());
    }

    /// CK3: decisions with their reasons, and all of it together to the last byte.
    #[test]
    fn decisions_are_bounded_as_everything_else_is() {
        let with = |count: usize, what: usize, why: Option<usize>| {
            let what = "x".repeat(what);
            let why = why.map(|bytes| "y".repeat(bytes));
            let decisions = Some(vec![KeyDecision { what, why }; count]);
            SaidDraft { decisions, ..SaidDraft::default() }
        };
        let field = SaidField::Decisions;
        let (most, bytes) = (ENTRY_BYTES_MAX, ENTRY_BYTES_MAX + 1);
        assert_eq!(with(ENTRIES_MAX, most, Some(most)).checked(), Ok(()));
        let too_long = Err(SaidFault::TooLong { field, bytes, most });
        assert_eq!(with(1, bytes, None).checked(), too_long);
        assert_eq!(with(1, 1, Some(bytes)).checked(), too_long);
        assert_eq!(with(1, 0, None).checked(), Err(SaidFault::Blank { field }));
        let count = ENTRIES_MAX + 1;
        assert_eq!(with(count, 1, None).checked(), Err(SaidFault::TooMany { field, count }));
        // 2,000 and ten times 600 bytes, and a note for the rest.
        let rest = SAID_BYTES_MAX - WORDS_BYTES_MAX - ENTRIES_MAX * 2 * ENTRY_BYTES_MAX;
        let draft = |rest: usize| SaidDraft {
            summary: Some("x".repeat(WORDS_BYTES_MAX)),
            note: Some("x".repeat(rest)),
            ..with(ENTRIES_MAX, most, Some(most))
        };
        assert_eq!(draft(rest).checked(), Ok(()));
        let bytes = SAID_BYTES_MAX + 1;
        assert_eq!(draft(rest + 1).checked(), Err(SaidFault::TooLarge { bytes }));
    }

    /// CK2
    #[test]
    fn what_is_not_said_again_is_kept() {
        let decision = KeyDecision { what: "use SQLite".into(), why: Some("one file".into()) };
        let first = SaidDraft {
            summary: Some("begun".into()),
            instructions: Some("read it all".into()),
            decisions: Some(vec![decision.clone()]),
            questions: Some(vec!["which port?".into()]),
            ..SaidDraft::default()
        };
        let said = Said::default().with(&first, Time(1));
        let second = SaidDraft {
            summary: Some("half".into()),
            questions: Some(Vec::new()),
            ..SaidDraft::default()
        };
        let said = said.with(&second, Time(2)).with(&SaidDraft::default(), Time(3));
        let expected = Said {
            summary: Some("half".into()),
            instructions: Some("read it all".into()),
            decisions: vec![decision],
            at: Some(Time(2)),
            ..Said::default()
        };
        assert_eq!(said, expected);
    }
}
