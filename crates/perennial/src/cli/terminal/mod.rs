//! The caller's terminal: its size, and raw mode that is always undone.
//!
//! Invariant
//! - TE1  Raw mode lasts as long as a `Raw` value; dropping it restores the terminal, on return, on a
//!   panic, and after the kill signals that `attach` catches.

pub mod aside;
pub mod caught;
pub mod escapes;
mod hint;
mod key_event;
pub mod key_names;
mod keyboard;
pub mod modes;
pub mod seat;
pub mod visit;

use std::io::{self, IsTerminal};
use std::os::fd::BorrowedFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// For a terminal that does not say.
pub const USUAL_SIZE: Size = Size { rows: 24, cols: 80 };

/// Rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

/// The size of the terminal behind `fd`, if it has one.
pub fn size(fd: BorrowedFd<'_>) -> Option<Size> {
    let size = tcgetwinsize(fd).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some(Size { rows: size.ws_row, cols: size.ws_col })
}

/// The size of any of the standard streams' terminals.
pub fn any_size() -> Option<Size> {
    size(rustix::stdio::stdout())
        .or_else(|| size(rustix::stdio::stdin()))
        .or_else(|| size(rustix::stdio::stderr()))
}

/// How wide lines on standard output may be; unlimited if it is not a terminal.
pub fn output_width() -> Option<usize> {
    width(&io::stdout(), rustix::stdio::stdout())
}

/// How wide lines on standard error may be; unlimited if it is not a terminal.
pub fn error_width() -> Option<usize> {
    width(&io::stderr(), rustix::stdio::stderr())
}

fn width(stream: &impl IsTerminal, fd: BorrowedFd<'_>) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.filter(|columns| *columns > 0).or_else(|| columns_of(fd))
}

/// How wide the terminal behind `fd` is. Its rows do not matter: some terminals do not say how many
/// they have.
fn columns_of(fd: BorrowedFd<'_>) -> Option<usize> {
    let size = tcgetwinsize(fd).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Input from and output to a person.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// A terminal in raw mode, until dropped (TE1).
pub struct Raw {
    before: Termios,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw").finish_non_exhaustive()
    }
}

impl Raw {
    pub fn enter() -> io::Result<Raw> {
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &raw)?;
        Ok(Raw { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::pty::{OpenptFlags, openpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;

    #[test]
    fn a_terminal_that_does_not_know_its_rows_has_columns() {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        let sized = |ws_row, ws_col| {
            let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&terminal, size).expect("a size");
            columns_of(terminal.as_fd())
        };
        assert_eq!(sized(24, 80), Some(80));
        assert_eq!(sized(0, 80), Some(80));
        assert_eq!(sized(24, 0), None);
    }
}
