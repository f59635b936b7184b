//! P19: what 50,000 mails that were read cost a fleet of 1,000 agents, beside the same fleet without them.
//!
//! The mails are written into the journal by the supervisor itself: the operator's, each to one of 50 agents that
//! have ended since, and each read by that agent. The living are started by the command line.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, MessageId};
use perennial_core::message::{Addressee, MailDraft, Priority};
use perennial_core::observation::Report;
use perennial_store::text;

use super::past::Past;
use crate::clock::{timed, until};
use crate::peers::{Fleet, SLEEPER};
use crate::processes::{pss_kb, rss_kb};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const LIVING: usize = 1_000;
const MAILS: u128 = 50_000;
pub const READERS: u128 = 50;
/// So many are written to a reader, who then reads them.
const AT_ONCE: u128 = 50;
const CALLS: usize = 40;
const FOUND_AGAIN: Duration = Duration::from_secs(60);

const MEMORY_GOAL_MB: f64 = 24.0;
const UP_GOAL_MS: f64 = 1000.0;
/// Of `ls` beside the home without mail: what two runs differ by on a machine that others use, too.
const SAME: f64 = 1.15;

/// The figures of one home.
struct Figures {
    pss_mb: f64,
    rss_mb: f64,
    ls: Samples,
    up_ms: f64,
}

pub fn letters(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let homes = [("without", 0), ("with", MAILS)].map(|(name, mails)| -> Result<Fleet> {
        eprintln!("letters: {LIVING} agents, {mails} mails …");
        let home = workshop.room(&format!("letters-{name}"))?;
        write_history(&home, mails)?;
        let fleet = Fleet::start_on(workshop, home)?;
        for number in 0..LIVING {
            fleet.spawn(&format!("agent-{number}"), &SLEEPER)?;
        }
        Ok(fleet)
    });
    let [without, with] = homes;
    let [without, with] = measured([without?, with?])?;
    let line = |what: &str, ours: String, peer: String, ratio: f64, goal: String, reached: bool| {
        let what = format!("{what}, {LIVING} agents, {MAILS} mails");
        Line { row: "P19", what, ours, peer, ratio: Some(ratio), goal, reached }
    };
    lines.push(line(
        "daemon's PSS (RSS)",
        format!("{:.1} MB ({:.1})", with.pss_mb, with.rss_mb),
        format!("without mails {:.1} MB ({:.1})", without.pss_mb, without.rss_mb),
        with.pss_mb / without.pss_mb,
        format!("≤ {MEMORY_GOAL_MB:.0} MB"),
        with.pss_mb <= MEMORY_GOAL_MB,
    ));
    lines.push(line(
        "up after kill -9",
        format!("{:.0} ms", with.up_ms),
        format!("without mails {:.0} ms", without.up_ms),
        with.up_ms / without.up_ms,
        "≤ 1 s".to_owned(),
        with.up_ms <= UP_GOAL_MS,
    ));
    lines.push(line(
        &format!("ls --json, p50 of {CALLS}"),
        format!("{:.1} ms (p99 {:.1})", with.ls.p50(), with.ls.p99()),
        format!("without mails {:.1} ms", without.ls.p50()),
        with.ls.p50() / without.ls.p50(),
        format!("≤ {SAME} × without"),
        with.ls.p50() <= SAME * without.ls.p50(),
    ));
    Ok(())
}

/// Both homes, in turns where it is about time.
fn measured(mut fleets: [Fleet; 2]) -> Result<[Figures; 2]> {
    let call = |fleet: &Fleet, words: &[&str]| -> Result<f64> {
        let mut verb = fleet.verb(words);
        let (ms, ran) = timed(|| output(&mut verb));
        ran.map(|_| ms)
    };
    let mut ls = [(); 2].map(|()| Samples::default());
    for _ in 0..CALLS {
        for (at, fleet) in fleets.iter().enumerate() {
            ls[at].add(call(fleet, &["ls", "--json"])?);
        }
    }
    let mut figures = Vec::new();
    for (fleet, ls) in fleets.iter_mut().zip(ls) {
        fleet.kill_daemon();
        let (up_ms, started) = timed(|| fleet.up());
        started?;
        let connected = || fleet.health("holders_connected").is_ok_and(|it| it >= LIVING as i64);
        ensure!(until(FOUND_AGAIN, connected), "not all holders were found again");
        // Of the daemon that found them again: the first one also read the whole past, which it has from nobody.
        call(fleet, &["ls", "--json"])?;
        let pid = fleet.daemon_pid();
        let (pss_mb, rss_mb) = (pss_kb(pid)? / 1024.0, rss_kb(pid)? / 1024.0);
        figures.push(Figures { pss_mb, rss_mb, ls, up_ms });
    }
    figures.try_into().map_err(|_| anyhow::anyhow!("two homes"))
}

/// Agents that have ended, and what they were written and have read.
fn write_history(home: &Path, mails: u128) -> Result<()> {
    let mut past = Past::begin_in(home)?;
    for number in 1..=READERS {
        past.begin(AgentId(number), &format!("reader-{number}"), "claude")?;
    }
    write_mails(&mut past, mails, true)?;
    for number in 1..=READERS {
        past.ask(Command::Stop(AgentId(number).to_string()))?;
        past.report(AgentId(number), Report::Exited(Exit::KillSignal(15)))?;
    }
    past.settle(0)
}

/// The operator's mails to the readers, who read them or not.
pub fn write_mails(past: &mut Past, mails: u128, are_read: bool) -> Result<()> {
    for batch in 0..mails / AT_ONCE {
        let reader = AgentId(batch % READERS + 1);
        let ids: Vec<MessageId> =
            (1..=AT_ONCE).map(|number| MessageId(batch * AT_ONCE + number)).collect();
        for id in &ids {
            past.ask(Command::Mail(Box::new(draft(*id, reader))))?;
        }
        // An agent that reads them one by one is slowed down.
        if are_read {
            past.ask_as(Caller::Agent(reader), Command::ReadMail { ids })?;
        }
    }
    Ok(())
}

fn draft(id: MessageId, reader: AgentId) -> MailDraft {
    let number = id.0;
    let body =
        format!("Mail number {number}: what was found, and what is still to do.\n").repeat(5);
    MailDraft {
        id,
        to: Addressee::Agent(reader.to_string()),
        thread: None,
        subject: format!("the state of things, {number}"),
        priority: Priority::Normal,
        body: text::body(&body),
        excerpt: body,
    }
}
