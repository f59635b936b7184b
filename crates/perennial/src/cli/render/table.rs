//! A table that fits its terminal: columns shrink, then the least important ones are dropped.

use perennial_core::id;

use super::paint::{Ink, Paint};
use super::roster::Canvas;
use super::text;

const GAP: usize = 2;

#[derive(Debug)]
pub struct Column {
    pub title: &'static str,
    /// The column with the lowest one goes first when there is no room.
    pub importance: u8,
    /// It shrinks down to this many columns of the screen before another one goes.
    pub narrowest: usize,
    pub clip: Clip,
    pub cells: Vec<Cell>,
}

/// What goes from a cell that finds no room: its end, its start, or what is between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clip {
    Never,
    End,
    Start,
    Middle,
}

#[derive(Debug, Default)]
pub struct Cell {
    /// Already plain.
    pub text: String,
    pub ink: Ink,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ink: Ink::Plain }
    }

    pub fn ink(text: impl Into<String>, ink: Ink) -> Cell {
        Cell { text: text.into(), ink }
    }
}

impl Column {
    fn natural(&self) -> usize {
        let widest = self.cells.iter().map(|cell| text::width(&cell.text)).max().unwrap_or(0);
        widest.max(text::width(self.title))
    }

    fn least(&self) -> usize {
        match self.clip {
            Clip::Never => self.natural(),
            Clip::End | Clip::Start | Clip::Middle => {
                self.natural().min(self.narrowest.max(text::width(self.title)))
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.text.is_empty())
    }
}

/// The table as lines; `width` is the screen's, if there is one.
pub fn table(mut columns: Vec<Column>, width: Option<usize>, paint: Paint) -> String {
    // A column that says nothing about anybody is noise.
    columns.retain(|column| !column.is_empty());
    let widths = fit(&mut columns, width);
    let mut lines = String::new();
    let titles = columns.iter().map(|column| Cell::ink(column.title, Ink::Faint)).collect();
    push_row(&mut lines, titles, &columns, &widths, paint);
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        let cells = columns.iter_mut().map(|c| std::mem::take(&mut c.cells[row])).collect();
        push_row(&mut lines, cells, &columns, &widths, paint);
    }
    lines
}

/// The column of ids: the end of each, which can be pasted back. It is never left out.
pub fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> Column {
    let ids: Vec<&str> = ids.collect();
    let cell = |id: &str| Cell::ink(text::plain(id), Ink::Faint);
    Column {
        title: "ID",
        importance: 11,
        narrowest: 10,
        clip: Clip::Never,
        cells: id::ends(&ids).into_iter().map(cell).collect(),
    }
}

/// The table, with a line of its own below each row that has a note: a sentence is read whole or not at all.
pub fn table_with_notes(
    columns: Vec<Column>,
    notes: &[Option<String>],
    canvas: &Canvas<'_>,
) -> String {
    let table = table(columns, canvas.width, canvas.paint);
    let mut lines = table.lines();
    let mut text = lines.next().map(|titles| format!("{titles}\n")).unwrap_or_default();
    for (line, note) in lines.zip(notes) {
        text.push_str(&format!("{line}\n"));
        if let Some(note) = note {
            let note = text::wrapped(&text::plain(note), 2, 2, canvas.width);
            text.push_str(&format!("  {}\n", canvas.paint.ink(Ink::Faint, &note)));
        }
    }
    text
}

/// How wide each column is; drops those that find no room.
fn fit(columns: &mut Vec<Column>, width: Option<usize>) -> Vec<usize> {
    let Some(width) = width else { return columns.iter().map(Column::natural).collect() };
    let gaps = |count: usize| GAP * count.saturating_sub(1);
    while columns.len() > 1
        && columns.iter().map(Column::least).sum::<usize>() + gaps(columns.len()) > width
    {
        let least = columns.iter().map(|column| column.importance).min();
        if let Some(index) = columns.iter().rposition(|c| Some(c.importance) == least) {
            columns.remove(index);
        }
    }
    let mut widths: Vec<usize> = columns.iter().map(Column::natural).collect();
    let mut excess = (widths.iter().sum::<usize>() + gaps(columns.len())).saturating_sub(width);
    // The widest gives first, one column of the screen at a time: what is short stays whole.
    while excess > 0 {
        let widest = (0..widths.len())
            .filter(|index| widths[*index] > columns[*index].least())
            .max_by_key(|index| widths[*index]);
        let Some(index) = widest else { break };
        widths[index] -= 1;
        excess -= 1;
    }
    widths
}

fn push_row(
    lines: &mut String,
    cells: Vec<Cell>,
    columns: &[Column],
    widths: &[usize],
    paint: Paint,
) {
    let mut line = String::new();
    let mut padding = 0;
    for ((cell, column), width) in cells.into_iter().zip(columns).zip(widths) {
        let shown = match column.clip {
            Clip::Never => cell.text,
            Clip::End => text::clip_end(&cell.text, *width),
            Clip::Start => text::clip_start(&cell.text, *width),
            Clip::Middle => text::clip_middle(&cell.text, *width),
        };
        if !shown.is_empty() {
            line.extend(std::iter::repeat_n(' ', padding));
            padding = 0;
            line.push_str(&paint.ink(cell.ink, &shown));
        }
        padding += width.saturating_sub(text::width(&shown)) + GAP;
    }
    lines.push_str(&line);
    lines.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let column = |title, importance, narrowest, clip, cells: [&str; 2]| Column {
            title,
            importance,
            narrowest,
            clip,
            cells: cells.into_iter().map(Cell::new).collect(),
        };
        vec![
            column("NAME", 9, 4, Clip::Never, ["alice", "bob"]),
            column("NOTHING", 8, 4, Clip::End, ["", ""]),
            column("REASON", 5, 8, Clip::End, ["its program runs", "日本語日本語日本語"]),
            column("DIR", 3, 6, Clip::Start, ["/home/eve/src/deep", "/x"]),
        ]
    }

    #[test]
    fn it_fits_by_shrinking_then_by_dropping() {
        let at = |width| table(columns(), width, Paint::OFF);
        insta::assert_snapshot!(at(None), @r"
        NAME   REASON              DIR
        alice  its program runs    /home/eve/src/deep
        bob    日本語日本語日本語  /x
        ");
        insta::assert_snapshot!(at(Some(30)), @r"
        NAME   REASON       DIR
        alice  its progra…  …/src/deep
        bob    日本語日本…  /x
        ");
        insta::assert_snapshot!(at(Some(20)), @r"
        NAME   REASON
        alice  its program…
        bob    日本語日本語…
        ");
        insta::assert_snapshot!(at(Some(3)), @r"
        NAME
        alice
        bob
        ");
        for width in 15..60 {
            for line in at(Some(width)).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
            }
        }
    }
}
