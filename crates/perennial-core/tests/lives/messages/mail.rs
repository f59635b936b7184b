//! Mail: who gets it, by which way, and in which order.

use perennial_core::authority::Caller;
use perennial_core::command::Spawn;
use perennial_core::effect::Typing;
use perennial_core::fleet::Policy;
use perennial_core::job::{JobEvent, Purpose, URGENT_WAITING_MAX};
use perennial_core::message::{
    Addressee, Channel, MAIL_AT_ONCE, MAILBOX_UNREAD_MAX, MailDraft, Mailbox, Priority,
    SENDER_UNREAD_MAX, Words, reply_address,
};
use perennial_core::name::NameKey;

use super::*;

const ADA: u128 = 2;

impl Told {
    pub fn mail(&mut self, id: u128, priority: Priority) {
        self.mail_as(Caller::Person, id, priority).expect("sent");
    }

    fn mail_as(
        &mut self,
        caller: Caller,
        id: u128,
        priority: Priority,
    ) -> Result<Vec<Event>, Refusal> {
        self.mail_to(caller, id, priority, Addressee::Agent(AgentId(BOB).to_string()))
    }

    pub fn mail_to(
        &mut self,
        caller: Caller,
        id: u128,
        priority: Priority,
        to: Addressee,
    ) -> Result<Vec<Event>, Refusal> {
        let draft = MailDraft {
            id: MessageId(id),
            to,
            thread: None,
            subject: "subject".to_owned(),
            priority,
            body: body("words").0,
            excerpt: "words".to_owned(),
        };
        self.ask_as(caller, Command::Mail(Box::new(draft)))
    }

    /// By the operator, who has not declared the role.
    fn mail_role(&mut self, id: u128, role: &str) -> Result<Vec<Event>, Refusal> {
        self.mail_to(Caller::Person, id, Priority::Normal, keeper(role, false))
    }

    fn assume(&mut self, id: u128, role: &str) -> String {
        let (target, role) = (AgentId(id).to_string(), role.parse().expect("a name"));
        words(&self.ask(Command::Assume { target, role, declared: None }).expect("taken"))
    }

    /// The ids of what is in a mailbox, in order; the counts agree.
    fn within(&self, mailbox: &Mailbox) -> Vec<u128> {
        let messages = self.fleet.messages();
        let ids: Vec<u128> = messages.within(mailbox).map(|message| message.id.0).collect();
        assert_eq!(messages.unread(mailbox), ids.len());
        let people = messages.within(mailbox).filter(|message| message.from == Sender::Person);
        assert_eq!(messages.unread_from(mailbox, Sender::Person), people.count());
        ids
    }

    /// What goes with the reply to a hook.
    pub fn hook(&mut self) -> String {
        let events = self.fleet.offer(AgentId(BOB), self.number(BOB), self.now);
        self.fold(&events);
        words(&events)
    }

    fn turn_end(&mut self) -> String {
        let events = self.fleet.offer_at_turn_end(AgentId(BOB), self.number(BOB), self.now);
        self.fold(&events);
        words(&events)
    }

    /// The conversation holds these ids.
    fn mentioned(&mut self, ids: &[u128]) -> String {
        self.trace(Trace::Mentioned { ids: ids.iter().map(|id| MessageId(*id)).collect() })
    }

    /// The mails of the one list that is being typed, and how many wait beyond it.
    fn list(&self) -> (Vec<u128>, usize) {
        let plans = self.fleet.entities().map(|entity| self.fleet.plan(&entity, self.now));
        let lists: Vec<_> = plans
            .flat_map(|plan| plan.effects)
            .filter_map(|effect| match effect {
                Effect::Deliver(delivery) => {
                    let planned = message::planned(&self.fleet, &delivery, self.now);
                    assert_eq!(planned.as_ref(), Some(&delivery), "it is still planned");
                    match delivery.typing {
                        Typing::Mails { mails, left } => Some((mails, left)),
                        Typing::Text(_) | Typing::Round(_) | Typing::Handoff(_) => None,
                    }
                }
                Effect::Session(_)
                | Effect::Focus(_)
                | Effect::Continue { .. }
                | Effect::PromptHeard { .. }
                | Effect::Job(_)
                | Effect::Keep(_)
                | Effect::Checkpoint(_)
                | Effect::Snapshot(_)
                | Effect::RemoveSecrets { .. } => None,
            })
            .collect();
        let [(mails, left)] = &lists[..] else { panic!("{lists:?}") };
        (mails.iter().map(|mail| mail.message.0).collect(), *left)
    }

    fn begin_turn(&mut self) {
        let number = self.number(BOB);
        let sign = Sign::TurnBegan;
        self.observe(&Observation::Harness { agent: AgentId(BOB), number, sign });
    }
}

fn keeper(role: &str, is_declared: bool) -> Addressee {
    Addressee::Role { role: role.parse().expect("a name"), all: false, is_declared }
}

fn in_turn() -> Told {
    let mut told = idle();
    told.begin_turn();
    told
}

/// A prompt that brings these mails.
fn brings(ids: &[u128]) -> Words {
    let ids = ids.iter().map(|id| MessageId(*id)).collect();
    Words { fingerprint: Fingerprint([9; 32]), ids }
}

fn heard(ids: &[u128]) -> Trace {
    Trace::PromptHeard(brings(ids))
}

fn held(ids: &[u128]) -> Trace {
    Trace::Held { dated: None, words: brings(ids) }
}

/// T12: in the order of recording, a number of them at once, the next when these are seen.
#[test]
fn in_a_turn_mail_goes_with_the_hooks_some_at_once_and_in_order() {
    let mut told = in_turn();
    let count = MAIL_AT_ONCE as u128 + 2;
    (1..=count).for_each(|id| told.mail(id, Priority::Normal));
    assert_eq!((told.offer(), told.why(1)), (String::new(), Some(Why::Hook)));
    let first: Vec<String> = (1..count - 1).map(|id| format!("offered {id}")).collect();
    assert_eq!(told.hook(), first.join(", "));
    assert_eq!(told.hook(), "", "not past what may not have arrived");
    told.mentioned(&(1..count - 2).collect::<Vec<_>>());
    assert_eq!(told.hook(), "", "one of them is not seen yet");
    assert_eq!(told.mentioned(&[count - 2]), format!("seen {}", count - 2));
    assert_eq!(told.hook(), format!("offered {}, offered {count}", count - 1));
}

/// T13: low starts no turn, and goes along with what does.
#[test]
fn idle_all_that_waits_is_typed_as_one_list_and_low_starts_no_turn() {
    let mut told = idle();
    told.mail(1, Priority::Low);
    assert_eq!((told.offer(), told.why(1)), (String::new(), Some(Why::Hook)));
    assert_eq!(told.turn_end(), "");
    told.mail(2, Priority::High);
    assert_eq!(told.offer(), "offered 1, offered 2", "in order");
    assert_eq!(told.typed(), [(1, 1)], "as one");
    assert_eq!(told.list(), (vec![1, 2], 0));
    told.mail(3, Priority::Urgent);
    assert_eq!((told.offer(), told.why(3)), (String::new(), Some(Why::Earlier(MessageId(1)))));
    assert_eq!(told.list(), (vec![1, 2], 1), "what waits beyond it is counted");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "entered 1, entered 2");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "", "once");
    assert_eq!(told.trace(heard(&[1, 2])), "heard 1, heard 2");
    told.begin_turn();
    assert_eq!(told.hook(), "", "the list may be queued");
    assert_eq!(told.trace(held(&[1, 2])), "seen 1, seen 2");
    assert_eq!(told.turn_end(), "offered 3");
}

/// T13: a list is bounded, and the next one goes when it was seen.
#[test]
fn a_list_has_so_many_mails_and_counts_the_rest() {
    let mut told = idle();
    let most = MAIL_AT_ONCE as u128;
    (1..=most + 3).for_each(|id| told.mail(id, Priority::Normal));
    told.offer();
    assert_eq!(told.list(), ((1..=most).collect(), 3));
    told.delivered(1, 1, Outcome::Entered);
    let all: Vec<u128> = (1..=most).collect();
    told.trace(held(&all));
    assert_eq!(told.within(&AgentId(BOB).into()), [most + 1, most + 2, most + 3]);
    told.offer();
    assert_eq!(told.list(), ((most + 1..=most + 3).collect(), 0));
    assert_eq!(told.typed(), [(most + 1, 1)]);
}

/// T14: what was found in the way holds for the whole list; the next attempt takes along what came since.
#[test]
fn a_list_that_came_to_nothing_is_typed_again_as_one_with_what_came_since() {
    let mut told = idle();
    (1..=2).for_each(|id| told.mail(id, Priority::Normal));
    told.offer();
    let full = Outcome::Held(Held::NotDrawn);
    assert_eq!(told.delivered(1, 1, full), "held 1 NotDrawn, held 2 NotDrawn");
    told.mail(3, Priority::Normal);
    assert_eq!(told.offer(), "", "not at once");
    told.pass_seconds(1);
    assert_eq!(told.offer(), "offered 1, offered 2, offered 3");
    assert_eq!((told.typed(), told.list()), (vec![(1, 2)], (vec![1, 2, 3], 0)));
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "", "of an older attempt");
    assert_eq!(told.delivered(1, 2, Outcome::Entered), "entered 1, entered 2, entered 3");
    // A hook of the user's blocks the prompt, and with that all that stands in it (T11).
    let (dated, because) = (None, "no".to_owned());
    let blocked = Trace::Blocked { dated, words: brings(&[1, 2, 3]), because };
    assert_eq!(told.trace(blocked), "blocked 1 no, blocked 2 no, blocked 3 no");
}

/// T9, T14: a person's Enter sends a list that was left in the input line, as it stands there.
#[test]
fn a_list_that_a_person_enters_is_heard_as_it_stands_in_the_line() {
    let mut told = idle();
    (1..=2).for_each(|id| told.mail(id, Priority::Normal));
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    told.mail(3, Priority::Normal);
    assert_eq!(told.trace(heard(&[1, 2])), "offered 1, heard 1, offered 2, heard 2");
    assert_eq!((told.typed(), told.offer()), (Vec::new(), String::new()), "it is not typed again");
    assert_eq!(told.trace(held(&[1, 2])), "seen 1, seen 2");
}

/// T14: the first one of a list may be over before that is typed; the delivery stays the same one.
#[test]
fn a_list_whose_first_mail_is_read_meanwhile_stays_the_same_delivery() {
    let mut told = idle();
    (1..=3).for_each(|id| told.mail(id, Priority::Normal));
    told.offer();
    let read = Command::ReadMail { ids: vec![MessageId(1)] };
    let events = told.ask_as(Caller::Agent(AgentId(BOB)), read).expect("answered");
    assert_eq!(words(&events), "read 1");
    assert_eq!((told.typed(), told.list()), (vec![(1, 1)], (vec![2, 3], 0)));
    assert_eq!(told.delivered(2, 1, Outcome::Entered), "", "there is no such delivery");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "entered 2, entered 3");
    // The holder may have typed it with the first one.
    assert_eq!(told.trace(heard(&[1, 2, 3])), "heard 2, heard 3");
    assert_eq!(told.trace(held(&[1, 2, 3])), "seen 2, seen 3");
}

/// What a session that has ended had of a list goes to the next one, each mail once.
#[test]
fn of_a_list_that_a_killed_session_had_only_what_is_not_seen_is_told_again() {
    let mut told = idle();
    (1..=3).for_each(|id| told.mail(id, Priority::Normal));
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(held(&[1, 2]));
    told.pass_seconds(5);
    told.report(BOB, SessionNumber::FIRST, Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(3);
    told.begun(BOB, "c-1", Followed::Resumed);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 3 SessionEnded");
    assert_eq!(told.offer(), "offered 3");
    assert_eq!(told.typed(), [(3, 2)], "a delivery of its own");
}

/// A person's words go before any mail that waits, so that none stand within a list.
#[test]
fn a_text_goes_before_the_list() {
    let mut told = idle();
    told.mail(1, Priority::Normal);
    told.send(2, "two");
    told.mail(3, Priority::Normal);
    assert_eq!(told.offer(), "offered 2");
    told.delivered(2, 1, Outcome::Entered);
    told.trace(Trace::Held { dated: None, words: print("two").into() });
    assert_eq!(told.offer(), "offered 1, offered 3");
}

/// T13
#[test]
fn a_bare_command_is_given_none_and_reads_it_itself() {
    let mut told = Told::new();
    told.spawn(BOB, Some("bob"), Restart::Never);
    told.mail(1, Priority::Urgent);
    assert_eq!(told.why(1), Some(Why::Starting), "nobody is there to read it");
    told.executed(BOB);
    assert_eq!((told.offer(), told.hook()), (String::new(), String::new()));
    assert_eq!(told.why(1), Some(Why::Reader));
    let read = Command::ReadMail { ids: vec![MessageId(1)] };
    let events = told.ask_as(Caller::Agent(AgentId(ADA)), read.clone()).expect("answered");
    assert_eq!(words(&events), "", "it is another's");
    let events = told.ask_as(Caller::Agent(AgentId(BOB)), read).expect("answered");
    assert_eq!(words(&events), "read 1");
    assert!(told.fleet.messages().get(MessageId(1)).is_none(), "it has left memory");
}

/// A person's words go first, and a line that has just become free is left alone.
#[test]
fn a_draft_is_left_alone_and_the_mail_comes_with_the_prompt() {
    let mut told = idle();
    told.mail(1, Priority::Normal);
    assert_eq!(told.offer(), "offered 1");
    assert_eq!(told.delivered(1, 1, Outcome::Held(Held::Draft)), "held 1 Draft");
    assert_eq!(told.trace(Trace::LineFree), "held 1 Draft");
    assert_eq!(told.offer(), "", "not at once");
    assert_eq!(told.hook(), "", "it may stand in the line");
    assert_eq!(told.trace(Trace::PromptHeard(print("theirs").into())), "held 1 NotTaken");
    told.begin_turn();
    assert_eq!(told.hook(), "offered 1");
}

/// A draft may stay for days: each further look at it is further apart, and the free line brings the mail at once.
#[test]
fn mail_behind_a_draft_is_tried_ever_less_often_and_at_once_when_the_line_is_free() {
    let mut told = idle();
    told.mail(1, Priority::Normal);
    told.offer();
    for (attempt, wait) in [(1, 60), (2, 120), (3, 240), (4, 480), (5, 960), (6, 960)] {
        told.delivered(1, attempt, Outcome::Held(Held::Draft));
        told.pass_seconds(wait - 1);
        assert_eq!(told.offer(), "", "attempt {attempt}");
        told.pass_seconds(1);
        assert_eq!(told.offer(), "offered 1", "attempt {attempt}");
    }
    told.delivered(1, 7, Outcome::Held(Held::Draft));
    told.trace(Trace::LineFree);
    told.pass_seconds(2);
    assert_eq!(told.offer(), "offered 1");
}

/// A session that ends with a mail leaves it to the next one, before those behind it.
#[test]
fn mail_of_a_session_that_has_ended_goes_to_the_next_one_in_order() {
    let mut told = in_turn();
    told.mail(1, Priority::Normal);
    assert_eq!(told.hook(), "offered 1");
    told.mail(2, Priority::Normal);
    told.pass_seconds(5);
    told.report(BOB, SessionNumber::FIRST, Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(3);
    told.begun(BOB, "c-1", Followed::Resumed);
    assert_eq!(told.hook(), "", "whether the first was read is not known yet");
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 SessionEnded");
    assert_eq!(told.hook(), "offered 1, offered 2");
    let told_of =
        |id| told.fleet.messages().get(MessageId(id)).and_then(|m| m.as_told(&told.fleet));
    assert!(told_of(1).is_some_and(|mail| mail.is_older));
}

#[test]
fn a_mailbox_that_is_full_takes_no_more_and_one_sender_no_share_of_others() {
    let mut told = in_turn();
    told.spawn(ADA, Some("ada"), Restart::Never);
    let ada = Caller::Agent(AgentId(ADA));
    for id in 1..=100 {
        told.mail_as(ada, id, Priority::Low).expect("room");
    }
    let full = Err(Refusal::MailboxFull { mailbox: Mailbox::Agent(AgentId(BOB)) });
    assert_eq!(told.mail_as(ada, 101, Priority::Low), full);
    for id in 101..=1100 {
        told.mail(id, Priority::Low);
    }
    assert_eq!(told.mail_as(Caller::Person, 1101, Priority::Urgent), full);
    let viewer = told.mail_as(Caller::Viewer, 1101, Priority::Urgent);
    assert!(matches!(viewer, Err(Refusal::NotAllowed { .. })));
}

#[test]
fn the_channel_of_an_offer_is_recorded() {
    let mut told = in_turn();
    told.mail(1, Priority::Normal);
    let events = told.fleet.offer(AgentId(BOB), told.number(BOB), told.now);
    let by_hook = |event: &Event| {
        matches!(
            event.what,
            What::Message(_, MessageEvent::Offered { channel: Some(Channel::HookReply), .. })
        )
    };
    assert!(events.iter().all(by_hook) && events.len() == 1, "{events:?}");
}

/// Its burial waits for the end of the turn: mail would prolong it.
#[test]
fn an_agent_that_asked_for_its_burial_is_given_no_mail_and_no_text() {
    let mut told = in_turn();
    told.mail(1, Priority::Urgent);
    let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: Some("done".to_owned()) };
    told.ask_as(Caller::Agent(AgentId(BOB)), bury).expect("asked");
    assert_eq!((told.hook(), told.turn_end()), (String::new(), String::new()));
    told.send(2, "in the turn");
    assert_eq!((told.offer(), told.why(1)), (String::new(), Some(Why::Burial)));
    assert_eq!(told.why(2), Some(Why::Burial));
    // BU2: the wish is taken back, and both go on.
    told.ask(Command::Restart(AgentId(BOB).to_string())).expect("restarted");
    assert_ne!((told.why(1), told.why(2)), (Some(Why::Burial), Some(Why::Burial)));
}

/// A role that nobody knows has no mailbox: its mail would wait for ever.
#[test]
fn mail_goes_to_roles_that_are_declared_held_or_recorded_and_to_no_other() {
    let mut told = in_turn();
    let unknown = |role: &str| Err(Refusal::NoSuchRole { role: role.parse().expect("a name") });
    assert_eq!(told.mail_role(1, "keeper"), unknown("keeper"));
    let declared = keeper("keeper", true);
    let sent = told.mail_to(Caller::Person, 1, Priority::Normal, declared).expect("a project's");
    assert_eq!(words(&sent), "recorded 1");
    let roles = [(NameKey::of("patrol"), Default::default())].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    told.mail_role(2, "Patrol").expect("the operator's");
    assert_eq!(told.assume(BOB, "keeper"), format!("forwarded 1 {}", AgentId(BOB)));
    told.mail_role(3, "KEEPER").expect("held");
    assert_eq!(told.within(&AgentId(BOB).into()), [1, 3]);
    told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    told.mail_role(4, "keeper").expect("recorded");
    assert_eq!(told.within(&Mailbox::Role(NameKey::of("keeper"))), [1, 3, 4]);
    assert_eq!(told.mail_role(5, "typo"), unknown("typo"));
}

/// … and a person can take back what waits in it; an agent can't.
#[test]
fn a_person_takes_mail_back_that_was_not_offered_wherever_it_waits() {
    let mut told = in_turn();
    told.mail_to(Caller::Person, 1, Priority::Normal, keeper("keeper", true)).expect("sent");
    told.mail_to(Caller::Person, 2, Priority::Normal, Addressee::Operator).expect("sent");
    told.mail(3, Priority::Normal);
    for id in 1..=3 {
        let unsend = Command::Unsend { id: MessageId(id) };
        let by_agent = told.ask_as(Caller::Agent(AgentId(BOB)), unsend.clone());
        assert!(matches!(by_agent, Err(Refusal::NotAllowed { .. })), "{by_agent:?}");
        let events = told.ask(unsend).expect("taken back");
        assert_eq!(words(&events), format!("withdrawn {id}"));
    }
    assert_eq!(told.fleet.messages().iter().count(), 0);
}

#[test]
fn an_agent_fills_no_mailbox_of_a_role() {
    let mut told = in_turn();
    let bob = Caller::Agent(AgentId(BOB));
    for id in 1..=SENDER_UNREAD_MAX as u128 {
        told.mail_to(bob, id, Priority::Low, keeper("keeper", true)).expect("room");
    }
    let mailbox = Mailbox::Role(NameKey::of("keeper"));
    let more = told.mail_to(bob, 1000, Priority::Low, keeper("keeper", true));
    assert_eq!(more, Err(Refusal::MailboxFull { mailbox }));
}

#[test]
fn however_many_agents_fill_a_mailbox_the_operator_is_heard() {
    let mut told = in_turn();
    let senders = (MAILBOX_UNREAD_MAX / SENDER_UNREAD_MAX) as u128;
    for (sender, id) in (1..=MAILBOX_UNREAD_MAX as u128).map(|id| (100 + id % senders, id)) {
        let sender = Caller::Agent(AgentId(sender));
        told.mail_as(sender, id, Priority::Low).expect("room");
    }
    let another = Caller::Agent(AgentId(99));
    assert!(told.mail_as(another, 5000, Priority::Urgent).is_err(), "it is full");
    told.mail_as(Caller::Person, 5001, Priority::Urgent).expect("the operator is heard");
}

/// ML1, ML3, ML5: what was addressed to a role follows it, in order, also into a full mailbox.
#[test]
fn the_mail_of_a_role_follows_it_from_holder_to_holder() {
    let mut told = in_turn();
    told.spawn(ADA, Some("ada"), Restart::Never);
    told.executed(ADA);
    let (bob, ada): (Mailbox, Mailbox) = (AgentId(BOB).into(), AgentId(ADA).into());
    told.assume(ADA, "keeper");
    told.mail_role(1, "keeper").expect("sent");
    told.mail(2, Priority::Normal);
    told.mail_role(3, "keeper").expect("sent");
    assert_eq!((told.within(&ada), told.within(&bob)), (vec![1, 3], vec![2]));
    // Handed over: in the place that its first record gives it.
    let (target, to) = (AgentId(ADA).to_string(), AgentId(BOB).to_string());
    told.ask(Command::Transfer { target, to, declared: None }).expect("handed over");
    assert_eq!((told.within(&ada), told.within(&bob)), (Vec::new(), vec![1, 2, 3]));
    assert_eq!(told.hook(), "offered 1, offered 2, offered 3");
    // What is under way stays; what is not goes to the other holder when one leaves.
    told.mail_role(4, "keeper").expect("sent");
    told.assume(ADA, "keeper");
    told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    assert_eq!((told.within(&ada), told.within(&bob)), (vec![4], vec![1, 2, 3]));
    // A burial: to the role, which nobody holds then; then to whoever takes it, however full that is.
    told.ask(Command::Bury { target: AgentId(ADA).to_string(), summary: None }).expect("buried");
    let vacant = Mailbox::Role(NameKey::of("keeper"));
    assert_eq!((told.within(&vacant), told.within(&ada)), (vec![4], Vec::new()));
    let full = MAILBOX_UNREAD_MAX as u128 + 7;
    (10..full).for_each(|id| told.mail(id, Priority::Low));
    assert!(told.mail_as(Caller::Person, full, Priority::Low).is_err(), "it is full");
    told.assume(BOB, "keeper");
    assert_eq!(told.within(&vacant), []);
    assert_eq!(told.within(&bob).len(), MAILBOX_UNREAD_MAX + 1);
    let refused = told.mail_role(full, "keeper");
    assert_eq!(refused, Err(Refusal::MailboxFull { mailbox: bob }));
}

#[test]
fn an_answer_goes_to_the_sender_and_ones_own_mail_on_to_where_it_was_sent() {
    let (own, other) = (Sender::Agent(AgentId(BOB)), Sender::Agent(AgentId(ADA)));
    let bob = Caller::Agent(AgentId(BOB));
    let agent = |id: u128| Ok(Addressee::Agent(AgentId(id).to_string()));
    let vacant = Mailbox::Role(NameKey::of("keeper"));
    for (caller, from, to, expected) in [
        (bob, other, Mailbox::Agent(AgentId(BOB)), agent(ADA)),
        (bob, own, Mailbox::Agent(AgentId(ADA)), agent(ADA)),
        (bob, own, Mailbox::Operator, Ok(Addressee::Operator)),
        (bob, own, vacant.clone(), Ok(keeper("keeper", true))),
        (bob, Sender::Person, Mailbox::Agent(AgentId(BOB)), Ok(Addressee::Operator)),
        (bob, Sender::Perennial, Mailbox::Agent(AgentId(BOB)), Err(Refusal::NotAnswerable)),
        (Caller::Person, Sender::Person, vacant.clone(), Ok(keeper("keeper", true))),
        (Caller::Person, own, Mailbox::Operator, agent(BOB)),
        (Caller::Person, own, vacant, agent(BOB)),
    ] {
        assert_eq!(reply_address(caller, from, &to), expected, "{caller:?} {from:?} {to}");
    }
    assert!(reply_address(Caller::Viewer, own, &Mailbox::Operator).is_err());
}

/// Children that are started, write and bury themselves are one lineage, and have one share of a mailbox.
#[test]
fn throwaway_children_have_one_share_of_a_mailbox() {
    let mut told = in_turn();
    told.spawn(ADA, Some("ada"), Restart::Never);
    let mut sent = 0u128;
    for child in 10..13u128 {
        let spawn = Spawn {
            id: AgentId(child),
            name: None,
            role: None,
            parent: Some(AgentId(ADA).to_string()),
            launch: crate::told::launch(),
            restart: Restart::Never,
            conversation: None,
            situations: Vec::new(),
        };
        told.ask(Command::Spawn(Box::new(spawn))).expect("a child");
        for _ in 0..SENDER_UNREAD_MAX / 2 {
            sent += 1;
            let is_sent = told.mail_as(Caller::Agent(AgentId(child)), sent, Priority::Low).is_ok();
            assert_eq!(is_sent, sent <= SENDER_UNREAD_MAX as u128, "{sent}");
        }
        let (target, summary) = (AgentId(child).to_string(), None);
        told.ask(Command::Bury { target, summary }).expect("buried");
        told.fleet.retire(&Entity::Agent(AgentId(child)));
    }
    let ada = Caller::Agent(AgentId(ADA));
    assert!(told.mail_as(ada, 5000, Priority::Low).is_err(), "nor has their parent another one");
    let stranger = Caller::Agent(AgentId(99));
    told.mail_as(stranger, 5001, Priority::Low).expect("others are no part of it");
}

/// What the operator is told of by these events: by whose name, and in which words of ours.
fn notified(events: &[Event]) -> Vec<(String, String)> {
    let wanted = |event: &Event| {
        let What::Job(_, JobEvent::Wanted { purpose, .. }) = &event.what else { return None };
        let Purpose::Mail { name, note, .. } = purpose else { return None };
        Some((name.clone(), note.clone()))
    };
    events.iter().filter_map(wanted).collect()
}

fn with_notify() -> Told {
    let mut told = in_turn();
    told.spawn(ADA, Some("ada"), Restart::Never);
    let notify = vec!["say".to_owned()];
    told.fleet = told.fleet.clone().under(Policy { notify, ..Policy::default() });
    told
}

/// O4: a burst of mail is told once more, and urgent mail in it is told besides, up to a limit of its own.
#[test]
fn urgent_mail_in_a_burst_is_notified() {
    let mut told = with_notify();
    let ada = Caller::Agent(AgentId(ADA));
    let mut send = |id, priority: Priority| {
        let events = told.mail_to(ada, id, priority, Addressee::Operator).expect("sent");
        let note = if priority == Priority::Normal { "" } else { priority.word() };
        assert!(notified(&events).iter().all(|(_, said)| said == note), "{events:?}");
        notified(&events).len()
    };
    let normal: usize = (1..10).map(|id| send(id, Priority::Normal)).sum();
    assert_eq!(normal, 2, "one is run, one waits");
    assert_eq!(send(20, Priority::Urgent), 1, "urgent mail passes");
    let urgent: usize = (21..60).map(|id| send(id, Priority::Urgent)).sum();
    assert_eq!(1 + urgent, URGENT_WAITING_MAX, "bounded for itself");
    assert_eq!(send(60, Priority::High), 0);
}

/// What comes back to the operator is told once for each burial.
#[test]
fn mail_that_comes_back_is_notified() {
    let mut told = with_notify();
    for id in 1..4 {
        let to = Addressee::Agent(AgentId(ADA).to_string());
        told.mail_to(Caller::Person, id, Priority::Normal, to).expect("sent");
    }
    let (target, summary) = (AgentId(ADA).to_string(), None);
    let events = told.ask(Command::Bury { target, summary }).expect("buried");
    let said = ("Perennial".to_owned(), "3 mails returned, ada was buried".to_owned());
    assert_eq!(notified(&events), [said]);
}

/// ML4: two holders of a role who were both written to, and one who takes it later.
#[test]
fn a_copy_goes_to_nobody_who_has_one() {
    let all = || Addressee::Role {
        role: "keeper".parse().expect("a name"),
        all: true,
        is_declared: false,
    };
    let both = || {
        let mut told = in_turn();
        told.spawn(ADA, Some("ada"), Restart::Never);
        told.executed(ADA);
        for id in [BOB, ADA] {
            told.assume(id, "keeper");
        }
        told.mail_to(Caller::Person, 1, Priority::Low, all()).expect("sent");
        told
    };
    let (bob, ada): (Mailbox, Mailbox) = (AgentId(BOB).into(), AgentId(ADA).into());
    let bury = |told: &mut Told, id: u128| {
        let target = AgentId(id).to_string();
        told.ask(Command::Bury { target, summary: None }).expect("buried");
    };
    let mut told = both();
    assert_eq!((told.within(&bob), told.within(&ada)), (vec![1], vec![2]));
    bury(&mut told, ADA);
    assert_eq!(told.within(&bob), [1], "bob has his own");
    assert_eq!(told.within(&Mailbox::Operator).len(), 1, "ada's came back");
    bury(&mut told, BOB);
    assert_eq!(told.within(&Mailbox::Role(NameKey::of("keeper"))), [1], "for who comes next");
    let mut told = both();
    told.ask(Command::Drop(AgentId(ADA).to_string())).expect("dropped");
    assert_eq!((told.within(&bob), told.within(&ada)), (vec![1], vec![2]), "each has its own");
    told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    assert_eq!(told.within(&Mailbox::Role(NameKey::of("keeper"))), [1]);
}

#[test]
fn nobody_gets_their_own_words_as_mail_to_themselves() {
    const EVE: u128 = 3;
    let mut told = in_turn();
    for (id, name) in [(ADA, "ada"), (EVE, "eve")] {
        told.spawn(id, Some(name), Restart::Never);
        told.executed(id);
    }
    for id in [BOB, ADA] {
        told.assume(id, "keeper");
    }
    let (bob, ada): (Mailbox, Mailbox) = (AgentId(BOB).into(), AgentId(ADA).into());
    let by_bob = Caller::Agent(AgentId(BOB));
    told.mail_to(by_bob, 1, Priority::Low, keeper("keeper", false)).expect("sent");
    assert_eq!((told.within(&bob), told.within(&ada)), (Vec::new(), vec![1]), "to the other one");
    // Handed over to its sender, it stays where it is.
    told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    let (target, to) = (AgentId(ADA).to_string(), AgentId(BOB).to_string());
    told.ask(Command::Transfer { target: target.clone(), to, declared: None })
        .expect("handed over");
    assert_eq!((told.within(&bob), told.within(&ada)), (Vec::new(), vec![1]));
    told.ask(Command::Bury { target, summary: None }).expect("buried");
    let messages = told.fleet.messages();
    let letters: Vec<_> = messages.within(&bob).collect();
    let [letter] = letters[..] else { panic!("{letters:?}") };
    assert_eq!(letter.from, Sender::Perennial, "it came back");
    // Such a letter is nobody else's: its words would pass for ours.
    told.assume(EVE, "keeper");
    told.ask(Command::Bury { target: AgentId(BOB).to_string(), summary: None }).expect("buried");
    assert_eq!(told.within(&AgentId(EVE).into()), []);
}

#[test]
fn forwarded_mail_knows_whom_it_was_written_to() {
    let mut told = in_turn();
    told.spawn(ADA, Some("ada"), Restart::Never);
    told.executed(ADA);
    for id in [BOB, ADA] {
        told.assume(id, "keeper");
    }
    let to_ada = Addressee::Agent(AgentId(ADA).to_string());
    told.mail_to(Caller::Person, 1, Priority::Normal, to_ada).expect("sent");
    let target = AgentId(ADA).to_string();
    told.ask(Command::Bury { target, summary: None }).expect("buried");
    assert_eq!(told.hook(), "offered 1");
    let unread = |told: &Told| told.fleet.messages().get(MessageId(1))?.as_told(&told.fleet);
    let from = unread(&told).expect("offered").forwarded_from;
    assert_eq!(from.as_deref(), Some("ada"));
}

/// A stale number is refused, and nobody who is held, or whose session is asked to end, is given more to do.
#[test]
fn a_hook_gives_no_mail_to_another_session_nor_to_one_that_is_held_or_ends() {
    let mut told = in_turn();
    told.mail(1, Priority::Normal);
    let stale = told.number(BOB).next();
    assert_eq!(told.fleet.offer_at_turn_end(AgentId(BOB), stale, told.now), []);
    let mut held = told.clone();
    held.hold(BOB, HeldFor::Person);
    assert_eq!((held.hook(), held.turn_end()), (String::new(), String::new()));
    let mut ends = told.clone();
    ends.ask(Command::Stop(AgentId(BOB).to_string())).expect("stopped");
    assert_eq!((ends.hook(), ends.turn_end()), (String::new(), String::new()));
    assert_eq!(told.turn_end(), "offered 1");
}

/// T2, T13: what is being typed is entered and heard before mail is typed; what only a person gets on holds nothing back.
#[test]
fn mail_waits_for_a_text_that_is_being_typed_and_for_none_that_needs_a_person() {
    let mut told = idle();
    told.send(1, "one");
    assert_eq!(told.offer(), "offered 1");
    told.mail(2, Priority::Normal);
    assert_eq!((told.offer(), told.why(2)), (String::new(), Some(Why::Earlier(MessageId(1)))));
    told.delivered(1, 1, Outcome::Entered);
    assert_eq!(told.offer(), "");
    let mut unfit = idle();
    unfit.send(1, "one");
    unfit.offer();
    unfit.delivered(1, 1, Outcome::Held(Held::Unfit));
    unfit.mail(2, Priority::Normal);
    assert_eq!(unfit.offer(), "offered 2");
}

/// The answer that ended the turn may be dated after the hook that brought the mail: only idleness gives that back.
#[test]
fn an_answer_passes_over_no_mail_of_a_turns_end() {
    for (at_end, passed_over) in [(true, ""), (false, "held 1 NotTaken")] {
        let mut told = in_turn();
        told.mail(1, Priority::Normal);
        assert_eq!(if at_end { told.turn_end() } else { told.hook() }, "offered 1");
        told.pass_seconds(1);
        let at = told.now;
        assert_eq!(told.trace(Trace::Answered { at }), passed_over);
    }
}

/// Mail says that it is older than the session only if it is.
#[test]
fn mail_is_older_than_the_session_if_it_was_sent_before_that_began() {
    let is_older = |told: &Told, id| {
        let message = told.fleet.messages().get(MessageId(id)).expect("it is offered");
        message.as_told(&told.fleet).expect("it is offered").is_older
    };
    let mut told = Told::new();
    told.spawn_cli(BOB, false, None).expect("spawned");
    told.mail(1, Priority::Normal);
    told.begun(BOB, "c-1", Followed::Started);
    told.begin_turn();
    assert_eq!(told.hook(), "offered 1");
    assert!(!is_older(&told, 1), "no session was before");
    told.mentioned(&[1]);
    told.mail(2, Priority::Normal);
    told.pass_seconds(5);
    told.report(BOB, SessionNumber::FIRST, Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(3);
    told.begun(BOB, "c-1", Followed::Resumed);
    told.mail(3, Priority::Normal);
    told.begin_turn();
    assert_eq!(told.hook(), "offered 2, offered 3");
    assert_eq!((is_older(&told, 2), is_older(&told, 3)), (true, false));
}

/// A person's prompt frees the line for a text of theirs, whatever mail stood in it before.
#[test]
fn a_text_that_waited_for_the_line_goes_with_another_prompt_though_mail_stood_there() {
    let mut told = idle();
    told.mail(1, Priority::Normal);
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::Draft));
    told.send(2, "two");
    assert_eq!(told.offer(), "offered 2");
    told.delivered(2, 1, Outcome::Held(Held::Draft));
    let others = Trace::PromptHeard(print("other words").into());
    assert_eq!(told.trace(others), "held 1 NotTaken, offered 2");
}

/// Mail that can wait notifies nobody, also if it comes back.
#[test]
fn low_mail_is_not_notified() {
    let mut told = with_notify();
    let ada = Caller::Agent(AgentId(ADA));
    let events = told.mail_to(ada, 1, Priority::Low, Addressee::Operator).expect("sent");
    assert_eq!(notified(&events), []);
    let to = Addressee::Agent(AgentId(ADA).to_string());
    told.mail_to(Caller::Person, 2, Priority::Low, to).expect("sent");
    let (target, summary) = (AgentId(ADA).to_string(), None);
    let events = told.ask(Command::Bury { target, summary }).expect("buried");
    assert_eq!(words(&events), "returned 2, recorded ours");
    assert_eq!(notified(&events), []);
}
