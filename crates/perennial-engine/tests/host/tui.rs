//! A small full-screen program on a real terminal: it draws cell differences and ends each frame with
//! the caret, as agent CLIs do, and keeps what was sent in a file.
//!
//! It is this test program itself, run with `PERENNIAL_TEST_TUI` set to what it should do.

use std::io::{Read, Write};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use perennial_engine::host::holders::{InputRules, Program};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

const VARIABLE: &str = "PERENNIAL_TEST_TUI";

/// What it does with a paste; everything else is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Echoes,
    /// Says nothing, as a menu does; Enter chooses.
    Menu,
    /// Waits for a word on the pipe `go` before it draws a paste.
    Gated,
    /// Something that nobody typed is before the first paste.
    Appends,
    /// Escape puts an earlier text into the line, and Home leads to its beginning.
    PutsBack,
    /// Draws nothing at all until there is a word on the pipe `go`.
    Undrawn,
    /// Draws on the main screen, without a caret's place, and waits as `Gated` does.
    Classic,
    /// As `Classic`, and does not take the first Enter.
    Swallows,
    /// As `Echoes`, and does nothing with the first two Enters.
    Ignores,
    /// Draws on the main screen as Gemini CLI does, with a hint in an empty line, and makes a new row of the
    /// first Enter.
    NewRow,
    /// As `Echoes`, and puts the first prompt back before an empty line was drawn.
    Blocks,
    /// As `Echoes`, and opens a dialog at the first Enter, in which a further one chooses.
    Asks,
    /// On the main screen as well, and draws nothing until there is a word on the pipe `go`. The
    /// terminal makes a newline of an Enter that comes before.
    ClassicUndrawn,
}

pub const HINT: &str = "  Type your message";

const MANNERS: [(&str, Manner); 13] = [
    ("new-row", Manner::NewRow),
    ("blocks", Manner::Blocks),
    ("ignores", Manner::Ignores),
    ("asks", Manner::Asks),
    ("echoes", Manner::Echoes),
    ("menu", Manner::Menu),
    ("gated", Manner::Gated),
    ("appends", Manner::Appends),
    ("puts-back", Manner::PutsBack),
    ("undrawn", Manner::Undrawn),
    ("classic", Manner::Classic),
    ("swallows", Manner::Swallows),
    ("classic-undrawn", Manner::ClassicUndrawn),
];

impl Manner {
    /// Draws on the main screen, without a caret's place.
    fn is_classic(self) -> bool {
        matches!(self, Manner::Classic | Manner::Swallows | Manner::ClassicUndrawn)
    }
}

/// What a session runs so that it is this program.
pub fn program(dir: &Path, manner: Manner) -> Program {
    let exe = std::env::current_exe().expect("this program");
    let word = MANNERS.iter().find(|(_, other)| *other == manner).expect("named").0;
    let arguments = ["--exact", "tui::be_the_program", "--ignored", "--nocapture"];
    Program {
        argv: std::iter::once(exe.to_str().expect("UTF-8"))
            .chain(arguments)
            .map(str::to_owned)
            .collect(),
        dir: dir.display().to_string(),
        env_set: vec![(VARIABLE.to_owned(), word.to_owned())],
        env_remove: Vec::new(),
        input: Some(rules()),
        is_bare: false,
        pane: None,
        announcements: Vec::new(),
    }
}

/// The built-in preset's.
pub fn rules() -> InputRules {
    let nowhere = Path::new("/nonexistent");
    let preset = perennial_engine::harness::Preset::load(nowhere, "claude").expect("built in");
    preset.input.expect("has an input line").rules()
}

/// All that was sent, one text after the other.
pub fn sent(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("sent")).unwrap_or_default();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
#[ignore = "this is the program of other tests"]
fn be_the_program() {
    let Ok(word) = std::env::var(VARIABLE) else { return };
    let manner = MANNERS.iter().find(|(name, _)| *name == word).expect("known").1;
    let stdin = std::io::stdin();
    let cooked = tcgetattr(&stdin).expect("a terminal");
    let (continued, writer) = rustix::pipe::pipe().expect("a pipe");
    CONTINUED.store(writer.into_raw_fd(), Ordering::Relaxed);
    // SAFETY: the handler only writes to a pipe.
    unsafe { libc::signal(libc::SIGCONT, on_continued as *const () as libc::sighandler_t) };
    Tui {
        manner,
        continued,
        cooked,
        line: String::new(),
        is_searching: false,
        is_home: false,
        hidden: "",
        drawn: None,
        dir: PathBuf::from("."),
    }
    .run();
}

/// Where a kill signal that continues this program is told.
static CONTINUED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_continued(_signal: libc::c_int) {
    // SAFETY: one byte from the stack, to a descriptor that stays open.
    unsafe { libc::write(CONTINUED.load(Ordering::Relaxed), [0u8].as_ptr().cast(), 1) };
}

struct Tui {
    manner: Manner,
    continued: OwnedFd,
    cooked: Termios,
    line: String,
    is_searching: bool,
    /// The caret is before the line's words.
    is_home: bool,
    /// Stands in the line before what is typed.
    hidden: &'static str,
    /// The column, whether the caret is there, and the text that are on the screen.
    drawn: Option<(usize, bool, String)>,
    dir: PathBuf,
}

impl Tui {
    fn run(&mut self) {
        if matches!(self.manner, Manner::Undrawn | Manner::ClassicUndrawn) {
            self.await_word();
        }
        if self.manner == Manner::ClassicUndrawn {
            // The keys are on their way: an Enter has to come while the terminal makes a newline of it.
            let stdin = std::io::stdin();
            let mut typed = [PollFd::new(&stdin, PollFlags::IN)];
            poll(&mut typed, None).expect("a terminal can be polled");
        }
        self.take_terminal();
        let mut input = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count) = std::io::stdin().read(&mut buffer) {
            if count == 0 {
                return;
            }
            input.extend_from_slice(&buffer[..count]);
            while let Some(length) = self.take(&input) {
                input.drain(..length);
            }
            self.draw();
        }
    }

    /// Handles the first key or paste of the input; how long that was.
    fn take(&mut self, input: &[u8]) -> Option<usize> {
        if let Some(rest) = input.strip_prefix(b"\x1b[200~") {
            let end = rest.windows(6).position(|part| part == b"\x1b[201~")?;
            self.paste(&String::from_utf8_lossy(&rest[..end]));
            return Some(end + 12);
        }
        const ERASE: &[u8] = b"\x1b[117;5u";
        if input.starts_with(ERASE) {
            self.line.clear();
            self.hidden = "";
            return Some(ERASE.len());
        }
        match *input.first()? {
            b'\r' => self.enter(),
            0x7f => {
                self.line.pop();
            }
            0x03 => {
                self.line.clear();
                self.hidden = "";
                self.is_home = false;
            }
            0x12 => {
                self.is_searching = true;
            }
            0x1b if input.len() == 1 => {
                self.is_searching = false;
                if self.manner == Manner::PutsBack {
                    self.line.push_str("put back");
                }
            }
            0x1b if input.starts_with(b"\x1b[H") => {
                self.is_home = true;
                return Some(3);
            }
            0x1a => self.suspend(),
            0x1b => return Some(input.len()),
            byte => {
                self.line.push(char::from(byte));
            }
        }
        Some(1)
    }

    fn paste(&mut self, text: &str) {
        self.note("pasted", text);
        match self.manner {
            Manner::Menu => return,
            Manner::Gated | Manner::Classic => self.await_word(),
            Manner::Swallows | Manner::ClassicUndrawn => {}
            Manner::Appends if self.line.is_empty() && !self.dir.join("appended").exists() => {
                self.note("appended", "");
                self.hidden = "rm -rf ";
            }
            Manner::Echoes | Manner::Appends | Manner::PutsBack | Manner::Undrawn => {}
            Manner::Ignores | Manner::Asks | Manner::Blocks | Manner::NewRow => {}
        }
        let at = if self.is_home { 0 } else { self.line.len() };
        self.line.insert_str(at, text);
    }

    fn enter(&mut self) {
        if self.manner == Manner::Menu {
            self.note("chosen", "");
            return;
        }
        if self.manner == Manner::Asks {
            self.note(if self.dir.join("asked").exists() { "chosen" } else { "asked" }, "");
            // A frame that ends in the corner, without a caret.
            say("\x1b[H\r\x1b[2CAllow?\x1b[24;1H");
            return;
        }
        if self.manner == Manner::Blocks && !self.dir.join("blocked").exists() {
            self.note("blocked", "");
            return;
        }
        if self.manner == Manner::NewRow && !self.dir.join("broken").exists() {
            self.note("broken", "");
            self.line.push('\n');
            return;
        }
        let ignored = std::fs::read(self.dir.join("ignored")).unwrap_or_default();
        if self.manner == Manner::Ignores && ignored.len() < 2 {
            self.note("ignored", "");
            return;
        }
        if self.manner == Manner::Swallows && !self.dir.join("swallowed").exists() {
            self.note("swallowed", "");
            return;
        }
        let line = format!("{}{}", self.hidden, std::mem::take(&mut self.line));
        self.hidden = "";
        self.note("sent", &line);
    }

    /// Once for all keys that were read together, and nothing where nothing has changed.
    fn draw(&mut self) {
        let shown = format!("{}{}", self.hidden, self.line);
        let begin = if self.is_searching { 7 } else { 3 };
        let now = Some((begin, self.is_home, shown.clone()));
        if self.drawn == now {
            return;
        }
        let before = std::mem::replace(&mut self.drawn, now);
        if self.manner == Manner::NewRow {
            self.draw_upward(before.map(|(_, _, text)| text), &shown);
            return;
        }
        let mut frame = format!("\x1b[H\r\x1b[{}C\x1b[21B\x1b[K", begin - 1);
        let mut column = begin;
        for word in shown.split(' ') {
            frame.push_str(&format!("\x1b[{column}G{word}"));
            column += word.chars().count() + 1;
        }
        let caret = if self.is_home { begin } else { begin + shown.chars().count() };
        if self.manner.is_classic() {
            frame.push_str("\x1b[1B\r");
        } else {
            frame.push_str(&format!("\x1b[7m \x1b[27m\x1b[24;1H\x1b[22;{caret}H"));
        }
        say(&frame);
    }

    /// The rows of the line and one below, each time all of them, and up to the caret.
    fn draw_upward(&self, before: Option<String>, shown: &str) {
        let mut frame = String::new();
        if let Some(before) = before {
            let rows = before.split('\n').count() + 1;
            frame.push_str("\x1b[2B");
            frame.push_str(&"\x1b[2K\x1b[1A".repeat(rows));
            frame.push_str("\x1b[2K\x1b[G");
        }
        let text = if shown.is_empty() { HINT } else { shown };
        for (at, row) in text.split('\n').enumerate() {
            frame.push_str(&format!("{} {row:<70}\r\n", if at == 0 { ">" } else { " " }));
        }
        let last = shown.rsplit('\n').next().unwrap_or_default();
        frame.push_str(&format!(" /a/directory\r\n\x1b[2A\x1b[{}G", 3 + last.chars().count()));
        say(&frame);
    }

    fn take_terminal(&mut self) {
        let mut raw = self.cooked.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).expect("set");
        let is_main = self.manner.is_classic() || self.manner == Manner::NewRow;
        say(if is_main { "\x1b[?2004h" } else { "\x1b[?1049h\x1b[?2004h" });
        self.drawn = None;
        self.draw();
    }

    fn suspend(&mut self) {
        say("\x1b[?1049l\x1b[?2004l");
        tcsetattr(std::io::stdin(), OptionalActions::Now, &self.cooked).expect("set");
        self.note("suspended", "");
        let _byte = rustix::io::read(&self.continued, &mut [0; 1]);
        self.take_terminal();
    }

    fn note(&self, name: &str, text: &str) {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).create(true).open(self.dir.join(name)).expect("opens");
        file.write_all(format!("{text}\0").as_bytes()).expect("written");
    }

    /// Once there is a file `open`, nothing is waited for.
    fn await_word(&self) {
        if self.dir.join("open").exists() {
            return;
        }
        let _word = std::fs::read(self.dir.join("go"));
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("written");
}
