//! Packs that somebody made by hand: each is refused by its bounds, before it costs memory or time.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use perennial_engine::git::GitError;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::object_store::ObjectStore;

/// What an entry of a pack is a delta of.
enum Base {
    Of(ObjectId),
    /// The entry before it.
    Before,
}

struct Entry {
    id: ObjectId,
    base: Option<Base>,
    bytes: Vec<u8>,
}

fn id(byte: u8) -> ObjectId {
    ObjectId([byte; 20])
}

/// Writes a pack and its index; neither has a true checksum, which nobody reads.
fn write_pack(objects: &Path, name: &str, entries: &[Entry]) {
    let directory = objects.join("pack");
    std::fs::create_dir_all(&directory).unwrap();
    let mut pack = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
    let mut places: Vec<(ObjectId, u32)> = Vec::new();
    let mut compressed: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
    for entry in entries {
        let at = pack.len();
        let kind = match entry.base {
            None => 3,
            Some(Base::Before) => 6,
            Some(Base::Of(_)) => 7,
        };
        let (mut size, mut byte) = (entry.bytes.len() >> 4, kind << 4 | entry.bytes.len() & 15);
        while size > 0 {
            pack.push(byte as u8 | 0x80);
            (byte, size) = (size & 0x7f, size >> 7);
        }
        pack.push(byte as u8);
        match &entry.base {
            None => {}
            Some(Base::Of(id)) => pack.extend_from_slice(&id.0),
            Some(Base::Before) => {
                let mut back = at - places.last().unwrap().1 as usize;
                let mut digits = vec![(back & 0x7f) as u8];
                while back >= 0x80 {
                    back = (back >> 7) - 1;
                    digits.push((back & 0x7f) as u8 | 0x80);
                }
                pack.extend(digits.into_iter().rev());
            }
        }
        // Many are equal, and to compress them takes a while.
        pack.extend_from_slice(compressed.entry(&entry.bytes).or_insert_with(|| {
            let fast = flate2::Compression::fast();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), fast);
            encoder.write_all(&entry.bytes).unwrap();
            encoder.finish().unwrap()
        }));
        places.push((entry.id, u32::try_from(at).unwrap()));
    }
    places.sort();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let count = places.iter().filter(|(id, _)| id.0[0] <= first).count();
        index.extend_from_slice(&u32::try_from(count).unwrap().to_be_bytes());
    }
    places.iter().for_each(|(id, _)| index.extend_from_slice(&id.0));
    places.iter().for_each(|_| index.extend_from_slice(&[0; 4]));
    places.iter().for_each(|(_, at)| index.extend_from_slice(&at.to_be_bytes()));
    index.extend_from_slice(&[0; 40]);
    std::fs::write(directory.join(format!("pack-{name}.pack")), pack).unwrap();
    std::fs::write(directory.join(format!("pack-{name}.idx")), index).unwrap();
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A delta that makes `parts` copies of the first 64 KiB of its base.
fn copies(base: usize, parts: usize) -> Vec<u8> {
    let mut delta = [varint(base), varint(parts << 16)].concat();
    (0..parts).for_each(|_| delta.push(0x80));
    delta
}

fn damage(objects: &Path, wanted: ObjectId) -> &'static str {
    match ObjectStore::open(objects).unwrap().read(wanted) {
        Err(GitError::Damaged { part, .. }) => part,
        other => panic!("{other:?}"),
    }
}

#[test]
fn deltas_that_name_each_other_are_found_out_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let delta = vec![0; 32 << 10];
    let one =
        |own, base| Entry { id: id(own), base: Some(Base::Of(id(base))), bytes: delta.clone() };
    write_pack(dir.path(), "a", &[one(1, 2), one(2, 3), one(3, 1)]);
    assert_eq!(damage(dir.path(), id(1)), "its deltas name each other");
    // The same across packs, each of which knows half of it.
    let dir = tempfile::tempdir().unwrap();
    write_pack(dir.path(), "a", &[one(1, 2)]);
    write_pack(dir.path(), "b", &[one(2, 1)]);
    assert_eq!(damage(dir.path(), id(1)), "its deltas name each other");
}

#[test]
fn deltas_that_are_large_together_are_not_gathered() {
    let dir = tempfile::tempdir().unwrap();
    let mut entries = vec![Entry { id: id(1), base: None, bytes: b"base".to_vec() }];
    // A few kilobytes each on the disk.
    for own in 2..20 {
        entries.push(Entry { id: id(own), base: Some(Base::Before), bytes: vec![0; 12 << 20] });
    }
    write_pack(dir.path(), "a", &entries);
    assert_eq!(damage(dir.path(), id(19)), "its deltas are too large together");
}

#[test]
fn deltas_that_make_much_of_little_are_given_up() {
    let dir = tempfile::tempdir().unwrap();
    // 64 KiB, then 64 MiB, forty times over.
    let mut entries = vec![
        Entry { id: id(1), base: None, bytes: vec![0; 64 << 10] },
        Entry { id: id(2), base: Some(Base::Before), bytes: copies(64 << 10, 1024) },
    ];
    for own in 3..43 {
        let delta = copies(64 << 20, 1024);
        entries.push(Entry { id: id(own), base: Some(Base::Before), bytes: delta });
    }
    write_pack(dir.path(), "a", &entries);
    assert_eq!(damage(dir.path(), id(42)), "its deltas take too much work");
}
