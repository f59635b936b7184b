//! P17: what a session is told at its start, on request, in a fleet of 200, as whole processes: `prime`, and `briefing` of an
//! agent with a long conversation and a full checkpoint. In turns with a bare hook: a program that asks a server that knows
//! nothing.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::clock::{timed, until};
use crate::peers::{BareHook, Fleet, SLEEPER};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const AGENTS: usize = 200;
const CALLS: usize = 200;
const PRIME_GOAL_MS: f64 = 3.0;
const BRIEFING_GOAL_MS: f64 = 20.0;
/// The agent whose work is told.
const WORKER: &str = "worker";
/// The steps of its conversation, of some 700 bytes each.
const STEPS: usize = 6000;
const LIMIT: Duration = Duration::from_secs(60);

pub fn prime(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let fleet = Fleet::start(workshop, "prime")?;
    for number in 1..AGENTS {
        fleet.spawn(&format!("agent-{number}"), &SLEEPER)?;
    }
    let megabytes = at_work(workshop, &fleet)?;
    let bare = BareHook::start(workshop, "bare-hook-of-prime")?;
    let mut times = [const { Vec::new() }; 3];
    for number in 0..CALLS {
        let mut hook = Command::new(&bare.program);
        hook.arg(&bare.socket).stdin(Stdio::null());
        let named = format!("agent-{}", number % (AGENTS - 1) + 1);
        let asked = [
            fleet.verb(&["prime", &named]),
            fleet.verb(&["briefing", WORKER, "--as", "fresh"]),
            hook,
        ];
        for (times, mut command) in times.iter_mut().zip(asked) {
            let (ms, ran) = timed(|| output(&mut command));
            ran?;
            times.push(ms);
        }
    }
    let [prime, briefing, floor] = times.map(Samples::from_iter);
    let line = |what: String, ours: &Samples, goal_ms: f64| Line {
        row: "P17",
        what,
        ours: format!("{:.2} ms (p99 {:.1})", ours.p50(), ours.p99()),
        peer: format!("bare hook {:.2} ms (p99 {:.1})", floor.p50(), floor.p99()),
        ratio: Some(ours.p50() / floor.p50()),
        goal: format!("≤ {goal_ms:.0} ms"),
        reached: ours.p50() <= goal_ms,
    };
    lines.push(line(format!("prime, {AGENTS} agents, p50 of {CALLS}"), &prime, PRIME_GOAL_MS));
    let what = format!("briefing, full, {megabytes:.0} MB of conversation, p50 of {CALLS}");
    lines.push(line(what, &briefing, BRIEFING_GOAL_MS));
    Ok(())
}

/// An agent of the built-in preset `claude`, whose program is a script: it has a conversation, and takes a checkpoint with
/// every list full. How many megabytes the conversation has.
fn at_work(workshop: &Workshop, fleet: &Fleet) -> Result<f64> {
    let room = workshop.room("worker")?;
    let (conversation, done) = (room.join("conversation"), room.join("done"));
    let mut text = String::new();
    for step in 0..STEPS {
        let words = format!("Step {step}: {}", "some words of the model's. ".repeat(20));
        let content = json!([{ "type": "text", "text": words }]);
        // A line of an answer without its model and what it used counts as damaged.
        let usage = json!({ "input_tokens": 1000, "output_tokens": 5 });
        let message = json!({
            "id": format!("m{step}"), "role": "assistant", "model": "claude-sonnet-4-5",
            "content": content, "usage": usage,
        });
        let line = json!({ "type": "assistant", "uuid": step.to_string(), "message": message });
        text.push_str(&format!("{line}\n"));
    }
    std::fs::write(&conversation, &text)?;
    let lists: String = ["decision", "knowledge", "question"]
        .map(|list| format!(" --{list} '{}: it was so'", "a few words ".repeat(20)).repeat(10))
        .concat();
    let script = format!(
        "#!/bin/sh\n\
         while [ $# -gt 0 ]; do [ \"$1\" = --session-id ] && id=$2; shift; done\n\
         dir=~/.claude/projects/$(pwd | tr -c 'A-Za-z0-9\\n' -)\n\
         mkdir -p $dir\n\
         cp {conversation} $dir/$id.jsonl\n\
         echo '{{\"session_id\":\"'$id'\",\"source\":\"startup\",\"cwd\":\"/\"}}' | {perennial} hook SessionStart\n\
         {perennial} checkpoint -m 'half of it is done' --phase implementation --instructions 'go on'{lists} &&\n\
         : > {done}\n\
         exec sleep 1000000\n",
        conversation = conversation.display(),
        perennial = workshop.perennial.display(),
        done = done.display(),
    );
    let claude = room.join("claude");
    std::fs::write(&claude, script)?;
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755))?;
    let path = format!("PATH={}:/usr/bin:/bin", room.display());
    output(&mut fleet.verb(&["spawn", WORKER, "--harness", "claude", "--env", &path]))?;
    ensure!(until(LIMIT, || done.exists()), "the agent took no checkpoint");
    let told = output(&mut fleet.verb(&["briefing", WORKER, "--as", "fresh"]))?;
    let told = String::from_utf8_lossy(&told);
    for part in ["Decisions:", "Open questions:", "The end of the last conversation:"] {
        ensure!(told.contains(part), "the briefing has no {part}\n{told}");
    }
    Ok(text.len() as f64 / 1e6)
}
