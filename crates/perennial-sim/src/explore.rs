//! Seeded exploration: a small fleet, people who ask for things, and faults, all drawn from the
//! seed; then rest. Every property is checked at every step.

mod acts;
mod handoffs;
mod policy;
mod record;
mod summary;
mod tasks;
mod texts;

pub use summary::Summary;
pub use tasks::draft;
pub use texts::explore_mail;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, RoleWanted, Spawn, Target};
use perennial_core::exit::Exit;
use perennial_core::fleet::Policy;
use perennial_core::id::AgentId;
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::observation::Observation;
use perennial_core::restart::Restart;
use perennial_core::role::Span;
use perennial_core::work::WorkPhase;
use perennial_engine::supervisor::Input;

use acts::{ACTS, Act};

use crate::faults::Faults;
use crate::mutation::Mutation;
use crate::operator;
use crate::random::Random;
use crate::violation::{Broken, Violation};
use crate::world::{Happening, World};

/// Explores one world for each seed; the first violation ends it.
pub fn explore(seeds: Range<u64>) -> Result<Summary, Violation> {
    explore_mutated(seeds, None)
}

/// The same with something broken on purpose, to see that it is found.
pub fn explore_mutated(
    seeds: Range<u64>,
    mutation: Option<Mutation>,
) -> Result<Summary, Violation> {
    let mut summary = Summary::default();
    for seed in seeds {
        summary += explored(seed, mutation)?;
    }
    Ok(summary)
}

/// Explores the world of one seed.
pub fn explore_one(seed: u64) -> Result<Summary, Violation> {
    explored(seed, None)
}

fn explored(seed: u64, mutation: Option<Mutation>) -> Result<Summary, Violation> {
    let mut explorer = Explorer::new(seed, mutation, false);
    let panicked = catch_unwind(AssertUnwindSafe(|| explorer.run())).is_err();
    let world = &explorer.world;
    if panicked || world.is_broken() {
        return Err(retold(seed, mutation, panicked));
    }
    Ok(explorer.summary())
}

/// The same seed once more, this time with its story.
fn retold(seed: u64, mutation: Option<Mutation>, panicked: bool) -> Violation {
    let mut explorer = Explorer::new(seed, mutation, true);
    let again = catch_unwind(AssertUnwindSafe(|| explorer.run())).is_err();
    let (broken, trace) = explorer.world.into_end();
    let broken = broken.unwrap_or_else(|| Broken {
        property: if panicked && again { "no panic" } else { "a seed is one world" },
        what: "see above".into(),
    });
    Violation { seed, property: broken.property, what: broken.what, trace }
}

/// Any word but `command`: no preset is read here.
pub const HARNESS: &str = "agent-cli";
const NAMES: [&str; 4] = ["ann", "bob", "Bob", "cy"];
const MOST_AGENTS: usize = 6;

struct Explorer {
    world: World,
    acts: Vec<(Act, u64)>,
    actions: u64,
    /// How many agents in a thousand are agent CLIs; the others are bare commands.
    harness_odds: u64,
    /// How many roles were given to somebody.
    roles: u32,
}

impl Explorer {
    fn new(seed: u64, mutation: Option<Mutation>, traced: bool) -> Explorer {
        // What a world is like is drawn apart from what happens in it.
        let mut random = Random::new(!seed);
        let faults = Faults::drawn(&mut random);
        let harness_odds = random.pick(&[0, 500, 1000]).copied().unwrap_or(0);
        let drawn = |(act, weight, is_fault): (Act, u64, bool)| {
            (!is_fault || random.per_mille(500)).then_some((act, weight))
        };
        let mut acts: Vec<(Act, u64)> = ACTS.into_iter().filter_map(drawn).collect();
        let notify = if random.per_mille(500) { vec!["notify".to_owned()] } else { Vec::new() };
        let escalate_after = random.per_mille(500).then(|| Duration::from_secs(20));
        let policy = Policy { escalate_after, ..policy::drawn(seed, notify) };
        let mut world = World::new(seed, faults, mutation, traced).under(policy);
        world.judge.escalations.unseen_after = escalate_after;
        world.drawn_programs = true;
        // A service that is down for long: session after session comes to nothing.
        world.faults.hang_odds = if random.per_mille(100) { 900 } else { 0 };
        let actions = world.random.within(15..60);
        // Worlds with roles are about rest: agent CLIs that are given tasks.
        let has_roles = !world.policy.roles.is_empty();
        acts.extend(has_roles.then_some((Act::Task, 60)));
        let harness_odds = if has_roles { 900 } else { harness_odds };
        Explorer { world, acts, actions, harness_odds, roles: 0 }
    }

    fn summary(&self) -> Summary {
        let world = &self.world;
        Summary {
            seeds: 1,
            steps: world.steps,
            sessions: world.machine.sessions.len() as u64,
            daemons: world.next_life - 1,
            reboots: u64::from(world.machine.boot),
            texts: world.texts.sent,
            seen: world.texts.seen,
            told_twice: world.texts.told_twice,
            jobs: world.machine.jobs.len() as u64,
            mails: world.mails.sent,
            mails_seen: world.mails.seen,
            mails_listed: world.mails.listed,
            rests: world.rest.rests,
            woken: world.rest.woken,
        }
    }

    fn run(&mut self) {
        self.world.start_daemon();
        self.world.run(Duration::from_millis(50));
        for _ in 0..self.actions {
            self.act();
            let gap = self.gap();
            self.world.run(gap);
            if self.world.is_broken() {
                return;
            }
        }
        self.world.settle();
    }

    /// Mostly short: things are to meet each other under way.
    fn gap(&mut self) -> Duration {
        let micros = match self.world.random.below(8) {
            0 | 1 => 0..2_000,
            2 | 3 => 0..50_000,
            4 | 5 => 0..3_000_000,
            6 => 0..100_000_000,
            _ => 0..700_000_000,
        };
        self.world.random.span(&micros)
    }

    fn act(&mut self) {
        let total: u64 = self.acts.iter().map(|(_, weight)| weight).sum();
        let mut point = self.world.random.below(total);
        let mut chosen = Act::Spawn;
        for (act, weight) in &self.acts {
            chosen = *act;
            if point < *weight {
                break;
            }
            point -= weight;
        }
        self.carry_out(chosen);
    }

    fn carry_out(&mut self, act: Act) {
        match act {
            Act::Spawn => self.spawn(),
            Act::Stop => self.ask_about_somebody(Command::Stop),
            Act::Wake if self.is_fresh() => self.ask_about_somebody(Command::WakeFresh),
            Act::Wake => self.ask_about_somebody(Command::Wake),
            Act::Restart if self.is_fresh() => self.ask_about_somebody(Command::RestartFresh),
            Act::Restart => self.ask_about_somebody(Command::Restart),
            Act::Bury => {
                self.ask_about_somebody(|target| Command::Bury { target, summary: None });
            }
            Act::Set => self.set(),
            Act::Rename => self.rename(),
            Act::Report => self.agent_reports(),
            Act::Interfere => self.interfere(),
            Act::AnswerDialog => {
                if let Some(agent) = self.somebody() {
                    self.world.answer_dialog(agent);
                }
            }
            Act::StopAll => self.ask(Caller::Person, Command::StopAll),
            Act::Stranger => {
                let target = self.somebody().map(|id| id.to_string()).unwrap_or_default();
                self.ask(Caller::Viewer, Command::Stop(target));
            }
            Act::EndProgram => self.end_program(),
            Act::KillHolder => self.touch_holder(World::kill_shim),
            Act::HangHolder => self.touch_holder(World::hang_shim),
            Act::FreeHolder => self.touch_holder(World::free_shim),
            Act::CrashDaemon => {
                if let Some(life) = self.world.daemons.first().map(|daemon| daemon.life) {
                    self.world.crash_daemon(life);
                }
            }
            Act::StartDaemon => self.world.hop(Happening::DaemonStarts),
            Act::StopDaemon => {
                if let Some(life) = self.world.running().map(|daemon| daemon.life) {
                    self.world.reach(life, Input::Observed(Observation::Stopping));
                }
            }
            Act::RaceDaemons => self.world.race_daemons(),
            Act::Reboot => self.world.reboot(),
            Act::FillDisk => self.world.set_disk_full(true),
            Act::FreeDisk => self.world.set_disk_full(false),
            Act::DamageRecord => self.world.damage_a_record(),
            Act::Send => self.send(),
            Act::Unsend => {
                let ids = self.world.texts.typed();
                if let Some(id) = self.world.random.pick(&ids).copied() {
                    self.ask(Caller::Person, Command::Unsend { id });
                }
            }
            Act::Mail => self.mail(),
            Act::Task => self.task(),
            Act::Escalate => self.escalate(),
            Act::Clean => self.clean(),
            Act::Handoff => self.handoff(),
            Act::Draft => self.draft(),
            Act::SetClockBack => {
                let by = self.world.random.span(&(0..600_000_000));
                self.world.set_clock_back(by);
            }
            Act::JumpClock => {
                let by = self.world.random.span(&(0..30_000_000_000));
                self.world.jump(by);
            }
        }
    }

    fn draft(&mut self) {
        let has_draft = self.world.random.per_mille(500);
        if let Some(agent) = self.somebody() {
            self.world.touch_draft(agent, has_draft);
        }
    }

    fn ask(&mut self, caller: Caller, command: Command) {
        self.world.ask(caller, command);
    }

    fn somebody(&mut self) -> Option<AgentId> {
        let ids: Vec<AgentId> = self.world.ledger.record.agents().map(|agent| agent.id).collect();
        self.world.random.pick(&ids).copied()
    }

    fn name(&mut self) -> &'static str {
        self.world.random.pick(&NAMES).copied().unwrap_or(NAMES[0])
    }

    fn spawn(&mut self) {
        if self.world.ledger.record.agents().count() >= MOST_AGENTS {
            return;
        }
        let name = if self.world.random.per_mille(200) { None } else { self.name().parse().ok() };
        let restart = match self.world.random.below(4) {
            0 => Restart::Never,
            1 | 2 => Restart::OnCrash,
            _ => Restart::Always,
        };
        let parent = self.somebody().filter(|_| self.world.random.per_mille(400));
        let mut spawn = Spawn {
            id: self.world.new_agent(),
            name,
            role: self.role(),
            parent: parent.map(|id| id.to_string()),
            launch: launch("program"),
            restart,
            conversation: None,
            situations: Vec::new(),
        };
        if self.world.random.per_mille(self.harness_odds) {
            self.harness(&mut spawn);
        }
        self.ask(Caller::Person, Command::Spawn(Box::new(spawn)));
    }

    /// In worlds that have roles, mostly one that nobody had before: whose mail a role's is, others judge.
    fn role(&mut self) -> Option<RoleWanted> {
        if self.world.policy.roles.is_empty() || self.world.random.per_mille(200) {
            return None;
        }
        self.roles += 1;
        let span = self.world.random.pick(&Span::ALL)?.word();
        let name = format!("{span}-{}", self.roles).parse().ok()?;
        Some(RoleWanted { name, declared: None, sets_restart: false })
    }

    /// Makes it an agent CLI, with a prompt or not, with a conversation that is there or not.
    fn harness(&mut self, spawn: &mut Spawn) {
        spawn.launch.harness = HARNESS.into();
        spawn.launch.options.prompt = self.world.random.per_mille(500).then(|| "do it".into());
        if self.world.random.per_mille(700) {
            return;
        }
        let known: Vec<_> = self.world.machine.conversations.keys().cloned().collect();
        let conversation = self.world.random.pick(&known).cloned();
        spawn.conversation = match conversation.filter(|_| self.world.random.per_mille(700)) {
            Some(known) => Some(known),
            None => {
                let own = self.world.new_conversation();
                self.world.machine.conversations.entry(own.clone()).or_default();
                Some(own)
            }
        };
    }

    fn agent_reports(&mut self) {
        let phase = self.world.random.pick(&WorkPhase::ALL).copied();
        let Some(agent) = self.somebody() else { return };
        let command = match self.world.random.per_mille(100) {
            true => Command::Bury { target: agent.to_string(), summary: None },
            false => Command::Report { phase, summary: None },
        };
        self.ask(Caller::Agent(agent), command);
    }

    /// Whether the next session is to have a new conversation.
    fn is_fresh(&mut self) -> bool {
        self.world.random.per_mille(200)
    }

    /// Mostly an agent and somebody below it; else it has to be refused.
    fn interfere(&mut self) {
        let (Some(caller), Some(target)) = (self.somebody(), self.somebody()) else { return };
        let parent = self.world.ledger.record.agent(target).and_then(|agent| agent.parent);
        let caller = parent.filter(|_| self.world.random.per_mille(700)).unwrap_or(caller);
        let target = target.to_string();
        let command = match self.world.random.below(5) {
            0 | 1 => Command::Stop(target),
            2 => Command::Restart(target),
            _ => Command::Wake(target),
        };
        self.ask(Caller::Agent(caller), command);
    }

    fn ask_about_somebody(&mut self, command: fn(Target) -> Command) {
        let target = self.target();
        self.ask(Caller::Person, command(target));
    }

    fn set(&mut self) {
        let (target, parent) = (self.target(), self.target());
        let command = operator::drawn_set(&mut self.world.random, target, parent);
        self.ask(Caller::Person, command);
    }

    fn rename(&mut self) {
        let target = self.target();
        if let Ok(name) = self.name().parse() {
            self.ask(Caller::Person, Command::Rename { target, name });
        }
    }

    /// Somebody, or a name that may be nobody's.
    fn target(&mut self) -> Target {
        let by_name = self.world.random.per_mille(300);
        let somebody = self.somebody().map(|id| id.to_string());
        somebody.filter(|_| !by_name).unwrap_or_else(|| self.name().into())
    }

    fn end_program(&mut self) {
        let Some(agent) = self.somebody() else {
            return;
        };
        if let Some(number) = self.world.machine.alive(agent) {
            let exit = match self.world.random.below(3) {
                0 => Exit::Code(7),
                1 => Exit::KillSignal(9),
                _ => Exit::KillSignal(15),
            };
            self.world.program_ends(agent, number, exit);
        }
    }

    fn touch_holder(&mut self, touch: fn(&mut World, AgentId)) {
        let holders: Vec<AgentId> = self.world.machine.shims.keys().copied().collect();
        if let Some(agent) = self.world.random.pick(&holders).copied() {
            touch(&mut self.world, agent);
        }
    }
}

/// A bare command of this one word.
pub fn launch(word: &str) -> Launch {
    Launch {
        harness: BARE_COMMAND.into(),
        host: Host::Shim,
        argv: vec![word.into()],
        dir: "/".into(),
        env_names: Vec::new(),
        project: "/.git".into(),
        options: Options::default(),
    }
}
