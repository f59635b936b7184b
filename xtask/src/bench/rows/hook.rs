//! P3: one call of a hook, as an agent CLI makes it, in a fleet of 200; and without a daemon. P16, second
//! half: one that is answered with a text, which is recorded and offered for good before it is given; and a mail
//! from the call that sends it to the hook that brings it.
//!
//! A session of the built-in preset `claude` runs this program in the place of the agent CLI. It
//! calls the hook and its peers in turns, each with the same input through a pipe, and waits for the
//! end of each. Nothing is left unheard, or the run is no run.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use perennial_core::hearing::REMINDER_CALLS;
use serde_json::{Value, json};

use crate::clock::{timed, until};
use crate::peers::{BareHook, Fleet, SLEEPER};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const AGENTS: usize = 200;
const CALLS: usize = 600;
/// Calls that are each answered with a text.
const TEXTS: usize = 200;
const LIMIT: Duration = Duration::from_secs(120);
/// Against the bare hook, and in milliseconds.
const GOAL: (f64, f64, f64) = (1.4, 4.0, 8.0);
/// For a text that is recorded, offered and given in one call, in milliseconds.
const TEXT_GOAL_MS: f64 = 10.0;
const EVENT: &str = "PostToolBatch";
/// How a reminder begins.
const MARK: &str = "[Perennial clock]";
/// Mails, each sent by the agent to itself: as many as an agent may send without a pause, less a few.
const MAILS: usize = 50;
/// From the call of `mail send` to the end of the hook that brings it, in milliseconds.
const MAIL_GOAL_MS: f64 = 10.0;
const CALLER: &str = "caller";

/// Programs with their arguments, each called in turns with the others.
type Callees = Vec<Vec<String>>;

pub fn hook(workshop: &Workshop, rows: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let mut fleet = Fleet::start(workshop, "hooks")?;
    for number in 1..AGENTS {
        fleet.spawn(&format!("agent-{number}"), &SLEEPER)?;
    }
    let bare = BareHook::start(workshop, "bare-hook")?;
    let word = |path: &Path| path.display().to_string();
    let ours = vec![word(&workshop.perennial), "hook".to_owned(), EVENT.to_owned()];
    let theirs = vec![word(&bare.program), word(&bare.socket)];
    let nothing = vec![word(&bare.nothing)];
    // All words are paths and names of ours: nothing in them needs quoting.
    let by_shell = |argv: &[String]| vec!["/bin/sh".to_owned(), "-c".to_owned(), argv.join(" ")];
    let direct = vec![ours.clone(), theirs.clone(), nothing.clone()];
    let shells = vec![by_shell(&ours), by_shell(&theirs), by_shell(&nothing)];

    let times = in_session(workshop, &fleet, &[direct.clone(), shells].concat())?;
    let missed = std::fs::read_to_string(fleet.home().join("state/hooks-missed.jsonl"));
    let missed = missed.unwrap_or_default();
    ensure!(missed.is_empty(), "hooks were not heard: {missed}");
    let [direct_times, shell_times, text_times, mail_times] =
        [0, 3, 6, 9].map(|from| &times[from..]);
    if rows.contains(&"P16") {
        lines.push(given(text_times));
        lines.push(mailed(mail_times));
    }
    if !rows.contains(&"P3") {
        return Ok(());
    }
    lines.push(line(&format!("hook, {AGENTS} agents"), direct_times));
    lines.push(line("the same by `sh -c`", shell_times));
    lines.push(line("hook that is answered with a text", text_times));

    fleet.kill_daemon();
    let times = in_turns(&direct, &input("none"), Some(fleet.home()))?;
    let missed = std::fs::read_to_string(fleet.home().join("state/hooks-missed.jsonl"))?;
    ensure!(missed.lines().count() == CALLS, "not every hook noted that nobody heard it");
    lines.push(line("hook, the daemon is down", &times));
    fleet.up()
}

fn given(times: &[Samples]) -> Line {
    let (ours, calls) = (&times[0], times[0].count());
    Line {
        row: "P16",
        what: format!("a text recorded, offered and given to a hook, p50 of {calls}"),
        ours: format!("{:.2} ms (p99 {:.1})", ours.p50(), ours.p99()),
        peer: "–".to_owned(),
        ratio: None,
        goal: format!("≤ {TEXT_GOAL_MS:.0} ms"),
        reached: ours.p50() <= TEXT_GOAL_MS,
    }
}

fn mailed(times: &[Samples]) -> Line {
    let [sent, brought, both, floor] = [0, 1, 2, 3].map(|at| &times[at]);
    Line {
        row: "P16",
        what: format!("mail send → given to a hook of the turn, p50 of {MAILS}"),
        ours: format!(
            "{:.2} ms (p99 {:.1}): sent {:.2}, given {:.2}",
            both.p50(),
            both.p99(),
            sent.p50(),
            brought.p50()
        ),
        peer: format!("two bare hooks {:.2} ms (p99 {:.1})", floor.p50(), floor.p99()),
        ratio: Some(both.p50() / floor.p50()),
        goal: format!("≤ {MAIL_GOAL_MS:.0} ms"),
        reached: both.p50() <= MAIL_GOAL_MS,
    }
}

fn line(what: &str, times: &[Samples]) -> Line {
    let calls = times[0].count();
    let [ours, bare, nothing] = [0, 1, 2].map(|at| (times[at].p50(), times[at].p99()));
    let (ratio, (ratio_goal, p50_goal, p99_goal)) = (ours.0 / bare.0, GOAL);
    Line {
        row: "P3",
        what: format!("{what}, p50 of {calls}"),
        ours: format!("{:.2} ms (p99 {:.1})", ours.0, ours.1),
        peer: format!(
            "bare hook {:.2} ms (p99 {:.1}), nothing {:.2} ms",
            bare.0, bare.1, nothing.0
        ),
        ratio: Some(ratio),
        goal: format!("≤ {ratio_goal} × bare, ≤ {p50_goal:.0} ms, p99 ≤ {p99_goal:.0} ms"),
        reached: ratio <= ratio_goal && ours.0 <= p50_goal && ours.1 <= p99_goal,
    }
}

/// Has a session of a harness call them; the times of each.
fn in_session(workshop: &Workshop, fleet: &Fleet, callees: &Callees) -> Result<Vec<Samples>> {
    let room = workshop.room("harness")?;
    symlink(std::env::current_exe()?, room.join("claude"))?;
    let (plan, result) = (room.join("plan"), room.join("result"));
    std::fs::write(&plan, serde_json::to_vec(callees)?)?;
    let path = format!("PATH={}:/usr/bin:/bin", room.display());
    let mut spawn = fleet.verb(&["spawn", CALLER, "--harness", "claude", "--env", &path, "--"]);
    output(spawn.arg("hooks").args([&plan, &result]))?;
    ensure!(until(LIMIT, || result.exists()), "the session came to no result");
    let times: Vec<Vec<f64>> = serde_json::from_slice(&std::fs::read(result)?)?;
    Ok(times.into_iter().map(Samples::from_iter).collect())
}

/// The session itself, `hooks PLAN RESULT` and what the preset adds.
pub fn session(words: &[&str]) -> Result<()> {
    let [plan, result, rest @ ..] = words else { anyhow::bail!("hooks PLAN RESULT …") };
    let named = rest.iter().skip_while(|word| **word != "--session-id").nth(1);
    let conversation = *named.context("the preset names no conversation")?;
    let home = std::env::home_dir().context("no home")?;
    let projects = home.join(".claude/projects/-bench");
    std::fs::create_dir_all(&projects)?;
    let answer = json!({ "type": "assistant", "uuid": "1", "requestId": "r", "message": {
        "id": "m", "model": "claude-opus-5-5", "usage": { "input_tokens": 1, "output_tokens": 2 } } });
    let transcript = projects.join(format!("{conversation}.jsonl"));
    std::fs::write(&transcript, format!("{answer}\n"))?;
    let callees: Callees = serde_json::from_slice(&std::fs::read(plan)?)?;
    let input = input(conversation);
    // The session's first words, which are recorded: they are not what is measured.
    for event in ["SessionStart", "UserPromptSubmit", EVENT] {
        call(&[callees[0][0].clone(), "hook".to_owned(), event.to_owned()], &input, None)?;
    }
    let mut times = in_turns(&callees, &input, None)?;
    times.extend(with_texts(&callees[..3], conversation)?);
    times.extend(with_mail(&callees[..3], &input, &transcript)?);
    // Written whole or not at all: the other side looks whether it is there.
    let unfinished = format!("{result}.new");
    let times: Vec<&[f64]> = times.iter().map(Samples::all).collect();
    std::fs::write(&unfinished, serde_json::to_vec(&times)?)?;
    Ok(std::fs::rename(unfinished, result)?)
}

fn in_turns(callees: &Callees, input: &[u8], home: Option<&Path>) -> Result<Vec<Samples>> {
    let mut times = vec![Samples::default(); callees.len()];
    for round in 0..CALLS {
        for turn in 0..callees.len() {
            // Another one begins each round: what one leaves behind falls on all of them.
            let at = (round + turn) % callees.len();
            times[at].add(call(&callees[at], input, home)?);
        }
    }
    Ok(times)
}

/// Each call of ours brings a reminder: it tells of as many tool calls as one takes.
fn with_texts(callees: &[Vec<String>], conversation: &str) -> Result<Vec<Samples>> {
    let mut times = vec![Samples::default(); callees.len()];
    for round in 0..TEXTS {
        let call_of =
            |number| json!({ "tool_name": "Bash", "tool_use_id": format!("{round}-{number}") });
        let tool_calls: Vec<Value> = (0..REMINDER_CALLS).map(call_of).collect();
        let input = json!({ "session_id": conversation, "transcript_path": "/x.jsonl", "cwd": "/",
            "hook_event_name": EVENT, "tool_calls": tool_calls });
        let input = input.to_string().into_bytes();
        for (at, argv) in callees.iter().enumerate() {
            let (ms, reply) = answered(argv, &input, None)?;
            let is_text = reply.windows(MARK.len()).any(|part| part == MARK.as_bytes());
            ensure!(at > 0 || is_text, "call {round} brought no text");
            times[at].add(ms);
        }
    }
    Ok(times)
}

/// The agent writes to itself in its turn, and the next hook brings the mail: sent, given, both, and twice the bare
/// hook. The next one is written when this one is known to stand in the conversation.
fn with_mail(callees: &[Vec<String>], input: &[u8], transcript: &Path) -> Result<[Samples; 4]> {
    let [ours, bare, ..] = callees else { anyhow::bail!("two programs") };
    let mut times = [(); 4].map(|()| Samples::default());
    let verb = |words: &[&str]| -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        std::iter::once(ours[0].clone()).chain(words).collect()
    };
    for round in 0..MAILS {
        let send = verb(&["mail", "send", CALLER, "-m", &format!("mail number {round}")]);
        let sent = call(&send, &[], None)?;
        let (given, reply) = answered(ours, input, None)?;
        let floor = call(bare, input, None)? + call(bare, input, None)?;
        let reply: Value = serde_json::from_slice(&reply).context("a hook without a reply")?;
        let text = &reply["hookSpecificOutput"]["additionalContext"];
        let is_brought =
            text.as_str().is_some_and(|text| text.contains(&format!("mail number {round}\n")));
        ensure!(is_brought, "mail {round} was not brought: {reply}");
        for (at, ms) in [sent, given, sent + given, floor].into_iter().enumerate() {
            times[at].add(ms);
        }
        let told = json!({ "type": "attachment", "uuid": format!("mail-{round}"), "attachment": {
            "type": "hook_additional_context", "content": [text], "hookEvent": EVENT } });
        let mut file = std::fs::File::options().append(true).open(transcript)?;
        file.write_all(format!("{told}\n").as_bytes())?;
        call(ours, input, None)?;
        let unread = verb(&["--json", "mail", "ls", "--unread"]);
        let is_read = || -> Result<bool> {
            let listed: Value = serde_json::from_slice(&answered(&unread, &[], None)?.1)?;
            Ok(listed["mails"].as_array().is_some_and(Vec::is_empty))
        };
        ensure!(until(LIMIT, || is_read().unwrap_or(false)), "mail {round} was never seen");
    }
    Ok(times)
}

/// How long one call took, from its start to its end, in milliseconds.
fn call(argv: &[String], input: &[u8], home: Option<&Path>) -> Result<f64> {
    answered(argv, input, home).map(|(ms, _)| ms)
}

/// The same, and what it printed.
fn answered(argv: &[String], input: &[u8], home: Option<&Path>) -> Result<(f64, Vec<u8>)> {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // A session has it from its holder.
    home.map(|home| command.env("PERENNIAL_HOME", home));
    let (ms, ran) = timed(|| {
        let mut child = command.spawn()?;
        // One that reads nothing has done its work all the same.
        let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
        child.wait_with_output()
    });
    let ran = ran?;
    ensure!(ran.status.success(), "{argv:?} failed");
    Ok((ms, ran.stdout))
}

/// A kilobyte, as a tool call leaves it.
fn input(conversation: &str) -> Vec<u8> {
    let call = json!({ "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": { "command": "ls ".repeat(100) }, "tool_response": "x".repeat(400) });
    let input: Value = json!({ "session_id": conversation, "transcript_path": "/x.jsonl",
        "cwd": "/", "hook_event_name": EVENT, "source": "startup", "tool_calls": [call] });
    input.to_string().into_bytes()
}
