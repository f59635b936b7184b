//! What a caller is told that takes, or has recorded, more than its share.

use std::time::Duration;

use perennial_api::Problem;
use perennial_core::admission::{Class, Full};
use perennial_core::allowance::{AllowanceKind, MAIL, ORDERS, WORDS};

/// What there are places for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    Connection,
    Request,
    Feed,
}

/// No place is left.
pub fn too_many(kind: PlaceKind, full: Full) -> Problem {
    let (what, counted) = match kind {
        PlaceKind::Connection => ("too many connections", "connections are open"),
        PlaceKind::Request => ("too many requests at once", "requests are under way"),
        PlaceKind::Feed => ("too many readers of events", "readers of events are connected"),
    };
    let problem = match full {
        Full::Own { taken } => Problem::new(429, "too-many", what)
            .because(format!("{taken} {counted} for this caller already, which is the limit")),
        Full::Class { class, taken } => Problem::new(503, "too-many", what)
            .because(format!("{taken} {counted} for {} already, which is the limit", all(class))),
    };
    problem.next("let some of them end, then try again").retry_after(Duration::from_secs(1))
}

fn all(class: Class) -> &'static str {
    match class {
        Class::People => "people",
        Class::Agents => "agents",
        Class::Viewers => "viewers",
        Class::Jobs => "jobs",
    }
}

/// An agent had more recorded than its allowance.
pub fn too_often(kind: AllowanceKind, wait: Duration) -> Problem {
    let seconds = Problem::whole_seconds(wait);
    let (title, why, next) = match kind {
        AllowanceKind::Words => (
            "too many reports or posts; this one was not recorded",
            format!(
                "what is recorded is kept forever, so an agent may have {} reports and posts \
                 recorded at once, and one more every {} s",
                WORDS.burst,
                WORDS.every.as_secs()
            ),
            format!("try again in {seconds} s; report only what has changed"),
        ),
        AllowanceKind::Mail => (
            "too many mails; this one was not sent",
            format!(
                "each mail takes room in its recipient's context, so an agent may send {} at once, \
                 and one more every {} s; each recipient counts, and long texts count more",
                MAIL.burst,
                MAIL.every.as_secs()
            ),
            format!("try again in {seconds} s; say several things in one mail"),
        ),
        AllowanceKind::Orders => (
            "too many orders; this one was not carried out",
            format!(
                "an agent may give {} orders about other agents at once, and one more every {} s",
                ORDERS.burst,
                ORDERS.every.as_secs()
            ),
            format!("try again in {seconds} s"),
        ),
    };
    Problem::new(429, "too-often", title).because(why).next(next).retry_after(wait)
}

/// The last word to a reader of events that does not read; `after` is the last event that it was sent.
pub fn reader_too_slow(after: Option<u64>, patience: Duration) -> Problem {
    let from = match after {
        Some(seq) => format!("connect again with the header `last-event-id: {seq}`"),
        None => "connect again".to_owned(),
    };
    Problem::new(408, "too-slow", "the events were not read fast enough")
        .because(format!("nothing was read for {} s; nothing is lost", patience.as_secs()))
        .next(from)
}
