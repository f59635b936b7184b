//! `bury`: retires an agent for good; its record stays.

use perennial_api::answer::{Buried, LeftMail, MailFate, Message};
use perennial_api::request::Bury;
use perennial_api::{Agent, client};

use crate::cli::confirm::{Confirmation, listed};
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::render::role::notice;
use crate::cli::render::roster::{brief, name};
use crate::cli::render::text::plain;
use crate::cli::several::{self, Targets};

/// Retire an agent for good; its record stays in the cemetery
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial bury bob --summary 'the parser is done, see branch parser'
          perennial bury 'try-*' --summary 'none of these attempts worked'

The agent's session is ended, and it can't be woken again. On a terminal you are asked first. Texts that \
it has not seen are listed. Its unread mail goes to another holder of its role, waits for the next one, or goes back to \
its senders; how much went where is told.

An agent may bury itself, and nobody else. That is carried out when its turn has ended.")]
pub struct Args {
    #[command(flatten)]
    targets: Targets,
    /// What the agent leaves behind, for later readers; the same for several
    /// [default: what it reported last]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    #[command(flatten)]
    confirmation: Confirmation,
}

pub fn run(mut args: Args, context: &Context) -> VerbResult {
    if args.confirmation.is_due(context) {
        args.targets = confirmed(&args, context)?;
    }
    let client = several::patient(context);
    let bury = Bury { summary: args.summary };
    let order = |name: &str| client.post(&client::path(&["agents", name, "bury"], &[]), &bury);
    several::ask(&args.targets, context, "end", order, told)
}

/// The agents that the answer was about: a pattern that matches more by now means no more of them.
fn confirmed(args: &Args, context: &Context) -> Result<Targets, Failure> {
    let names = args.targets.agents(context)?.into_iter().collect::<Result<Vec<String>, _>>()?;
    // One that does not exist is told before anything is asked.
    let find = |name: &String| -> Result<Agent, Failure> {
        Ok(context.client.get(&client::path(&["agents", name], &[]))?.read()?)
    };
    let agents = names.iter().map(find).collect::<Result<Vec<Agent>, _>>()?;
    let question = format!("bury {}? {}", plain(&listed(&names)), what_follows(&agents));
    args.confirmation.ask(&question, context)?;
    Ok(Targets { names })
}

/// At most this many groups of unread mail are listed.
const LEFT_LINES: usize = 10;

fn what_follows(agents: &[Agent]) -> &'static str {
    let is_running =
        |agent: &Agent| agent.session.as_ref().is_some_and(|session| session.exit.is_none());
    match (agents.iter().any(is_running), agents.len()) {
        (true, 1) => "Its session ends, and it can't be woken again.",
        (false, 1) => "It can't be woken again.",
        (true, _) => "Running sessions end, and none of these agents can be woken again.",
        (false, _) => "None of these agents can be woken again.",
    }
}

fn told(buried: &Buried) -> String {
    if buried.agent.to_be_buried {
        let mut text = format!("{} will be buried when its turn ends\n", name(&buried.agent));
        if let Some(vacancy) = &buried.vacancy {
            let role = plain(&vacancy.role);
            text.push_str(&format!(
                "Nobody else living holds the role '{role}': it will be vacant, unless it is \
                 transferred before.\n"
            ));
        }
        return text;
    }
    let mut text = brief(&buried.agent);
    text.push_str(&buried.vacancy.as_ref().map(notice).unwrap_or_default());
    text.push_str(&left(&buried.mail));
    // A text that was offered to a session has a note that says so.
    let given = |message: &&Message| message.why.is_some();
    let (given, waiting): (Vec<&Message>, Vec<&Message>) = buried.returned.iter().partition(given);
    for (title, messages) in
        [("texts that never reached it:", waiting), ("texts that may have reached it:", given)]
    {
        if !messages.is_empty() {
            text.push_str(&format!("{title}\n"));
        }
        for message in messages {
            text.push_str(&format!("  {}  {}\n", plain(&message.id), plain(&message.head)));
        }
    }
    text
}

/// What became of its unread mail.
fn left(mail: &[LeftMail]) -> String {
    if mail.is_empty() {
        return String::new();
    }
    let mut text = "unread mail:\n".to_owned();
    for LeftMail { fate, to, count } in mail.iter().take(LEFT_LINES) {
        let to = plain(to.as_deref().unwrap_or_default());
        let (mails, them) = if *count == 1 { ("mail", "it") } else { ("mails", "them") };
        text.push_str(&match fate {
            MailFate::Forwarded => {
                format!("  {count} {mails} forwarded to {to}, who holds the role\n")
            }
            MailFate::WaitsForRole => {
                format!("  {count} {mails} kept for the next holder of the role {to}\n")
            }
            MailFate::Returned => format!("  {count} {mails} returned to {to}\n"),
            MailFate::Undeliverable => {
                format!("  {count} {mails} undeliverable: nobody is left to have {them}\n")
            }
        });
    }
    let rest: u64 = mail.iter().skip(LEFT_LINES).map(|group| group.count).sum();
    if rest > 0 {
        text.push_str(&format!("  {rest} more, to others (--json lists them)\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_mail_is_counted_by_what_became_of_it_and_the_list_is_bounded() {
        let group =
            |fate, to: Option<&str>, count| LeftMail { fate, to: to.map(str::to_owned), count };
        let mut mail = vec![
            group(MailFate::Forwarded, Some("eve"), 2),
            group(MailFate::WaitsForRole, Some("architect"), 1),
            group(MailFate::Returned, Some("operator"), 1),
            group(MailFate::Undeliverable, None, 3),
        ];
        let shown = left(&mail);
        assert_eq!(
            shown,
            "unread mail:\n  2 mails forwarded to eve, who holds the role\n  \
             1 mail kept for the next holder of the role architect\n  \
             1 mail returned to operator\n  \
             3 mails undeliverable: nobody is left to have them\n"
        );
        mail.extend((0..50).map(|_| group(MailFate::Returned, Some("bob"), 2)));
        assert!(
            left(&mail).ends_with("\n  88 more, to others (--json lists them)\n"),
            "{}",
            left(&mail)
        );
    }

    #[test]
    fn what_a_session_was_given_is_told_apart_from_what_waited() {
        let message = |id: &str, why: Option<&str>| Message {
            id: id.to_owned(),
            why: why.map(str::to_owned),
            ..Message::default()
        };
        let given = message("msg_given", Some("it was given to a session"));
        let returned = vec![given, message("msg_waited", None)];
        let shown = told(&Buried { returned, ..Buried::default() });
        let lists = shown.split_once("texts that never reached it:\n  msg_waited");
        let (_, rest) = lists.expect("the one that waited");
        assert!(rest.contains("texts that may have reached it:\n  msg_given"), "{shown}");
    }
}
