//! The simulated shim: the holder of one agent's session, by its contract. It outlives daemons.
//!
//! Every order carries a session number and the daemon's epoch; a stale one is refused.

use std::time::Duration;

use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::{AgentId, Epoch, SessionNumber};
use perennial_core::observation::Report;
use perennial_core::session::Pace;

use crate::daemon::Life;
use crate::machine::{Session, Shim};
use crate::mutation::Mutation;
use crate::program::{Hearing, Program};
use crate::typing::Attempt;
use crate::world::{Happening, ShimStep, World};

/// What a daemon tells a shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Start(SessionNumber),
    Hello(SessionNumber),
    End(SessionNumber, Pace),
    Release(SessionNumber),
    Deliver(SessionNumber, Attempt),
}

const INTERRUPT: Duration = Duration::from_secs(2);
const TERM: Duration = Duration::from_secs(5);
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(100);
/// The exit file is tried again so often while there is no space for it.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

impl World {
    fn shim(&mut self, agent: AgentId, id: u64) -> Option<&mut Shim> {
        self.machine.shims.get_mut(&agent).filter(|shim| shim.id == id)
    }

    /// A new shim has started; one that finds the lock held ends again.
    pub fn shim_begins(&mut self, agent: AgentId, number: SessionNumber, life: Life, epoch: Epoch) {
        let shared = self.mutation == Some(Mutation::SharedClaim);
        if self.machine.shims.contains_key(&agent) && !shared {
            self.tell(|| format!("a second holder of {} finds the lock held", agent.0));
            self.holder_is_gone(agent);
            return;
        }
        let shim = self.machine.new_shim(epoch, life);
        let id = shim.id;
        self.tell(|| format!("holder {id} of {} begins", agent.0));
        self.machine.shims.insert(agent, shim);
        if self.daemon(life).is_none() {
            self.forget_daemon(agent, id);
        }
        self.begin_session(agent, id, number);
    }

    /// What a daemon tells a shim arrives in the order in which it was told.
    pub fn tell_shim(&mut self, agent: AgentId, life: Life, epoch: Epoch, order: Order) {
        let micros = self.faults.hop_micros.clone();
        let (now, span) = (self.now, self.random.span(&micros));
        let Some(shim) = self.machine.shims.get_mut(&agent) else {
            return;
        };
        let at = (now + span).max(shim.told_until);
        shim.told_until = at;
        let shim = shim.id;
        self.after(at.since(now), Happening::ShimHears { agent, shim, life, epoch, order });
    }

    fn forget_daemon(&mut self, agent: AgentId, id: u64) {
        if let Some(shim) = self.shim(agent, id) {
            shim.life = None;
        }
    }

    pub fn shim_hears(&mut self, agent: AgentId, id: u64, life: Life, epoch: Epoch, order: Order) {
        let alive = self.daemon(life).is_some();
        let Some(shim) = self.shim(agent, id) else {
            // It ended meanwhile: its daemon sees that, and takes the order up again.
            if alive {
                self.holder_is_gone(agent);
            }
            return;
        };
        if shim.hung {
            shim.inbox.push((life, epoch, order));
            return;
        }
        if epoch < shim.epoch {
            return;
        }
        shim.epoch = epoch;
        shim.life = alive.then_some(life);
        match order {
            Order::Start(number) => self.shim_start(agent, id, number),
            Order::Hello(number) => self.say_what_is_known(agent, id, number),
            Order::End(number, pace) => self.shim_end(agent, id, number, pace),
            Order::Release(number) => self.shim_release(agent, id, number),
            Order::Deliver(number, one) => self.shim_deliver(agent, id, number, one),
        }
    }

    fn shim_start(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let is_beside = self.mutation == Some(Mutation::NextBesideTree);
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        match shim.number {
            Some(own) if own == number => self.say_what_is_known(agent, id, number),
            Some(own) if own > number => {}
            // Its last session is not over: the order is ahead of its time, and waits.
            Some(_) if !shim.over && !is_beside => {
                shim.acknowledged = true;
                shim.queued = Some(number);
            }
            Some(_) | None => {
                shim.acknowledged = true;
                self.begin_session(agent, id, number);
            }
        }
    }

    /// Claims the number and executes its program.
    fn begin_session(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let shared = self.mutation == Some(Mutation::SharedClaim);
        let session = self.machine.session(agent, number);
        if session.claimed && !shared {
            let void = session.void;
            self.tell(|| format!("{}.{number} is claimed already", agent.0));
            if void {
                self.tell_exit(agent, id, number, Exit::Unknown(UnknownExit::NotStarted));
            }
            let idle = self.shim(agent, id).is_some_and(|shim| shim.number.is_none());
            if idle {
                self.shim_exits(agent, id);
            }
            return;
        }
        // Its claim went with an earlier boot: a damaged record may have it started again.
        if session.rebooted {
            let prepared = session.prepared.take();
            *session = Session { prepared, ..Session::default() };
        }
        session.claimed = true;
        self.tell(|| format!("holder {id} claims {}.{number}", agent.0));
        self.check_claim(agent, number);
        if let Some(shim) = self.shim(agent, id) {
            shim.number = Some(number);
            shim.asked = None;
            shim.over = false;
            shim.acknowledged = false;
            shim.queued = None;
            shim.releasing = false;
        }
        let micros = self.faults.exec_micros.clone();
        self.soon(&micros, Happening::Shim { agent, shim: id, number, step: ShimStep::Executes });
    }

    pub fn shim_step(&mut self, agent: AgentId, id: u64, number: SessionNumber, step: ShimStep) {
        let current = self.shim(agent, id).is_some_and(|shim| shim.number == Some(number));
        if !current {
            return;
        }
        match step {
            ShimStep::Executes => self.execute(agent, id, number),
            ShimStep::TreeGone => self.tree_is_gone(agent, id, number),
            ShimStep::AckTimeout | ShimStep::Alone => self.write_exit(agent, id, number),
            ShimStep::FileWritten => self.exit_written(agent, id, number),
        }
    }

    fn execute(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let program = if self.drawn_programs {
            Program::drawn(&mut self.random)
        } else {
            self.machine.programs.get(&agent).copied().unwrap_or(Program::STEADY)
        };
        if !program.executes {
            self.tell(|| format!("the program of {}.{number} can't be executed", agent.0));
            self.machine.session(agent, number).failed = true;
            self.see_end(agent, id, number);
            return;
        }
        self.check_execution(agent, number);
        let process = self.machine.new_process();
        let session = self.machine.session(agent, number);
        session.process = Some(process);
        session.program = Some(program);
        self.tell(|| format!("{}.{number} runs as {}: {program:?}", agent.0, process.pid));
        self.begin_cli(agent, number);
        if let Some((after, exit)) = program.ends {
            self.after(after, Happening::ProgramEnds { agent, number, exit });
        }
        if let Some(pace) = self.shim(agent, id).and_then(|shim| shim.asked) {
            self.climb_down(agent, number, pace);
        }
        self.say_what_is_known(agent, id, number);
    }

    /// Interrupt, TERM, KILL: the program gives in at the one that it hears.
    fn climb_down(&mut self, agent: AgentId, number: SessionNumber, pace: Pace) {
        let hearing =
            self.machine.session(agent, number).program.map_or(Hearing::Deaf, |p| p.hearing);
        let (after, exit) = match (pace, hearing) {
            (Pace::AtOnce, _) => (Duration::ZERO, Exit::KillSignal(9)),
            (Pace::Graceful, Hearing::Interrupt) => (Duration::from_millis(1), Exit::Code(0)),
            (Pace::Graceful, Hearing::Term) => (INTERRUPT, Exit::KillSignal(15)),
            (Pace::Graceful, Hearing::Deaf) => (INTERRUPT + TERM, Exit::KillSignal(9)),
        };
        self.after(after, Happening::ProgramEnds { agent, number, exit });
    }

    /// The main process of a session ends, however it came to that.
    pub fn program_ends(&mut self, agent: AgentId, number: SessionNumber, exit: Exit) {
        let session = self.machine.session(agent, number);
        if !session.is_alive() {
            return;
        }
        session.ended = Some(exit);
        session.leftovers = session.program.is_some_and(|program| program.forks);
        self.tell(|| format!("{}.{number} ends: {exit:?}", agent.0));
        self.witness_end(agent, number);
        let holder = self.machine.shims.get(&agent).filter(|shim| shim.number == Some(number));
        if let Some(id) = holder.map(|shim| shim.id) {
            self.see_end(agent, id, number);
        }
    }

    /// The shim sees that the main process is gone, and ends what is left.
    fn see_end(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let Some(shim) = self.shim(agent, id).filter(|shim| !shim.hung && !shim.over) else {
            return;
        };
        let asked = shim.asked.is_some();
        if !asked {
            self.say_what_is_known(agent, id, number);
        }
        if self.machine.session(agent, number).leftovers {
            let micros = self.faults.tree_micros.clone();
            let step = ShimStep::TreeGone;
            self.soon(&micros, Happening::Shim { agent, shim: id, number, step });
        } else {
            self.tree_is_gone(agent, id, number);
        }
    }

    fn tree_is_gone(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        self.machine.session(agent, number).leftovers = false;
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        shim.over = true;
        let (asked, queued, releasing) = (shim.asked.is_some(), shim.queued, shim.releasing);
        if asked {
            self.say_what_is_known(agent, id, number);
        } else {
            let step = ShimStep::AckTimeout;
            let happening = Happening::Shim { agent, shim: id, number, step };
            self.after(ACKNOWLEDGED_WITHIN, happening);
        }
        if let Some(next) = queued {
            self.shim_start(agent, id, next);
        }
        // What was queued may have been claimed by somebody else meanwhile.
        if releasing && self.shim(agent, id).is_some_and(|shim| shim.over) {
            self.shim_exits(agent, id);
        }
    }

    /// Reports how a session stands, if there is anything to say.
    fn say_what_is_known(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let Some(shim) = self.shim(agent, id).filter(|shim| !shim.hung) else {
            return;
        };
        if shim.number.is_none_or(|own| own < number) {
            // Nobody ordered it here, so it never ran; nobody may start it any more.
            return;
        }
        let (asked, over) = (shim.asked.is_some(), shim.over);
        let session = self.machine.session(agent, number);
        if session.failed {
            self.tell_exit(agent, id, number, Exit::Unknown(UnknownExit::NotStarted));
            return;
        }
        match (session.process, session.ended) {
            (Some(process), None) => {
                let life = self.shim(agent, id).and_then(|shim| shim.life);
                if let Some(life) = life {
                    self.report(life, agent, number, Report::Executed(process));
                }
            }
            (Some(_), Some(_)) if asked && !over => {}
            (Some(_), Some(exit)) => self.tell_exit(agent, id, number, exit),
            (None, _) => {}
        }
    }

    fn tell_exit(&mut self, agent: AgentId, id: u64, number: SessionNumber, exit: Exit) {
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        let life = shim.life;
        let current = shim.number == Some(number);
        if let Some(life) = life.filter(|life| self.daemon(*life).is_some()) {
            let report = match exit {
                Exit::Unknown(UnknownExit::NotStarted) => Report::NotStarted("no program".into()),
                Exit::Code(_) | Exit::KillSignal(_) | Exit::Unknown(_) => Report::Exited(exit),
            };
            self.report(life, agent, number, report);
        }
        if current {
            let step = ShimStep::AckTimeout;
            let happening = Happening::Shim { agent, shim: id, number, step };
            self.after(ACKNOWLEDGED_WITHIN, happening);
        }
    }

    /// Nobody acknowledged the end: it goes to a file.
    fn write_exit(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        if !shim.over || shim.acknowledged || shim.hung {
            return;
        }
        if self.journal.full {
            let step = ShimStep::AckTimeout;
            self.after(WRITE_AGAIN, Happening::Shim { agent, shim: id, number, step });
            return;
        }
        let micros = self.faults.commit_micros.clone();
        let step = ShimStep::FileWritten;
        self.soon(&micros, Happening::Shim { agent, shim: id, number, step });
    }

    fn exit_written(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let session = self.machine.session(agent, number);
        let unknown = Exit::Unknown(UnknownExit::NotStarted);
        session.exit_file = Some(session.ended.unwrap_or(unknown));
        let life = self.shim(agent, id).and_then(|shim| shim.life);
        if life.is_none_or(|life| self.daemon(life).is_none()) {
            self.shim_exits(agent, id);
        }
    }

    fn shim_end(&mut self, agent: AgentId, id: u64, number: SessionNumber, pace: Pace) {
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        match shim.number {
            Some(own) if own > number => {}
            Some(own) if own == number => {
                if shim.over {
                    self.say_what_is_known(agent, id, number);
                    return;
                }
                shim.asked = Some(pace);
                let session = self.machine.session(agent, number);
                if session.is_alive() {
                    self.climb_down(agent, number, pace);
                }
            }
            Some(_) | None => {
                shim.queued = shim.queued.filter(|queued| *queued != number);
                let session = self.machine.session(agent, number);
                session.void |= !session.claimed;
                session.claimed = true;
                let exit = Exit::Unknown(UnknownExit::NotStarted);
                self.tell_exit(agent, id, number, exit);
            }
        }
    }

    fn shim_release(&mut self, agent: AgentId, id: u64, number: SessionNumber) {
        let Some(shim) = self.shim(agent, id) else {
            return;
        };
        if shim.number.is_some_and(|own| own > number) {
            return;
        }
        shim.acknowledged = true;
        if shim.over {
            self.shim_exits(agent, id);
        } else {
            shim.releasing = true;
        }
    }

    fn shim_exits(&mut self, agent: AgentId, id: u64) {
        if self.shim(agent, id).is_some() {
            self.tell(|| format!("holder {id} of {} ends", agent.0));
            self.machine.shims.remove(&agent);
            self.holder_is_gone(agent);
        }
    }

    pub fn hang_shim(&mut self, agent: AgentId) {
        if let Some(shim) = self.machine.shims.get_mut(&agent) {
            shim.hung = true;
            self.tell(|| format!("the holder of {} hangs", agent.0));
        }
    }

    /// A hung shim goes on: it sees what it missed, then hears what it was told.
    pub fn free_shim(&mut self, agent: AgentId) {
        let Some(shim) = self.machine.shims.get_mut(&agent).filter(|shim| shim.hung) else {
            return;
        };
        shim.hung = false;
        let (id, inbox) = (shim.id, std::mem::take(&mut shim.inbox));
        let (number, over) = (shim.number, shim.over);
        self.tell(|| format!("the holder of {} goes on", agent.0));
        if let Some(number) = number {
            let session = self.machine.session(agent, number);
            if (session.ended.is_some() || session.failed) && !over {
                self.see_end(agent, id, number);
            } else {
                self.say_what_is_known(agent, id, number);
            }
            let step = ShimStep::Alone;
            self.hop(Happening::Shim { agent, shim: id, number, step });
        }
        for (life, epoch, order) in inbox {
            self.shim_hears(agent, id, life, epoch, order);
        }
    }

    /// Every shim notices that its daemon is gone; those whose session is over write and end.
    pub fn daemon_is_gone(&mut self, life: Life) {
        let mut alone = Vec::new();
        for (agent, shim) in &mut self.machine.shims {
            if shim.life == Some(life) {
                shim.life = None;
                alone.extend(shim.number.map(|number| (*agent, shim.id, number)));
            }
        }
        for (agent, shim, number) in alone {
            let step = ShimStep::Alone;
            self.hop(Happening::Shim { agent, shim, number, step });
        }
    }
}
