//! One simulated world: its time, what is to happen in it, and everybody in it.
//!
//! Single-threaded and wholly determined by its seed. Time moves only from one happening to the
//! next.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use perennial_core::effect::Delivery;
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::id::{AgentId, Epoch, JobId, SessionNumber};
use perennial_core::observation::Report;
use perennial_core::time::Time;
use perennial_engine::supervisor::{Input, Waiter};

use crate::daemon::{Daemon, Life};
use crate::facts::HookCall;
use crate::facts::Shown;
use crate::faults::Faults;
use crate::journal::Journal;
use crate::judge::Judge;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::mails::Mails;
use crate::mutation::Mutation;
use crate::operator::Operator;
use crate::random::Random;
use crate::rest::RestRecord;
use crate::shim::Order;
use crate::tasks::TaskRecord;
use crate::texts::Texts;
use crate::typing::{Attempt, Prompt};
use crate::violation::Broken;

/// Something that will happen at its time.
#[derive(Debug)]
pub enum Happening {
    DaemonStarts,
    /// Something reaches a daemon, if that one still runs.
    Reaches {
        life: Life,
        input: Input,
    },
    /// The group under way is on disk, or not.
    CommitEnds,
    Holder {
        life: Life,
        agent: AgentId,
        step: HolderStep,
    },
    ShimBegins {
        agent: AgentId,
        number: SessionNumber,
        life: Life,
        epoch: Epoch,
    },
    ShimHears {
        agent: AgentId,
        shim: u64,
        life: Life,
        epoch: Epoch,
        order: Order,
    },
    Shim {
        agent: AgentId,
        shim: u64,
        number: SessionNumber,
        step: ShimStep,
    },
    ProgramEnds {
        agent: AgentId,
        number: SessionNumber,
        exit: Exit,
    },
    /// The agent CLI of a session does the next thing.
    CliActs {
        agent: AgentId,
        number: SessionNumber,
    },
    /// A fact of it arrives.
    Shows(Shown),
    /// A daemon's reader looks whether a transcript has grown.
    Listens {
        life: Life,
        agent: AgentId,
    },
    /// A daemon asks again whether a text was typed.
    DeliversAgain {
        life: Life,
        delivery: Box<Delivery>,
        tries: u32,
    },
    /// A holder has pasted a text.
    Types {
        agent: AgentId,
        shim: u64,
        number: SessionNumber,
        one: Attempt,
    },
    /// The agent CLI reads what was entered.
    Takes {
        agent: AgentId,
        number: SessionNumber,
        prompt: Prompt,
    },
    /// It writes down what its model was given.
    Writes {
        agent: AgentId,
        number: SessionNumber,
    },
    /// The next turn begins with what was queued.
    Dequeues {
        agent: AgentId,
        number: SessionNumber,
    },
    JobEnds {
        job: JobId,
        number: u32,
    },
    /// Somebody looks whether a turn hangs.
    WatcherLooks {
        agent: AgentId,
        number: SessionNumber,
    },
}

/// What a daemon's own side of the holders does next.
#[derive(Debug, Clone, Copy)]
pub enum HolderStep {
    /// Carries out the newest order for this agent, or takes it up again.
    TakeUp,
    /// What other sessions (and this one too, if so) had left without a holder is gone now.
    Swept(SessionNumber, bool),
    /// What is left of a session without a holder is gone now.
    TreeEnded(SessionNumber),
    /// The main process is gone: has its holder said so?
    SecondWitness(SessionNumber),
    /// It was asked to end long ago: does its holder hang?
    EndGrace(SessionNumber),
}

/// What a shim does next, without anybody asking.
#[derive(Debug, Clone, Copy)]
pub enum ShimStep {
    Executes,
    TreeGone,
    /// Nobody acknowledged the end.
    AckTimeout,
    FileWritten,
    /// Its daemon is gone.
    Alone,
}

#[derive(Debug)]
pub struct World {
    pub now: Time,
    pub random: Random,
    pub faults: Faults,
    pub mutation: Option<Mutation>,
    agenda: BTreeMap<(Time, u64), Happening>,
    arrivals: u64,
    pub journal: Journal,
    pub machine: Machine,
    pub daemons: Vec<Daemon>,
    pub next_life: u64,
    pub operator: Operator,
    /// Hooks that wait for the texts that they are answered with.
    pub hooks: BTreeMap<Waiter, HookCall>,
    pub mails: Mails,
    pub tasks: TaskRecord,
    pub rest: RestRecord,
    pub texts: Texts,
    /// What the operator has set.
    pub policy: Policy,
    pub ledger: Ledger,
    pub judge: Judge,
    /// Programs draw their behaviour by chance.
    pub drawn_programs: bool,
    /// So large that what compares whole fleets is looked at now and then only, and appends are not foretold.
    pub is_large: bool,
    pub steps: u64,
    /// Whether properties are checked: not for holders without a daemon's orders.
    pub is_judged: bool,
    /// What holders reported, where that is asked for instead.
    pub heard: VecDeque<(SessionNumber, Report)>,
    trace: Option<Vec<String>>,
    broken: Option<Broken>,
}

/// 2024-01-01, so that times look like times.
pub const BEGINNING: Time = Time(1_704_067_200_000_000);

impl World {
    pub fn new(seed: u64, faults: Faults, mutation: Option<Mutation>, traced: bool) -> World {
        World {
            now: BEGINNING,
            random: Random::new(seed),
            faults,
            mutation,
            agenda: BTreeMap::new(),
            arrivals: 0,
            journal: Journal::new(mutation),
            machine: Machine::default(),
            daemons: Vec::new(),
            next_life: 1,
            operator: Operator::default(),
            hooks: BTreeMap::new(),
            mails: Mails::default(),
            tasks: TaskRecord::default(),
            rest: RestRecord::default(),
            texts: Texts::default(),
            policy: Policy::default(),
            ledger: Ledger::default(),
            judge: Judge::default(),
            drawn_programs: false,
            is_large: false,
            steps: 0,
            is_judged: true,
            heard: VecDeque::new(),
            trace: traced.then(Vec::new),
            broken: None,
        }
    }

    /// Sets what the operator wants, before anything happens.
    pub fn under(mut self, policy: Policy) -> World {
        self.ledger.record = Fleet::default().under(policy.clone());
        self.policy = policy;
        self
    }

    pub fn after(&mut self, span: Duration, happening: Happening) {
        self.arrivals += 1;
        self.agenda.insert((self.now + span, self.arrivals), happening);
    }

    pub fn soon(&mut self, micros: &Range<u64>, happening: Happening) {
        let span = self.random.span(micros);
        self.after(span, happening);
    }

    pub fn hop(&mut self, happening: Happening) {
        let micros = self.faults.hop_micros.clone();
        self.soon(&micros, happening);
    }

    /// The machine goes down and comes back; no daemon runs on it yet.
    pub fn reboot(&mut self) {
        let lives: Vec<Life> = self.daemons.iter().map(|daemon| daemon.life).collect();
        for life in lives {
            self.crash_daemon(life);
        }
        self.tell(|| "the machine restarts".into());
        self.agenda.clear();
        let (random, odds) = (&mut self.random, self.faults.claim_lost_odds);
        self.machine.reboot(|| random.per_mille(odds));
    }

    pub fn set_disk_full(&mut self, full: bool) {
        self.tell(|| format!("the disk is {}", if full { "full" } else { "not full" }));
        self.journal.full = full;
    }

    /// The machine slept: the wall clock is ahead, nothing else happened meanwhile.
    pub fn jump(&mut self, by: Duration) {
        self.tell(|| format!("the clock jumps ahead by {}", crate::span::print(by)));
        self.now = self.now + by;
        let agenda = std::mem::take(&mut self.agenda);
        self.agenda = agenda.into_iter().map(|((at, n), what)| ((at + by, n), what)).collect();
        let lives: Vec<Life> = self.daemons.iter().map(|daemon| daemon.life).collect();
        let is_seen = self.running().is_some_and(|daemon| self.has_heard_all(daemon.life));
        self.judge.jumped(by, is_seen);
        for life in lives {
            self.reach_after_jump(life, by);
        }
    }

    /// The wall clock, by which agent CLIs date what they write, is set back; no daemon follows it.
    pub fn set_clock_back(&mut self, by: Duration) {
        self.tell(|| format!("the clock is set back by {}", crate::span::print(by)));
        self.machine.behind += by;
        let behind = self.machine.behind;
        self.ledger.record.set_behind(behind);
        self.daemons.iter_mut().for_each(|one| one.supervisor.wall_clock_is_behind(behind));
    }

    /// The first broken property stands; what follows from it is noise.
    pub fn broken(&mut self, property: &'static str, what: impl FnOnce() -> String) {
        if self.broken.is_none() && self.is_judged {
            self.broken = Some(Broken { property, what: what() });
        }
    }

    pub fn broken_property(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub fn into_end(self) -> (Option<Broken>, Vec<String>) {
        (self.broken, self.trace.unwrap_or_default())
    }

    /// Notes a line of the story, if anybody reads it.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let at = self.now.since(BEGINNING);
            trace.push(format!("{:>5}.{:06}  {}", at.as_secs(), at.subsec_micros(), line()));
        }
    }

    /// Lets time pass, with all that happens in it.
    pub fn run(&mut self, span: Duration) {
        let until = self.now + span;
        while !self.is_broken() && self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Lets things happen until `done`, or until the span is over.
    pub fn run_until(&mut self, span: Duration, done: impl Fn(&World) -> bool) {
        let until = self.now + span;
        while !done(self) && !self.is_broken() && self.step(until) {}
    }

    /// The next happening, if it is not after `until`.
    fn step(&mut self, until: Time) -> bool {
        let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= until) else {
            return false;
        };
        let ((at, _), happening) = entry.remove_entry();
        // Time may have jumped past it: it happens late, never in the past.
        self.now = self.now.max(at);
        self.steps += 1;
        self.happen(happening);
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::DaemonStarts => self.start_daemon(),
            Happening::Reaches { life, input } => self.reach(life, input),
            Happening::CommitEnds => self.end_commit(),
            Happening::Holder { life, agent, step } => self.holder_step(life, agent, step),
            Happening::ShimBegins { agent, number, life, epoch } => {
                self.shim_begins(agent, number, life, epoch);
            }
            Happening::ShimHears { agent, shim, life, epoch, order } => {
                self.shim_hears(agent, shim, life, epoch, order);
            }
            Happening::Shim { agent, shim, number, step } => {
                self.shim_step(agent, shim, number, step);
            }
            Happening::ProgramEnds { agent, number, exit } => {
                self.program_ends(agent, number, exit);
            }
            Happening::CliActs { agent, number } => self.cli_acts(agent, number),
            Happening::Shows(shown) => self.shows(shown),
            Happening::Listens { life, agent } => self.listens(life, agent),
            Happening::DeliversAgain { life, delivery, tries } => {
                self.deliver_again(life, &delivery, tries);
            }
            Happening::Types { agent, shim, number, one } => self.types(agent, shim, number, one),
            Happening::Takes { agent, number, prompt } => self.takes(agent, number, prompt),
            Happening::Writes { agent, number } => self.write_lines(agent, number),
            Happening::Dequeues { agent, number } => self.dequeues(agent, number),
            Happening::JobEnds { job, number } => self.job_ends(job, number),
            Happening::WatcherLooks { agent, number } => self.watcher_looks(agent, number),
        }
    }
}
