//! The blocking client: one request, one connection to the daemon's socket, by hand on std.
//!
//! It keeps the bytes of an answer as they came, so that `--json` can pass them through. It never
//! repeats an order by itself: one whose answer was lost may have been carried out. What only reads is
//! repeated once, and a request that was not taken, because the daemon is being replaced, waits for the next
//! daemon.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attended::{Attended, Stopped};
use crate::exit_code::ExitCode;
use crate::home::{Home, Misplaced, SocketAddress, Untrusted};
use crate::http::{self, Head};
use crate::problem::{self, Problem};
use crate::sse::Feed;

/// How long an answer may take, unless `patience` says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long the daemon may take to be replaced.
const REPLACED_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_LIMIT: u64 = 256 << 20;

/// Looks at the process at the other end of a connection, before anything is sent to it. If it is to be this home's
/// daemon, it holds one of these locks.
pub type Inspect = fn(BorrowedFd<'_>, &[PathBuf]) -> Result<(), Misplaced>;

#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    swap: PathBuf,
    /// What a daemon of this home holds: of this version, of an earlier one.
    locks: [PathBuf; 2],
    patience: Duration,
    inspect: Option<Inspect>,
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
    #[error("the daemon's socket is not to be trusted")]
    Untrusted(#[source] Untrusted),
    #[error("the daemon did not answer within {0} s")]
    NoAnswer(u64),
    #[error("the daemon does not answer")]
    Stopped(#[source] Stopped),
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
        let (socket, swap) = (home.socket(), home.swap_socket());
        let locks = [home.lock(), home.earlier_lock()];
        Client { socket, swap, locks, patience: PATIENCE, inspect: None }
    }

    /// The same client, sending nothing to a listener that is not where a daemon can be.
    #[must_use]
    pub fn inspecting(mut self, inspect: Inspect) -> Client {
        self.inspect = Some(inspect);
        self
    }

    /// The same client, waiting longer or shorter for each answer.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Client {
        self.patience = patience;
        self
    }

    pub fn get(&self, path: &str) -> Result<Response, ClientError> {
        match self.exchange("GET", path, None) {
            // A daemon that died midway is told as that, unless the next one answers.
            Err(broken @ ClientError::Broken(_)) => match self.exchange("GET", path, None) {
                Err(ClientError::NoDaemon(_)) => Err(broken),
                answer => answer,
            },
            answer => answer,
        }
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
        let (head, mut body) = self.ask(stream, &head, None)?;
        if head.status == 200 {
            // The daemon's death is an end of file.
            body.get_mut().be_patient().map_err(ClientError::Broken)?;
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
        match self.exchange_once(method, path, body) {
            Err(ClientError::Problem(problem))
                if problem.kind == problem::ENDING && self.outlasted_swap() =>
            {
                self.exchange_once(method, path, body)
            }
            answer => answer,
        }
    }

    fn exchange_once(
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

    /// Waits while the daemon is being replaced; returns whether it was, and that is over.
    fn outlasted_swap(&self) -> bool {
        let address = SocketAddress::of(&self.swap);
        let patience = self.patience.min(REPLACED_WITHIN);
        let Ok(mut swap) = address.and_then(|address| connected(address.path(), patience)) else {
            return false;
        };
        if self.check(&swap, &self.swap).is_err() {
            return false;
        }
        // Nothing is ever written: the end of the connection is the news.
        let is_bounded = swap.set_read_timeout(Some(patience)).is_ok();
        let is_late = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
        };
        is_bounded && !swap.read(&mut [0]).is_err_and(|error| is_late(&error))
    }

    fn connect(&self) -> Result<UnixStream, ClientError> {
        match self.try_connect() {
            Err(ClientError::NoDaemon(_)) if self.outlasted_swap() => self.try_connect(),
            result => result,
        }
    }

    fn try_connect(&self) -> Result<UnixStream, ClientError> {
        let stream = SocketAddress::of(&self.socket)
            .and_then(|address| connected(address.path(), self.patience))
            .map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => ClientError::NoAnswer(self.patience.as_secs()),
                io::ErrorKind::NotFound
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::NotADirectory => ClientError::NoDaemon(error),
                _ => ClientError::Unreachable(error),
            })?;
        self.check(&stream, &self.socket)?;
        Ok(stream)
    }

    /// Whoever listens is of our own user and where a daemon can be: nothing is sent before that is known, for a
    /// request may carry a whole environment.
    fn check(&self, stream: &UnixStream, socket: &Path) -> Result<(), ClientError> {
        // Not by rustix: its call fails for a listener whose pid is not visible in this namespace.
        let listener = getsockopt(stream, PeerCredentials)
            .map_err(|error| ClientError::Unreachable(error.into()))?;
        let (path, owner) = (socket.to_owned(), listener.uid());
        if owner != rustix::process::geteuid().as_raw() {
            return Err(ClientError::Untrusted(Untrusted::ForeignListener { path, owner }));
        }
        // Whoever replaces a daemon holds no lock while it waits for the next one.
        let locks = if socket == self.socket { &self.locks[..] } else { &[] };
        let inspected = self.inspect.map_or(Ok(()), |inspect| inspect(stream.as_fd(), locks));
        inspected.map_err(|why| match why {
            // It was killed a moment ago, and its connections are not broken yet.
            Misplaced::Ended => ClientError::NoDaemon(io::ErrorKind::ConnectionRefused.into()),
            why @ (Misplaced::InSession { .. }
            | Misplaced::AnotherHome { .. }
            | Misplaced::Unseen) => ClientError::Untrusted(Untrusted::Misplaced { path, why }),
        })
    }

    fn ask(
        &self,
        mut stream: UnixStream,
        head: &str,
        body: Option<&[u8]>,
    ) -> Result<(Head, http::Body<Attended>), ClientError> {
        let mut request = Vec::with_capacity(head.len() + 2 + body.map_or(0, <[u8]>::len));
        request.extend_from_slice(head.as_bytes());
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body.unwrap_or_default());
        let written = stream.write_all(&request);
        // A daemon that refuses a large body may answer and close before it has read all of it:
        // its answer says more than our broken pipe.
        let attended = Attended::new(stream, self.patience).map_err(ClientError::Broken)?;
        match (http::read(attended), written) {
            (Ok(answer), _) => Ok(answer),
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: io::Error) -> ClientError {
        if let Some(stopped) = error.get_ref().and_then(|why| why.downcast_ref::<Stopped>()) {
            return ClientError::Stopped(*stopped);
        }
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

/// Connects and writes within `patience`: the queue of a daemon that accepts nobody may be full.
fn connected(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(patience))?;
    rustix::net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
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
            ClientError::Untrusted(why) => why.problem(),
            ClientError::NoAnswer(_) => failed("no-answer")
                .because("it may be busy, and may still carry out the request")
                .next("run `perennial ls` to see whether the request was carried out")
                .exiting(ExitCode::NotYet),
            ClientError::Stopped(Stopped { pid }) => failed("daemon-stopped")
                .because(format!(
                    "its process, pid {pid}, is stopped, as by SIGSTOP; once it continues, it may still \
                     carry out the request"
                ))
                .next(format!("let it continue: kill -CONT {pid}"))
                .exiting(ExitCode::NotYet),
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

impl Untrusted {
    /// The same for a person.
    pub fn problem(&self) -> Problem {
        Problem::new(403, "not-your-home", "this home is not used")
            .because(self.to_string())
            .next(match self {
                Untrusted::NotOurs { .. } | Untrusted::ForeignListener { .. } => {
                    "run the command as the user that the home belongs to, or set PERENNIAL_HOME to a \
                     directory of yours"
                        .to_owned()
                }
                Untrusted::Open { .. } => {
                    "make it writable for its owner only (chmod go-w), or set PERENNIAL_HOME to another \
                     directory of yours"
                        .to_owned()
                }
                Untrusted::Misplaced { why: Misplaced::InSession { pid }, .. } => format!(
                    "look at it with `ps -fp {pid}`; your daemon can start once nothing else listens there"
                ),
                Untrusted::Misplaced { why: Misplaced::AnotherHome { .. }, .. } => {
                    "look at that socket with `ls -l`; it should be a socket that your daemon made, and no link"
                        .to_owned()
                }
                Untrusted::Misplaced { why: Misplaced::Unseen | Misplaced::Ended, .. } => {
                    "run the command where the daemon runs, outside of this container or sandbox"
                        .to_owned()
                }
            })
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
