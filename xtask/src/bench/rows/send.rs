//! P16: a text to an agent, from the call of `send` to its receipt, beside `tmux send-keys`.
//!
//! To a bare command, which has no other channel than its terminal. How long a text takes until a model
//! has seen it is the model's time: `cargo xtask prove sends` shows that it gets there.

use anyhow::Result;

use super::{ratio, shown};
use crate::clock::timed;
use crate::peers::{Fleet, SLEEPER, Tmux};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const SENDS: usize = 200;
const GOAL_MS: f64 = 3.0;

pub fn send(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let fleet = Fleet::start(workshop, "send")?;
    let mut tmux = Tmux::start(workshop, "send-tmux")?;
    fleet.spawn("reader", &SLEEPER)?;
    if let Some(tmux) = &mut tmux {
        tmux.spawn("reader")?;
    }
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for number in 0..SENDS {
        let text = format!("text {number}");
        let mut send = fleet.verb(&["send", "reader", &text]);
        let (ms, ran) = timed(|| output(&mut send));
        ran?;
        ours.add(ms);
        if let Some(tmux) = &tmux {
            let mut send = tmux.verb(&["send-keys", "-t", "reader", &text, "Enter"]);
            let (ms, ran) = timed(|| output(&mut send));
            ran?;
            theirs.add(ms);
        }
    }
    let peer = tmux.is_some().then(|| theirs.p50());
    lines.push(Line {
        row: "P16",
        what: format!("send, until it is taken for good, p50 of {SENDS}"),
        ours: format!("{:.2} ms (p99 {:.1})", ours.p50(), ours.p99()),
        peer: format!("tmux send-keys, no receipt {}", shown(peer, "ms")),
        ratio: ratio(ours.p50(), peer),
        goal: format!("≤ {GOAL_MS:.0} ms"),
        reached: ours.p50() <= GOAL_MS,
    });
    Ok(())
}
