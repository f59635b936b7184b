//! Plays every script in `scripts/` and compares its output with the golden one beside it.
//!
//! `PERENNIAL_BLESS=1` writes the golden output anew: read the difference before you commit it.

use std::fs;
use std::path::{Path, PathBuf};

fn scripts() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let entries = fs::read_dir(directory).expect("the scripts are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    paths
}

#[test]
fn every_script_tells_its_golden_story() {
    let bless = std::env::var_os("PERENNIAL_BLESS").is_some();
    let mut wrong = Vec::new();
    let scripts = scripts();
    assert!(scripts.len() > 10, "the scripts are missing");
    for path in scripts {
        let script = fs::read_to_string(&path).expect("readable");
        let golden = path.with_extension("out");
        match perennial_sim::play(&script) {
            Err(mistake) => wrong.push(format!("{}: {mistake}", path.display())),
            Ok(story) if bless => fs::write(&golden, story).expect("writable"),
            Ok(story) => {
                let expected = fs::read_to_string(&golden).unwrap_or_default();
                let differs = expected.lines().zip(story.lines()).find(|(old, new)| old != new);
                if let Some((old, new)) = differs {
                    wrong.push(format!("{}:\n- {old}\n+ {new}", golden.display()));
                } else if expected != story {
                    wrong.push(format!("{}: lines are missing or too many", golden.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
