//! Calls the operator's own command when an agent needs them.
//!
//! `notify = ["program", "argument", …]` in `<config>/config.toml`: an argv of the operator's, never
//! of a project or an agent. It gets three arguments more: the agent's name, the reason's word, and
//! a sentence. It runs as a child of the daemon, with no rights, for ten seconds at most.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use perennial_core::reason::Reason;
use perennial_engine::host::process;

use super::words;

const PATIENCE: Duration = Duration::from_secs(10);

/// The way to the operator; nothing where they named no command.
#[derive(Debug, Default)]
pub struct Notify(Option<Sender<[String; 3]>>);

impl Notify {
    pub fn start(argv: Vec<String>) -> Notify {
        if argv.is_empty() {
            return Notify::default();
        }
        let (sender, inbox) = channel();
        let thread = std::thread::Builder::new().name("notify".to_owned());
        match thread.spawn(move || run(&argv, &inbox)) {
            Ok(_) => Notify(Some(sender)),
            Err(error) => {
                tracing::warn!(%error, "nobody can be notified");
                Notify::default()
            }
        }
    }

    /// Tells the operator of an agent that waits for them.
    pub fn tell(&self, name: String, reason: Reason) {
        let calls = matches!(
            reason,
            Reason::NeedsPermission
                | Reason::NeedsAnswer
                | Reason::FirstRunDialog
                | Reason::LimitReached
        );
        if let Some(sender) = self.0.as_ref().filter(|_| calls) {
            let text = format!("{name}: {}", words::reason(reason));
            let _ = sender.send([name, reason.word().to_owned(), text]);
        }
    }
}

fn run(argv: &[String], inbox: &Receiver<[String; 3]>) {
    while let Ok(call) = inbox.recv() {
        let started = Command::new(&argv[0])
            .args(&argv[1..])
            .args(&call)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => end(child),
            Err(error) => tracing::warn!(%error, "the operator's command can't be run"),
        }
    }
}

/// Waits for the command's end, and ends it when it takes too long.
fn end(mut child: Child) {
    let ended = process::ends_within(&child, PATIENCE);
    if !ended {
        let _ = child.kill();
    }
    let _ = child.wait();
}
