//! What is concluded from the facts of one session: signs for the agent's life, and what its model
//! is to be told.
//!
//! Pure: no clock, no I/O. Facts arrive late, doubled, out of order, or not at all. What must not
//! depend on their order is kept as the latest time of its kind, or as a set of names.
//!
//! Never ends or moves anything by itself: a sign is weighed in `agent`.
//!
//! Invariants
//! - H1  A fact of another session's number says nothing.
//! - H2  A fact that is heard again changes nothing and tells nothing.
//! - H3  A step of the transcript ends a turn only if it is later than the turn's last prompt, the
//!   model's last word, and the state that it would change; and only once all of the transcript is read.
//! - H4  An agent that waits for a rate limit or after a failure stays so when its CLI reports it idle. Only
//!   a turn, or idleness that began after the limit ended, changes that.
//! - H5  While tasks run in the background and no turn has begun, a report that the agent is idle says
//!   nothing, and its session does not count as hung.
//! - H6  A tool call counts once, by its name, whoever tells of it. A reminder is due with every
//!   `REMINDER_CALLS` of them, and given once.
//! - H7  After a compaction, figures say nothing until the model has spoken; nor does a status line that
//!   was drawn before that turn, whenever it is heard. It is a sign of life all the same.
//! - H8  A worse source than the session has had measures nothing.
//! - H9  A compaction begins a window once, whoever tells of it. A transcript that is read decides: a
//!   hook may be late or doubled, and only has figures wait until the transcript was read. Without
//!   one the hook's word counts: the same date is the same compaction, and two of them have a word of
//!   the model between them.
//! - H10 A listing as idle says nothing before the session's first prompt, since lists begin with it; nor
//!   does one that dates from before the session's last prompt.
//! - H11 A session hangs if it is in a turn, no tool call is open, and neither it nor its connections
//!   were heard for the limit.
//! - H12 After a restart no reminder is given before the transcript has been read again: it may hold
//!   what the daemon before had given. Nor is the list believed before that.
//! - H13 A hook that was called before the last prompt, and is heard after it, says nothing of the turn.
//!   Tools that finished before a turn's end, and are heard of after it, begin none.
//! - H14 A transcript tells what a live session has not taken only while hooks name its conversation.
//! - H15 A prompt ends no dialog: it is queued. What ends one is later than its question: tools that
//!   finish, a turn that ends, a list that says busy. A list that says what is asked is believed against
//!   a prompt, and not against a later word of the model.
//! - H16 When an agent's state becomes unknown while its session runs (a hold that hid it was lifted), the
//!   last sign that was heard of its turn is given again.
//! - H17 What a program announces in its terminal is a listing like that of a vendor's list, and besides a
//!   sign of life: of a program that announces nothing before its input line is drawn.
//! - H18 A turn that is over without a word of how it ended waits for input once the transcript was read to
//!   its end; what the transcript says of its end counts first.
//! - H19 The model is told who it is with the first reply that reaches it, in each session and window.
//! - H20 A turn whose end was answered with a text goes on, until it ends again.
//! - H21 A program may announce that it is busy across the end of a turn, while something that the turn left
//!   running runs. A turn that was broken off is over all the same, and the next prompt in the transcript
//!   begins one, without another announcement.
//! - H22 A prompt that a hook of the user's blocks is over, whichever is dated first: that, or our own hook for
//!   the same prompt, which the program calls at the same time and does not wait for.
//! - H23 A prompt that is sent in a turn is queued. What is given in reply to its hook goes with it, later, and no
//!   word of the model's says whether it was taken; so nothing is given there.
//! - H24 A compaction is a symptom once: when it is announced, or when it has come about unannounced. An announcement that
//!   the harness makes before every call counts once in a window, if that is measured to be used up.
//! - H25 Words count in the session and in the window that they were said in. What an agent says of itself is weighed with
//!   the figures that are known, and with the first that follow. Words that are read again are low at most.
//! - H26 What hooks said while no daemon heard them is kept, and the next daemon hears it with its dates: a session
//!   that began meanwhile is alive, and a turn that ended meanwhile is over. Nothing is given in reply, and the input
//!   line is taken for drawn. What is not later than the recorded state says nothing, unless nothing was heard of the
//!   session before.

mod follow;
mod line;
mod measure;
mod plan;
mod reading;
mod recall;
mod sessions;
mod silence;
mod symptom;
mod tell;
mod turn;
mod unheard;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::agent::Agent;
use crate::context::{Sample, Source, Threshold};
use crate::conversation::{ConversationId, Followed};
use crate::fact::{CallName, Fact, Failure, Listed, Origin, Seen};
use crate::id::SessionNumber;
use crate::observation::{Sign, Wait};
use crate::reason::Reason;
use crate::text::Fingerprint;
use crate::time::Time;

pub use line::{Focus, Obstacle, Suspension, focus, frees_line};
pub use plan::plan;
pub use reading::{READ_AGAIN_AFTER, READ_COMPACTION_FOR, READ_LEFT_FOR, is_settled};
pub use sessions::Hearings;
pub use silence::{Limits, SILENT_AFTER};
pub use tell::{REMINDER_CALLS, Tell, reminder_mark};
use turn::{Blocked, End};
pub use unheard::unheard;

/// What is kept of a session for the next daemon: the latest, written about once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    pub sample: Option<(Sample, Time)>,
    /// How many tool calls this session had when it was last reminded.
    pub reminded: Option<(SessionNumber, u64)>,
}

/// What follows from a fact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// In their order.
    pub signs: Vec<Sign>,
    /// To be told to the model in reply.
    pub tell: Vec<Tell>,
    /// Its turn has been silent for so long that a person may want to know.
    pub silence: Option<Duration>,
}

/// What is known of one session beside its agent's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hearing {
    number: SessionNumber,
    /// The latest prompt, or the session's beginning.
    turn_at: Time,
    /// When the hooks for the last prompt and for the last end of a turn were called.
    prompt_called_at: Time,
    end_called_at: Time,
    /// The same for the last tool calls that finished.
    tools_called_at: Time,
    /// When the last dialog asked what it asks.
    asked_at: Option<Time>,
    /// The latest evidence that the model spoke.
    spoke_at: Time,
    /// The last answer of the model in the transcript, in the order that it stands there.
    answer_at: Time,
    /// The latest step of the transcript that ends a turn.
    end: Option<(Time, End)>,
    /// When a turn was over of which the transcript has not told how it ended.
    over_at: Option<Time>,
    /// Tools that were called and have not answered.
    open_calls: BTreeSet<CallName>,
    /// How many tools run of which no name is known.
    running_calls: u32,
    /// Tools that have answered in this session.
    answered: BTreeSet<CallName>,
    reminded: u64,
    /// The model was told who it is, since the session or the window began.
    is_briefed: bool,
    /// How the window began that it was not yet told in.
    owed: Option<Followed>,
    /// That ran on when the model's last reply was over, until the next turn.
    background_tasks: u32,
    compacted_at: Time,
    /// When the window began, where a hook of this session told of that. The record has when it was
    /// heard.
    window_from: Option<Time>,
    /// The turn of the first answer after the last compaction, or the window's beginning: figures count
    /// from there. The status line may be drawn before the answer is dated.
    figures_from: Time,
    /// The last compaction that a hook reported.
    compaction_told_at: Time,
    /// In the transcript no answer stands after the last compaction.
    is_just_compacted: bool,
    /// A hook reported a compaction that is not in the transcript yet.
    is_compaction_hinted: bool,
    /// Steps of a transcript were heard in this session.
    has_transcript: bool,
    sample: Option<(Sample, Time)>,
    /// What a status line showed, and when it was drawn, before the answer was read that it waits for.
    held_sample: Option<(Sample, Time)>,
    /// The best source that this session has had.
    best: Option<Source>,
    model: Option<String>,
    line: line::Line,
    /// The latest evidence of a prompt in this session.
    prompt_at: Option<Time>,
    /// When the program last said that it took a prompt, and which.
    submitted_at: Option<Time>,
    submitted: Option<Fingerprint>,
    /// The last prompt that was blocked.
    blocked: Option<Blocked>,
    is_caught_up: bool,
    /// What the list had before the transcript had been read again.
    held_listing: Option<(Listed, Time)>,
    /// The program announced last that it is busy.
    announces_busy: bool,
    /// The latest that the list had, and the latest that anything else told of the turn.
    listing: Option<(Listed, Time)>,
    told: Option<(Time, Sign)>,
    heard_at: Time,
    is_warned: bool,
    /// The share of the usable window that was used when the turn began, and whether the turn was told to be large.
    turn_base: u64,
    is_large_told: bool,
    /// When the agent last said that its window is running out, until figures follow.
    said_at: Option<Time>,
    /// When a compaction was announced that is ahead.
    announced_at: Option<Time>,
    /// The conversation that the hook named which was called last.
    named: Option<(Time, ConversationId)>,
    /// A conversation that a hook named before anything told how the session came there, and what the
    /// clock had passed by then.
    unexplained: Option<(ConversationId, Option<Threshold>)>,
    /// The last one of which a hook told how the session came there.
    explained: Option<ConversationId>,
}

impl Hearing {
    /// For a session that begins; the window goes on from the session before, if there is one.
    pub fn begin(number: SessionNumber, before: Option<&Hearing>) -> Hearing {
        Hearing {
            number,
            turn_at: Time::default(),
            prompt_called_at: Time::default(),
            end_called_at: Time::default(),
            tools_called_at: Time::default(),
            asked_at: None,
            spoke_at: Time::default(),
            // What was read of the transcript is not read again.
            answer_at: before.map(|before| before.answer_at).unwrap_or_default(),
            end: None,
            over_at: None,
            open_calls: BTreeSet::new(),
            running_calls: 0,
            answered: BTreeSet::new(),
            reminded: 0,
            is_briefed: false,
            owed: None,
            background_tasks: 0,
            compacted_at: Time::default(),
            window_from: None,
            figures_from: Time::default(),
            compaction_told_at: Time::default(),
            is_just_compacted: false,
            is_compaction_hinted: false,
            has_transcript: false,
            sample: before.and_then(|before| before.sample),
            held_sample: None,
            best: None,
            model: before.and_then(|before| before.model.clone()),
            line: line::Line::default(),
            prompt_at: None,
            submitted_at: None,
            submitted: None,
            blocked: None,
            is_caught_up: true,
            held_listing: None,
            announces_busy: false,
            listing: None,
            told: None,
            heard_at: Time::default(),
            is_warned: false,
            turn_base: 0,
            is_large_told: false,
            said_at: None,
            announced_at: None,
            named: None,
            unexplained: None,
            explained: None,
        }
    }

    /// For a session that an earlier daemon heard: from the agent's record and from what was kept.
    /// The transcript, read again, brings it up to date. The last reminder that is recorded for it
    /// came after this number of tool calls.
    pub fn resume(agent: &Agent, kept: Kept, recorded: u64) -> Option<Hearing> {
        let session = agent.session.as_ref()?;
        let window_at = agent.clock.since.unwrap_or_default();
        let sample = kept.sample.filter(|(_, at)| *at > window_at);
        let sample = sample.map(|(sample, at)| (sample.bounded(), at));
        let reminded = kept.reminded.filter(|(number, _)| *number == session.number);
        let reminded = reminded.map_or(0, |(_, calls)| calls).max(recorded);
        Some(Hearing {
            turn_at: session.started_at.unwrap_or(agent.since),
            reminded,
            // H19, H26: one that nobody has heard was told nothing.
            is_briefed: session.has_announced,
            asked_at: turn::asks(agent).then_some(agent.since),
            background_tasks: u32::from(agent.reason == Reason::BackgroundTasks),
            figures_from: window_at,
            compaction_told_at: window_at,
            best: sample.map(|(sample, _)| sample.source),
            turn_base: sample.map_or(0, |(sample, _)| sample.usable_percent()),
            sample,
            is_caught_up: false,
            ..Hearing::begin(session.number, None)
        })
    }

    pub fn number(&self) -> SessionNumber {
        self.number
    }

    pub fn sample(&self) -> Option<(Sample, Time)> {
        self.sample
    }

    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Finished tool calls of the main loop.
    pub fn tool_calls(&self) -> u64 {
        self.answered.len() as u64
    }

    /// What the next daemon needs and no event or file has.
    pub fn kept(&self) -> Kept {
        let reminded = Some((self.number, self.reminded)).filter(|(_, calls)| *calls > 0);
        Kept { sample: self.sample, reminded }
    }

    /// Takes a fact of this session in. `agent` is the record as it stands, with all that was
    /// concluded before.
    pub fn hear(&mut self, agent: &Agent, fact: &Fact, limits: Limits, now: Time) -> Heard {
        let at = dated(fact, now);
        if self.is_over(fact, at) {
            let signs = self.outlived(agent, fact, at).into_iter().collect();
            return Heard { signs, ..Heard::default() };
        }
        let is_step = !matches!(fact.seen, Seen::CaughtUp | Seen::Settled | Seen::Measured { .. });
        let is_voice = match fact.origin {
            Origin::Hook | Origin::StatusLine | Origin::List | Origin::Agent => true,
            // What is in the window is measured anew with every look, whether or not anything was written.
            Origin::Transcript => !fact.is_old && is_step,
            Origin::Terminal => matches!(fact.seen, Seen::Listed(_)),
            Origin::Kernel | Origin::Git => false,
        };
        if is_voice {
            (self.heard_at, self.is_warned) = (self.heard_at.max(now), false);
        }
        self.has_transcript |= fact.origin == Origin::Transcript && is_step;
        if let Some(named) = fact.conversation.as_ref().filter(|_| fact.origin == Origin::Hook) {
            self.names(named, at);
        }
        let mut heard = Heard::default();
        let followed = follow::follow(agent, fact);
        if let Some(Sign::Began { conversation, .. }) = &followed
            && self.explained.as_ref() != Some(conversation)
        {
            self.unexplained = Some((conversation.clone(), agent.clock.passed));
        }
        if let Some(Sign::Began { how, .. }) = &followed
            && how.begins_a_window()
        {
            (self.sample, self.window_from) = (None, Some(at));
        }
        heard.signs.extend(followed);
        let before = (self.turn_at, self.used());
        heard.signs.extend(self.symptom(agent, fact, at));
        self.take(agent, fact, limits, at, now, &mut heard);
        heard.signs.extend(self.large_turn(before));
        heard.signs.extend(self.weighed(&heard.signs, at));
        if fact.is_answerable {
            self.tell(fact, &mut heard);
        } else if let Seen::SessionBegan(how) = fact.seen {
            self.owes_briefing(how);
        }
        self.remember(agent, fact, at, &mut heard);
        heard
    }

    fn take(
        &mut self,
        agent: &Agent,
        fact: &Fact,
        limits: Limits,
        at: Time,
        now: Time,
        heard: &mut Heard,
    ) {
        let is_own = self.is_own(agent, fact);
        match &fact.seen {
            Seen::SessionBegan(how) => self.began(agent, fact, *how, at, now, heard),
            Seen::PromptSubmitted { text } => self.submitted(agent, *text, at, now, heard),
            Seen::ToolBegan => self.running_calls = self.running_calls.saturating_add(1),
            Seen::ToolsFinished { in_subagent: true, .. } => heard.signs.push(Sign::Progressed),
            Seen::ToolsFinished { calls, in_subagent: false } => {
                self.finished(agent, calls, at, heard);
            }
            Seen::PermissionAsked { .. } => heard.signs.push(self.asked(Wait::Permission, at)),
            Seen::QuestionAsked => heard.signs.push(self.asked(Wait::Answer, at)),
            Seen::IdleTold => heard.signs.extend(self.idle_told(agent, now)),
            Seen::ReplyEnded { background_tasks } => {
                heard.signs.push(self.replied(*background_tasks, at));
            }
            Seen::TurnOver => self.over(at),
            Seen::TurnGoesOn => heard.signs.push(self.goes_on(at)),
            Seen::CallFailed(failure) => {
                heard.signs.extend(self.call_failed(fact.origin, *failure, is_own, at));
            }
            Seen::Interrupted => heard.signs.extend(self.was_stopped(fact.origin, is_own, at)),
            Seen::PromptBlocked { text, .. } if is_own => self.blocked(agent, *text, at),
            Seen::PromptBlocked { .. } => {}
            Seen::Compacted if is_own => self.compacted(agent, fact, at, now, heard),
            Seen::Compacted
            | Seen::CompactionAnnounced { .. }
            | Seen::Symptom(_)
            | Seen::Worked(_)
            | Seen::Committed => {}
            Seen::StatusLine { model, sample } => {
                self.named(model.as_ref());
                heard.signs.push(self.status_line(fact, *sample, is_own, (at, now)));
            }
            Seen::Measured { model, sample } => {
                self.named(model.as_ref());
                heard.signs.extend(self.measured(fact, sample.bounded(), is_own, now));
            }
            Seen::Prompt { .. } if is_own => heard.signs.extend(self.prompted(agent, fact, at)),
            Seen::Answered if is_own => heard.signs.extend(self.answer_read(fact, at, now)),
            Seen::ToolCalled(call) if is_own => self.called(agent, call, at),
            Seen::ToolAnswered(call) => self.answered(agent, call, at),
            Seen::Added { text } if began_by(agent, at) => self.was_told(text),
            Seen::CaughtUp if is_own => heard.signs.extend(self.caught_up(agent)),
            Seen::Settled if is_own => heard.signs.extend(self.settled()),
            Seen::Prompt { .. }
            | Seen::Answered
            | Seen::ToolCalled(_)
            | Seen::Added { .. }
            | Seen::CaughtUp
            | Seen::Settled => {}
            Seen::Listed(listed) => heard.signs.extend(self.told_listed(agent, fact, *listed, at)),
            Seen::Silence { lasted, received } => {
                self.silent(agent, *lasted, *received, limits, now, heard);
            }
            Seen::Suspended => self.line.suspension = Some(Suspension::Forgotten),
            Seen::Paused(by) => self.line.suspension = Some(Suspension::Wanted(*by)),
            Seen::Continued => self.line.suspension = None,
            Seen::InputLineDrawn => self.line.is_awaited = false,
            Seen::Keys(keys) => self.line.keys = *keys,
        }
    }

    /// A hook's word counts at once; what the transcript says waits until that is read.
    fn call_failed(
        &mut self,
        origin: Origin,
        failure: Failure,
        is_own: bool,
        at: Time,
    ) -> Option<Sign> {
        if origin == Origin::Hook {
            return Some(self.gave_up(failure, at));
        }
        if is_own {
            self.ends(at, End::Failed(failure));
        }
        None
    }

    /// The same of a turn that a person broke off.
    fn was_stopped(&mut self, origin: Origin, is_own: bool, at: Time) -> Option<Sign> {
        if origin == Origin::Hook {
            return Some(self.broke_off(at));
        }
        if is_own {
            self.interrupted(at);
        }
        None
    }
}

/// When it happened. A report dated in the future counts as one from now.
fn dated(fact: &Fact, now: Time) -> Time {
    match fact.origin {
        Origin::Hook | Origin::StatusLine => fact.at.map_or(now, |at| at.min(now)),
        Origin::Transcript
        | Origin::List
        | Origin::Kernel
        | Origin::Terminal
        | Origin::Agent
        | Origin::Git => fact.at.unwrap_or(if fact.is_old { Time::default() } else { now }),
    }
}

/// Whether the agent's session had begun by then.
fn began_by(agent: &Agent, at: Time) -> bool {
    let session = agent.session.as_ref();
    session.is_some_and(|session| at >= session.started_at.unwrap_or(session.wanted_at))
}
