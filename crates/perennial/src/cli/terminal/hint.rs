//! A line at the bottom of the terminal that tells what the next key does, and is gone without a trace.
//!
//! A program on the alternate screen gives up its last row for it: it is told that the terminal has one
//! row less, and draws itself anew both times. On the ordinary screen nobody would draw the old text
//! again, so the hint is shown on the alternate one, from which the terminal itself leads back.

use super::Size;

/// Where the hint is, and so how it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// In the last row of a program that draws on the alternate screen.
    LastRow,
    /// On an alternate screen of its own.
    OwnScreen,
}

impl Hint {
    pub fn place(is_alternate: bool) -> Hint {
        if is_alternate { Hint::LastRow } else { Hint::OwnScreen }
    }

    /// What shows it.
    pub fn show(self, text: &str, size: Size) -> String {
        // One column is left free: a full row would make some terminals scroll.
        let room = usize::from(size.cols).saturating_sub(1);
        let line: String = format!(" {text} ").chars().take(room).collect();
        let rows = size.rows;
        let written = format!("\x1b[{rows};1H\x1b(B\x1b[0m\x1b[2K\x1b[7m{line}\x1b[0m");
        match self {
            // Save and restore keep the caret, its colours and its character set.
            Hint::LastRow => format!("\x1b7{written}\x1b8"),
            Hint::OwnScreen => format!("\x1b[?1049h\x1b[2J{written}"),
        }
    }

    /// What takes it away.
    pub fn remove(self, size: Size) -> String {
        match self {
            Hint::LastRow => format!("\x1b7\x1b[0m\x1b[{};1H\x1b[2K\x1b8", size.rows),
            Hint::OwnScreen => "\x1b[?1049l".to_owned(),
        }
    }

    /// The size that the program has meanwhile.
    pub fn leaves(self, size: Size) -> Size {
        match self {
            Hint::LastRow if size.rows > 1 => Size { rows: size.rows - 1, ..size },
            Hint::LastRow | Hint::OwnScreen => size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_fits_into_any_terminal_and_goes_as_it_came() {
        let size = Size { rows: 24, cols: 10 };
        let shown = Hint::place(true).show("what it does", size);
        assert_eq!(shown.replace('\x1b', "^"), "^7^[24;1H^(B^[0m^[2K^[7m what it ^[0m^8");
        assert_eq!(Hint::LastRow.remove(size).replace('\x1b', "^"), "^7^[0m^[24;1H^[2K^8");
        assert_eq!(Hint::LastRow.leaves(size).rows, 23);
        assert_eq!(Hint::place(false).leaves(size), size);
        let tiny = Size { rows: 1, cols: 1 };
        assert_eq!(Hint::LastRow.leaves(tiny), tiny);
        assert!(!Hint::OwnScreen.show("text", tiny).contains('t'));
    }
}
