//! The rows of docs/benchmarks.md, by what they need: rows that need the same processes share a file.

mod crowd;
mod growth;
mod hook;
mod identity;
mod journal;
mod letters;
mod past;
mod phases;
mod prime;
mod restart;
mod send;
mod snapshot;
mod society;
#[path = "../../../../crates/perennial-engine/tests/work/stretch.rs"]
mod stretch;
mod tokens;
mod tree;

pub use crowd::crowd;
pub use growth::growth;
pub use hook::{hook, session};
pub use identity::{call, identity};
pub use journal::journal;
pub use letters::letters;
pub use phases::phases;
pub use prime::prime;
pub use restart::restart;
pub use send::send;
pub use snapshot::snapshot;
pub use society::society;
pub use tokens::tokens;
pub use tree::tree;

use crate::table::Line;
use crate::workshop::Workshop;

/// Measures, and adds a line for each of the wanted rows.
pub type Measure = fn(&Workshop, &[&str], &mut Vec<Line>) -> anyhow::Result<()>;

/// Which measure brings which rows; in the order in which they run.
pub const MEASURES: [(&[&str], Measure); 14] = [
    (&["phases"], phases),
    (&["P1"], restart),
    (&["P3", "P16"], hook),
    (&["P2", "P4", "P5", "P8", "P14"], crowd),
    (&["P13"], growth),
    (&["P16"], send),
    (&["P17"], prime),
    (&["P19"], letters),
    (&["P20"], society),
    (&["P12"], snapshot),
    (&["P6"], tokens),
    (&["P7"], journal),
    (&["P15"], identity),
    // The last one: it makes this process the reaper of what it starts.
    (&["P15"], tree),
];

/// `a / b` where there is a peer, else nothing to compare with.
fn ratio(ours: f64, peer: Option<f64>) -> Option<f64> {
    peer.map(|peer| ours / peer)
}

/// A figure of a peer, or that it is not here.
fn shown(peer: Option<f64>, unit: &str) -> String {
    peer.map_or_else(|| "not installed".to_owned(), |peer| format!("{peer:.1} {unit}"))
}
