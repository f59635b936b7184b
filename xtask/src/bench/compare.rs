//! Before and after in one run: `bench --before DIR`, with a former version's `target/release`.
//!
//! Measures of both versions take turns, and who is first alternates, so that the machine's noise falls on
//! both alike. Where the product's program is measured, this version's measures run the former program; rows
//! that measure a library are taken by the former version's own bench.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::rows::MEASURES;
use crate::samples::Samples;

/// Rows of libraries that are linked into what measures them.
const LINKED: [&str; 3] = ["P6", "P7", "P15"];
/// Rows whose homes a former version can't open.
const NOT_BEFORE: [&str; 1] = ["P13"];

pub struct Comparison {
    pub before: PathBuf,
    pub rounds: usize,
}

/// One line of the table: what was measured of each version, in each round.
#[derive(Default)]
struct Pair {
    before: Vec<String>,
    after: Vec<String>,
    /// Ours divided by the peer's.
    ratios: [Vec<String>; 2],
}

impl Comparison {
    /// Measures all these rows in all rounds; the table.
    pub fn run(&self, wanted: &[&str]) -> Result<String> {
        let mut rows: Vec<&str> = MEASURES.iter().flat_map(|(rows, _)| *rows).copied().collect();
        rows.retain(|row| wanted.contains(row) || wanted.is_empty() && !NOT_BEFORE.contains(row));
        let is_linked = rows.iter().any(|row| LINKED.contains(row));
        for file in ["perennial"].into_iter().chain(is_linked.then_some("examples/bench")) {
            let file = self.before.join(file);
            ensure!(file.is_file(), "{} is not built", file.display());
        }
        let mut pairs = BTreeMap::new();
        for round in 0..self.rounds {
            for group in groups(&rows) {
                let mut sides = [true, false];
                sides.rotate_left(round % 2);
                for is_before in sides {
                    let version = if is_before { "before" } else { "after" };
                    let (round, of) = (round + 1, self.rounds);
                    eprintln!("round {round} of {of}, {version}: {} …", group.join(", "));
                    match self.measured(is_before, &group) {
                        Ok(table) => note(&table, is_before, &mut pairs),
                        // One measure that can't be taken leaves the others.
                        Err(error) => eprintln!("{version}, {}: {error:#}", group.join(", ")),
                    }
                }
            }
        }
        Ok(drawn(&pairs))
    }

    /// The table that one version's measures print.
    fn measured(&self, is_before: bool, rows: &[&str]) -> Result<String> {
        let own = std::env::current_exe()?;
        let is_linked = rows.iter().any(|row| LINKED.contains(row));
        let mut bench = match (is_before, is_linked) {
            (true, true) => Command::new(self.before.join("examples/bench")),
            (true, false) => {
                let mut bench = Command::new(own);
                bench.arg("--program").arg(self.before.join("perennial"));
                bench
            }
            (false, _) => Command::new(own),
        };
        let output = bench.args(rows).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the measure failed");
        String::from_utf8(output.stdout).context("the table is no text")
    }
}

/// Rows that one measure brings are measured together.
fn groups<'a>(rows: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut left = rows.to_vec();
    left.dedup();
    let mut groups = Vec::new();
    for (together, _) in MEASURES {
        let group: Vec<&str> = left.iter().copied().filter(|row| together.contains(row)).collect();
        left.retain(|row| !group.contains(row));
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

type Pairs = BTreeMap<(u32, String), Pair>;

/// Takes every line of a printed table in: `| row | what | ours | peer | ratio | goal | reached |`.
fn note(table: &str, is_before: bool, pairs: &mut Pairs) {
    for line in table.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [row, what, ours, _, ratio, ..] = cells[..] else { continue };
        let Some(number) = row.strip_prefix('P').and_then(|number| number.parse().ok()) else {
            continue;
        };
        let pair = pairs.entry((number, what.to_owned())).or_default();
        let side = if is_before { &mut pair.before } else { &mut pair.after };
        side.push(ours.to_owned());
        pair.ratios[usize::from(!is_before)].push(ratio.to_owned());
    }
}

fn drawn(pairs: &Pairs) -> String {
    let mut text = String::from(
        "| row | what | before | after | after ÷ before | beside its peer: before | after |\n\
         |-----|------|--------|-------|----------------|-------------------------|-------|\n",
    );
    for ((number, what), pair) in pairs {
        let Pair { before, after, ratios } = pair;
        let change = match (figure(before), figure(after)) {
            (Some(before), Some(after)) if before > 0.0 => format!("{:.2}", after / before),
            _ => "–".to_owned(),
        };
        let cells = [before, after, &ratios[0], &ratios[1]].map(|all| all.join("; "));
        let [before, after, peer_before, peer_after] = cells;
        text += &format!(
            "| P{number} | {what} | {before} | {after} | {change} | {peer_before} | {peer_after} |\n"
        );
    }
    text
}

/// The median of the numbers that the figures begin with.
fn figure(texts: &[String]) -> Option<f64> {
    let first = |text: &String| text.split_whitespace().next()?.parse().ok();
    let all: Option<Samples> = texts.iter().map(first).collect();
    all.filter(|all| all.count() > 0).map(|all| all.p50())
}

/// The former version's directory, as an option names it.
pub fn directory(word: &str) -> Result<PathBuf> {
    Path::new(word).canonicalize().with_context(|| format!("{word} is not there"))
}
