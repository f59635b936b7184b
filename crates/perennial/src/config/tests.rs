//! The table and the struct agree, and every example is one.

use perennial_core::hearing::Limits;

use super::*;

#[test]
fn the_table_and_the_struct_have_the_same_keys_in_the_same_order() {
    let text = serde_json::to_string(&Config::default()).unwrap();
    let positions: Vec<_> =
        KEYS.iter().map(|key| text.find(&format!("\"{}\":", key.name))).collect();
    assert!(positions.iter().all(Option::is_some) && positions.is_sorted(), "{text}");
    let all = serde_json::to_value(Config::default()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), KEYS.len());
    assert_eq!(Config::default().silent_after(), Limits::default().silent_after);
}

#[test]
fn defaults_and_examples_are_within_their_bounds() {
    for key in &KEYS {
        let read = Config::read(key.example).unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(read, Config::default(), "{}: the example is another value", key.name);
        let value = Config::default().value(key);
        let text = format!("{} = {value}", key.name);
        assert_eq!(Config::read(&text), Ok(Config::default()), "{text}");
    }
}

#[test]
fn what_is_not_written_has_its_default_and_a_misspelt_word_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Config::load(dir.path()), Ok(Config::default()));
    let write = |text| std::fs::write(path(dir.path()), text).unwrap();
    write("notify = [\"say\"]\nsilent_after_s = 0");
    let read = Config::load(dir.path()).unwrap();
    assert_eq!((read.notify.len(), read.silent_after()), (1, None));
    write("notifi = []");
    assert!(Config::load(dir.path()).unwrap_err().message.contains("notifi"));
}

#[test]
fn a_mistake_is_told_with_its_line() {
    for (text, line, word) in [
        (
            "notify = []\nsilent_after_s = \"x\"",
            2,
            "silent_after_s must be a number from 0 to 4294967295",
        ),
        ("record_limit_mib = 0", 1, "record_limit_mib must be a number from 1 to 4096"),
        ("\n\nrecord_limit_mib = 99999999", 3, "from 1 to 4096"),
        ("host = \"screen\"", 1, "host must be one of: shim, tmux"),
        ("detach_keys = \"d\"", 1, "Ctrl and a key"),
        ("detach_keys = \"C-a d e\"", 1, "Ctrl and a key"),
        ("detach_keys = \"C-a  \"", 1, "Ctrl and a key"),
    ] {
        let mistake = Config::read(text).unwrap_err();
        assert_eq!(mistake.line, Some(line), "{text}: {mistake}");
        assert!(mistake.message.contains(word), "{text}: {mistake}");
    }
}

#[test]
fn the_environment_comes_before_the_file_and_the_file_before_the_default() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(path(dir.path()), "detach_keys = 'C-a d'\nnotify = []").unwrap();
    let load = |value: Option<&str>| {
        Config::for_command_line(dir.path(), |name| {
            value.filter(|_| name == "PERENNIAL_DETACH_KEYS").map(str::to_owned)
        })
    };
    let of = |loaded: &Loaded, name: &str| {
        let (_, value, source) =
            loaded.entries().find(|(key, ..)| key.name == name).expect("a key");
        (value.as_str().map(str::to_owned), source)
    };
    let loaded = load(None);
    assert_eq!(of(&loaded, "detach_keys"), (Some("C-a d".to_owned()), Source::File));
    assert_eq!(of(&loaded, "notify").1, Source::File);
    assert_eq!(of(&loaded, "record_limit_mib").1, Source::Default);
    let loaded = load(Some("C-b"));
    assert_eq!(of(&loaded, "detach_keys"), (Some("C-b".to_owned()), Source::Environment));
    let mistaken = load(Some("b"));
    assert_eq!(of(&mistaken, "detach_keys"), (Some("C-a d".to_owned()), Source::File));
    assert!(mistaken.mistake.unwrap().message.contains("PERENNIAL_DETACH_KEYS"));
    std::fs::write(path(dir.path()), "notify = 'x'\ndetach_keys = 'C-a d'").unwrap();
    let ignored = load(None);
    assert_eq!(ignored.config, Config::default());
    assert_eq!(ignored.mistake.unwrap().line, Some(1));
}
