//! Signals in the words of a seed. Shows nothing that `signal ls` would not.

use perennial_api::signal::Signal;
use perennial_core::signal::Party;
use perennial_core::vocabulary::{SignalSource, Vocabulary};
use serde_json::{Value, json};

use super::Document;

pub fn document(vocabulary: Vocabulary, signal: &Signal) -> Document {
    let field =
        |(name, source): &(&'static str, SignalSource)| (*name, value(vocabulary, *source, signal));
    Document(vocabulary.signal_fields().iter().map(field).collect())
}

fn value(vocabulary: Vocabulary, source: SignalSource, signal: &Signal) -> Value {
    let party = |word: &str| {
        let known = Party::ALL.into_iter().find(|party| party.word() == word);
        known.map_or_else(|| word.to_owned(), |party| vocabulary.party(party).to_owned())
    };
    match source {
        SignalSource::Id => json!(signal.id),
        SignalSource::At => json!(signal.at),
        SignalSource::Kind => json!(vocabulary.kind(&signal.kind)),
        SignalSource::Source => json!(party(&signal.source)),
        SignalSource::Target => json!(party(&signal.target)),
        SignalSource::From => json!(signal.from),
        SignalSource::To => json!(signal.to),
        SignalSource::Payload => json!(signal.payload),
        SignalSource::Fixed(word) => json!(word),
    }
}
