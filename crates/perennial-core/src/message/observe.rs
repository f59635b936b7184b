//! What reports, traces and the passing of time do to messages. Changes nothing.

use std::borrow::Cow;
use std::mem::replace;
use std::time::Duration;

use super::notices::{is_reminder, reminder_age, reminders_before};
use super::{
    Channel, Content, DeliveryId, Held, Message, MessageEvent, MessageState, OfferProgress,
    Outcome, PASSED_OVER_AFTER, PASSED_OVER_BY_A_TURN_AFTER, SETTLED_AFTER, Trace, Why, Withdrawer,
    Words, list, mailing, order, why,
};
use crate::agent::Agent;
use crate::fact::{Fact, Seen};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::session::Phase;
use crate::state::State;
use crate::text::Fingerprint;
use crate::time::Time;

/// The wait after the first failed attempt; it doubles with each further one …
const FIRST_WAIT: Duration = Duration::from_millis(300);
/// … up to this. What a person has in the input line is not asked for again before: the holder
/// tells when the line is free.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A line that has just become free was probably sent: the turn that follows has a gentler way for mail.
const LINE_SETTLES_AFTER: Duration = Duration::from_secs(2);

/// As much of a hook's words as is kept with the text that it blocked.
const HOOK_WORDS_BYTES: usize = 256;

/// What happens to which message.
pub type Happened = (MessageId, MessageEvent);

/// A time that `plan` named has passed.
pub fn due(fleet: &Fleet, id: MessageId, now: Time) -> Vec<Happened> {
    let Some(message) = fleet.messages().get(id) else { return Vec::new() };
    if message.is_orphaned(fleet) {
        return mailing::orphaned(fleet, message);
    }
    match message.state {
        MessageState::Waiting { .. } if message.is_past_handoff(fleet) => {
            vec![(message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated })]
        }
        MessageState::Waiting { .. } if why(fleet, message, now) == Why::Due => {
            list::typed(fleet, message, now)
        }
        MessageState::Offered { session, .. } => {
            let agent = message.to.agent().and_then(|id| fleet.agent(id));
            let given_up = given_up_at(agent, session);
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

pub(super) fn offered(
    fleet: &Fleet,
    message: &Message,
    channel: Channel,
    with: Option<DeliveryId>,
) -> Option<Happened> {
    let session = fleet.agent(message.to.agent()?)?.live_session()?.number;
    let (attempt, behind) = (message.attempts + 1, fleet.behind());
    let channel = message.goes_as_mail().then_some(channel);
    Some((message.id, MessageEvent::Offered { session, attempt, channel, with, behind }))
}

fn held(message: &Message, why: Held, now: Time) -> Happened {
    let attempt = message.attempts;
    let wait = match why {
        // T10, T11
        Held::HomeCopied | Held::Blocked => {
            return (message.id, MessageEvent::Held { attempt, why, until: Time(u64::MAX) });
        }
        // A report says when these end, and brings the text at once. Mail comes in lists, and a draft may stay for days:
        // each further look at it is further apart.
        Held::Draft | Held::Dialog | Held::Suspended if message.mail().is_some() => {
            let doublings = message.attempts.saturating_sub(1).min(4);
            LONGEST_WAIT.saturating_mul(1 << doublings)
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
    let agent = message.to.agent().and_then(|id| fleet.agent(id));
    let clock = agent.map(|agent| agent.clock).unwrap_or_default();
    let is_outdated = match message.content {
        Content::Typed { .. } | Content::Mail(_) => false,
        Content::Round { ref role, .. } => {
            let is_left = agent.is_none_or(|agent| agent.role.as_ref() != Some(role));
            why == Held::SessionEnded || is_left
        }
        Content::Handoff { number } => {
            let is_under_way =
                agent.and_then(Agent::handing_off).is_some_and(|it| it.number == number);
            why == Held::SessionEnded || !is_under_way
        }
        Content::Notice { threshold, .. } => {
            clock.passed != Some(threshold) || clock.since > Some(message.recorded_at)
        }
        Content::Reminder { .. } => {
            let is_newer = |other: &Message| reminder_age(other) > reminder_age(message);
            let others = |agent: &Agent| fleet.messages().of(agent.id).any(is_newer);
            why == Held::SessionEnded || agent.is_some_and(others)
        }
    };
    if is_outdated {
        (message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated })
    } else {
        held(message, why, now)
    }
}

/// Takes note of how an attempt to type went, for all that was typed by it (T14); one about an older attempt says
/// nothing.
pub fn observe(
    fleet: &Fleet,
    id: MessageId,
    attempt: u32,
    outcome: Outcome,
    now: Time,
) -> Vec<Happened> {
    let delivered = list::delivered(fleet, DeliveryId { message: id, attempt });
    let happened = |message: &Message| {
        let MessageState::Offered { progress, .. } = message.state else { return None };
        match outcome {
            // The harness may have reported it before the holder did.
            Outcome::Entered if progress > OfferProgress::Given => None,
            Outcome::Entered => {
                let agent = message.to.agent().and_then(|id| fleet.agent(id));
                let is_last = agent.is_some_and(|agent| agent.launch.is_bare());
                let attempt = message.attempts;
                Some((message.id, MessageEvent::Entered { attempt, is_last }))
            }
            // A person's Enter may have sent what the holder gave up.
            Outcome::Held(_) if progress > OfferProgress::Given => None,
            Outcome::Held(why) => Some(held(message, why, now)),
        }
    };
    delivered.filter_map(happened).collect()
}

/// A prompt by the fingerprint of the message that it is, where an older version recorded that.
pub fn as_recorded<'f>(fleet: &Fleet, agent: AgentId, fact: Cow<'f, Fact>) -> Cow<'f, Fact> {
    let Some(older) = fact.older_text else { return fact };
    let is_known = |fingerprint: Fingerprint| {
        let words = Words::from(fingerprint);
        fleet.messages().of(agent).any(|message| words.are(message))
    };
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
    let words = |text: &Fingerprint| Words { fingerprint: *text, ids: fact.mentions.clone() };
    match &fact.seen {
        Seen::PromptSubmitted { text } => Some(Trace::PromptHeard(words(text))),
        Seen::Prompt { text } if fact.is_old => {
            Some(Trace::Held { dated: Some(fact.at?), words: words(text) })
        }
        Seen::Prompt { text } => Some(Trace::Held { dated: None, words: words(text) }),
        Seen::PromptBlocked { text, words: because } => {
            let dated = fact.at.filter(|_| fact.is_old);
            Some(Trace::Blocked { dated, words: words(text), because: because.clone() })
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
        | Seen::TurnGoesOn
        | Seen::CallFailed(_)
        | Seen::Compacted
        | Seen::CompactionAnnounced { .. }
        | Seen::Symptom(_)
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
        | Seen::Keys(_)
        | Seen::Worked(_)
        | Seen::Committed => None,
    }
}

/// The ids of messages that stand in a text.
pub fn mentioned(text: &str) -> Vec<MessageId> {
    let id = |(start, _): (usize, &str)| text.get(start..start + MessageId::LENGTH)?.parse().ok();
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
        Trace::PromptHeard(words) => {
            let awaited = |message: &&Message| message.is_being_typed(number);
            let awaited = of_prompt(words, of_agent().filter(awaited));
            if !awaited.is_empty() {
                let heard = |it: &Message| (it.id, MessageEvent::Heard { attempt: it.attempts });
                return awaited.into_iter().map(heard).collect();
            }
            entered_by_a_person(fleet, agent, number, words)
                .unwrap_or_else(|| another_prompt(fleet, agent, number, now))
        }
        Trace::Held { dated, words } => {
            let since = || of_agent().filter(|one| is_since(one, *dated));
            let is_offered = |one: &&Message| matches!(one.state, MessageState::Offered { .. });
            // Of equal words, those that are under way.
            let (offered, others) =
                (since().filter(is_offered), since().filter(|one| !is_offered(one)));
            of_prompt(words, offered.chain(others))
                .into_iter()
                .map(|message| seen(message, number))
                .collect()
        }
        Trace::Blocked { dated, words, because } => {
            let offered = fleet.messages().offered(agent).filter(|one| is_since(one, *dated));
            let refused = of_prompt(words, offered).into_iter();
            refused.map(|message| blocked(message, because)).collect()
        }
        Trace::Mentioned { ids } => {
            // A hook of the user's own may print any id: only what a hook of ours gave counts.
            // What its recipient before was given, this one was not.
            let is_given =
                |message: &Message| !message.is_typed() && message.first_offered_at.is_some();
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
                MessageState::Offered { session, at: offered, channel, .. } => {
                    channel == Channel::HookReply && session == number && offered < *at
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
        MessageState::Offered { session, at: given, progress, channel, .. } => {
            let is_given = progress > OfferProgress::Given || channel != Channel::Typing;
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
    words: &Words,
) -> Option<Vec<Happened>> {
    // T7: that its words were sent makes an unreadable text no more readable.
    let readable = fleet.messages().of(agent).filter(|message| !message.is_unreadable());
    let left = readable.filter(|message| message.may_stand_in_line(fleet) == Some(session));
    let left = of_prompt(words, left);
    let first = left.first()?;
    let list = DeliveryId { message: first.id, attempt: first.attempts + 1 };
    let entered = |message: &&Message| {
        let with = Some(list).filter(|list| list.message != message.id);
        let offered = offered(fleet, message, Channel::Typing, with)?;
        let heard = MessageEvent::Heard { attempt: message.attempts + 1 };
        Some([offered, (message.id, heard)])
    };
    Some(left.iter().filter_map(entered).flatten().collect())
}

/// What waited for a person's input line is offered at once.
fn line_free(fleet: &Fleet, agent: AgentId, now: Time) -> Vec<Happened> {
    let waits_for_it = |message: &&Message| match why(fleet, message, now) {
        Why::After(Held::Draft | Held::Doubt | Held::Dialog | Held::Suspended) => true,
        Why::After(_)
        | Why::Unreadable
        | Why::NoSession
        | Why::Starting
        | Why::HandsOff
        | Why::Dialog
        | Why::TurnRuns
        | Why::AgentHeld
        | Why::Burial
        | Why::Earlier(_)
        | Why::Hook
        | Why::Vacant
        | Why::Reader
        | Why::Unheard
        | Why::Unseen
        | Why::Due => false,
    };
    // Whatever waits behind the first one waits for that, and mail behind a person's texts.
    let messages = fleet.messages();
    if let Some(text) = messages.waiting(agent).next() {
        let text = Some(text).filter(waits_for_it);
        return text.and_then(|it| offered(fleet, it, Channel::Typing, None)).into_iter().collect();
    }
    let put_off = |mail: &Message| match mail.state {
        MessageState::Waiting { after: Some(why), .. } => {
            let (attempt, until) = (mail.attempts, now + LINE_SETTLES_AFTER);
            Some((mail.id, MessageEvent::Held { attempt, why, until }))
        }
        MessageState::Waiting { after: None, .. } | MessageState::Offered { .. } => None,
    };
    let mail = messages.mail(agent).next().filter(waits_for_it);
    mail.and_then(put_off).into_iter().collect()
}

/// A prompt that is none of ours was sent: mail that may have stood in the input line does so no longer.
fn another_prompt(
    fleet: &Fleet,
    agent: AgentId,
    session: SessionNumber,
    now: Time,
) -> Vec<Happened> {
    let messages = fleet.messages();
    let stood = |mail: &&Message| mail.may_stand_in_line(fleet) == Some(session);
    let left = messages.mail(agent).filter(stood).map(|mail| held(mail, Held::NotTaken, now));
    let left: Vec<Happened> = left.collect();
    match left.is_empty() || messages.waiting(agent).next().is_some() {
        true => left.into_iter().chain(line_free(fleet, agent, now)).collect(),
        false => left,
    }
}

impl Words {
    /// Whether the message is what they say.
    fn are(&self, message: &Message) -> bool {
        match &message.content {
            Content::Typed { fingerprint, .. } => *fingerprint == self.fingerprint,
            Content::Mail(_) | Content::Round { .. } | Content::Handoff { .. } => {
                self.ids.contains(&message.id)
            }
            Content::Notice { .. } | Content::Reminder { .. } => false,
        }
    }
}

/// Those of the messages that a prompt brings: several mails may stand in one, and a person's words once.
fn of_prompt<'a>(words: &Words, messages: impl Iterator<Item = &'a Message>) -> Vec<&'a Message> {
    let mut has_text = false;
    let is_first = |message: &&Message| message.goes_as_mail() || !replace(&mut has_text, true);
    messages.filter(|message| words.are(message)).filter(is_first).collect()
}

/// T5: whether a prompt of this date may be the message.
fn is_since(message: &Message, dated: Option<Time>) -> bool {
    let is_since = |offered: Time| dated.is_none_or(|at| offered <= at);
    message.first_offered_at.is_some_and(is_since)
}

/// T11. A round is not asked for again; the next one may pass.
fn blocked(message: &Message, words: &str) -> Happened {
    if message.is_round() || message.is_handoff() {
        return (message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated });
    }
    let words = words[..words.floor_char_boundary(HOOK_WORDS_BYTES)].to_owned();
    (message.id, MessageEvent::Blocked { attempt: message.attempts, words })
}

fn seen(message: &Message, session: SessionNumber) -> Happened {
    (message.id, MessageEvent::Seen { session })
}

/// T10: the agent's home was copied. What its sessions were to be told of their own windows is told in
/// the original.
pub fn home_copied(fleet: &Fleet, agent: AgentId, now: Time) -> Vec<Happened> {
    let happened = |message: &Message| match message.content {
        Content::Typed { .. } | Content::Mail(_) => held(message, Held::HomeCopied, now),
        Content::Notice { .. }
        | Content::Reminder { .. }
        | Content::Round { .. }
        | Content::Handoff { .. } => {
            (message.id, MessageEvent::Withdrawn { by: Withdrawer::Outdated })
        }
    };
    let known = fleet.messages().of(agent).filter(|message| !message.is_unreadable());
    known.map(happened).collect()
}
