//! Accepts connections: bounded in number, in the size of what they send, and in the time they take
//! to send it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

use crate::daemon::surface::identity::Peer;

const CONNECTIONS: usize = 4096;
const HEADER_BYTES: usize = 32 << 10;
/// A request's head must be there within this.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Serves until `ending` says so; connections under way are not waited for.
pub async fn serve(listener: UnixListener, router: Router, mut ending: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match accepted {
            Ok((stream, _)) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let router = router.clone();
                    tokio::spawn(async move {
                        connection(stream, router).await;
                        drop(place);
                    });
                }
                // Too many: closed at once is clearer than never answered.
                Err(_) => drop(stream),
            },
            Err(error) => {
                // Out of descriptors: wait for some to be free, never spin.
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: UnixStream, router: Router) {
    let peer = match Peer::of(&stream) {
        Ok(peer) => Arc::new(peer),
        Err(error) => {
            tracing::warn!(%error, "a caller that can't be identified was turned away");
            return;
        }
    };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&peer));
        let answer = router.clone().call(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}
