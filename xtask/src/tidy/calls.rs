//! Calls that have one home each: everywhere else they would hide a second clock, a task that
//! nobody owns, or an end that skips the orderly one.

use super::source::Source;
use super::{Finding, Tree};

struct Call {
    words: &'static str,
    /// Files, or directories with a `/` at the end, each with what it needs the call for.
    homes: &'static [(&'static str, &'static str)],
    in_tests: Tests,
    why: &'static str,
}

enum Tests {
    Free,
    Bound,
}

const CALLS: &[Call] = &[
    Call {
        words: "Instant::now",
        homes: &[
            ("crates/perennial/src/daemon/time.rs", "the daemon's clock"),
            ("xtask/src/bench/", "measures"),
        ],
        in_tests: Tests::Free,
        why: "time is an argument; one clock reads it",
    },
    Call {
        words: "clock_gettime",
        homes: &[
            ("crates/perennial-engine/src/host/monotonic.rs", "deadlines of shim and holders"),
            ("xtask/src/bench/", "measures"),
        ],
        in_tests: Tests::Free,
        why: "time is an argument; one clock reads it",
    },
    Call {
        words: "SystemTime::now",
        homes: &[
            ("crates/perennial/src/daemon/time.rs", "the daemon's clock"),
            ("crates/understudy/src/time.rs", "the model server's own log"),
        ],
        in_tests: Tests::Free,
        why: "time is an argument; one clock reads it",
    },
    Call {
        words: "strftime",
        homes: &[
            ("crates/perennial-engine/src/timestamp.rs", "moments in files and on the wire"),
            ("crates/perennial/src/cli/render/time.rs", "moments for a person, in their zone"),
        ],
        in_tests: Tests::Free,
        why: "a moment has one form",
    },
    Call {
        words: "inotify",
        homes: &[("crates/perennial-engine/src/watch.rs", "the one watch")],
        in_tests: Tests::Free,
        why: "one wrapper asks the kernel for changes",
    },
    Call {
        words: "tokio::spawn",
        homes: &[("crates/perennial/src/daemon/", "the one place with a runtime")],
        in_tests: Tests::Free,
        why: "only the daemon has a runtime, and its tasks end with it",
    },
    Call {
        words: "process::exit",
        homes: &[("crates/perennial/src/main.rs", "the end of the program")],
        in_tests: Tests::Free,
        why: "an exit code is returned, so that everything is closed on the way",
    },
    Call {
        words: "thread::sleep",
        homes: &[],
        in_tests: Tests::Bound,
        why: "wait for the event, not for the time",
    },
];

pub fn away_from_home(tree: &Tree) -> Vec<Finding> {
    let pairs = tree.sources.iter().flat_map(|source| CALLS.iter().map(move |call| (source, call)));
    pairs.filter_map(|(source, call)| stray(source, call)).collect()
}

fn stray(source: &Source, call: &Call) -> Option<Finding> {
    if call.homes.iter().any(|(home, _)| at_home(&source.path, home)) {
        return None;
    }
    let lines: Vec<String> = source
        .words(call.words)
        .filter(|at| match call.in_tests {
            Tests::Free => !source.is_test(*at),
            Tests::Bound => true,
        })
        .map(|at| source.line(at).to_string())
        .collect();
    (!lines.is_empty()).then(|| Finding {
        rule: "calls",
        place: format!("{} {}", source.path, call.words),
        amount: lines.len(),
        text: format!("line {}: {}", lines.join(", "), call.why),
    })
}

fn at_home(path: &str, home: &str) -> bool {
    path == home || home.ends_with('/') && path.starts_with(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let source = Source::read(&Text { path: path.into(), text: text.into() });
        let findings = CALLS.iter().filter_map(|call| stray(&source, call));
        findings.map(|finding| (finding.place, finding.amount)).collect()
    }

    #[test]
    fn calls_are_found_away_from_home_only() {
        let text = "//! Instant::now\nfn a() { std::time::Instant::now(); }\n\
            #[cfg(test)]\nmod tests { fn b() { Instant::now(); thread::sleep(x); } }";
        let place = |call| (format!("crates/a/src/a.rs {call}"), 1);
        assert_eq!(
            found("crates/a/src/a.rs", text),
            [place("Instant::now"), place("thread::sleep")]
        );
        assert_eq!(found("xtask/src/bench/a.rs", "fn a() { Instant::now(); }"), []);
    }
}
