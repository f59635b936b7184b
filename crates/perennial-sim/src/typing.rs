//! Texts that are typed: the holder's side, which types each attempt once and remembers how that
//! went, and the agent CLI's, which takes a text, queues it, writes it down late, or loses it.
//!
//! By the measurements of the real one: a turn or a queue is told of by a hook at once; the line in
//! the transcript comes later, a queued one with the next results of tools or with the turn's end.
//! What a killed CLI had not written down is gone.

use std::ops::Range;
use std::time::Duration;

use perennial_core::effect::{Delivery, Typing};
use perennial_core::fact::{Fact, Keys, Listed, Origin, Seen};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{DeliveryId, Held, Outcome};
use perennial_core::observation::Observation;
use perennial_core::text::Fingerprint;
use perennial_engine::supervisor::Input;

use crate::cli::{Cli, Mode};
use crate::daemon::Life;
use crate::facts::Way;
use crate::mails::WORDS;
use crate::mutation::Mutation;
use crate::shim::Order;
use crate::world::{Happening, World};

/// A holder that can't be reached is asked again after this, and so often.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
const TRIES: u32 = 120;
/// From the paste to Enter, and from there to the harness.
const TYPE_MICROS: Range<u64> = 5_000..1_200_000;
const TAKE_MICROS: Range<u64> = 20_000..1_300_000;
/// From the turn to its line in the transcript, and from the turn's end to what is not there by then.
const LINE_MICROS: Range<u64> = 0..1_500_000;
const LAST_LINE_MICROS: Range<u64> = 0..400_000;
/// From the end of a turn to the next one, with what was queued.
const DEQUEUE_MICROS: Range<u64> = 20_000..300_000;

/// What is entered at once: one text, or a list of mails.
pub type Prompt = Vec<MessageId>;

/// One attempt to type one text, or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub id: DeliveryId,
    pub prompt: Prompt,
}

fn attempt_of(delivery: &Delivery) -> Attempt {
    let Delivery { message, attempt, typing, .. } = delivery;
    let prompt = match typing {
        Typing::Text(_) | Typing::Round(_) | Typing::Handoff(_) => vec![*message],
        Typing::Mails { mails, .. } => mails.iter().map(|mail| mail.message).collect(),
    };
    Attempt { id: DeliveryId { message: *message, attempt: *attempt }, prompt }
}

impl World {
    /// The daemon has a text typed; it asks the holder until that answers.
    pub fn deliver(&mut self, life: Life, delivery: &Delivery, tries: u32) {
        let Delivery { agent, number, .. } = *delivery;
        let Some(daemon) = self.daemon(life).filter(|_| tries < TRIES) else { return };
        let epoch = daemon.supervisor.fleet().epoch();
        if self.machine.shims.contains_key(&agent) {
            let order = Order::Deliver(number, self.mutated_list(attempt_of(delivery)));
            self.tell_shim(agent, life, epoch, order);
        }
        // Whether it was typed is not known without an answer: the same attempt, ordered again, tells.
        let delivery = Box::new(delivery.clone());
        self.after(AGAIN_AFTER, Happening::DeliversAgain { life, delivery, tries: tries + 1 });
    }

    /// Asks again where the first order got no answer.
    pub fn deliver_again(&mut self, life: Life, delivery: &Delivery, tries: u32) {
        let session = self.machine.session(delivery.agent, delivery.number);
        let DeliveryId { message, attempt } = attempt_of(delivery).id;
        let is_under_way = session.typing == Some(DeliveryId { message, attempt });
        let is_answered = session.answered.contains(&(life, message, attempt));
        if !is_answered && !is_under_way {
            self.deliver(life, delivery, tries);
        } else if is_under_way {
            let delivery = Box::new(delivery.clone());
            self.after(AGAIN_AFTER, Happening::DeliversAgain { life, delivery, tries });
        }
    }

    /// The order to type reaches the holder.
    pub fn shim_deliver(&mut self, agent: AgentId, id: u64, number: SessionNumber, one: Attempt) {
        let forgets = self.mutation == Some(Mutation::HolderForgets);
        let own = self.machine.shims.get(&agent).and_then(|shim| shim.number);
        let session = self.machine.session(agent, number);
        if own != Some(number) || !session.is_alive() {
            self.answer_delivery(agent, number, one.id, Outcome::Held(Held::SessionEnded));
            return;
        }
        match (session.delivered, session.typing) {
            (Some((last, outcome)), _) if last == one.id && !forgets => {
                self.answer_delivery(agent, number, one.id, outcome);
            }
            // It is answered when it is over.
            (_, Some(other)) if other == one.id => {}
            (_, Some(other)) => {
                self.broken("X3: one text is typed at a time", || format!("{other:?}, {one:?}"));
                self.answer_delivery(agent, number, one.id, Outcome::Held(Held::Busy));
            }
            (_, None) => {
                session.typing = Some(one.id);
                self.soon(&TYPE_MICROS, Happening::Types { agent, shim: id, number, one });
            }
        }
    }

    /// The holder has pasted, and sees whether it may press Enter.
    pub fn types(&mut self, agent: AgentId, id: u64, number: SessionNumber, one: Attempt) {
        let Some(shim) = self.machine.shims.get(&agent).filter(|shim| shim.id == id) else {
            return;
        };
        if shim.hung {
            self.after(AGAIN_AFTER, Happening::Types { agent, shim: id, number, one });
            return;
        }
        let no_echo = self.random.per_mille(self.faults.no_echo_odds);
        let session = self.machine.session(agent, number);
        session.typing = None;
        let held = match &session.cli {
            _ if !session.is_alive() => Some(Held::SessionEnded),
            None => None,
            Some(cli) if matches!(cli.mode, Mode::Starting | Mode::Dialog) => Some(Held::NotDrawn),
            Some(cli) if cli.asks => Some(Held::Dialog),
            Some(cli) if cli.has_draft => Some(Held::Draft),
            Some(_) if no_echo => Some(Held::NoEcho),
            Some(_) => None,
        };
        let outcome = held.map_or(Outcome::Entered, Outcome::Held);
        session.delivered = Some((one.id, outcome));
        self.tell(|| format!("{}.{number}: {one:?} is typed: {outcome:?}", agent.0));
        if outcome == Outcome::Entered {
            self.entered(agent, number, one.prompt);
        }
        self.answer_delivery(agent, number, one.id, outcome);
    }

    /// The answer goes to the daemon that the holder talks to: prompt, late, or twice.
    fn answer_delivery(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        one: DeliveryId,
        outcome: Outcome,
    ) {
        let Some(life) = self.machine.shims.get(&agent).and_then(|shim| shim.life) else { return };
        let DeliveryId { message, attempt } = one;
        self.machine.session(agent, number).answered.insert((life, message, attempt));
        let times = 1 + u64::from(self.random.per_mille(self.faults.duplicate_odds));
        for _ in 0..times {
            let late = self.random.per_mille(self.faults.late_odds);
            let micros = if late { &self.faults.late_micros } else { &self.faults.hop_micros };
            let micros = micros.clone();
            let told = Observation::Delivered { message, attempt, outcome };
            self.soon(&micros, Happening::Reaches { life, input: Input::Observed(told) });
        }
    }

    /// Enter was pressed behind a text.
    fn entered(&mut self, agent: AgentId, number: SessionNumber, prompt: Prompt) {
        for message in &prompt {
            self.check_entered(agent, number, *message);
        }
        let swallowed = self.random.per_mille(self.faults.enter_swallowed_odds);
        let Some(cli) = self.cli(agent, number) else {
            return;
        };
        if swallowed {
            self.tell(|| format!("{}.{number} swallows {prompt:?}", agent.0));
            return;
        }
        if let Some(other) = cli.line.replace(prompt.clone()) {
            self.broken("X3: never glued", || format!("{other:?} and {prompt:?}"));
        }
        self.soon(&TAKE_MICROS, Happening::Takes { agent, number, prompt });
    }

    /// The CLI reads what was entered: a turn begins with it, or it is queued.
    pub fn takes(&mut self, agent: AgentId, number: SessionNumber, prompt: Prompt) {
        let Some(text) = self.print(&prompt) else { return };
        let mentions = self.mentions(&prompt);
        let Some(cli) = self.cli(agent, number) else { return };
        cli.line = None;
        // One that hangs reads nothing.
        if cli.mode == Mode::Hung {
            return;
        }
        let is_idle = cli.mode == Mode::Idle && !cli.asks;
        prompt.iter().for_each(|message| self.texts.is_shown(*message));
        if is_idle {
            self.begins_turn(agent, number);
            self.is_taken(agent, number, prompt);
            let submitted = (Seen::PromptSubmitted { text }, mentions);
            self.call_mentioning(agent, number, submitted, true);
            self.listed(agent, number, Listed::Busy);
            self.act_soon(agent, number);
        } else {
            prompt.iter().for_each(|message| self.check_not_doubled(agent, *message));
            self.tell(|| format!("{}.{number} queues {prompt:?}", agent.0));
            if let Some(cli) = self.cli(agent, number) {
                cli.queue.push(prompt);
            }
            let submitted = (Seen::PromptSubmitted { text }, mentions);
            self.call_mentioning(agent, number, submitted, true);
        }
    }

    /// What a prompt with this text is recognised by.
    fn print(&self, prompt: &[MessageId]) -> Option<Fingerprint> {
        let first = *prompt.first()?;
        if self.mails.is_known_by_id(first) { Some(WORDS) } else { self.texts.fingerprint(first) }
    }

    /// The model has a prompt; the line about it is written soon, or with the turn's end.
    fn is_taken(&mut self, agent: AgentId, number: SessionNumber, prompt: Prompt) {
        self.tell(|| format!("{}.{number} takes {prompt:?}", agent.0));
        for message in prompt.iter().copied() {
            self.check_not_doubled(agent, message);
            self.texts.is_taken(message, agent, number);
            self.mail_is_shown(agent, number, message);
        }
        if let Some(cli) = self.cli(agent, number) {
            cli.unwritten.push(prompt);
        }
        if !self.random.per_mille(self.faults.late_line_odds) {
            self.soon(&LINE_MICROS, Happening::Writes { agent, number });
        }
    }

    /// What was queued goes to the model; its line is written at once.
    pub fn absorb(&mut self, agent: AgentId, number: SessionNumber) {
        let Some(cli) = self.cli(agent, number) else { return };
        for prompt in std::mem::take(&mut cli.queue) {
            self.is_taken(agent, number, prompt);
            self.write_lines(agent, number);
        }
    }

    /// The turn is over: what is not in the transcript yet will be soon; what is queued begins the next
    /// one.
    pub fn turn_is_over(&mut self, agent: AgentId, number: SessionNumber) {
        let Some(cli) = self.cli(agent, number) else { return };
        let has_queue = !cli.queue.is_empty() && !cli.asks;
        if !cli.unwritten.is_empty() {
            self.soon(&LAST_LINE_MICROS, Happening::Writes { agent, number });
        }
        if has_queue {
            self.soon(&DEQUEUE_MICROS, Happening::Dequeues { agent, number });
        }
    }

    /// A turn begins with what was queued: no hook tells of it again.
    pub fn dequeues(&mut self, agent: AgentId, number: SessionNumber) {
        let is_idle = |cli: &&mut Cli| cli.mode == Mode::Idle && !cli.asks && !cli.queue.is_empty();
        if self.cli(agent, number).filter(is_idle).is_none() {
            return;
        }
        self.begins_turn(agent, number);
        self.absorb(agent, number);
        if let Some(cli) = self.cli(agent, number) {
            cli.is_from_queue = true;
        }
        self.listed(agent, number, Listed::Busy);
        self.act_soon(agent, number);
    }

    /// Writes down what the model has been given.
    pub fn write_lines(&mut self, agent: AgentId, number: SessionNumber) {
        let Some(cli) = self.cli(agent, number) else { return };
        let Some(conversation) = cli.conversation().cloned() else { return };
        for prompt in std::mem::take(&mut cli.unwritten) {
            for message in prompt.iter().copied() {
                self.is_written(message, &conversation);
                self.mail_is_written(message, &conversation);
            }
            if let Some(text) = self.print(&prompt) {
                let mentions = self.mentions(&prompt);
                self.write_mentioning(agent, number, Seen::Prompt { text }, mentions);
            }
        }
    }

    /// A person begins a draft in the input line, or takes it away again.
    pub fn touch_draft(&mut self, agent: AgentId, has_draft: bool) {
        let Some(number) = self.machine.alive(agent) else { return };
        let Some(cli) = self.cli(agent, number).filter(|cli| cli.has_draft != has_draft) else {
            return;
        };
        cli.has_draft = has_draft;
        let keys = if has_draft { Keys::Draft } else { Keys::Clear };
        self.show(agent, number, Way::Watcher, Fact::new(Origin::Terminal, Seen::Keys(keys)));
    }
}
