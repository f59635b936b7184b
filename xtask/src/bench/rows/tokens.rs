//! P6: the token totals of 315 MB of transcripts beside ccusage, and again after 64 kB more.
//!
//! Both are whole processes that find the files, read them all and print totals; in turns, the files
//! in the page cache. Totals that are not the corpus's own make the row fail, whoever is wrong.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ratio, shown};
use crate::clock::timed;
use crate::peers::{CCUSAGE, Ccusage};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, command, output};

const ROUNDS: usize = 11;
const GOAL_UPDATE_MS: f64 = 1.0;

pub fn tokens(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let (corpus, room) = (workshop.room("corpus")?, workshop.room("ccusage")?);
    let example = |verb: &str| -> Result<Vec<Value>> {
        let said = output(Command::new(&workshop.corpus).arg(verb).arg(&corpus))?;
        let said = String::from_utf8(said)?;
        said.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let written = example("write")?.pop().context("nothing was written")?;
    let truth = &written["truth"];
    let ccusage = Ccusage::install();
    let (mut our_times, mut their_times) = (Samples::default(), Samples::default());
    // The first round fills the page cache and counts for nobody.
    for round in 0..=ROUNDS {
        let (ms, said) = timed(|| totals(workshop, &corpus, &room));
        ensure!(said? == *truth, "our totals are not the corpus's");
        let theirs = ccusage.as_ref().map(|peer| timed(|| peer.totals(&corpus, &room)));
        if round > 0 {
            our_times.add(ms);
        }
        if let Some((ms, said)) = theirs {
            let said = said?;
            ensure!(said == *truth, "ccusage's totals are not the corpus's: {said}");
            if round > 0 {
                their_times.add(ms);
            }
        }
    }
    let theirs = ccusage.is_some().then(|| their_times.p50());
    lines.push(first(&written, &our_times, theirs));
    let measured = example("measure")?;
    let update = measured.iter().find(|line| line["what"] == "after 64 kB more in one file");
    lines.push(again(update.context("no update was measured")?, theirs)?);
    // Other rows need not carry it along.
    Ok(std::fs::remove_dir_all(&corpus)?)
}

/// What the verb says of the corpus, in the vendor's words.
fn totals(workshop: &Workshop, corpus: &Path, room: &Path) -> Result<Value> {
    let mut tokens = command(&workshop.perennial, room);
    tokens.env("PERENNIAL_HOME", room).env("CLAUDE_CONFIG_DIR", corpus).args(["tokens", "--json"]);
    let said: Value = serde_json::from_slice(&output(&mut tokens)?)?;
    let total = &said["total"];
    Ok(json!({
        "input_tokens": total["input"],
        "output_tokens": total["output"],
        "cache_creation_input_tokens": total["cache_write"],
        "cache_read_input_tokens": total["cache_read"],
    }))
}

fn first(written: &Value, ours: &Samples, theirs: Option<f64>) -> Line {
    let mb = written["bytes"].as_f64().unwrap_or(f64::NAN) / 1e6;
    let ratio = ratio(ours.p50(), theirs);
    Line {
        row: "P6",
        what: format!("token totals of {mb:.0} MB, p50 of {ROUNDS}"),
        ours: format!("{:.0} ms (least {:.0})", ours.p50(), ours.percentile(0)),
        peer: format!("ccusage {CCUSAGE} {}", shown(theirs, "ms")),
        ratio,
        goal: "≤ 1/5 of ccusage, exact".to_owned(),
        reached: ratio.is_some_and(|ratio| ratio <= 0.2),
    }
}

fn again(update: &Value, theirs: Option<f64>) -> Result<Line> {
    ensure!(update["exact"] == true, "our totals after more was written are wrong");
    let ms = update["wall_ms_p50"].as_f64().context("no time")?;
    Ok(Line {
        row: "P6",
        what: "token totals after 64 kB more".to_owned(),
        ours: format!("{ms:.2} ms"),
        peer: format!("ccusage reads all again, {}", shown(theirs, "ms")),
        ratio: ratio(ms, theirs),
        goal: format!("≤ {GOAL_UPDATE_MS:.0} ms"),
        reached: ms <= GOAL_UPDATE_MS,
    })
}
