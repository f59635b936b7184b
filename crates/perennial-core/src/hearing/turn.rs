//! The turn of a session: how transcript, list and notifications tell of its end.

use std::time::Duration;

use super::recall::awaits_word;
use super::{Heard, Hearing, began_by};
use crate::agent::Agent;
use crate::fact::{CallName, Fact, Failure, Listed, Origin, Seen};
use crate::handoff::TurnStands;
use crate::observation::{Sign, Wait};
use crate::reason::Reason;
use crate::state::State;
use crate::text::Fingerprint;
use crate::time::Time;

/// A report of idleness that comes sooner than this after a prompt is about the turn before. The one vendor
/// that reports idleness does so after a minute; for one that reports sooner, this is generous: its report
/// is ignored, and never believed wrongly.
const IDLE_REPORT_IGNORED_FOR: Duration = Duration::from_secs(30);

/// An agent that is reported idle has been idle for at most this long. Generous for every vendor too: a
/// longer time only has a rate limit stand a little longer.
const IDLE_REPORT_DELAY: Duration = Duration::from_secs(60);

/// Hooks that a program calls for one prompt begin within this time.
const HOOKS_APART: Duration = Duration::from_secs(10);

/// A prompt that a hook of the user's blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocked {
    at: Time,
    text: Fingerprint,
    /// Our own hook has not told of it.
    is_unheard: bool,
}

/// How a step of the transcript ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Interrupted,
    Failed(Failure),
}

fn wait(failure: Failure) -> Wait {
    match failure {
        Failure::RateLimit { until } => Wait::RateLimit(until),
        Failure::LimitReached { until } => Wait::LimitReached(until),
        Failure::Refused => Wait::Refused,
        Failure::TooLong | Failure::Thrash => Wait::TooLong,
        Failure::Overloaded | Failure::Other => Wait::Failure,
    }
}

/// The same, where the harness no longer tries.
fn given_up(failure: Failure) -> Wait {
    match wait(failure) {
        Wait::RateLimit(until) => Wait::LimitReached(until),
        other @ (Wait::Input
        | Wait::Permission
        | Wait::Answer
        | Wait::LimitReached(_)
        | Wait::Failure
        | Wait::Refused
        | Wait::TooLong) => other,
    }
}

/// Whether a dialog of a turn is shown.
pub(super) fn asks(agent: &Agent) -> bool {
    let is_asked = matches!(agent.reason, Reason::NeedsPermission | Reason::NeedsAnswer);
    let hands_off = agent.handing_off().is_some_and(|it| it.stands == TurnStands::Asks);
    agent.state == State::Waiting && is_asked || hands_off
}

/// Whether a turn runs, also of a session that hands off.
pub(super) fn works(agent: &Agent) -> bool {
    let hands_off = agent.handing_off().is_some_and(|it| it.stands == TurnStands::Runs);
    agent.state == State::Working || hands_off
}

impl Hearing {
    /// A hook tells of a prompt.
    pub(super) fn submitted(
        &mut self,
        agent: &Agent,
        text: Fingerprint,
        at: Time,
        now: Time,
        heard: &mut Heard,
    ) {
        // H22.
        let is_its_hook = |blocked: &&mut Blocked| {
            blocked.is_unheard && blocked.text == text && at.since(blocked.at) < HOOKS_APART
        };
        if let Some(blocked) = self.blocked.as_mut().filter(is_its_hook) {
            blocked.is_unheard = false;
            return;
        }
        self.submitted = Some(text);
        (self.running_calls, self.over_at) = (0, None);
        self.turn_at = self.turn_at.max(at);
        self.prompt_at = self.prompt_at.max(Some(at));
        self.prompt_called_at = self.prompt_called_at.max(at);
        self.submitted_at = Some(now);
        (self.background_tasks, self.line.is_awaited) = (0, false);
        // H15.
        let is_asked = asks(agent) || self.asks_unrecorded(agent);
        heard.signs.extend((!is_asked).then_some(Sign::TurnBegan));
    }

    /// H23: whether the model is told at once what is given in reply to this.
    pub fn is_answerable(&self, agent: &Agent, fact: &Fact) -> bool {
        let is_in_turn = works(agent) && self.background_tasks == 0;
        let has_prompt = self.prompt_called_at > self.end_called_at;
        let is_queued =
            matches!(fact.seen, Seen::PromptSubmitted { .. }) && is_in_turn && has_prompt;
        fact.is_answerable && !is_queued
    }

    /// Whether a dialog was heard of that is not in the record yet: the journal takes nothing.
    fn asks_unrecorded(&self, agent: &Agent) -> bool {
        let has_gone_on = self.asked_at <= Some(self.tools_called_at.max(self.end_called_at));
        works(agent) && self.asked_at > Some(agent.since) && !has_gone_on
    }

    /// Since when a dialog has been waiting for a person.
    pub(super) fn asked(&mut self, wait: Wait, at: Time) -> Sign {
        self.asked_at = self.asked_at.max(Some(at));
        Sign::Waits(wait)
    }

    /// H15: a hook of a turn before the last prompt, later than the dialog that is shown. So the dialog
    /// was over when the prompt came.
    pub(super) fn outlived(&self, agent: &Agent, fact: &Fact, at: Time) -> Option<Sign> {
        let is_of_turn = matches!(
            fact.seen,
            Seen::ToolsFinished { in_subagent: false, .. }
                | Seen::ReplyEnded { .. }
                | Seen::TurnOver
                | Seen::CallFailed(_)
                | Seen::Interrupted
        );
        (is_of_turn && self.is_past_dialog(agent, at)).then_some(Sign::TurnBegan)
    }

    /// Whether a dialog is shown that was asked before this.
    fn is_past_dialog(&self, agent: &Agent, at: Time) -> bool {
        asks(agent) && self.asked_at.is_some_and(|asked| at > asked)
    }

    /// H13: of a turn before the one that a prompt has begun; or a prompt of a turn that has ended, or a
    /// question that was answered.
    pub(super) fn is_over(&self, fact: &Fact, at: Time) -> bool {
        let since = match &fact.seen {
            _ if fact.origin != Origin::Hook => return false,
            Seen::PromptSubmitted { .. } | Seen::TurnGoesOn => {
                self.prompt_called_at.max(self.end_called_at)
            }
            Seen::ReplyEnded { .. }
            | Seen::TurnOver
            | Seen::CallFailed(_)
            | Seen::Interrupted
            | Seen::ToolBegan
            | Seen::ToolsFinished { in_subagent: false, .. } => self.prompt_called_at,
            Seen::PermissionAsked { .. } | Seen::QuestionAsked => {
                self.prompt_called_at.max(self.tools_called_at).max(self.end_called_at)
            }
            Seen::SessionBegan(_)
            | Seen::ToolsFinished { in_subagent: true, .. }
            | Seen::IdleTold
            | Seen::Compacted
            | Seen::CompactionAnnounced { .. }
            | Seen::Symptom(_)
            | Seen::StatusLine { .. }
            | Seen::Measured { .. }
            | Seen::Prompt { .. }
            | Seen::PromptBlocked { .. }
            | Seen::Added { .. }
            | Seen::Answered
            | Seen::ToolCalled(_)
            | Seen::ToolAnswered(_)
            | Seen::CaughtUp
            | Seen::Settled
            | Seen::Listed(_)
            | Seen::Silence { .. }
            | Seen::Suspended
            | Seen::Paused(_)
            | Seen::Continued
            | Seen::InputLineDrawn
            | Seen::Keys(_)
            | Seen::Worked(_)
            | Seen::Committed => return false,
        };
        at < since
    }

    /// A hook tells that the model's reply is complete.
    pub(super) fn replied(&mut self, background_tasks: u32, at: Time) -> Sign {
        (self.running_calls, self.over_at) = (0, None);
        self.spoke_at = self.spoke_at.max(at);
        self.end_called_at = self.end_called_at.max(at);
        self.background_tasks = background_tasks;
        match background_tasks {
            0 => Sign::Waits(Wait::Input),
            1.. => Sign::BackgroundWork,
        }
    }

    /// H20
    pub(super) fn goes_on(&mut self, at: Time) -> Sign {
        self.turn_at = self.turn_at.max(at);
        (self.prompt_at, self.over_at) = (self.prompt_at.max(Some(at)), None);
        self.prompt_called_at = self.prompt_called_at.max(at);
        self.background_tasks = 0;
        Sign::TurnBegan
    }

    /// H18: a hook tells that the turn is over, and not how it ended.
    pub(super) fn over(&mut self, at: Time) {
        self.running_calls = 0;
        self.end_called_at = self.end_called_at.max(at);
        self.over_at = Some(at);
    }

    /// H9, H18: nothing has been written since the last look.
    pub(super) fn settled(&mut self) -> Option<Sign> {
        self.is_compaction_hinted = false;
        self.over_at.take().map(|_| Sign::Waits(Wait::Input))
    }

    /// A hook tells that a model call failed for good.
    pub(super) fn gave_up(&mut self, failure: Failure, at: Time) -> Sign {
        self.end_called_at = self.end_called_at.max(at);
        Sign::Waits(given_up(failure))
    }

    /// A hook reports that the turn was interrupted.
    pub(super) fn broke_off(&mut self, at: Time) -> Sign {
        self.end_called_at = self.end_called_at.max(at);
        Sign::Waits(Wait::Input)
    }

    /// A hook reports that tool calls of the main loop have finished.
    pub(super) fn finished(
        &mut self,
        agent: &Agent,
        calls: &[CallName],
        at: Time,
        heard: &mut Heard,
    ) {
        let is_again = !calls.is_empty() && calls.iter().all(|call| self.answered.contains(call));
        for call in calls {
            self.open_calls.remove(call);
            self.answered.insert(call.clone());
        }
        if calls.is_empty() {
            self.running_calls = self.running_calls.saturating_sub(1);
        }
        self.spoke_at = self.spoke_at.max(at);
        self.tools_called_at = self.tools_called_at.max(at);
        self.line.is_awaited = false;
        // H2, H13: the turn has ended since.
        let ended_at = self.end.map_or(self.end_called_at, |(end, _)| end.max(self.end_called_at));
        let is_over = at < ended_at || is_again && at == ended_at;
        if is_over && !self.is_past_dialog(agent, at) {
            heard.signs.push(Sign::Progressed);
            return;
        }
        self.background_tasks = 0;
        heard.signs.extend([Sign::TurnBegan, Sign::Progressed]);
    }

    /// H4, H5.
    pub(super) fn idle_told(&self, agent: &Agent, now: Time) -> Option<Sign> {
        let is_limited = agent.reason == Reason::RateLimited
            && !agent.is_past_limit(now.before(IDLE_REPORT_DELAY));
        let has_failed =
            is_limited || matches!(agent.reason, Reason::LimitReached | Reason::ServiceFailed);
        let is_early = now.since(self.turn_at) < IDLE_REPORT_IGNORED_FOR;
        let is_idle = !has_failed && self.background_tasks == 0 && !is_early;
        is_idle.then_some(Sign::StillIdle)
    }

    /// The transcript goes on with a prompt: no tool that was called before is awaited.
    pub(super) fn prompted(&mut self, agent: &Agent, fact: &Fact, at: Time) -> Option<Sign> {
        self.open_calls.clear();
        self.over_at.take_if(|over| *over < at);
        self.turn_at = self.turn_at.max(at);
        if began_by(agent, at) {
            self.begins_by(at);
        }
        // H21.
        let is_unheard = agent.state == State::Waiting && !asks(agent) && at > agent.since;
        (self.announces_busy && !fact.is_old && is_unheard).then_some(Sign::TurnBegan)
    }

    /// A turn began then, whether a hook reported it or not.
    fn begins_by(&mut self, at: Time) {
        self.prompt_at = self.prompt_at.max(Some(at));
        if at > self.spoke_at {
            self.background_tasks = 0;
        }
    }

    pub(super) fn spoke(&mut self, at: Time) {
        // A compaction stands before the next answer.
        if self.is_just_compacted {
            self.figures_from = self.figures_from.max(self.turn_at);
        }
        (self.is_just_compacted, self.is_compaction_hinted) = (false, false);
        self.answer_at = at;
        self.spoke_at = self.spoke_at.max(at);
    }

    /// A call that an earlier session left open is never answered.
    pub(super) fn called(&mut self, agent: &Agent, call: &CallName, at: Time) {
        if began_by(agent, at) && !self.answered.contains(call) {
            self.open_calls.insert(call.clone());
        }
    }

    /// H6: it counts for the session also in a conversation that the session has left.
    pub(super) fn answered(&mut self, agent: &Agent, call: &CallName, at: Time) {
        self.open_calls.remove(call);
        if began_by(agent, at) {
            self.answered.insert(call.clone());
        }
    }

    pub(super) fn interrupted(&mut self, at: Time) {
        self.open_calls.clear();
        self.running_calls = 0;
        self.ends(at, End::Interrupted);
    }

    /// H22: dated after what our hook for the same prompt has changed.
    pub(super) fn blocked(&mut self, agent: &Agent, text: Fingerprint, at: Time) {
        let is_again = self.blocked.is_some_and(|last| at <= last.at);
        let is_heard = self.submitted == Some(text) && self.turn_at.since(at) < HOOKS_APART;
        let since = if agent.state == State::Working { agent.since } else { Time::default() };
        let after = self.turn_at.max(since) + Duration::from_micros(1);
        self.interrupted(if is_heard && !is_again { at.max(after) } else { at });
        if !is_again {
            self.blocked = Some(Blocked { at, text, is_unheard: !is_heard });
            self.submitted.take_if(|_| is_heard);
        }
    }

    pub(super) fn ends(&mut self, at: Time, end: End) {
        self.end = Some((at, end));
    }

    /// H3: what the transcript's last step says, now that nothing follows it.
    pub(super) fn ended(&self, agent: &Agent) -> Option<Sign> {
        let (at, end) = self.end?;
        let is_given_up = agent.reason == Reason::LimitReached;
        let wait = match end {
            End::Interrupted => Wait::Input,
            End::Failed(failure) if is_given_up => given_up(failure),
            End::Failed(failure) => wait(failure),
        };
        // The same wait again may say until when.
        let is_same = agent.state == State::Waiting
            && (is_given_up || agent.reason == Reason::RateLimited)
            && matches!(wait, Wait::RateLimit(_) | Wait::LimitReached(_));
        let is_newer = at > agent.since || is_same || awaits_word(agent);
        let is_last = at > self.turn_at && at > self.spoke_at;
        if is_last && is_newer {
            return Some(Sign::Waits(wait));
        }
        // H15: what followed the end was a prompt that had no dialog in its way.
        let is_outlived = at > self.spoke_at && self.is_past_dialog(agent, at);
        is_outlived.then_some(Sign::TurnBegan)
    }

    /// H17: if the program itself tells what it does, it is up, and its input line is drawn.
    pub(super) fn told_listed(
        &mut self,
        agent: &Agent,
        fact: &Fact,
        listed: Listed,
        since: Time,
    ) -> impl Iterator<Item = Sign> + use<> {
        let is_announced = fact.origin == Origin::Terminal;
        self.line.is_awaited &= !is_announced;
        if is_announced {
            self.announces_busy = listed == Listed::Busy;
        }
        let listed = self.listed(agent, listed, since);
        is_announced.then_some(Sign::Drawn).into_iter().chain(listed)
    }

    /// H5, H10, H12: another opinion, which the agent's record weighs by its time.
    pub(super) fn listed(&mut self, agent: &Agent, listed: Listed, since: Time) -> Option<Sign> {
        self.line.is_in_menu = listed == Listed::Menu;
        if !self.is_caught_up {
            self.held_listing = Some((listed, since));
            return None;
        }
        if self.listing.is_none_or(|(_, latest)| since >= latest) {
            self.listing = Some((listed, since));
        }
        let wait = match listed {
            Listed::Busy => {
                self.begins_by(since);
                if self.is_past_dialog(agent, since) {
                    return Some(Sign::TurnBegan);
                }
                None
            }
            Listed::Idle if self.background_tasks > 0 => return None,
            Listed::Idle if self.prompt_at.is_none_or(|prompted| since <= prompted) => return None,
            Listed::Idle => Some(Wait::Input),
            Listed::Permission => return Some(self.listed_asking(agent, Wait::Permission, since)),
            Listed::Question => return Some(self.listed_asking(agent, Wait::Answer, since)),
            // Whoever opened it knows.
            Listed::Menu => return None,
        };
        Some(Sign::VendorStatus { wait, since })
    }

    /// H15: a dialog that the list has, against a turn that was concluded from a prompt or from nothing.
    fn listed_asking(&mut self, agent: &Agent, wait: Wait, since: Time) -> Sign {
        let is_latest = self.listing.is_some_and(|(_, latest)| since == latest);
        let stands = is_latest && since > self.spoke_at.max(self.end_called_at);
        if stands && works(agent) {
            return self.asked(wait, since);
        }
        if is_latest {
            self.asked_at = self.asked_at.max(Some(since));
        }
        Sign::VendorStatus { wait: Some(wait), since }
    }

    /// The transcript has been read to its end: what it ends with, then what the list had meanwhile.
    pub(super) fn caught_up(&mut self, agent: &Agent) -> Vec<Sign> {
        self.is_caught_up = true;
        // H21: what was announced before the turn was broken off is told to the next daemon again.
        let is_last = |at: Time| at > self.turn_at && at > self.spoke_at;
        let is_broken_off = self.announces_busy && self.end.is_some_and(|(at, _)| is_last(at));
        let is_stale = |(listed, _): &(Listed, Time)| *listed == Listed::Busy && is_broken_off;
        let held = self.held_listing.take().filter(|held| !is_stale(held));
        let held = held.and_then(|(listed, since)| self.listed(agent, listed, since));
        let ended = self.ended(agent);
        if ended.is_some() {
            self.over_at = None;
        }
        ended.into_iter().chain(held).collect()
    }
}
