//! What agent CLIs say, on its way to the supervisor: hooks, status lines, transcripts.
//!
//! A reply is made at once from what is durable; that it was given is recorded meanwhile.

use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Observation, Sign};
use perennial_core::state::State;
use perennial_engine::harness::claude::{Heard, Listing, StatusLine};

use super::driver::Driver;
use super::reader::{InWindow, Look, Read, Seen};
use super::readings::Used;
use super::{prime, view};

impl Driver {
    /// Takes note of what a harness said; returns what its session is to be told.
    pub fn heard(&mut self, agent: AgentId, event: &str, heard: Heard) -> Option<String> {
        let number = self.supervisor.fleet().agent(agent)?.live_session()?.number;
        self.follow(agent, number, event, heard.conversation);
        let now = self.now();
        let reading = self.readings.of(agent, number);
        reading.is_deaf = heard.signs.iter().any(is_start);
        if matches!(heard.signs[..], [Sign::TurnBegan | Sign::Began { .. }]) {
            reading.turn_at = Some(now);
        }
        self.tell_awaited(&[agent]);
        for sign in heard.signs {
            self.hear_of_window(agent, number, &sign);
            self.observe(Observation::Harness { agent, number, sign });
        }
        self.look_at_conversation(agent, number);
        if event == "SessionStart" {
            // From here on its lines are news; what is there now may be older than this.
            let _ = self.watch_list(agent);
        }
        let reading = self.readings.of(agent, number);
        reading.tool_calls += u64::from(heard.tool_calls);
        let known = self.supervisor.fleet().agent(agent)?;
        if event == "SessionStart" {
            return Some(prime::text(self.supervisor.fleet(), known, &self.presence, reading));
        }
        let text = heard.may_reply.then(|| reading.text_for(known, heard.tool_calls)).flatten();
        if let (Some(threshold), Some(_)) = (known.clock.untold(), &text) {
            self.observe(Observation::Harness { agent, number, sign: Sign::Told(threshold) });
        }
        text
    }

    /// A status line may be on its way when a window ends: it must not be taken for the next one's,
    /// nor what is said in reply be of the window before.
    fn hear_of_window(&mut self, agent: AgentId, number: SessionNumber, sign: &Sign) {
        let now = self.now();
        match sign {
            Sign::Began { how, .. } if how.begins_a_window() => {
                self.readings.begin_window(agent, now);
                self.readings.of(agent, number).is_compacted = *how == Followed::Compacted;
            }
            Sign::Progressed | Sign::Waits(_) => {
                self.readings.of(agent, number).is_compacted = false;
            }
            Sign::Began { .. }
            | Sign::TurnBegan
            | Sign::BackgroundWork
            | Sign::StillIdle
            | Sign::Measured { .. }
            | Sign::Compacted
            | Sign::Told(_)
            | Sign::Listed { .. }
            | Sign::Hangs => {}
        }
    }

    /// A hook of another conversation than the record has: how it came there was not heard.
    fn follow(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        event: &str,
        conversation: Option<ConversationId>,
    ) {
        let known = self.supervisor.fleet().agent(agent).and_then(|a| a.conversations.as_ref());
        let is_known = known.map(|known| &known.current) == conversation.as_ref();
        if let Some(conversation) = conversation.filter(|_| !is_known && event != "SessionStart") {
            let sign = Sign::Began { conversation, how: Followed::Resumed };
            self.observe(Observation::Harness { agent, number, sign });
        }
    }

    /// Takes note of what a conversation's transcript says.
    pub fn read(&mut self, seen: Seen) {
        let Seen { agent, number, signs, read, silence } = seen;
        let state = self.supervisor.fleet().agent(agent).map(|known| known.state);
        if let Some(silence) = silence.filter(|_| state == Some(State::Working)) {
            let seconds = silence.as_secs();
            tracing::warn!(%agent, %number, seconds, "nothing was heard of its turn");
        }
        for sign in signs {
            self.observe(Observation::Harness { agent, number, sign });
        }
        let Some(Read { figures, conversation, context }) = read else { return };
        let used = Some(Used::from(figures));
        let reading = self.readings.of(agent, number);
        if std::mem::replace(&mut reading.used, used) != used {
            self.keep(agent);
        }
        if let Some(context) = context {
            self.estimated(agent, number, conversation, context);
        }
    }

    /// Takes the measure by the table of models, for a session whose harness tells no window.
    fn estimated(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        conversation: ConversationId,
        context: InWindow,
    ) {
        let Some(known) = self.supervisor.fleet().agent(agent) else { return };
        let Ok(preset) = self.world.harnesses.preset(&known.launch.harness) else { return };
        if preset.context.window_source == Source::StatusLine {
            return;
        }
        let InWindow { tokens, model, source } = context;
        let window = preset.context.window(&model);
        let end = self.world.harnesses.compaction_window(agent, &preset);
        let usable = preset.context.usable(window, end);
        self.readings.of(agent, number).model = Some(model).filter(|model| !model.is_empty());
        let sample = Sample { tokens, window, usable, source };
        self.take_sample(agent, number, Some(conversation), sample);
    }

    /// An agent's own word about its window, of which it knows no more than a percentage.
    pub fn reported(&mut self, agent: AgentId, percent: u64) {
        let live = self.supervisor.fleet().agent(agent).and_then(|known| known.live_session());
        let Some(number) = live.map(|session| session.number) else { return };
        let (window, usable, source) = (100, 100, Source::Reported);
        self.take_sample(agent, number, None, Sample { tokens: percent, window, usable, source });
    }

    fn take_sample(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        conversation: Option<ConversationId>,
        sample: Sample,
    ) {
        let now = self.now();
        if self.readings.of(agent, number).take(sample, now) {
            self.keep(agent);
            let sign = Sign::Measured { conversation, sample };
            self.observe(Observation::Harness { agent, number, sign });
        }
    }

    /// Keeps what was measured for the next daemon; the store writes the latest about once a second.
    fn keep(&mut self, agent: AgentId) {
        let now = self.now();
        let sample = self.readings.sample(agent, self.presence.last(agent, now));
        self.world.journal.put_samples(vec![sample]);
    }

    /// A session was found alive: what was missed meanwhile lies in files.
    pub fn look_around(&mut self, agent: AgentId) {
        let live = self.supervisor.fleet().agent(agent).and_then(|known| known.live_session());
        if let Some(number) = live.map(|session| session.number) {
            self.look_at_conversation(agent, number);
        }
        if let Some(listing) = self.watch_list(agent) {
            self.listed(listing);
        }
    }

    /// Watches the vendor's list that the agent's session is in; returns its line.
    fn watch_list(&self, agent: AgentId) -> Option<Listing> {
        let known = self.supervisor.fleet().agent(agent).filter(|known| !known.launch.is_bare())?;
        let process = known.live_session()?.process?;
        let (list, dialect) = self.world.harnesses.list(agent, &known.launch.harness)?;
        self.world.lookout.watch(&list, dialect, process.pid)
    }

    /// Takes note of a line in a vendor's list of live sessions, if it is one of ours.
    pub fn listed(&mut self, listing: Listing) {
        let Listing { process, wait, since } = listing;
        let found = self.supervisor.fleet().agents().find_map(|agent| {
            let live = agent.live_session().filter(|live| live.process == Some(process))?;
            Some((agent.id, live.number))
        });
        let Some((agent, number)) = found else { return };
        self.observe(Observation::Harness { agent, number, sign: Sign::Listed { wait, since } });
        self.look_at_conversation(agent, number);
    }

    /// Has the agent's conversation read.
    fn look_at_conversation(&self, agent: AgentId, number: SessionNumber) {
        let Some(known) = self.supervisor.fleet().agent(agent) else { return };
        let turn_at = self.readings.get(agent).and_then(|reading| reading.turn_at);
        if let Some(conversations) = &known.conversations {
            self.world.reader.look(Look {
                agent,
                number,
                process: known.live_session().and_then(|session| session.process),
                since: turn_at.unwrap_or(known.since),
                harness: known.launch.harness.clone(),
                conversation: conversations.current.clone(),
            });
        }
    }

    /// Takes the measure of a session's window; returns a line to show below its prompt.
    pub fn measured(&mut self, agent: AgentId, line: StatusLine) -> String {
        let live = self.supervisor.fleet().agent(agent).and_then(|known| known.live_session());
        let Some(number) = live.map(|session| session.number) else {
            return String::new();
        };
        // A status line of the conversation before says nothing of this window.
        let current = self.supervisor.fleet().agent(agent).and_then(|a| a.conversations.as_ref());
        let is_current = match (&line.conversation, current) {
            (Some(id), Some(known)) => *id == known.current,
            (None, _) | (_, None) => true,
        };
        let reading = self.readings.of(agent, number);
        // Drawn below its input line.
        reading.is_deaf = false;
        reading.model = line.model.or(reading.model.take());
        let is_stale = reading.is_compacted;
        if let Some(sample) = line.sample.filter(|_| is_current && !is_stale) {
            self.take_sample(agent, number, line.conversation, sample);
        } else if let Some(sample) = line.sample.filter(|_| !is_stale) {
            // A sign of life all the same.
            let sign = Sign::Measured { conversation: line.conversation, sample };
            self.observe(Observation::Harness { agent, number, sign });
        }
        self.tell_awaited(&[agent]);
        self.look_at_conversation(agent, number);
        let known = self.supervisor.fleet().agent(agent);
        let name = known.map(view::name).unwrap_or_default();
        match self.readings.get(agent).and_then(|reading| reading.sample.as_ref()) {
            Some((sample, _)) => {
                format!("{name} · {} % of the usable window", sample.usable_percent())
            }
            None => name,
        }
    }
}

/// Whether a program says that it has just been started.
fn is_start(sign: &Sign) -> bool {
    let how = [Followed::Started, Followed::Resumed, Followed::Forked];
    matches!(sign, Sign::Began { how: this, .. } if how.contains(this))
}
