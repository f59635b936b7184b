//! `docs/states.md`: states, moves, pictures, exits and restarts, all from the core's own tables.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use perennial_core::agent::{DIALOG_AFTER, HATCH_LIMIT, START_LIMIT};
use perennial_core::exit::{self, Fate};
use perennial_core::restart::{self, Restart};
use perennial_core::state::{Cause, State, moves};

use super::diagram::{Part, mermaid};
use super::words;

pub fn document() -> String {
    let mut text = String::from(
        "<!-- Made by `cargo xtask docs` from perennial-core; edit the code, not this file. -->\n\n\
        # The states of an agent\n\n\
        The state machine is complete: it has the causes of planned work (tasks, freezing, verdicts,\n\
        leads) too, so that no state changes when they are built. What is not in the table\n\
        of moves does not happen.\n\n",
    );
    text += &states();
    text += &pictures();
    text += &table();
    text += &exits();
    text += &restarts();
    text
}

fn states() -> String {
    let mut text = String::from(
        "## States\n\n| state | roster | meaning | ends by itself through |\n|---|---|---|---|\n",
    );
    for state in State::ALL {
        let (meaning, ends) = words::state(state);
        let (word, roster) = (state.word(), state.roster().word());
        let _ = writeln!(text, "| `{word}` | {roster} | {meaning} | {ends} |");
    }
    text + "\n"
}

fn pictures() -> String {
    let mut text = String::from("## Pictures\n\nEvery move is in exactly one picture.\n\n");
    for part in Part::ALL {
        let _ = writeln!(text, "### {}\n\n{}", part.title(), mermaid(part));
    }
    text
}

fn table() -> String {
    let mut text =
        String::from("## Moves\n\n| cause | is given when | from | to |\n|---|---|---|---|\n");
    for cause in Cause::ALL {
        let mut rows: BTreeMap<State, Vec<&str>> = BTreeMap::new();
        for (from, _, to) in moves().filter(|(_, of, _)| *of == cause) {
            rows.entry(to).or_default().push(from.word());
        }
        for (to, from) in rows {
            let (word, when) = (cause.word(), words::cause(cause));
            let _ = writeln!(text, "| {word} | {when} | {} | `{}` |", from.join(", "), to.word());
        }
    }
    text + "\n"
}

fn exits() -> String {
    const ALL: [Restart; 3] = [Restart::Never, Restart::OnCrash, Restart::Always];
    let fate = |clean, restart| match exit::read(clean, restart) {
        Fate::Finished => "`sleeping`, finished",
        Fate::RestartOff => "`sleeping`, crashed and restart off",
        Fate::Crashed => "`crashed`, then a retry",
        Fate::Again => "`waking`, the next session",
    };
    let row = |clean| ALL.map(|restart| fate(clean, restart)).join(" | ");
    format!(
        "## How a session's end is read\n\n\
        A bare command ended cleanly if its exit code is 0. An agent CLI ended cleanly if its preset\n\
        says so and it had given a sign of life; before that, any end is a crash. So is one in the\n\
        middle of a turn.\n\n\
        Under `--restart always`, a session that lived for less than {} or ended before its agent was\n\
        confirmed counts as crashed, however it ended: a program that keeps ending at once is\n\
        restarted with growing waits, and opens the breaker. The same holds while its agent is held.\n\n\
        | ended | `--restart never` | `--restart on-crash` (default) | `--restart always` |\n\
        |---|---|---|---|\n\
        | requested by a verb | the verb's state | the verb's state | the verb's state |\n\
        | cleanly | {} |\n\
        | in any other way, or unknown | {} |\n\n",
        span(restart::NOT_INSTANT),
        row(true),
        row(false)
    )
}

fn restarts() -> String {
    let rows = [
        ("a program that has not started by then counts as a crash", span(START_LIMIT)),
        (
            "an agent CLI without a sign of life is assumed to show a dialog after",
            span(DIALOG_AFTER),
        ),
        ("and is marked as silent, and needing you, after", span(START_LIMIT)),
        ("an agent must get a name within", span(HATCH_LIMIT)),
        (
            "the first restart is immediate if the session lived at least",
            span(restart::NOT_INSTANT),
        ),
        ("waits before successive restarts", waits()),
        ("a restart is counted for", span(restart::WINDOW)),
        (
            "after this many restarts within that time, a crash opens the breaker",
            restarts_in_window(),
        ),
        ("the breaker half-opens after", span(restart::FIRST_OPEN)),
        ("which doubles each time, up to", span(restart::LONGEST_OPEN)),
        (
            "a session that made progress and lived this long resets all of this",
            span(restart::HEALTHY),
        ),
    ];
    let mut text = String::from("## Times\n\n| what | value |\n|---|---|\n");
    for (what, value) in rows {
        let _ = writeln!(text, "| {what} | {value} |");
    }
    text
}

fn waits() -> String {
    let waits = restart::WAITS.map(|seconds| seconds.to_string()).join(", ");
    format!("{waits} s")
}

fn restarts_in_window() -> String {
    restart::RESTARTS_IN_WINDOW.to_string()
}

fn span(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds > 120 && seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
