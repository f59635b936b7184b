//! The surface: HTTP/JSON on the unix socket. Handlers translate; they decide nothing.

mod about;
mod agents;
mod answer;
mod board;
pub mod checks;
mod ended;
mod events;
mod extract;
mod harness;
mod health;
pub mod identity;
pub mod mcp;
mod messages;
pub mod project;
mod server;
mod steps;
mod terminal;

use perennial_store::Store;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use perennial_api::Home;
use perennial_engine::host::Holders;
use perennial_engine::host::monotonic::Moment;
use perennial_store::journal::Seq;
use tokio::sync::watch;

use crate::daemon::driving::driver::DriverHandle;
use crate::daemon::driving::harness::Harnesses;

use identity::Registry;
pub use server::serve;

/// What handlers share.
pub struct Surface {
    pub driver: DriverHandle,
    pub journal: Arc<dyn Store>,
    pub holders: Holders,
    pub registry: Arc<Registry>,
    pub harnesses: Harnesses,
    pub home: Home,
    pub boot: String,
    pub started: Moment,
    /// How many agents had left memory before this daemon started.
    pub over: u64,
    /// What was not heard before this daemon started.
    pub missed: Vec<String>,
    /// The last record that what is shown takes in.
    pub shown: watch::Receiver<Seq>,
    /// Set to true when the daemon is to end.
    pub ending: watch::Sender<bool>,
}

type Shared = Arc<Surface>;

pub fn router(surface: Shared) -> Router {
    Router::new()
        .route("/v1/agents", get(agents::list).post(agents::spawn))
        .route("/v1/agents/", get(agents::nobody))
        .route("/v1/agents/{target}", get(agents::show))
        .route("/v1/agents/{target}/why", get(agents::why))
        .route("/v1/agents/{target}/stop", post(agents::stop))
        .route("/v1/agents/{target}/wake", post(agents::wake))
        .route("/v1/agents/{target}/rename", post(agents::rename))
        .route("/v1/agents/{target}/bury", post(agents::bury))
        .route("/v1/stop-all", post(agents::stop_all))
        .route("/v1/agents/{target}/send", post(messages::send))
        .route("/v1/agents/{target}/sent", get(messages::list))
        .route("/v1/messages/{id}", get(messages::show))
        .route("/v1/messages/{id}/withdraw", post(messages::withdraw))
        .route("/v1/agents/{target}/ticket", post(terminal::ticket))
        .route("/v1/agents/{target}/logs", get(terminal::logs))
        .route("/v1/agents/{target}/steps", get(steps::steps))
        .route("/v1/events", get(events::events))
        .route("/v1/board", get(board::list).post(board::post))
        .route("/v1/board/", get(board::no_post))
        .route("/v1/board/{id}", get(board::show))
        .route("/v1/hook", post(harness::hook))
        .route("/v1/mcp", post(harness::mcp))
        .route("/v1/statusline", post(harness::status_line))
        .route("/v1/health", get(health::health))
        .route("/v1/down", post(health::down))
        .fallback(answer::no_such_route)
        .method_not_allowed_fallback(answer::no_such_method)
        .with_state(surface)
}
