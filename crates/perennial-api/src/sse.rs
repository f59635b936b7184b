//! A feed of server-sent events: each message with its id, comments skipped.
//!
//! It never reconnects by itself: whoever follows decides whether to resume from the last id.

use std::io::{self, BufReader, Read};

use crate::attended::Attended;
use crate::http::{self, Body};

/// The kind of the last message to a reader that did not read; its data is a problem.
pub const DROPPED: &str = "dropped";

/// The longest event that is read.
const MESSAGE_LIMIT: usize = 4 << 20;

/// One event of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSentEvent {
    pub id: Option<String>,
    /// Which kind of message it is, where the feed has several.
    pub event: Option<String>,
    pub data: String,
}

/// Messages as they come; ends when the daemon ends.
#[derive(Debug)]
pub struct Feed<R = Attended> {
    source: BufReader<Body<R>>,
    line: Vec<u8>,
}

impl<R: Read> Feed<R> {
    pub(crate) fn new(body: Body<R>) -> Feed<R> {
        Feed { source: BufReader::new(body), line: Vec::new() }
    }

    /// The next message; nothing when the feed has ended, in whatever way.
    pub fn next_message(&mut self) -> io::Result<Option<ServerSentEvent>> {
        let mut message = ServerSentEvent::default();
        let mut has_data = false;
        let mut left = MESSAGE_LIMIT;
        loop {
            match http::read_line(&mut self.source, &mut self.line, &mut left) {
                Ok(()) => {}
                // A message that breaks off was not sent; its id was not seen either.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.line.is_empty() {
                if has_data {
                    return Ok(Some(message));
                }
                left = MESSAGE_LIMIT;
                continue;
            }
            let line = String::from_utf8_lossy(&self.line);
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => message.id = Some(value.to_owned()),
                "event" => message.event = Some(value.to_owned()),
                "data" => {
                    if has_data {
                        message.data.push('\n');
                    }
                    message.data.push_str(value);
                    has_data = true;
                }
                // Comments keep the connection alive; other fields are for browsers.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(bytes: &[u8]) -> Vec<ServerSentEvent> {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.extend_from_slice(bytes);
        let (_, body) = http::read(&answer[..]).unwrap();
        let mut feed = Feed::new(body);
        std::iter::from_fn(|| feed.next_message().unwrap()).collect()
    }

    #[test]
    fn messages_comments_and_a_torn_end() {
        let seen = messages(
            b": hello\n\nid: 7\nevent: e\ndata: {\"a\":1}\n\n:keep-alive\n\ndata:x\r\ndata: y\r\n\r\nid: 9\ndata: torn",
        );
        assert_eq!(
            seen,
            [
                ServerSentEvent {
                    id: Some("7".into()),
                    event: Some("e".into()),
                    data: "{\"a\":1}".into()
                },
                ServerSentEvent { id: None, event: None, data: "x\ny".into() },
            ]
        );
    }

    #[test]
    fn an_endless_message_is_refused() {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\ndata: ".to_vec();
        bytes.resize(MESSAGE_LIMIT + 100, b'x');
        let (_, body) = http::read(&bytes[..]).unwrap();
        let error = Feed::new(body).next_message().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
