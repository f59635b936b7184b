//! The daemon's side of the holders, by its contract: every start is answered, every end ends in
//! an exit, a session without a holder has its tree ended before anybody is told.
//!
//! Runs inside the daemon: it sees nothing and does nothing once that is gone.
//!
//! Invariants
//! - SH1  A session number is claimed at most once; an end claims what was never started.
//! - SH2  What an earlier session left is ended before anything else is done for an agent without a
//!   holder, also when that session's end was told long ago.
//! - SH3  No exit is reported while a process of a session asked to end lives.

use std::time::Duration;

use perennial_core::effect::Action;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::Report;

use crate::daemon::Life;
use crate::machine::Session;
use crate::mutation::Mutation;
use crate::shim::Order;
use crate::world::{Happening, HolderStep, World};

/// The main process is gone and its holder says nothing: it hangs.
const SECOND_WITNESS: Duration = Duration::from_secs(1);
/// A holder that does not greet in this time is not waited for.
const HELLO: Duration = Duration::from_secs(5);
/// The whole ladder, and some grace.
const END_GRACE: Duration = Duration::from_secs(10);

impl World {
    pub fn holder_step(&mut self, life: Life, agent: AgentId, step: HolderStep) {
        if self.daemon(life).is_none() {
            return;
        }
        match step {
            HolderStep::TakeUp => self.take_up(life, agent),
            HolderStep::Swept(number, own_too) => self.swept(life, agent, number, own_too),
            HolderStep::TreeEnded(number) => self.tree_ended(life, agent, number),
            HolderStep::SecondWitness(number) => {
                let gone = self.machine.session(agent, number).ended.is_some();
                if gone && self.hangs(agent) && self.is_newest(life, agent, number) {
                    self.kill_shim(agent);
                }
            }
            HolderStep::EndGrace(number) => {
                if self.hangs(agent) && self.is_newest(life, agent, number) {
                    self.kill_shim(agent);
                }
            }
        }
    }

    fn hangs(&self, agent: AgentId) -> bool {
        self.machine.shims.get(&agent).is_some_and(|shim| shim.hung)
    }

    fn is_newest(&self, life: Life, agent: AgentId, number: SessionNumber) -> bool {
        let order = self.daemon(life).and_then(|daemon| daemon.orders.get(&agent));
        order.is_some_and(|effect| effect.number == number)
    }

    /// Carries out the newest order; taking it up again is the same.
    fn take_up(&mut self, life: Life, agent: AgentId) {
        let Some(daemon) = self.daemon(life) else {
            return;
        };
        let Some(effect) = daemon.orders.get(&agent).cloned() else {
            return;
        };
        let epoch = daemon.supervisor.fleet().epoch();
        let number = effect.number;
        if let Action::Start(launch, opening) = &effect.action {
            self.prepare(agent, number, launch, opening);
        }
        if let Some(shim) = self.machine.shims.get(&agent) {
            let hung = shim.hung;
            let order = match effect.action {
                Action::Start(..) => Order::Start(number),
                Action::Hold => Order::Hello(number),
                Action::End(pace) => Order::End(number, pace),
                Action::Release => Order::Release(number),
            };
            if hung && !matches!(order, Order::Release(_)) {
                let step = HolderStep::SecondWitness(number);
                self.after(HELLO, Happening::Holder { life, agent, step });
            }
            if matches!(order, Order::End(..)) {
                let step = HolderStep::EndGrace(number);
                self.after(END_GRACE, Happening::Holder { life, agent, step });
            }
            self.tell_shim(agent, life, epoch, order);
            return;
        }
        let release = matches!(effect.action, Action::Release);
        let left = |(of, session): (SessionNumber, &Session)| {
            session.has_processes() && (of != number || release)
        };
        if self.machine.sessions_of(agent).any(left) {
            let micros = self.faults.tree_micros.clone();
            let step = HolderStep::Swept(number, release);
            self.soon(&micros, Happening::Holder { life, agent, step });
            return;
        }
        match effect.action {
            Action::Release => {}
            Action::Start(..) | Action::Hold | Action::End(_) => {
                self.take_up_without_shim(life, agent, number, &effect.action);
            }
        }
    }

    /// What sessions without a holder had left is gone; then the order is taken up again.
    fn swept(&mut self, life: Life, agent: AgentId, number: SessionNumber, own_too: bool) {
        let range = (agent, SessionNumber(0))..=(agent, SessionNumber(u32::MAX));
        for ((_, of), session) in self.machine.sessions.range_mut(range) {
            if *of != number || own_too {
                session.end_processes();
            }
        }
        self.tell(|| format!("what earlier sessions of {} left is ended", agent.0));
        self.take_up(life, agent);
    }

    fn take_up_without_shim(
        &mut self,
        life: Life,
        agent: AgentId,
        number: SessionNumber,
        action: &Action,
    ) {
        let shared = self.mutation == Some(Mutation::SharedClaim);
        let session = self.machine.session(agent, number);
        if session.claimed && !(shared && matches!(action, Action::Start(..))) {
            match (session.exit_file, session.void) {
                (Some(exit), _) => self.report(life, agent, number, Report::Exited(exit)),
                (None, true) => {
                    let exit = Exit::Unknown(UnknownExit::NotStarted);
                    self.report(life, agent, number, Report::Exited(exit));
                }
                (None, false) => self.end_tree(life, agent, number),
            }
            return;
        }
        match action {
            Action::Start(..) => {
                let epoch = self
                    .daemon(life)
                    .map_or_else(Default::default, |daemon| daemon.supervisor.fleet().epoch());
                let micros = self.faults.holder_micros.clone();
                self.soon(&micros, Happening::ShimBegins { agent, number, life, epoch });
            }
            // Whoever was on the way to start it comes too late from now on.
            Action::End(_) => {
                session.claimed = true;
                session.void = true;
                let exit = Exit::Unknown(UnknownExit::NotStarted);
                self.report(life, agent, number, Report::Exited(exit));
            }
            Action::Hold => self.end_tree(life, agent, number),
            Action::Release => {}
        }
    }

    fn end_tree(&mut self, life: Life, agent: AgentId, number: SessionNumber) {
        let micros = self.faults.tree_micros.clone();
        let step = HolderStep::TreeEnded(number);
        self.soon(&micros, Happening::Holder { life, agent, step });
    }

    fn tree_ended(&mut self, life: Life, agent: AgentId, number: SessionNumber) {
        let session = self.machine.session(agent, number);
        session.end_processes();
        session.holder_died = true;
        let exit = session.exit_file.unwrap_or(Exit::Unknown(UnknownExit::HolderDied));
        self.tell(|| format!("what was left of {}.{number} is ended", agent.0));
        self.report(life, agent, number, Report::Exited(exit));
    }

    /// KILL to a holder; its session's processes live on until somebody ends them.
    pub fn kill_shim(&mut self, agent: AgentId) {
        let Some(shim) = self.machine.shims.remove(&agent) else {
            return;
        };
        self.tell(|| format!("the holder of {} is killed", agent.0));
        if let Some(number) = shim.number {
            let session = self.machine.session(agent, number);
            session.holder_died |= session.exit_file.is_none();
        }
        self.holder_is_gone(agent);
    }

    /// Its daemon sees the end of a holder at once.
    pub fn holder_is_gone(&mut self, agent: AgentId) {
        let lives: Vec<Life> = self.daemons.iter().map(|daemon| daemon.life).collect();
        for life in lives {
            self.hop(Happening::Holder { life, agent, step: HolderStep::TakeUp });
        }
    }

    /// The second witness of an end is the daemon's own.
    pub fn witness_end(&mut self, agent: AgentId, number: SessionNumber) {
        let lives: Vec<Life> = self.daemons.iter().map(|daemon| daemon.life).collect();
        for life in lives {
            let step = HolderStep::SecondWitness(number);
            self.after(SECOND_WITNESS, Happening::Holder { life, agent, step });
        }
    }
}
