//! Floods: whatever one caller sends, in whatever number, the others are served meanwhile, what is over its
//! share is told so at once, and the daemon keeps no more of it than its bounds say.

use std::process::Command;
use std::time::{Duration, Instant};

use perennial_api::{Agent, Problem};
use serde_json::json;

use crate::callers::Who;
use crate::flooder::{self, Flood, Flooding};
use crate::own_harness::{heard, own_harness};
use crate::problems::exchange;
use crate::sealed::Sealed;

/// Loose: `ls` answers in milliseconds.
const FAST: Duration = Duration::from_secs(2);
/// More than an agent's share of anything, and than the connections that are not counted.
const MANY: usize = 300;

#[test]
#[ignore = "the other process of `flood`"]
fn floods_for_another_test() {
    flooder::act();
}

fn home() -> (Sealed, Agent) {
    let sealed = Sealed::up();
    let agent = sealed.spawn("eve", "read x");
    (sealed, agent)
}

#[track_caller]
fn flood(sealed: &Sealed, who: Who<'_>, flood: &Flood) -> Flooding {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "floods::floods_for_another_test", "--ignored", "--nocapture"]);
    command.env_clear();
    Flooding::start(who.runs(command), &sealed.home.socket(), flood)
}

/// A person's `ls` works, and quickly.
#[track_caller]
fn assert_served(sealed: &Sealed) {
    let begun = Instant::now();
    assert!(sealed.ok(["ls"]).contains("eve"));
    assert!(begun.elapsed() < FAST, "{:?}", begun.elapsed());
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n")
}

fn post(path: &str, length: usize, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn tool_call(name: &str, arguments: &serde_json::Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = body.to_string();
    post("/v1/mcp", body.len(), &body)
}

/// How many records the journal has.
fn records(sealed: &Sealed) -> u64 {
    sealed.health().head_seq
}

#[test]
fn connects_without_a_byte() {
    let (sealed, eve) = home();
    let silent = Flood { is_answered: false, ..Flood::of(MANY, "") };
    let _flooding = flood(&sealed, Who::Agent(&eve), &silent);
    assert_served(&sealed);
}

#[test]
fn half_heads() {
    let (sealed, eve) = home();
    let half = "GET /v1/agents HTTP/1.1\r\nHost: ";
    let silent = Flood { is_answered: false, ..Flood::of(MANY, half) };
    let _flooding = flood(&sealed, Who::Agent(&eve), &silent);
    assert_served(&sealed);
}

#[test]
fn bodies_that_never_come() {
    let (sealed, eve) = home();
    let slow = Flood { is_answered: false, ..Flood::of(MANY, &post("/v1/mcp", 1000, "{")) };
    let _flooding = flood(&sealed, Who::Agent(&eve), &slow);
    assert_served(&sealed);
}

#[test]
fn bodies_that_are_too_big() {
    let (sealed, eve) = home();
    let big = Flood::of(MANY, &post("/v1/mcp", 1 << 40, &" ".repeat(4 << 10)));
    let flooding = flood(&sealed, Who::Agent(&eve), &big);
    assert_eq!(flooding.answered(413) + flooding.answered(429), MANY, "{flooding:?}");
    assert_served(&sealed);
}

#[test]
fn pipelined_requests() {
    let (sealed, eve) = home();
    let requests = Flood { times: 400, ..Flood::of(20, &get("/v1/agents", "")) };
    let _flooding = flood(&sealed, Who::Agent(&eve), &requests);
    assert_served(&sealed);
}

#[test]
fn huge_queries() {
    let (sealed, eve) = home();
    let path = format!("/v1/events?agent={}", "x".repeat(30_000));
    let flooding = flood(&sealed, Who::Agent(&eve), &Flood::of(MANY, &get(&path, "")));
    let refused = [400, 404, 429, 431].map(|status| flooding.answered(status));
    assert_eq!(refused.iter().sum::<usize>(), MANY, "{flooding:?}");
    assert_served(&sealed);
}

/// The events of all agents, and the feed; nobody reads them.
#[test]
fn feeds_that_nobody_reads() {
    for path in ["/v1/events", "/v1/feed"] {
        let (sealed, eve) = home();
        let open = Flood::of(MANY, &get(path, "Accept: text/event-stream\r\n"));
        let flooding = flood(&sealed, Who::Agent(&eve), &open);
        assert_eq!(flooding.answered(200), 16, "{flooding:?}");
        assert_eq!(flooding.answered(429), MANY - 16, "{flooding:?}");
        assert_served(&sealed);
        // People have feeds of their own.
        sealed.client().follow(path, None).expect("a feed");
    }
}

#[test]
fn feeds_that_are_opened_and_dropped() {
    let (sealed, eve) = home();
    let open = get("/v1/feed", "Accept: text/event-stream\r\n");
    let dropped = Flood { is_dropped: true, ..Flood::of(2 * MANY, &open) };
    let flooding = flood(&sealed, Who::Agent(&eve), &dropped);
    assert!(flooding.answered(200) > 0, "{flooding:?}");
    assert_served(&sealed);
    // None is left: the same number is open at once again.
    drop(flooding);
    sealed.until("the dropped feeds have given their places back", || {
        flood(&sealed, Who::Agent(&eve), &Flood::of(16, &open)).answered(200) == 16
    });
}

/// A7: thirty reports at once and one more every ten seconds; each is one record here.
#[test]
fn reports_in_a_loop() {
    let (sealed, eve) = home();
    let before = records(&sealed);
    // Two words by turns: equal ones are not recorded again.
    let reports: String =
        ["one", "two"].map(|word| tool_call("report", &json!({ "summary": word }))).concat();
    let looping = Flood { times: 500, ..Flood::of(4, &reports) };
    let begun = Instant::now();
    let _flooding = flood(&sealed, Who::Agent(&eve), &looping);
    assert_served(&sealed);
    sealed.until("the allowance is used up", || records(&sealed) >= before + 30);
    let refused = mcp(&sealed, &eve, &tool_call("report", &json!({ "summary": "three" })));
    assert!(refused.contains("try again in") && refused.contains("isError"), "{refused}");
    let most = 30 + begun.elapsed().as_secs() / 10 + 1;
    let recorded = records(&sealed) - before;
    assert!((30..=most).contains(&recorded), "{recorded} of at most {most}");
    // What is recorded already can be said again.
    let summary = sealed.show("eve").summary.expect("a summary");
    let again = mcp(&sealed, &eve, &tool_call("report", &json!({ "summary": summary })));
    assert!(again.contains("recorded") && !again.contains("isError"), "{again}");
    assert_eq!(records(&sealed), before + recorded);
}

/// One request of the agent's own; its answer.
fn mcp(sealed: &Sealed, agent: &Agent, request: &str) -> String {
    let body = request.split_once("\r\n\r\n").expect("a body").1.to_owned();
    let mut command = sealed.command(["mcp"]);
    command.env("PERENNIAL_SESSION", format!("{}.1", agent.id));
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, format!("{body}\n").as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("its answer");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn posts_in_a_loop() {
    let (sealed, eve) = home();
    let before = records(&sealed);
    // A long text costs more of the allowance: two parts each.
    let text = "x".repeat(5000);
    let posts =
        Flood { times: 100, ..Flood::of(2, &tool_call("board_post", &json!({ "text": text }))) };
    let begun = Instant::now();
    let _flooding = flood(&sealed, Who::Agent(&eve), &posts);
    assert_served(&sealed);
    sealed.until("the allowance is used up", || records(&sealed) >= before + 15);
    let most = 15 + begun.elapsed().as_secs() / 20 + 1;
    let recorded = records(&sealed) - before;
    assert!((15..=most).contains(&recorded), "{recorded} of at most {most}");
    // A person posts all the same.
    sealed.ok(["board", "post", "all is well"]);
}

/// Each hook that changes the record costs the agent's allowance; above it the newest waits for all.
#[test]
fn hooks_in_a_loop() {
    let sealed = Sealed::up();
    own_harness(&sealed, "read x", str::to_owned);
    let mut watch = sealed.watch();
    let eve: Agent = sealed.json(&["spawn", "eve", "--harness", "claude"]);
    heard(&mut watch, "eve");
    let before = records(&sealed);
    let hook = |event: &str| {
        let body = json!({ "prompt": "again" }).to_string();
        post(&format!("/v1/hook?event={event}"), body.len(), &body)
    };
    let hooks = [hook("UserPromptSubmit"), hook("Stop")].concat();
    // One after the other: two prompts in a row change less than a prompt and its end.
    let looping = Flood { times: 200, is_dropped: true, ..Flood::of(4, &hooks) };
    let begun = Instant::now();
    let flooding = flood(&sealed, Who::Agent(&eve), &looping);
    assert_served(&sealed);
    drop(flooding);
    let most = 2 * (240 + 2 * begun.elapsed().as_secs() + 2);
    let recorded = records(&sealed) - before;
    assert!((240..=most).contains(&recorded), "{recorded} of at most {most}");
}

#[test]
fn sessions_of_the_tool_protocol() {
    let (sealed, eve) = home();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }).to_string();
    let open = Flood::of(MANY, &post("/v1/mcp", body.len(), &body));
    let flooding = flood(&sealed, Who::Agent(&eve), &open);
    assert!(flooding.answered(429) > 0 && flooding.answered(200) > 0, "{flooding:?}");
    assert_eq!(flooding.answered(429) + flooding.answered(200), MANY, "{flooding:?}");
    assert_served(&sealed);
}

#[test]
fn a_viewer_floods_beside_a_person() {
    let (sealed, _) = home();
    let open = Flood::of(MANY, &get("/v1/feed", "Accept: text/event-stream\r\n"));
    let flooding = flood(&sealed, Who::Viewer, &open);
    assert_eq!(flooding.answered(200), 8, "{flooding:?}");
    assert_served(&sealed);
}

/// A person's own script, in this terminal, has its share too, and the person has more.
#[test]
fn a_script_of_a_person_does_not_lock_its_owner_out() {
    let (sealed, _) = home();
    let open = Flood::of(MANY, &get("/v1/events", "Accept: text/event-stream\r\n"));
    let flooding = flood(&sealed, Who::Person, &open);
    assert_eq!(flooding.answered(200), 128, "{flooding:?}");
    assert_eq!(flooding.answered(429), MANY - 128, "{flooding:?}");
    assert_served(&sealed);
}

#[test]
fn who_is_refused_is_told_what_why_and_when_to_try_again() {
    let (sealed, _) = home();
    let open = get("/v1/events", "Accept: text/event-stream\r\n");
    let _flooding = flood(&sealed, Who::Person, &Flood::of(MANY, &open));
    let answer = exchange(
        &sealed,
        get("/v1/events", "Accept: text/event-stream\r\nConnection: close\r\n").as_bytes(),
    );
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("application/problem+json") && head.contains("retry-after: 1"), "{head}");
    let problem: Problem = serde_json::from_str(body).expect("a problem");
    assert_eq!((problem.status, problem.kind.as_str()), (429, "too-many"));
    assert!(!problem.detail.is_empty() && !problem.next.is_empty(), "{problem:?}");
}
