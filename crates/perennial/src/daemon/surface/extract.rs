//! What handlers take out of a request: who calls, the one named part of its path, its query, and a
//! bounded body that arrives in time. Whatever is wrong with one of them is told as a problem.

use axum::extract::{FromRequest, FromRequestParts, Path, Query as AxumQuery, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use perennial_api::request::BODY_LIMIT;
use perennial_core::admission::Party;
use perennial_core::authority::{self, Caller, Standing};
use perennial_core::reason::Verb;
use serde::de::DeserializeOwned;
use tokio_stream::StreamExt;

use super::Shared;
use super::answer::ProblemResponse;
use super::server::PATIENCE;
use crate::daemon::showing::problems;

/// The caller, as processes showed it when the request came (`server.rs`). Every route asks for it, and whoever may not look may use none.
#[derive(Debug, Clone, Copy)]
pub struct CallerIdentity(pub Caller);

impl FromRequestParts<Shared> for CallerIdentity {
    type Rejection = ProblemResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &Shared,
    ) -> Result<CallerIdentity, ProblemResponse> {
        let caller = parts.extensions.get::<Caller>().copied();
        let caller = caller.ok_or_else(problems::caller_gone)?;
        // Whoever may not even look may use no route at all.
        authority::authorise(caller, Verb::Look, Standing::NoTarget)
            .map_err(|refusal| problems::refusal_to(&refusal))?;
        Ok(CallerIdentity(caller))
    }
}

/// The user of the calling process.
#[derive(Debug, Clone, Copy)]
pub struct CallerUid(pub u32);

/// Whose places the caller takes.
#[derive(Debug, Clone, Copy)]
pub struct CallerParty(pub Party);

impl FromRequestParts<Shared> for CallerParty {
    type Rejection = ProblemResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &Shared,
    ) -> Result<CallerParty, ProblemResponse> {
        let party = parts.extensions.get::<Party>().copied();
        Ok(CallerParty(party.ok_or_else(problems::caller_gone)?))
    }
}

/// The part of the path that names an agent, a message or a post.
#[derive(Debug)]
pub struct Segment(pub String);

impl FromRequestParts<Shared> for Segment {
    type Rejection = ProblemResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        surface: &Shared,
    ) -> Result<Segment, ProblemResponse> {
        match Path::<String>::from_request_parts(parts, surface).await {
            Ok(Path(segment)) => Ok(Segment(segment)),
            Err(rejection) => Err(ProblemResponse(problems::bad_path(&rejection.body_text()))),
        }
    }
}

/// The query, read as `T`.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &Shared,
    ) -> Result<Query<T>, ProblemResponse> {
        match AxumQuery::<T>::try_from_uri(&parts.uri) {
            Ok(AxumQuery(query)) => Ok(Query(query)),
            Err(rejection) => Err(ProblemResponse(problems::bad_query(&rejection.body_text()))),
        }
    }
}

/// A JSON body; an empty one counts as `{}`.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, _: &Shared) -> Result<Body<T>, ProblemResponse> {
        let bytes = body(request, BODY_LIMIT).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(text)
            .map(Body)
            .map_err(|error| ProblemResponse(problems::bad_request(&error)))
    }
}

/// Reads a body to its end: the one reader of all requests, bounded in size and in time.
pub async fn body(request: Request, limit: usize) -> Result<Vec<u8>, ProblemResponse> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|text| text.to_str().ok());
    if announced.and_then(|text| text.parse().ok()).is_some_and(|length: usize| length > limit) {
        return Err(too_large(limit));
    }
    let read = async {
        let mut parts = request.into_body().into_data_stream();
        let mut bytes = Vec::new();
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| problems::bad_body(&error))?;
            if bytes.len() + part.len() > limit {
                return Err(too_large(limit));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .unwrap_or_else(|_| Err(ProblemResponse(problems::half_sent("body", PATIENCE))))
}

fn too_large(limit: usize) -> ProblemResponse {
    ProblemResponse(problems::large_body(limit))
}
