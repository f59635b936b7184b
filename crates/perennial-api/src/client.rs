//! The blocking client: one request, one connection to the daemon's socket, by hand on std.
//!
//! It keeps the bytes of an answer as they came, so that `--json` can pass them through. It never
//! repeats a request by itself: an order whose answer was lost may have been carried out.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit_code::ExitCode;
use crate::home::{Home, SocketAddress};
use crate::http::{self, Head};
use crate::problem::Problem;
use crate::sse::Feed;

/// How long an answer may take, unless `patience` says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(30);
const ANSWER_LIMIT: u64 = 256 << 20;

#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    patience: Duration,
}

/// An answer that is no problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    head: Head,
    /// As it came.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no daemon is running")]
    NoDaemon(#[source] io::Error),
    #[error("can't use the daemon's socket")]
    Unreachable(#[source] io::Error),
    #[error("the daemon did not answer within {0} s")]
    NoAnswer(u64),
    #[error("lost the connection to the daemon before its answer was complete")]
    Broken(#[source] io::Error),
    #[error("the daemon's answer can't be understood")]
    Garbled(#[source] io::Error),
    #[error("the daemon's answer is not the expected JSON")]
    Unexpected(#[source] serde_json::Error),
    #[error("can't write the request as JSON")]
    Unspeakable(#[source] serde_json::Error),
    #[error("{}", .0.title)]
    Problem(Box<Problem>),
}

impl Client {
    pub fn new(home: &Home) -> Client {
        Client { socket: home.socket(), patience: PATIENCE }
    }

    /// The same client, waiting longer or shorter for each answer.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Client {
        self.patience = patience;
        self
    }

    pub fn get(&self, path: &str) -> Result<Response, ClientError> {
        self.exchange("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<Response, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Unspeakable)?;
        self.exchange("POST", path, Some(&body))
    }

    /// Posts bytes as they are.
    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Result<Response, ClientError> {
        self.exchange("POST", path, Some(body))
    }

    /// Follows events after `since`, forever.
    pub fn follow(&self, path: &str, since: Option<u64>) -> Result<Feed, ClientError> {
        let mut head = request_head("GET", path, None);
        head.push_str("Accept: text/event-stream\r\n");
        if let Some(since) = since {
            head.push_str(&format!("Last-Event-ID: {since}\r\n"));
        }
        let stream = self.connect()?;
        let (head, body) = self.ask(stream, &head, None)?;
        if head.status == 200 {
            // Silence is normal in a feed; the daemon's death is an end of file.
            body.get_ref().set_read_timeout(None).map_err(ClientError::Broken)?;
            return Ok(Feed::new(body));
        }
        Err(self.problem(&head, &body.collect(ANSWER_LIMIT).map_err(|e| self.broken(e))?))
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Response, ClientError> {
        let stream = self.connect()?;
        let (head, answer) = self.ask(stream, &request_head(method, path, body), body)?;
        let answer = answer.collect(ANSWER_LIMIT).map_err(|error| self.broken(error))?;
        if (200..300).contains(&head.status) {
            return Ok(Response { head, body: answer });
        }
        Err(self.problem(&head, &answer))
    }

    fn connect(&self) -> Result<UnixStream, ClientError> {
        let stream = SocketAddress::of(&self.socket)
            .and_then(|address| UnixStream::connect(address.path()))
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::NotADirectory => ClientError::NoDaemon(error),
                _ => ClientError::Unreachable(error),
            })?;
        stream.set_read_timeout(Some(self.patience)).map_err(ClientError::Broken)?;
        stream.set_write_timeout(Some(self.patience)).map_err(ClientError::Broken)?;
        Ok(stream)
    }

    fn ask(
        &self,
        mut stream: UnixStream,
        head: &str,
        body: Option<&[u8]>,
    ) -> Result<(Head, http::Body<UnixStream>), ClientError> {
        let mut request = Vec::with_capacity(head.len() + 2 + body.map_or(0, <[u8]>::len));
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body.unwrap_or_default());
        let written = stream.write_all(&request);
        // A daemon that refuses a large body may answer and close before it has read all of it:
        // its answer says more than our broken pipe.
        match (http::read(stream), written) {
            (Ok(answer), _) => Ok(answer),
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ClientError::NoAnswer(self.patience.as_secs())
            }
            io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => ClientError::Garbled(error),
            _ => ClientError::Broken(error),
        }
    }

    fn problem(&self, head: &Head, body: &[u8]) -> ClientError {
        let status = head.status;
        let problem = serde_json::from_slice(body)
            .ok()
            .filter(|problem: &Problem| !problem.title.is_empty())
            .map(|problem| Problem { status, ..problem });
        ClientError::Problem(Box::new(problem.unwrap_or_else(|| {
            let said = String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
            Problem::new(status, "no-reason", format!("the daemon answered with status {status}"))
                .because(said)
                .next("run `perennial doctor`")
        })))
    }
}

fn request_head(method: &str, path: &str, body: Option<&[u8]>) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: perennial\r\nConnection: close\r\n");
    if let Some(body) = body {
        head.push_str("Content-Type: application/json\r\n");
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head
}

impl Response {
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(ClientError::Unexpected)
    }
}

impl ClientError {
    /// The same for a person: what, why, what to do next.
    pub fn problem(&self) -> Problem {
        let failed = |kind| Problem::new(500, kind, self.to_string());
        let why = std::error::Error::source(self).map(ToString::to_string).unwrap_or_default();
        match self {
            ClientError::NoDaemon(_) => Problem::new(503, "no-daemon", self.to_string())
                .because("nothing is listening on this home's socket")
                .next("run `perennial up` to start it")
                .exiting(ExitCode::NoDaemon),
            ClientError::Unreachable(_) => failed("socket-unreachable")
                .because(why)
                .next("run `perennial doctor` to see what is wrong"),
            ClientError::NoAnswer(_) => failed("no-answer")
                .because("it may be busy, and may still carry out the request")
                .next("run `perennial ls` to see whether the request was carried out"),
            ClientError::Broken(_) => failed("connection-broken")
                .because(format!("{why}; the request may or may not have been carried out"))
                .next("run `perennial ls` to see whether the request was carried out"),
            ClientError::Garbled(_) | ClientError::Unexpected(_) => failed("answer-garbled")
                .because(why)
                .next("run `perennial doctor` to compare the versions of command and daemon"),
            ClientError::Unspeakable(_) => failed("request-garbled")
                .because(why)
                .next("this is a bug: please report it with the command that you ran"),
            ClientError::Problem(problem) => (**problem).clone(),
        }
    }
}

/// A path of the surface: segments and values are escaped, absent values left out.
pub fn path(segments: &[&str], query: &[(&str, Option<&str>)]) -> String {
    let mut path = String::from("/v1");
    for segment in segments {
        path.push('/');
        escape(segment, &mut path);
    }
    let mut mark = '?';
    for (name, value) in query {
        if let Some(value) = value {
            path.push(mark);
            path.push_str(name);
            path.push('=');
            escape(value, &mut path);
            mark = '&';
        }
    }
    path
}

fn escape(text: &str, into: &mut String) {
    // A segment of dots only would be taken for a step in the path.
    let dots = text.bytes().all(|byte| byte == b'.');
    for byte in text.bytes() {
        match byte {
            b'.' if dots => into.push_str("%2E"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                into.push(char::from(byte));
            }
            _ => into.push_str(&format!("%{byte:02X}")),
        }
    }
}
