//! Answers: JSON, or a problem.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use perennial_api::Problem;
use perennial_api::problem;
use serde::Serialize;

use super::board::no_such_post;
use super::extract::CallerIdentity;
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::problems;

/// A problem on its way out.
#[derive(Debug)]
pub struct ProblemResponse(pub Problem);

pub type Answer = Result<Response, ProblemResponse>;

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> ProblemResponse {
        ProblemResponse(problem)
    }
}

impl From<Closing> for ProblemResponse {
    fn from(_: Closing) -> ProblemResponse {
        ProblemResponse(problems::daemon_ending())
    }
}

/// What the head of every answer with this problem says, also of one that is written by hand.
pub fn problem_head(problem: &Problem) -> (StatusCode, HeaderMap) {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static(problem::CONTENT_TYPE);
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
    if let Some(seconds) = problem.retry_after_seconds {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    (status, headers)
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let (status, headers) = problem_head(&self.0);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        (status, headers, body).into_response()
    }
}

pub fn json(value: &impl Serialize) -> Answer {
    json_with(StatusCode::OK, value)
}

pub fn json_with(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => Ok((status, [(CONTENT_TYPE, "application/json")], body).into_response()),
        Err(error) => Err(ProblemResponse(problems::answer_not_writable(&error.to_string()))),
    }
}

/// The surface as OpenAPI, as `cargo xtask docs` made it from the types.
const OPENAPI: &str = include_str!("../../../../../docs/openapi.json");

pub async fn openapi(_: CallerIdentity) -> Answer {
    Ok(([(CONTENT_TYPE, "application/json")], OPENAPI).into_response())
}

pub async fn no_such_route(uri: Uri) -> ProblemResponse {
    // An empty name is nobody's, and an empty id no post's: they are no other routes.
    match uri.path() {
        "/v1/agents/" => return ProblemResponse(problems::no_such_agent("", &[])),
        "/v1/board/" => return no_such_post(),
        _ => {}
    }
    ProblemResponse(problems::no_such_route(uri.path()))
}

pub async fn no_such_method(uri: Uri) -> ProblemResponse {
    ProblemResponse(problems::no_such_method(uri.path()))
}
