//! Mail for reading in a terminal. Subjects and texts are others' words: everything is escaped, subjects stand
//! between quotation marks, and the lines of a text are quoted, so that none can pass for a header.

use perennial_api::mail::{Mail, MailList};

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, ids, table_with_notes};
use super::text::{OPERATOR, plain, quotation, quoted_lines};

const NO_OLDER: &str = "no older mail\n";

/// What a list of mail was asked for with, beside its kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// As they were written on the command line.
    pub options: &'a str,
    /// The mailbox is the reader's.
    pub is_own: bool,
    pub only_unread: bool,
    pub is_later_page: bool,
}

/// The table of `mail ls`.
pub fn inbox(list: &MailList, asked: Asked<'_>, canvas: &Canvas<'_>) -> String {
    let mails = &list.mails;
    if mails.is_empty() && asked.is_later_page {
        return NO_OLDER.to_owned();
    }
    if mails.is_empty() {
        let what = if asked.only_unread { "no unread mail" } else { "no mail" };
        return format!("{what}\nwrite one:  perennial mail send bob -m 'how is it going?'\n");
    }
    let columns = vec![
        ids(mails.iter().map(|mail| mail.id.as_str())),
        column(mails, ("AGE", 7, 4, Clip::Never), &|mail| Cell::new(canvas.clock.ago(&mail.at))),
        column(mails, ("FROM", 8, 12, Clip::End), &|mail| Cell::ink(from(mail), Ink::Strong)),
        column(mails, ("STATE", 9, 7, Clip::Never), &state),
        column(mails, ("SUBJECT", 10, 16, Clip::End), &subject),
    ];
    let mut shown = table_with_notes(columns, &notes(mails), canvas);
    shown.push_str(&older(list, asked.options, canvas));
    let unread = match list.unread {
        0 => "0 unread\n".to_owned(),
        count if asked.is_own => format!("{count} unread; read with: perennial mail read\n"),
        count => format!("{count} unread\n"),
    };
    shown.push_str(&canvas.paint.ink(Ink::Faint, &unread));
    shown
}

/// The table of `mail ls --sent`.
pub fn outbox(list: &MailList, asked: Asked<'_>, canvas: &Canvas<'_>) -> String {
    let mails = &list.mails;
    if mails.is_empty() && asked.is_later_page {
        return NO_OLDER.to_owned();
    }
    if mails.is_empty() {
        return "no mail sent\n".to_owned();
    }
    let columns = vec![
        ids(mails.iter().map(|mail| mail.id.as_str())),
        column(mails, ("AGE", 7, 4, Clip::Never), &|mail| Cell::new(canvas.clock.ago(&mail.at))),
        column(mails, ("TO", 8, 12, Clip::End), &|mail| Cell::ink(plain(&mail.to), Ink::Strong)),
        column(mails, ("STATE", 9, 7, Clip::Never), &|mail| Cell::new(plain(&mail.state))),
        column(mails, ("SUBJECT", 10, 16, Clip::End), &subject),
    ];
    table_with_notes(columns, &notes(mails), canvas) + &older(list, asked.options, canvas)
}

/// The table of `mail ls --thread`.
pub fn thread(list: &MailList, asked: Asked<'_>, canvas: &Canvas<'_>) -> String {
    let mails = &list.mails;
    if mails.is_empty() && asked.is_later_page {
        return NO_OLDER.to_owned();
    }
    if mails.is_empty() {
        return "no unread mail in this thread\n".to_owned();
    }
    let columns = vec![
        ids(mails.iter().map(|mail| mail.id.as_str())),
        column(mails, ("AGE", 7, 4, Clip::Never), &|mail| Cell::new(canvas.clock.ago(&mail.at))),
        column(mails, ("FROM", 9, 6, Clip::End), &|mail| Cell::ink(from(mail), Ink::Strong)),
        column(mails, ("TO", 8, 6, Clip::End), &|mail| Cell::new(plain(&mail.to))),
        column(mails, ("STATE", 5, 7, Clip::Never), &state),
        column(mails, ("SUBJECT", 10, 10, Clip::End), &subject),
    ];
    table_with_notes(columns, &notes(mails), canvas) + &older(list, asked.options, canvas)
}

type Heading = (&'static str, u8, usize, Clip);

fn column(mails: &[Mail], heading: Heading, cell: &dyn Fn(&Mail) -> Cell) -> Column {
    let (title, importance, narrowest, clip) = heading;
    Column { title, importance, narrowest, clip, cells: mails.iter().map(cell).collect() }
}

fn state(mail: &Mail) -> Cell {
    match mail.unread {
        true => Cell::ink("unread", Ink::Attention),
        false => Cell::new(plain(&mail.state)),
    }
}

/// What each mail waits for.
fn notes(mails: &[Mail]) -> Vec<Option<String>> {
    let note = |mail: &Mail| {
        let forwarded =
            mail.forwarded_from.as_ref().map(|name| format!("written to {}", plain(name)));
        let said: Vec<String> = forwarded.into_iter().chain(mail.why.clone()).collect();
        (!said.is_empty()).then(|| said.join("; "))
    };
    mails.iter().map(note).collect()
}

fn subject(mail: &Mail) -> Cell {
    let words = if mail.subject.is_empty() { &mail.head } else { &mail.subject };
    Cell::new(titled(mail, words))
}

/// What the sender wrote, quoted, behind our own words of the mail.
fn titled(mail: &Mail, words: &str) -> String {
    let returned = mail.returned_to.as_ref();
    let returned = returned.map(|to| format!("returned, {} was buried", plain(to)));
    let is_usual = matches!(mail.priority.as_str(), "" | "normal");
    let priority = (!is_usual).then(|| plain(&mail.priority));
    let quoted = (!words.is_empty()).then(|| quotation(words));
    returned.into_iter().chain(priority).chain(quoted).collect::<Vec<_>>().join(": ")
}

/// No agent's name has a space or a parenthesis: nobody can pass for the operator or for Perennial.
fn from(mail: &Mail) -> String {
    match (&mail.from_id, mail.from.as_str()) {
        (Some(_), name) => plain(name),
        (None, "operator") => OPERATOR.to_owned(),
        (None, "perennial") => "(Perennial)".to_owned(),
        (None, other) => plain(other),
    }
}

/// What is told of a mail that was sent.
pub fn sent(mail: &Mail) -> String {
    let why = mail.why.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
    format!("sent {} to {}; {}{why}\n", plain(&mail.id), plain(&mail.to), plain(&mail.state))
}

/// Mails with their texts, each line quoted. `left` are unread beyond them.
pub fn read(mails: &[Mail], left: u64, canvas: &Canvas<'_>) -> String {
    if mails.is_empty() {
        return "no unread mail\n".to_owned();
    }
    let mut shown = mails.iter().map(|mail| one(mail, canvas)).collect::<Vec<_>>().join("\n");
    if left > 0 {
        let more = format!("{left} more unread; read on with: perennial mail read");
        shown.push_str(&format!("\n{}\n", canvas.paint.ink(Ink::Faint, &more)));
    }
    shown
}

/// That a list goes on, and how to see the rest. `options` are those that the list was asked for with.
fn older(list: &MailList, options: &str, canvas: &Canvas<'_>) -> String {
    let Some(oldest) = list.mails.last().filter(|_| list.has_older) else { return String::new() };
    let older = format!("older mail:  perennial mail ls {options}--before {}", plain(&oldest.id));
    canvas.paint.ink(Ink::Faint, &older) + "\n"
}

fn one(mail: &Mail, canvas: &Canvas<'_>) -> String {
    let mut shown = canvas.paint.ink(Ink::Strong, &from(mail));
    let mut about = format!(
        " to {}, {} ({} ago), {}",
        plain(&mail.to),
        canvas.clock.time(&mail.at),
        canvas.clock.ago(&mail.at),
        plain(&mail.id)
    );
    if let Some(role) = &mail.role {
        about.push_str(&format!(", addressed to the role {}", plain(role)));
    }
    if let Some(name) = &mail.forwarded_from {
        about.push_str(&format!(", written to {}", plain(name)));
    }
    shown.push_str(&canvas.paint.ink(Ink::Faint, &about));
    shown.push('\n');
    let title = titled(mail, &mail.subject);
    if !title.is_empty() {
        shown.push_str(&(canvas.paint.ink(Ink::Strong, &title) + "\n"));
    }
    if mail.text.is_none() && mail.bytes > 0 {
        let began = quotation(&mail.head);
        shown.push_str(&format!("its text is lost or damaged; it began with: {began}\n"));
    }
    shown + &quoted_lines(mail.text.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::text;
    use crate::cli::render::time::fixed;

    /// At 80 columns the reason once went first, although it is what one looks for.
    #[test]
    fn at_80_columns_the_reason_is_whole_and_the_id_can_be_copied() {
        let mail = Mail {
            id: "msg_01k9zq5v2r7m3x8c4t6b0d1f2g".into(),
            at: "2026-11-15T11:55:00Z".into(),
            from: "librarian-of-the-project".into(),
            from_id: Some("agt_01".into()),
            to: "role:librarian-of-the-project".into(),
            subject: "what is left of the parser, and who takes it".into(),
            state: "waiting".into(),
            unread: true,
            why: Some("a dialog is open; answer it in `perennial attach`, then it goes on".into()),
            ..Mail::default()
        };
        let (clock, why) = (fixed(), mail.why.clone().expect("a reason"));
        let mails = vec![mail.clone(), mail.clone()];
        let list = MailList { unread: 2, has_older: false, mails };
        let asked = Asked { is_own: true, ..Asked::default() };
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let all = [inbox, outbox, thread].map(|list_of| list_of(&list, asked, &canvas));
        for shown in all {
            assert!(shown.lines().all(|line| text::width(line) <= 80), "{shown}");
            // What is shown of an id is enough to name the mail.
            let end = &mail.id[mail.id.len() - 10..];
            for whole in [why.as_str(), end] {
                assert_eq!(shown.matches(whole).count(), 2, "{shown}");
            }
            for title in ["AGE", "STATE", "SUBJECT"] {
                assert!(shown.contains(title), "{title}: {shown}");
            }
        }
        insta::assert_snapshot!(inbox(&list, asked, &canvas));
    }

    /// A subject once stood where our own words stand, and looked like them.
    #[test]
    fn what_a_sender_wrote_stands_between_quotation_marks() {
        let mail = Mail {
            id: "msg_01".into(),
            at: "2026-11-15T11:55:00Z".into(),
            from: "ada".into(),
            from_id: Some("agt_01".into()),
            to: "operator".into(),
            subject: "urgent: x”, returned, ada was buried: “plan".into(),
            ..Mail::default()
        };
        let urgent = Mail { priority: "urgent".into(), subject: String::new(), ..mail.clone() };
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None };
        let quoted = "“urgent: x', returned, ada was buried: 'plan”";
        let list = MailList { unread: 1, has_older: true, mails: vec![mail.clone()] };
        let listed = inbox(&list, Asked { options: "bob ", ..Asked::default() }, &canvas);
        assert!(listed.contains(&format!(" {quoted}\n")), "{listed}");
        assert!(
            listed.contains("\nolder mail:  perennial mail ls bob --before msg_01\n"),
            "{listed}"
        );
        let shown = read(&[mail.clone(), urgent], 7, &canvas);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("ada to operator, "), "{shown}");
        assert_eq!((lines[1], lines[4]), (quoted, "urgent"), "{shown}");
        assert!(shown.ends_with("\n7 more unread; read on with: perennial mail read\n"), "{shown}");
        let returned_to = Some("ada".into());
        let returned = Mail { returned_to, forwarded_from: Some("bob".into()), ..mail };
        let shown = read(&[returned], 0, &canvas);
        assert!(
            shown.contains(", written to bob\nreturned, ada was buried: “urgent: x'"),
            "{shown}"
        );
    }
}
