//! The end of every explored world: faults cease, time passes, and everybody has to come to rest.
//!
//! Invariant 5 of the model: no stuck state, and the operator can bring every agent to `dead`.

use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::AgentId;
use perennial_core::session::Phase;
use perennial_core::state::State;

use crate::operator::Answer;
use crate::world::{Happening, World};

/// The breaker's longest opening after the longest program, and some more.
const REST: Duration = Duration::from_secs(3 * 3600);
/// A whole ladder, and some more.
const MINUTE: Duration = Duration::from_secs(60);

impl World {
    /// Lets the world come to rest, and looks whether it did.
    pub fn settle(&mut self) {
        self.tell(|| "faults cease".into());
        self.faults.cease();
        self.drawn_programs = false;
        self.machine.programs.clear();
        self.journal.full = false;
        for agent in self.machine.shims.keys().copied().collect::<Vec<_>>() {
            self.free_shim(agent);
        }
        // One that was asked to end in order may still run.
        self.run(MINUTE);
        self.have_a_daemon();
        self.run(MINUTE);
        self.lift_holds();
        self.answer_dialogs();
        self.clear_drafts();
        self.run(MINUTE);
        self.check_no_dialog();
        self.check_line();
        self.prompt_everybody();
        self.run(REST);
        self.check_rest("settled", |_| true);
        self.check_talks();
        // What waits for a hook comes with the next turns. Between them they are idle for longer than a text that
        // was swallowed is waited for.
        let quiet_since = self.now;
        for _ in 0..3 {
            self.prompt_everybody();
            self.run(MINUTE * 3);
        }
        self.check_no_text_lost(quiet_since);
        self.check_no_mail_lost(quiet_since);
        self.check_jobs();
        self.check_tasks();
        self.check_escalations(false);
        self.check_task_wakes();
        self.insist(Command::StopAll);
        self.run(MINUTE);
        let asleep = |agent: &Agent| !matches!(agent.state, State::Working | State::Waiting);
        self.check_rest("stopped", asleep);
        self.start_anew();
        self.check_rest("still stopped after a restart of the daemon", asleep);
        let ids: Vec<AgentId> = self.ledger.record.agents().map(|agent| agent.id).collect();
        for id in ids {
            let dead = self.ledger.record.agent(id).is_none_or(|a| a.state == State::Dead);
            if !dead {
                self.insist(Command::Bury { target: id.to_string(), summary: Some("over".into()) });
            }
        }
        self.run(MINUTE);
        self.check_rest("buried", |agent| agent.state == State::Dead);
        self.check_all_returned();
        self.check_all_mail_returned();
        self.check_escalations(true);
    }

    /// Nobody but the operator gets those on.
    fn lift_holds(&mut self) {
        for id in self.judge.held() {
            self.insist(Command::Stop(id.to_string()));
        }
    }

    fn answer_dialogs(&mut self) {
        let ids: Vec<AgentId> = self.ledger.record.agents().map(|agent| agent.id).collect();
        for id in ids {
            self.answer_dialog(id);
        }
    }

    fn clear_drafts(&mut self) {
        let ids: Vec<AgentId> = self.ledger.record.agents().map(|agent| agent.id).collect();
        for id in ids {
            self.touch_draft(id, false);
        }
    }

    fn have_a_daemon(&mut self) {
        if self.daemons.is_empty() {
            self.hop(Happening::DaemonStarts);
        }
    }

    pub fn start_anew(&mut self) {
        let lives: Vec<_> = self.daemons.iter().map(|daemon| daemon.life).collect();
        for life in lives {
            self.crash_daemon(life);
        }
        self.have_a_daemon();
        self.run(MINUTE * 60);
    }

    /// In a world without faults, what the operator asks for is done.
    fn insist(&mut self, command: Command) {
        let said = format!("{command:?}");
        let waiter = self.ask(Caller::Person, command);
        self.run_until(MINUTE, |world| match waiter {
            Some(waiter) => world.operator.asked.get(&waiter).is_none_or(|a| a.answer.is_some()),
            None => true,
        });
        let answer = waiter.and_then(|waiter| self.operator.asked.get(&waiter)?.answer.clone());
        if answer != Some(Answer::Done) {
            self.broken("5: the operator is obeyed", || format!("{said}: {answer:?}"));
        }
    }

    fn check_rest(&mut self, when: &'static str, as_asked: impl Fn(&Agent) -> bool) {
        let Some(daemon) = self.running() else {
            self.broken("a daemon that starts runs", || when.into());
            return;
        };
        if !daemon.supervisor.is_settled() {
            self.broken("5: nothing stays under way", || when.into());
            return;
        }
        let waiting = self.operator.asked.values().filter(|asked| asked.answer.is_none()).count();
        if waiting > 0 {
            self.broken("every request is answered", || format!("{waiting} wait, {when}"));
        }
        let agents: Vec<Agent> = self.ledger.record.agents().cloned().collect();
        for agent in agents {
            if !self.is_at_rest(&agent) || !as_asked(&agent) {
                let line = crate::words::agent(&agent, self.now);
                self.broken("5: no stuck state", || format!("{when}: {line}"));
            }
            if self.judge.has_wish(agent.id) || agent.keeping.is_some() {
                self.broken("X11: every wish ends", || format!("{when}: {}", agent.id.0));
            }
            if self.judge.owes_checkpoint(agent.id) {
                self.broken("JU18: no checkpoint is lost", || format!("{when}: {}", agent.id.0));
            }
            self.check_nothing_left(&agent, when);
        }
    }

    fn is_at_rest(&self, agent: &Agent) -> bool {
        let Some(session) = &agent.session else {
            return false;
        };
        match agent.state {
            State::Working | State::Waiting => {
                // An agent CLI with nothing to do waits for somebody.
                (agent.state == State::Working) == agent.launch.is_bare()
                    && !agent.reason.is_before_first_sign()
                    && session.phase == Phase::Running
                    && self.machine.alive(agent.id) == Some(session.number)
                    && self.machine.shims.contains_key(&agent.id)
            }
            State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
                session.is_over()
            }
            State::Hatching
            | State::Waking
            | State::Unknown
            | State::HandingOff
            | State::Crashed => false,
        }
    }

    /// I3: no process and no holder is left of what is over.
    fn check_nothing_left(&mut self, agent: &Agent, when: &'static str) {
        let working = matches!(agent.state, State::Working | State::Waiting);
        let own = agent.session.as_ref().map(|session| session.number).filter(|_| working);
        let left = self
            .machine
            .sessions_of(agent.id)
            .find(|(number, session)| session.has_processes() && Some(*number) != own);
        if let Some((number, session)) = left {
            let what = format!("{when}: {}.{number} {session:?}", agent.id.0);
            self.broken("I3: no process is left of what is over", || what);
        }
        if !working && let Some(shim) = self.machine.shims.get(&agent.id) {
            let what = format!("{when}: {shim:?}");
            self.broken("I3: no holder is left of what is over", || what);
        }
    }
}
