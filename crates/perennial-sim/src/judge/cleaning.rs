//! What is held against the record of cleaning. Made from the fields of events alone.
//!
//! Rules
//! - JU17 Only a person cleans, and only an agent in the cemetery whose last session has ended. No copy goes that an agent
//!   outside the cemetery has had, that others' records need, or of which nobody knows who needs it; what nobody needs
//!   goes. Of recordings only those of ended sessions go, and the record says that the agent was cleaned.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::conversation::ConversationId;
use perennial_core::event::{AgentEvent, Event, NodeEvent, What};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Witness;

use super::{Judge, Verdict, broken};

const RULE: &str = "JU17: cleaning";

#[derive(Debug, Default)]
pub struct Cleaning {
    /// The conversations that each agent has been in.
    conversations: BTreeMap<AgentId, BTreeSet<ConversationId>>,
    /// Copies that were found and that somebody needs, whoever that is.
    pub needed: BTreeSet<ConversationId>,
    /// Copies that were found and that nobody needs.
    pub free: BTreeSet<ConversationId>,
}

impl Cleaning {
    pub fn conversations(&self, id: AgentId) -> impl Iterator<Item = &ConversationId> {
        self.conversations.get(&id).into_iter().flatten()
    }
}

impl Judge {
    /// JU17, of one append, before its other events are taken in.
    pub(super) fn cleaning_follows(&mut self, events: &[Event]) -> Verdict {
        for event in events {
            let what = &event.what;
            if let What::Agent(id, AgentEvent::ConversationFollowed { conversation, .. }) = what {
                let own = self.cleaning.conversations.entry(*id).or_default();
                own.insert(conversation.clone());
            }
            if let What::Node(_, NodeEvent::AgentCleaned { agent, conversations, by, .. }) = what {
                self.cleaned(*agent, conversations, *by)?;
            }
            if let What::Node(_, NodeEvent::RecordingsPruned { agent, sessions, .. }) = what {
                self.pruned(*agent, sessions, events)?;
            }
        }
        Ok(())
    }

    fn cleaned(&self, id: AgentId, gone: &[ConversationId], by: Witness) -> Verdict {
        if by != Witness::Operator {
            return broken(RULE, format!("{} was cleaned by {by:?}", id.0));
        }
        self.may_be_cleaned(id)?;
        let outside = || self.accounts.iter().filter(|(_, account)| !account.is_in_cemetery());
        for conversation in gone {
            let has_it = |(id, _): &(&AgentId, _)| {
                self.cleaning.conversations(**id).any(|one| one == conversation)
            };
            if let Some((other, _)) = outside().find(has_it) {
                return broken(RULE, format!("{conversation} of {} goes", other.0));
            }
            if self.cleaning.needed.contains(conversation) {
                return broken(RULE, format!("{conversation} goes, and somebody needs it"));
            }
        }
        // Of an agent with a gap nobody may know what it needs.
        let is_certain = !outside().any(|(_, account)| account.has_gap);
        let is_held =
            |(_, account): (&AgentId, &super::Account)| account.has_gap && account.promise.is_held;
        match gone.iter().any(|one| self.cleaning.free.contains(one)) {
            true if outside().any(is_held) => {
                broken(RULE, format!("copies of {} go while a record is unreadable", id.0))
            }
            false if is_certain => broken(RULE, format!("a copy of {} stays for nobody", id.0)),
            true | false => Ok(()),
        }
    }

    fn may_be_cleaned(&self, id: AgentId) -> Verdict {
        match self.accounts.get(&id) {
            Some(account) if account.has_gap => Ok(()),
            Some(account) if account.is_in_cemetery() && !account.has_session() => Ok(()),
            Some(account) => broken(RULE, format!("{} is {:?}", id.0, account.state)),
            None => broken(RULE, format!("{} was never born", id.0)),
        }
    }

    fn pruned(&self, id: AgentId, gone: &[SessionNumber], events: &[Event]) -> Verdict {
        self.may_be_cleaned(id)?;
        let account = self.accounts.get(&id).filter(|account| !account.has_gap);
        if let Some(number) = account.and_then(|it| gone.iter().find(|one| **one > it.number)) {
            return broken(RULE, format!("{}.{number} has not been", id.0));
        }
        let is_cleaned = |event: &Event| {
            let What::Node(_, NodeEvent::AgentCleaned { agent, .. }) = &event.what else {
                return false;
            };
            *agent == id
        };
        match events.iter().any(is_cleaned) {
            true => Ok(()),
            false => broken(RULE, format!("{} is not recorded as cleaned", id.0)),
        }
    }
}
