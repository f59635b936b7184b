//! `clean`: removes what takes up room of a dead agent; its record stays.

use perennial_api::cleaning::{Clean, Cleaned, KeptCopy};
use perennial_api::{ExitCode, Response, client};

use crate::cli::confirm::Confirmation;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::render::text::{plain, size};
use crate::cli::{progress, several};

/// Remove what takes up room of a dead agent; its record stays
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial clean bob
          perennial clean bob~1 --dry-run
          perennial clean bob --yes

Removes what the agent's sessions printed, and Perennial's own copies of its conversations. A copy stays as long as an \
agent outside the cemetery may resume the conversation, or it is part of the record of another agent that was not cleaned; \
`perennial prune` takes it once that is over. The agent's record, its summary and legacies, its mail and posts, \
the entity graph, its checkpoints, the snapshots of its work tree and the agent CLI's own files stay.

Only a person may clean, after a question on a terminal; a script of yours uses --yes. What was removed is recorded: \
`perennial show` says it.")]
pub struct Args {
    /// The dead agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirmation: Confirmation,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if !args.dry_run {
        confirm(args, context)?;
    }
    let answer = ask(&args.target, args.dry_run, context)?;
    let cleaned: Cleaned = answer.read()?;
    context.show(&answer, told)?;
    let is_left = cleaned.recordings.iter().any(|one| one.is_left)
        || cleaned.conversations.iter().any(|one| one.is_left);
    match is_left {
        true => Ok(ExitCode::Failed),
        false => Ok(ExitCode::Done),
    }
}

fn confirm(args: &Args, context: &Context) -> Result<(), Failure> {
    if args.confirmation.is_given() {
        return Ok(());
    }
    // Who may not, or has nothing to clean, is told so before anything is asked.
    let would: Cleaned = ask(&args.target, true, context)?.read()?;
    if !args.confirmation.is_due(context) {
        return Err(problems::house::clean_needs_a_terminal().into());
    }
    if is_nothing(&would) {
        return Ok(());
    }
    eprint!("{}", kept(&would));
    let question =
        format!("remove {} of {}? This can't be undone.", sum(&would), plain(&would.target));
    args.confirmation.ask(&question, context)
}

fn ask(target: &str, dry_run: bool, context: &Context) -> Result<Response, Failure> {
    let client = several::patient(context);
    let path = client::path(&["agents", target, "clean"], &[]);
    Ok(progress::told("looking at what is left", || client.post(&path, &Clean { dry_run }))?)
}

fn is_nothing(cleaned: &Cleaned) -> bool {
    cleaned.recordings.is_empty() && cleaned.conversations.is_empty()
}

fn told(cleaned: &Cleaned) -> String {
    let name = plain(&cleaned.target);
    if is_nothing(cleaned) {
        return format!("nothing to remove of {name}\n{}", kept(cleaned));
    }
    if cleaned.is_dry_run {
        return format!("would remove {} of {name}\n{}", sum(cleaned), kept(cleaned));
    }
    let mut gone = cleaned.clone();
    gone.recordings.retain(|one| !one.is_left);
    gone.conversations.retain(|one| !one.is_left);
    gone.bytes = gone.recordings.iter().map(|one| one.bytes).sum::<u64>()
        + gone.conversations.iter().map(|one| one.bytes).sum::<u64>();
    let mut text = format!("removed {} of {name}\n", sum(&gone));
    for one in cleaned.recordings.iter().filter(|one| one.is_left) {
        let session = one.session;
        text.push_str(&format!(
            "not removed: recording of session {session}; the daemon's log says why\n"
        ));
    }
    for one in cleaned.conversations.iter().filter(|one| one.is_left) {
        let id = plain(&one.conversation);
        text.push_str(&format!(
            "not removed: copy of conversation {id}; the daemon's log says why\n"
        ));
    }
    text + &kept(cleaned)
}

/// What stays, and for whom.
fn kept(cleaned: &Cleaned) -> String {
    let line = |one: &KeptCopy| {
        let id = plain(&one.conversation);
        let whom = plain(one.agent.as_deref().unwrap_or("an agent"));
        let why = match one.why.as_str() {
            "resumption" => format!("{whom} may resume it"),
            "record" => format!("it belongs to {whom}, too"),
            "uncertainty" => {
                format!("the record of {whom} can't be read, and it may need the copy")
            }
            _ => "records of the journal can't be read that may say who needs it".to_owned(),
        };
        format!("kept: copy of conversation {id}: {why}\n")
    };
    cleaned.kept.iter().map(line).collect()
}

/// `3 recordings and 1 copy of a conversation (1.2 MiB)`.
fn sum(cleaned: &Cleaned) -> String {
    let recordings = match cleaned.recordings.len() {
        0 => None,
        1 => Some("1 recording".to_owned()),
        many => Some(format!("{many} recordings")),
    };
    let copies = match cleaned.conversations.len() {
        0 => None,
        1 => Some("1 copy of a conversation".to_owned()),
        many => Some(format!("{many} copies of conversations")),
    };
    let parts: Vec<String> = [recordings, copies].into_iter().flatten().collect();
    let parts = if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") };
    format!("{parts} ({})", size(cleaned.bytes))
}

#[cfg(test)]
mod tests {
    use perennial_api::answer::PrunedRecording;
    use perennial_api::cleaning::ConversationCopy;

    use super::*;

    #[test]
    fn what_is_shown() {
        let recording = |session| PrunedRecording { session, bytes: 1024, ..Default::default() };
        let copy = |id: &str, is_left| ConversationCopy {
            conversation: id.to_owned(),
            bytes: 2048,
            is_left,
        };
        let mut cleaned = Cleaned {
            is_dry_run: true,
            target: "bob~1".to_owned(),
            recordings: vec![recording(1), recording(2)],
            conversations: vec![copy("0b1c", false), copy("0b1d", true)],
            kept: vec![KeptCopy {
                conversation: "0b1e".to_owned(),
                bytes: 9,
                why: "resumption".to_owned(),
                agent: Some("eve".to_owned()),
            }],
            bytes: 6144,
            ..Cleaned::default()
        };
        insta::assert_snapshot!(told(&cleaned), @r"
        would remove 2 recordings and 2 copies of conversations (6.0 KiB) of bob~1
        kept: copy of conversation 0b1e: eve may resume it
        ");
        cleaned.is_dry_run = false;
        insta::assert_snapshot!(told(&cleaned), @r"
        removed 2 recordings and 1 copy of a conversation (4.0 KiB) of bob~1
        not removed: copy of conversation 0b1d; the daemon's log says why
        kept: copy of conversation 0b1e: eve may resume it
        ");
        let nothing = Cleaned { target: "bob".to_owned(), ..Cleaned::default() };
        assert_eq!(told(&nothing), "nothing to remove of bob\n");
    }
}
