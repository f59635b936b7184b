//! Which node this is: a random id in a file beside the journal, bound to the machine and to the place of the
//! home on its disk. A copied home is found out by that, and gets an id of its own.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use perennial_core::id::NodeId;
use perennial_engine::regular_file::{self, Links};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const BYTES_MAX: u64 = 4096;
pub const FILE: &str = "node.json";

#[derive(Debug, Serialize, Deserialize)]
struct NodeFile {
    id: String,
    /// What it is bound to, as a hash: nobody need know the machine's id.
    bound_to: String,
}

/// The id of the node whose data lie in this directory; a new one where there is none, or where it is bound to
/// another place.
pub fn id(data: &Path) -> io::Result<NodeId> {
    let bound_to = place(data)?;
    let known = match regular_file::read(&data.join(FILE), Links::Refuse, BYTES_MAX) {
        Ok(text) => serde_json::from_slice::<NodeFile>(&text).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(id) =
        known.filter(|known| known.bound_to == bound_to).and_then(|known| known.id.parse().ok())
    {
        return Ok(id);
    }
    let id = NodeId(uuid::Uuid::now_v7().as_u128());
    keep(data, id)?;
    Ok(id)
}

/// Writes down that the node with this id has its data here.
pub fn keep(data: &Path, id: NodeId) -> io::Result<()> {
    let file = NodeFile { id: id.to_string(), bound_to: place(data)? };
    let unfinished = data.join("node.new");
    let mut written = File::create(&unfinished)?;
    written.write_all(&serde_json::to_vec(&file)?)?;
    written.sync_data()?;
    std::fs::rename(unfinished, data.join(FILE))?;
    File::open(data)?.sync_all()
}

/// The machine, the file system and the directory. The number of a device may change when the machine restarts;
/// the id of a file system does not.
fn place(data: &Path) -> io::Result<String> {
    let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
    let metadata = std::fs::metadata(data)?;
    let file_system = file_system_id(data)?.unwrap_or(metadata.dev());
    let mut hash = Sha256::new();
    hash.update(machine.trim_ascii());
    hash.update([0]);
    hash.update(file_system.to_be_bytes());
    hash.update(metadata.ino().to_be_bytes());
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// None where the file system has none.
fn file_system_id(path: &Path) -> io::Result<Option<u64>> {
    let id = rustix::fs::statvfs(path)?.f_fsid;
    Ok((id != 0).then_some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_its_id_and_a_copied_home_gets_another() {
        let root = tempfile::tempdir().expect("a directory");
        let (home, moved, copy) =
            (root.path().join("home"), root.path().join("moved"), root.path().join("copy"));
        std::fs::create_dir(&home).expect("a home");
        let own = id(&home).expect("an id");
        assert_eq!(id(&home).expect("the same"), own);
        std::fs::rename(&home, &moved).expect("moved");
        assert_eq!(id(&moved).expect("the same"), own, "it was moved, not copied");
        std::fs::create_dir(&copy).expect("a copy");
        std::fs::copy(moved.join("node.json"), copy.join("node.json")).expect("copied");
        let other = id(&copy).expect("an id");
        assert_ne!(other, own);
        assert_eq!(id(&copy).expect("the same"), other);
    }

    #[test]
    fn a_damaged_file_is_no_id() {
        let home = tempfile::tempdir().expect("a directory");
        let own = id(home.path()).expect("an id");
        std::fs::write(home.path().join("node.json"), "{").expect("damaged");
        assert_ne!(id(home.path()).expect("an id"), own);
    }
}
