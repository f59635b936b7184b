//! The client against a listener that speaks bytes: what a daemon may send, and what it should not.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_api::client::{self, Client, ClientError};
use perennial_api::request::Rename;
use perennial_api::{Agent, ExitCode, Home};

/// A home whose daemon gives one answer, and then the request that it got.
struct Scripted {
    home: Home,
    request: JoinHandle<String>,
    _dir: tempfile::TempDir,
}

fn scripted(serve: impl FnOnce(UnixStream) -> String + Send + 'static) -> Scripted {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    home.create().unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let request = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    Scripted { home, request, _dir: dir }
}

fn answering(answer: &'static [u8]) -> Scripted {
    scripted(move |mut stream| {
        let request = read_request(&mut stream);
        stream.write_all(answer).unwrap();
        request
    })
}

/// Head and, where a length is told, body.
fn read_request(stream: &mut UnixStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

#[test]
fn a_request_and_its_answer() {
    let daemon = answering(
        b"HTTP/1.1 200 OK\r\nX-Session: 3\r\ncontent-length: 14\r\n\r\n{\"name\":\"bob\"}",
    );
    let path = client::path(&["agents", "a b/..", "rename"], &[]);
    let answer = Client::new(&daemon.home).post(&path, &Rename { name: "bob".into() }).unwrap();
    assert_eq!(answer.body, br#"{"name":"bob"}"#);
    assert_eq!(answer.header("x-session"), Some("3"));
    assert_eq!(answer.read::<Agent>().unwrap().name, "bob");
    let request = daemon.request.join().unwrap();
    assert!(request.starts_with("POST /v1/agents/a%20b%2F../rename HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"name\":\"bob\"}"), "{request}");
}

#[test]
fn paths() {
    let query = [("a", None), ("b", Some("x&y=z")), ("c", Some("é"))];
    assert_eq!(client::path(&["agents", ".."], &query), "/v1/agents/%2E%2E?b=x%26y%3Dz&c=%C3%A9");
}

#[test]
fn a_problem_is_an_error_with_its_exit_code() {
    let daemon = answering(
        b"HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\ncontent-length: 62\r\n\r\n{\"title\":\"taken\",\"detail\":\"by eve\",\"next\":\"ls\",\"exit_code\":6}  ",
    );
    let error = Client::new(&daemon.home).get("/v1/agents").unwrap_err();
    let problem = error.problem();
    assert_eq!((problem.title.as_str(), problem.status), ("taken", 409));
    assert_eq!(problem.exit(), ExitCode::NeedsOperator);
}

#[test]
fn an_error_without_a_problem_still_says_something() {
    let daemon = answering(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope");
    let problem = Client::new(&daemon.home).get("/v1/x").unwrap_err().problem();
    assert_eq!(problem.exit(), ExitCode::NotFound);
    assert_eq!(problem.detail, "nope");
}

#[test]
fn no_daemon_has_its_own_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let absent = Home::at(dir.path().join("nowhere"));
    let problem = Client::new(&absent).get("/v1/agents").unwrap_err().problem();
    assert_eq!(problem.exit(), ExitCode::NoDaemon);
    // A socket that a killed daemon left behind.
    let left = Home::at(dir.path().join("left"));
    left.create().unwrap();
    drop(UnixListener::bind(left.socket()).unwrap());
    let error = Client::new(&left).get("/v1/agents").unwrap_err();
    assert!(matches!(error, ClientError::NoDaemon(_)), "{error:?}");
    assert!(error.problem().next.contains("perennial up"));
}

#[test]
fn a_daemon_that_dies_midway_is_told() {
    let daemon = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    let error = Client::new(&daemon.home).get("/v1/agents").unwrap_err();
    assert!(matches!(error, ClientError::Broken(_)), "{error:?}");
}

#[test]
fn a_daemon_that_says_nothing_is_given_up() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let daemon = scripted(move |mut stream| {
        let request = read_request(&mut stream);
        let _ = held.recv();
        request
    });
    let client = Client::new(&daemon.home).patience(Duration::from_millis(20));
    let error = client.get("/v1/agents").unwrap_err();
    assert!(matches!(error, ClientError::NoAnswer(_)), "{error:?}");
    drop(release);
    daemon.request.join().unwrap();
}

#[test]
fn a_refusal_in_the_middle_of_a_large_body_is_read() {
    let daemon = scripted(|mut stream| {
        let answer =
            b"HTTP/1.1 413 Too Large\r\ncontent-length: 21\r\n\r\n{\"title\":\"too large\"}";
        stream.write_all(answer).unwrap();
        // Ends without reading: the client's write breaks.
        String::new()
    });
    let name = "x".repeat(4 << 20);
    let error = Client::new(&daemon.home).post("/v1/agents", &Rename { name }).unwrap_err();
    assert_eq!(error.problem().title, "too large");
}

#[test]
fn a_feed_resumes_and_ends_with_its_daemon() {
    let daemon = answering(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nid: 8\ndat\r\n6\r\na: x\n\n\r\n",
    );
    let mut feed = Client::new(&daemon.home).follow("/v1/events", Some(7)).unwrap();
    let message = feed.next_message().unwrap().unwrap();
    assert_eq!((message.id.as_deref(), message.data.as_str()), (Some("8"), "x"));
    assert_eq!(feed.next_message().unwrap(), None);
    assert!(daemon.request.join().unwrap().contains("Last-Event-ID: 7\r\n"));
}
