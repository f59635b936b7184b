//! Every error is a problem: `application/problem+json` with type, title, status and kind.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use perennial_api::home::SocketAddress;
use perennial_api::{ClientError, Problem};

use crate::sealed::Sealed;

/// Sends bytes and reads the whole answer, up to the end of the connection.
pub fn exchange(sealed: &Sealed, bytes: &[u8]) -> String {
    let address = SocketAddress::of(&sealed.home.socket()).expect("an address");
    let mut stream = UnixStream::connect(address.path()).expect("the daemon listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    // A daemon that refuses early closes before it has read all.
    let _refused = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").into_bytes()
}

fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn every_error_is_a_problem() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let rename = "/v1/agents/bob/rename";
    let chunked = "Transfer-Encoding: chunked";
    let large = vec![b' '; (1 << 20) + 1];
    let in_chunks =
        [format!("{:x}\r\n", large.len()).as_bytes(), &large, b"\r\n0\r\n\r\n"].concat();
    let huge_head = [&b"GET /v1/agents HTTP/1.1\r\nX: "[..], &vec![b'x'; 1 << 20]].concat();
    let task = |more: &str| {
        let dir = r#""/tmp""#;
        let body = format!(r#"{{"action":"add","title":"t","dir":{dir},{more}}}"#);
        post("/v1/tasks", &format!("Content-Length: {}", body.len()), body.as_bytes())
    };
    for (what, request, status, kind) in [
        ("unknown route", get("/v1/nothing"), 404, "no-such-route"),
        ("unknown agent", get("/v1/agents/nobody"), 404, "no-such-agent"),
        ("empty name", get("/v1/agents/"), 404, "no-such-agent"),
        ("bad path", get("/v1/agents/%FF"), 400, "bad-path"),
        ("bad query", get("/v1/agents?stale=x"), 400, "bad-query"),
        ("bad query", get("/v1/events?since=-1"), 400, "bad-query"),
        ("bad query", get("/v1/agents/bob/steps?wait=1x"), 400, "bad-query"),
        ("bad query", post("/v1/hook", "Content-Length: 0", b""), 400, "bad-query"),
        ("unknown query", get("/v1/events?agnet=bob"), 400, "bad-query"),
        (
            "unknown member",
            post("/v1/board", "Content-Length: 20", b"{\"text\":\"b\",\"x\":1}  "),
            400,
            "bad-request",
        ),
        ("bad word", get("/v1/agents?state=asleep"), 400, "bad-state"),
        ("no rounds", task(r#""rounds_max":0"#), 400, "bad-task"),
        ("too many rounds", task(r#""rounds_max":101"#), 400, "bad-task"),
        ("no time", task(r#""check_command":["a"],"check_limit_s":0"#), 400, "bad-task"),
        ("too much time", task(r#""check_command":["a"],"check_limit_s":86401"#), 400, "bad-task"),
        ("nothing to do", task(r#""estimate_steps":0"#), 400, "bad-task"),
        ("no tokens", task(r#""estimate_tokens":0"#), 400, "bad-task"),
        ("wrong method", post("/v1/health", "Content-Length: 0", b""), 405, "no-such-method"),
        ("bad body", post(rename, "Content-Length: 1", b"{"), 400, "bad-request"),
        ("bad chunk", post(rename, chunked, b"zz\r\n{}\r\n0\r\n\r\n"), 400, "bad-body"),
        ("too large", post(rename, "Content-Length: 1048577", b""), 413, "too-large"),
        ("too large in chunks", post(rename, chunked, &in_chunks), 413, "too-large"),
        ("no HTTP", b"\x16\x03\x01\x02 no http\r\n\r\n".to_vec(), 400, "bad-request"),
        ("bad length", post(rename, "Content-Length: x", b""), 400, "bad-request"),
        ("large head", huge_head, 431, "too-large"),
        (
            "not yours",
            post("/v1/hook?event=Stop", "Content-Length: 2", b"{}"),
            403,
            "not-a-session",
        ),
    ] {
        let answer = exchange(&sealed, &request);
        let (head, body) =
            answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{what}: {answer}"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
        assert!(head.contains("content-type: application/problem+json"), "{what}: {answer}");
        let problem: Problem =
            serde_json::from_str(body).unwrap_or_else(|_| panic!("{what}: {answer}"));
        assert_eq!((problem.status, problem.kind.as_str()), (status, kind), "{what}");
        assert_eq!(problem.uri, format!("urn:perennial:problem:{kind}"), "{what}");
        assert!(!problem.title.is_empty(), "{what}");
    }
    assert_eq!(sealed.show("bob").state, "working");
}

/// Nobody is advised to wake the dead, nor to look at another agent that has the name now.
#[test]
fn advice_is_about_the_agent_that_was_named() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    sealed.ok(["bury", "bob", "--summary", "done"]);
    sealed.spawn("bob", "read x");
    let watch = [("mode", "watch")].into_iter().collect::<std::collections::BTreeMap<_, _>>();
    let ticket = sealed.client().post("/v1/agents/bob~1/ticket", &watch);
    let Err(ClientError::Problem(dead)) = ticket else { panic!("the dead have no session") };
    assert_eq!(dead.detail, "it is dead");
    assert_eq!(dead.next, "`perennial logs bob~1` shows the last one");
    let session = sealed.refused(4, &["logs", "bob~1", "--session", "7"]);
    assert_eq!(session.next, "leave --session out to get the newest");
    sealed.ok(["stop", "bob"]);
    let ticket = sealed.client().post("/v1/agents/bob/ticket", &watch);
    let Err(ClientError::Problem(sleeping)) = ticket else { panic!("it was stopped") };
    assert!(sleeping.next.starts_with("`perennial wake bob` starts one"), "{sleeping:?}");
}

/// What comes too slowly is told so: in the head, and in the body.
#[test]
fn a_request_that_never_comes_whole_is_a_problem() {
    let sealed = Sealed::up();
    let halves: Vec<_> = [
        &b"GET /v1/agents HTTP/1.1\r\nHost: "[..],
        b"POST /v1/board HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{",
    ]
    .into_iter()
    .map(|half| {
        let address = SocketAddress::of(&sealed.home.socket()).expect("an address");
        let mut stream = UnixStream::connect(address.path()).expect("the daemon listens");
        stream.write_all(half).expect("half of it");
        stream
    })
    .collect();
    for mut stream in halves {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the daemon gives it up");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
        assert!(answer.contains("half-sent"), "{answer}");
    }
}
