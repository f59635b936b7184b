//! The feed: agents as they change beside the events that changed them; resumed without a loss.

use perennial_api::{Agent, Event, sse};
use serde_json::Value;

use crate::sealed::Sealed;

type Feed = sse::Feed;

#[derive(Debug)]
enum Message {
    Agent(Box<Agent>),
    Event(Box<Event>),
}

fn follow(sealed: &Sealed, path: &str, since: Option<u64>) -> Feed {
    sealed.client().follow(path, since).expect("a feed")
}

/// The next message; an event carries its place as the message's id, an agent none.
#[track_caller]
fn next(feed: &mut Feed) -> Message {
    let message = feed.next_message().expect("a feed").expect("it goes on");
    match message.event.as_deref() {
        Some("agent") => {
            assert_eq!(message.id, None);
            Message::Agent(serde_json::from_str(&message.data).expect("an agent"))
        }
        Some("event") => {
            let event: Event = serde_json::from_str(&message.data).expect("an event of today");
            assert_eq!(message.id, Some(event.seq.to_string()));
            Message::Event(Box::new(event))
        }
        other => panic!("{other:?}: {}", message.data),
    }
}

/// Reads on to the first event of this kind; everything up to it.
#[track_caller]
fn until(feed: &mut Feed, kind: &str) -> Vec<Message> {
    let mut seen = Vec::new();
    loop {
        let message = next(feed);
        let is_last = matches!(&message, Message::Event(event) if event.what.kind() == kind);
        seen.push(message);
        if is_last {
            return seen;
        }
    }
}

fn agents(messages: &[Message]) -> Vec<&Agent> {
    let agents = messages.iter().filter_map(|message| match message {
        Message::Agent(agent) => Some(&**agent),
        Message::Event(_) => None,
    });
    agents.collect()
}

fn seqs(messages: &[Message]) -> Vec<u64> {
    let seqs = messages.iter().filter_map(|message| match message {
        Message::Event(event) => Some(event.seq),
        Message::Agent(_) => None,
    });
    seqs.collect()
}

#[test]
fn it_begins_with_everybody_and_goes_on_with_who_changes() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    sealed.spawn("bob", "read x");
    let mut feed = follow(&sealed, "/v1/feed", None);
    let names: Vec<String> = (0..2)
        .map(|_| match next(&mut feed) {
            Message::Agent(agent) => agent.name,
            Message::Event(event) => panic!("from now on: {event:?}"),
        })
        .collect();
    assert_eq!(
        names.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
        ["ada", "bob"].into()
    );
    sealed.ok(["rename", "bob", "eve"]);
    let seen = until(&mut feed, "renamed");
    // Before the event, with what the event says of it, and as anybody is shown it.
    let eve = agents(&seen).into_iter().find(|agent| agent.name == "eve").expect("it comes first");
    let shown: Value = sealed.json(&["show", "eve"]);
    assert_eq!(
        (eve.id.as_str(), eve.state.as_str()),
        (shown["id"].as_str().expect("an id"), "working")
    );
    assert!(!agents(&seen).iter().any(|agent| agent.name == "ada"), "she has not changed");
}

#[test]
fn a_feed_of_one_agent_tells_of_no_other() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    let mut feed = follow(&sealed, "/v1/feed?agent=ada&since=0", None);
    sealed.spawn("bob", "read x");
    sealed.ok(["rename", "ada", "eve"]);
    let seen = until(&mut feed, "renamed");
    assert!(agents(&seen).iter().all(|agent| ["ada", "eve"].contains(&&*agent.name)), "{seen:?}");
    for message in &seen {
        if let Message::Event(event) = message {
            let name = event.agent.as_deref().expect("a name");
            assert!(["ada", "eve"].contains(&name), "{event:?}");
        }
    }
}

/// A slow reader gets all events, and of an agent the newest state, not all in between.
#[test]
fn who_reads_late_gets_every_event_and_the_newest_state() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    let client = sealed.client();
    for round in 0..150 {
        let path = format!("/v1/agents/{}/rename", ada.id);
        client
            .post(&path, &serde_json::json!({ "name": format!("ada-{round}") }))
            .expect("renamed");
    }
    let head = sealed.health().head_seq;
    let mut feed = follow(&sealed, "/v1/feed?since=0", None);
    let mut seen = Vec::new();
    while seqs(&seen).last() != Some(&head) {
        seen.push(next(&mut feed));
    }
    assert_eq!(seqs(&seen), (1..=head).collect::<Vec<_>>());
    let told = agents(&seen);
    assert!(told.iter().all(|agent| agent.name == "ada-149"), "an old state was told");
    // Once for each batch of 16 events, and once for each second that this takes.
    assert!(told.len() < 40, "{} times", told.len());
}

/// Whoever resumes after an event has its agent in that state, or gets it again.
#[test]
fn it_is_resumed_after_the_last_id_over_the_daemons_death() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    let mut feed = follow(&sealed, "/v1/feed?since=0", None);
    let first = until(&mut feed, "session-running");
    let last = *seqs(&first).last().expect("events");
    drop(feed);
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.ok(["rename", "ada", "eve"]);
    let mut feed = follow(&sealed, "/v1/feed", Some(last));
    let second = until(&mut feed, "renamed");
    assert_eq!(seqs(&second)[0], last + 1);
    let all = [seqs(&first), seqs(&second)].concat();
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(agents(&second).last().map(|agent| agent.name.as_str()), Some("eve"));
}

/// What no event tells is told, too: a holder that does not answer any more.
#[test]
fn an_agent_that_nobody_confirms_any_more_is_told() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    let mut feed = follow(&sealed, "/v1/feed", None);
    let Message::Agent(now) = next(&mut feed) else { panic!("everybody comes first") };
    assert_eq!(now.state, "working");
    let shim = sealed.shim(&ada);
    crate::processes::signal(shim, rustix::process::Signal::KILL);
    loop {
        if let Message::Agent(agent) = next(&mut feed)
            && (agent.state != "working" || agent.session.is_some_and(|session| session.number > 1))
        {
            return;
        }
    }
}
