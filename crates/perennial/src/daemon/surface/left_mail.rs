//! What became of the mail that an agent had not read when it was buried. Decides nothing: the core has sent it on or
//! back in the batch of the burial, and the journal is asked where each mail is now.

use std::collections::{BTreeMap, BTreeSet};

use perennial_api::answer::{LeftMail, MailFate};
use perennial_core::id::{AgentId, MessageId};
use perennial_core::message::{self, Mailbox, MessageStep, Sender};
use perennial_store::{MessageRow, Store};

use super::Surface;
use super::answer::ProblemResponse;
use crate::daemon::driving::driver::FleetView;
use crate::daemon::showing::view;

impl Surface {
    /// The unread mail of an agent that is about to be buried. One that arrives between this look and the burial is
    /// sent on like the others, but not counted among them.
    pub async fn unread_of(&self, target: &str) -> Result<Vec<MessageId>, ProblemResponse> {
        let target = target.to_owned();
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            let Ok(agent) = fleet.find(&target) else { return Vec::new() };
            let waiting = fleet.messages().within(&Mailbox::Agent(agent.id));
            waiting.filter(|message| message.mail().is_some()).map(|message| message.id).collect()
        };
        Ok(self.driver.look(look).await?)
    }

    /// Where these mails of a buried agent are, counted, the largest groups first.
    pub async fn left_mail(
        &self,
        dead: AgentId,
        ids: Vec<MessageId>,
    ) -> Result<Vec<LeftMail>, ProblemResponse> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let read = move |journal: &dyn Store| {
            let mut fates: BTreeMap<(MailFate, Place), u64> = BTreeMap::new();
            for id in ids {
                let Some(row) = journal.message(id)? else { continue };
                let letter = message::returned_letter_id(id);
                let is_told =
                    row.step == MessageStep::Returned && journal.message(letter)?.is_some();
                if let Some(fate) = fate(dead, &row, is_told) {
                    *fates.entry(fate).or_default() += 1;
                }
            }
            Ok(fates)
        };
        let fates = self.read(read).await?;
        let agents: BTreeSet<AgentId> =
            fates.keys().filter_map(|(_, place)| place.agent()).collect();
        let names = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let named =
                agents.into_iter().filter_map(|id| Some((id, view::name(fleet.agent(id)?))));
            named.collect::<BTreeMap<AgentId, String>>()
        });
        let names = names.await?;
        let shown = |((fate, place), count): ((MailFate, Place), u64)| {
            let to = match &place {
                Place::Nobody => None,
                Place::Operator => Some("operator".to_owned()),
                Place::Role(role) => Some(role.clone()),
                Place::Agent(id) => Some(names.get(id).cloned().unwrap_or_else(|| id.to_string())),
            };
            LeftMail { fate, to, count }
        };
        let mut left: Vec<LeftMail> = fates.into_iter().map(shown).collect();
        left.sort_by_key(|group| std::cmp::Reverse(group.count));
        Ok(left)
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Agent(AgentId),
    Role(String),
    Operator,
    Nobody,
}

impl Place {
    fn agent(&self) -> Option<AgentId> {
        match self {
            Place::Agent(id) => Some(*id),
            Place::Role(_) | Place::Operator | Place::Nobody => None,
        }
    }
}

/// `is_told`: its sender got it back. Nothing for what was read or taken back before the burial.
fn fate(dead: AgentId, row: &MessageRow, is_told: bool) -> Option<(MailFate, Place)> {
    match (row.step, &row.mailbox, row.sender) {
        (MessageStep::Seen | MessageStep::Withdrawn, ..) => None,
        (MessageStep::Returned, _, Sender::Person) if is_told => {
            Some((MailFate::Returned, Place::Operator))
        }
        (MessageStep::Returned, _, Sender::Agent(id)) if is_told => {
            Some((MailFate::Returned, Place::Agent(id)))
        }
        (MessageStep::Returned, ..) => Some((MailFate::Undeliverable, Place::Nobody)),
        (_, Mailbox::Agent(next), _) if *next == dead => None,
        (_, Mailbox::Agent(next), _) => Some((MailFate::Forwarded, Place::Agent(*next))),
        (_, Mailbox::Role(role), _) => {
            Some((MailFate::WaitsForRole, Place::Role(role.as_str().to_owned())))
        }
        (_, Mailbox::Operator, _) => Some((MailFate::Forwarded, Place::Operator)),
    }
}
