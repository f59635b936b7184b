//! Waiting by events: follows the daemon's feed and picks what a test waits for.
//!
//! It never sleeps: a wait ends with the event, or fails at its deadline and shows what was seen.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use perennial_api::{Client, EventView, Home};

use crate::sealed::Sealed;

/// How long anything may take before a test gives up.
/// Longer than a text waits that its session did not take: 60 s.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// An event and when it reached this test.
#[derive(Debug, Clone)]
pub struct Seen {
    pub event: EventView,
    pub arrived: Instant,
}

/// The feed of one home's daemon, from some event on.
#[derive(Debug)]
pub struct Watch {
    home: Home,
    feed: Receiver<Seen>,
    pub seen: Vec<Seen>,
    since: u64,
}

impl Watch {
    /// Follows everything after event `since`.
    #[track_caller]
    pub fn since(sealed: &Sealed, since: u64) -> Watch {
        let home = sealed.home.clone();
        Watch { feed: follow(&home, since), home, seen: Vec::new(), since }
    }

    /// Goes on with the next daemon, after the last event that was seen.
    #[track_caller]
    pub fn resume(&mut self) {
        self.drain();
        self.feed = follow(&self.home, self.since);
    }

    /// Waits for the first event that `pick` accepts, among those seen already too.
    #[track_caller]
    pub fn wait<T>(&mut self, what: &str, mut pick: impl FnMut(&Seen) -> Option<T>) -> T {
        if let Some(found) = self.seen.iter().find_map(&mut pick) {
            return found;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.feed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(seen) => {
                    let found = pick(&seen);
                    self.keep(seen);
                    if let Some(found) = found {
                        return found;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("never came: {what}\n{}", self.tail()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the feed ended before: {what}\n{}", self.tail())
                }
            }
        }
    }

    /// Takes what has arrived, without waiting.
    pub fn drain(&mut self) {
        while let Ok(seen) = self.feed.try_recv() {
            self.keep(seen);
        }
    }

    /// Waits for `count` more events, or until no more come.
    pub fn wait_count(&mut self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(2);
        for _ in 0..count {
            match self.feed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(seen) => self.keep(seen),
                Err(_) => return,
            }
        }
    }

    fn keep(&mut self, seen: Seen) {
        assert!(seen.event.seq > self.since, "event {} came twice", seen.event.seq);
        self.since = seen.event.seq;
        self.seen.push(seen);
    }

    fn tail(&self) -> String {
        let shown = self.seen.iter().rev().take(40).rev();
        shown.map(|seen| line(&seen.event)).collect::<Vec<_>>().join("\n")
    }

    /// Waits until session `number` of an agent runs.
    #[track_caller]
    pub fn running(&mut self, agent: &str, number: u64) -> Seen {
        self.wait(&format!("{agent}'s session {number} runs"), |seen| {
            is(&seen.event, agent, "session-running", number).then(|| seen.clone())
        })
    }

    /// Waits until session `number` of an agent has ended, and gives its exit as stored.
    #[track_caller]
    pub fn ended(&mut self, agent: &str, number: u64) -> (Seen, serde_json::Value) {
        self.wait(&format!("{agent}'s session {number} ended"), |seen| {
            is(&seen.event, agent, "session-ended", number)
                .then(|| (seen.clone(), seen.event.data["exit"].clone()))
        })
    }

    /// Waits until an agent has moved to this state for this reason; the first event with them.
    #[track_caller]
    pub fn moved(&mut self, agent: &str, state: &str, reason: &str) -> Seen {
        self.moved_after(0, agent, state, reason)
    }

    /// Waits until an agent has moved so after event `since`.
    #[track_caller]
    pub fn moved_after(&mut self, since: u64, agent: &str, state: &str, reason: &str) -> Seen {
        self.wait(&format!("{agent} is {state}, {reason}, after {since}"), |seen| {
            let data = &seen.event.data;
            let is_it = seen.event.kind == "moved"
                && seen.event.seq > since
                && seen.event.agent.as_deref() == Some(agent)
                && data["to"] == state
                && data["reason"] == reason;
            is_it.then(|| seen.clone())
        })
    }
}

/// Whether an event is of this kind, about this session.
pub fn is(event: &EventView, agent: &str, kind: &str, number: u64) -> bool {
    event.kind == kind && event.agent.as_deref() == Some(agent) && event.data["number"] == number
}

pub fn line(event: &EventView) -> String {
    let who = event.agent.as_deref().unwrap_or("-");
    format!("{:>6} {} {who} {}: {}", event.seq, event.at, event.kind, event.text)
}

/// A moment of the wire as the system's time.
#[track_caller]
pub fn time(moment: &str) -> SystemTime {
    moment.parse::<jiff::Timestamp>().expect("an RFC 3339 moment").into()
}

#[track_caller]
fn follow(home: &Home, since: u64) -> Receiver<Seen> {
    let mut feed = Client::new(home).follow("/v1/events", Some(since)).expect("a daemon to follow");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        while let Ok(Some(message)) = feed.next_message() {
            let arrived = Instant::now();
            let event: EventView = serde_json::from_str(&message.data).expect("an event");
            assert_eq!(message.id, Some(event.seq.to_string()));
            if sender.send(Seen { event, arrived }).is_err() {
                return;
            }
        }
    });
    receiver
}
