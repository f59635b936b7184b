//! The smallest HTTP client that shows the bytes: one request, one connection.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use understudy::Understudy;

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// In lower case, one per line.
    pub head: String,
    /// Without the framing of chunks.
    pub body: String,
    /// Whether the last chunk was there, and not only the end of the connection.
    pub is_whole: bool,
}

/// A request on its way.
#[derive(Debug)]
pub struct Call {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A request of the main loop: it offers a tool.
pub fn prompt(text: &str) -> Value {
    json!({
        "model": "model-1", "stream": true, "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": text }],
    })
}

pub fn call(server: &Understudy, path: &str, headers: &[(&str, &str)], body: &Value) -> Call {
    send(server, "POST", path, headers, &body.to_string())
}

pub fn post(server: &Understudy, path: &str, body: &Value) -> Response {
    call(server, path, &[], body).response()
}

pub fn get(server: &Understudy, path: &str) -> Value {
    let response = send(server, "GET", path, &[], "").response();
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_str(&response.body).unwrap()
}

/// The events of a stream.
pub fn events(response: &Response) -> Vec<Value> {
    let data = response.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The text that a stream of Anthropic's wire spells.
pub fn text(response: &Response) -> String {
    let events = events(response);
    events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
}

pub fn send(
    server: &Understudy,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Call {
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(understudy::PATIENCE)).unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    write!(stream, "{head}\r\n{body}").unwrap();
    Call { stream, received: Vec::new() }
}

impl Call {
    /// Reads until these words have come, and no more than was sent with them.
    pub fn read_until(&mut self, words: &str) {
        while !String::from_utf8_lossy(&self.received).contains(words) {
            let mut piece = [0; 512];
            let count = self.stream.read(&mut piece).unwrap();
            assert!(count > 0, "ended before {words}: {self:?}");
            self.received.extend_from_slice(&piece[..count]);
        }
    }

    pub fn response(mut self) -> Response {
        self.stream.read_to_end(&mut self.received).unwrap();
        let text = String::from_utf8(self.received).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        let is_chunked = head.contains("transfer-encoding: chunked");
        let (body, is_whole) = if is_chunked { join(body) } else { (body.into(), true) };
        Response { status, head, body, is_whole }
    }
}

fn join(mut chunks: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return (body, true);
        }
        body += &rest[..length];
        chunks = &rest[length + 2..];
    }
    (body, false)
}
