//! What handlers take out of a request: who calls, and a bounded body that arrives in time.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use perennial_api::Problem;
use perennial_api::request::BODY_LIMIT;
use perennial_core::authority::Caller;
use serde::de::DeserializeOwned;

use super::Shared;
use super::answer::Trouble;
use super::server::PATIENCE;
use crate::daemon::showing::problems;
use crate::daemon::surface::identity::Peer;

/// The caller, as processes show it. Every route asks for it, and none is open to a job.
#[derive(Debug, Clone, Copy)]
pub struct CallerIdentity(pub Caller);

impl FromRequestParts<Shared> for CallerIdentity {
    type Rejection = Trouble;

    async fn from_request_parts(
        parts: &mut Parts,
        surface: &Shared,
    ) -> Result<CallerIdentity, Trouble> {
        let peer = parts.extensions.get::<Arc<Peer>>();
        match peer.and_then(|peer| peer.caller(&surface.registry)) {
            Some(Caller::Job) => Err(Trouble(problems::refused_to_job())),
            Some(caller @ (Caller::Person | Caller::Agent(_) | Caller::Viewer)) => {
                Ok(CallerIdentity(caller))
            }
            None => Err(Trouble(
                Problem::new(403, "nobody", "nobody is calling")
                    .because("the calling process is gone, so it can't be shown who it was"),
            )),
        }
    }
}

/// A JSON body; an empty one counts as `{}`.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = Trouble;

    async fn from_request(request: Request, _: &Shared) -> Result<Body<T>, Trouble> {
        let body = to_bytes(request.into_body(), BODY_LIMIT);
        let bytes = match tokio::time::timeout(PATIENCE, body).await {
            Err(_) => {
                return Err(Trouble(Problem::new(
                    408,
                    "half-sent",
                    "the request never came whole",
                )));
            }
            Ok(Err(_)) => {
                return Err(Trouble(
                    Problem::new(413, "too-large", "the request is too large")
                        .because(format!("a request's body has at most {BODY_LIMIT} bytes")),
                ));
            }
            Ok(Ok(bytes)) => bytes,
        };
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(text).map(Body).map_err(|error| {
            Trouble(
                Problem::new(400, "bad-request", "the request can't be read")
                    .because(error.to_string()),
            )
        })
    }
}
