//! `docs/vocabularies.md`: what each seed calls our states, roles and fields, from the core's own table.

use std::fmt::Write;

use perennial_core::signal::Party;
use perennial_core::state::State;
use perennial_core::vocabulary::{
    CheckpointSource, EscalationSource, SignalSource, Source, StateWord, TaskCondition, TaskSource,
    Vocabulary, conditions,
};

pub fn document() -> String {
    let mut text = String::from(
        "<!-- Made by `cargo xtask docs` from perennial-core; edit the code, not this file. -->\n\n\
        # Vocabularies\n\n\
        Perennial has one word for each thing. Whoever comes from one of the five seeds can use theirs:\n\
        `--vocabulary haak|tavern|julian|s3|gastown` on `ls`, `show`, `role`, `spawn`, `task`, `loops`, `signal`,\n\
        `checkpoint`, `checkpoints`, `escalate`, `escalations`, `graph` and `handoffs` prints in that seed's words and\n\
        form, and reads its words for states, roles and parties\n\
        (`ls --state alive --vocabulary tavern`, `task ls --role polecat --vocabulary gastown`,\n\
        `signal ls --from runner --vocabulary s3`). With a vocabulary only its own words are read, since the\n\
        same word means different things in two of them. Nothing is recorded in them.\n\n",
    );
    text += &states();
    text += TWO_MEANINGS;
    text += &input();
    text += &roles();
    text += &task_states();
    text += &signals();
    text += OTHERS;
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
    let mut text =
        format!("## States of agents\n\n| Perennial | {titles} |\n|---|---|---|---|---|---|\n");
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
        let word = word(vocabulary.state(condition));
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

fn task_states() -> String {
    let titles = Vocabulary::ALL.map(Vocabulary::title).join(" | ");
    let mut text =
        format!("## States of tasks\n\n| Perennial | {titles} |\n|---|---|---|---|---|---|\n");
    for condition in TaskCondition::ALL {
        let words = Vocabulary::ALL.map(|vocabulary| word(vocabulary.task_state(condition)));
        let ours = match condition {
            TaskCondition::Failed => "`blocked`, given back too often".to_owned(),
            TaskCondition::Merged => "`verified` and merged".to_owned(),
            other => format!("`{}`", other.our_word()),
        };
        let _ = writeln!(text, "| {ours} | {} |", words.join(" | "));
    }
    text + "\nHAAK and Julian have no tasks: our words stay, as `dropped` does where a seed has nothing like it. S3's `merged` is\n\
            read and means nothing yet: it has no source until there is a merge queue. S3's words are those of its hooks,\n\
            of its queue's entries and of its nodes.\n\n"
}

fn signals() -> String {
    let titles = Vocabulary::ALL.map(Vocabulary::title).join(" | ");
    let mut text =
        format!("## Parties of signals\n\n| Perennial | {titles} |\n|---|---|---|---|---|---|\n");
    for party in Party::ALL {
        let words = Vocabulary::ALL.map(|vocabulary| format!("`{}`", vocabulary.party(party)));
        let _ = writeln!(text, "| `{}` | {} |", party.word(), words.join(" | "));
    }
    text + "\nKinds of signals are S3's everywhere; Julian writes them as markers, `[AGENT_REGISTERED]`. Gas Town's LIFECYCLE mail\n\
            has no kind of its own: what it asks for is told by AGENT_TERMINATED and HANDOFF_COMPLETE. `signal send --to runner\n\
            --vocabulary s3` means the agent that the payload's `identity_name` names.\n\n"
}

const OTHERS: &str = "\
## Checkpoints, escalations, sessions of the graph and handoffs\n\n\
Phases of work (`investigation`, `planning`, `implementation`, `testing`, `completion`) are S3's; no other seed names\n\
any, so they are the same everywhere. A checkpoint is, in S3, a hook file; in HAAK, what an agent writes down before it\n\
is frozen. No seed has states of escalations: `open`, `seen` and `withdrawn` stay. Severities are S3's urgencies, and\n\
`critical`, which it lacks.\n\n\
The form of the entity graph is HAAK's in every vocabulary; states and roles in it have the vocabulary's words, those of\n\
agents above. It knows no reasons, so it tells no state within a state. `handoffs` has the vocabulary's words for roles.\n\n\
What is in no seed stays ours: mail, `why` and histories, snapshots, and what tools tell agents.\n\n";

fn word(said: StateWord) -> String {
    match said {
        StateWord { state, detail: Some(detail) } => format!("`{state}` (`{detail}`)"),
        StateWord { state, detail: None } => format!("`{state}`"),
    }
}

fn fields() -> String {
    let mut text = String::from(
        "## Fields\n\nWhat `--json --vocabulary` prints. What Perennial does not know is `null`.\n\n",
    );
    for vocabulary in Vocabulary::ALL {
        let title = vocabulary.title();
        let agents = vocabulary.fields().iter().map(|(name, source)| match source {
            Source::Fixed(word) => (*name, format!("always `{word}`")),
            other => (*name, other.meaning().to_owned()),
        });
        text += &rows(&format!("{title}: agents"), agents);
        let tasks = vocabulary.task_fields().iter().map(|(name, source)| match source {
            TaskSource::Fixed(word) => (*name, format!("always `{word}`")),
            other => (*name, other.meaning().to_owned()),
        });
        text += &rows(&format!("{title}: tasks"), tasks);
        let signals = vocabulary.signal_fields().iter().map(|(name, source)| match source {
            SignalSource::Fixed(word) => (*name, format!("always `{word}`")),
            other => (*name, other.meaning().to_owned()),
        });
        text += &rows(&format!("{title}: signals"), signals);
        let checkpoints =
            vocabulary.checkpoint_fields().iter().map(|(name, source)| match source {
                CheckpointSource::Fixed(word) => (*name, format!("always `{word}`")),
                other => (*name, other.meaning().to_owned()),
            });
        text += &rows(&format!("{title}: checkpoints"), checkpoints);
        let escalations =
            vocabulary.escalation_fields().iter().map(|(name, source)| match source {
                EscalationSource::Fixed(word) => (*name, format!("always `{word}`")),
                other => (*name, other.meaning().to_owned()),
            });
        text += &rows(&format!("{title}: escalations"), escalations);
    }
    text.trim_end().to_owned() + "\n"
}

fn rows(title: &str, fields: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut text = format!("### {title}\n\n| field | holds |\n|---|---|\n");
    for (name, meaning) in fields {
        let _ = writeln!(text, "| `{name}` | {meaning} |");
    }
    text + "\n"
}
