//! The flooding side of `floods` and of the proof `readers`: this program runs itself again as an agent's
//! process, or as a viewer, and opens connections from there. It says on standard output what it was
//! answered, and holds its connections until its standard input ends.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perennial_api::home::SocketAddress;
use serde::{Deserialize, Serialize};

const SOCKET: &str = "PERENNIAL_TEST_FLOOD_SOCKET";
const FLOOD: &str = "PERENNIAL_TEST_FLOOD";
/// Begins the line that tells what was answered.
const TOLD: &str = "flooded: ";

/// What is sent, on how many connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flood {
    pub connections: usize,
    /// Sent at once on each connection.
    pub bytes: String,
    /// How often.
    pub times: usize,
    /// Whether there is an answer to wait for.
    pub is_answered: bool,
    /// Whether each connection is closed before the next one is opened, once all is answered.
    pub is_dropped: bool,
}

/// How many connections were answered with which status; 0 stands for none.
pub type Answers = BTreeMap<u16, usize>;

impl Flood {
    pub fn of(connections: usize, bytes: &str) -> Flood {
        let bytes = bytes.to_owned();
        Flood { connections, bytes, times: 1, is_answered: true, is_dropped: false }
    }
}

/// A flood under way; it ends with this value.
#[derive(Debug)]
pub struct Flooding {
    child: Child,
    pub answers: Answers,
}

impl Flooding {
    /// Starts a command that calls `act`, and waits until it has sent everything.
    #[track_caller]
    pub fn start(mut command: Command, socket: &Path, flood: &Flood) -> Flooding {
        command.env(SOCKET, socket);
        command.env(FLOOD, serde_json::to_string(flood).expect("it is plain"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("this program");
        let mut told = BufReader::new(child.stdout.take().expect("piped")).lines();
        let answers = told.find_map(|line| {
            let line = line.expect("text");
            let (_, answers) = line.split_once(TOLD)?;
            Some(serde_json::from_str(answers).expect("counts"))
        });
        Flooding { child, answers: answers.expect("it says what it was answered") }
    }

    pub fn answered(&self, status: u16) -> usize {
        self.answers.get(&status).copied().unwrap_or_default()
    }
}

impl Drop for Flooding {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

/// Floods, if this process was started for that; false: it was not.
pub fn act() -> bool {
    let Ok(flood) = std::env::var(FLOOD) else { return false };
    let flood: Flood = serde_json::from_str(&flood).expect("a flood");
    let socket = std::env::var_os(SOCKET).expect("a socket");
    let address = SocketAddress::of(Path::new(&socket)).expect("an address");
    let bytes = flood.bytes.repeat(flood.times);
    let mut answers = Answers::new();
    let mut streams = Vec::new();
    for _ in 0..flood.connections {
        let mut stream = UnixStream::connect(address.path()).expect("the daemon listens");
        // Whoever is refused can't write, and has an answer all the same.
        let _refused = stream.write_all(bytes.as_bytes());
        if flood.is_dropped {
            *answers.entry(status(&mut stream)).or_default() += 1;
            read_answers(&mut stream, bytes.matches("HTTP/1.1\r\n").count() - 1);
        } else {
            streams.push(stream);
        }
    }
    for stream in &mut streams {
        let status = if flood.is_answered { status(stream) } else { 0 };
        *answers.entry(status).or_default() += 1;
    }
    println!("{TOLD}{}", serde_json::to_string(&answers).expect("counts"));
    let _until_the_end = io::stdin().read(&mut [0]);
    true
}

/// The status of the first answer on a connection.
fn status(stream: &mut UnixStream) -> u16 {
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    let mut head = [0; 12];
    match stream.read_exact(&mut head) {
        Ok(()) => str::from_utf8(&head[9..]).ok().and_then(|text| text.parse().ok()).unwrap_or(1),
        Err(_) => 0,
    }
}

/// Reads this many more answers, or to the end.
fn read_answers(stream: &mut UnixStream, mut left: usize) {
    let mut lines = BufReader::new(stream).lines();
    while left > 0
        && let Some(Ok(line)) = lines.next()
    {
        left -= line.matches("HTTP/1.1 ").count().min(left);
    }
}
