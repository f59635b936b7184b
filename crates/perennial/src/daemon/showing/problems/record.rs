//! Problems of the record: vocabularies and the entity graph.

use perennial_api::Problem;
use perennial_core::vocabulary::Vocabulary;

use crate::daemon::surface::checks::sanitised;

pub fn bad_vocabulary(word: &str) -> Problem {
    let known = Vocabulary::WORDS.join(", ");
    Problem::new(400, "bad-vocabulary", format!("no vocabulary '{}'", sanitised(word)))
        .next(format!("use one of {known}"))
}

pub fn not_a_state_of(vocabulary: Vocabulary, word: &str) -> Problem {
    let (title, known) = (vocabulary.title(), vocabulary.state_words().join(", "));
    Problem::new(400, "bad-state", format!("{title} has no state '{}'", sanitised(word)))
        .next(format!("use one of {known}"))
}

pub fn graph_unread(why: &str) -> Problem {
    Problem::new(500, "graph-unread", "the entity graph can't be read")
        .because(why.to_owned())
        .next("`perennial doctor` checks the journal, which the graph is made from")
}

pub fn long_graph_word(bytes: usize) -> Problem {
    Problem::new(400, "too-long", "a word of the query is too long")
        .because(format!("it has {bytes} bytes; no name is longer than 1000"))
        .next("name an agent, a model, a role or a situation")
}

pub fn bad_session_id(word: &str) -> Problem {
    Problem::new(400, "bad-session", format!("invalid session id '{}'", sanitised(word)))
        .because("a session's id is its agent's id, a dot and its number")
        .next("`perennial graph query` lists sessions")
}

pub fn bad_graph_place(word: &str) -> Problem {
    Problem::new(400, "bad-place", format!("invalid place '{}'", sanitised(word)))
        .next("use `next` of the page before, as it is")
}
