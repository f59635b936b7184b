//! `docs/harnesses.md`: the table as people read it, and whether it still holds.

use std::fmt::Write;
use std::path::Path;

use perennial_engine::harness::preset::Preset;

use super::harness::Harness;
use super::results::{Column, Results};
use super::{Outcome, Scenario, claimed, scenarios, unknown_names};

pub const PATH: &str = "docs/harnesses.md";

const HEAD: &str = "\
# What works with which agent CLI

Made by `cargo xtask docs` from runs of the conformance suite: do not edit. Each row is a scenario that was run
with the real agent CLI and a scripted model, and judged by what the model received and by what `ls`, `show`, `logs`,
`why` and `sent` say. *not* is a limit of that agent CLI; the run has shown it, and the reason is below.
**fails** is a fault of Perennial that the last run found.

```sh
cargo xtask prove conformance                     # all of it: writes what it saw, then run `cargo xtask docs`
cargo xtask prove conformance --harness NAME      # one column
cargo xtask prove conformance --preset FILE       # a preset of your own
```

How to write one is in [adding a vendor](adding-a-vendor.md).

";

/// The document, or what keeps it from being made: the runs are older than the table or the presets.
pub fn document(results: &Results) -> Result<String, String> {
    let columns = columns(results)?;
    let mut text = HEAD.to_owned();
    let names: Vec<String> = columns
        .iter()
        .map(|(preset, column)| format!("{} {}", preset.name, column.version))
        .collect();
    let _ = writeln!(text, "| scenario | {} | shows |", names.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---|".repeat(columns.len()));
    for scenario in scenarios::ALL {
        let cells: Vec<&str> = columns.iter().map(|(_, column)| cell(column, scenario)).collect();
        let _ =
            writeln!(text, "| {} | {} | {} |", scenario.name, cells.join(" | "), scenario.shows);
    }
    for (preset, _) in &columns {
        let _ = writeln!(text, "\n## Not with {}\n", preset.name);
        for limit in &preset.limits.not {
            let scenario = limit.scenario.as_ref().map(|name| format!(" (scenario {name})"));
            let _ =
                writeln!(text, "- {}: {}{}", limit.what, limit.why, scenario.unwrap_or_default());
        }
        if preset.limits.not.is_empty() {
            text.push_str("No limit is known.\n");
        }
    }
    Ok(text)
}

fn cell(column: &Column, scenario: &Scenario) -> &'static str {
    match column.outcome(scenario.name) {
        Some(Outcome::Works) => "works",
        Some(Outcome::Not) => "not",
        Some(Outcome::Fails) => "**fails**",
        None => "",
    }
}

/// Each built-in preset with what was seen of it, if that is still what it says.
fn columns(results: &Results) -> Result<Vec<(Preset, &Column)>, String> {
    let presets = Harness::built_in().into_iter().map(|harness| {
        Preset::load(Path::new("/proc/none"), &harness.name).expect("a built-in preset")
    });
    presets.map(|preset| column(results, &preset).map(|column| (preset, column))).collect()
}

fn column<'a>(results: &'a Results, preset: &Preset) -> Result<&'a Column, String> {
    let name = &preset.name;
    let stale = |why: String| {
        format!("{name}: {why}; run `cargo xtask prove conformance --harness {name}`")
    };
    let column = results.0.get(name).ok_or_else(|| stale("was never run".to_owned()))?;
    if column.version != preset.measured {
        return Err(stale(format!("run with {}, not with {}", column.version, preset.measured)));
    }
    if let Some(unknown) = unknown_names(preset)
        .first()
        .map(ToString::to_string)
        .or_else(|| column.unknown().next().cloned())
    {
        return Err(stale(format!("there is no scenario {unknown}")));
    }
    for scenario in scenarios::ALL {
        let seen = column.outcome(scenario.name);
        if seen != Some(Outcome::Fails) && seen != claimed(preset, scenario.name) {
            return Err(stale(format!("{} was not seen as the preset has it", scenario.name)));
        }
    }
    Ok(column)
}
