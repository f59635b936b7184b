//! The SQL of messages: how far each has come, and in which mailbox it is. Written with the events themselves.

use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::name::NameKey;
use perennial_core::text::Digest;
use perennial_core::time::Time;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params};

use super::derived::{time, word};
use crate::journal::ReadError;
use crate::projection::{
    MailQuery, MessageChange, MessageRow, MessageRows, MessageStep, MessagesOf,
};
use crate::stored::{Word, mail};

const OPERATOR_KEY: &[u8] = b"operator";
/// As long as an agent's id; a role's name follows.
const ROLE_KEY: &[u8] = b"mailbox of role:";

pub(super) fn put_message(connection: &Connection, change: &MessageChange) -> rusqlite::Result<()> {
    match change {
        MessageChange::New(row) => {
            let mut statement = connection.prepare_cached(
                "INSERT OR REPLACE INTO message (message, agent, sender, head, digest, recorded_at,
                     step, session, changed_at, mail, thread)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            statement.execute(params![
                row.message.0.to_be_bytes(),
                mailbox_key(&row.mailbox),
                mail::written_sender(row.sender),
                row.head,
                row.digest.map(|digest| digest.0),
                row.recorded_at.0.cast_signed(),
                Word::word(row.step),
                row.session.map(|number| number.0),
                row.changed_at.0.cast_signed(),
                row.mail.as_deref().map(mail::written),
                row.mail.as_ref().map(|mail| mail.thread.0.to_be_bytes()),
            ])?;
        }
        MessageChange::Step { message, step, session, at } => {
            let mut statement = connection.prepare_cached(
                "UPDATE message SET step = ?2, session = coalesce(?3, session), changed_at = ?4
                 WHERE message = ?1",
            )?;
            statement.execute(params![
                message.0.to_be_bytes(),
                Word::word(*step),
                session.map(|number| number.0),
                at.0.cast_signed(),
            ])?;
        }
        MessageChange::Forwarded { message, to, at } => {
            let mut statement = connection.prepare_cached(
                "UPDATE message SET agent = ?2, step = ?3, session = NULL, changed_at = ?4
                 WHERE message = ?1",
            )?;
            statement.execute(params![
                message.0.to_be_bytes(),
                mailbox_key(to),
                Word::word(MessageStep::Recorded),
                at.0.cast_signed(),
            ])?;
        }
    }
    Ok(())
}

const MESSAGE: &str = "SELECT message, agent, sender, head, digest, recorded_at, step, session,
    changed_at, mail FROM message";

pub(super) fn message(
    connection: &Connection,
    id: MessageId,
) -> Result<Option<MessageRow>, ReadError> {
    let mut statement = connection.prepare_cached(&format!("{MESSAGE} WHERE message = ?1"))?;
    let mut found = statement.query([id.0.to_be_bytes()])?;
    found.next()?.map(message_row).transpose()
}

/// The newest messages to an agent first.
pub(super) fn messages(
    connection: &Connection,
    to: AgentId,
    limit: usize,
) -> Result<MessageRows, ReadError> {
    let mut statement = connection.prepare_cached(&format!(
        "{MESSAGE} WHERE agent = ?1 ORDER BY recorded_at DESC, message DESC LIMIT ?2"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    rows_of(statement.query(params![to.0.to_be_bytes(), limit])?)
}

/// The messages first that were recorded first.
pub(super) fn messages_since(
    connection: &Connection,
    whose: MessagesOf,
    changed: Time,
    behind: (Time, MessageId),
    limit: usize,
) -> Result<MessageRows, ReadError> {
    let (column, key, box_key) = match whose {
        MessagesOf::To(id) => {
            let key = mailbox_key(&Mailbox::Agent(id));
            ("agent", Value::Blob(key.clone()), key)
        }
        MessagesOf::ToOperatorFrom(id) => {
            let sender = mail::written_sender(Sender::Agent(id));
            ("mail IS NOT NULL AND sender", Value::Text(sender), OPERATOR_KEY.to_vec())
        }
    };
    let mut statement = connection.prepare_cached(&format!(
        "{MESSAGE} WHERE {column} = ?1 AND +agent = ?2 AND changed_at >= ?3
         AND (recorded_at, message) > (?4, ?5) ORDER BY recorded_at, message LIMIT ?6"
    ))?;
    rows_of(statement.query(params![
        key,
        box_key,
        changed.0.cast_signed(),
        behind.0.0.cast_signed(),
        behind.1.0.to_be_bytes(),
        i64::try_from(limit).unwrap_or(i64::MAX),
    ])?)
}

/// The newest mails first.
pub(super) fn mail(
    connection: &Connection,
    query: &MailQuery<'_>,
    before: Option<(Time, MessageId)>,
    limit: usize,
) -> Result<MessageRows, ReadError> {
    let (column, key) = match query {
        MailQuery::To(mailbox) => ("agent", Value::Blob(mailbox_key(mailbox))),
        MailQuery::From(sender) => ("sender", Value::Text(mail::written_sender(*sender))),
        MailQuery::Thread(thread) => ("thread", Value::Blob(thread.0.to_be_bytes().to_vec())),
    };
    let mut statement = connection.prepare_cached(&format!(
        "{MESSAGE} WHERE {column} = ?1 AND mail IS NOT NULL AND (recorded_at, message) < (?2, ?3)
         ORDER BY recorded_at DESC, message DESC LIMIT ?4"
    ))?;
    let (at, id) = before.map_or((i64::MAX, u128::MAX), |(at, id)| (at.0.cast_signed(), id.0));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    rows_of(statement.query(params![key, at, id.to_be_bytes(), limit])?)
}

fn rows_of(mut found: rusqlite::Rows<'_>) -> Result<MessageRows, ReadError> {
    let mut listed = MessageRows::default();
    while let Some(row) = found.next()? {
        match message_row(row) {
            Ok(row) => listed.rows.push(row),
            Err(_) => listed.unreadable += 1,
        }
    }
    Ok(listed)
}

pub(super) fn message_row(row: &Row<'_>) -> Result<MessageRow, ReadError> {
    let damaged = |id: Vec<u8>| ReadError::Row { table: "message", value: format!("{id:02x?}") };
    let message: [u8; 16] = row.get::<_, Vec<u8>>(0)?.try_into().map_err(damaged)?;
    let digest = row.get::<_, Option<Vec<u8>>>(4)?;
    let digest = digest.map(|bytes| bytes.try_into().map_err(damaged)).transpose()?;
    let mail = row.get::<_, Option<String>>(9)?;
    let unread = |mail: &String| ReadError::Row { table: "message", value: mail.clone() };
    let mail = mail.map(|mail| mail::read(&mail).ok_or_else(|| unread(&mail))).transpose()?;
    Ok(MessageRow {
        message: MessageId(u128::from_be_bytes(message)),
        mailbox: mailbox(row.get(1)?)?,
        sender: sender(&row.get::<_, String>(2)?)?,
        head: row.get(3)?,
        digest: digest.map(Digest),
        recorded_at: time(row.get(5)?),
        step: word("message", row.get(6)?)?,
        session: row.get::<_, Option<u32>>(7)?.map(SessionNumber),
        changed_at: time(row.get(8)?),
        mail: mail.map(Box::new),
    })
}

/// What a mailbox is found by: longer or shorter than an agent's id, for all others.
pub(super) fn mailbox_key(mailbox: &Mailbox) -> Vec<u8> {
    match mailbox {
        Mailbox::Agent(id) => id.0.to_be_bytes().to_vec(),
        Mailbox::Role(key) => [ROLE_KEY, key.as_str().as_bytes()].concat(),
        Mailbox::Operator => OPERATOR_KEY.to_vec(),
    }
}

fn mailbox(key: Vec<u8>) -> Result<Mailbox, ReadError> {
    let damaged = |key: &[u8]| ReadError::Row { table: "message", value: format!("{key:02x?}") };
    if key == OPERATOR_KEY {
        return Ok(Mailbox::Operator);
    }
    match key.strip_prefix(ROLE_KEY) {
        Some(role) if !role.is_empty() => {
            let role = std::str::from_utf8(role).map_err(|_| damaged(&key))?;
            Ok(Mailbox::Role(NameKey::of(role)))
        }
        Some(_) | None => {
            let id: [u8; 16] = key.try_into().map_err(|key: Vec<u8>| damaged(&key))?;
            Ok(Mailbox::Agent(AgentId(u128::from_be_bytes(id))))
        }
    }
}

fn sender(word: &str) -> Result<Sender, ReadError> {
    let damaged = |_| ReadError::Row { table: "message", value: word.to_owned() };
    mail::sender(word).map_err(damaged)
}
