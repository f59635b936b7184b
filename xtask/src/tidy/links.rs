//! What is named is there: documents in documents and in code, and Rust files in documents.

use super::{Finding, Tree};

/// Files that Perennial writes in a person's directories; named here, never kept here.
const WRITTEN_ELSEWHERE: &[&str] = &["board.md", "AGENTS.md", "CLAUDE.md"];

pub fn broken(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in &tree.texts {
        // Tests make up names.
        let told = text.text.lines().take_while(|line| !line.contains("#[cfg(test)]"));
        for (index, line) in told.enumerate() {
            for name in names(line).filter(|name| name.ends_with(".md") || !text.is_rust()) {
                if !exists(tree, &text.path, name) {
                    findings.push(Finding {
                        rule: "links",
                        place: text.path.clone(),
                        amount: 1,
                        text: format!("line {}: there is no {name}", index + 1),
                    });
                }
            }
        }
    }
    findings
}

/// Names of Markdown and Rust files in a line: letters, digits and `-_./`, nothing left open.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || "-_./<>*$…{}".contains(c);
    line.split(move |c| !part(c))
        .filter(|word| [".md", ".rs"].iter().any(|end| word.ends_with(end) && word != end))
        .filter(|word| !word.contains(['<', '>', '*', '$', '…', '{', '}']))
}

fn exists(tree: &Tree, from: &str, name: &str) -> bool {
    if WRITTEN_ELSEWHERE.contains(&name) {
        return true;
    }
    let beside = from.rsplit_once('/').map_or(name.to_owned(), |(dir, _)| format!("{dir}/{name}"));
    let places = [plain(&beside), plain(name), plain(&format!("crates/{name}"))];
    tree.texts.iter().any(|text| {
        places.contains(&Some(text.path.clone()))
            // In prose a bare name is enough.
            || !name.contains('/') && text.path.ends_with(&format!("/{name}"))
    })
}

/// The path without `.` and `..`; `None` if it leaves the repository.
fn plain(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_are_found_in_prose_and_links() {
        let line = "see [a](docs/a.md#part), `b.md`, `a/b.rs`; not <name>.md, *.rs nor …-x.md.";
        assert_eq!(names(line).collect::<Vec<_>>(), ["docs/a.md", "b.md", "a/b.rs"]);
    }

    #[test]
    fn paths_stay_inside() {
        assert_eq!(plain("docs/../a.md").as_deref(), Some("a.md"));
        assert_eq!(plain("../a.md"), None);
    }
}
