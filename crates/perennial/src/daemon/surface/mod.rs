//! The surface: HTTP/JSON on the unix socket. Handlers translate; they decide nothing.
//!
//! Which routes there are is `perennial_api::route`; what changes something is one `Order`.

mod about;
mod agents;
pub mod answer;
mod board;
mod briefing;
mod checkpoints;
pub mod checks;
mod clean;
mod connection;
mod ended;
mod escalations;
mod events;
mod extract;
mod feed;
pub mod feed_reader;
mod form;
pub mod gate;
mod graph;
mod handoffs;
mod harness;
mod health;
pub mod identity;
mod journal_tail;
mod left_mail;
mod legacies;
pub mod listening;
mod mail;
mod mcp;
mod messages;
mod names_in_story;
mod namesakes;
mod offspring;
pub mod orders;
pub mod project;
mod prune;
mod roles;
pub mod server;
mod set;
mod short_id;
mod sight;
mod signal_details;
mod signal_parties;
mod signals;
mod snapshots;
mod steps;
mod task_draft;
mod task_holder;
mod task_list;
mod tasks;
mod terminal;
mod tool_lists;
mod tool_mail;
mod tool_orders;
mod tool_signal;
mod tool_tasks;
mod waiting;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{MethodRouter, get, post};
use perennial_api::Home;
use perennial_api::answer::RunningConfig;
use perennial_api::route::Route;
use perennial_core::observation::LostRecords;
use perennial_engine::host::Holders;
use perennial_engine::host::monotonic::Moment;
use perennial_store::Store;
use perennial_store::journal::Seq;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};

use crate::daemon::driving::driver::DriverHandle;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::hearing::reader::Reader;
use crate::daemon::housekeeper::Housekeeper;
use crate::daemon::snapshot_keeper::SnapshotKeeper;
use crate::roles::Declared;

use extract::{Body, CallerIdentity, Segment};
use gate::Gate;
use identity::Registry;
use orders::Order;
pub use server::serve;

/// What handlers share.
pub struct Surface {
    pub driver: DriverHandle,
    pub journal: Arc<dyn Store>,
    pub holders: Holders,
    pub registry: Arc<Registry>,
    pub gate: Arc<Gate>,
    pub harnesses: Harnesses,
    pub reader: Reader,
    pub house: Housekeeper,
    pub snapshots: SnapshotKeeper,
    pub home: Home,
    pub boot: String,
    /// What the daemon runs with.
    pub config: RunningConfig,
    /// The roles that the operator has declared.
    pub roles: Declared,
    /// The checks that the operator has declared.
    pub checks: crate::checks::Declared,
    pub started: Moment,
    /// How many agents had left memory before this daemon started.
    pub over: u64,
    /// Which of the newest records the journal had lost.
    pub lost: Option<LostRecords>,
    /// The socket's file may be gone.
    pub socket_changed: Arc<Notify>,
    /// What was not heard before this daemon started.
    pub missed: Vec<String>,
    /// Held while an agent's settings are changed.
    pub setting: tokio::sync::Mutex<()>,
    /// The last record that what is shown takes in.
    pub shown: watch::Receiver<Seq>,
    /// Held while the entity graph is brought up to date and read.
    pub graph: Arc<std::sync::Mutex<()>>,
    /// Set to true when the daemon is to end.
    pub ending: watch::Sender<bool>,
}

type Shared = Arc<Surface>;

/// Every route of the table, and no other.
pub fn router(surface: Shared) -> Router {
    let add = |router: Router<Shared>, route: Route| router.route(route.path(), handler(route));
    Route::ALL
        .into_iter()
        .fold(Router::new(), add)
        .fallback(answer::no_such_route)
        .method_not_allowed_fallback(answer::no_such_method)
        .with_state(surface)
}

fn handler(route: Route) -> MethodRouter<Shared> {
    match route {
        Route::ListAgents => get(agents::list),
        Route::ShowAgent => get(agents::show),
        Route::Why => get(agents::why),
        Route::ListSent => get(messages::list),
        Route::ShowMessage => get(messages::show),
        Route::Ticket => post(terminal::ticket),
        Route::Logs => get(terminal::logs),
        Route::Recording => get(terminal::recording),
        Route::Screen => get(terminal::screen),
        Route::Steps => get(steps::steps),
        Route::ListEvents => get(events::events),
        Route::Feed => get(feed::feed),
        Route::ListPosts => get(board::list),
        Route::ShowPost => get(board::show),
        Route::ListRoles => get(roles::list),
        Route::ListLegacies => get(legacies::list),
        Route::Prime => get(legacies::prime),
        Route::Briefing => get(briefing::briefing),
        Route::Handoffs => get(handoffs::handoffs),
        Route::Leave => with_body(Order::Leave),
        Route::Report => with_body(Order::Report),
        Route::Hook => post(harness::hook),
        Route::StatusLine => post(harness::status_line),
        Route::Mcp => post(mcp::mcp),
        Route::Health => get(health::health),
        Route::OpenApi => get(answer::openapi),
        Route::Spawn => with_body(|spawn| Order::Spawn(Box::new(spawn))),
        Route::Post => with_body(Order::Post),
        Route::Prune => with_body(Order::Prune),
        Route::Stop => with_target_and_body(Order::Stop),
        Route::Rename => with_target_and_body(Order::Rename),
        Route::Bury => with_target_and_body(Order::Bury),
        Route::Send => with_target_and_body(Order::Send),
        Route::Wake => with_target_and_body(Order::Wake),
        Route::Restart => with_target_and_body(Order::Restart),
        Route::Handoff => with_target_and_body(Order::Handoff),
        Route::Set => with_target_and_body(Order::Set),
        Route::AssumeRole => with_target_and_body(Order::Assume),
        Route::TransferRole => with_target_and_body(Order::Transfer),
        Route::DropRole => with_target(Order::Drop),
        Route::DismissVacancy => with_target(Order::DismissVacancy),
        Route::ListMail => get(mail::list),
        Route::SendMail => with_body(|mail| Order::Mail(Box::new(mail))),
        Route::ReadMail => with_body(Order::ReadMail),
        Route::ListSignals => get(signals::list),
        Route::SendSignal => with_body(Order::Signal),
        Route::ListEscalations => get(escalations::list),
        Route::Escalate => with_body(Order::Escalate),
        Route::ListTasks => get(task_list::list),
        Route::ShowTask => get(tasks::show),
        Route::Task => with_body(|task| Order::Task(Box::new(task))),
        Route::Withdraw => with_target(Order::Withdraw),
        Route::ListSnapshots => get(snapshots::list),
        Route::TakeSnapshot => with_target(Order::TakeSnapshot),
        Route::ShowSnapshot => get(snapshots::show),
        Route::DiffSnapshot => get(snapshots::diff),
        Route::RestoreSnapshot => with_target_and_body(Order::RestoreSnapshot),
        Route::ListCheckpoints => get(checkpoints::list),
        Route::TakeCheckpoint => {
            with_target_and_body(|target, said| Order::Checkpoint(target, Box::new(said)))
        }
        Route::ShowCheckpoint => get(checkpoints::show),
        Route::StopAll => alone(|| Order::StopAll),
        Route::Down => alone(|| Order::Down),
        Route::Clean => with_target_and_body(Order::Clean),
        Route::Graph => get(graph::query),
    }
}

// An order from the parts of a request that it is made of.

fn alone(order: fn() -> Order) -> MethodRouter<Shared> {
    post(move |State(surface): State<Shared>, CallerIdentity(caller): CallerIdentity| async move {
        surface.carry_out(caller, order()).await?.answer()
    })
}

fn with_target(order: fn(String) -> Order) -> MethodRouter<Shared> {
    post(
        move |State(surface): State<Shared>,
              CallerIdentity(caller): CallerIdentity,
              Segment(target): Segment| async move {
            surface.carry_out(caller, order(target)).await?.answer()
        },
    )
}

fn with_body<B: DeserializeOwned + Send + 'static>(order: fn(B) -> Order) -> MethodRouter<Shared> {
    post(
        move |State(surface): State<Shared>,
              CallerIdentity(caller): CallerIdentity,
              Body(body): Body<B>| async move {
            surface.carry_out(caller, order(body)).await?.answer()
        },
    )
}

fn with_target_and_body<B: DeserializeOwned + Send + 'static>(
    order: fn(String, B) -> Order,
) -> MethodRouter<Shared> {
    post(
        move |State(surface): State<Shared>,
              CallerIdentity(caller): CallerIdentity,
              Segment(target): Segment,
              Body(body): Body<B>| async move {
            surface.carry_out(caller, order(target, body)).await?.answer()
        },
    )
}
