//! What reports, traces and the passing of time do to messages. Changes nothing.

use std::borrow::Cow;
use std::time::Duration;

use super::{
    Content, Held, Message, MessageEvent, MessageState, OfferProgress, Outcome, PASSED_OVER_AFTER,
    PASSED_OVER_BY_A_TURN_AFTER, SETTLED_AFTER, Sender, Trace, Why, Withdrawer, order, why,
};
use crate::agent::Agent;
use crate::context::{Sample, Threshold};
use crate::fact::{Fact, Seen};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::session::Phase;
use crate::state::{Roster, State};
use crate::text::Fingerprint;
use crate::time::Time;

/// The wait after the first failed attempt; it doubles with each further one …
const FIRST_WAIT: Duration = Duration::from_millis(300);
/// … up to this. What a person has in the input line is not asked for again before: the holder
/// tells when the line is free.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// As much of a hook's words as is kept with the text that it blocked.
const HOOK_WORDS_BYTES: usize = 256;

/// What happens to which message.
pub type Happened = (MessageId, MessageEvent);

/// A time that `plan` named has passed.
pub fn due(fleet: &Fleet, id: MessageId, now: Time) -> Vec<Happened> {
    let Some(message) = fleet.messages().get(id) else { return Vec::new() };
    if message.is_orphaned(fleet) {
        return vec![(id, MessageEvent::Returned)];
    }
    match message.state {
        MessageState::Waiting { .. } if why(fleet, message, now) == Why::Due => {
            offered(fleet, message).into_iter().collect()
        }
        MessageState::Offered { session, .. } => {
            let given_up = given_up_at(fleet.agent(message.to), session);
            let is_given_up = given_up.is_some_and(|at| at <= now);
            is_given_up
                .then(|| given_back(fleet, message, Held::SessionEnded, now))
                .into_iter()
                .collect()
        }
        MessageState::Waiting { .. } => Vec::new(),
    }
}

/// When a text that was offered to a session which is over counts as not taken, though nobody could
/// read the conversation: at once for a bare command, which has none.
pub fn given_up_at(agent: Option<&Agent>, session: SessionNumber) -> Option<Time> {
    let agent = agent?;
    let newest = agent.session.as_ref()?;
    let is_over = newest.number > session || newest.phase == Phase::Ended;
    if !is_over {
        return None;
    }
    if agent.launch.is_bare() {
        return Some(Time(0));
    }
    // Nobody reads while the machine is suspended.
    let read_for = SETTLED_AFTER + newest.unseen;
    newest.started_at.filter(|_| newest.number > session).map(|at| at + read_for)
}

fn offered(fleet: &Fleet, message: &Message) -> Option<Happened> {
    let session = fleet.agent(message.to)?.live_session()?.number;
    let (attempt, behind) = (message.attempts + 1, fleet.behind());
    Some((message.id, MessageEvent::Offered { session, attempt, behind }))
}

fn held(message: &Message, why: Held, now: Time) -> Happened {
    let attempt = message.attempts;
    let wait = match why {
        // T10, T11
        Held::HomeCopied | Held::Blocked => {
            return (message.id, MessageEvent::Held { attempt, why, until: Time(u64::MAX) });
        }
        Held::Draft | Held::Dialog | Held::Suspended | Held::OldHolder => LONGEST_WAIT,
        // Only the operator, or another mode of the terminal, changes these.
        Held::Damaged | Held::Unfit | Held::LongLine => LONGEST_WAIT,
        // No report says when these end.
        Held::Doubt | Held::NotDrawn | Held::NoEcho | Held::Leftover | Held::Busy | Held::Full => {
            let doublings = message.attempts.saturating_sub(1).min(8);
            FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
        }
        Held::SessionEnded | Held::NotTaken => Duration::ZERO,
    };
    (message.id, MessageEvent::Held { attempt, why, until: now + wait })
}

/// A session did not take it: it waits again, unless what it says is no longer so.
fn given_back(fleet: &Fleet, message: &Message, why: Held, now: Time) -> Happened {
    let clock = fleet.agent(message.to).map(|agent| agent.clock).unwrap_or_default();
    let is_outdated = match message.content {
        Content::Typed { .. } => false,
        Content::Notice { threshold, .. } => {
            clock.passed != Some(threshold) || clock.since > Some(message.recorded_at)
        }
        Content::Reminder { .. } => {
            let is_newer = |other: &Message| reminder_age(other) > reminder_age(message);
            why == Held::SessionEnded || fleet.messages().of(message.to).any(is_newer)
        }
    };
    if is_outdated {
        (message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated })
    } else {
        held(message, why, now)
    }
}

/// Takes note of how an attempt to type went; one about an older attempt says nothing.
pub fn observe(
    fleet: &Fleet,
    id: MessageId,
    attempt: u32,
    outcome: Outcome,
    now: Time,
) -> Vec<Happened> {
    let Some(message) = fleet.messages().get(id).filter(|known| known.attempts == attempt) else {
        return Vec::new();
    };
    let MessageState::Offered { progress, .. } = message.state else { return Vec::new() };
    match outcome {
        // The harness may have reported it before the holder did.
        Outcome::Entered if progress > OfferProgress::Given => Vec::new(),
        Outcome::Entered => {
            let is_last = fleet.agent(message.to).is_some_and(|agent| agent.launch.is_bare());
            vec![(id, MessageEvent::Entered { attempt, is_last })]
        }
        // A person's Enter may have sent what the holder gave up.
        Outcome::Held(_) if progress > OfferProgress::Given => Vec::new(),
        Outcome::Held(why) => vec![held(message, why, now)],
    }
}

/// A prompt by the fingerprint of the message that it is, where an older version recorded that.
pub fn as_recorded<'f>(fleet: &Fleet, agent: AgentId, fact: Cow<'f, Fact>) -> Cow<'f, Fact> {
    let Some(older) = fact.older_text else { return fact };
    let is_known = |wanted| fleet.messages().of(agent).any(|message| has(message, wanted));
    let is_older = |text: Fingerprint| !is_known(text) && is_known(older);
    let mut fact = fact.into_owned();
    if let Seen::PromptSubmitted { text } | Seen::Prompt { text } | Seen::PromptBlocked { text, .. } =
        &mut fact.seen
        && is_older(*text)
    {
        *text = older;
    }
    Cow::Owned(fact)
}

/// What a fact tells of texts.
pub fn trace(fact: &Fact, now: Time) -> Option<Trace> {
    match &fact.seen {
        Seen::PromptSubmitted { text } => Some(Trace::PromptHeard(*text)),
        Seen::Prompt { text } if fact.is_old => {
            Some(Trace::Held { dated: Some(fact.at?), fingerprint: *text })
        }
        Seen::Prompt { text } => Some(Trace::Held { dated: None, fingerprint: *text }),
        Seen::PromptBlocked { text, words } => {
            let dated = fact.at.filter(|_| fact.is_old);
            Some(Trace::Blocked { dated, fingerprint: *text, words: words.clone() })
        }
        Seen::Added { text } => {
            let ids = mentioned(text);
            (!ids.is_empty()).then_some(Trace::Mentioned { ids })
        }
        Seen::Answered => Some(Trace::Answered { at: fact.at? }),
        Seen::Settled => Some(Trace::Settled { at: now }),
        Seen::SessionBegan(_)
        | Seen::ToolsFinished { .. }
        | Seen::PermissionAsked { .. }
        | Seen::QuestionAsked
        | Seen::IdleTold
        | Seen::ToolBegan
        | Seen::ReplyEnded { .. }
        | Seen::TurnOver
        | Seen::CallFailed(_)
        | Seen::Compacted
        | Seen::StatusLine { .. }
        | Seen::Measured { .. }
        | Seen::ToolCalled(_)
        | Seen::ToolAnswered(_)
        | Seen::Interrupted
        | Seen::CaughtUp
        | Seen::Listed(_)
        | Seen::Silence { .. }
        | Seen::Suspended
        | Seen::Paused(_)
        | Seen::Continued
        | Seen::InputLineDrawn
        | Seen::Keys(_) => None,
    }
}

/// The ids of messages that stand in a text.
fn mentioned(text: &str) -> Vec<MessageId> {
    const LENGTH: usize = "msg_".len() + 26;
    let id = |(start, _): (usize, &str)| text.get(start..start + LENGTH)?.parse().ok();
    text.match_indices("msg_").filter_map(id).collect()
}

/// Takes note of a trace of texts in what session `number` shows.
pub fn traced(
    fleet: &Fleet,
    agent: AgentId,
    number: SessionNumber,
    trace: &Trace,
    now: Time,
) -> Vec<Happened> {
    let of_agent = || fleet.messages().of(agent);
    match trace {
        Trace::PromptHeard(fingerprint) => {
            let awaited =
                |message: &&Message| has(message, *fingerprint) && message.is_being_typed(number);
            match of_agent().find(awaited) {
                Some(heard) => {
                    vec![(heard.id, MessageEvent::Heard { attempt: heard.attempts })]
                }
                None => entered_by_a_person(fleet, agent, number, *fingerprint)
                    .unwrap_or_else(|| line_free(fleet, agent, now)),
            }
        }
        Trace::Held { dated, fingerprint } => {
            let held = of_agent().find(|one| is_prompt(one, *fingerprint, *dated));
            held.map(|message| seen(message, number)).into_iter().collect()
        }
        Trace::Blocked { dated, fingerprint, words } => {
            let mut offered = fleet.messages().offered(agent);
            let refused = offered.find(|one| is_prompt(one, *fingerprint, *dated));
            refused.map(|message| blocked(message, words)).into_iter().collect()
        }
        Trace::Mentioned { ids } => {
            // A hook of the user's own may print any id: only what a hook of ours gave counts.
            let is_given = |message: &Message| !message.is_typed() && message.attempts > 0;
            let mentioned =
                || of_agent().filter(|message| ids.contains(&message.id) && is_given(message));
            let reminder =
                mentioned().filter(|one| is_reminder(one)).max_by_key(|one| reminder_age(one));
            let outdated = reminder.map(|newer| reminders_before(fleet, agent, newer));
            let seen = mentioned().map(|message| seen(message, number));
            seen.chain(outdated.into_iter().flatten()).collect()
        }
        Trace::Answered { at } => {
            let passed_over = |message: &&Message| match message.state {
                MessageState::Offered { session, at: offered, .. } => {
                    !message.is_typed() && session == number && offered < *at
                }
                MessageState::Waiting { .. } => false,
            };
            let passed_over = of_agent().filter(passed_over);
            passed_over.map(|message| given_back(fleet, message, Held::NotTaken, now)).collect()
        }
        Trace::Settled { at } => settled(fleet, agent, number, *at, now),
        Trace::LineFree => line_free(fleet, agent, now),
    }
}

/// What was offered to this session, and is not in the conversation that was read to its end.
fn settled(
    fleet: &Fleet,
    agent: AgentId,
    number: SessionNumber,
    at: Time,
    now: Time,
) -> Vec<Happened> {
    let Some(known) = fleet.agent(agent) else { return Vec::new() };
    let is_idle =
        known.state == State::Waiting && !known.reason.is_dialog() && !order::is_in_turn(known);
    let not_taken = |message: &Message| match message.state {
        MessageState::Offered { session, at: given, progress } => {
            let is_given = progress > OfferProgress::Given || !message.is_typed();
            if session > number || given >= at {
                None
            } else if ended_before(known, session, at) {
                Some(given_back(fleet, message, Held::SessionEnded, now))
            } else {
                let live = known.session.as_ref();
                let counted = |time: Time| live.map_or(time, |live| live.seen_since(time));
                let is_long_idle = counted(given.max(known.since)) + PASSED_OVER_AFTER <= at;
                // A turn has ended since it was heard, and the agent CLI did not take it then.
                let is_overtaken = progress == OfferProgress::Heard
                    && given < known.since
                    && counted(given) + PASSED_OVER_AFTER <= at
                    && counted(known.since) + PASSED_OVER_BY_A_TURN_AFTER <= at;
                let is_late = is_long_idle || is_overtaken;
                let is_passed_over = session == number && is_idle && is_given && is_late;
                is_passed_over.then(|| given_back(fleet, message, Held::NotTaken, now))
            }
        }
        MessageState::Waiting { .. } => None,
    };
    fleet.messages().of(agent).filter_map(not_taken).collect()
}

/// Whether a session was over at this time.
fn ended_before(agent: &Agent, session: SessionNumber, at: Time) -> bool {
    match &agent.session {
        Some(newest) if newest.number > session => newest.wanted_at <= at,
        Some(newest) => newest.ended_at.is_some_and(|ended| ended <= at),
        None => false,
    }
}

/// A text that an attempt left in the input line was sent by a person's Enter.
fn entered_by_a_person(
    fleet: &Fleet,
    agent: AgentId,
    session: SessionNumber,
    fingerprint: Fingerprint,
) -> Option<Vec<Happened>> {
    // T7: that its words were sent makes an unreadable text no more readable.
    let mut readable = fleet.messages().of(agent).filter(|message| !message.is_unreadable());
    let left = readable.find(|message| {
        has(message, fingerprint) && message.may_stand_in_line(fleet) == Some(session)
    })?;
    let attempt = left.attempts + 1;
    let offered = MessageEvent::Offered { session, attempt, behind: fleet.behind() };
    Some(vec![(left.id, offered), (left.id, MessageEvent::Heard { attempt })])
}

/// What waited for a person's input line is offered at once.
fn line_free(fleet: &Fleet, agent: AgentId, now: Time) -> Vec<Happened> {
    let waits_for_it = |message: &&Message| match why(fleet, message, now) {
        Why::After(Held::Draft | Held::Doubt | Held::Dialog | Held::Suspended) => true,
        Why::After(_)
        | Why::Unreadable
        | Why::NoSession
        | Why::Starting
        | Why::Dialog
        | Why::TurnRuns
        | Why::AgentHeld
        | Why::Earlier
        | Why::Hook
        | Why::Unheard
        | Why::Unseen
        | Why::Due => false,
    };
    // Whatever waits behind the first one waits for that.
    let first = fleet.messages().waiting(agent).next().filter(waits_for_it);
    first.and_then(|message| offered(fleet, message)).into_iter().collect()
}

/// What goes into the reply to a hook of session `number`, in order.
pub fn for_hook(fleet: &Fleet, agent: AgentId, number: SessionNumber, now: Time) -> Vec<Happened> {
    let is_live = |agent: &Agent| agent.live_session().is_some_and(|live| live.number == number);
    if !fleet.agent(agent).is_some_and(is_live) {
        return Vec::new();
    }
    let waits = |message: &&Message| {
        let waits = matches!(message.state, MessageState::Waiting { .. });
        waits && !message.is_typed() && why(fleet, message, now) == Why::Hook
    };
    fleet.messages().of(agent).filter(waits).filter_map(|one| offered(fleet, one)).collect()
}

fn has(message: &Message, wanted: Fingerprint) -> bool {
    match &message.content {
        Content::Typed { fingerprint, .. } => *fingerprint == wanted,
        Content::Notice { .. } | Content::Reminder { .. } => false,
    }
}

/// T5: whether a prompt of this date is the message.
fn is_prompt(message: &Message, fingerprint: Fingerprint, dated: Option<Time>) -> bool {
    let is_since = |offered: Time| dated.is_none_or(|at| offered <= at);
    has(message, fingerprint) && message.first_offered_at.is_some_and(is_since)
}

/// T11
fn blocked(message: &Message, words: &str) -> Happened {
    let words = words[..words.floor_char_boundary(HOOK_WORDS_BYTES)].to_owned();
    (message.id, MessageEvent::Blocked { attempt: message.attempts, words })
}

fn seen(message: &Message, session: SessionNumber) -> Happened {
    (message.id, MessageEvent::Seen { session })
}

/// The clock passed a threshold: a notice is recorded, and waiting notices of lower ones are
/// withdrawn.
pub fn noticed(
    fleet: &Fleet,
    agent: AgentId,
    threshold: Threshold,
    sample: Sample,
    now: Time,
) -> Vec<Happened> {
    let mut happened = outdated(fleet, agent);
    let content = Content::Notice { threshold, sample };
    let salt = now.0 ^ (threshold.percent() << 56);
    happened.push(recorded(fleet, agent, salt, content));
    happened
}

/// Waiting notices that are out of date: their window has ended, or the clock has passed a higher
/// threshold.
pub fn outdated(fleet: &Fleet, agent: AgentId) -> Vec<Happened> {
    let is_outdated = |message: &&Message| {
        let waits = matches!(message.state, MessageState::Waiting { .. });
        waits && matches!(message.content, Content::Notice { .. })
    };
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let notices = fleet.messages().of(agent).filter(is_outdated);
    notices.map(|message| (message.id, withdrawn.clone())).collect()
}

/// T10: the agent's home was copied. What its sessions were to be told of their own windows is told in
/// the original.
pub fn home_copied(fleet: &Fleet, agent: AgentId, now: Time) -> Vec<Happened> {
    let happened = |message: &Message| match message.content {
        Content::Typed { .. } => held(message, Held::HomeCopied, now),
        Content::Notice { .. } | Content::Reminder { .. } => {
            (message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated })
        }
    };
    let known = fleet.messages().of(agent).filter(|message| !message.is_unreadable());
    known.map(happened).collect()
}

/// The live session of an agent is to be told how its clock stands; what was to be told of that before
/// no longer is.
pub fn reminded(
    fleet: &Fleet,
    (agent, number): (AgentId, SessionNumber),
    calls: u64,
    sample: Option<Sample>,
    now: Time,
) -> Vec<Happened> {
    let known = fleet.agent(agent).filter(|known| known.state.roster() == Roster::Living);
    let live = known.and_then(Agent::live_session);
    if live.is_none_or(|live| live.number != number) {
        return Vec::new();
    }
    let mut happened = unreminded(fleet, agent);
    let content = Content::Reminder { calls, sample };
    happened.push(recorded(fleet, agent, now.0 ^ (calls << 48), content));
    happened
}

/// Waiting reminders that are out of date: their session has ended, or a later reminder is due.
pub fn unreminded(fleet: &Fleet, agent: AgentId) -> Vec<Happened> {
    let waits = |message: &&Message| matches!(message.state, MessageState::Waiting { .. });
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let reminders = fleet.messages().of(agent).filter(waits).filter(|one| is_reminder(one));
    reminders.map(|message| (message.id, withdrawn.clone())).collect()
}

/// A reminder was read: those before it say less, wherever they are.
fn reminders_before(fleet: &Fleet, agent: AgentId, newer: &Message) -> Vec<Happened> {
    let is_older = |one: &&Message| is_reminder(one) && reminder_age(one) < reminder_age(newer);
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let older = fleet.messages().of(agent).filter(is_older);
    older.map(|message| (message.id, withdrawn.clone())).collect()
}

/// After how many tool calls the last reminder that is under way for an agent came.
pub fn last_reminder(fleet: &Fleet, agent: AgentId) -> u64 {
    let calls = |message: &Message| match message.content {
        Content::Reminder { calls, .. } => calls,
        Content::Typed { .. } | Content::Notice { .. } => 0,
    };
    fleet.messages().of(agent).map(calls).max().unwrap_or(0)
}

fn is_reminder(message: &Message) -> bool {
    reminder_age(message).is_some()
}

/// Greater for the later reminder, also of those that are recorded in one moment.
fn reminder_age(message: &Message) -> Option<(Time, u64)> {
    match message.content {
        Content::Reminder { calls, .. } => Some((message.recorded_at, calls)),
        Content::Typed { .. } | Content::Notice { .. } => None,
    }
}

/// Everything that waits for an agent which was buried.
pub fn returned(fleet: &Fleet, agent: AgentId) -> Vec<Happened> {
    fleet.messages().of(agent).map(|message| (message.id, MessageEvent::Returned)).collect()
}

/// A text of Perennial's own; its id follows from whom it is for and when, so that a replay agrees.
/// Two windows may pass the same threshold in one moment: each notice has an id of its own.
fn recorded(fleet: &Fleet, to: AgentId, salt: u64, content: Content) -> Happened {
    let id = |salt: u64| {
        let spread = u128::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        MessageId(to.0 ^ spread)
    };
    let mut salts = salt..;
    let is_free = |salt: &u64| fleet.messages().get(id(*salt)).is_none();
    let id = id(salts.find(is_free).unwrap_or(salt));
    (id, MessageEvent::Recorded { to, from: Sender::Perennial, content })
}
