//! The terminal emulator, for the screen of a session and for the lines that it printed.
//!
//! A screen is built from a recording when someone looks, and dropped afterwards. What is fed to it is
//! hostile: its size is bounded, and what comes out of it is text, and colours that are written here.

use std::num::NonZeroU16;

use vt100::{Cell, Color, Screen};

/// A terminal whose size nobody told has this one.
const USUAL_SIZE: (u16, u16) = (24, 80);
/// No larger screen is built: each cell takes memory.
const ROWS_MAX: u16 = 500;
const COLUMNS_MAX: u16 = 1000;

/// Rows and columns that a screen can be built with.
pub fn dimensions(size: Option<(u16, u16)>) -> (NonZeroU16, NonZeroU16) {
    let (rows, columns) = size.unwrap_or(USUAL_SIZE);
    let bounded = |count: u16, max: u16| {
        NonZeroU16::MIN.max(NonZeroU16::new(count.min(max)).unwrap_or(NonZeroU16::MIN))
    };
    (bounded(rows, ROWS_MAX), bounded(columns, COLUMNS_MAX))
}

/// The text of one row, without the blanks at its end.
pub fn plain_row(screen: &Screen, row: u16) -> String {
    written(screen, row, |_, _| {})
}

/// The text of one row with its colours; they begin and end with the row.
pub fn styled_row(screen: &Screen, row: u16) -> String {
    let mut style = Style::default();
    let mut text = written(screen, row, |text, next| {
        if next != style {
            next.write(text);
            style = next;
        }
    });
    if style != Style::default() {
        text.push_str(RESET);
    }
    text
}

/// One past the last row that shows anything.
pub fn used_rows(screen: &Screen) -> u16 {
    let rows = screen.size().0.get();
    (0..rows).rev().find(|row| !plain_row(screen, *row).is_empty()).map_or(0, |row| row + 1)
}

/// The cells of a row as text; `restyle` is told of each cell's style before its text is written.
fn written(screen: &Screen, row: u16, mut restyle: impl FnMut(&mut String, Style)) -> String {
    let mut text = String::new();
    let mut blanks = 0;
    let cells = (0..screen.size().1.get()).filter_map(|column| screen.cell(row, column));
    for cell in cells.filter(|cell| !cell.is_wide_continuation()) {
        let style = Style::of(cell);
        let is_blank = matches!(cell.contents(), "" | " ");
        if is_blank && !style.shows_on_blanks() {
            blanks += 1;
            continue;
        }
        if blanks > 0 {
            restyle(&mut text, Style::default());
            text.extend(std::iter::repeat_n(' ', std::mem::take(&mut blanks)));
        }
        restyle(&mut text, style);
        text.push_str(if is_blank { " " } else { cell.contents() });
    }
    text
}

const RESET: &str = "\x1b[0m";

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    foreground: Color,
    background: Color,
    is_bold: bool,
    is_dim: bool,
    is_italic: bool,
    is_underlined: bool,
    is_inverse: bool,
}

impl Style {
    fn of(cell: &Cell) -> Style {
        Style {
            foreground: cell.fgcolor(),
            background: cell.bgcolor(),
            is_bold: cell.bold(),
            is_dim: cell.dim(),
            is_italic: cell.italic(),
            is_underlined: cell.underline(),
            is_inverse: cell.inverse(),
        }
    }

    fn shows_on_blanks(self) -> bool {
        self.background != Color::Default || self.is_inverse || self.is_underlined
    }

    /// As one sequence that says all of it.
    fn write(self, text: &mut String) {
        text.push_str("\x1b[0");
        let flags = [
            (self.is_bold, ";1"),
            (self.is_dim, ";2"),
            (self.is_italic, ";3"),
            (self.is_underlined, ";4"),
            (self.is_inverse, ";7"),
        ];
        text.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, code)| code));
        for (color, ground) in [(self.foreground, 38), (self.background, 48)] {
            match color {
                Color::Default => {}
                Color::Idx(index) => text.push_str(&format!(";{ground};5;{index}")),
                Color::Rgb(red, green, blue) => {
                    text.push_str(&format!(";{ground};2;{red};{green};{blue}"));
                }
            }
        }
        text.push('m');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &str) -> vt100::Parser {
        let (rows, columns) = dimensions(Some((4, 12)));
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(bytes.as_bytes());
        parser
    }

    #[test]
    fn a_row_is_its_text_and_its_own_colours() {
        let parser = shown("a \x1b[1;31mré\x1b[44m  \x1b[m  日本\r\nplain   \r\n\x1b[38;2;1;2;3mx");
        let screen = parser.screen();
        assert_eq!(plain_row(screen, 0), "a ré    日本");
        assert_eq!(
            styled_row(screen, 0),
            "a \x1b[0;1;38;5;1mré\x1b[0;1;38;5;1;48;5;4m  \x1b[0m  日本"
        );
        assert_eq!((plain_row(screen, 1), styled_row(screen, 1)), ("plain".into(), "plain".into()));
        assert_eq!(styled_row(screen, 2), "\x1b[0;38;2;1;2;3mx\x1b[0m");
        assert_eq!(used_rows(screen), 3);
    }

    #[test]
    fn sizes_are_bounded() {
        let size = |size| {
            let (rows, columns) = dimensions(size);
            (rows.get(), columns.get())
        };
        assert_eq!(size(None), (24, 80));
        assert_eq!(size(Some((0, 0))), (1, 1));
        assert_eq!(size(Some((u16::MAX, u16::MAX))), (ROWS_MAX, COLUMNS_MAX));
    }
}
