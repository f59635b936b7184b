//! The simulated agent CLI: what a session of a harness does, and what it shows of that.
//!
//! It has one conversation at a time, which lies on the machine's disk and outlives every session.
//! What it shows comes by two ways, hooks and files that are watched; each keeps its order, and they
//! overtake each other. What no daemon hears is kept for the next one.

use std::time::Duration;

use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::event::{AgentEvent, Event};
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_core::observation::{Observation, Sign, Wait};
use perennial_core::session::Phase;
use perennial_core::time::Time;
use perennial_engine::supervisor::Input;

use crate::mutation::Mutation;
use crate::world::{Happening, World};

/// The context window of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    pub tokens: u64,
    /// The most that there were since it began.
    pub peak: u64,
}

/// What a session was prepared to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub opening: Opening,
    pub has_prompt: bool,
}

/// The CLI of one session.
#[derive(Debug, Clone)]
pub struct Cli {
    pub mode: Mode,
    /// Every conversation that it had, the current one last.
    pub conversations: Vec<ConversationId>,
    how: Followed,
    has_prompt: bool,
    /// How many more things it does by itself.
    acts: u64,
    hooks_until: Time,
    watched_until: Time,
    /// What the vendor's list has of it, and since when.
    listed: Option<(Option<Wait>, Time)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Starting,
    /// A first-run dialog: nothing happens until somebody answers it.
    Dialog,
    Idle,
    InTurn,
    /// In a turn, and nothing happens any more.
    Hung,
}

/// By which way a sign comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Hook,
    Watcher,
}

/// A sign on its way to a daemon.
#[derive(Debug, Clone)]
pub struct Shown {
    agent: AgentId,
    number: SessionNumber,
    way: Way,
    sign: Sign,
}

const WINDOW_TOKENS: u64 = 1000;
const USABLE_TOKENS: u64 = 800;
/// The watcher takes a silent turn for hanging after this, and looks again after `LOOK_AGAIN`.
const SILENT_FOR: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_secs(60);
const STEADY_PACE: Duration = Duration::from_millis(500);

impl Cli {
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversations.last()
    }
}

impl Window {
    fn grow(&mut self, tokens: u64) {
        self.tokens += tokens;
        self.peak = self.peak.max(self.tokens);
    }
}

/// What a status line says of so many tokens.
pub fn sample(tokens: u64) -> Sample {
    let (window, usable) = (WINDOW_TOKENS, USABLE_TOKENS);
    Sample { tokens, window, usable, source: Source::StatusLine }
}

impl World {
    /// The daemon's driver lays out what a session begins with; the first daemon's word stands.
    pub fn prepare(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        launch: &Launch,
        opening: &Opening,
    ) {
        let has_prompt = match opening {
            Opening::Bare => false,
            Opening::Fresh(_) => launch.options.prompt.is_some(),
            Opening::Resume { turn, .. } => *turn == Turn::Open,
        };
        let mut opening = opening.clone();
        if self.mutation == Some(Mutation::FreshAlways) && !launch.is_bare() {
            opening = Opening::Fresh(ConversationId::of(SessionId { agent, number }));
        }
        let session = self.machine.session(agent, number);
        session.prepared.get_or_insert(Prepared { opening, has_prompt });
    }

    /// The session's program is an agent CLI: it begins, or shows a dialog first.
    pub fn begin_cli(&mut self, agent: AgentId, number: SessionNumber) {
        self.check_opening_carried_out(agent, number);
        let Some(Prepared { opening, has_prompt }) =
            self.machine.session(agent, number).prepared.clone()
        else {
            return;
        };
        let (conversation, how) = match opening {
            Opening::Bare => return,
            Opening::Fresh(conversation) => (conversation, Followed::Started),
            Opening::Resume { conversation, .. } => (conversation, Followed::Resumed),
        };
        self.check_one_writer(agent, number, &conversation);
        let drawn = self.drawn_programs;
        let program = self.machine.session(agent, number).program;
        let is_silent = program.is_some_and(|program| program.is_silent);
        let dialog = is_silent || (drawn && self.random.per_mille(150));
        let acts = if drawn { self.random.within(0..16) } else { 0 };
        let mode = if dialog { Mode::Dialog } else { Mode::Starting };
        self.tell(|| format!("{}.{number} takes up {conversation}, {mode:?}", agent.0));
        self.machine.session(agent, number).cli = Some(Cli {
            mode,
            conversations: vec![conversation],
            how,
            has_prompt,
            acts,
            hooks_until: Time::default(),
            watched_until: Time::default(),
            listed: None,
        });
        self.act_soon(agent, number);
    }

    fn act_soon(&mut self, agent: AgentId, number: SessionNumber) {
        let span = if self.drawn_programs {
            let longest = if self.random.per_mille(500) { 2_000_000 } else { 40_000_000 };
            self.random.span(&(0..longest))
        } else {
            STEADY_PACE
        };
        self.after(span, Happening::CliActs { agent, number });
    }

    fn cli(&mut self, agent: AgentId, number: SessionNumber) -> Option<&mut Cli> {
        let session = self.machine.sessions.get_mut(&(agent, number))?;
        if session.is_alive() { session.cli.as_mut() } else { None }
    }

    /// The next thing that the CLI does by itself.
    pub fn cli_acts(&mut self, agent: AgentId, number: SessionNumber) {
        let drawn = self.drawn_programs;
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        let may_act = drawn && cli.acts > 0;
        cli.acts = cli.acts.saturating_sub(1);
        match cli.mode {
            Mode::Dialog | Mode::Hung => return,
            Mode::Starting => self.cli_begins(agent, number),
            Mode::Idle if !may_act => return,
            Mode::Idle => self.somebody_types(agent, number),
            Mode::InTurn if may_act => self.turn_goes_on(agent, number),
            Mode::InTurn => {
                self.works(agent, number, 10);
                self.waits(agent, number, Wait::Input);
            }
        }
        self.act_soon(agent, number);
    }

    fn cli_begins(&mut self, agent: AgentId, number: SessionNumber) {
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.mode = if cli.has_prompt { Mode::InTurn } else { Mode::Idle };
        let (how, is_idle) = (cli.how, cli.mode == Mode::Idle);
        self.list(agent, number, is_idle.then_some(Wait::Input));
        self.began(agent, number, how);
        self.measured(agent, number);
    }

    /// It says which conversation it has; the first word of all may get lost.
    fn began(&mut self, agent: AgentId, number: SessionNumber, how: Followed) {
        let Some(conversation) = self.cli(agent, number).and_then(|c| c.conversation().cloned())
        else {
            return;
        };
        self.machine.conversations.entry(conversation.clone()).or_default();
        let is_first = matches!(how, Followed::Started | Followed::Resumed);
        if is_first && self.random.per_mille(self.faults.began_lost_odds) {
            self.tell(|| format!("nobody hears that {}.{number} began", agent.0));
            self.ledger.is_blurred = true;
            return;
        }
        self.show(agent, number, Way::Hook, Sign::Began { conversation, how });
    }

    fn measured(&mut self, agent: AgentId, number: SessionNumber) {
        let conversation = self.cli(agent, number).and_then(|cli| cli.conversation().cloned());
        if let Some(window) = self.window(agent, number) {
            let sample = sample(window.tokens);
            self.show(agent, number, Way::Watcher, Sign::Measured { conversation, sample });
        }
    }

    /// The window that a session has now.
    fn window(&mut self, agent: AgentId, number: SessionNumber) -> Option<&mut Window> {
        let conversation = self.cli(agent, number)?.conversation()?.clone();
        Some(self.machine.conversations.entry(conversation).or_default())
    }

    fn somebody_types(&mut self, agent: AgentId, number: SessionNumber) {
        match self.random.below(8) {
            0 => self.moves_on(agent, number, Followed::Cleared),
            1 => self.moves_on(agent, number, Followed::Forked),
            2 => self.compacts(agent, number),
            _ => self.prompted(agent, number),
        }
    }

    fn prompted(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some(cli) = self.cli(agent, number) {
            cli.mode = Mode::InTurn;
            self.show(agent, number, Way::Hook, Sign::TurnBegan);
            self.listed(agent, number, None);
        }
    }

    /// The vendor's list of sessions has another line, which somebody watches.
    fn listed(&mut self, agent: AgentId, number: SessionNumber, wait: Option<Wait>) {
        self.list(agent, number, wait);
        self.look_up(agent, number);
    }

    fn list(&mut self, agent: AgentId, number: SessionNumber, wait: Option<Wait>) {
        let since = self.now;
        if let Some(cli) = self.cli(agent, number) {
            cli.listed = Some((wait, since));
        }
    }

    fn look_up(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some((wait, since)) = self.cli(agent, number).and_then(|cli| cli.listed) {
            self.show(agent, number, Way::Watcher, Sign::Listed { wait, since });
        }
    }

    /// Another conversation from here on: empty, or a copy of the one before.
    fn moves_on(&mut self, agent: AgentId, number: SessionNumber, how: Followed) {
        let conversation = self.new_conversation();
        let old = self.window(agent, number).map(|window| *window);
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.conversations.push(conversation);
        if let (Some(old), Some(new)) = (old, self.window(agent, number))
            && !how.begins_a_window()
        {
            *new = old;
        }
        self.began(agent, number, how);
        self.measured(agent, number);
    }

    /// Both ways tell of it, in any order.
    fn compacts(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some(window) = self.window(agent, number) {
            let tokens = window.tokens / 10;
            *window = Window { tokens, peak: tokens };
            self.show(agent, number, Way::Watcher, Sign::Compacted);
            self.began(agent, number, Followed::Compacted);
            self.measured(agent, number);
        }
    }

    fn turn_goes_on(&mut self, agent: AgentId, number: SessionNumber) {
        let reset = self.now + Duration::from_secs(self.random.below(7200));
        match self.random.below(16) {
            0 => {
                if let Some(cli) = self.cli(agent, number) {
                    cli.mode = Mode::Hung;
                    self.after(SILENT_FOR, Happening::WatcherLooks { agent, number });
                }
            }
            1 => self.waits(agent, number, Wait::Permission),
            2 => self.waits(agent, number, Wait::Answer),
            3 => self.waits(agent, number, Wait::RateLimit(Some(reset))),
            4 => self.waits(agent, number, Wait::LimitReached(None)),
            5 => self.waits(agent, number, Wait::Failure),
            6 => self.waits(agent, number, Wait::Input),
            7 => self.interrupted(agent, number),
            _ => {
                let tokens = self.random.within(0..400);
                self.works(agent, number, tokens);
            }
        }
    }

    fn works(&mut self, agent: AgentId, number: SessionNumber, tokens: u64) {
        let Some(window) = self.window(agent, number) else {
            return;
        };
        window.grow(tokens);
        let is_full = window.tokens > USABLE_TOKENS;
        self.show(agent, number, Way::Watcher, Sign::Progressed);
        self.measured(agent, number);
        if is_full {
            self.compacts(agent, number);
        }
    }

    fn waits(&mut self, agent: AgentId, number: SessionNumber, wait: Wait) {
        if let Some(cli) = self.cli(agent, number) {
            cli.mode = Mode::Idle;
            self.show(agent, number, Way::Hook, Sign::Waits(wait));
            let wait = match wait {
                Wait::Input | Wait::Permission | Wait::Answer => wait,
                Wait::RateLimit(_) | Wait::LimitReached(_) | Wait::Failure => Wait::Input,
            };
            self.listed(agent, number, Some(wait));
        }
    }

    /// Somebody presses Esc: no hook is called.
    fn interrupted(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some(cli) = self.cli(agent, number) {
            cli.mode = Mode::Idle;
            self.listed(agent, number, Some(Wait::Input));
        }
    }

    pub fn new_conversation(&mut self) -> ConversationId {
        self.machine.conversation_count += 1;
        let id = format!("talk-{}", self.machine.conversation_count);
        id.parse().expect("letters and digits")
    }

    /// Somebody attaches and answers the dialog.
    pub fn answer_dialog(&mut self, agent: AgentId) {
        let Some(number) = self.machine.alive(agent) else {
            return;
        };
        if let Some(cli) = self.cli(agent, number).filter(|cli| cli.mode == Mode::Dialog) {
            cli.mode = Mode::Starting;
            self.tell(|| format!("somebody answers the dialog of {}.{number}", agent.0));
            self.act_soon(agent, number);
        }
    }

    /// Somebody has a turn with every CLI that waits, so that all end it in the same way.
    pub fn prompt_everybody(&mut self) {
        let sessions: Vec<_> = self.machine.sessions.keys().copied().collect();
        for (agent, number) in sessions {
            if self.cli(agent, number).is_some_and(|cli| cli.mode == Mode::Idle) {
                self.prompted(agent, number);
                self.act_soon(agent, number);
            }
        }
    }

    /// The daemon's watcher looks at a silent turn; without a daemon nobody does.
    pub fn watcher_looks(&mut self, agent: AgentId, number: SessionNumber) {
        if self.cli(agent, number).is_some_and(|cli| cli.mode == Mode::Hung) {
            if self.running().is_some() {
                self.show(agent, number, Way::Watcher, Sign::Hangs);
            }
            self.after(LOOK_AGAIN, Happening::WatcherLooks { agent, number });
        }
    }

    /// A sign on its way, after those that went the same way before it.
    fn show(&mut self, agent: AgentId, number: SessionNumber, way: Way, sign: Sign) {
        self.tell(|| format!("{}.{number} shows {sign:?}", agent.0));
        let late = self.random.per_mille(self.faults.late_odds);
        let micros = if late { &self.faults.late_micros } else { &self.faults.hop_micros };
        let micros = micros.clone();
        let (now, span) = (self.now, self.random.span(&micros));
        let Some(cli) = self.machine.session(agent, number).cli.as_mut() else {
            return;
        };
        let until = match way {
            Way::Hook => &mut cli.hooks_until,
            Way::Watcher => &mut cli.watched_until,
        };
        *until = (now + span).max(*until);
        let span = until.since(now);
        let missed = Shown { agent, number, way, sign };
        if self.random.per_mille(self.faults.duplicate_odds) {
            self.after(span, Happening::Shows(missed.clone()));
        }
        self.after(span, Happening::Shows(missed));
    }

    /// A sign arrives: a daemon hears it, or it is kept for the next one.
    pub fn shows(&mut self, shown: Shown) {
        let Some(daemon) = self.running() else {
            self.machine.missed.push(shown);
            return;
        };
        let Shown { agent, number, way, sign } = shown;
        let life = daemon.life;
        let known = daemon.supervisor.fleet().agent(agent);
        let untold = known.and_then(|agent| agent.clock.untold());
        // The answer to such a hook reaches the model.
        let told = untold.filter(|_| sign == Sign::TurnBegan || sign == Sign::Progressed);
        let is_live = known.and_then(|agent| agent.live_session()).is_some_and(|session| {
            session.number == number && matches!(session.phase, Phase::Starting | Phase::Running)
        });
        // It came after the end of its session, or beside it, and may say nothing any more.
        let is_late = !is_live || daemon.unrecorded().any(|event| is_end(event, agent));
        self.ledger.is_blurred |= is_late;
        let observation = Observation::Harness { agent, number, sign };
        self.reach(life, Input::Observed(observation));
        if let Some(threshold) = told {
            let sign = Sign::Told(threshold);
            self.hop(Happening::Shows(Shown { agent, number, way, sign }));
        }
    }

    /// A daemon that has begun to run reads what was missed, and looks at what lies in files.
    pub fn hear_missed(&mut self) {
        let Some(life) = self.running().map(|daemon| daemon.life) else {
            return;
        };
        if self.machine.looked_by.replace(life) == Some(life) {
            return;
        }
        let hop = Duration::from_micros(self.faults.hop_micros.start);
        for missed in std::mem::take(&mut self.machine.missed) {
            self.after(hop, Happening::Shows(missed));
        }
        let sessions: Vec<_> = self.machine.sessions.keys().copied().collect();
        for (agent, number) in sessions {
            let begun = |cli: &mut Cli| !matches!(cli.mode, Mode::Starting | Mode::Dialog);
            if self.cli(agent, number).is_some_and(begun) {
                self.measured(agent, number);
                self.look_up(agent, number);
            }
        }
    }
}

fn is_end(event: &Event, agent: AgentId) -> bool {
    let Some((id, event)) = event.of_agent() else { return false };
    let ends = matches!(event, AgentEvent::SessionEnding { .. } | AgentEvent::SessionEnded { .. });
    ends && id == agent
}
