//! The server's addresses: the vendors' own, and a few for whoever runs the play.
//!
//! | address | does |
//! |---|---|
//! | `POST [/s/NAME]/v1/messages`, `…/count_tokens` | Anthropic Messages |
//! | `POST [/s/NAME]/v1/responses`, `GET …/v1/models` | OpenAI Responses |
//! | `POST [/s/NAME]/v1beta/models/MODEL:METHOD` | Gemini |
//! | `GET /log?since=N` | what the model saw, from record N on |
//! | `GET /gates` | gates at which a turn is held now |
//! | `POST /release/GATE` | lets one turn pass |
//! | `POST /script`, `POST /script/NAME` | a new script: a JSON list of turns |

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;

use crate::gates::Gates;
use crate::ids::Ids;
use crate::log::{Answer, Entry, Log};
use crate::play::{self, Ending, Playing};
use crate::prompter::Prompter;
use crate::request::Kind;
use crate::time::now_ms;
use crate::turn::Turn;
use crate::wire::{Endpoint, Reply, anthropic, gemini, openai};

/// A million tokens of conversation fit several times.
const BODY_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub struct Stage {
    pub prompter: Prompter,
    pub log: Arc<Log>,
    pub gates: Arc<Gates>,
    pub ids: Ids,
}

type Shared = State<Arc<Stage>>;

pub fn router(stage: Arc<Stage>) -> Router {
    let vendors = Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        // A client that asks for a websocket is told at once to do without.
        .route("/v1/responses", post(responses).get(async || StatusCode::UPGRADE_REQUIRED))
        .route("/v1/models", get(async || Json(openai::models())))
        .route("/v1beta/models/{call}", post(generate))
        // Clients ask whether anybody is there.
        .route("/api/hello", get(async || Json(serde_json::json!({ "message": "hello" }))));
    Router::new()
        .merge(vendors.clone())
        .nest("/s/{name}", vendors)
        .route("/log", get(log))
        .route("/gates", get(gates))
        .route("/release/{gate}", post(release))
        .route("/script", post(script))
        .route("/script/{name}", post(script))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(stage)
}

/// The name in the address, where it has one.
#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

/// The same, and what Gemini's address ends with.
#[derive(Deserialize)]
struct Called {
    name: Option<String>,
    call: String,
}

async fn messages(
    State(stage): Shared,
    Path(Named { name }): Path<Named>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(&stage, &Endpoint::Anthropic(anthropic::Path::Messages), name, &headers, body).await
}

async fn count_tokens(
    State(stage): Shared,
    Path(Named { name }): Path<Named>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(&stage, &Endpoint::Anthropic(anthropic::Path::CountTokens), name, &headers, body).await
}

async fn responses(
    State(stage): Shared,
    Path(Named { name }): Path<Named>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(&stage, &Endpoint::OpenAi, name, &headers, body).await
}

async fn generate(
    State(stage): Shared,
    Path(Called { name, call }): Path<Called>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match gemini::Call::parse(&call) {
        Some(call) => answer(&stage, &Endpoint::Gemini(call), name, &headers, body).await,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn answer(
    stage: &Stage,
    endpoint: &Endpoint,
    name: Option<String>,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let refuse = |why: &str| refuse(stage, endpoint, why);
    let request = match endpoint.read(headers, &body) {
        Ok(request) => request,
        Err(why) => return refuse(&format!("cannot read the request: {why}")),
    };
    let (turn, answer) = match stage.prompter.choose(name.as_deref(), &request, &stage.log) {
        Ok(Some(chosen)) => chosen,
        Ok(None) if request.kind == Kind::Main => (endpoint.itself(&request), Answer::Fixed),
        Ok(None) => (endpoint.itself(&request), Answer::Itself),
        Err(why) => return refuse(&format!("the program in the prompt is not valid: {why}")),
    };
    let reply = endpoint.reply(&turn, &request, body.len(), &stage.ids);
    let is_streamed = request.stream;
    let entry = Entry { at_ms: now_ms(), name, request, answer, bytes: body.len() };
    let ending = Ending::new(stage.log.clone(), stage.log.append(entry));
    // A request can be large and its turn can be held for long.
    drop(body);
    play::wait(play::before(&turn, is_streamed), &stage.gates).await;
    respond(stage, endpoint, reply, &turn, is_streamed, ending)
}

fn respond(
    stage: &Stage,
    endpoint: &Endpoint,
    reply: Reply,
    turn: &Turn,
    is_streamed: bool,
    ending: Ending,
) -> Response {
    let steps = play::steps(turn, reply.frames, is_streamed);
    let playing = Playing::new(steps, stage.gates.clone(), ending);
    let mut response = Response::builder()
        .status(reply.status)
        .header(header::CONTENT_TYPE, reply.content_type)
        .header(header::CACHE_CONTROL, "no-cache")
        .header(endpoint.id_header(), stage.ids.next("req"));
    for (name, value) in &turn.headers {
        response = response.header(name, value);
    }
    response.body(Body::from_stream(playing)).unwrap_or_else(|why| {
        let why = format!("the turn's status or headers are not valid: {why}");
        refuse(stage, endpoint, &why)
    })
}

fn refuse(stage: &Stage, endpoint: &Endpoint, why: &str) -> Response {
    let reply = endpoint.refusal(&format!("understudy: {why}"), &stage.ids);
    let text: String = reply.frames.into_iter().map(|frame| frame.text).collect();
    let head = [(header::CONTENT_TYPE, reply.content_type)];
    (StatusCode::BAD_REQUEST, head, text).into_response()
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    since: u64,
}

async fn log(State(stage): Shared, Query(Since { since }): Query<Since>) -> Response {
    let records = stage.log.since(since);
    Json(records.iter().map(AsRef::as_ref).collect::<Vec<&crate::Record>>()).into_response()
}

async fn gates(State(stage): Shared) -> Response {
    Json(stage.gates.held()).into_response()
}

async fn release(State(stage): Shared, Path(gate): Path<String>) -> StatusCode {
    stage.gates.release(&gate);
    StatusCode::NO_CONTENT
}

async fn script(
    State(stage): Shared,
    Path(Named { name }): Path<Named>,
    Json(turns): Json<Vec<Turn>>,
) -> StatusCode {
    stage.prompter.replace(name.as_deref(), turns);
    StatusCode::NO_CONTENT
}
