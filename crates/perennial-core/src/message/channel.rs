//! The way in: by which channel a message is offered, and which ones go with the reply to a hook. Changes
//! nothing.

use serde::{Deserialize, Serialize};

use super::observe::{Happened, offered};
use super::why::may_type;
use super::{MAIL_AT_ONCE, Message, MessageState, Priority, Why, why};
use crate::agent::Agent;
use crate::fleet::Fleet;
use crate::handoff::TurnStands;
use crate::id::{AgentId, SessionNumber};
use crate::session::Phase;
use crate::state::State;
use crate::time::Time;

/// How a session is given a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Channel {
    /// Typed into its terminal.
    Typing,
    /// In the reply to a hook.
    HookReply,
    /// In the reply to the hook that reports the end of a turn. The answer that ended the turn may be dated later.
    TurnEnd,
}

/// What goes into the reply to a hook of session `number`, in order.
pub fn for_hook(fleet: &Fleet, agent: AgentId, number: SessionNumber, now: Time) -> Vec<Happened> {
    if !is_live(fleet, agent, number) {
        return Vec::new();
    }
    let waits = |message: &&Message| {
        let waits = matches!(message.state, MessageState::Waiting { .. });
        let is_ours = !message.is_typed() && !message.goes_as_mail();
        waits && is_ours && why(fleet, message, now) == Why::Hook
    };
    let notices = fleet.messages().of(agent).filter(waits);
    let offer = |message| offered(fleet, message, Channel::HookReply, None);
    let mut happened: Vec<Happened> = notices.filter_map(offer).collect();
    happened.extend(mail(fleet, agent, Channel::HookReply, now));
    happened
}

/// What goes into the reply to the hook that reports the end of a turn of session `number`: the turn goes on
/// with it. Mail and rounds only, and none if all of it can wait.
pub fn at_turn_end(
    fleet: &Fleet,
    agent: AgentId,
    number: SessionNumber,
    now: Time,
) -> Vec<Happened> {
    if is_live(fleet, agent, number)
        && (is_worth_a_turn(fleet, agent) || fleet.messages().handoff(agent).is_some())
    {
        mail(fleet, agent, Channel::TurnEnd, now)
    } else {
        Vec::new()
    }
}

fn is_live(fleet: &Fleet, agent: AgentId, number: SessionNumber) -> bool {
    let is_live = |agent: &Agent| agent.live_session().is_some_and(|live| live.number == number);
    fleet.agent(agent).is_some_and(is_live)
}

/// Whether the agent takes mail in this session: it runs, nobody has asked it to end, and it has not asked for its
/// burial, which waits for the end of its turn.
fn takes_mail(agent: &Agent) -> bool {
    let is_running = agent.live_session().is_some_and(|live| live.phase == Phase::Running);
    is_running && !agent.is_held() && !agent.launch.is_bare() && agent.burial.is_none()
}

/// T12: the first mails that wait, up to `MAIL_AT_ONCE`.
fn mail(fleet: &Fleet, agent: AgentId, channel: Channel, now: Time) -> Vec<Happened> {
    let Some(known) = fleet.agent(agent) else { return Vec::new() };
    if !takes_mail(known) {
        return Vec::new();
    }
    if known.state == State::HandingOff {
        return handoff(fleet, known, channel);
    }
    if has_mail_under_way(fleet, agent) {
        return Vec::new();
    }
    // One that can't be given now, or that may stand in the input line, holds back those behind it.
    let may_go = |message: &&Message| {
        message.may_stand_in_line(fleet).is_none() && message.is_held_in_any(now).is_none()
    };
    let goes_now = |message: &&Message| channel != Channel::HookReply || !message.is_round();
    let first = fleet.messages().mail(agent).take_while(may_go).filter(goes_now).take(MAIL_AT_ONCE);
    first.filter_map(|message| offered(fleet, message, channel, None)).collect()
}

/// What a session that hands off is asked, if it waits for a way.
fn handoff(fleet: &Fleet, agent: &Agent, channel: Channel) -> Vec<Happened> {
    let waits = |message: &&Message| {
        let waits = matches!(message.state, MessageState::Waiting { .. });
        waits && message.may_stand_in_line(fleet).is_none() && message.as_handoff(fleet).is_some()
    };
    let asked = fleet.messages().handoff(agent.id).filter(waits);
    asked.and_then(|message| offered(fleet, message, channel, None)).into_iter().collect()
}

/// Why a session that hands off has not been asked yet: it goes ahead of whatever else waits.
pub(super) fn of_handoff(
    fleet: &Fleet,
    agent: &Agent,
    number: SessionNumber,
    message: &Message,
    now: Time,
) -> Why {
    let Some(handoff) = agent.handing_off().filter(|it| it.number == number) else {
        return Why::NoSession;
    };
    match handoff.stands {
        TurnStands::Asks => return Why::Dialog,
        TurnStands::Runs => return Why::Hook,
        TurnStands::Idle => {}
    }
    let typed = fleet.messages().offered(agent.id).find(|other| other.is_being_typed(number));
    match typed {
        Some(earlier) => Why::Earlier(earlier.id),
        None => message.is_held_in(number, now).map_or(Why::Due, Why::After),
    }
}

/// T12: whether mail of this agent is offered of which it is not known yet whether it was taken. What was typed and
/// heard may be queued: a reply would come before it.
fn has_mail_under_way(fleet: &Fleet, agent: AgentId) -> bool {
    fleet.messages().offered(agent).any(Message::goes_as_mail)
}

/// Whether any of the mail that waits may start a turn, or prolong one.
fn is_worth_a_turn(fleet: &Fleet, agent: AgentId) -> bool {
    let is_worth = |message: &Message| {
        message.is_round() || message.mail().is_some_and(|mail| mail.priority > Priority::Low)
    };
    fleet.messages().mail(agent).any(is_worth)
}

/// Why mail or a round waits for a session that runs.
pub(super) fn of_mail(
    fleet: &Fleet,
    agent: &Agent,
    session: SessionNumber,
    message: &Message,
    now: Time,
) -> Why {
    match may_type(agent, true) {
        Why::Due => {}
        Why::TurnRuns if message.is_round() => return Why::TurnRuns,
        Why::TurnRuns => return Why::Hook,
        other @ (Why::Unreadable
        | Why::NoSession
        | Why::Starting
        | Why::HandsOff
        | Why::Dialog
        | Why::AgentHeld
        | Why::Burial
        | Why::Earlier(_)
        | Why::Hook
        | Why::Vacant
        | Why::Reader
        | Why::After(_)
        | Why::Unheard
        | Why::Unseen) => return other,
    }
    let messages = fleet.messages();
    // A person's words go first, unless they can't be typed at all.
    let text = messages.waiting(agent.id).next().filter(|text| !text.needs_person());
    let offered = || messages.offered(agent.id).find(|other| is_ahead(other, session));
    let mail = || messages.mail(agent.id).next().filter(|first| first.id != message.id);
    if let Some(earlier) = text.or_else(offered).or_else(mail) {
        return Why::Earlier(earlier.id);
    }
    if !is_worth_a_turn(fleet, agent.id) {
        return Why::Hook;
    }
    message.is_held_in(session, now).map_or(Why::Due, Why::After)
}

/// Whether mail that is to be typed waits for what is offered: other mail, and whatever is being typed.
fn is_ahead(other: &Message, session: SessionNumber) -> bool {
    other.goes_as_mail() || other.is_being_typed(session)
}

impl Message {
    pub(super) fn is_by_typing(&self) -> bool {
        matches!(self.state, MessageState::Offered { channel: Channel::Typing, .. })
    }
}
