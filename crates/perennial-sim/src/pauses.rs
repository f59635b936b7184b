//! How a turn of the simulated agent CLI comes to a halt: it ends, asks, fails, is interrupted, or waits
//! for a rate limit.

use std::ops::Range;

use perennial_core::fact::{Failure, Listed, Seen};
use perennial_core::id::{AgentId, SessionNumber};

use crate::cli::Mode;
use crate::world::World;

/// How long a call that met a rate limit waits before it is made again.
const RETRY_MICROS: Range<u64> = 0..200_000_000;

/// Why a turn is over, or can't go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    Input,
    /// Tasks run on in the background.
    Background,
    Permission,
    Answer,
    Failure(Failure),
}

impl World {
    pub fn waits(&mut self, agent: AgentId, number: SessionNumber, pause: Pause) {
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.mode = Mode::Idle;
        cli.asks = matches!(pause, Pause::Permission | Pause::Answer);
        let (seen, step, listed) = match pause {
            Pause::Input | Pause::Background => {
                let background_tasks = u32::from(pause == Pause::Background);
                (Seen::ReplyEnded { background_tasks }, Seen::Answered, Listed::Idle)
            }
            Pause::Permission => {
                (Seen::PermissionAsked { tool: None }, Seen::Answered, Listed::Permission)
            }
            Pause::Answer => (Seen::QuestionAsked, Seen::Answered, Listed::Question),
            Pause::Failure(failure) => {
                (Seen::CallFailed(failure), Seen::CallFailed(failure), Listed::Idle)
            }
        };
        self.write(agent, number, step);
        self.call(agent, number, seen, false);
        self.listed(agent, number, listed);
        self.turn_is_over(agent, number);
    }

    /// Somebody presses Esc: no hook is called.
    pub fn interrupted(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some(cli) = self.cli(agent, number) {
            cli.mode = Mode::Idle;
            self.write(agent, number, Seen::Interrupted);
            self.listed(agent, number, Listed::Idle);
            self.turn_is_over(agent, number);
        }
    }

    /// A model call meets a rate limit and is made again by itself: no hook is called, and the turn
    /// stands, with what is queued in it.
    pub fn retries(&mut self, agent: AgentId, number: SessionNumber) {
        let retries_at = self.now + self.random.span(&RETRY_MICROS);
        let until = self.random.per_mille(500).then_some(retries_at);
        if let Some(cli) = self.cli(agent, number) {
            cli.retries_at = retries_at;
            self.write(agent, number, Seen::CallFailed(Failure::RateLimit { until }));
        }
    }
}
