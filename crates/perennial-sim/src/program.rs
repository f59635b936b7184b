//! What simulated programs do: they fail to start, end by themselves, or go on; they obey kill
//! signals or are deaf to them; they leave children behind or not.
//!
//! Never a real process.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use perennial_core::exit::Exit;

use crate::random::Random;
use crate::span;

/// How one session's program behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    pub executes: bool,
    /// How long after its start it ends by itself, and how.
    pub ends: Option<(Duration, Exit)>,
    pub hearing: Hearing,
    /// Whether its children outlive it until somebody ends them.
    pub forks: bool,
    /// An agent CLI that gives no sign of life.
    pub is_silent: bool,
}

/// Which kill signal a program gives in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// It ends by itself, cleanly, at the interrupt.
    Interrupt,
    Term,
    /// Only KILL ends it.
    Deaf,
}

impl Program {
    pub const STEADY: Program = Program {
        executes: true,
        ends: None,
        hearing: Hearing::Interrupt,
        forks: false,
        is_silent: false,
    };

    /// Any behaviour at all, with the quick deaths that restarts are about.
    pub fn drawn(random: &mut Random) -> Program {
        let exit = match random.below(4) {
            0 => Exit::Code(0),
            1 => Exit::Code(1 + i32::try_from(random.below(100)).unwrap_or(0)),
            2 => Exit::KillSignal(9),
            _ => Exit::KillSignal(11),
        };
        let after = match random.below(4) {
            0 => 0..2_000,
            1 => 0..3_000_000,
            2 => 0..100_000_000,
            _ => 0..1_500_000_000,
        };
        let mut after = random.span(&after);
        // A clean end brings the next one at once under `always`: keep such loops slow.
        if exit.is_clean() {
            after += Duration::from_secs(20);
        }
        let hearing = match random.below(4) {
            0 | 1 => Hearing::Interrupt,
            2 => Hearing::Term,
            _ => Hearing::Deaf,
        };
        Program {
            executes: !random.per_mille(80),
            ends: random.per_mille(600).then_some((after, exit)),
            hearing,
            forks: random.per_mille(300),
            is_silent: false,
        }
    }
}

/// The text names no behaviour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no program `{0}`: steady, missing, deaf, forks, silent, exit:CODE@SPAN, signal:NUMBER@SPAN"
)]
pub struct NoProgram(String);

impl FromStr for Program {
    type Err = NoProgram;

    /// Words joined by `+`: `exit:3@5s`, `deaf+forks`.
    fn from_str(text: &str) -> Result<Program, NoProgram> {
        let bad = || NoProgram(text.to_owned());
        let mut program = Program::STEADY;
        for word in text.split('+') {
            match word {
                "steady" => {}
                "missing" => program.executes = false,
                "deaf" => program.hearing = Hearing::Deaf,
                "term" => program.hearing = Hearing::Term,
                "forks" => program.forks = true,
                "silent" => program.is_silent = true,
                end => {
                    let (how, after) = end.split_once('@').ok_or_else(bad)?;
                    let after = span::parse(after).ok_or_else(bad)?;
                    let (kind, value) = how.split_once(':').ok_or_else(bad)?;
                    let value = value.parse().map_err(|_| bad())?;
                    let exit = match kind {
                        "exit" => Exit::Code(value),
                        "signal" => Exit::KillSignal(value),
                        _ => return Err(bad()),
                    };
                    program.ends = Some((after, exit));
                }
            }
        }
        Ok(program)
    }
}

/// An exit as people write it.
pub struct ExitWords(pub Exit);

impl fmt::Display for ExitWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Exit::Code(code) => write!(f, "code {code}"),
            Exit::KillSignal(number) => write!(f, "kill signal {number}"),
            Exit::Unknown(why) => write!(f, "unknown: {why:?}"),
        }
    }
}
