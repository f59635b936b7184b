//! No package registry's host is named in the repository: where packages come from is a matter
//! of the machine, and a mirror's name in a lock file would bind everybody to it.

use super::{Finding, Tree};

/// In halves, so that this file does not name them either.
const HOSTS: &[(&str, &str)] = &[
    ("crates", ".io"),
    ("npmjs", ".org"),
    ("npmjs", ".com"),
    ("pypi", ".org"),
    ("python", "hosted.org"),
    ("deb.debian", ".org"),
    ("archive.ubuntu", ".com"),
    ("rubygems", ".org"),
    ("proxy.golang", ".org"),
];

/// The one source that cargo itself writes into every lock file.
fn usual_source() -> String {
    format!("source = \"registry+https://github.com/rust-lang/{}{}-index\"", HOSTS[0].0, HOSTS[0].1)
}

pub fn named(tree: &Tree) -> Vec<Finding> {
    let usual = usual_source();
    let mut findings = Vec::new();
    for text in &tree.texts {
        for (index, line) in text.text.lines().enumerate() {
            let own_business = text.path.ends_with("Cargo.lock") && line == usual;
            if !own_business && names_host(line, text.path.ends_with("Cargo.lock")) {
                findings.push(Finding {
                    rule: "hosts",
                    place: text.path.clone(),
                    amount: 1,
                    text: format!("line {}: names a package registry's host", index + 1),
                });
            }
        }
    }
    findings
}

/// In a lock file any source but the usual one is a host.
fn names_host(line: &str, lock: bool) -> bool {
    let hosts = HOSTS.iter().map(|(first, second)| format!("{first}{second}"));
    lock && line.starts_with("source = ") || hosts.into_iter().any(|host| line.contains(&host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_and_the_usual_source_is_no_host() {
        assert!(names_host(&format!("see https://{}{}/x", HOSTS[0].0, HOSTS[0].1), false));
        assert!(names_host("source = \"registry+https://mirror.example/index\"", true));
        assert!(!names_host("version = \"1\"", true));
        assert!(usual_source().ends_with("-index\""));
    }
}
