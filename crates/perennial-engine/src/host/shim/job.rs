//! What a run of a job has instead of a terminal: nothing to read, one pipe for all that it prints,
//! and a limit.
//!
//! Invariant
//! - J4  The limit is counted here, from the execution, and needs no daemon.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};

use super::super::monotonic::Moment;
use super::super::protocol::JobTerms;

#[derive(Debug)]
pub struct Job {
    /// Read by the shim until no process is left.
    pub output: Option<OwnedFd>,
    /// Kept open so that a program which closes its output does not look like the end of it.
    writer: Option<OwnedFd>,
    pub limit_at: Moment,
    pub term: Duration,
    /// The limit ended it: that is what its exit says.
    pub is_over_limit: bool,
}

impl Job {
    pub fn new(terms: JobTerms, now: Moment) -> io::Result<Job> {
        let (output, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // Our end only: a program expects to wait where its output is not taken.
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        Ok(Job {
            output: Some(output),
            writer: Some(writer),
            limit_at: now.saturating_add(Duration::from_millis(terms.limit_ms)),
            term: Duration::from_millis(terms.term_ms),
            is_over_limit: false,
        })
    }

    /// The program's end of the pipe.
    pub fn writer(&self) -> Option<&OwnedFd> {
        self.writer.as_ref()
    }

    /// After this a read says when all output has been read.
    pub fn close_writer(&mut self) {
        self.writer = None;
    }
}
