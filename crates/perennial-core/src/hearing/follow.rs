//! The conversation of a session: which one it is in, and how it came there.

use super::{Heard, Hearing};
use crate::agent::Agent;
use crate::conversation::{ConversationId, Followed, Opening};
use crate::fact::{Fact, Origin, Seen};
use crate::observation::Sign;
use crate::time::Time;

impl Hearing {
    /// H14: a hook names the conversation that the session was in when it was called.
    pub(super) fn names(&mut self, named: &ConversationId, at: Time) {
        if self.named.as_ref().is_none_or(|(before, _)| at >= *before) {
            self.named = Some((at, named.clone()));
        }
    }

    /// H14: whether this fact is of the conversation that the session is in, as far as was heard.
    pub(super) fn is_in(&self, agent: &Agent, fact: &Fact) -> bool {
        let Some(known) = &agent.conversations else { return false };
        let is_named = self.named.as_ref().is_none_or(|(_, named)| *named == known.current);
        fact.conversation.as_ref() == Some(&known.current) && is_named
    }

    /// Whether the fact is of the conversation that the record has.
    pub(super) fn is_own(&self, agent: &Agent, fact: &Fact) -> bool {
        let current = agent.conversations.as_ref().map(|known| &known.current);
        match (&fact.conversation, current) {
            (Some(named), Some(current)) => named == current,
            (None, _) | (_, None) => true,
        }
    }

    /// Whether what was written before is of the conversation before: the session begins another one, and has not
    /// announced it yet.
    pub(super) fn is_of_former(&self, agent: &Agent, fact: &Fact) -> bool {
        let Some(session) = agent.session.as_ref().filter(|session| !session.has_announced) else {
            return false;
        };
        match &session.opening {
            Opening::Fresh(own) | Opening::Anew { conversation: own, .. } => {
                fact.is_old && fact.conversation.as_ref().is_some_and(|named| named != own)
            }
            Opening::Bare | Opening::Resume { .. } => false,
        }
    }

    /// A hook tells that the session is in a conversation, and how it came there.
    pub(super) fn began(
        &mut self,
        agent: &Agent,
        fact: &Fact,
        how: Followed,
        at: Time,
        now: Time,
        heard: &mut Heard,
    ) {
        let Some(conversation) = fact.conversation.clone() else { return };
        let is_known = self.is_own(agent, fact)
            && agent.session.as_ref().is_some_and(|session| session.has_announced);
        if self.is_begun_again(agent, fact, &conversation, how, at) {
            return;
        }
        self.explained = Some(conversation.clone());
        // H9: a window begins when the transcript has it.
        let how = match how {
            Followed::Compacted if self.has_transcript => {
                self.hint_at_compaction();
                if is_known {
                    return;
                }
                Followed::Resumed
            }
            Followed::Started
            | Followed::Resumed
            | Followed::Cleared
            | Followed::Compacted
            | Followed::Forked => how,
        };
        self.turn_at = self.turn_at.max(at);
        match how {
            // The kernel's word says nothing of the line: the program has announced that itself, or will. Nor does a
            // word that was kept: whatever showed the line came before it was heard (H26).
            Followed::Started | Followed::Resumed | Followed::Forked => {
                self.line.is_awaited |= fact.origin != Origin::Kernel && !fact.is_old;
            }
            Followed::Cleared => {}
            Followed::Compacted => {
                (self.compacted_at, self.compaction_told_at) = (self.compacted_at.max(at), at);
            }
        }
        if how == Followed::Compacted {
            heard.signs.extend(self.unannounced(agent));
            self.leave_window(at, now);
        } else if how.begins_a_window() {
            (self.sample, self.window_from) = (None, Some(at));
            (self.said_at, self.announced_at) = (None, None);
        }
        if !self.is_own(agent, fact) {
            (self.is_just_compacted, self.is_compaction_hinted) = (false, false);
        }
        heard.signs.push(match how {
            Followed::Cleared if is_known => Sign::WindowBegan,
            Followed::Started
            | Followed::Resumed
            | Followed::Cleared
            | Followed::Compacted
            | Followed::Forked => Sign::Began { conversation, how },
        });
    }

    /// H2: but for a compaction, what begins has a conversation of its own.
    fn is_begun_again(
        &mut self,
        agent: &Agent,
        fact: &Fact,
        conversation: &ConversationId,
        how: Followed,
        at: Time,
    ) -> bool {
        let is_own = self.is_own(agent, fact);
        let has_announced = agent.session.as_ref().is_some_and(|session| session.has_announced);
        let is_known = is_own && has_announced;
        let unexplained = self.unexplained.take_if(|(named, _)| named == conversation);
        // The hook was overtaken: what the clock passed was of the window before.
        let is_late = unexplained.is_some_and(|(_, passed)| agent.clock.passed == passed);
        // One that was left since is begun no second time.
        let known = agent.conversations.as_ref();
        let is_opening = agent.session.as_ref().is_some_and(|session| {
            session.has_announced && session.taken_up() == Some(conversation)
        });
        let was_left = known.is_some_and(|known| known.earlier.contains(conversation))
            || is_opening && !is_own;
        match how {
            Followed::Compacted => {
                at <= self.compaction_told_at || self.compaction_told_at > self.spoke_at
            }
            Followed::Resumed => is_known,
            Followed::Cleared => was_left || is_known && !is_late,
            Followed::Started | Followed::Forked => was_left || is_known,
        }
    }
}

/// A hook names another conversation than the record has: how the session came there was not heard.
/// One that was left is taken up again only with a prompt: anything else may be late.
pub(super) fn follow(agent: &Agent, fact: &Fact) -> Option<Sign> {
    let named: &ConversationId =
        fact.conversation.as_ref().filter(|_| fact.origin == Origin::Hook)?;
    let is_known = match &agent.conversations {
        Some(known) => {
            let is_prompt = matches!(fact.seen, Seen::PromptSubmitted { .. });
            known.current == *named || (known.earlier.contains(named) && !is_prompt)
        }
        None => false,
    };
    let tells_itself = matches!(fact.seen, Seen::SessionBegan(_));
    let how = if is_to_begin(agent, named) { Followed::Started } else { Followed::Resumed };
    let sign = Sign::Began { conversation: named.clone(), how };
    (!is_known && !tells_itself).then_some(sign)
}

/// Whether a session that said nothing yet was started to begin this conversation.
fn is_to_begin(agent: &Agent, named: &ConversationId) -> bool {
    let silent = agent.session.as_ref().filter(|session| !session.has_announced);
    silent.is_some_and(|session| match &session.opening {
        Opening::Fresh(own) | Opening::Anew { conversation: own, .. } => own == named,
        Opening::Bare | Opening::Resume { .. } => false,
    })
}
