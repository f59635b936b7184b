//! `events`: pages, one agent's, and a feed that misses nothing, over the daemon's death too.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;

use perennial_api::{Agent, EventView, client};

use crate::processes;
use crate::sealed::Sealed;
use crate::watch::PATIENCE;

fn lines(text: &str) -> Vec<EventView> {
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

#[test]
fn since_and_agent_choose_and_every_line_is_json() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    sealed.spawn("bob", "read x");
    sealed.ok(["stop", "ada"]);
    let all = lines(&sealed.ok(["events", "--json"]));
    let seqs: Vec<u64> = all.iter().map(|event| event.seq).collect();
    assert_eq!(
        seqs,
        (1..=all.len() as u64).collect::<Vec<_>>(),
        "from the first on, without a gap"
    );
    let later = lines(&sealed.ok(["events", "--json", "--since", "4"]));
    assert_eq!(later, all[4..]);
    let ada = lines(&sealed.ok(["events", "--json", "--agent", "ada"]));
    assert!(!ada.is_empty() && ada.iter().all(|event| event.agent.as_deref() == Some("ada")));
    let middle = ada[2].seq.to_string();
    assert_eq!(
        lines(&sealed.ok(["events", "--json", "--agent", "ada", "--since", &middle])),
        ada[3..]
    );
    assert!(sealed.ok(["events", "--since", "1000000"]).is_empty());
    sealed.refused(4, &["events", "--agent", "no-one"]);
    assert!(sealed.ok(["events"]).contains("session 1 running as pid"));
}

/// One rule for a page, for events as they come, and for the feed: names and conversations too.
#[test]
fn an_agents_events_are_the_same_wherever_they_are_asked_for() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    sealed.ok(["rename", "ada", "ida"]);
    // Another one has had its name, too.
    sealed.spawn("ada", "read x");
    sealed.ok(["bury", &ada.id, "--summary", "done"]);
    let all = lines(&sealed.ok(["events", "--json"]));
    let of_ada = |event: &&EventView| event.agent_id.as_deref() == Some(ada.id.as_str());
    let seqs: Vec<u64> = all.iter().filter(of_ada).map(|event| event.seq).collect();
    let claims = all.iter().filter(of_ada).filter(|it| ["taken", "left"].contains(&&*it.kind));
    assert_eq!(claims.count(), 4, "two names, taken and left");
    let page = lines(&sealed.ok(["events", "--json", "--agent", &ada.id]));
    assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), seqs);
    // A page may end between an event and what follows from it.
    for limit in 1..4 {
        let mut seen: Vec<u64> = Vec::new();
        while seen.last() != seqs.last() {
            let since = seen.last().copied().unwrap_or(0);
            let path = format!("/v1/events?since={since}&limit={limit}&agent={}", ada.id);
            let page: Vec<EventView> =
                sealed.client().get(&path).and_then(|answer| answer.read()).expect("a page");
            assert!((1..=limit).contains(&page.len()), "{page:?}");
            seen.extend(page.iter().map(|event| event.seq));
        }
        assert_eq!(seen, seqs, "{limit} at a time");
    }
    for (path, events) in [("events", None), ("feed", Some("event"))] {
        let path = format!("/v1/{path}?since=0&agent={}", ada.id);
        let mut feed = sealed.client().follow(&path, None).expect("a feed");
        let mut seen = Vec::new();
        while seen.last() != seqs.last() {
            let message = feed.next_message().expect("a feed").expect("it goes on");
            if message.event.as_deref() == events {
                seen.push(message.id.expect("a place").parse().expect("a number"));
            }
        }
        assert_eq!(seen, seqs, "{path}");
    }
}

/// Of texts too, and every one says which text it is about.
#[test]
fn an_agents_events_have_those_of_its_texts() {
    let sealed = Sealed::up();
    sealed.spawn("ada", "while read -r x; do :; done");
    sealed.spawn("bob", "read x");
    let sent: serde_json::Value = sealed.json(&["send", "ada", "--wait", "hello"]);
    let id = sent["id"].as_str().expect("an id");
    let of_text = |event: &&EventView| event.about.as_deref() == Some(id);
    let ada = lines(&sealed.ok(["events", "--json", "--agent", "ada"]));
    let kinds: Vec<&str> = ada.iter().filter(of_text).map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["message-recorded", "message-offered", "message-entered"]);
    assert!(ada.iter().all(|event| event.agent.as_deref() == Some("ada")));
    assert!(ada.is_sorted_by_key(|event| event.seq));
    let bob = lines(&sealed.ok(["events", "--json", "--agent", "bob"]));
    assert_eq!(bob.iter().filter(of_text).count(), 0);
    // Page by page it is the same.
    let middle = ada.iter().find(|event| event.kind == "message-offered").expect("offered").seq;
    let later = ["events", "--json", "--agent", "ada", "--since", &middle.to_string()];
    assert!(lines(&sealed.ok(later)).iter().any(|event| event.kind == "message-entered"));
    // And as it comes.
    let mut feed = sealed.client().follow("/v1/events?agent=ada", None).expect("a feed");
    let seen = loop {
        let message = feed.next_message().expect("a feed").expect("it goes on");
        let event: EventView = serde_json::from_str(&message.data).expect("an event");
        if event.kind == "message-entered" {
            break event;
        }
    };
    assert_eq!((seen.about.as_deref(), seen.agent.as_deref()), (Some(id), Some("ada")));
    assert!(sealed.ok(["events"]).contains(id));
}

/// The journal is ahead of what is shown for a moment; nobody may see that.
#[test]
fn who_hears_of_an_event_finds_it_shown() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada-0", "read x");
    let mut feed = sealed.client().follow("/v1/events", None).expect("a feed");
    let client = sealed.client();
    let mut heard = |name: &str| loop {
        let message = feed.next_message().expect("a feed").expect("it goes on");
        let event: EventView = serde_json::from_str(&message.data).expect("an event");
        if event.kind == "renamed" && event.data["name"] == name {
            return;
        }
    };
    for round in 1..=200 {
        let name = format!("ada-{round}");
        let rename = client::path(&["agents", &ada.id, "rename"], &[]);
        let renamer = sealed.client();
        let body = serde_json::json!({ "name": name });
        let asked = std::thread::spawn(move || renamer.post(&rename, &body).expect("renamed"));
        heard(&name);
        let shown = client.get(&client::path(&["agents", &ada.id], &[])).expect("shown");
        assert_eq!(shown.read::<Agent>().expect("an agent").name, name);
        asked.join().expect("answered");
    }
}

#[test]
fn a_followed_feed_misses_nothing_when_the_daemon_is_killed() {
    let sealed = Sealed::deep();
    sealed.start_daemon();
    let mut command = sealed.command(["events", "--follow", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = command.spawn().expect("the binary runs");
    let stdout = BufReader::new(follower.stdout.take().expect("piped"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let event: EventView = serde_json::from_str(&line).expect("an event");
            let _over = sender.send(event);
        }
    });
    let mut seen: Vec<EventView> = Vec::new();
    let mut wait_running = |name: &str| loop {
        let event = receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} never ran"));
        let is_it = event.kind == "session-running" && event.agent.as_deref() == Some(name);
        seen.push(event);
        if is_it {
            break;
        }
    };
    for round in 0..3 {
        let name = format!("agent-{round}");
        sealed.spawn(&name, "read x");
        wait_running(&name);
        sealed.kill_daemon();
        sealed.start_daemon();
    }
    sealed.spawn("last", "read x");
    wait_running("last");
    processes::kill(processes::running(follower.id()));
    follower.wait().expect("a child");
    let seqs: Vec<u64> = seen.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(seen.iter().filter(|event| event.kind == "daemon-started").count(), 4);
}

/// Besides a place in the journal, `--since` takes what that of `logs` takes.
#[test]
fn events_since_a_time_are_those_that_came_later() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    assert!(sealed.ok(["events", "--since", "1h"]).contains("bob"));
    assert_eq!(sealed.ok(["events", "--since", "2100-01-01"]), "");
    assert_eq!(sealed.ok(["events", "--since", "2100-01-01", "--json"]), "");
    let problem = sealed.refused(2, &["events", "--since", "soon"]);
    assert!(problem.title.contains("a sequence number like 120"), "{problem:?}");
}
