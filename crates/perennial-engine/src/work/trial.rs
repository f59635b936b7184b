//! Scripts and files of an agent's own that only try something out, by their names: which are run, which are written, and
//! which are removed when they have served. By names only: nothing is looked up.

use super::program::{base, plain};

/// Files that are written there are nobody's work.
const SCRATCH: [&str; 4] = ["/tmp/", "/dev/", "/var/tmp/", "$TMPDIR"];
/// Nor are those of which a part of the name begins so, wherever they are.
const SHOWS_SOMETHING: &str = "repro";
/// Directories and files that begin so.
const THROWAWAY: [&str; 4] = ["scratch", "tmp_", "temp_", "debug_"];
/// A script of an agent's own, at the top of its tree, of which a part of the name begins so.
const PROBES: [&str; 10] = [
    "debug",
    "inspect",
    "probe",
    "explor",
    "investigat",
    "experiment",
    "diagnos",
    "scratch",
    "tmp",
    "temp",
];
/// Scripts that have one of these in their name test something.
const TESTS: [&str; 12] = [
    "test", "tests", "runtests", "spec", "specs", "check", "checks", "verify", "validate", "smoke",
    "e2e", "selftest",
];
const SCRIPTS: [&str; 13] =
    ["py", "js", "mjs", "cjs", "ts", "mts", "sh", "bash", "rb", "pl", "php", "lua", "exs"];
/// Programs that run the script that is named first.
const INTERPRETERS: [&str; 19] = [
    "python", "node", "ruby", "perl", "php", "lua", "tsx", "ts-node", "deno", "bun", "elixir",
    "Rscript", "julia", "bash", "sh", "zsh", "dash", "ksh", "groovy",
];
/// Programs of the system, whatever they are called.
const OF_SYSTEM: [&str; 4] = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"];

/// Whether a program with these arguments runs such a script. `program` is as it was written.
pub fn is_trial(program: &str, arguments: &[String]) -> bool {
    let script = script(program, arguments);
    script.is_some_and(|script| tests(script) || is_throwaway(script) || is_probe(script))
}

/// The script that is run.
fn script<'a>(program: &'a str, arguments: &'a [String]) -> Option<&'a str> {
    let is_of_system = OF_SYSTEM.iter().any(|place| program.starts_with(place));
    if !INTERPRETERS.contains(&base(program)) {
        return Some(program).filter(|program| program.contains('/') && !is_of_system);
    }
    // A script that is given in the line has no name.
    let is_given = |word: &&String| matches!(word.as_str(), "-c" | "-e" | "-" | "--eval" | "-p");
    let first = arguments.iter().find(|word| is_given(word) || !word.starts_with('-'))?;
    let words = plain(arguments, &["-m"]);
    match words[..] {
        ["-m", module, ..] => Some(module),
        // `deno run x.ts`, `bun run x.ts`
        ["run", file, ..] => Some(file),
        [file, ..] if !is_given(&first) => Some(file),
        _ => None,
    }
}

/// Whether a file of this name is part of the work.
pub fn is_work(file: &str) -> bool {
    let is_scratch = SCRATCH.iter().any(|scratch| file.starts_with(scratch));
    !file.is_empty() && !is_scratch && !is_throwaway(file) && !is_probe(file)
}

/// Whether files that are removed were there to try something out: one of them at least, and the others are beside it at the
/// top of the tree, or are tests.
pub fn are_trials(files: &[&str]) -> bool {
    let is_top = |file: &str| !at_top(file).contains('/');
    let may_be = |file: &&str| is_throwaway(file) || is_top(file) || tests(file);
    files.iter().any(|file| is_throwaway(file) || is_probe(file)) && files.iter().all(may_be)
}

fn is_throwaway(file: &str) -> bool {
    let is_one = |part: &str| THROWAWAY.iter().any(|word| part.starts_with(word));
    file.to_lowercase().split('/').any(is_one) || shows_something(file)
}

/// Whether what is named only shows something, as a reproduction does.
pub fn shows_something(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.starts_with('-')
        && name.split(['/', '_', '-', '.', ':']).any(|part| part.starts_with(SHOWS_SOMETHING))
}

/// A script at the top of the tree whose name says that it tries or tests something. Tests that stay are elsewhere.
fn is_probe(file: &str) -> bool {
    let name = at_top(file).to_lowercase();
    let (stem, kind) = name.rsplit_once('.').unwrap_or((&name, ""));
    let tries = |part: &str| PROBES.iter().any(|word| part.starts_with(word));
    SCRIPTS.contains(&kind) && !stem.contains('/') && (tests(stem) || parts(stem).any(tries))
}

fn at_top(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

/// Whether the name of a script, or of a module, says that it tests something.
fn tests(script: &str) -> bool {
    let name = script.rsplit('/').next().unwrap_or(script).to_lowercase();
    let mut parts = parts(&name);
    parts.any(|part| TESTS.contains(&part))
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['_', '-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> bool {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        is_trial(&words[0], &words[1..])
    }

    #[test]
    fn scripts_are_told_by_their_names() {
        for line in [
            "python3 test_edge_cases.py",
            "python -u ./check_fix.py --fast",
            "python reproduce_issue.py",
            "python -m app.tests",
            "./run_tests.sh",
            "bash scripts/verify.sh",
            "node x.test.js",
            "deno run smoke.ts",
            "bin/test sympy/core",
            "ruby spec/a_spec.rb",
        ] {
            assert!(runs(line), "{line}");
        }
        for line in [
            "python app.py",
            "python -m http.server",
            "python -c test",
            "python contest.py",
            "python latest_news.py",
            "node server.js test",
            "/usr/bin/test -f x",
            "test -f x",
            "./configure",
            "bash -c test",
            "python",
            "python -",
        ] {
            assert!(!runs(line), "{line}");
        }
    }

    #[test]
    fn what_tries_something_out_is_no_work() {
        for file in [
            "repro.py",
            "tests/queries/test_reproduce_issue.py",
            "reproduce_issue/test_root/test_a.py",
            "./check_radd.py",
            "inspect_raw.py",
            "scratch/x.rs",
            "/tmp/x.py",
        ] {
            assert!(!is_work(file), "{file}");
        }
        for file in [
            "tests/test_a.py",
            "django/views/debug.py",
            "src/check.rs",
            "main.py",
            "inspector/app.py",
            "conftest.py",
            "test.md",
        ] {
            assert!(is_work(file), "{file}");
        }
    }

    #[test]
    fn trials_are_removed_with_what_they_left() {
        assert!(are_trials(&["reproduce_issue.py", "test.qdp", "sub/tests/test_x.py"]));
        assert!(are_trials(&["test_fix.py"]));
        for files in [&["build", "dist"][..], &["repro.py", "src/lib.rs"], &[], &["notes.md"]] {
            assert!(!are_trials(files), "{files:?}");
        }
    }
}
