//! The daemon's socket: listened on, and made again when its file was removed or replaced.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use perennial_api::Home;
use perennial_api::home::SocketAddress;
use tokio::net::UnixListener;

pub struct Listening {
    pub listener: UnixListener,
    /// The inode of the socket's file.
    inode: u64,
}

impl Listening {
    /// The lock is ours, so a socket that is there is a dead daemon's, or nobody's.
    pub fn on(home: &Home) -> io::Result<Listening> {
        let path = home.socket();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let address = SocketAddress::of(&path)?;
        let listener = UnixListener::bind(address.path())?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let inode = std::fs::symlink_metadata(&path)?.ino();
        Ok(Listening { listener, inode })
    }

    /// Listens anew where nobody would find the socket any more.
    pub fn renew(&mut self, home: &Home) {
        let found = std::fs::symlink_metadata(home.socket());
        if found.is_ok_and(|found| found.ino() == self.inode) {
            return;
        }
        match home.create().and_then(|()| Listening::on(home)) {
            Ok(renewed) => {
                tracing::warn!("the daemon's socket was removed or replaced: made again");
                *self = renewed;
            }
            Err(error) => tracing::error!(%error, "the daemon's socket can't be made again"),
        }
    }
}
