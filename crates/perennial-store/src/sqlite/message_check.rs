//! The table of messages, and their texts, held against the records that they follow from. Changes nothing.
//!
//! Streams of messages and rows of the table are both in the order of the messages' ids: one walk over both is
//! enough, and only one message at a time is in memory.

use perennial_core::entity::Entity;
use perennial_core::id::MessageId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use super::{messages, rows};
use crate::journal::{ReadError, Version};
use crate::projection::{MessageChange, MessageFault, MessageRow};
use crate::record::Record;
use crate::text;

/// More than any message has: it is offered a few times at most.
const RECORDS_MAX: usize = 10_000;

/// The columns of `messages::message_row`, and two more.
const ROWS: &str = "SELECT message, agent, sender, head, digest, recorded_at, step, session,
    changed_at, mail, thread, (SELECT body FROM text WHERE text.digest = message.digest)
    FROM message ORDER BY message";

/// All faults, in the order of the messages.
pub(super) fn faults(connection: &Connection) -> Result<Vec<MessageFault>, ReadError> {
    // Both tables as they are at one moment.
    let reading = connection.unchecked_transaction()?;
    let mut statement = reading.prepare(ROWS)?;
    let mut table = Table { rows: statement.query([])?, next: None, faults: Vec::new() };
    table.advance()?;
    let mut told: Option<Told> = None;
    rows::each_of_messages(&reading, |record| {
        let Some(Entity::Message(message)) = record.stream else { return Ok(()) };
        if told.as_ref().is_some_and(|told| told.message != message) {
            table.compare(told.take())?;
        }
        told.get_or_insert_with(|| Told::new(message)).add(record);
        Ok(())
    })?;
    table.compare(told)?;
    while let Some(lying) = table.next.take() {
        table.foreign(lying.message);
        table.advance()?;
    }
    Ok(table.faults)
}

/// The row that the records of a message lead to; nothing where one of them can't be read.
pub(super) fn remade(
    connection: &Connection,
    message: MessageId,
) -> rusqlite::Result<Option<MessageRow>> {
    let stream = Entity::Message(message);
    let from = rows::From::After(Version(0));
    let mut told = Told::new(message);
    rows::read_stream(connection, &stream, from, RECORDS_MAX)?
        .into_iter()
        .for_each(|record| told.add(record));
    Ok(told.row.filter(|_| !told.is_in_doubt))
}

/// A message as its records tell it.
struct Told {
    message: MessageId,
    row: Option<MessageRow>,
    /// A record can't be read, which is told by itself: nobody knows what the row should be.
    is_in_doubt: bool,
}

impl Told {
    fn new(message: MessageId) -> Told {
        Told { message, row: None, is_in_doubt: false }
    }

    fn add(&mut self, record: Record) {
        match record.event {
            Ok(event) => {
                if let Some(change) = MessageChange::of(&event) {
                    self.row = change.applied(self.row.take());
                }
            }
            Err(_) => self.is_in_doubt = true,
        }
    }
}

/// A row as it lies in the table.
struct Lying {
    /// `None`: not the length of an id.
    message: Option<MessageId>,
    /// `None`: it says nothing.
    row: Option<MessageRow>,
    thread: Option<MessageId>,
    /// Its text is there, and is the one that the row names.
    has_text: bool,
}

impl Lying {
    fn of(row: &Row<'_>) -> rusqlite::Result<Lying> {
        let id = |bytes: Vec<u8>| Some(MessageId(u128::from_be_bytes(bytes.try_into().ok()?)));
        let read = messages::message_row(row).ok();
        let digest = read.as_ref().and_then(|row| row.digest);
        let body = match row.get_ref(11)? {
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok(),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => None,
        };
        let has_text =
            digest.is_none_or(|digest| body.is_some_and(|body| text::digest(body) == digest));
        let message = row.get::<_, Vec<u8>>(0).ok().and_then(id);
        let thread = row.get::<_, Option<Vec<u8>>>(10)?.and_then(id);
        Ok(Lying { message, row: read, thread, has_text })
    }

    /// Whether it is what the records lead to.
    fn is(&self, told: &MessageRow) -> bool {
        let thread = told.mail.as_ref().map(|mail| mail.thread);
        self.row.as_ref() == Some(told) && self.thread == thread
    }
}

struct Table<'a> {
    rows: Rows<'a>,
    /// The first that nothing was held against yet.
    next: Option<Lying>,
    faults: Vec<MessageFault>,
}

impl Table<'_> {
    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = self.rows.next()?.map(Lying::of).transpose()?;
        Ok(())
    }

    /// Holds the table against a message; what lies before that is nobody's.
    fn compare(&mut self, told: Option<Told>) -> Result<(), ReadError> {
        let Some(Told { message, row, is_in_doubt }) = told else { return Ok(()) };
        while let Some(lying) =
            self.next.take_if(|lying| lying.message.is_none_or(|lying| lying < message))
        {
            self.foreign(lying.message);
            self.advance()?;
        }
        let lying = self.next.take_if(|lying| lying.message == Some(message));
        if lying.is_some() {
            self.advance()?;
        }
        match (row, lying) {
            _ if is_in_doubt => {}
            (Some(told), Some(lying)) if lying.is(&told) => {
                self.faults.extend((!lying.has_text).then_some(MessageFault::Text(message)));
            }
            (Some(_), Some(_) | None) => self.faults.push(MessageFault::Row(message)),
            (None, Some(_)) => self.faults.push(MessageFault::Foreign(message)),
            (None, None) => {}
        }
        Ok(())
    }

    fn foreign(&mut self, message: Option<MessageId>) {
        self.faults.push(message.map_or(MessageFault::Nameless, MessageFault::Foreign));
    }
}
