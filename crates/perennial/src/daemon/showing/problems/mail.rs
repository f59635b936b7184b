//! Why a mail is not sent, or not found.

use perennial_api::Problem;
use perennial_core::id::AgentId;
use perennial_core::message::{MAILBOX_UNREAD_MAX, Mailbox, SENDER_UNREAD_MAX};

use crate::similar::did_you_mean;

pub(super) fn no_recipient() -> Problem {
    Problem::new(409, "no-recipient", "nobody but you is in that team")
        .because("a team is an agent and all agents below it, without the sender")
        .next("`perennial ls` lists the agents")
}

/// `similar` are roles that may have been meant.
pub fn no_such_role(role: &str, similar: &[&str]) -> Problem {
    let why = match similar {
        [] => "it is not declared, and nobody ever held it".to_owned(),
        similar => did_you_mean(similar),
    };
    Problem::new(404, "no-such-role", format!("no role '{role}'"))
        .because(why)
        .next("`perennial role ls` lists the roles")
}

pub(super) fn not_answerable() -> Problem {
    Problem::new(400, "bad-address", "Perennial's own mails can't be answered")
        .because("nobody would read the answer")
        .next("write to an agent, `role:architect`, `team:bob` or `operator`")
}

pub(super) fn too_many_copies(copies: u32, most: u32) -> Problem {
    let title = format!("the mail has {copies} recipients; it was not sent");
    Problem::new(429, "too-many-recipients", title)
        .because(format!("an agent sends a mail of this length to at most {most} at once"))
        .next("write to fewer agents, or post it with `perennial board post`")
}

pub fn sends_none() -> Problem {
    Problem::new(400, "bad-address", "nothing is sent from the mailbox of a role")
        .because("its holders send mail as themselves")
        .next("`perennial mail ls --sent bob` lists what bob sent")
}

pub fn too_many_ids(count: usize, most: usize) -> Problem {
    Problem::new(400, "too-many-mails", format!("{count} mails can't be read at once"))
        .because(format!("at most {most} are read at once; none of these counts as read"))
        .next("name fewer mails")
}

pub(super) fn full(mailbox: &Mailbox, name: impl Fn(AgentId) -> String) -> Problem {
    let whose = match mailbox {
        Mailbox::Agent(id) => format!("the mailbox of {}", name(*id)),
        Mailbox::Role(role) => format!("the mailbox of the role {role}"),
        Mailbox::Operator => "the operator's mailbox".to_owned(),
    };
    Problem::new(429, "mailbox-full", format!("{whose} is full; the mail was not sent"))
        .because(format!(
            "it holds {MAILBOX_UNREAD_MAX} unread mails at most, {SENDER_UNREAD_MAX} from one agent, \
             its ancestors and their descendants"
        ))
        .next("wait until its owner has read some; `perennial mail ls --sent` lists what you sent")
}

pub fn bad_address(to: &str, why: &str) -> Problem {
    Problem::new(400, "bad-address", format!("invalid address '{to}'")).because(why).next(
        "use an agent's name, `role:architect`, `team:bob` or `operator`; `perennial ls` lists agents",
    )
}

pub fn too_long(what: &str, bytes: usize, limit: usize) -> Problem {
    let title = format!("the {what} is too long: {bytes} bytes");
    Problem::new(413, "mail-too-long", title)
        .because(format!("a mail's {what} has at most {limit} bytes"))
        .next("put long texts into a file and name it in the mail")
}

pub fn empty() -> Problem {
    Problem::new(400, "mail-empty", "the mail has no text")
        .because("a mail needs a text or a subject")
        .next("give the text with -m or --file; `-m -` reads standard input")
}

pub fn no_such_mail(id: &str) -> Problem {
    Problem::new(404, "no-such-mail", format!("no mail {id}"))
        .because("no mail with this id is in a mailbox that you may read")
        .next("`perennial mail ls` lists your mail")
}

pub fn no_mailbox() -> Problem {
    Problem::new(403, "no-mailbox", "you have no mailbox")
        .because("mail is for the operator and for agents")
        .next("run this as the operator, or from within an agent's session")
}

pub fn not_yours(mailbox: &str) -> Problem {
    Problem::new(403, "not-allowed", format!("an agent may not read the mailbox {mailbox}"))
        .because("an agent reads its own mailbox and those of the agents below it")
        .next("`perennial mail ls` lists your own mail")
}
