//! The one table that is printed: what was measured, beside what, against which goal.
//!
//! A figure is shown as it is; whether it reaches its goal never changes how a run ends.

/// Which way is better is the row's business: it says itself whether its goal is reached.
#[derive(Debug)]
pub struct Line {
    pub row: &'static str,
    pub what: String,
    pub ours: String,
    pub peer: String,
    /// Ours divided by the peer's, where there is a peer.
    pub ratio: Option<f64>,
    pub goal: String,
    pub reached: bool,
}

const HEAD: [&str; 7] = ["row", "what", "ours", "peer", "ratio", "goal", "reached"];

impl Line {
    fn cells(&self) -> [String; 7] {
        [
            self.row.to_owned(),
            self.what.clone(),
            self.ours.clone(),
            self.peer.clone(),
            self.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
            self.goal.clone(),
            if self.reached { "yes" } else { "no" }.to_owned(),
        ]
    }
}

/// The lines as a Markdown table, aligned.
pub fn drawn(lines: &[Line]) -> String {
    let head = HEAD.map(str::to_owned);
    let rows: Vec<[String; 7]> = lines.iter().map(Line::cells).collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| {
            let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        })
        .collect();
    let drawn = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!(" {cell:width$} ")).collect();
        format!("|{}|\n", cells.join("|"))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let body: String = rows.iter().map(drawn).collect();
    format!("{}|{}|\n{body}", drawn(&head), rule.join("|"))
}
