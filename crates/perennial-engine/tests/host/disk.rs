//! A full disk: sessions go on, what can't be done is said, and all is well when there is space again.
//!
//! Needs a small file system of its own, and so the right to mount one; without it nothing is tried.

use std::path::{Path, PathBuf};
use std::process::Command;

use perennial_core::exit::Exit;
use perennial_core::id::SessionNumber;
use perennial_core::observation::Report;
use perennial_core::session::Pace;
use perennial_engine::host::HostReport;
use perennial_engine::host::attach::Attachment;
use perennial_engine::host::holders::Mode;
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, until};
use crate::terminal::{read_until, text};

/// A mounted file system of one mebibyte.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<SmallDisk> {
        std::fs::create_dir(at).expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(at)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then(|| SmallDisk(at.to_owned()))
    }

    fn fill(&self) {
        let file = std::fs::File::create(self.0.join("filler")).expect("room for a name");
        while std::io::Write::write(&mut &file, &[0; 4096]).is_ok_and(|count| count > 0) {}
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _left_to_the_machine = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_no_session_and_heals() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(disk) = SmallDisk::mount(&dir.path().join("disk")) else {
        eprintln!("not tried: no right to mount");
        return;
    };
    let mut fixture = Fixture::with(|settings| {
        settings.holders_dir = disk.0.join("holders");
        settings.record_limit_bytes = 512 << 10;
    });
    let agent = fixture.agent();
    // Much is printed only while it is lost: what comes after must not rotate the note away.
    let script = "stty -echo; while read line; do echo \"[$line]\"; \
        if [ $line = lost ]; then head -c 20000 /dev/zero; fi; done";
    let process = fixture.run(agent, N1, script);
    fixture.type_line(agent, N1, "before");
    fixture.await_output(agent, N1, "[before]");
    disk.fill();
    let ticket = fixture.ticket(agent, N1, Mode::Watch).expect("a ticket");
    let mut watcher = Attachment::watch(&ticket.socket, &ticket.token, None).expect("watches");
    for _ in 0..20 {
        fixture.type_line(agent, N1, "lost");
    }
    // Who watches sees it all the same.
    read_until(&mut watcher, |news| text(news).matches("[lost]").count() >= 2);
    assert!(is_alive(process.pid));
    disk.free();
    until("the recording goes on", || {
        fixture.type_line(agent, N1, "after");
        String::from_utf8_lossy(&fixture.output(agent, N1)).contains("bytes were not recorded")
    });
    fixture.await_output(agent, N1, "[after]");
    disk.fill();
    kill(process.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    fixture.start(agent, N2, &["sh", "-c", "exec sleep 1000"]);
    let answer = fixture.wait("an answer", |report| match report {
        HostReport::Session { number: N2, report, .. } => Some(report.clone()),
        HostReport::Session { .. }
        | HostReport::Began { .. }
        | HostReport::Connected { .. }
        | HostReport::Line { .. }
        | HostReport::Announced { .. }
        | HostReport::Disconnected { .. }
        | HostReport::Outranked { .. }
        | HostReport::Job { .. } => None,
    });
    // A directory may still fit where no byte does.
    let number = match answer {
        Report::Executed(_) => N2,
        Report::NotStarted(why) => {
            assert!(why.contains("space"), "{why}");
            disk.free();
            fixture.run(agent, SessionNumber(3), "exec sleep 1000");
            SessionNumber(3)
        }
        Report::Exited(exit) | Report::Finished(exit) => panic!("{exit:?}"),
    };
    fixture.end(agent, number, Pace::AtOnce);
    assert_eq!(fixture.exited(agent, number), Exit::KillSignal(9));
}
