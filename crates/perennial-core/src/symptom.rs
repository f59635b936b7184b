//! Symptoms of a context window that is running out: what an agent says, and what its CLI announces or does.
//!
//! Pure. The measured clock outranks words: they are cheap, and an agent may quote them. Tool output is anybody's words.
//!
//! Invariants
//! - SY1  Tool output is never more than low, and neither is what an agent quotes.
//! - SY2  Words alone are low while less than three quarters of the usable window are measured, or nothing is. An
//!   agent's own report of its window is words, too, and an estimate measures nothing.
//! - SY3  A compaction is medium, and a second one in a session high.

mod unquoted;

use serde::{Deserialize, Serialize};

use self::unquoted::unquoted;
use crate::context::{Sample, Source, Threshold};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Urgency {
    Low,
    Medium,
    High,
}

impl Urgency {
    pub const ALL: [Urgency; 3] = [Urgency::Low, Urgency::Medium, Urgency::High];

    pub fn word(self) -> &'static str {
        match self {
            Urgency::Low => "low",
            Urgency::Medium => "medium",
            Urgency::High => "high",
        }
    }
}

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Symptom {
    /// A text has “context” beside “compress” or “limit”.
    Words,
    /// The agent says that it is running out of context.
    OwnWord,
    /// The agent CLI is about to compact the conversation.
    Compaction,
    /// The agent CLI has compacted the conversation, and nobody heard it announced.
    Compacted,
    /// The agent CLI gave up: the window was full again right after each of several compactions.
    Thrash,
}

impl Symptom {
    pub const ALL: [Symptom; 5] = [
        Symptom::Words,
        Symptom::OwnWord,
        Symptom::Compaction,
        Symptom::Compacted,
        Symptom::Thrash,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Symptom::Words => "words",
            Symptom::OwnWord => "own-word",
            Symptom::Compaction => "compaction",
            Symptom::Compacted => "compacted",
            Symptom::Thrash => "thrash",
        }
    }

    /// As the signal's list has it.
    pub fn description(self) -> &'static str {
        match self {
            Symptom::Words => "a text mentions context together with compress or limit",
            Symptom::OwnWord => "the agent says that it is running out of context",
            Symptom::Compaction => "the agent CLI announced a compaction",
            Symptom::Compacted => "the agent CLI compacted the conversation",
            Symptom::Thrash => {
                "the agent CLI gave up, since its window was full again right after each compaction"
            }
        }
    }

    /// Whether the conversation is compacted, or was.
    pub fn is_compaction(self) -> bool {
        match self {
            Symptom::Compaction | Symptom::Compacted => true,
            Symptom::Words | Symptom::OwnWord | Symptom::Thrash => false,
        }
    }

    /// Whether it is somebody's words, which say the same again and again.
    pub fn is_words(self) -> bool {
        match self {
            Symptom::Words | Symptom::OwnWord => true,
            Symptom::Compaction | Symptom::Compacted | Symptom::Thrash => false,
        }
    }
}

/// Whose words a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    Agent,
    /// What a tool printed.
    Tool,
}

/// The ways in which agents say it.
const OWN_WORDS: [&str; 7] = [
    "running out of context",
    "run out of context",
    "running low on context",
    "out of context window",
    "context is almost full",
    "context window is almost full",
    "context is nearly full",
];
/// Of themselves: one of these words is in the same sentence.
const OF_ONESELF: [&str; 8] = ["i", "i'm", "i'll", "i've", "my", "we", "we're", "our"];
/// With one of these in the same sentence they say something else.
const NOT_SO: [&str; 7] = ["not", "isn't", "aren't", "don't", "never", "without", "if"];

/// No more of a text is looked at.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// The symptom in a text, if there is one.
pub fn in_words(text: &str, speaker: Speaker) -> Option<Symptom> {
    let text = text[..text.floor_char_boundary(LOOKED_AT_BYTES)].to_lowercase();
    let mentions = |line: &str| {
        line.contains("context") && (line.contains("compress") || line.contains("limit"))
    };
    match speaker == Speaker::Agent && is_said_of_oneself(&text) {
        true => Some(Symptom::OwnWord),
        false => text.lines().any(mentions).then_some(Symptom::Words),
    }
}

/// Whether a sentence outside of quotations says it of the one who speaks. SY1
fn is_said_of_oneself(text: &str) -> bool {
    if !OWN_WORDS.iter().any(|words| text.contains(words)) {
        return false;
    }
    let own = unquoted(text).replace('’', "'");
    own.split(['.', '!', '?', ';', '\n']).any(|sentence| {
        let has = |list: &[&str]| {
            let mut words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'');
            words.any(|word| list.contains(&word))
        };
        let says = OWN_WORDS.iter().any(|words| sentence.contains(words));
        says && has(&OF_ONESELF) && !has(&NOT_SO)
    })
}

/// How urgent a symptom is, in a session that had this number of compactions before.
pub fn urgency(symptom: Symptom, sample: Option<&Sample>, compactions: u32) -> Urgency {
    let is_full = |sample: &&Sample| {
        is_measured(sample) && sample.usable_percent() >= Threshold::ThreeQuarters.percent()
    };
    match symptom {
        Symptom::Words => Urgency::Low,
        Symptom::OwnWord if sample.filter(is_full).is_some() => Urgency::High,
        Symptom::OwnWord => Urgency::Low,
        Symptom::Compaction | Symptom::Compacted if compactions > 0 => Urgency::High,
        Symptom::Compaction | Symptom::Compacted => Urgency::Medium,
        Symptom::Thrash => Urgency::High,
    }
}

/// Whether an agent CLI that compacts where the usable window ends does so now.
pub fn is_used_up(sample: &Sample) -> bool {
    is_measured(sample) && sample.usable > 0 && sample.tokens >= sample.usable
}

/// SY2
fn is_measured(sample: &Sample) -> bool {
    match sample.source {
        Source::StatusLine | Source::Transcript | Source::Table => true,
        Source::Reported | Source::Estimated => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tools_are_never_more_than_low() {
        let said = "I'm running out of context here.";
        assert_eq!(in_words(said, Speaker::Agent), Some(Symptom::OwnWord));
        assert_eq!(in_words(said, Speaker::Tool), None);
        let limit = "note: CONTEXT is near its Limit";
        assert_eq!(in_words(limit, Speaker::Tool), Some(Symptom::Words));
        assert_eq!(in_words(limit, Speaker::Agent), Some(Symptom::Words));
        assert_eq!(in_words(&format!("first\n{limit}\nlast"), Speaker::Tool), Some(Symptom::Words));
        // Not in one line, so that a long listing is not taken for one.
        assert_eq!(in_words("context\nlimit\ncompress", Speaker::Agent), None);
    }

    /// SY2, SY3
    #[test]
    fn the_measured_clock_outranks_words() {
        let at = |percent: u64| {
            let source = Source::Transcript;
            Sample { tokens: percent * 10, window: 1000, usable: 1000, source }
        };
        assert_eq!(urgency(Symptom::OwnWord, Some(&at(74)), 0), Urgency::Low);
        assert_eq!(urgency(Symptom::OwnWord, None, 0), Urgency::Low);
        assert_eq!(urgency(Symptom::OwnWord, Some(&at(75)), 0), Urgency::High);
        assert_eq!(urgency(Symptom::Words, Some(&at(99)), 3), Urgency::Low);
        assert_eq!(urgency(Symptom::Compaction, None, 0), Urgency::Medium);
        assert_eq!(urgency(Symptom::Compaction, None, 1), Urgency::High);
        assert_eq!(urgency(Symptom::Compacted, None, 1), Urgency::High);
        assert_eq!(urgency(Symptom::Thrash, None, 0), Urgency::High);
        for source in [Source::Reported, Source::Estimated] {
            let sample = Sample { source, ..at(100) };
            assert_eq!(urgency(Symptom::OwnWord, Some(&sample), 0), Urgency::Low, "{source:?}");
            assert!(!is_used_up(&sample));
        }
        assert!(is_used_up(&at(100)) && !is_used_up(&at(99)));
    }

    /// SY1
    #[test]
    fn only_what_an_agent_says_of_itself_is_its_own_word() {
        for own in [
            "I'm running out of context, so I stop here.",
            "I’m running out of context",
            "Done. My context is almost full! Next: the parser",
            "The log said \"ok\"; we are running low on context.",
            // An apostrophe quotes nothing, whichever it is, and a mark that is not closed quotes nothing either.
            "The parser's tests and the agents' notes: I'm running out of context, that's it.",
            "The parser’s tests and the agents’ notes: I’m running out of context, that’s it.",
            "I'm running out of context, as in the '90s.",
            "It's 5' wide, I'm running out of context.",
            "It is 24\" wide, and I'm running out of context.",
            "‘ok’ it said: I’m running out of context. The others’ work is done.",
            "„Fertig“ said the log; I'm running out of context.",
            // The fence is closed.
            "~~~~\n```\n~~~~\nI'm running out of context",
            "```\ncode\n````\nI'm running out of context",
            // This opens nothing: a backtick in what stands behind it makes it a line of text.
            "```x``` is the name.\nI'm running out of context",
            // Nor do these: too few of them.
            "~5 files are left.\nI'm running out of context",
            "~~ nearly ~~ done\nI'm running out of context",
            "Nothing is left to read.\nI'm running out of context.\nThat is all.",
        ] {
            assert_eq!(in_words(own, Speaker::Agent), Some(Symptom::OwnWord), "{own}");
        }
        for other in [
            "The file says \"I'm running out of context\".",
            "It prints `I'm running out of context` then.",
            "“I'm running out of context” is what it looks for.",
            "> I'm running out of context",
            "```\nI'm running out of context\n```\nThat is the fixture.",
            "    I'm running out of context",
            "The file says ‘I'm running out of context’.",
            "The file says ‘I’m running out of context’ there.",
            "The file says 'I'm running out of context'.",
            "('I am running out of context' is the fixture.)",
            "Dort steht „I'm running out of context“.",
            "Dort steht ‚I'm running out of context‘.",
            "Là: «I'm running out of context», ‹my context is almost full›.",
            "Dort: »I'm running out of context«.",
            "「I'm running out of context」",
            "“He said ‘so’ and I'm running out of context”",
            "It is `` a ` I'm running out of context `` there.",
            // Fences within fences.
            "~~~~\n```\nI'm running out of context\n```\nI'm running out of context\n~~~~",
            "````\n```\nx\n```\nI'm running out of context\n````",
            "```\n~~~\nI'm running out of context\n```",
            "```text\n```rust\nI'm running out of context\n```",
            "- so:\n  ```\n  I'm running out of context\n  ```",
            "> ```\n> I'm running out of context\n> ```",
            // What stands behind the marks is theirs; an empty line ends nothing.
            "```I'm running out of context\n```",
            "```\n\nI'm running out of context\n```",
            "~~~ `x`\nI'm running out of context\n~~~",
            // Of whom it is said is said in the same sentence, and so is that it is not so.
            "I am done. Agents that are running out of context are handed off.",
            "I am done\nAgents that are running out of context are handed off",
            "That my context is almost full isn't true.",
            "Agents that are running out of context are handed off.",
            "I am not running out of context.",
            "If I run out of context, read the notes.",
        ] {
            assert_eq!(in_words(other, Speaker::Agent), None, "{other}");
        }
    }

    #[test]
    fn a_long_text_is_looked_at_as_far_as_its_bound() {
        let far = format!("{}é context limit", "x".repeat(LOOKED_AT_BYTES - 1));
        assert_eq!(in_words(&far, Speaker::Agent), None);
        // Marks that nothing closes cost no more than others.
        let open = format!("I'm running out of context {}", "('s ".repeat(LOOKED_AT_BYTES / 4));
        assert_eq!(in_words(&open, Speaker::Agent), Some(Symptom::OwnWord));
    }
}
