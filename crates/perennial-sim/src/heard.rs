//! What an input was about, kept while the input itself goes into a step.

use perennial_engine::supervisor::{AppendId, Input, Waiter};

/// What kind of input a step was about; the input itself goes into the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Durable(AppendId),
    Failed(AppendId),
    Tick,
    Else,
}

impl Heard {
    pub fn of(input: &Input) -> Heard {
        match input {
            Input::Durable(append, _) => Heard::Durable(*append),
            Input::Failed(append, _) | Input::Conflict(append) => Heard::Failed(*append),
            Input::Tick => Heard::Tick,
            Input::Request { .. }
            | Input::Observed(_)
            | Input::Heard { .. }
            | Input::Connected { .. }
            | Input::Foreign { .. }
            | Input::Unwritable(_)
            | Input::Hold { .. }
            | Input::Offer { .. } => Heard::Else,
        }
    }

    pub fn waiter(input: &Input) -> Option<Waiter> {
        match input {
            Input::Request { waiter, .. }
            | Input::Offer { waiter, .. }
            | Input::Hold { waiter, .. } => Some(*waiter),
            Input::Observed(_)
            | Input::Heard { .. }
            | Input::Connected { .. }
            | Input::Tick
            | Input::Durable(..)
            | Input::Conflict(_)
            | Input::Foreign { .. }
            | Input::Failed(..)
            | Input::Unwritable(_) => None,
        }
    }
}
