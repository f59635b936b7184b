//! The tests of identity, host and delivery once more, as an ordinary user without cgroups.
//!
//! Root may read and trace every process and has a cgroup for each session, so a run as root shows only one side.
//! Nothing is compiled as that user: the programs of the run before are used.

use std::fs;
use std::os::unix::fs::chown;

use crate::failure::Failure;
use crate::{program, repository};

/// No account of this machine.
const UID: u32 = 64_017;

const FILTER: &str = "(package(perennial) & binary(cli) \
    & test(/^(authority|callers|identity_attacks|job_identity|pane|send|sent|shim_killed|visibility)::/) \
    & not test(/agent_clis/)) \
    | (package(perennial-engine) & binary(host))";

pub fn tests() -> Result<(), Failure> {
    let uid = program::output(&["id", "-u"])?;
    if uid.trim_ascii() != b"0" {
        println!(
            "already run above: uid {} is an ordinary user",
            String::from_utf8_lossy(&uid).trim()
        );
        return Ok(());
    }
    let room = std::env::temp_dir().join(format!("perennial-ordinary-user-{}", std::process::id()));
    let file = |source| Failure::File { path: room.clone(), source };
    fs::create_dir(&room).map_err(file)?;
    let result = within(&room.display().to_string());
    let _stays = fs::remove_dir_all(&room);
    result
}

fn within(room: &str) -> Result<(), Failure> {
    let list = ["cargo", "nextest", "list", "--workspace", "--list-type", "binaries-only"];
    let binaries = program::output(&[&list[..], &["--message-format", "json"]].concat())?;
    let metadata = program::output(&["cargo", "metadata", "--format-version", "1"])?;
    let (binaries_file, metadata_file) = (format!("{room}/binaries"), format!("{room}/metadata"));
    for (path, bytes) in [(&binaries_file, binaries), (&metadata_file, metadata)] {
        fs::write(path, bytes).map_err(|source| Failure::File { path: path.into(), source })?;
    }
    chown(room, Some(UID), Some(UID))
        .map_err(|source| Failure::File { path: room.into(), source })?;
    let nextest = program::find("cargo-nextest").unwrap_or_else(|| "cargo-nextest".into());
    let nextest = nextest.display().to_string();
    let root = repository::root().display().to_string();
    let user = [format!("--reuid={UID}"), format!("--regid={UID}")];
    let variables = [
        format!("PATH={}", std::env::var("PATH").unwrap_or_default()),
        format!("HOME={room}"),
        format!("TMPDIR={room}"),
    ];
    let as_user: Vec<&str> = ["setpriv", &user[0], &user[1], "--clear-groups", "--inh-caps=-all"]
        .into_iter()
        .chain(["env", "-i", &variables[0], &variables[1], &variables[2]])
        .collect();
    // Said first and clearly: else every test would fail for the same reason.
    if !program::succeeds(&[&as_user[..], &["test", "-r", &format!("{root}/Cargo.toml")]].concat())
    {
        let program = format!("uid {UID}: {root} can't be read by other users; make it reachable");
        return Err(Failure::Refused { program });
    }
    let run = [&nextest, "nextest", "run", "--no-fail-fast", "--binaries-metadata", &binaries_file];
    let rest = ["--cargo-metadata", &metadata_file, "--workspace-remap", &root, "-E", FILTER];
    program::run(&[&as_user[..], &run, &rest].concat())
}
