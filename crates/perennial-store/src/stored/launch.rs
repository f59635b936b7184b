//! How a launch is stored, mapped to and from the core's, field by field.

use perennial_core::launch::{Host, HostKind, Launch, Options, TmuxPlace};
use serde::{Deserialize, Serialize};

use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredLaunch {
    harness: String,
    host: Worded<HostKind>,
    /// Where its pane is, for the host `tmux`.
    tmux: Option<StoredTmux>,
    argv: Vec<String>,
    dir: String,
    env_names: Vec<String>,
    project: String,
    options: StoredOptions,
}

#[derive(Serialize, Deserialize)]
struct StoredTmux {
    session: String,
    socket: String,
}

#[derive(Serialize, Deserialize)]
struct StoredOptions {
    model: Option<String>,
    prompt: Option<String>,
    permission_mode: Option<String>,
    trust: bool,
}

impl From<&Launch> for StoredLaunch {
    fn from(launch: &Launch) -> StoredLaunch {
        let Launch { harness, host, argv, dir, env_names, project, options } = launch.clone();
        let Options { model, prompt, permission_mode, trust } = options;
        let options = StoredOptions { model, prompt, permission_mode, trust };
        let kind = Worded(host.kind());
        let tmux = match host {
            Host::Shim => None,
            Host::Tmux(TmuxPlace { session, socket }) => Some(StoredTmux { session, socket }),
        };
        StoredLaunch { harness, host: kind, tmux, argv, dir, env_names, project, options }
    }
}

impl TryFrom<StoredLaunch> for Launch {
    type Error = Damage;

    fn try_from(stored: StoredLaunch) -> Result<Launch, Damage> {
        let StoredLaunch { harness, host, tmux, argv, dir, env_names, project, options } = stored;
        let StoredOptions { model, prompt, permission_mode, trust } = options;
        let options = Options { model, prompt, permission_mode, trust };
        let host = match (host.0, tmux) {
            (HostKind::Shim, None) => Host::Shim,
            (HostKind::Tmux, Some(StoredTmux { session, socket })) => {
                Host::Tmux(TmuxPlace { session, socket })
            }
            (HostKind::Shim, Some(_)) | (HostKind::Tmux, None) => {
                return Err(Damage::Malformed(
                    "the host and its place contradict each other".into(),
                ));
            }
        };
        Ok(Launch { harness, host, argv, dir, env_names, project, options })
    }
}
