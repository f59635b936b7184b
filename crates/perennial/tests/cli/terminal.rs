//! A terminal with a program in it: what a person has in front of them.
//!
//! The program sees a pseudo-terminal; the test types and waits for what is shown.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::processes::{find, signal, wait_end};
use crate::sealed::{Ran, ended};
use crate::watch::PATIENCE;

#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    child: Child,
    pub output: Receiver<Vec<u8>>,
    /// Shown since the last `clear`.
    pub shown: Vec<u8>,
}

impl Terminal {
    pub fn run(mut command: Command) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave: OwnedFd = openat(CWD, name, flags, Mode::empty()).expect("its other end");
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let copy = || slave.try_clone().expect("a copy");
        command.stdin(copy()).stdout(copy()).stderr(copy()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("the binary runs");
        // Else the command keeps the other end open, and reading never ends.
        drop(command);
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().expect("a copy");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        drop(slave);
        Terminal { keyboard, child, output, shown: Vec::new() }
    }

    /// Of the program in it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn resize(&mut self, rows: u16, cols: u16) {
        let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keyboard, size).expect("a size");
        // The program is no session leader of its own: the kernel tells nobody.
        let process = find(self.pid()).expect("the program runs");
        assert!(signal(process, rustix::process::Signal::WINCH));
    }

    /// Whether this has been shown by now, since what was waited for last.
    pub fn shows(&mut self, text: &str) -> bool {
        while let Ok(bytes) = self.output.try_recv() {
            self.shown.extend(bytes);
        }
        String::from_utf8_lossy(&self.shown).contains(text)
    }

    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this is shown, and forgets what was shown up to it.
    #[track_caller]
    pub fn wait(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shown = String::from_utf8_lossy(&self.shown).into_owned();
            if let Some(at) = shown.find(text) {
                self.shown = shown.as_bytes()[at + text.len()..].to_vec();
                return shown[..at].to_owned();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(_) => panic!("never shown: {text:?}; this was: {shown:?}"),
            }
        }
    }

    /// Leaves `attach`, also where the session has ended just now: keys that are typed while it waits
    /// for the next session are lost, so they are typed again.
    #[track_caller]
    pub fn detach(mut self) -> Ran {
        let Some(process) = find(self.child.id()) else { return self.end() };
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            // The terminal may be closed already.
            let _gone = self.keyboard.write_all(b"\x1c\x1c");
            if wait_end(process, Duration::from_millis(500)) {
                break;
            }
        }
        self.end()
    }

    /// Waits for the program's end: its code, and what was shown last.
    #[track_caller]
    pub fn end(mut self) -> Ran {
        let mut ran = ended(self.child, "the program in the terminal");
        for bytes in self.output.iter() {
            self.shown.extend(bytes);
        }
        ran.stdout = String::from_utf8_lossy(&self.shown).into_owned();
        ran
    }
}
