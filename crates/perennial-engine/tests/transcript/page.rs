//! Pages: whoever goes on from a place is told every line once.

use std::fs;
use std::io::Write;
use std::path::Path;

use perennial_engine::transcript::page::{NotAPlace, PAGE_LINE_BYTES_MAX, Place, Source, read};
use perennial_engine::transcript::step::{Content, Step};

use crate::fixture::DIALECT;

fn prompt(number: usize, text: &str) -> String {
    let (minute, second) = (number / 60 % 60, number % 60);
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"timestamp\":\
         \"2026-11-15T1{}:{minute:02}:{second:02}Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n",
        number / 3600
    )
}

fn source(path: &Path, is_subagent: bool) -> Source {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    Source { path: path.to_owned(), name, is_subagent }
}

fn shown((_, step): &(usize, Step)) -> String {
    match &step.content {
        Content::Prompt(prompt) => {
            format!("{}{}", if step.is_subagent { "|" } else { "" }, prompt.text)
        }
        other => format!("{other:?}"),
    }
}

/// Everything from a place on, page by page, and the place after it; a place goes as text.
fn all(sources: &[Source], place: &mut Place) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let page = read(DIALECT, sources, place, |_| true);
        assert!(page.unread.is_empty(), "{:?}", page.unread);
        told.extend(page.steps.iter().map(shown));
        *place = page.place.to_string().parse().expect("a place");
        if page.is_last {
            return told;
        }
        assert!(page.steps.len() <= 500);
    }
}

fn append(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("written");
}

#[test]
fn many_pages_tell_two_files_in_the_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let (own, sub) = (dir.path().join("own.jsonl"), dir.path().join("agent-1.jsonl"));
    let count = 1800;
    for number in 0..count {
        let path = if number % 3 == 0 { &sub } else { &own };
        append(path, &prompt(number, &format!("n{number}")));
    }
    let sources = [source(&own, false), source(&sub, true)];
    let expected: Vec<String> = (0..count)
        .map(|number| format!("{}n{number}", if number % 3 == 0 { "|" } else { "" }))
        .collect();
    let mut place = Place::default();
    assert_eq!(all(&sources, &mut place), expected);
    assert_eq!(all(&sources, &mut place), [""; 0]);
}

#[test]
fn what_comes_later_is_told_once_also_torn_and_from_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.jsonl");
    let sources = [source(&path, false)];
    let mut place = Place::default();
    assert_eq!(all(&sources, &mut place), [""; 0]);
    let line = prompt(1, "second");
    append(&path, &(prompt(0, "first") + &line[..20]));
    assert_eq!(all(&sources, &mut place), ["first"]);
    append(&path, &line[20..]);
    assert_eq!(all(&sources, &mut place), ["second"]);
    // The same text in another file, first behind, then ahead.
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(all(&sources, &mut place), [""; 0]);
    fs::write(&path, &text[..30]).unwrap();
    assert_eq!(all(&sources, &mut place), [""; 0]);
    fs::write(&path, text.clone() + &prompt(2, "third")).unwrap();
    assert_eq!(all(&sources, &mut place), ["third"]);
    // Another text is another conversation.
    fs::write(&path, prompt(3, &"x".repeat(2 * text.len()))).unwrap();
    assert_eq!(all(&sources, &mut place).len(), 1);
}

#[test]
fn a_fork_beside_its_original_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.jsonl"), dir.path().join("two.jsonl"));
    let shared: String = (0..700).map(|number| prompt(number, "shared")).collect();
    fs::write(&one, shared.clone() + &prompt(800, "one")).unwrap();
    fs::write(&two, shared + &prompt(801, "two")).unwrap();
    let told = all(&[source(&one, false), source(&two, false)], &mut Place::default());
    assert_eq!((told.len(), &told[700..]), (702, &["one".to_owned(), "two".to_owned()][..]));
}

#[test]
fn a_line_over_the_limit_is_left_out_and_the_rest_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.jsonl");
    append(&path, &prompt(0, "before"));
    // Longer than a whole page may read.
    append(&path, &prompt(1, &"x".repeat(5 * PAGE_LINE_BYTES_MAX)));
    append(&path, &prompt(2, "after"));
    assert_eq!(all(&[source(&path, false)], &mut Place::default()), ["before", "after"]);
}

#[test]
fn what_is_no_place_is_refused() {
    for bad in ["x", "1-2", "1-2-3-4", "1-2-g", "1-2-11111111111111111", "1-2-3.é"] {
        assert_eq!(bad.parse::<Place>(), Err(NotAPlace), "{bad}");
    }
    assert_eq!("".parse(), Ok(Place::default()));
}

/// With the real ones, if there are any: a page loses nothing that a whole reading has.
#[test]
fn real_transcripts_are_told_whole() {
    for path in crate::fixture::real_transcripts() {
        let (_, mut whole) = crate::fixture::read(path.clone());
        whole.retain(|step| !step.is_subagent);
        let (mut place, mut told) = (Place::default(), 0);
        loop {
            let page = read(DIALECT, &[source(&path, false)], &place, |step| !step.is_subagent);
            told += page.steps.len();
            place = page.place;
            if page.is_last {
                break;
            }
        }
        assert_eq!(told, whole.len(), "{}", path.display());
    }
}
