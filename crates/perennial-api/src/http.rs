//! HTTP/1.1 answers read by hand: head, then a body of known length, in chunks, or until close.
//!
//! The peer is our own daemon on a unix socket, yet nothing it sends is trusted: lines, heads and
//! chunk sizes are bounded. Errors are `io::Error` by kind: `UnexpectedEof` for an answer that
//! breaks off, `InvalidData` for one that is not HTTP.

use std::io::{self, BufRead, BufReader, Read};

pub const HEAD_LIMIT: usize = 16 << 10;
/// Chunk sizes are hexadecimal, with rarely used extensions after them.
const CHUNK_LINE_LIMIT: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The body of an answer, decoded; reading 0 bytes means that it is complete.
#[derive(Debug)]
pub struct Body<R> {
    source: BufReader<R>,
    framing: Framing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// This many bytes are left.
    Length(u64),
    UntilClose,
    /// Between chunks; `first` has no line end before it.
    ChunkLine {
        first: bool,
    },
    InChunk {
        left: u64,
    },
    Complete,
}

/// Reads the head of an answer and gets ready for its body.
pub fn read<R: Read>(source: R) -> io::Result<(Head, Body<R>)> {
    let mut source = BufReader::with_capacity(64 << 10, source);
    let mut left = HEAD_LIMIT;
    let mut line = Vec::new();
    read_line(&mut source, &mut line, &mut left)?;
    let status = parse_status(&line)?;
    let mut headers = Vec::new();
    loop {
        read_line(&mut source, &mut line, &mut left)?;
        if line.is_empty() {
            break;
        }
        headers.push(parse_header(&line)?);
    }
    let head = Head { status, headers };
    let framing = framing(&head)?;
    Ok((head, Body { source, framing }))
}

fn parse_status(line: &[u8]) -> io::Result<u16> {
    let text = str::from_utf8(line).map_err(|_| malformed("the status line is not text"))?;
    let mut words = text.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    if !version.starts_with("HTTP/1.") {
        return Err(malformed("the answer is not HTTP/1"));
    }
    words
        .next()
        .filter(|word| word.len() == 3)
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| malformed("the answer has no status"))
}

fn parse_header(line: &[u8]) -> io::Result<(String, String)> {
    let text = str::from_utf8(line).map_err(|_| malformed("a header is not text"))?;
    let (name, value) = text.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}

fn framing(head: &Head) -> io::Result<Framing> {
    if head.status == 204 || head.status == 304 {
        return Ok(Framing::Complete);
    }
    if let Some(coding) = head.header("transfer-encoding") {
        if coding.eq_ignore_ascii_case("chunked") {
            return Ok(Framing::ChunkLine { first: true });
        }
        return Err(malformed("the answer's transfer coding is unknown"));
    }
    match head.header("content-length") {
        Some(text) => text
            .parse()
            .map(Framing::Length)
            .map_err(|_| malformed("the answer's length is not a number")),
        None => Ok(Framing::UntilClose),
    }
}

impl<R: Read> Body<R> {
    /// The whole body, or `FileTooLarge` when it is longer than `limit`.
    pub fn collect(mut self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Framing::Length(length) = self.framing {
            if length > limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            bytes.reserve_exact(usize::try_from(length).unwrap_or(0));
        }
        (&mut self).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    pub fn get_mut(&mut self) -> &mut R {
        self.source.get_mut()
    }

    /// Reads at most `left` bytes of payload; the end of the stream breaks the answer off.
    fn read_within(&mut self, buffer: &mut [u8], left: u64) -> io::Result<usize> {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match self.source.read(&mut buffer[..wanted])? {
            0 if wanted > 0 => Err(broken_off()),
            count => Ok(count),
        }
    }

    /// The size of the next chunk; zero after the last one, whose trailers are read away.
    fn next_chunk(&mut self, first: bool) -> io::Result<u64> {
        let mut line = Vec::new();
        if !first {
            read_line(&mut self.source, &mut line, &mut { CHUNK_LINE_LIMIT })?;
            if !line.is_empty() {
                return Err(malformed("a chunk is longer than it said"));
            }
        }
        read_line(&mut self.source, &mut line, &mut { CHUNK_LINE_LIMIT })?;
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = str::from_utf8(digits)
            .ok()
            .and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
            .ok_or_else(|| malformed("a chunk has no size"))?;
        if size == 0 {
            let mut left = HEAD_LIMIT;
            loop {
                read_line(&mut self.source, &mut line, &mut left)?;
                if line.is_empty() {
                    break;
                }
            }
        }
        Ok(size)
    }
}

impl<R: Read> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.framing {
                Framing::Complete | Framing::Length(0) => return Ok(0),
                Framing::UntilClose => return self.source.read(buffer),
                Framing::Length(left) => {
                    let count = self.read_within(buffer, left)?;
                    self.framing = Framing::Length(left - count as u64);
                    return Ok(count);
                }
                Framing::ChunkLine { first } => {
                    self.framing = match self.next_chunk(first)? {
                        0 => Framing::Complete,
                        left => Framing::InChunk { left },
                    };
                }
                Framing::InChunk { left } => {
                    let count = self.read_within(buffer, left)?;
                    self.framing = match left - count as u64 {
                        0 => Framing::ChunkLine { first: false },
                        left => Framing::InChunk { left },
                    };
                    return Ok(count);
                }
            }
        }
    }
}

/// Reads a line without its end (LF or CRLF); `left` is what all lines may still take.
pub fn read_line(
    source: &mut impl BufRead,
    line: &mut Vec<u8>,
    left: &mut usize,
) -> io::Result<()> {
    line.clear();
    let count = source.take(*left as u64).read_until(b'\n', line)?;
    *left -= count;
    if line.last() != Some(&b'\n') {
        return Err(if *left == 0 { malformed("a line is too long") } else { broken_off() });
    }
    line.pop();
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(())
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn broken_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer breaks off")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes one at a time: every boundary is a split.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match (self.0.split_first(), buffer.first_mut()) {
                (Some((byte, rest)), Some(slot)) => {
                    *slot = *byte;
                    self.0 = rest;
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    fn answer(bytes: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let whole = read(bytes).and_then(|(head, body)| Ok((head.status, body.collect(1000)?)));
        let drip =
            read(Drip(bytes)).and_then(|(head, body)| Ok((head.status, body.collect(1000)?)));
        match (&whole, &drip) {
            (Ok(left), Ok(right)) => assert_eq!(left, right),
            (Err(left), Err(right)) => assert_eq!(left.kind(), right.kind()),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("splits matter: {whole:?} {drip:?}"),
        }
        whole
    }

    #[test]
    fn a_length_a_chunked_body_and_one_until_close_are_the_same() {
        for bytes in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and the next answer",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n05\r\nhello\r\n0\r\na: b\r\n\r\n",
            b"HTTP/1.0 200\n\nhello",
        ] {
            assert_eq!(answer(bytes).unwrap(), (200, b"hello".to_vec()));
        }
    }

    #[test]
    fn an_answer_without_content_has_none() {
        assert_eq!(answer(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), (204, vec![]));
    }

    #[test]
    fn every_truncation_is_told() {
        for whole in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"[..],
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ] {
            for length in 0..whole.len() {
                let error = answer(&whole[..length]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "at {length}");
            }
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for bytes in [
            &b"SSH-2.0-OpenSSH\r\n\r\n"[..],
            b"HTTP/1.1 ok\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
            b"\xff\xfe 200 OK\r\n\r\n",
        ] {
            let error = answer(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn heads_and_bodies_are_bounded() {
        let mut endless = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
        endless.resize(HEAD_LIMIT * 2, b'y');
        assert_eq!(answer(&endless).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let promised = b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n";
        assert_eq!(answer(promised).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let mut flood = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        flood.resize(2000, b'y');
        assert_eq!(answer(&flood).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
