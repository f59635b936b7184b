//! Jobs: translates the core's types into the host's, and back.

use perennial_api::mail::SUBJECT_LIMIT;
use perennial_core::effect::{JobAction, JobEffect};
use perennial_core::job::{JobCommand, JobEnd, JobReport, Purpose};
use perennial_engine::harness::{mail_texts, session_texts};
use perennial_engine::host::{self, Holders, JobExit, JobSpec};

use crate::daemon::showing::sentences;

/// What is kept of a job's output.
const OUTPUT_BYTES: usize = 16 << 10;
/// What is recorded of it.
const TAIL_BYTES: usize = 2 << 10;

/// What a program that speaks to the operator needs of their environment.
const OPERATORS_OWN: [&str; 8] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "USER",
    "LOGNAME",
    "SHELL",
];

/// Gives an order to a job's holder.
pub fn order(holders: &Holders, JobEffect { job, number, action }: JobEffect) {
    let jobs = holders.jobs();
    match action {
        JobAction::Run(what) => jobs.run(job, number, spec(&what.0, &what.1)),
        JobAction::Hold(what) => jobs.hold(job, number, spec(&what.0, &what.1)),
        JobAction::Release => jobs.release(job, number),
    }
}

/// The job's command, with what its purpose adds to it.
pub fn spec(purpose: &Purpose, command: &JobCommand) -> JobSpec {
    let mut argv = command.argv.clone();
    match purpose {
        Purpose::Notify { name, reason, .. } => {
            let sentence = format!("{name}: {}", sentences::reason(*reason));
            argv.extend([name.clone(), reason.word().to_owned(), sentence]);
        }
        Purpose::Mail { name, note, subject, .. } => {
            let sentence = mail_sentence(name, note, subject);
            argv.extend([name.clone(), "mail".to_owned(), sentence]);
        }
        // The command as it is declared; nothing that an agent wrote is added to it.
        Purpose::Check { .. } => {}
    }
    let set = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    JobSpec {
        argv,
        dir: command.dir.clone(),
        env: OPERATORS_OWN.iter().filter_map(set).collect(),
        limit: command.limit,
        output_bytes_max: OUTPUT_BYTES,
    }
}

/// What is told of a mail: who wrote it, our own words of it, and what its sender wrote, quoted.
fn mail_sentence(name: &str, note: &str, subject: &str) -> String {
    let mut sentence = match (name, note) {
        (name, "") => format!("{name} wrote to you"),
        ("Perennial", note) => note.to_owned(),
        (name, note) => format!("{name} wrote to you, {note}"),
    };
    if !subject.trim().is_empty() {
        let quoted = session_texts::quotation(&mail_texts::harmless(subject, SUBJECT_LIMIT));
        sentence.push_str(&format!(": {quoted}"));
    }
    sentence
}

/// A report as the core's observation; `None` for one that only the registry needs.
pub fn report(report: host::JobReport) -> Option<JobReport> {
    match report {
        host::JobReport::Held { .. } => None,
        host::JobReport::Executed(process) => Some(JobReport::Executed(process)),
        host::JobReport::Ended { exit, output_tail, .. } => {
            let end = match exit {
                JobExit::Code(code) => JobEnd::Code(code),
                JobExit::KillSignal(signal) => JobEnd::KillSignal(signal),
                JobExit::Limit => JobEnd::Limit,
                JobExit::NotStarted(why) => {
                    tracing::warn!(%why, "a job could not be started");
                    JobEnd::NotStarted
                }
                JobExit::Unknown(_) => JobEnd::Unknown,
            };
            let tail = &output_tail[output_tail.len().saturating_sub(TAIL_BYTES)..];
            Some(JobReport::Ended { end, output: String::from_utf8_lossy(tail).into_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_words_of_a_mail_stand_outside_of_the_quotation() {
        for (name, note, subject, told) in [
            ("ada", "", "port?", "ada wrote to you: “port?”"),
            ("ada", "urgent", "a”, high: “b", "ada wrote to you, urgent: “a', high: 'b”"),
            ("ada", "", " ", "ada wrote to you"),
            (
                "Perennial",
                "mail returned, bob was buried",
                "x",
                "mail returned, bob was buried: “x”",
            ),
        ] {
            assert_eq!(mail_sentence(name, note, subject), told);
        }
    }
}
