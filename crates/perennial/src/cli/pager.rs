//! Long output on a terminal goes through a pager, as git's does.
//!
//! Output that fits the screen, goes elsewhere or is JSON is written as it is. Never runs a shell: the
//! words of PAGER are a program and its arguments. What is paged is escaped already.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, Signal};

use super::terminal;

/// Quits if the text fits the screen, shows colours, leaves the text on the screen.
const LESS_OPTIONS: &str = "FRX";

/// The program that shows long output, by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager(Vec<String>);

impl Pager {
    /// Nothing where none is wanted: by PERENNIAL_PAGER, then by PAGER, an empty one or `cat`.
    pub fn choose(variable: impl Fn(&str) -> Option<String>) -> Option<Pager> {
        let words = variable("PERENNIAL_PAGER").or_else(|| variable("PAGER"));
        let words = words.unwrap_or_else(|| "less".to_owned());
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let is_none = words.is_empty() || words[0] == "cat";
        (!is_none && variable("TERM").as_deref() != Some("dumb")).then_some(Pager(words))
    }

    fn start(&self) -> io::Result<Child> {
        let (program, arguments) = self.0.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS_OPTIONS);
        }
        command.spawn()
    }
}

/// Standard output, or a pager once more than a screen was written. `finish` writes what is held back.
#[derive(Debug)]
pub struct LongOutput {
    pager: Option<Pager>,
    /// How many lines fit beside the prompt.
    screen: usize,
    held: Vec<u8>,
    lines: usize,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// It may all fit.
    Held,
    Direct,
    Paged(Running),
}

impl LongOutput {
    /// `pager` is used if standard output is a terminal.
    pub fn begin(pager: Option<Pager>) -> LongOutput {
        let rows = terminal::size(rustix::stdio::stdout()).map_or(0, |size| size.rows);
        let pager = pager.filter(|_| rows > 1 && io::stdout().is_terminal());
        let sink = if pager.is_some() { Sink::Held } else { Sink::Direct };
        let screen = usize::from(rows).saturating_sub(1);
        LongOutput { pager, screen, held: Vec::new(), lines: 0, sink }
    }

    /// Everything is out, and the reader has left the pager.
    pub fn finish(mut self) -> io::Result<()> {
        self.settle()
    }

    fn settle(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.sink, Sink::Direct) {
            Sink::Held => {
                io::stdout().write_all(&std::mem::take(&mut self.held))?;
                io::stdout().flush()
            }
            Sink::Direct => io::stdout().flush(),
            Sink::Paged(running) => {
                drop(running);
                Ok(())
            }
        }
    }

    /// More than a screen: from here on a pager shows it, or the terminal if there is none.
    fn open(&mut self) -> io::Result<()> {
        let started = self.pager.as_ref().map(Pager::start);
        self.sink = match started {
            Some(Ok(child)) => Sink::Paged(Running::begin(child)),
            // It is not installed, or misspelt: the output matters more.
            Some(Err(_)) | None => Sink::Direct,
        };
        let held = std::mem::take(&mut self.held);
        self.write_all(&held)
    }
}

impl Write for LongOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Direct => io::stdout().write_all(bytes)?,
            Sink::Paged(running) => running.write_all(bytes)?,
            Sink::Held => {
                self.held.extend_from_slice(bytes);
                self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
                if self.lines > self.screen {
                    self.open()?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Held | Sink::Paged(_) => Ok(()),
            Sink::Direct => io::stdout().flush(),
        }
    }
}

/// A verb that fails has said so; what it had to say before that is not lost.
impl Drop for LongOutput {
    fn drop(&mut self) {
        let _ = self.settle();
    }
}

/// A pager that has the terminal. Ctrl-C is its own business from now on: this process must not leave the
/// terminal to two readers.
#[derive(Debug)]
struct Running(Child);

impl Running {
    fn begin(child: Child) -> Running {
        let mut keys = SigSet::empty();
        keys.add(Signal::SIGINT);
        keys.add(Signal::SIGQUIT);
        // Where that fails, Ctrl-C ends both of them.
        let _ = keys.thread_block();
        Running(child)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), |input| input.write_all(bytes))
    }
}

/// Waiting closes the pager's input first.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Option<String> {
        let read = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Pager::choose(read).map(|pager| pager.0.join("|"))
    }

    #[test]
    fn who_decides_on_the_pager() {
        assert_eq!(chosen(&[]).as_deref(), Some("less"));
        assert_eq!(chosen(&[("PAGER", "less -R")]).as_deref(), Some("less|-R"));
        let both = [("PAGER", "more"), ("PERENNIAL_PAGER", "most;id")];
        assert_eq!(chosen(&both).as_deref(), Some("most;id"), "no shell reads it");
        for none in [("PAGER", ""), ("PAGER", "cat"), ("PERENNIAL_PAGER", " "), ("TERM", "dumb")] {
            assert_eq!(chosen(&[none]), None, "{none:?}");
        }
    }
}
