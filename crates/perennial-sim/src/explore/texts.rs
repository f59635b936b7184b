//! What is written to agents in an explored world: texts of persons, and mail.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::launch::Launch;
use perennial_core::message::{Addressee, MailDraft, Priority};
use perennial_core::restart::Restart;

use super::{Act, Explorer, HARNESS, Summary, Violation, launch};
use crate::violation::Broken;

impl Explorer {
    /// To anybody, by one or two persons at once.
    pub(super) fn send(&mut self) {
        let count = self.world.random.within(1..3);
        let Some(agent) = self.somebody() else {
            return;
        };
        for _ in 0..count {
            let (id, fingerprint) = self.world.texts.new_text();
            let (body, target) = (perennial_store::text::body(&id.to_string()), agent.to_string());
            let after_turn = self.world.random.per_mille(200);
            let send = Command::Send { id, target, body, fingerprint, after_turn };
            self.ask(Caller::Person, send);
        }
    }

    /// Faults end daemons: there is one again.
    fn keep_up(&mut self) {
        if self.world.daemons.is_empty() {
            self.carry_out(Act::StartDaemon);
        }
    }

    /// An agent asks for the first of its mails by itself, some of which may be on their way to it.
    fn read_mail(&mut self) {
        for agent in (0..10).filter_map(|_| self.somebody()).collect::<Vec<_>>() {
            let ids = self.world.mails.first_of(agent).into_iter().collect();
            self.ask(Caller::Agent(agent), Command::ReadMail { ids });
        }
    }

    /// By a person or an agent, sometimes several at once.
    pub(super) fn mail(&mut self) {
        let (Some(from), Some(to)) = (self.somebody(), self.somebody()) else {
            return;
        };
        for _ in 0..self.world.random.within(1..5) {
            let is_person = self.world.random.per_mille(300);
            let caller = if is_person { Caller::Person } else { Caller::Agent(from) };
            let to = match self.world.random.below(12) {
                0 => Addressee::Operator,
                1 => Addressee::Team(to.to_string()),
                2 => Addressee::Role {
                    role: "keeper".parse().expect("a name"),
                    all: false,
                    is_declared: true,
                },
                _ => Addressee::Agent(to.to_string()),
            };
            let id = self.world.mails.new_mail();
            let priority = self.world.random.pick(&Priority::ALL).copied().unwrap_or_default();
            let draft = MailDraft {
                id,
                to,
                thread: None,
                subject: id.to_string(),
                priority,
                body: perennial_store::text::body("words"),
                excerpt: "words".to_owned(),
            };
            self.ask(caller, Command::Mail(Box::new(draft)));
        }
    }
}

/// Many mails among many agent CLIs, with kills of daemons and sessions: one world, whose every property holds.
pub fn explore_mail(seed: u64, agents: u64, mails: u64) -> Result<Summary, Violation> {
    let mut explorer = Explorer::new(seed, None, false);
    explorer.world.faults.hang_odds = 0;
    // A daemon's start folds the whole journal: of many outputs fewer are followed by a crash.
    explorer.world.faults.crash_odds = explorer.world.faults.crash_odds.min(1);
    explorer.world.is_large = true;
    explorer.harness_odds = 1000;
    explorer.world.start_daemon();
    explorer.world.run(Duration::from_millis(50));
    while (explorer.world.ledger.record.agents().count() as u64) < agents {
        let spawn = Spawn {
            id: explorer.world.new_agent(),
            name: None,
            role: None,
            parent: None,
            launch: Launch { harness: HARNESS.into(), ..launch("program") },
            restart: Restart::Always,
            conversation: None,
            situations: Vec::new(),
        };
        explorer.ask(Caller::Person, Command::Spawn(Box::new(spawn)));
        explorer.world.run(Duration::from_millis(200));
        explorer.keep_up();
    }
    while explorer.world.mails.sent < mails && !explorer.world.is_broken() {
        for _ in 0..8 {
            explorer.mail();
        }
        match explorer.world.random.below(8) {
            0 => explorer.carry_out(Act::CrashDaemon),
            1 | 2 => explorer.end_program(),
            3 | 4 => explorer.read_mail(),
            _ => {}
        }
        explorer.keep_up();
        explorer.world.run(Duration::from_secs(5));
    }
    if !explorer.world.is_broken() {
        explorer.world.settle();
    }
    let summary = explorer.summary();
    let (broken, trace) = explorer.world.into_end();
    match broken {
        Some(Broken { property, what }) => Err(Violation { seed, property, what, trace }),
        None => Ok(summary),
    }
}
