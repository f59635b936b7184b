//! Plays a turn: what is said when, where it stops, and how it ended.
//!
//! [`steps`] is pure; [`Playing`] has no choice left. A client that goes away drops it, and with
//! it the place at a gate.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use thiserror::Error;
use tokio_stream::Stream;

use crate::gates::Gates;
use crate::log::{End, Log};
use crate::turn::{GateAt, Turn};
use crate::wire::Frame;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Say(String),
    Pause(Duration),
    Gate(String),
    /// Until what was said is on its way: a connection that is dropped loses what it still holds.
    Flush,
    /// Nothing more, and no end.
    Silence,
    Cut,
}

/// What happens before the first byte of the answer, the head included.
pub fn before(turn: &Turn, is_streamed: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if turn.delay_ms > 0 {
        steps.push(Step::Pause(Duration::from_millis(turn.delay_ms)));
    }
    // An answer in one piece has no middle.
    let is_here = !is_streamed || turn.gate_at == GateAt::Start;
    steps.extend(turn.gate.clone().filter(|_| is_here).map(Step::Gate));
    steps
}

/// What happens after the head.
pub fn steps(turn: &Turn, frames: Vec<Frame>, is_streamed: bool) -> Vec<Step> {
    if turn.status.is_some() {
        return frames.into_iter().map(|frame| Step::Say(frame.text)).collect();
    }
    if turn.silent {
        return vec![Step::Silence];
    }
    let pause = Duration::from_millis(turn.chunk_delay_ms);
    // Rounded up, so that the middle of a short answer has some of its text.
    let middle = frames.len().div_ceil(2);
    let mut steps = Vec::new();
    for (index, frame) in frames.into_iter().enumerate() {
        if index == middle && turn.gate_at == GateAt::Middle && is_streamed {
            steps.extend(turn.gate.clone().map(Step::Gate));
        }
        if index == middle && turn.cut {
            break;
        }
        let is_piece = frame.is_piece;
        steps.push(Step::Say(frame.text));
        if is_piece && !pause.is_zero() {
            steps.push(Step::Pause(pause));
        }
    }
    if turn.cut {
        steps.extend([Step::Flush, Step::Cut]);
    }
    steps
}

/// Waits out the steps before the head; there is nothing to say in them.
pub async fn wait(steps: Vec<Step>, gates: &Arc<Gates>) {
    for step in steps {
        match step {
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Gate(name) => gates.clone().pass(name).await,
            Step::Silence => std::future::pending().await,
            Step::Say(_) | Step::Flush | Step::Cut => {}
        }
    }
}

/// Writes down how an answer ended, also if it is dropped on the way.
#[derive(Debug)]
pub struct Ending {
    log: Arc<Log>,
    number: u64,
    end: End,
}

impl Ending {
    pub fn new(log: Arc<Log>, number: u64) -> Ending {
        Ending { log, number, end: End::ClientGone }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.log.end(self.number, self.end);
    }
}

/// The body of an answer. An error in it makes the server drop the connection.
pub struct Playing {
    steps: std::vec::IntoIter<Step>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    gates: Arc<Gates>,
    ending: Ending,
}

#[derive(Debug, Error)]
#[error("cut, as the script says")]
pub struct CutByScript;

impl Playing {
    pub fn new(steps: Vec<Step>, gates: Arc<Gates>, ending: Ending) -> Playing {
        Playing { steps: steps.into_iter(), waiting: None, gates, ending }
    }
}

impl Stream for Playing {
    type Item = Result<Bytes, CutByScript>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.steps.next() {
                Some(Step::Say(text)) => {
                    if self.steps.len() == 0 {
                        self.ending.end = End::Whole;
                    }
                    return Poll::Ready(Some(Ok(text.into())));
                }
                Some(Step::Cut) => {
                    self.ending.end = End::Cut;
                    return Poll::Ready(Some(Err(CutByScript)));
                }
                Some(Step::Pause(time)) => self.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Some(Step::Gate(name)) => {
                    self.waiting = Some(Box::pin(self.gates.clone().pass(name)));
                }
                // The server writes out whatever it has when there is nothing more for a moment.
                Some(Step::Flush) => self.waiting = Some(Box::pin(tokio::task::yield_now())),
                Some(Step::Silence) => self.waiting = Some(Box::pin(std::future::pending())),
                None => {
                    if self.ending.end == End::ClientGone {
                        self.ending.end = End::Whole;
                    }
                    return Poll::Ready(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        ["a", "b", "c"]
            .into_iter()
            .map(|text| Frame { text: text.into(), is_piece: true })
            .collect()
    }

    fn say(text: &str) -> Step {
        Step::Say(text.into())
    }

    #[test]
    fn a_turn_is_played_step_by_step() {
        let pause = Step::Pause(Duration::from_millis(5));
        let slow = Turn { chunk_delay_ms: 5, ..Turn::default() }.gate_in_the_middle("g");
        assert_eq!(
            steps(&slow, frames(), true),
            [
                say("a"),
                pause.clone(),
                say("b"),
                pause.clone(),
                Step::Gate("g".into()),
                say("c"),
                pause
            ]
        );
        assert_eq!(before(&slow, true), []);
        assert_eq!(before(&slow, false), [Step::Gate("g".into())]);
        assert_eq!(steps(&slow.cut(), frames(), false).last(), Some(&Step::Cut));
    }

    #[test]
    fn cut_says_half_and_silent_says_nothing() {
        let cut = Turn::text("x").cut();
        assert_eq!(steps(&cut, frames(), true), [say("a"), say("b"), Step::Flush, Step::Cut]);
        let silent = Turn::text("x").silent();
        assert_eq!(steps(&silent, frames(), true), [Step::Silence]);
    }
}
