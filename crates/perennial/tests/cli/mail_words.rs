//! What is told of mail and rounds where one looks for something else, from outside.

use perennial_api::mail::{Mail, MailList};

use crate::sealed::Sealed;

fn spawn(sealed: &Sealed, name: &str, options: &[&str]) {
    sealed.ok([&["spawn", name], options, &["--", "sleep", "1000000"]].concat());
}

fn send(sealed: &Sealed, to: &str) -> Mail {
    sealed.json::<Vec<Mail>>(&["mail", "send", to, "-m", "some words"]).remove(0)
}

/// It was once said to wait until its recipient reads it, who slept.
// covers: H-19
#[test]
fn mail_to_a_sleeping_agent_says_how_to_wake_it() {
    let sealed = Sealed::up();
    spawn(&sealed, "ada", &[]);
    sealed.ok(["stop", "ada"]);
    send(&sealed, "ada");
    let list: MailList = sealed.json(&["mail", "ls", "ada"]);
    let why = "the agent has no running session; `perennial wake ada` starts one";
    assert_eq!(list.mails[0].why.as_deref(), Some(why));
}

// covers: H-19
#[test]
fn unread_mail_is_told_where_its_owner_is_shown() {
    let sealed = Sealed::up();
    spawn(&sealed, "ada", &["--role", "keeper"]);
    assert!(!sealed.ok(["show", "ada"]).contains("unread"));
    send(&sealed, "ada");
    for verb in ["show", "why"] {
        let told = sealed.ok([verb, "ada"]);
        assert!(told.contains("1 unread; see perennial mail ls ada"), "{told}");
    }
    assert!(!sealed.ok(["role", "show", "keeper"]).contains("waiting for the next holder"));
    sealed.ok(["role", "drop", "ada"]);
    send(&sealed, "role:keeper");
    let told = sealed.ok(["role", "show", "keeper"]);
    let waiting = "1 waiting for the next holder; see perennial mail ls role:keeper";
    assert!(told.contains(waiting), "{told}");
    assert!(!sealed.ok(["ls"]).contains("unread mail"));
    send(&sealed, "operator");
    for verb in ["ls", "up"] {
        let told = sealed.ok([verb]);
        assert!(told.ends_with("\nyou have 1 unread mail: perennial mail read\n"), "{told}");
    }
}

/// A mail's text has ids in another form, which no verb accepted.
// covers: H-19
#[test]
fn ids_are_accepted_as_a_text_shows_them_and_repeated_as_they_were_typed() {
    let sealed = Sealed::up();
    spawn(&sealed, "ada", &[]);
    let id = send(&sealed, "ada").id;
    let shown = id.replace("msg_", "msg-");
    assert_eq!(sealed.json::<Vec<Mail>>(&["mail", "read", &shown])[0].id, id);
    sealed.ok(["unsend", &shown]);
    for typed in ["msg_00000000000000000000000001", "msg-00000000000000000000000001"] {
        let problem = sealed.refused(4, &["mail", "read", typed]);
        assert_eq!(problem.title, format!("no mail {typed}"));
    }
}

#[test]
fn why_no_rounds_come_is_told() {
    let sealed = Sealed::up();
    let declared = sealed.dir.join("perennial.toml");
    std::fs::write(declared, "[role.scribe]\nmandate = 'write'\nevery = '1h'\n").expect("written");
    spawn(&sealed, "ada", &["--role", "scribe"]);
    for words in [&["show", "ada"][..], &["why", "ada"], &["role", "show", "scribe"]] {
        let told = sealed.ok(words).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("none is due: a bare command is given no rounds"), "{told}");
    }
}

#[test]
fn an_empty_legacy_is_refused_in_its_own_words() {
    let sealed = Sealed::up();
    let body = perennial_api::request::Legacy { kind: "blog".to_owned(), text: " ".to_owned() };
    let Err(perennial_api::client::ClientError::Problem(problem)) =
        sealed.client().post("/v1/legacy", &body)
    else {
        panic!("it was accepted")
    };
    assert_eq!(problem.title, "there is nothing to leave behind");
}
