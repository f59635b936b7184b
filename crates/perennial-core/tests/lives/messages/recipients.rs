//! Who gets a mail: teams, holders of roles, and what becomes of the mail of the dead.

use perennial_core::command::{Request, Spawn};
use perennial_core::message::{Addressee, MailDraft, MailKind, Mailbox, Priority};
use perennial_core::name::NameKey;
use perennial_core::role::RoleTerms;

use super::*;

const ADA: u128 = 2;
const CID: u128 = 3;
const DOT: u128 = 4;

fn draft(id: u128, to: Addressee) -> Command {
    Command::Mail(Box::new(MailDraft {
        id: MessageId(id),
        to,
        thread: None,
        subject: "subject".to_owned(),
        priority: Priority::Normal,
        body: body("words").0,
        excerpt: "words".to_owned(),
    }))
}

fn agent(id: u128) -> Addressee {
    Addressee::Agent(AgentId(id).to_string())
}

fn team(id: u128) -> Addressee {
    Addressee::Team(AgentId(id).to_string())
}

fn holders(role: &str, all: bool) -> Addressee {
    Addressee::Role { role: role.parse().expect("a name"), all, is_declared: true }
}

fn assume(id: u128, role: &str) -> Command {
    let (target, role) = (AgentId(id).to_string(), role.parse().expect("a name"));
    Command::Assume { target, role, declared: None }
}

fn bury(id: u128) -> Command {
    Command::Bury { target: AgentId(id).to_string(), summary: None }
}

impl Told {
    fn child(&mut self, id: u128, parent: Option<u128>) {
        let spawn = Spawn {
            id: AgentId(id),
            name: None,
            role: None,
            parent: parent.map(|parent| AgentId(parent).to_string()),
            launch: crate::told::launch(),
            restart: Restart::Never,
            conversation: None,
            situations: Vec::new(),
        };
        self.ask(Command::Spawn(Box::new(spawn))).expect("born");
        self.executed(id);
    }

    /// Another idle agent CLI.
    fn another(&mut self, id: u128) {
        self.spawn_cli(id, false, None).expect("spawned");
        self.begun(id, &format!("c-{id}"), Followed::Started);
    }

    fn holds(&mut self, id: u128, role: &str) {
        self.ask(assume(id, role)).expect("taken");
    }

    /// Who gets it.
    fn posted(&mut self, caller: Caller, id: u128, to: Addressee) -> Vec<Mailbox> {
        let events = self.ask_as(caller, draft(id, to)).expect("sent");
        let recorded = |event: &Event| {
            let What::Message(_, MessageEvent::Recorded { to, .. }) = &event.what else {
                return None;
            };
            Some(to.clone())
        };
        events.iter().filter_map(recorded).collect()
    }

    fn unread_in(&self, mailbox: impl Into<Mailbox>) -> Vec<u128> {
        self.fleet.messages().within(&mailbox.into()).map(|message| message.id.0).collect()
    }

    /// What a decision rests on besides what it is about.
    fn rests_on(&self, command: Command) -> Vec<Entity> {
        let request = Request { caller: Caller::Person, command };
        self.fleet.decide(&request, self.now).expect("decided").read
    }
}

fn boxes(ids: &[u128]) -> Vec<Mailbox> {
    ids.iter().map(|id| Mailbox::Agent(AgentId(*id))).collect()
}

#[test]
fn a_team_is_an_agent_and_its_descendants_without_the_sender_and_the_dead() {
    let mut told = idle();
    told.child(ADA, None);
    told.child(CID, Some(ADA));
    told.child(DOT, Some(CID));
    told.child(5, Some(ADA));
    told.ask(bury(5)).expect("buried");
    assert_eq!(told.posted(Caller::Person, 10, team(ADA)), boxes(&[ADA, CID, DOT]));
    let cid = Caller::Agent(AgentId(CID));
    assert_eq!(told.posted(cid, 20, team(ADA)), boxes(&[ADA, DOT]));
    let dot = Caller::Agent(AgentId(DOT));
    assert_eq!(told.ask_as(dot, draft(30, team(DOT))), Err(Refusal::NoRecipient));
    for to in [team(5), agent(5)] {
        let refused = told.ask(draft(40, to));
        assert!(matches!(refused, Err(Refusal::WrongState { .. })), "{refused:?}");
    }
    // Copies have ids that follow each other: none of them may be in use.
    let again = told.ask(draft(9, team(ADA)));
    assert_eq!(again, Err(Refusal::MessageExists { message: MessageId(10) }));
}

#[test]
fn the_mail_of_a_role_goes_to_a_living_holder_with_the_least_of_it_or_to_all() {
    let mut told = idle();
    for id in [ADA, CID, DOT] {
        told.child(id, None);
        told.holds(id, "keeper");
    }
    crate::roles::freeze(&mut told, ADA);
    let person = Caller::Person;
    assert_eq!(told.posted(person, 10, holders("keeper", false)), boxes(&[CID]));
    assert_eq!(told.posted(person, 11, holders("keeper", false)), boxes(&[DOT]));
    assert_eq!(told.posted(person, 12, holders("keeper", false)), boxes(&[CID]));
    assert_eq!(told.posted(person, 20, holders("Keeper", true)), boxes(&[ADA, CID, DOT]));
    told.ask(bury(CID)).expect("buried");
    told.ask(bury(DOT)).expect("buried");
    assert_eq!(told.posted(person, 30, holders("keeper", false)), boxes(&[ADA]), "it waits there");
}

/// Another node that buries a recipient, or has somebody take the role, decides first or after.
#[test]
fn whom_a_mail_goes_to_rests_on_those() {
    let mut told = idle();
    told.child(ADA, None);
    told.child(CID, Some(ADA));
    let of = |id: u128| Entity::Agent(AgentId(id));
    assert_eq!(told.rests_on(draft(1, agent(BOB))), [of(BOB)]);
    assert_eq!(told.rests_on(draft(1, team(ADA))), [of(ADA), of(CID)]);
    let keeper = Entity::Role(NameKey::of("keeper"));
    assert_eq!(told.rests_on(draft(1, holders("keeper", false))), [keeper]);
}

/// ML1: what was addressed to a role goes to that; other mail to another holder of the role that the dead one had.
#[test]
fn the_mail_of_the_dead_goes_to_the_role_it_was_for_then_to_their_own() {
    let mut told = idle();
    for id in [ADA, CID] {
        told.child(id, None);
    }
    told.holds(BOB, "keeper");
    told.posted(Caller::Person, 1, holders("keeper", false));
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(told.hook(), "offered 1");
    told.posted(Caller::Person, 2, agent(BOB));
    told.holds(ADA, "steward");
    told.holds(CID, "keeper");
    // What is under way stays with whoever has it.
    told.holds(BOB, "steward");
    assert_eq!(told.unread_in(AgentId(BOB)), [1, 2]);
    told.ask(bury(BOB)).expect("buried");
    assert_eq!((told.unread_in(AgentId(CID)), told.unread_in(AgentId(ADA))), (vec![1], vec![2]));
}

/// ML2
#[test]
fn mail_that_nobody_else_can_have_comes_back_from_perennial_to_whoever_lives() {
    let mut told = idle();
    told.child(ADA, None);
    told.child(CID, Some(ADA));
    told.child(DOT, None);
    told.posted(Caller::Agent(AgentId(CID)), 1, agent(BOB));
    told.posted(Caller::Agent(AgentId(DOT)), 2, agent(BOB));
    told.posted(Caller::Person, 3, agent(BOB));
    told.posted(Caller::Person, 4, agent(BOB));
    told.fleet.mark_message_unreadable(MessageId(4));
    told.ask(bury(DOT)).expect("buried");
    let events = told.ask(bury(BOB)).expect("buried");
    let expected = "returned 1, recorded ours, returned 2, returned 3, recorded ours, returned 4";
    assert_eq!(words(&events), expected);
    let back = |mailbox: Mailbox| {
        let all: Vec<_> = told.fleet.messages().within(&mailbox).collect();
        let [letter] = all[..] else { panic!("{all:?}") };
        let mail = letter.mail().expect("a mail");
        assert_eq!((letter.from, &mail.role, &mail.sender_name), (Sender::Perennial, &None, &None));
        assert_eq!(mail.kind, MailKind::Returned { to: "claude".to_owned() });
        // It is no part of what its sender's lineage may have in a mailbox.
        assert_eq!(mail.eldest_ancestor, None);
        (mail.thread, mail.subject.clone())
    };
    let subject = "subject".to_owned();
    assert_eq!(back(AgentId(CID).into()), (MessageId(1), subject.clone()));
    assert_eq!(back(Mailbox::Operator), (MessageId(3), subject));
}

/// T7: of mail whose record can't be read nobody knows who has it. It stays, and holds back no other.
#[test]
fn unreadable_mail_stays_with_its_recipient_and_holds_back_no_other() {
    let mut told = idle();
    told.child(ADA, None);
    told.holds(BOB, "keeper");
    (1..=3).for_each(|id| _ = told.posted(Caller::Person, id, holders("keeper", false)));
    told.fleet.mark_message_unreadable(MessageId(1));
    told.show(BOB, Sign::TurnBegan);
    let first = told.fleet.offer(AgentId(BOB), told.number(BOB), told.now);
    assert_eq!(words(&first), "offered 2, offered 3");
    let (target, to) = (AgentId(BOB).to_string(), AgentId(ADA).to_string());
    told.ask(Command::Transfer { target, to, declared: None }).expect("handed over");
    assert_eq!((told.unread_in(AgentId(BOB)), told.unread_in(AgentId(ADA))), (vec![1], vec![2, 3]));
}

/// Who takes the role that it has by new terms leaves nothing, and keeps its mail.
#[test]
fn new_terms_of_the_same_role_move_no_mail() {
    let mut told = idle();
    told.child(ADA, None);
    told.holds(ADA, "keeper");
    told.posted(Caller::Person, 1, holders("keeper", false));
    told.holds(BOB, "keeper");
    let declared = Some(RoleTerms { overseer: Some("mayor".into()), ..RoleTerms::default() });
    let (target, role) = (AgentId(ADA).to_string(), "Keeper".parse().expect("a name"));
    let events = told.ask(Command::Assume { target, role, declared }).expect("taken");
    assert_eq!((words(&events), events.is_empty()), (String::new(), false));
    assert_eq!(told.agent(ADA).role_terms.overseer.as_deref(), Some("mayor"));
}

/// T8, T9: the sessions of two agents have the same numbers.
#[test]
fn what_a_session_of_one_agent_did_with_mail_says_nothing_of_the_next_agents() {
    let mut told = idle();
    told.another(ADA);
    told.holds(BOB, "keeper");
    told.posted(Caller::Person, 1, holders("keeper", false));
    told.offer();
    assert_eq!(told.delivered(1, 1, Outcome::Held(Held::NoEcho)), "held 1 NoEcho");
    told.posted(Caller::Person, 2, agent(ADA));
    // Mail 2 was due; what comes now goes before it.
    let (target, to) = (AgentId(BOB).to_string(), AgentId(ADA).to_string());
    told.ask(Command::Transfer { target, to, declared: None }).expect("handed over");
    let (ada, number) = (AgentId(ADA), told.number(ADA));
    let brings = message::Words { fingerprint: print("x"), ids: vec![MessageId(1)] };
    let trace = Trace::Held { dated: None, words: brings };
    let seen = told.observe(&Observation::Traced { agent: ada, number, trace });
    assert_eq!(words(&seen), "", "this session was not given it");
    told.show(ADA, Sign::TurnBegan);
    let events = told.fleet.offer(ada, number, told.now);
    assert_eq!(words(&events), "offered 1, offered 2");
}

/// A descendant's share is that of the eldest, not of its parent.
#[test]
fn a_lineage_is_known_by_its_eldest() {
    let mut told = idle();
    told.child(ADA, None);
    told.child(CID, Some(ADA));
    told.child(DOT, Some(CID));
    let eldest = |sender| told.fleet.eldest_ancestor(sender);
    assert_eq!(eldest(Sender::Agent(AgentId(DOT))), Some(AgentId(ADA)));
    assert_eq!(eldest(Sender::Agent(AgentId(ADA))), None);
}

/// `mail read` ends no person's text: that is typed.
#[test]
fn only_mail_is_read_by_asking_for_it() {
    let mut told = idle();
    told.send(1, "one");
    let read = Command::ReadMail { ids: vec![MessageId(1)] };
    assert_eq!(told.ask_as(Caller::Agent(AgentId(BOB)), read), Ok(Vec::new()));
    assert_eq!(told.offer(), "offered 1");
}

/// ML1: that its recipient before was given it says nothing.
#[test]
fn forwarded_mail_is_not_seen_before_it_was_given() {
    let mut told = idle();
    told.spawn_cli(ADA, false, None).expect("spawned");
    told.begun(ADA, "c-2", Followed::Started);
    told.ask(assume(BOB, "keeper")).expect("taken");
    told.ask(draft(1, holders("keeper", false))).expect("sent");
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::Draft));
    let (target, to) = (AgentId(BOB).to_string(), AgentId(ADA).to_string());
    told.ask(Command::Transfer { target, to, declared: None }).expect("handed over");
    let (number, trace) = (told.number(ADA), Trace::Mentioned { ids: vec![MessageId(1)] });
    let events = told.observe(&Observation::Traced { agent: AgentId(ADA), number, trace });
    assert_eq!(words(&events), "");
}

#[test]
fn mail_for_a_vacant_role_waits_for_that_role() {
    let mut told = idle();
    told.spawn(ADA, None, Restart::Never);
    told.executed(ADA);
    told.ask(assume(BOB, "keeper")).expect("taken");
    told.ask(draft(1, holders("keeper", false))).expect("sent");
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(told.hook(), "offered 1");
    for id in [ADA, BOB] {
        told.ask(assume(id, "steward")).expect("taken");
    }
    let events = told.ask(bury(BOB)).expect("buried");
    assert_eq!(words(&events), "forwarded 1 role:keeper");
}
