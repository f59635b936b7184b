//! A line on standard error when something takes longer than a moment.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

/// Ending a session may take the whole ladder, and everybody's at once longer still.
pub const ENDING_PATIENCE: Duration = Duration::from_secs(300);
const MOMENT: Duration = Duration::from_secs(1);

/// Does `work` and gives its result; says `what` after a second, if a person looks.
pub fn told<T: Send>(what: &str, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            // Dropped on return and on a panic alike.
            let _done = done;
            work()
        });
        if io::stderr().is_terminal() {
            tell_until(&finished, what);
        }
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn tell_until(finished: &mpsc::Receiver<()>, what: &str) {
    let mut seconds = 0_u64;
    while finished.recv_timeout(MOMENT) == Err(mpsc::RecvTimeoutError::Timeout) {
        seconds += 1;
        let _ = write!(io::stderr(), "\r\x1b[K{what}… {seconds} s");
        let _ = io::stderr().flush();
    }
    if seconds > 0 {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
