//! The client's side of a session's terminal: connect with a ticket, then bytes both ways.
//!
//! Talks to the shim only; the daemon may come and go. Plain types: a caller needs nothing else of
//! this crate. Raw mode is the caller's business.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::connection::{Connection, Lost};
use super::monotonic::{now, wait_until};
use super::protocol::{ClientHello, ClientSay, ExitRecord, Frame, Role, ShimHello, ShimSay, Size};
use super::{protocol, socket};

/// How long a shim may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 16 << 10;

/// What a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Output(Vec<u8>),
    /// The agent's next session began in place; its output follows.
    Session(u32),
    /// The session is over, and nothing follows.
    Ended(Option<SessionExit>),
    /// This client did not read fast enough; nothing follows.
    TooSlow,
}

/// How the session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionExit {
    Code(i32),
    KillSignal(i32),
    NotStarted(String),
}

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("no shim answers")]
    Connect(#[source] io::Error),
    #[error("the shim did not answer in time")]
    Late,
    #[error("the shim refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// A connection to a session's terminal.
#[derive(Debug)]
pub struct Attachment {
    connection: Connection,
    session: u32,
    offset: u64,
    buffer: Vec<u8>,
}

impl Attachment {
    /// To type and see; `size` is that of the person's terminal, (rows, columns).
    pub fn attach(
        socket: &Path,
        ticket: &str,
        size: (u16, u16),
        from: Option<u64>,
    ) -> Result<Attachment, AttachError> {
        let size = Size { rows: size.0, cols: size.1 };
        Attachment::open(socket, Role::Attach { ticket: ticket.to_owned(), size, from })
    }

    /// To see only.
    pub fn watch(
        socket: &Path,
        ticket: &str,
        from: Option<u64>,
    ) -> Result<Attachment, AttachError> {
        Attachment::open(socket, Role::Watch { ticket: ticket.to_owned(), from })
    }

    fn open(path: &Path, role: Role) -> Result<Attachment, AttachError> {
        let socket = socket::connect_at(path).map_err(AttachError::Connect)?;
        let mut connection = Connection::new(socket);
        connection.say(&ClientHello::new(role))?;
        let mut buffer = vec![0; READ_BYTES];
        let deadline = now() + ANSWER_WITHIN;
        let hello: ShimHello = loop {
            match connection.next_frame().map_err(Lost::from)? {
                Some(Frame::Control(payload)) => {
                    break protocol::parse(&payload).map_err(Lost::from)?;
                }
                Some(Frame::Bytes(_)) => {}
                None if now() >= deadline => return Err(AttachError::Late),
                None => {
                    let mut fds = [PollFd::new(&connection, PollFlags::IN)];
                    let _again = poll(&mut fds, wait_until(Some(deadline), now()).as_ref());
                    connection.receive_one(&mut buffer)?;
                }
            }
        };
        if let Some(why) = hello.refused {
            return Err(AttachError::Refused(why));
        }
        let session = hello.session.map_or(0, |session| session.number);
        Ok(Attachment { connection, session, offset: hello.offset.unwrap_or(0), buffer })
    }

    /// The number of the session that is seen.
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Where in the session's recording the next output is: for `from` at a later attachment.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What has come; call it when the descriptor is readable. Empty if nothing whole has.
    pub fn read(&mut self) -> Result<Vec<News>, Lost> {
        let mut news = Vec::new();
        let received = self.connection.receive(&mut self.buffer);
        while let Some(frame) = self.connection.next_frame()? {
            match frame {
                Frame::Bytes(bytes) => {
                    self.offset += bytes.len() as u64;
                    news.push(News::Output(bytes));
                }
                Frame::Control(payload) => match protocol::parse(&payload)? {
                    ShimSay::Session { number } => {
                        (self.session, self.offset) = (number, 0);
                        news.push(News::Session(number));
                    }
                    ShimSay::Ended { exit } => news.push(News::Ended(exit.map(SessionExit::from))),
                    ShimSay::TooSlow => news.push(News::TooSlow),
                    ShimSay::Unknown => {}
                },
            }
        }
        // What came before the end is told first.
        match received {
            Err(error) if news.is_empty() => Err(error),
            Err(_) | Ok(_) => Ok(news),
        }
    }

    /// Types bytes; waits while the shim does not take them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        self.connection.say_bytes(bytes)?;
        self.wait_until_sent()
    }

    /// Types bytes as far as the shim takes them at once; the rest goes with [`Attachment::flush`].
    pub fn queue(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        self.connection.say_bytes(bytes)
    }

    /// Sends what waits, as far as the shim takes it; call it when the descriptor is writable.
    pub fn flush(&mut self) -> Result<(), Lost> {
        self.connection.flush()
    }

    /// Whether typed bytes wait for the shim to take them.
    pub fn has_unsent(&self) -> bool {
        !self.connection.unsent().is_empty()
    }

    /// The person's terminal has another size now.
    pub fn resize(&mut self, rows: u16, cols: u16) -> Result<(), Lost> {
        self.connection.say(&ClientSay::Resize(Size { rows, cols }))?;
        self.wait_until_sent()
    }

    fn wait_until_sent(&mut self) -> Result<(), Lost> {
        while !self.connection.unsent().is_empty() {
            let mut fds = [PollFd::new(&self.connection, PollFlags::OUT)];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => self.connection.flush()?,
                Err(error) => return Err(Lost::Broken(error)),
            }
        }
        Ok(())
    }
}

impl AsFd for Attachment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

impl From<ExitRecord> for SessionExit {
    fn from(record: ExitRecord) -> SessionExit {
        match record {
            ExitRecord::Code(code) => SessionExit::Code(code),
            ExitRecord::Signal(signal) => SessionExit::KillSignal(signal),
            ExitRecord::NotStarted(why) => SessionExit::NotStarted(why),
            // Nobody attaches to a job, and no session has a limit.
            ExitRecord::Limit => SessionExit::KillSignal(libc::SIGKILL),
        }
    }
}
