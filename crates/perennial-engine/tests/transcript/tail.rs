//! Files that grow, shrink, go and come back.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use perennial_engine::transcript::tail::{
    Buffer, Cursor, LINE_BYTES_MAX, News, Presence, Restart, Tail, TailError, lines,
};
use tempfile::TempDir;

struct Scene {
    directory: TempDir,
    tail: Tail,
    buffer: Buffer,
}

fn scene() -> Scene {
    let directory = tempfile::tempdir().expect("a directory");
    let tail = Tail::new(directory.path().join("t.jsonl"));
    Scene { directory, tail, buffer: Buffer::default() }
}

impl Scene {
    fn path(&self) -> PathBuf {
        self.tail.path().to_owned()
    }

    fn append(&self, text: &str) {
        append(&self.path(), text);
    }

    /// What one look brings, in short.
    fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        let presence = self.tail.read(&mut self.buffer, |told| match told {
            News::Restarted(Restart::Truncated) => news.push("(truncated)".to_owned()),
            News::Restarted(Restart::Replaced) => news.push("(replaced)".to_owned()),
            News::Oversized => news.push("(oversized)".to_owned()),
            News::Lines(whole) => {
                assert_eq!(whole.last(), Some(&b'\n'), "TL1: whole lines only");
                let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
                news.extend(lines(whole).map(text));
            }
        });
        if presence.expect("it can be read") == Presence::Gone {
            news.push("(gone)".to_owned());
        }
        news
    }
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

const NOTHING: [&str; 0] = [];

#[test]
fn lines_come_once_and_whole() {
    let mut scene = scene();
    assert_eq!(scene.news(), ["(gone)"]);
    scene.append("a\nb\nto");
    assert_eq!(scene.news(), ["a", "b"]);
    assert_eq!(scene.news(), NOTHING);
    scene.append("rn");
    assert_eq!(scene.news(), NOTHING);
    scene.append("\n\n\nc\n");
    assert_eq!(scene.news(), ["torn", "c"]);
    assert_eq!(scene.news(), NOTHING);
}

#[test]
fn a_cursor_goes_on_where_another_stopped() {
    let mut scene = scene();
    scene.append("a\nb\nto");
    scene.news();
    let saved = serde_json::to_string(&scene.tail.cursor()).expect("it can be written");
    let cursor: Cursor = serde_json::from_str(&saved).expect("and read");
    assert_eq!(cursor.offset, 4);
    scene.append("rn\n");
    scene.tail = Tail::resumed(scene.path(), cursor);
    assert_eq!(scene.news(), ["torn"]);
    // From a cursor of another file.
    scene.tail = Tail::resumed(scene.path(), Cursor { inode: cursor.inode + 1, ..cursor });
    assert_eq!(scene.news(), ["(replaced)", "a", "b", "torn"]);
}

#[test]
fn truncation_is_noticed() {
    let mut scene = scene();
    scene.append("a\nb\n");
    scene.news();
    File::options().write(true).open(scene.path()).and_then(|file| file.set_len(2)).expect("cut");
    assert_eq!(scene.news(), ["(truncated)", "a"]);
    scene.append("c\n");
    assert_eq!(scene.news(), ["c"]);
}

#[test]
fn a_new_file_in_the_old_ones_place_is_noticed() {
    let mut scene = scene();
    scene.append("a\nb\n");
    scene.news();
    let other = scene.directory.path().join("other");
    append(&other, "x\ny\nz\n");
    fs::rename(other, scene.path()).expect("moved");
    assert_eq!(scene.news(), ["(replaced)", "x", "y", "z"]);
}

/// The inode's number and the length can both be as before.
#[test]
fn other_content_in_the_same_file_is_noticed() {
    let mut scene = scene();
    scene.append("a\nb\n");
    scene.news();
    let file = File::options().write(true).truncate(true).open(scene.path());
    file.and_then(|mut file| file.write_all(b"c\nd\ne\n")).expect("written");
    assert_eq!(scene.news(), ["(replaced)", "c", "d", "e"]);
}

#[test]
fn a_file_that_comes_back_goes_on_if_it_is_the_same() {
    let mut scene = scene();
    scene.append("a\n");
    scene.news();
    let aside = scene.directory.path().join("aside");
    fs::rename(scene.path(), &aside).expect("moved");
    assert_eq!(scene.news(), ["(gone)"]);
    append(&aside, "b\n");
    fs::rename(&aside, scene.path()).expect("moved back");
    assert_eq!(scene.news(), ["b"]);
    fs::remove_file(scene.path()).expect("removed");
    assert_eq!(scene.news(), ["(gone)"]);
    scene.append("c\nlonger than before\n");
    assert_eq!(scene.news(), ["(replaced)", "c", "longer than before"]);
}

#[test]
fn what_is_no_file_is_an_error_and_does_not_hold_us() {
    let mut scene = scene();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.path(), mode).expect("a pipe");
    let outcome = scene.tail.read(&mut scene.buffer, |_| {});
    assert!(matches!(outcome, Err(TailError::NoFile { .. })), "{outcome:?}");
    fs::remove_file(scene.path()).expect("removed");
    fs::create_dir(scene.path()).expect("a directory");
    let outcome = scene.tail.read(&mut scene.buffer, |_| {});
    assert!(matches!(outcome, Err(TailError::NoFile { .. })), "{outcome:?}");
}

#[test]
fn lines_longer_than_a_chunk_come_whole() {
    let mut scene = scene();
    let long = "x".repeat(1_500_000);
    scene.append(&format!("a\n{long}\nb\n{long}"));
    assert_eq!(scene.news(), ["a", &long, "b"]);
    scene.append("\n");
    assert_eq!(scene.news(), [long]);
}

#[test]
fn a_line_over_the_limit_is_left_out() {
    let mut scene = scene();
    scene.append("a\n");
    // Zeros that take no room on disk.
    let sparse = |path: PathBuf, bytes: usize| {
        let file = File::options().write(true).open(path).expect("a file");
        let length = file.metadata().expect("its length").len();
        file.set_len(length + bytes as u64).expect("longer");
    };
    sparse(scene.path(), LINE_BYTES_MAX + (1 << 20));
    assert_eq!(scene.news(), ["a", "(oversized)"]);
    // Resumed within it, and it goes on.
    let cursor = scene.tail.cursor().expect("read so far");
    assert!(cursor.within_oversized);
    scene.tail = Tail::resumed(scene.path(), cursor);
    sparse(scene.path(), 1 << 20);
    assert_eq!(scene.news(), NOTHING);
    scene.append("end\nb\n");
    assert_eq!(scene.news(), ["b"]);
}

/// Cut at every place: what is read in two looks is what is read in one.
#[test]
fn where_a_line_is_torn_does_not_matter() {
    let text = "{\"a\":1}\n\n{\"b\":\"é\"}\nlast\n";
    for cut in 0..=text.len() {
        let mut scene = scene();
        let path = scene.path();
        let write = |bytes: &[u8]| {
            let mut file =
                OpenOptions::new().append(true).create(true).open(&path).expect("a file");
            file.write_all(bytes).expect("written");
        };
        write(&text.as_bytes()[..cut]);
        let mut news = scene.news();
        write(&text.as_bytes()[cut..]);
        news.extend(scene.news());
        assert_eq!(news, ["{\"a\":1}", "{\"b\":\"é\"}", "last"], "cut at {cut}");
    }
}
