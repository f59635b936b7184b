//! Accepts connections: bounded in number for each caller (`gate.rs`), in the size of what they send, and in the
//! time they take to send and to read. What is refused before it is a request is told as a problem, too.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use perennial_api::Problem;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tower_service::Service;

use super::answer::{ProblemResponse, problem_head};
use super::connection::{Connection, WRITE_PATIENCE};
use super::extract::CallerUid;
use super::gate::Place;
use super::listening::Listening;
use super::{Shared, router};
use crate::daemon::memory;
use crate::daemon::showing::problems;
use crate::daemon::surface::identity::Peer;

pub const HEADER_BYTES: usize = 32 << 10;
/// A request's head must be there within this.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Connections that were closed have given their memory back by then.
const EMPTIED_AFTER: Duration = Duration::from_millis(500);

/// Serves until `ending` says so; connections under way are not waited for.
pub async fn serve(mut listening: Listening, surface: Shared, mut ending: watch::Receiver<bool>) {
    let router = router(Arc::clone(&surface));
    tokio::spawn(give_memory_back(Arc::clone(&surface)));
    loop {
        let accepted = tokio::select! {
            accepted = listening.listener.accept() => accepted,
            () = surface.socket_changed.notified() => {
                listening.renew(&surface.home);
                continue;
            }
            _ = ending.wait_for(|ending| *ending) => return,
        };
        match accepted {
            Ok((stream, _)) => match admitted(&stream, &surface) {
                Ok((peer, place)) => {
                    let (router, surface) = (router.clone(), Arc::clone(&surface));
                    tokio::spawn(async move {
                        connection(stream, peer, router, surface).await;
                        drop(place);
                    });
                }
                // Refused at once is clearer than never answered.
                Err(problem) => turn_away(stream, &problem),
            },
            Err(error) => {
                // Out of descriptors: wait for some to be free, never spin.
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Who is at the other end, and its place.
fn admitted(stream: &UnixStream, surface: &Shared) -> Result<(Arc<Peer>, Place), Problem> {
    let peer = Peer::of(stream).map_err(|error| {
        tracing::warn!(%error, "a caller that can't be identified was turned away");
        problems::caller_unknown()
    })?;
    let peer = Arc::new(peer);
    let place = surface.gate.connect(&peer, &surface.registry)?;
    Ok((peer, place))
}

/// What many connections took is given back once they are closed.
async fn give_memory_back(surface: Shared) {
    loop {
        surface.gate.emptied.notified().await;
        tokio::time::sleep(EMPTIED_AFTER).await;
        let _ended = tokio::task::spawn_blocking(memory::give_back).await;
    }
}

async fn connection(stream: UnixStream, peer: Arc<Peer>, router: Router, surface: Shared) {
    let (io, asked) = Connection::new(stream, WRITE_PATIENCE);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        asked.note();
        let (peer, router) = (Arc::clone(&peer), router.clone());
        let surface = Arc::clone(&surface);
        async move { Ok::<_, Infallible>(answer(request, &peer, router, &surface).await) }
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

/// Answers one request of a caller that is identified anew for it, and that has a place for it meanwhile.
async fn answer(
    mut request: hyper::Request<Incoming>,
    peer: &Peer,
    mut router: Router,
    surface: &Shared,
) -> Response {
    let Some(caller) = peer.caller(&surface.registry) else {
        return ProblemResponse(problems::caller_gone()).into_response();
    };
    let party = peer.party(caller);
    let _place = match surface.gate.request(party) {
        Ok(place) => place,
        Err(problem) => {
            let mut answer = ProblemResponse(problem).into_response();
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            return answer;
        }
    };
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(party);
    request.extensions_mut().insert(CallerUid(peer.uid()));
    router.call(request.map(Body::new)).await.unwrap_or_else(|never| match never {})
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

/// Answers a connection that is not served, and closes it. Nothing was written to it before, so that
/// there is room for this much, and nobody is waited for.
fn turn_away(stream: UnixStream, problem: &Problem) {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let (status, headers) = problem_head(problem);
    let mut answer = format!("HTTP/1.1 {status}\r\n").into_bytes();
    for (name, value) in &headers {
        answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    answer.extend(format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()).bytes());
    answer.extend(body);
    // Whoever is gone does not read it.
    let _gone = stream.into_std().and_then(|mut stream| stream.write_all(&answer));
}

#[cfg(test)]
mod tests {
    use perennial_core::admission::Full;

    use super::*;
    use crate::daemon::showing::problems::PlaceKind;

    #[tokio::test]
    async fn who_is_turned_away_is_told_a_problem() {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let full = Full::Own { taken: 64 };
        turn_away(ours, &problems::too_many(PlaceKind::Connection, full));
        let mut theirs = theirs.into_std().expect("a socket");
        theirs.set_nonblocking(false).expect("it blocks");
        let mut told = String::new();
        std::io::Read::read_to_string(&mut theirs, &mut told).expect("an answer and its end");
        assert!(told.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{told}");
        let (head, body) = told.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("content-type: application/problem+json"), "{head}");
        assert!(head.contains("\r\nretry-after: 1\r\n"), "{head}");
        let problem: Problem = serde_json::from_str(body).expect("a problem");
        assert_eq!((problem.status, problem.kind.as_str()), (429, "too-many"));
    }
}
