//! The simulated agent CLI: what a session of a harness does, and what it shows of that.
//!
//! It has one conversation at a time, whose window and transcript lie on the machine's disk and outlive
//! every session. How what it shows reaches a daemon is in `facts`.

use std::time::Duration;

use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::fact::{CallName, Fact, Failure, Listed, Origin, Seen};
use perennial_core::id::{AgentId, MessageId, SessionId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;

use crate::facts::{HOOK_WAITS, Way};
use crate::mutation::Mutation;
use crate::pauses::Pause;
use crate::typing::Prompt;
use crate::world::{Happening, World};

/// The context window of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    pub tokens: u64,
    /// The most that there were since it began.
    pub peak: u64,
    /// How often a window began in the conversation, after its first.
    pub begun: u64,
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
    /// A dialog asks something in the middle of a turn.
    pub asks: bool,
    pub has_draft: bool,
    /// Its turn began with what was queued.
    pub is_from_queue: bool,
    /// What was entered and not read yet; what was read and waits for the model; what the model has
    /// and no line of the transcript.
    pub line: Option<Prompt>,
    pub queue: Vec<Prompt>,
    pub unwritten: Vec<Prompt>,
    /// A hook is waited for until then.
    hook_until: Time,
    /// A model call that met a rate limit is made again then.
    pub retries_at: Time,
    /// Every conversation that it had, the current one last.
    pub conversations: Vec<ConversationId>,
    how: Followed,
    has_prompt: bool,
    /// How many more things it does by itself.
    acts: u64,
    pub hooks_until: Time,
    pub watched_until: Time,
    /// What the vendor's list has of it, and since when.
    pub listed: Option<(Listed, Time)>,
    /// Its tool calls, by which they are named.
    calls: u64,
    /// When it last did anything.
    active_at: Time,
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

const WINDOW_TOKENS: u64 = 1000;
const USABLE_TOKENS: u64 = 800;
/// The watcher takes a silent turn for hanging after this, and looks again after `LOOK_AGAIN`.
pub const SILENT_FOR: Duration = Duration::from_secs(300);
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

/// What a status line says of this number of tokens.
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
            Opening::Anew { .. } => true,
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
            Opening::Fresh(conversation) | Opening::Anew { conversation, .. } => {
                (conversation, Followed::Started)
            }
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
            asks: false,
            has_draft: false,
            is_from_queue: false,
            line: None,
            queue: Vec::new(),
            unwritten: Vec::new(),
            hook_until: Time::default(),
            retries_at: Time::default(),
            conversations: vec![conversation],
            how,
            has_prompt,
            acts,
            hooks_until: Time::default(),
            watched_until: Time::default(),
            listed: None,
            calls: 0,
            active_at: self.now,
        });
        self.act_soon(agent, number);
    }

    pub fn act_soon(&mut self, agent: AgentId, number: SessionNumber) {
        let span = if self.drawn_programs {
            let longest = if self.random.per_mille(500) { 2_000_000 } else { 40_000_000 };
            self.random.span(&(0..longest))
        } else {
            STEADY_PACE
        };
        self.after(span, Happening::CliActs { agent, number });
    }

    pub fn cli(&mut self, agent: AgentId, number: SessionNumber) -> Option<&mut Cli> {
        let session = self.machine.sessions.get_mut(&(agent, number))?;
        if session.is_alive() { session.cli.as_mut() } else { None }
    }

    /// The next thing that the CLI does by itself.
    pub fn cli_acts(&mut self, agent: AgentId, number: SessionNumber) {
        let (drawn, now) = (self.drawn_programs, self.now);
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        // The harness goes on when its hook is answered, or no longer waited for, and the limit over.
        let goes_on = cli.hook_until.max(cli.retries_at);
        if let Some(span) = Some(goes_on.since(now)).filter(|span| !span.is_zero()) {
            self.after(span, Happening::CliActs { agent, number });
            return;
        }
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
                self.waits(agent, number, Pause::Input);
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
        // The list begins with it, whatever there is to do.
        self.list(agent, number, Listed::Idle);
        self.began(agent, number, how);
        self.measured(agent, number);
        if !is_idle {
            self.prompted(agent, number);
        }
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
        let began = Fact::new(Origin::Hook, Seen::SessionBegan(how));
        self.show_dated(agent, number, began.within(Some(conversation)));
    }

    /// A hook is called, or the status line drawn: by a program of ours, which dates it.
    fn show_dated(&mut self, agent: AgentId, number: SessionNumber, fact: Fact) {
        let date = self.now.before(self.machine.behind);
        self.show(agent, number, Way::Hook, fact.at(Some(date)));
    }

    /// The status line is drawn.
    pub fn measured(&mut self, agent: AgentId, number: SessionNumber) {
        let conversation = self.cli(agent, number).and_then(|cli| cli.conversation().cloned());
        if let Some(window) = self.window(agent, number) {
            let sample = Some(sample(window.tokens));
            let drawn = Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample });
            self.show_dated(agent, number, drawn.within(conversation));
        }
    }

    /// A hook is called in the turn that runs.
    pub fn call(&mut self, agent: AgentId, number: SessionNumber, seen: Seen, is_answerable: bool) {
        self.call_mentioning(agent, number, (seen, Vec::new()), is_answerable);
    }

    /// The same for a prompt in which these ids stand.
    pub fn call_mentioning(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        (seen, mentions): (Seen, Vec<MessageId>),
        is_answerable: bool,
    ) {
        let now = self.now;
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.active_at = now;
        if is_answerable {
            cli.hook_until = now + HOOK_WAITS;
        }
        let conversation = cli.conversation().cloned();
        let may_go_on = matches!(seen, Seen::ReplyEnded { .. });
        let fact = Fact::new(Origin::Hook, seen);
        let fact = Fact { conversation, is_answerable, may_go_on, mentions, ..fact };
        self.show_dated(agent, number, fact);
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
        if self.begins_turn(agent, number) {
            let text = Fingerprint([0; 32]);
            self.call(agent, number, Seen::PromptSubmitted { text }, true);
            self.write(agent, number, Seen::Prompt { text });
            self.listed(agent, number, Listed::Busy);
        }
    }

    /// Whether there is a CLI that could begin one.
    pub fn begins_turn(&mut self, agent: AgentId, number: SessionNumber) -> bool {
        self.write_lines(agent, number);
        let Some(cli) = self.cli(agent, number) else { return false };
        (cli.mode, cli.asks, cli.is_from_queue) = (Mode::InTurn, false, false);
        true
    }

    /// The vendor's list of sessions has another line, which somebody watches.
    pub fn listed(&mut self, agent: AgentId, number: SessionNumber, listed: Listed) {
        self.list(agent, number, listed);
        self.look_up(agent, number);
    }

    fn list(&mut self, agent: AgentId, number: SessionNumber, listed: Listed) {
        let since = self.now.before(self.machine.behind);
        if let Some(cli) = self.cli(agent, number) {
            cli.listed = Some((listed, since));
        }
    }

    pub fn look_up(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some((listed, since)) = self.cli(agent, number).and_then(|cli| cli.listed) {
            let fact = Fact::new(Origin::List, Seen::Listed(listed)).at(Some(since));
            self.show(agent, number, Way::Watcher, fact);
        }
    }

    /// Another conversation from here on: empty, or a copy of the one before.
    fn moves_on(&mut self, agent: AgentId, number: SessionNumber, how: Followed) {
        self.write_lines(agent, number);
        let conversation = self.new_conversation();
        let old = self.window(agent, number).map(|window| *window);
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.conversations.push(conversation);
        if let (Some(old), Some(new)) = (old, self.window(agent, number)) {
            let begun = u64::from(how.begins_a_window());
            *new = if how.begins_a_window() { Window { begun, ..*new } } else { old };
        }
        self.began(agent, number, how);
        self.measured(agent, number);
    }

    /// Both ways tell of it, in any order.
    fn compacts(&mut self, agent: AgentId, number: SessionNumber) {
        if let Some(window) = self.window(agent, number) {
            let tokens = window.tokens / 10;
            *window = Window { tokens, peak: tokens, begun: window.begun + 1 };
            self.call(agent, number, Seen::CompactionAnnounced { is_certain: true }, false);
            self.write(agent, number, Seen::Compacted);
            self.began(agent, number, Followed::Compacted);
            self.measured(agent, number);
        }
    }

    fn turn_goes_on(&mut self, agent: AgentId, number: SessionNumber) {
        let until = Some(self.now + Duration::from_secs(self.random.below(7200)));
        let limit = |until| Pause::Failure(Failure::RateLimit { until });
        let odds = self.faults.hang_odds;
        let chance = if odds > 0 && self.random.per_mille(odds) { 1 } else { 17 };
        match self.random.below(chance) {
            0 if self.cli(agent, number).is_some_and(|cli| !cli.is_from_queue) => {
                self.write_lines(agent, number);
                if let Some(cli) = self.cli(agent, number) {
                    cli.mode = Mode::Hung;
                    self.after(SILENT_FOR, Happening::WatcherLooks { agent, number });
                }
            }
            1 => self.waits(agent, number, Pause::Permission),
            2 => self.waits(agent, number, Pause::Answer),
            3 => self.waits(agent, number, limit(until)),
            4 => self.retries(agent, number),
            5 => self.waits(agent, number, Pause::Failure(Failure::Refused)),
            6 => self.waits(agent, number, Pause::Input),
            7 => self.waits(agent, number, Pause::Background),
            8 => self.interrupted(agent, number),
            _ => {
                let tokens = self.random.within(0..400);
                self.works(agent, number, tokens);
            }
        }
    }

    /// Some tools at once, which all answer.
    fn works(&mut self, agent: AgentId, number: SessionNumber, tokens: u64) {
        let Some(window) = self.window(agent, number) else {
            return;
        };
        window.grow(tokens);
        let is_full = window.tokens > USABLE_TOKENS;
        let count = self.random.within(1..12);
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        cli.calls += count;
        let last = cli.calls;
        let name = |call: u64| CallName(format!("{number}-{call}"));
        let calls: Vec<CallName> = (last - count..last).map(name).collect();
        self.write(agent, number, Seen::Answered);
        calls.iter().for_each(|call| self.write(agent, number, Seen::ToolCalled(call.clone())));
        calls.iter().for_each(|call| self.write(agent, number, Seen::ToolAnswered(call.clone())));
        self.absorb(agent, number);
        self.call(agent, number, Seen::ToolsFinished { calls, in_subagent: false }, true);
        self.measured(agent, number);
        if is_full {
            self.compacts(agent, number);
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

    /// The daemon's reader measures a silence; without a daemon nobody does.
    pub fn watcher_looks(&mut self, agent: AgentId, number: SessionNumber) {
        let now = self.now;
        let hung = self.cli(agent, number).filter(|cli| cli.mode == Mode::Hung);
        if let Some(lasted) = hung.map(|cli| now.since(cli.active_at)) {
            if self.running().is_some() {
                let silence = Seen::Silence { lasted, received: Some(lasted) };
                self.show(agent, number, Way::Watcher, Fact::new(Origin::Kernel, silence));
            }
            self.after(LOOK_AGAIN, Happening::WatcherLooks { agent, number });
        }
    }
}
