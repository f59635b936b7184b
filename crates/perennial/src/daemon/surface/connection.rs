//! A connection as the server writes to it: what hyper answers by itself, before there is a request, is
//! not sent.
//!
//! Those answers have no body, and every error of ours has one. Who may write is known by a flag that the
//! first request sets; before it, hyper writes nothing but such answers.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// One connection.
pub struct Connection {
    stream: UnixStream,
    asked: HasRequest,
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
    pub fn new(stream: UnixStream) -> (Connection, HasRequest) {
        let asked = HasRequest::default();
        (Connection { stream, asked: asked.clone() }, asked)
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
            true => Pin::new(&mut self.stream).poll_write(context, bytes),
            false => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.asked.is_so() {
            true => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
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
