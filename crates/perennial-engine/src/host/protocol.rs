//! What shim, daemon and attached clients say to each other.
//!
//! A frame is `[u8 kind][u32 LE length][payload]`. Control payloads are JSON, additive only: unknown fields are ignored,
//! unknown orders refused. Both sides say hello first. These types are the wire's own; nothing else depends on them.
//!
//! Invariants
//! - W1  No frame is longer than its kind allows; a longer one ends the connection before it is read.
//! - W2  Every order about a session carries its number.

use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::session::{Pace, Process};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::announcement::{Announced, AnnouncementRule};
use super::delivery::{DeliverOrder, InputRules, LineReport, Outcome};

pub const PROTOCOL: u32 = 1;
/// A shim that says so in its hello takes `Deliver`, `Heard` and `Continue`.
pub const DELIVERS: &str = "deliver";
pub const CONTROL_BYTES_MAX: usize = 1 << 20;
/// From one who has not shown who it is, and from a client at the terminal.
pub const STRANGER_BYTES_MAX: usize = 4 << 10;
pub const RAW_BYTES_MAX: usize = 64 << 10;
const HEADER_BYTES: usize = 5;
const KIND_CONTROL: u8 = 1;
const KIND_BYTES: u8 = 2;

#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// JSON.
    Control(Vec<u8>),
    /// Terminal bytes: output towards a client, input from it.
    Bytes(Vec<u8>),
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of unknown kind {0}")]
    Kind(u8),
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("a control frame is not what was expected")]
    Content(#[source] serde_json::Error),
}

/// Received bytes, cut into frames. Holds no memory while empty.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    control_bytes_max: usize,
}

impl Inbox {
    pub fn new(control_bytes_max: usize) -> Inbox {
        Inbox { bytes: Vec::new(), control_bytes_max }
    }

    /// Takes longer control frames from now on.
    pub fn trust(&mut self) {
        self.control_bytes_max = CONTROL_BYTES_MAX;
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that the next frame still lacks, as far as is known.
    pub fn missing(&self) -> usize {
        let length = match self.bytes.first_chunk::<HEADER_BYTES>() {
            Some([_, a, b, c, d]) => HEADER_BYTES + u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            None => HEADER_BYTES,
        };
        length.saturating_sub(self.bytes.len())
    }

    /// The next whole frame, if it has arrived.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((header, rest)) = self.bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [kind, a, b, c, d] = *header;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let limit = match kind {
            KIND_CONTROL => self.control_bytes_max,
            KIND_BYTES => RAW_BYTES_MAX,
            _ => return Err(FrameError::Kind(kind)),
        };
        if length > limit {
            return Err(FrameError::TooLong(length));
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        self.bytes.drain(..HEADER_BYTES + length);
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        Ok(Some(if kind == KIND_CONTROL { Frame::Control(payload) } else { Frame::Bytes(payload) }))
    }
}

/// Appends a control frame. What is sent here always fits: its parts are bounded by their makers.
pub fn push_control(out: &mut Vec<u8>, message: &impl Serialize) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[KIND_CONTROL, 0, 0, 0, 0]);
    serde_json::to_writer(&mut *out, message).map_err(FrameError::Content)?;
    let length = out.len() - start - HEADER_BYTES;
    if length > CONTROL_BYTES_MAX {
        out.truncate(start);
        return Err(FrameError::TooLong(length));
    }
    out[start + 1..start + HEADER_BYTES].copy_from_slice(&length_field(length));
    Ok(())
}

/// Appends terminal bytes, in as many frames as they need.
pub fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(RAW_BYTES_MAX) {
        out.push(KIND_BYTES);
        out.extend_from_slice(&length_field(part.len()));
        out.extend_from_slice(part);
    }
}

fn length_field(length: usize) -> [u8; 4] {
    // Bounded by the limits above, which fit in 32 bits.
    (length as u32).to_le_bytes()
}

pub fn parse<T: DeserializeOwned>(payload: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(payload).map_err(FrameError::Content)
}

/// The first frame of whoever connects to a shim.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientHello {
    pub protocol: u32,
    #[serde(default)]
    pub features: Vec<String>,
    #[serde(flatten)]
    pub role: Role,
}

impl ClientHello {
    pub fn new(role: Role) -> ClientHello {
        ClientHello { protocol: PROTOCOL, features: Vec::new(), role }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Role {
    /// Gives orders; the newest epoch wins.
    Daemon { epoch: u64 },
    /// A person at the terminal, with a one-time ticket.
    Attach {
        ticket: String,
        #[serde(flatten)]
        size: Size,
        #[serde(default)]
        from: Option<u64>,
    },
    /// Sees the terminal and types nothing.
    Watch {
        ticket: String,
        #[serde(default)]
        from: Option<u64>,
    },
}

/// The first frame of the shim.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShimHello {
    pub protocol: u32,
    #[serde(default)]
    pub features: Vec<String>,
    pub version: String,
    pub process: ProcessRecord,
    pub session: Option<SessionRecord>,
    /// Why the connection is closed after this frame.
    #[serde(default)]
    pub refused: Option<String>,
    /// For a client at the terminal: where in the recording the bytes that follow begin.
    #[serde(default)]
    pub offset: Option<u64>,
}

/// Why a shim refuses an older daemon than the one that it obeyed last. Shims of all versions say it so.
pub fn outranked(epoch: u64) -> String {
    format!("a newer daemon (epoch {epoch}) was here")
}

/// The epoch in such a refusal; nothing in any other.
pub fn outranked_by(refusal: &str) -> Option<u64> {
    refusal.strip_prefix("a newer daemon (epoch ")?.strip_suffix(") was here")?.parse().ok()
}

/// What a shim knows of its newest session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionRecord {
    pub number: u32,
    #[serde(default)]
    pub process: Option<ProcessRecord>,
    #[serde(default)]
    pub cgroup: Option<u64>,
    /// Set once the end may be told: the main process is gone and, if it was asked to end, its tree.
    #[serde(default)]
    pub exit: Option<ExitRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    Start(Box<StartOrder>),
    End {
        number: u32,
        pace: PaceRecord,
        interrupt_ms: u64,
        term_ms: u64,
        /// Whoever ignores TERM is hung up on, soon after the interrupt.
        #[serde(default)]
        hang_up: bool,
    },
    /// Asks what is known of a session.
    Tell {
        number: u32,
    },
    /// No daemon of this version sends it; the protocol only grows.
    KillSignal {
        number: u32,
        signal: i32,
    },
    /// Types bytes as they are. Daemons of older versions order that; later ones order `Deliver`.
    Send {
        number: u32,
        request: u64,
        bytes: Vec<u8>,
    },
    Resize {
        number: u32,
        size: Size,
    },
    /// What keys reach from now on.
    Focus {
        number: u32,
        focus: Focus,
    },
    /// Types a text into the input line, once.
    Deliver(DeliverOrder),
    /// The program has told that it took a prompt.
    Heard {
        number: u32,
    },
    /// Continues a program that was suspended.
    Continue {
        number: u32,
    },
    Ticket {
        number: u32,
        request: u64,
        token: String,
        mode: Mode,
        ttl_ms: u64,
    },
    Release {
        number: u32,
    },
    /// From a newer daemon.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartOrder {
    pub number: u32,
    pub argv: Vec<String>,
    pub dir: String,
    #[serde(default)]
    pub size: Size,
    /// The cgroup to make for it; without one the tree is ended by peeling.
    #[serde(default)]
    pub cgroup: Option<String>,
    pub record_limit: u64,
    /// The soft limit on open files that the session gets.
    #[serde(default)]
    pub nofile: Option<u64>,
    /// Variables on top of the environment file.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Variables of the environment file that this session does not get.
    #[serde(default)]
    pub env_remove: Vec<String>,
    /// What its input line is like; absent for a bare command.
    #[serde(default)]
    pub input: Option<InputRules>,
    /// Whether the shim, told to end, hangs up on whoever ignores TERM. Unsaid: if there is no input line.
    #[serde(default)]
    pub hangs_up: Option<bool>,
    /// What it may announce, and what that means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announcements: Vec<AnnouncementRule>,
    /// For a run of a job: no terminal, and a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobTerms>,
    /// Somebody wants to see it from its beginning: the program waits for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewer: Option<ViewerTerms>,
}

/// How long a program waits for its first viewer, and whether its terminal repeats what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewerTerms {
    pub wait_ms: u64,
    pub echoes: bool,
}

/// How long a run of a job may take, and what it then has from TERM to KILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTerms {
    pub limit_ms: u64,
    pub term_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum ShimReport {
    Executed {
        number: u32,
        process: ProcessRecord,
        cgroup: Option<u64>,
    },
    Exited {
        number: u32,
        exit: ExitRecord,
    },
    /// The session was claimed, and not by this shim.
    NotMine {
        number: u32,
    },
    /// To an order with a request number.
    Answer {
        request: u64,
        refused: Option<Refused>,
    },
    /// How a delivery went.
    Delivered {
        number: u32,
        message: String,
        attempt: u32,
        outcome: Outcome,
    },
    /// What persons have left in the input line: when that changes, and to each new daemon.
    Line {
        number: u32,
        #[serde(flatten)]
        line: LineReport,
    },
    /// What the program announces: when that changes, and to each new daemon.
    Announced {
        number: u32,
        state: Announced,
    },
    /// From a newer shim.
    #[serde(other)]
    Unknown,
}

/// Why a shim did not do as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// The session number is not the running one.
    Stale,
    /// A person has typed something that is not sent yet.
    Draft,
    /// Keys would answer a dialog.
    Dialog,
    /// Nobody reads the terminal, and the queue is full.
    Full,
    #[serde(other)]
    Unknown,
}

/// What a program does with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Focus {
    /// They go to its input line, and it waits for them.
    #[default]
    Line,
    /// They go to its input line; it is busy.
    Turn,
    /// They answer a question of its own.
    Dialog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Attach,
    Watch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

impl Default for Size {
    fn default() -> Size {
        Size { rows: 24, cols: 80 }
    }
}

/// From a client at the terminal, besides the bytes that it types.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum ClientSay {
    Resize(Size),
    #[serde(other)]
    Unknown,
}

/// To a client at the terminal, besides the bytes that the session prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum ShimSay {
    /// The next session began in place.
    Session { number: u32 },
    /// The shim goes; nothing follows.
    Ended { exit: Option<ExitRecord> },
    /// The client was too slow; nothing follows.
    TooSlow,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    pub pid: i32,
    pub start_ticks: u64,
}

/// An end as the shim saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitRecord {
    Code(i32),
    Signal(i32),
    /// A job's time was up.
    Limit,
    /// It never ran, and why.
    NotStarted(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaceRecord {
    Graceful,
    AtOnce,
}

impl From<Process> for ProcessRecord {
    fn from(process: Process) -> ProcessRecord {
        ProcessRecord { pid: process.pid, start_ticks: process.start_ticks }
    }
}

impl From<ProcessRecord> for Process {
    fn from(record: ProcessRecord) -> Process {
        Process { pid: record.pid, start_ticks: record.start_ticks }
    }
}

impl From<Pace> for PaceRecord {
    fn from(pace: Pace) -> PaceRecord {
        match pace {
            Pace::Graceful => PaceRecord::Graceful,
            Pace::AtOnce => PaceRecord::AtOnce,
        }
    }
}

impl From<&ExitRecord> for Exit {
    fn from(record: &ExitRecord) -> Exit {
        match record {
            ExitRecord::Code(code) => Exit::Code(*code),
            ExitRecord::Signal(signal) => Exit::KillSignal(*signal),
            ExitRecord::NotStarted(_) => Exit::Unknown(UnknownExit::NotStarted),
            // No session has a limit: such a record says nothing of one.
            ExitRecord::Limit => Exit::Unknown(UnknownExit::HolderDied),
        }
    }
}

#[cfg(test)]
mod tests;
