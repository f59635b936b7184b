//! A connection as the server writes to it: what hyper answers by itself, before there is a request, is
//! not sent; and what nobody reads in time is given up.
//!
//! Those answers have no body, and every error of ours has one. Who may write is known by a flag that the
//! first request sets; before it, hyper writes nothing but such answers.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::time::Sleep;

/// Some of what is written has to be read within this time. Longer than readers of events are waited for
/// (`feed_reader.rs`), so that they can be told.
pub const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// One connection.
pub struct Connection {
    stream: UnixStream,
    asked: HasRequest,
    patience: Duration,
    /// Runs while the other end reads nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

/// Whether a request has come.
#[derive(Clone, Default)]
pub struct HasRequest(Arc<AtomicBool>);

impl HasRequest {
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Connection {
    pub fn new(stream: UnixStream, patience: Duration) -> (Connection, HasRequest) {
        let asked = HasRequest::default();
        (Connection { stream, asked: asked.clone(), patience, stuck: None }, asked)
    }

    /// What came of a write, unless it has made no way for too long.
    fn in_time(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stuck.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// The connection, if nothing was written to it.
    pub fn unanswered(self) -> Option<UnixStream> {
        (!self.asked.is_so()).then_some(self.stream)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.asked.is_so() {
            true => {
                let written = Pin::new(&mut self.stream).poll_write(context, bytes);
                self.in_time(context, written)
            }
            false => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.asked.is_so() {
            true => {
                let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
                self.in_time(context, written)
            }
            false => Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.asked.is_so() {
            true => Pin::new(&mut self.stream).poll_shutdown(context),
            // Something may still be said.
            false => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn what_nobody_reads_is_given_up() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
        let (mut connection, asked) = Connection::new(ours, Duration::from_millis(20));
        asked.note();
        let bytes = vec![b'x'; 1 << 20];
        let error = loop {
            let mut connection = Pin::new(&mut connection);
            let write = |context: &mut Context<'_>| connection.as_mut().poll_write(context, &bytes);
            if let Err(error) = poll_fn(write).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
