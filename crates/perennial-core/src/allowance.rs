//! How much an agent may have recorded in a time: what is recorded is never deleted.
//!
//! Pure, and kept beside the fleet, not in the journal: a daemon that starts gives everybody a full
//! allowance again. An allowance is one moment: until when it is used up.
//!
//! Invariants
//! - AL1  Of its own words (reports, posts, its role) an agent has at most `WORDS.burst` parts recorded at once, and one
//!   more every `WORDS.every`. A part is `PART_BYTES` of text; what is equal to what is recorded already
//!   costs nothing, for nothing is recorded.
//! - AL2  The same holds for what it orders about others (`ORDERS`), and for what its hooks and its status
//!   line have recorded (`HOOKS`). One above the allowance waits, in place of an earlier one of the same
//!   origin: a status line says nothing of what a hook said. None overtakes one of another origin.
//! - AL3  A person has no allowance: nothing of theirs is refused or put off.
//! - AL4  Of mail each copy is paid for (`MAIL`). What a full allowance can't pay for is refused, and is not sent to
//!   some of its recipients.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::authority::Caller;
use crate::command::{Command, Request};
use crate::event::{Event, What};
use crate::fact::{Fact, Origin};
use crate::id::{AgentId, SessionNumber};
use crate::message::MessageEvent;
use crate::refusal::Refusal;
use crate::time::Time;

/// A burst of this size, and one more in every span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub every: Duration,
}

/// Reports and posts.
pub const WORDS: Rate = Rate { burst: 30, every: Duration::from_secs(10) };
/// Verbs about other agents.
pub const ORDERS: Rate = Rate { burst: 120, every: Duration::from_secs(2) };
/// Hooks and status lines that changed the record.
pub const HOOKS: Rate = Rate { burst: 240, every: Duration::from_millis(500) };

/// Mail, each copy.
pub const MAIL: Rate = Rate { burst: 60, every: Duration::from_secs(5) };

/// What a request is paid from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowanceKind {
    /// `WORDS`
    Words,
    /// `ORDERS`
    Orders,
    /// `MAIL`
    Mail,
}

/// Longer words cost more.
pub const PART_BYTES: u64 = 4 << 10;

/// What is left of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Allowance {
    used_until: Time,
}

impl Allowance {
    /// Uses up `cost`, or says how long until there is enough. Whatever a full allowance can't pay for waits
    /// for a full one.
    fn take(&mut self, rate: Rate, cost: u32, now: Time) -> Result<(), Duration> {
        let full = rate.every * rate.burst;
        let after = self.used_until.max(now) + rate.every * cost.min(rate.burst);
        let over = after.since(now).saturating_sub(full);
        if over > Duration::ZERO {
            return Err(over);
        }
        self.used_until = after;
        Ok(())
    }

    fn is_full(&self, now: Time) -> bool {
        self.used_until <= now
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct OfAgent {
    words: Allowance,
    orders: Allowance,
    mail: Allowance,
    hooks: Allowance,
}

/// A hook or a status line that waits for its agent's allowance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LateFact {
    due: Time,
    number: SessionNumber,
    fact: Fact,
}

/// The allowances of all agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowances {
    of: BTreeMap<AgentId, OfAgent>,
    late: BTreeMap<(AgentId, Origin), LateFact>,
}

impl Allowances {
    /// Pays for a request of which these events are to be recorded, or refuses it for a while.
    pub fn pay(&mut self, request: &Request, events: &[Event], now: Time) -> Result<(), Refusal> {
        // AL3
        let Caller::Agent(id) = request.caller else { return Ok(()) };
        let own = self.of(id, now);
        let (kind, paid) = match (&request.command, words(&request.command)) {
            (Command::Mail(_) | Command::Signal(_) | Command::Escalate(_), Some(bytes)) => {
                let (copies, most) = (copies(events), MAIL.burst / parts(bytes));
                if copies > most.max(1) {
                    return Err(Refusal::TooManyCopies { copies, most });
                }
                let cost = parts(bytes).saturating_mul(copies);
                (AllowanceKind::Mail, own.mail.take(MAIL, cost, now))
            }
            (_, Some(bytes)) => (AllowanceKind::Words, own.words.take(WORDS, parts(bytes), now)),
            (_, None) => (AllowanceKind::Orders, own.orders.take(ORDERS, 1, now)),
        };
        paid.map_err(|wait| Refusal::TooOften { kind, wait })
    }

    /// Whether an agent could pay now for words of this many bytes: asked before something is done that is recorded with
    /// them. Nothing is paid.
    pub fn affords(&self, caller: Caller, words: u64, now: Time) -> Result<(), Refusal> {
        // AL3
        let Caller::Agent(id) = caller else { return Ok(()) };
        let OfAgent { words: mut own, .. } = self.of.get(&id).copied().unwrap_or_default();
        let kind = AllowanceKind::Words;
        own.take(WORDS, parts(words), now).map_err(|wait| Refusal::TooOften { kind, wait })
    }

    /// The fact, if it is heard now. Otherwise it waits (AL2).
    pub fn hear(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        fact: Fact,
        now: Time,
    ) -> Option<Fact> {
        // What was kept is read once, and its amount is bounded.
        if !fact.origin.has_allowance() || fact.is_old {
            return Some(fact);
        }
        let is_other = |key: &(AgentId, Origin)| key.0 == agent && key.1 != fact.origin;
        let wait = match self.hook_waits(agent, now) {
            None if self.late.keys().any(is_other) => Duration::ZERO,
            None => {
                self.late.remove(&(agent, fact.origin));
                return Some(fact);
            }
            Some(wait) => wait,
        };
        let late = LateFact { due: now + wait, number, fact };
        self.late.insert((agent, late.fact.origin), late);
        None
    }

    /// The facts whose time has come; `hear` says of each whether it is heard.
    pub fn take_due(&mut self, now: Time) -> Vec<(AgentId, SessionNumber, Fact)> {
        let due = self.late.extract_if(.., |_, late| late.due <= now);
        due.map(|((agent, _), late)| (agent, late.number, late.fact)).collect()
    }

    /// When `take_due` is next of use.
    pub fn next_due(&self) -> Option<Time> {
        self.late.values().map(|late| late.due).min()
    }

    fn hook_waits(&self, agent: AgentId, now: Time) -> Option<Duration> {
        let mut hooks = self.of.get(&agent)?.hooks;
        hooks.take(HOOKS, 1, now).err()
    }

    /// Pays for a fact that had something recorded.
    pub fn pay_fact(&mut self, agent: AgentId, origin: Origin, now: Time) {
        if origin.has_allowance() {
            // It was heard already: what can't be paid is not owed.
            let _unpaid = self.of(agent, now).hooks.take(HOOKS, 1, now);
        }
    }

    /// Of an agent that is over.
    pub fn forget(&mut self, agent: AgentId) {
        self.of.remove(&agent);
        self.late.retain(|(other, _), _| *other != agent);
    }

    fn of(&mut self, agent: AgentId, now: Time) -> &mut OfAgent {
        let is_used = |own: &OfAgent| {
            let OfAgent { words, orders, mail, hooks } = own;
            ![words, orders, mail, hooks].into_iter().all(|one| one.is_full(now))
        };
        if !self.of.contains_key(&agent) {
            self.of.retain(|_, own| is_used(own));
        }
        self.of.entry(agent).or_default()
    }
}

/// How many mails are recorded. What follows from them costs nothing.
fn copies(events: &[Event]) -> u32 {
    let is_mail =
        |event: &&Event| matches!(event.what, What::Message(_, MessageEvent::Recorded { .. }));
    u32::try_from(events.iter().filter(is_mail).count()).unwrap_or(u32::MAX)
}

fn parts(bytes: u64) -> u32 {
    u32::try_from(1 + bytes / PART_BYTES).unwrap_or(u32::MAX)
}

/// How long the caller's own words are, where a command records them.
fn words(command: &Command) -> Option<u64> {
    let length = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() as u64);
    match command {
        Command::Report { summary, .. } | Command::Bury { summary, .. } => Some(length(summary)),
        Command::Post { title, body, .. } => Some(length(title) + body.text.bytes),
        Command::Leave { body, .. } => Some(body.text.bytes),
        Command::Checkpoint(order) => Some(order.draft.body.text.bytes),
        Command::Mail(draft) => Some(draft.subject.len() as u64 + draft.body.text.bytes),
        Command::Signal(draft) => Some(draft.body.text.bytes),
        Command::Escalate(draft) => Some(draft.subject.len() as u64 + draft.body.text.bytes),
        Command::Task(command) => Some(command.words()),
        Command::Handoff(order) => Some(length(&order.subject) + length(&order.notes)),
        // Each may put a post on the board.
        Command::Assume { .. } | Command::Transfer { .. } | Command::Drop(_) => Some(0),
        Command::Spawn(_)
        | Command::SpawnChild(..)
        | Command::SpawnOn { .. }
        | Command::Stop(_)
        | Command::StopAll
        | Command::Wake(_)
        | Command::Restart(_)
        | Command::WakeFresh(_)
        | Command::RestartFresh(_)
        | Command::Set(_)
        | Command::Rename { .. }
        | Command::Send { .. }
        | Command::Prune { .. }
        | Command::Clean { .. }
        | Command::Snapshot(_)
        | Command::ReadMail { .. }
        | Command::DismissVacancy { .. }
        | Command::Unsend { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Seen;

    const ADA: AgentId = AgentId(1);

    fn report(caller: Caller, summary: &str) -> Request {
        let command = Command::Report { phase: None, summary: Some(summary.to_owned()) };
        Request { caller, command }
    }

    fn too_often(kind: AllowanceKind, seconds: u64) -> Result<(), Refusal> {
        Err(Refusal::TooOften { kind, wait: Duration::from_secs(seconds) })
    }

    fn paid(allowances: &mut Allowances, request: &Request, now: Time) -> usize {
        (0..10_000).take_while(|_| allowances.pay(request, &[], now).is_ok()).count()
    }

    /// AL1
    #[test]
    fn thirty_reports_at_once_and_one_more_every_ten_seconds() {
        let mut allowances = Allowances::default();
        let (short, start) = (report(Caller::Agent(ADA), "x"), Time(1_000_000));
        assert_eq!(paid(&mut allowances, &short, start), 30);
        assert_eq!(allowances.pay(&short, &[], start), too_often(AllowanceKind::Words, 10));
        let later = start + Duration::from_secs(25);
        assert_eq!(paid(&mut allowances, &short, later), 2);
        assert_eq!(allowances.pay(&short, &[], later), too_often(AllowanceKind::Words, 5));
        // Another agent, and other things of the same one, are not concerned.
        assert_eq!(allowances.pay(&report(Caller::Agent(AgentId(2)), "x"), &[], later), Ok(()));
        let wake = Request { caller: Caller::Agent(ADA), command: Command::Wake("bob".into()) };
        assert_eq!(paid(&mut allowances, &wake, later), ORDERS.burst as usize);
        assert_eq!(allowances.pay(&wake, &[], later), too_often(AllowanceKind::Orders, 2));
        assert_eq!(paid(&mut allowances, &short, later + WORDS.every * 100), 30);
    }

    #[test]
    fn long_words_cost_more_and_the_longest_can_be_said() {
        let (mut allowances, now) = (Allowances::default(), Time(1));
        let long = report(Caller::Agent(ADA), &"x".repeat(3 * PART_BYTES as usize));
        assert_eq!(paid(&mut allowances, &long, now), 7);
        let mut allowances = Allowances::default();
        let longest = report(Caller::Agent(ADA), &"x".repeat(10_000 * PART_BYTES as usize));
        assert_eq!(paid(&mut allowances, &longest, now), 1);
    }

    /// AL4
    #[test]
    fn each_copy_of_a_mail_is_paid_for_and_nothing_else() {
        use crate::id::{JobId, MessageId};
        use crate::job::{JobEnd, JobEvent};
        use crate::message::{Addressee, Content, MailDraft, Mailbox, Priority, Sender};
        use crate::text::{Digest, Text, TextBody};
        let mail = |bytes| {
            let text = Text { digest: Digest([1; 32]), bytes, head: String::new() };
            let draft = MailDraft {
                id: MessageId(1),
                to: Addressee::Team("ada".to_owned()),
                thread: None,
                subject: String::new(),
                priority: Priority::Normal,
                body: TextBody { text, body: "x".into() },
                excerpt: String::new(),
            };
            Request { caller: Caller::Agent(ADA), command: Command::Mail(Box::new(draft)) }
        };
        let copies = |count: u128| -> Vec<Event> {
            let content = Content::Reminder { calls: 1, sample: None };
            let (to, from) = (Mailbox::Operator, Sender::Agent(ADA));
            let recorded = MessageEvent::Recorded { to, from, content };
            let copy = |id| What::Message(MessageId(id), recorded.clone());
            let (number, end, output) = (1, JobEnd::Unknown, String::new());
            let job = What::Job(JobId(1), JobEvent::Ended { number, end, output });
            let all = (0..count).map(copy).chain([job]);
            all.map(|what| Event { at: Time(1), what }).collect()
        };
        let (now, mut allowances) = (Time(1), Allowances::default());
        let most = u128::from(MAIL.burst);
        let refused = |copies, most| Err(Refusal::TooManyCopies { copies, most });
        assert_eq!(allowances.pay(&mail(1), &copies(most + 1), now), refused(61, 60));
        assert_eq!(allowances.pay(&mail(PART_BYTES), &copies(31), now), refused(31, 30));
        assert_eq!(allowances.pay(&mail(1), &copies(most - 1), now), Ok(()));
        assert_eq!(allowances.pay(&mail(1), &copies(1), now), Ok(()));
        let waits = allowances.pay(&mail(1), &copies(2), now);
        assert_eq!(waits, too_often(AllowanceKind::Mail, 10));
        // A long one is paid for by its length.
        let mut allowances = Allowances::default();
        assert_eq!(allowances.pay(&mail(PART_BYTES), &copies(30), now), Ok(()));
        let waits = allowances.pay(&mail(1), &copies(1), now);
        assert_eq!(waits, too_often(AllowanceKind::Mail, 5));
    }

    /// AL1: each may put a vacancy on the board.
    #[test]
    fn an_agent_changes_its_role_as_often_as_it_reports() {
        let (mut allowances, now) = (Allowances::default(), Time(1));
        let (caller, command) = (Caller::Agent(ADA), Command::Drop("ada".to_owned()));
        assert_eq!(paid(&mut allowances, &Request { caller, command }, now), 30);
    }

    /// AL3
    #[test]
    fn a_person_pays_nothing() {
        let (mut allowances, now) = (Allowances::default(), Time(1));
        assert_eq!(paid(&mut allowances, &report(Caller::Person, "x"), now), 10_000);
        assert_eq!(allowances, Allowances::default());
    }

    /// AL2
    #[test]
    fn hooks_wait_when_their_agent_had_much_recorded_by_them() {
        let (mut allowances, now) = (Allowances::default(), Time(1));
        for _ in 0..HOOKS.burst {
            assert_eq!(allowances.hook_waits(ADA, now), None);
            allowances.pay_fact(ADA, Origin::Hook, now);
        }
        assert_eq!(allowances.hook_waits(ADA, now), Some(HOOKS.every));
        assert_eq!(allowances.hook_waits(ADA, now + HOOKS.every), None);
    }

    /// AL2
    #[test]
    fn a_fact_that_waits_is_replaced_by_its_own_origin_only_and_not_overtaken() {
        let (mut allowances, now, number) = (Allowances::default(), Time(1), SessionNumber(1));
        let hook = |seen| Fact::new(Origin::Hook, seen);
        let (ended, asked) = (hook(Seen::Compacted), hook(Seen::QuestionAsked));
        let drawn = Seen::StatusLine { model: None, sample: None };
        let drawn = Fact::new(Origin::StatusLine, drawn);
        (0..HOOKS.burst).for_each(|_| allowances.pay_fact(ADA, Origin::Hook, now));
        assert_eq!(allowances.hear(ADA, number, asked, now), None);
        assert_eq!(allowances.hear(ADA, number, ended.clone(), now), None);
        assert_eq!(allowances.hear(ADA, number, drawn.clone(), now), None);
        let listed = Fact::new(Origin::List, Seen::IdleTold);
        assert_eq!(allowances.hear(ADA, number, listed.clone(), now), Some(listed));
        let due = now + HOOKS.every;
        assert_eq!((allowances.take_due(now), allowances.next_due()), (Vec::new(), Some(due)));
        let mut again = allowances.clone();
        let both = [(ADA, number, ended.clone()), (ADA, number, drawn.clone())];
        assert_eq!(again.take_due(due), both);
        // There is an allowance, but the hook came first.
        assert_eq!(allowances.hear(ADA, number, drawn, due), None);
        assert_eq!(allowances.hear(ADA, number, ended.clone(), due), None);
        assert_eq!(allowances.take_due(due), both);
        assert_eq!(allowances.hear(ADA, number, ended.clone(), due), Some(ended));
    }

    #[test]
    fn what_is_full_again_is_not_kept() {
        let mut allowances = Allowances::default();
        for id in 0..100 {
            let now = Time(1) + WORDS.every * id;
            let request = report(Caller::Agent(AgentId(id.into())), "x");
            assert_eq!(allowances.pay(&request, &[], now), Ok(()));
        }
        assert!(allowances.of.len() <= 2, "{}", allowances.of.len());
    }

    fn spent(agent: AgentId, now: Time) -> Allowances {
        let mut allowances = Allowances::default();
        (0..HOOKS.burst).for_each(|_| allowances.pay_fact(agent, Origin::Hook, now));
        allowances
    }

    fn drawn() -> Fact {
        Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample: None })
    }

    /// AL2
    #[test]
    fn a_newer_fact_that_is_heard_takes_the_place_of_the_one_that_waits() {
        let (now, number) = (Time(1), SessionNumber(1));
        let mut allowances = spent(ADA, now);
        let (old, new) = (Seen::QuestionAsked, Seen::Compacted);
        let new = Fact::new(Origin::Hook, new);
        assert_eq!(allowances.hear(ADA, number, Fact::new(Origin::Hook, old), now), None);
        let due = now + HOOKS.every;
        assert_eq!(allowances.hear(ADA, number, new.clone(), due), Some(new));
        assert_eq!((allowances.take_due(due), allowances.next_due()), (Vec::new(), None));
    }

    #[test]
    fn what_waits_of_one_agent_holds_back_nobody_elses() {
        let (now, number, bob) = (Time(1), SessionNumber(1), AgentId(2));
        let mut allowances = spent(ADA, now);
        assert_eq!(
            allowances.hear(ADA, number, Fact::new(Origin::Hook, Seen::Compacted), now),
            None
        );
        assert_eq!(allowances.hear(bob, number, drawn(), now), Some(drawn()));
        // Of two that wait, the first is due first.
        let later = now + Duration::from_millis(100);
        (0..HOOKS.burst).for_each(|_| allowances.pay_fact(bob, Origin::Hook, later));
        assert_eq!(allowances.hear(bob, number, drawn(), later), None);
        assert_eq!(allowances.next_due(), Some(now + HOOKS.every));
    }

    /// AL2
    #[test]
    fn each_allowance_is_used_up_by_its_own_and_kept_when_others_come() {
        let (now, number) = (Time(1), SessionNumber(1));
        let wake = Request { caller: Caller::Agent(ADA), command: Command::Wake("bob".into()) };
        let mut allowances = spent(ADA, now);
        // What is read at a pace of ours costs nothing.
        let before = allowances.clone();
        allowances.pay_fact(ADA, Origin::Transcript, now + HOOKS.every);
        assert_eq!(allowances, before);
        assert_eq!(paid(&mut allowances, &wake, now), ORDERS.burst as usize);
        assert_eq!(allowances.pay(&report(Caller::Agent(AgentId(2)), "x"), &[], now), Ok(()));
        assert_eq!(allowances.pay(&wake, &[], now), too_often(AllowanceKind::Orders, 2));
        let mut ordered = Allowances::default();
        assert_eq!(paid(&mut ordered, &wake, now), ORDERS.burst as usize);
        assert_eq!(ordered.pay(&report(Caller::Agent(AgentId(2)), "x"), &[], now), Ok(()));
        assert_eq!(ordered.pay(&wake, &[], now), too_often(AllowanceKind::Orders, 2));
        let mut hooked = spent(ADA, now);
        hooked.pay_fact(AgentId(2), Origin::Hook, now);
        assert_eq!(hooked.hear(ADA, number, drawn(), now), None);
    }

    #[test]
    fn of_an_agent_that_is_over_nothing_is_left() {
        let (now, number) = (Time(1), SessionNumber(1));
        let mut allowances = spent(ADA, now);
        assert_eq!(allowances.hear(ADA, number, drawn(), now), None);
        allowances.forget(ADA);
        assert_eq!(allowances, Allowances::default());
    }

    /// AL1
    #[test]
    fn the_title_of_a_post_is_of_its_length() {
        use crate::id::PostId;
        use crate::text::{Digest, Text, TextBody};
        let title = Some("x".repeat(PART_BYTES as usize));
        let text = Text { digest: Digest([1; 32]), bytes: PART_BYTES, head: "x".into() };
        let body = TextBody { text, body: "x".into() };
        assert_eq!(words(&Command::Post { id: PostId(1), title, body }), Some(2 * PART_BYTES));
    }
}
