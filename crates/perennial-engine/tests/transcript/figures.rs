//! Accounts: of many files, while they grow, with forks and damage.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use perennial_engine::transcript::account::{Account, Figures};
use perennial_engine::transcript::line_reader::ContextUse;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Tokens, Usage};
use perennial_engine::transcript::survey::Survey;
use perennial_engine::transcript::tail::Buffer;

use crate::fixture::{self, Random};

fn usage(message: &str, output: u64) -> Usage {
    Usage {
        message: message.to_owned(),
        model: "claude-opus-5-5".to_owned(),
        tokens: Tokens { input: 1, output, ..Tokens::default() },
        ..Usage::default()
    }
}

fn account() -> Account {
    Account::new(Prices::built_in())
}

#[test]
fn the_last_line_of_a_message_holds() {
    let mut account = account();
    account.count(0, &usage("a", 1), None);
    account.count(0, &usage("a", 90), None);
    let once = account.total();
    assert_eq!((once.messages, once.tokens.output, once.tokens.input), (1, 90, 1));
    assert_eq!(once.cost.microdollars(), 4 + 90 * 20);
    // Lower again: still the last one.
    account.count(0, &usage("a", 80), None);
    assert_eq!(account.total().tokens.output, 80);
    // The same id in another request is another message.
    account.count(0, &Usage { request: "r".to_owned(), ..usage("a", 5) }, None);
    assert_eq!(account.total().messages, 2);
}

#[test]
fn copies_belong_to_the_first_conversation_in_any_order() {
    let told = [(0, usage("a", 9)), (1, usage("a", 9)), (1, usage("b", 5)), (2, usage("a", 1))];
    let mut random = Random(1);
    for _ in 0..50 {
        let mut account = account();
        let mut rest = told.to_vec();
        while !rest.is_empty() {
            let (conversation, usage) = rest.swap_remove(random.below(rest.len()));
            account.count(conversation, &usage, None);
        }
        let outputs: Vec<u64> =
            (0..3).map(|number| account.of_conversation(number).tokens.output).collect();
        assert_eq!(outputs, [9, 5, 0]);
        assert_eq!(account.total().tokens.output, 14, "A3");
    }
}

#[test]
fn unpriced_models_make_the_cost_partial_and_damage_everything() {
    let mut account = account();
    account.count(0, &usage("a", 1), None);
    assert!(!account.total().is_cost_partial());
    account.count(1, &Usage { model: "new".to_owned(), ..usage("b", 1) }, None);
    assert!(account.total().is_cost_partial() && !account.total().is_partial());
    account.damaged(1, 3);
    assert!(account.total().is_partial() && account.of_conversation(1).is_partial());
    assert!(!account.of_conversation(0).is_partial());
}

fn survey(vendor_home: &Path) -> Survey {
    let mut survey = Survey::new(Prices::built_in());
    for file in fixture::files(vendor_home) {
        survey.add(fixture::DIALECT, file.path, &file.conversation);
    }
    survey
}

#[test]
fn a_survey_counts_forks_once_and_subagents_too() {
    let mut survey = survey(&fixture::vendor_home());
    assert!(survey.update().is_empty());
    let total = survey.account().total();
    assert_eq!((total.messages, total.tokens.output, total.web_searches), (8, 181, 2));
    assert_eq!(total.tokens.cache_write_long, 500);
    let of = |id| {
        let number = survey.conversation(id).expect("it was added");
        survey.account().of_conversation(number)
    };
    let outputs = [fixture::MAIN, fixture::FORK, fixture::FAILURES].map(|id| of(id).tokens.output);
    assert_eq!(outputs, [168, 13, 0]);
    assert_eq!(total.unpriced_messages, 1);
    assert!(total.is_cost_partial() && !total.is_partial());
    let again = survey.account().total();
    survey.update();
    assert_eq!(survey.account().total(), again, "A2");
}

/// In pieces of any size, with looks between: the same figures as at once.
#[test]
fn growth_is_followed() {
    let mut random = Random(2);
    for _ in 0..10 {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("projects/-w/c.jsonl");
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(&path, "").expect("made");
        let text = fs::read(fixture::sample(fixture::MAIN)).expect("the sample");
        let mut survey = survey(directory.path());
        let mut conversation = fixture::conversation(path.clone());
        let (mut buffer, mut steps) = (Buffer::default(), 0);
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(random.below(3_000).clamp(1, rest.len()));
            rest = more;
            let file = OpenOptions::new().append(true).open(&path);
            file.and_then(|mut file| file.write_all(piece)).expect("written");
            assert!(survey.update().is_empty());
            conversation.update(&mut buffer, |_| steps += 1).expect("it can be read");
        }
        let (whole, all) = fixture::read(path);
        let figures: Figures = whole.account().total();
        assert_eq!(figures.tokens.output, 157);
        assert_eq!(survey.account().total(), figures);
        assert_eq!(conversation.account().total(), figures);
        assert_eq!((steps, conversation.context()), (all.len(), whole.context()));
    }
}

/// What a file no longer holds was spent all the same, and what it repeats is not told again.
#[test]
fn a_file_written_anew_changes_no_figure() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("c.jsonl");
    fs::copy(fixture::sample(fixture::FORK), &path).expect("copied");
    let mut conversation = fixture::conversation(path.clone());
    let mut buffer = Buffer::default();
    let mut steps = 0;
    conversation.update(&mut buffer, |_| steps += 1).expect("it can be read");
    let (before, told) = (conversation.account().total(), steps);
    let context = conversation.context();
    let text = fs::read_to_string(&path).expect("text");
    let half: String = text.lines().take(6).map(|line| format!("{line}\n")).collect();
    fs::write(&path, half).expect("cut");
    conversation.update(&mut buffer, |_| steps += 1).expect("it can be read");
    assert_eq!((conversation.account().total(), steps), (before, told));
    assert_ne!(conversation.context(), context, "that is of what is there now");
    fs::write(&path, "").expect("emptied");
    conversation.update(&mut buffer, |_| steps += 1).expect("it can be read");
    assert_eq!(conversation.context(), ContextUse::Unknown);
    fs::write(&path, text).expect("whole again");
    conversation.update(&mut buffer, |_| steps += 1).expect("it can be read");
    assert_eq!((conversation.account().total(), steps), (before, told));
    assert_eq!(conversation.context(), context);
}

#[test]
fn a_file_that_cannot_be_read_stops_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("no-file.jsonl")).expect("made");
    let mut survey = Survey::new(Prices::built_in());
    survey.add(fixture::DIALECT, directory.path().join("no-file.jsonl"), "x");
    survey.add(fixture::DIALECT, directory.path().join("missing.jsonl"), "y");
    survey.add(fixture::DIALECT, fixture::sample(fixture::FORK), "z");
    assert_eq!(survey.update().len(), 1, "a missing one is no error");
    assert_eq!(survey.account().total().messages, 3);
}
