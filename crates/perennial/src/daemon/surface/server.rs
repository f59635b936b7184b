//! Accepts connections: bounded in number, in the size of what they send, and in the time they take
//! to send it. What is refused before it is a request is told as a problem, too.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use perennial_api::Problem;
use perennial_api::problem::CONTENT_TYPE;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

use super::connection::Connection;
use crate::daemon::showing::problems;
use crate::daemon::surface::identity::Peer;

pub const CONNECTIONS: usize = 4096;
pub const HEADER_BYTES: usize = 32 << 10;
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
                // Too many: refused at once is clearer than never answered.
                Err(_) => turn_away(stream, &too_many()),
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
            return turn_away(stream, &not_identified());
        }
    };
    let (io, asked) = Connection::new(stream);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        asked.note();
        request.extensions_mut().insert(Arc::clone(&peer));
        let answer = router.clone().call(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(io), service);
    let Err(error) = (&mut connection).await else { return };
    tracing::debug!(%error, "a connection ended early");
    // Nobody answered it: what came was no request.
    if let Some(stream) = connection.into_parts().io.into_inner().unanswered()
        && let Some(problem) = no_request(&error)
    {
        turn_away(stream, &problem);
    }
}

/// Why what came is no request; nothing where nobody is left to be told.
fn no_request(error: &hyper::Error) -> Option<Problem> {
    if error.is_timeout() {
        return Some(problems::half_sent("head", PATIENCE));
    }
    if error.is_parse_too_large() {
        return Some(problems::large_head(HEADER_BYTES));
    }
    error.is_parse().then(|| problems::bad_request(error))
}

fn too_many() -> Problem {
    problems::too_many_connections(CONNECTIONS)
}

fn not_identified() -> Problem {
    problems::caller_unknown()
}

/// Answers a connection that is not served, and closes it. Nothing was written to it before, so that
/// there is room for this much, and nobody is waited for.
fn turn_away(stream: UnixStream, problem: &Problem) {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    // Whoever is gone does not read it.
    let _gone = stream.into_std().and_then(|mut stream| stream.write_all(&answer));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_is_turned_away_is_told_a_problem() {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        turn_away(ours, &too_many());
        let mut theirs = theirs.into_std().expect("a socket");
        theirs.set_nonblocking(false).expect("it blocks");
        let mut told = String::new();
        std::io::Read::read_to_string(&mut theirs, &mut told).expect("an answer and its end");
        assert!(told.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{told}");
        let (head, body) = told.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("content-type: application/problem+json"), "{head}");
        let problem: Problem = serde_json::from_str(body).expect("a problem");
        assert_eq!((problem.status, problem.kind.as_str()), (503, "too-many"));
    }
}
