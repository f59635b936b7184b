//! `docs/vocabularies.md`: what each seed calls our states, roles and fields, from the core's own table.

use std::fmt::Write;

use perennial_core::state::State;
use perennial_core::vocabulary::{Source, StateWord, Vocabulary, conditions};

pub fn document() -> String {
    let mut text = String::from(
        "<!-- Made by `cargo xtask docs` from perennial-core; edit the code, not this file. -->\n\n\
        # Vocabularies\n\n\
        Perennial has one word for each thing. Whoever comes from one of the five seeds can use theirs:\n\
        `--vocabulary haak|tavern|julian|s3|gastown` prints agents in that seed's words and form, and reads\n\
        its words for states and roles (`ls --state alive --vocabulary tavern`,\n\
        `ls --role polecat --vocabulary gastown`). With a vocabulary only its own words are read, since the\n\
        same word means different things in two of them. Nothing is recorded in them.\n\n",
    );
    text += &states();
    text += TWO_MEANINGS;
    text += &input();
    text += &roles();
    text += &fields();
    text
}

const TWO_MEANINGS: &str = "\
Words that mean two things:\n\n\
- `expired` is, in Perennial, an agent that never got a name. In Julian it is that and every dead agent, since the\n  \
  seed has one terminal state. In Tavern it is an agent whose task is done: `dead`, reason `completed`.\n\
- `dead` is, in HAAK and Tavern, the whole cemetery, agents that never got a name included.\n\
- `frozen` is, in HAAK, the whole freezer. In Perennial it is only an agent that was suspended on purpose.\n\
- `sleeping` is, in Julian, the whole freezer and crashed agents. In Perennial it is an agent whose session is over.\n\
- `unknown` is, in Julian, also an agent that is just being woken.\n\
- `hibernating` is, in Tavern, the whole freezer. In Perennial it is an agent whose task is done and whose queue is empty.\n\
- `crashed` is, in S3, what it is in Perennial; but S3 calls the end of every other session `terminated`, also of an\n  \
  agent that sleeps and will be woken.\n\
- A *session* is the agent itself in HAAK, and one of its processes in Perennial: `session_id` is that of the newest.\n\n";

fn states() -> String {
    let titles = Vocabulary::ALL.map(Vocabulary::title).join(" | ");
    let mut text = format!("## States\n\n| Perennial | {titles} |\n|---|---|---|---|---|---|\n");
    for state in State::ALL {
        let words = Vocabulary::ALL.map(|vocabulary| all_words(vocabulary, state).join(", "));
        let _ = writeln!(text, "| `{}` | {} |", state.word(), words.join(" | "));
    }
    text + "\nA word in brackets is a state within a state. S3: `stale` is unconfirmed for 300 seconds; `merged`\n\
            is dead with its work merged. Gas Town's seed names no states of agents.\n\n"
}

/// Every word that the state can have there.
fn all_words(vocabulary: Vocabulary, state: State) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for condition in conditions().filter(|condition| condition.state == state) {
        let StateWord { state, detail } = vocabulary.state(condition);
        let word = match detail {
            Some(detail) => format!("`{state}` (`{detail}`)"),
            None => format!("`{state}`"),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn input() -> String {
    let mut text = String::from("## On input\n\n| vocabulary | word | means |\n|---|---|---|\n");
    for vocabulary in Vocabulary::ALL {
        for word in vocabulary.state_words() {
            let meant = vocabulary.states(word).into_iter().map(State::word);
            let meant = meant.collect::<Vec<_>>().join(", ");
            if meant != word {
                let _ = writeln!(text, "| {} | `{word}` | {meant} |", vocabulary.title());
            }
        }
    }
    text + "\nWhere a state has more than one word, only the agents that the word describes are listed.\n\n"
}

fn roles() -> String {
    let mut text = String::from("## Roles\n\n| vocabulary | Perennial | there |\n|---|---|---|\n");
    for vocabulary in Vocabulary::ALL {
        for (ours, theirs) in vocabulary.roles() {
            let _ = writeln!(text, "| {} | `{ours}` | `{theirs}` |", vocabulary.title());
        }
    }
    text + "\nEvery other role has the same name everywhere.\n\n"
}

fn fields() -> String {
    let mut text = String::from(
        "## Fields\n\nWhat `ls` and `show` print with `--json --vocabulary`. What Perennial does not know is `null`.\n\n",
    );
    for vocabulary in Vocabulary::ALL {
        let title = vocabulary.title();
        let _ = writeln!(text, "### {title}\n\n| field | holds |\n|---|---|");
        for (name, source) in vocabulary.fields() {
            let meaning = match source {
                Source::Fixed(word) => format!("always `{word}`"),
                other => other.meaning().to_owned(),
            };
            let _ = writeln!(text, "| `{name}` | {meaning} |");
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}
