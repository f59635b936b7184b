//! Mail: addresses are read here, and mailboxes are listed; who gets a mail is decided by the core.
//!
//! Mailboxes are read from the table of messages; what is unread is in memory. A text is read only through its
//! mail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::extract::State;
use perennial_api::mail::{Mail, MailList, SUBJECT_LIMIT, TEXT_LIMIT};
use perennial_api::{query, request};
use perennial_core::authority::{Caller, Standing};
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, MessageId};
use perennial_core::message::{
    self, Addressee, MailDraft, MailKind, Mailbox, Message, Priority, Sender,
};
use perennial_core::reason::Verb;
use perennial_core::state::Roster;
use perennial_core::task;
use perennial_core::visibility::{Private, Sight};
use perennial_engine::harness::mail_texts;
use perennial_store::{MailQuery, MessageRow, Store, text};

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query};
use super::{Shared, Surface, short_id};
use crate::daemon::driving::driver::{Closing, FleetView};
use crate::daemon::showing::problems as all_problems;
use crate::daemon::showing::problems::mail as problems;
use crate::daemon::showing::{sentences, view};
use crate::daemon::surface::checks;
use crate::daemon::time;
use crate::project_file;
use crate::roles;

/// How many are listed unless the caller says otherwise, and at most.
const LISTED: usize = 20;
const LISTED_MAX: usize = 1000;
/// At most this many are read at once.
const READ_MAX: usize = 50;
/// Without ids, this many.
const READ_UNREAD: usize = 10;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(asked): Query<query::Mail>,
) -> Answer {
    surface.authorise(caller, Verb::Mail, None).await?;
    let mailbox = surface.mailbox(caller, asked.mailbox.as_deref()).await?;
    let is_own = own_mailbox(caller).is_ok_and(|own| own == mailbox) && !asked.sent;
    let limit = asked.limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
    let unread = surface.unread(&mailbox).await?;
    let sender = match asked.sent {
        true => Some(sender_of(&mailbox).ok_or_else(|| ProblemResponse(problems::sends_none()))?),
        false => None,
    };
    let before = match &asked.before {
        Some(id) => Some(surface.readable(caller, id).await?),
        None => None,
    };
    let before = before.map(|row| (row.recorded_at, row.message));
    // One more says whether there are more.
    let read_max = limit + 1;
    let mut rows = if let Some(id) = &asked.thread {
        let row = surface.readable(caller, id).await?;
        let thread = row.mail.map_or(row.message, |mail| mail.thread);
        let read =
            move |journal: &dyn Store| journal.mail(MailQuery::Thread(thread), before, read_max);
        surface.read(read).await?.rows
    } else if asked.unread {
        let mut listed = match sender {
            Some(sender) => surface.unread_from(sender).await?,
            None => unread.clone(),
        };
        listed.reverse();
        listed.truncate(if before.is_some() { usize::MAX } else { read_max });
        let mut rows = surface.mail_rows(listed).await?;
        rows.retain(|row| before.is_none_or(|before| (row.recorded_at, row.message) < before));
        rows
    } else {
        let read = move |journal: &dyn Store| match sender {
            Some(sender) => journal.mail(MailQuery::From(sender), before, read_max),
            None => journal.mail(MailQuery::To(&mailbox), before, read_max),
        };
        surface.read(read).await?.rows
    };
    let has_older = rows.len() > limit;
    rows.truncate(limit);
    // A thread, and what another agent has sent, may hold mail that is not for this caller.
    let mut mails = surface.mails(surface.of_sight(caller, rows).await?).await?;
    mails.retain(|mail| !asked.unread || mail.unread);
    for mail in mails.iter_mut().filter(|_| is_own) {
        mail.why.take_if(|why| why == sentences::READER);
    }
    json(&MailList { unread: unread.len() as u64, has_older, mails })
}

/// Who writes from this mailbox.
fn sender_of(mailbox: &Mailbox) -> Option<Sender> {
    match mailbox {
        Mailbox::Agent(id) => Some(Sender::Agent(*id)),
        Mailbox::Operator => Some(Sender::Person),
        Mailbox::Role(_) => None,
    }
}

fn own_mailbox(caller: Caller) -> Result<Mailbox, ProblemResponse> {
    match caller {
        Caller::Person => Ok(Mailbox::Operator),
        Caller::Agent(id) => Ok(Mailbox::Agent(id)),
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            Err(ProblemResponse(problems::no_mailbox()))
        }
    }
}

impl Surface {
    /// The mailbox that is asked for, if the caller may read it.
    async fn mailbox(
        &self,
        caller: Caller,
        asked: Option<&str>,
    ) -> Result<Mailbox, ProblemResponse> {
        let Some(asked) = asked else { return own_mailbox(caller) };
        let mailbox = match addressee(asked, false)? {
            Addressee::Operator => Mailbox::Operator,
            Addressee::Role { role, .. } => Mailbox::Role(role.key()),
            Addressee::Agent(target) => {
                return Ok(self.may_see(caller, target, Private::Texts).await?.into());
            }
            Addressee::Team(_) => {
                let why = "a team has no mailbox of its own; its members have";
                return Err(ProblemResponse(problems::bad_address(asked, why)));
            }
        };
        match self.sight_of_mailbox(caller, &mailbox).await?.sees_mailbox(&mailbox) {
            true => Ok(mailbox),
            false => Err(ProblemResponse(problems::not_yours(asked))),
        }
    }

    /// The unread mail in a mailbox, the oldest first.
    async fn unread(&self, mailbox: &Mailbox) -> Result<Vec<MessageId>, ProblemResponse> {
        let mailbox = mailbox.clone();
        let look = move |view: &FleetView<'_>| {
            let waiting = view.supervisor.fleet().messages().within(&mailbox);
            waiting.filter(|message| message.mail().is_some()).map(|message| message.id).collect()
        };
        Ok(self.driver.look(look).await?)
    }

    /// Those of the mails that the caller may read.
    async fn of_sight(
        &self,
        caller: Caller,
        rows: Vec<MessageRow>,
    ) -> Result<Vec<MessageRow>, ProblemResponse> {
        let owners: BTreeSet<AgentId> = rows.iter().filter_map(|row| row.mailbox.agent()).collect();
        let sights = self.sights(caller, owners).await?;
        let nobodys = Sight::new(caller, Standing::NoTarget);
        let sight = |row: &MessageRow| {
            row.mailbox.agent().and_then(|owner| sights.get(&owner).copied()).unwrap_or(nobodys)
        };
        Ok(rows.into_iter().filter(|row| sight(row).sees_mail(row.sender, &row.mailbox)).collect())
    }

    /// The unread mail of one sender, the oldest first.
    async fn unread_from(&self, sender: Sender) -> Result<Vec<MessageId>, ProblemResponse> {
        let look = move |view: &FleetView<'_>| {
            let all = view.supervisor.fleet().messages().iter();
            let sent = all.filter(|message| message.mail().is_some() && message.from == sender);
            let mut sent: Vec<&Message> = sent.collect();
            sent.sort_by_key(|message| (message.recorded_at, message.id));
            sent.into_iter().map(|message| message.id).collect()
        };
        Ok(self.driver.look(look).await?)
    }

    async fn mail_rows(&self, ids: Vec<MessageId>) -> Result<Vec<MessageRow>, ProblemResponse> {
        let read = move |journal: &dyn Store| {
            let rows = ids.into_iter().map(|id| journal.message(id));
            rows.filter_map(Result::transpose).collect()
        };
        self.read(read).await
    }

    /// Sends a mail; one for each recipient, once they are durable.
    pub async fn send_mail(
        &self,
        caller: Caller,
        mail: request::Mail,
    ) -> Result<Vec<Mail>, ProblemResponse> {
        self.authorise(caller, Verb::Mail, None).await?;
        let request::Mail { to, reply_to, subject, text, priority, all } = mail;
        let answered = match &reply_to {
            Some(id) => Some(self.readable(caller, id).await?),
            None => None,
        };
        let to = match (to, &answered) {
            (Some(to), _) => self.declared(addressee(&to, all)?).await?,
            (None, Some(row)) => message::reply_address(caller, row.sender, &row.mailbox)
                .map_err(|refusal| all_problems::refusal_to(&refusal))?,
            (None, None) => {
                let why = "the mail names neither a recipient nor a mail that it answers";
                return Err(ProblemResponse(problems::bad_address("", why)));
            }
        };
        let answered = answered.and_then(|row| row.mail);
        let subject = subject.or_else(|| {
            let answered = answered.as_ref()?;
            Some(match answered.subject.strip_prefix("Re: ") {
                Some(_) => answered.subject.clone(),
                None if answered.subject.trim().is_empty() => String::new(),
                None => format!("Re: {}", answered.subject),
            })
        });
        let subject = subject.unwrap_or_default();
        check(&subject, &text)?;
        let draft = MailDraft {
            id: MessageId(uuid::Uuid::now_v7().as_u128()),
            to,
            thread: answered.map(|mail| mail.thread),
            subject: mail_texts::harmless(&subject, SUBJECT_LIMIT),
            priority: priority.map_or(Priority::Normal, of_wire),
            excerpt: mail_texts::excerpt(&text),
            body: text::body(&text),
        };
        let about = self.command(caller, Command::Mail(Box::new(draft))).await?;
        let ids = about.iter().filter_map(Entity::message).collect();
        let rows = self.mail_rows(ids).await?;
        self.mails(rows).await
    }

    /// Reads mails with their texts. Those in the caller's own mailbox count as read.
    pub async fn read_mail(
        &self,
        caller: Caller,
        ids: &[String],
    ) -> Result<Vec<Mail>, ProblemResponse> {
        self.authorise(caller, Verb::Mail, None).await?;
        let own = own_mailbox(caller)?;
        if ids.len() > READ_MAX {
            return Err(ProblemResponse(problems::too_many_ids(ids.len(), READ_MAX)));
        }
        let mut rows = Vec::new();
        for id in ids {
            rows.push(self.readable(caller, id).await?);
        }
        if ids.is_empty() {
            let unread = self.unread(&own).await?.into_iter().take(READ_UNREAD).collect();
            rows = self.mail_rows(unread).await?;
        }
        // Before they count as read: what can't be read is not.
        let digests: Vec<_> = rows.iter().map(|row| row.digest).collect();
        let read = move |journal: &dyn Store| {
            // One that was altered is as lost as one that is gone.
            let text = |digest: Option<_>| match digest {
                Some(it) => Ok(journal.text(it)?.filter(|text| text::digest(text) == it)),
                None => Ok(None),
            };
            digests.into_iter().map(text).collect::<Result<Vec<_>, _>>()
        };
        let mut texts = self.read(read).await?;
        // A letter about a task has its words with it.
        for (text, row) in texts.iter_mut().zip(&rows) {
            let letter = row.mail.as_ref().filter(|mail| task::is_letter(mail));
            *text = text.take().or_else(|| letter.map(|mail| mail.excerpt.clone()));
        }
        let is_own = |row: &&MessageRow| row.mailbox == own && !row.step.is_final();
        let ids: Vec<MessageId> = rows.iter().filter(is_own).map(|row| row.message).collect();
        if !ids.is_empty() {
            self.command(caller, Command::ReadMail { ids }).await?;
        }
        let mut mails = self.mails(rows).await?;
        for (mail, text) in mails.iter_mut().zip(texts) {
            mail.text = text;
        }
        Ok(mails)
    }

    /// A mail that the caller may read: its own, one that it sent, and what it sees of others. Of any other the
    /// caller is told what it would be told of one that does not exist.
    async fn readable(&self, caller: Caller, id: &str) -> Result<MessageRow, ProblemResponse> {
        // As it was typed, which `harmless` would change.
        let typed = match id.strip_prefix("msg_") {
            Some(rest) => format!("msg_{}", mail_texts::harmless(rest, 60)),
            None => mail_texts::harmless(id, 64),
        };
        let unknown = || ProblemResponse(problems::no_such_mail(&typed));
        let mut rows = self.mail_rows(self.messages_meant(id).await?).await?;
        rows.retain(|row| row.mail.is_some());
        let mut seen = self.of_sight(caller, rows).await?;
        let meant = seen.iter().map(|row| row.message).collect();
        short_id::one(&typed, meant)?;
        seen.pop().ok_or_else(unknown)
    }

    /// The same address, with what the projects of the agents say of its role. No file is read for a role that is known
    /// anyway.
    pub async fn declared(&self, to: Addressee) -> Result<Addressee, ProblemResponse> {
        let Addressee::Role { role, all, is_declared } = to else { return Ok(to) };
        let key = role.key();
        let projects = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let present = fleet.agents().filter(|agent| agent.state.roster() != Roster::Cemetery);
            let projects = present.map(|agent| agent.launch.project.clone());
            (!message::is_role(fleet, &key)).then(|| projects.collect::<BTreeSet<String>>())
        });
        let Some(projects) = projects.await? else {
            return Ok(Addressee::Role { role, all, is_declared });
        };
        let key = role.key();
        let declares = move |project: &String| {
            // A file with a mistake declares nothing.
            let declared = project_file::of(Path::new(project)).unwrap_or_default().role;
            roles::find(&declared, &key).is_some()
        };
        let found = tokio::task::spawn_blocking(move || projects.iter().any(declares));
        Ok(Addressee::Role { role, all, is_declared: found.await.map_err(|_| Closing)? })
    }

    /// Mails as clients see them.
    async fn mails(&self, rows: Vec<MessageRow>) -> Result<Vec<Mail>, ProblemResponse> {
        let progress = self.shown(rows.clone()).await?;
        let whose: BTreeSet<AgentId> = rows.iter().filter_map(|row| row.mailbox.agent()).collect();
        let names = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let named = whose.into_iter().filter_map(|id| Some((id, view::name(fleet.agent(id)?))));
            named.collect::<BTreeMap<AgentId, String>>()
        });
        let names = names.await?;
        let mail = |(row, progress): (MessageRow, perennial_api::answer::Message)| {
            let mail = row.mail?;
            Some(Mail {
                id: row.message.to_string(),
                thread: mail.thread.to_string(),
                at: time::rfc3339(row.recorded_at),
                from: from(row.sender, mail.sender_name.as_ref().map(ToString::to_string)),
                from_id: match row.sender {
                    Sender::Agent(id) => Some(id.to_string()),
                    Sender::Person | Sender::Perennial => None,
                },
                to: match row.mailbox.agent().and_then(|id| names.get(&id)) {
                    Some(name) => name.clone(),
                    None => row.mailbox.to_string(),
                },
                forwarded_from: mail.forwarded_from(&row.mailbox).map(ToString::to_string),
                role: mail.role,
                returned_to: match mail.kind {
                    MailKind::Letter | MailKind::OfTask { .. } | MailKind::OfHandoff { .. } => None,
                    MailKind::Returned { to } => Some(to),
                },
                subject: mail.subject,
                priority: mail.priority.word().to_owned(),
                unread: matches!(progress.state.as_str(), "waiting" | "offered"),
                state: progress.state,
                why: progress.why,
                session: progress.session,
                head: row.head,
                bytes: mail.text.bytes,
                text: None,
            })
        };
        Ok(rows.into_iter().zip(progress).filter_map(mail).collect())
    }
}

fn from(sender: Sender, name: Option<String>) -> String {
    match sender {
        Sender::Person => "operator".to_owned(),
        Sender::Perennial => "perennial".to_owned(),
        Sender::Agent(id) => name.unwrap_or_else(|| id.to_string()),
    }
}

/// An address as people write it.
fn addressee(to: &str, all: bool) -> Result<Addressee, ProblemResponse> {
    let bad =
        |why: &str| ProblemResponse(problems::bad_address(&mail_texts::harmless(to, 80), why));
    let addressee = match to.split_once(':') {
        Some(("role", role)) => {
            Addressee::Role { role: checks::role(role)?, all, is_declared: false }
        }
        Some(("team", lead)) => Addressee::Team(lead.to_owned()),
        Some(_) => return Err(bad("only `role:` and `team:` may precede a name")),
        None if to == "operator" => Addressee::Operator,
        None if to.is_empty() => return Err(bad("it is empty")),
        None => Addressee::Agent(to.to_owned()),
    };
    if all && !matches!(addressee, Addressee::Role { .. }) {
        return Err(bad("only a role has holders who could all get it"));
    }
    Ok(addressee)
}

fn check(subject: &str, text: &str) -> Result<(), ProblemResponse> {
    if subject.len() > SUBJECT_LIMIT {
        let problem = problems::too_long("subject", subject.len(), SUBJECT_LIMIT);
        return Err(ProblemResponse(problem));
    }
    if text.len() > TEXT_LIMIT {
        return Err(ProblemResponse(problems::too_long("text", text.len(), TEXT_LIMIT)));
    }
    if text.trim().is_empty() && subject.trim().is_empty() {
        return Err(ProblemResponse(problems::empty()));
    }
    Ok(())
}

fn of_wire(priority: request::Priority) -> Priority {
    match priority {
        request::Priority::Low => Priority::Low,
        request::Priority::Normal => Priority::Normal,
        request::Priority::High => Priority::High,
        request::Priority::Urgent => Priority::Urgent,
    }
}
