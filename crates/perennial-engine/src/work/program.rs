//! Which programs of a command line run tests, make a commit or change files. By names only: nothing is looked up.

use super::command::{Simple, commands};
use super::trial::{are_trials, is_trial, is_work, shows_something};

/// Programs and keywords that run the rest of their line; their options go with them.
const WRAPPERS: [&str; 22] = [
    "!", "time", "sudo", "doas", "nohup", "exec", "command", "env", "then", "do", "if", "else",
    "while", "stdbuf", "nice", "ionice", "npx", "bunx", "xvfb-run", "unbuffer", "{", "setsid",
];
/// The same, by two words.
const TWO_WORD_WRAPPERS: [(&str, &str); 14] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("pdm", "run"),
    ("pixi", "run"),
    ("conda", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("npm", "exec"),
    ("coverage", "run"),
    ("mise", "exec"),
];
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// Options whose value is the next word.
const VALUED: [&str; 14] = [
    "-C",
    "-c",
    "-p",
    "-w",
    "-F",
    "-f",
    "--prefix",
    "--workspace",
    "--manifest-path",
    "--filter",
    "--dir",
    "--project",
    "--package",
    "--cwd",
];
/// Programs that run what is named anywhere in their arguments, also as `test:unit`.
const BY_GOAL: [&str; 13] = [
    "make", "gmake", "ninja", "mvn", "mvnw", "gradle", "gradlew", "npm", "yarn", "pnpm", "just",
    "rake", "task",
];
/// With one of these nothing is run.
const RUNS_NOTHING: [&str; 8] = [
    "--help",
    "-h",
    "--version",
    "--collect-only",
    "--no-run",
    "--listTests",
    "--list",
    "--dry-run",
];
/// What a script has in it that changes files.
const SCRIPT_WRITES: [&str; 6] =
    ["write_text(", ".write(", "writeFileSync(", "fs.writeFile(", "File.write(", "os.replace("];

/// Programs that only look.
const LOOKS: [&str; 19] = [
    "cat", "ls", "grep", "rg", "find", "fd", "head", "tail", "nl", "wc", "tree", "awk", "less",
    "file", "stat", "bat", "sed", "sort", "jq",
];
/// Programs that say nothing of what is done.
const NEUTRAL: [&str; 4] = ["cd", "echo", "true", "pwd"];

/// What a command line does, as far as its words tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deeds {
    pub tests: Option<TestCommand>,
    /// What is run only tries something out: a script of the agent's own.
    pub is_trial: bool,
    /// Nothing is changed behind what is run.
    pub tests_last: bool,
    /// It removes what something was tried out with.
    pub cleans: bool,
    pub commits: bool,
    pub edits: bool,
    /// The files that it changes, where they are named.
    pub edited: Vec<String>,
    /// It only looks.
    pub looks: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    pub words: String,
    /// The line's exit is its own.
    pub has_own_exit: bool,
}

/// What a line does. `tests` has the commands that run tests.
pub fn deeds(line: &str, tests: &[Vec<String>]) -> Deeds {
    let mut deeds = Deeds::default();
    add(line, tests, &mut deeds, 0);
    deeds.looks &= !deeds.edits;
    deeds
}

fn add(line: &str, tests: &[Vec<String>], deeds: &mut Deeds, depth: u32) {
    let found = commands(line);
    let count = found.len();
    let program = |simple: &Simple| unwrapped(&simple.words).first().map(|it| base(it).to_owned());
    let programs: Vec<String> = found.iter().filter_map(program).collect();
    let is_in = |list: &[&str], name: &String| list.contains(&name.as_str());
    deeds.looks |= programs.iter().any(|name| is_in(&LOOKS, name))
        && programs.iter().all(|name| is_in(&LOOKS, name) || is_in(&NEUTRAL, name));
    for (position, simple) in found.iter().enumerate() {
        let words = unwrapped(&simple.words);
        let Some((written, arguments)) = words.split_first() else { continue };
        let program = base(written);
        let script = arguments.iter().skip_while(|word| !is_script_option(word)).nth(1);
        if let Some(script) = script.filter(|_| SHELLS.contains(&program) && depth == 0) {
            // One level: what hides deeper is not looked for.
            add(script, tests, deeds, depth + 1);
            continue;
        }
        let is_test = is_test(program, arguments, tests);
        let is_trial = match is_test {
            // A test that only shows something is one of its own, whatever runs it.
            true => arguments.iter().any(|word| shows_something(word)),
            false => is_trial(written, arguments),
        };
        if is_test || is_trial {
            let has_own_exit = !simple.is_piped && position + 1 == count;
            deeds.tests = Some(TestCommand { words: words.join(" "), has_own_exit });
            (deeds.is_trial, deeds.tests_last) = (is_trial, true);
        }
        deeds.commits |= is_commit(program, arguments);
        deeds.cleans |= program == "rm" && are_trials(&files(arguments));
        let was_edited = std::mem::take(&mut deeds.edits);
        edits(program, arguments, simple, deeds);
        deeds.tests_last &= !deeds.edits;
        deeds.edits |= was_edited;
    }
}

/// The files that a line looks at, if it only looks; the last word of each program that shows files.
pub fn looked_at(line: &str) -> Option<Vec<String>> {
    const SHOW: [&str; 8] = ["cat", "head", "tail", "nl", "sed", "less", "bat", "awk"];
    if !deeds(line, &[]).looks {
        return None;
    }
    let files = commands(line).into_iter().filter_map(|simple| {
        let (program, arguments) = unwrapped(&simple.words).split_first()?;
        let file = arguments.last().filter(|word| !word.starts_with('-'))?;
        SHOW.contains(&base(program)).then(|| file.clone())
    });
    let files: Vec<String> = files.collect();
    (!files.is_empty()).then_some(files)
}

/// The words that are no options.
fn files(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect()
}

/// `-c`, alone or with others.
fn is_script_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// The words of the program itself, without what only wraps it.
fn unwrapped(words: &[String]) -> &[String] {
    let mut rest = words;
    while let [first, tail @ ..] = rest {
        let name = base(first);
        let second = tail.first().map(String::as_str).unwrap_or_default();
        if is_assignment(first) {
            rest = tail;
        } else if WRAPPERS.contains(&name) {
            rest = without_options(tail);
        } else if name == "timeout" {
            rest = without_options(tail);
            let is_span = |word: &String| word.starts_with(|sign: char| sign.is_ascii_digit());
            rest = &rest[rest.iter().take_while(|word| is_span(word)).count()..];
        } else if TWO_WORD_WRAPPERS.contains(&(name, second)) {
            rest = without_options(&tail[1..]);
            if rest.first().is_some_and(|word| word == "-m") {
                // `coverage run -m pytest`
                rest = &rest[1..];
            }
        } else {
            break;
        }
    }
    rest
}

fn without_options(words: &[String]) -> &[String] {
    let is_option = |word: &String| {
        (word.starts_with('-') && word != "-m") || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    &words[words.iter().take_while(|word| is_option(word)).count()..]
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// A program by its name alone; every Python is `python`.
pub(super) fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let version = name.strip_prefix("python").filter(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    if version.is_some() { "python" } else { name }
}

fn is_test(program: &str, arguments: &[String], tests: &[Vec<String>]) -> bool {
    let before = arguments.split(|word| word == "--").next().unwrap_or_default();
    if before.iter().any(|word| RUNS_NOTHING.contains(&word.as_str())) {
        return false;
    }
    tests.iter().any(|pattern| match pattern.split_first() {
        Some((first, rest)) => first == program && matches(program, before, rest),
        None => false,
    })
}

fn matches(program: &str, arguments: &[String], pattern: &[String]) -> bool {
    let Some((last, before)) = pattern.split_last() else { return true };
    if BY_GOAL.contains(&program) && before.is_empty() {
        // `npm install test` installs; a goal that comes first decides.
        let goals = plain(arguments, &[]);
        let is_goal = |word: &&str| {
            *word == last.as_str()
                || word
                    .strip_prefix(last.as_str())
                    .is_some_and(|rest| rest.starts_with([':', '-', '_']))
                || word.rsplit(':').next() == Some(last.as_str())
        };
        return match program {
            "npm" | "yarn" | "pnpm" => goals.first().is_some_and(is_goal),
            _ => goals.iter().any(is_goal),
        };
    }
    let options: Vec<&str> =
        pattern.iter().map(String::as_str).filter(|word| word.starts_with('-')).collect();
    let words = plain(arguments, &options);
    let is_same = |(word, wanted): (&&str, &String)| {
        *word == wanted.as_str()
            || base(word) == wanted.as_str()
            || (wanted == "test" && BY_GOAL.contains(&program) && word.starts_with("test:"))
    };
    words.len() >= pattern.len() && words.iter().zip(pattern).all(is_same)
}

/// The arguments without options and their values, but for those that are wanted.
pub(super) fn plain<'a>(arguments: &'a [String], wanted: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in arguments.iter().map(String::as_str) {
        let is_option = word.starts_with(['-', '+']) && !wanted.contains(&word);
        if !is_option && !is_value {
            found.push(word);
        }
        is_value = is_option && VALUED.contains(&word);
    }
    found
}

fn is_commit(program: &str, arguments: &[String]) -> bool {
    let no_commit = ["--dry-run", "--help", "--abort", "--quit", "--no-commit"];
    let runs = !arguments.iter().any(|word| no_commit.contains(&word.as_str()));
    let verb = plain(arguments, &[]).first().copied();
    let commits = match program {
        "git" => matches!(verb, Some("commit" | "revert" | "cherry-pick" | "am")),
        "jj" | "hg" => verb == Some("commit"),
        _ => false,
    };
    runs && commits
}

fn edits(program: &str, arguments: &[String], simple: &Simple, deeds: &mut Deeds) {
    let files: Vec<String> = match program {
        "sed" if arguments.iter().any(|word| is_in_place(word)) => {
            let has_script = arguments.iter().any(|word| word == "-e" || word == "-f");
            let scripts = if has_script { 0 } else { 1 };
            owned(plain(arguments, &[]).into_iter().skip(scripts))
        }
        "perl" if arguments.iter().any(|word| is_in_place(word)) => {
            owned(arguments.last().map(String::as_str).into_iter())
        }
        "tee" => owned(plain(arguments, &[]).into_iter()),
        "cat" | "echo" | "printf" => simple.writes.clone(),
        "apply_patch" | "applypatch" => {
            deeds.edits = true;
            patched(&simple.given).chain(arguments.iter().flat_map(|it| patched(it))).collect()
        }
        "patch" => {
            deeds.edits = true;
            Vec::new()
        }
        "git" if plain(arguments, &[]).first() == Some(&"apply") => {
            deeds.edits |= !arguments.iter().any(|word| word == "--check" || word == "--stat");
            Vec::new()
        }
        "python" | "node" | "ruby" => {
            let script = arguments.iter().skip_while(|word| !is_script_option(word)).nth(1);
            let text = script.map_or(simple.given.as_str(), String::as_str);
            deeds.edits |= SCRIPT_WRITES.iter().any(|write| text.contains(write));
            Vec::new()
        }
        _ => Vec::new(),
    };
    let files = files.into_iter().filter(|file| is_work(file));
    let before = deeds.edited.len();
    deeds.edited.extend(files);
    deeds.edits |= deeds.edited.len() > before;
}

fn owned<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    words.map(str::to_owned).collect()
}

/// `-i`, `-i.bak`, `-pi`, `--in-place`.
fn is_in_place(word: &str) -> bool {
    word.starts_with("--in-place")
        || word.strip_prefix('-').is_some_and(|rest| {
            let letters = rest.split('.').next().unwrap_or_default();
            !letters.starts_with('-') && letters.contains('i') && letters.len() <= 4
        })
}

/// The files that a patch names, where it is of the kind that marks them with `***`.
pub fn patched(patch: &str) -> impl Iterator<Item = String> + '_ {
    const MARKS: [&str; 4] =
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    patch.lines().filter_map(|line| {
        let named = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?;
        Some(named.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use perennial_core::work::PhaseRules;

    use super::*;

    fn of(line: &str) -> Deeds {
        deeds(line, &PhaseRules::default().test_commands)
    }

    #[test]
    fn the_common_runners_are_recognised_however_they_are_called() {
        for line in [
            "cargo test",
            "cargo +nightly test -p x",
            "cargo nextest run --workspace",
            "cd crates/x && RUST_BACKTRACE=1 cargo test 2>&1 | tail -20",
            "cargo --manifest-path a/Cargo.toml test",
            "pytest -q tests/test_a.py::test_b",
            "python -m pytest -x",
            "python3.11 -m unittest discover",
            "uv run pytest",
            "poetry run python -m pytest",
            "coverage run -m pytest",
            "timeout 60 pytest",
            "timeout -k 5 60 python manage.py test",
            "./tests/runtests.py admin",
            "python tests/runtests.py admin",
            "go test ./...",
            "npm test -- --watch=false",
            "npm run test:unit",
            "npm --prefix web test",
            "yarn test",
            "pnpm run test",
            "npx jest",
            "node_modules/.bin/vitest run",
            "npx mocha spec",
            "mvn -q test",
            "./mvnw verify",
            "./gradlew :app:test --info",
            "ctest --output-on-failure",
            "make -C build test",
            "make -j4 check",
            "bundle exec rspec",
            "vendor/bin/phpunit",
            "dotnet test",
            "mix test",
            "swift test",
            "tox -e py311",
            "bazel test //...",
            "bash -lc 'cd x && cargo test'",
            "time cargo t",
            "(cd a; just test)",
        ] {
            assert!(of(line).tests.is_some(), "{line}");
        }
    }

    #[test]
    fn what_only_speaks_of_tests_runs_none() {
        for line in [
            "echo 'cargo test'",
            "grep -rn pytest .",
            "cat test.py",
            "cargo test --no-run",
            "pytest --collect-only",
            "cargo build --bin test",
            "npm install jest",
            "pip install pytest",
            "git commit -m 'cargo test passes'",
            "cat > run.sh <<'EOF'\ncargo test\nEOF",
            "test -f x",
            "ls # cargo test",
            "make",
            "rm test_fix.py",
            "cat > test_fix.py <<'EOF'\nassert x\nEOF",
        ] {
            assert_eq!(of(line).tests, None, "{line}");
        }
    }

    #[test]
    fn the_exit_of_a_line_is_the_runners_own_or_not() {
        let own = |line| of(line).tests.unwrap().has_own_exit;
        assert!(own("cd x && pytest"));
        assert!(!own("pytest | tail -3"));
        assert!(!own("pytest; echo done"));
    }

    /// What is done last in a line is where the work stands behind it.
    #[test]
    fn scripts_of_its_own_are_trials_and_a_line_may_change_and_test() {
        for (line, is_trial, tests_last, edits) in [
            ("python test_fix.py", true, true, false),
            ("cat > check_x.py <<'EOF'\nprint(1)\nEOF\npython check_x.py", true, true, false),
            ("bash run_tests.sh 2>&1 | tail", true, true, false),
            ("pytest tests/test_reproduce_issue.py", true, true, false),
            ("sed -i 's/a/b/' src/x.rs && cargo test", false, true, true),
            ("cargo test; sed -i 's/a/b/' src/x.rs", false, false, true),
        ] {
            let found = of(line);
            let told = (found.tests.is_some(), found.is_trial, found.tests_last, found.edits);
            assert_eq!(told, (true, is_trial, tests_last, edits), "{line}");
        }
        assert!(of("rm -f reproduce_issue.py && git diff").cleans);
        assert!(!of("rm -rf target").cleans);
    }

    #[test]
    fn commits_are_recognised() {
        for line in
            ["git -C a -c user.name=b commit", "git add . && git commit -qm 'y'", "git am x"]
        {
            assert!(of(line).commits, "{line}");
        }
        for line in ["git commit --dry-run", "git log --grep commit", "git revert --abort"] {
            assert!(!of(line).commits, "{line}");
        }
    }

    #[test]
    fn files_that_a_line_changes_are_named() {
        for (line, files) in [
            ("sed -i 's/a/b/' src/x.rs", vec!["src/x.rs"]),
            ("perl -pi -e 's/a/b/' src/x.rs", vec!["src/x.rs"]),
            ("cat > src/y.rs <<'EOF'\nfn y() {}\nEOF", vec!["src/y.rs"]),
            ("echo x | tee -a notes.md", vec!["notes.md"]),
            (
                "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n*** End Patch\nEOF",
                vec!["a.py"],
            ),
        ] {
            let found = of(line);
            assert!(found.edits, "{line}");
            assert_eq!(found.edited, files, "{line}");
        }
        assert!(of("python - <<'EOF'\np.write_text(s)\nEOF").edits);
        for line in [
            "sed -n 's/a/b/p' x",
            "cat x > /tmp/y",
            "cat > repro.py <<'E'\nE",
            "grep x y > out.txt",
            "python - <<'EOF'\nprint(1)\nEOF",
        ] {
            assert!(!of(line).edits, "{line}");
        }
    }
}
