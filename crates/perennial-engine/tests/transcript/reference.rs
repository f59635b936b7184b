//! A slow counter of tokens that is obviously right, and the quick ones held against it.

use std::collections::HashMap;
use std::path::PathBuf;

use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::Tokens;
use perennial_engine::transcript::survey::Survey;
use serde_json::Value;

use crate::fixture;

/// Per model: messages and tokens. Every line as a tree of values, every message in a map.
#[derive(Debug, PartialEq, Eq, Default)]
struct Reference(HashMap<String, (u64, Tokens)>);

fn count(paths: &[PathBuf]) -> Reference {
    let mut messages: HashMap<(String, String), (String, Tokens)> = HashMap::new();
    for path in paths {
        // Within a file the last line of a message holds; of copies in other files, the longest.
        let mut own = HashMap::new();
        for line in std::fs::read_to_string(path).expect("it is text").lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let message = &line["message"];
            if line["type"] != "assistant" || message["model"] == "<synthetic>" {
                continue;
            }
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let number = |name: &str| message["usage"][name].as_u64().unwrap_or(0);
            let hour = message["usage"]["cache_creation"]["ephemeral_1h_input_tokens"].as_u64();
            let cache_write_long = hour.unwrap_or(0);
            let tokens = Tokens {
                input: number("input_tokens"),
                output: number("output_tokens"),
                cache_read: number("cache_read_input_tokens"),
                cache_write_short: number("cache_creation_input_tokens") - cache_write_long,
                cache_write_long,
            };
            let key = (word(&message["id"]), word(&line["requestId"]));
            own.insert(key, (word(&message["model"]), tokens));
        }
        for (key, (model, tokens)) in own {
            let place = messages.entry(key).or_insert((model, tokens));
            if tokens.output > place.1.output {
                place.1 = tokens;
            }
        }
    }
    let mut reference = Reference::default();
    for (model, tokens) in messages.into_values() {
        let (count, sum) = reference.0.entry(model).or_default();
        *count += 1;
        sum.input += tokens.input;
        sum.output += tokens.output;
        sum.cache_read += tokens.cache_read;
        sum.cache_write_short += tokens.cache_write_short;
        sum.cache_write_long += tokens.cache_write_long;
    }
    reference
}

fn counted(account: &Account) -> Reference {
    let models = account.by_model().into_iter();
    Reference(models.map(|(name, f)| (name.to_owned(), (f.messages, f.tokens))).collect())
}

fn surveyed(paths: &[PathBuf]) -> Reference {
    let mut survey = Survey::new(Prices::built_in());
    for path in paths {
        survey.add(fixture::DIALECT, path.clone(), &path.to_string_lossy());
    }
    assert!(survey.update().is_empty());
    counted(survey.account())
}

fn samples() -> Vec<PathBuf> {
    fixture::files(&fixture::vendor_home()).into_iter().map(|file| file.path).collect()
}

/// All files together, as a survey; and each as a conversation with its subagents.
#[track_caller]
fn check(paths: &[PathBuf]) -> Reference {
    let reference = count(paths);
    assert_eq!(surveyed(paths), reference);
    for path in paths {
        let (conversation, _) = fixture::read(path.clone());
        let mut all = vec![path.clone()];
        all.extend(fixture::DIALECT.subagents(path));
        assert_eq!(counted(conversation.account()), count(&all), "{}", path.display());
        assert_eq!(conversation.notes().damaged, 0, "{}", path.display());
    }
    reference
}

#[test]
fn own_samples_are_counted_as_the_reference_counts_them() {
    let paths = samples();
    assert_eq!(paths.len(), 5);
    assert_eq!(check(&paths).0.len(), 4, "the samples hold four models");
}

/// What a naive sum makes of it, so that the comparison is known to be able to fail.
#[test]
fn messages_are_not_lines() {
    let paths = [fixture::sample(fixture::MAIN), fixture::sample(fixture::FORK)];
    let lines: usize = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("it is text"))
        .map(|text| text.lines().filter(|line| line.contains(r#""role":"assistant""#)).count())
        .sum();
    let messages: u64 = count(&paths).0.values().map(|(messages, _)| messages).sum();
    assert_eq!((lines, messages), (12, 6));
}

#[test]
fn real_transcripts_are_counted_as_the_reference_counts_them() {
    let paths = fixture::real_transcripts();
    if paths.is_empty() {
        eprintln!("no real transcripts here: the samples are all that was compared");
        return;
    }
    let reference = check(&paths);
    assert!(reference.0.values().any(|(messages, _)| *messages > 100));
}
