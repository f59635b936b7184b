//! Agents as the surface shows them: core types to wire types, field by field.
//!
//! Shows only what is confirmed: a running session whose holder does not answer is `unknown`. And only
//! what the caller may see: the rest is left out and named in `withheld`.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};

use perennial_api::agent as wire;
use perennial_api::answer::Legacy;
use perennial_api::checkpoint::Checkpoint;
use perennial_api::event;
use perennial_core::agent::{Agent, Confirmation, Outlook, needs_operator, outlook};
use perennial_core::authority::Caller;
use perennial_core::conversation::Conversations;
use perennial_core::exit::Exit;
use perennial_core::fleet::Fleet;
use perennial_core::hearing::Hearing;
use perennial_core::id::NodeId;
use perennial_core::legacy::{LeftText, LegacyKind};
use perennial_core::reason::{Evidence, Reason, Verb, Witness};
use perennial_core::role;
use perennial_core::state::{Roster, State};
use perennial_core::task::Task;
use perennial_core::time::Time;
use perennial_core::visibility::{Private, Sight};
use perennial_core::vocabulary::{Condition, Vocabulary};
use perennial_store::Latest;

use crate::daemon::driving::driver::FleetView;
use crate::daemon::driving::presence::Presence;
use crate::daemon::hearing::spending::{self, Spending, Used};
use crate::daemon::showing::sentences::suspended;
use crate::daemon::showing::{agent_word, checkpoint, sentences, vocabulary, wire_event, work};
use crate::daemon::time::rfc3339;

/// One agent as a caller sees it, with what is known of its holder right now.
pub fn agent(agent: &Agent, view: &FleetView<'_>, caller: Caller) -> wire::Agent {
    let fleet = view.supervisor.fleet();
    let parent = agent.parent.map(|id| agent_word::agent_word(fleet, id));
    let (hearing, spending) = (view.supervisor.hearing(agent.id), view.spending);
    let sight = fleet.sight(caller, Some(agent.id));
    let next = fleet.outlook(agent, view.presence.confirmation(agent));
    let known = (view.presence, view.now);
    let shown = shown((agent, sight), (parent, next), (hearing, spending), known);
    let texts = fleet.messages().of(agent.id);
    let texts_waiting = texts.filter(|text| text.is_waiting_text()).count() as u64;
    let mails = fleet.messages().of(agent.id).filter(|message| message.mail().is_some());
    let mail_unread = mails.count() as u64;
    let needs_you = fleet.needs_operator(agent, view.presence.confirmation(agent));
    let role_also_held_by = role::crowd(fleet, agent).into_iter().map(name).collect();
    let rounds = super::role::rounds(fleet, agent, view.now);
    let may_see_tasks = fleet.authorise(caller, Verb::Task, None).is_ok();
    let task = fleet.tasks().current(agent.id).filter(|_| may_see_tasks).map(current_task);
    let own = wire::Agent {
        texts_waiting,
        mail_unread,
        needs_you,
        role_also_held_by,
        rounds,
        task,
        symptom: symptom(agent),
        ..shown
    };
    in_line(fleet, agent, own)
}

/// The same, with its place where its session waits in line.
fn in_line(fleet: &Fleet, agent: &Agent, shown: wire::Agent) -> wire::Agent {
    let Some((place, of)) = fleet.place_in_line(agent.id) else { return shown };
    let (running, most) = (fleet.running() as u64, fleet.policy().max_running);
    let line = wire::InLine {
        place: place as u64,
        of: of as u64,
        running,
        max_running: most.map(|most| most as u64),
    };
    let (reason_text, next) = match fleet.held_back_by(agent.id) {
        Some(_) => sentences::held_back(),
        None => sentences::in_line((place, of), running, most),
    };
    wire::Agent { in_line: Some(line), reason_text, next, until: None, ..shown }
}

/// One that has left memory, as it ended; `kept` is the latest that was measured of it.
pub fn ended(agent: &Agent, parent: Option<String>, kept: &[Latest], sight: Sight) -> wire::Agent {
    let measured = spending::kept(kept).remove(&agent.id);
    let hearing = measured.and_then(|kept| Hearing::resume(agent, kept, 0));
    let heard = kept.iter().filter_map(|sample| Some((sample.agent, sample.last_seen?)));
    let presence = Presence::begin(heard.collect(), agent.since);
    let measured = (hearing.as_ref(), &Spending::begin(kept));
    let next = outlook(agent, presence.confirmation(agent));
    shown((agent, sight), (parent, next), measured, (&presence, agent.since))
}

/// What no event tells of an agent, as a number that changes with it: whether its session is confirmed,
/// what was measured of it, what it used.
pub fn unrecorded(agent: &Agent, view: &FleetView<'_>) -> u64 {
    let hearing = view.supervisor.hearing(agent.id);
    let sample = hearing.and_then(Hearing::sample).map(|(sample, _)| sample);
    let used = view.spending.of(agent.id).map(|used| (used.tokens, used.cost_microusd));
    let mut hasher = DefaultHasher::new();
    agent.vouched(view.presence.confirmation(agent)).hash(&mut hasher);
    sample.map(|it| (it.tokens, it.window, it.usable, it.source)).hash(&mut hasher);
    view.supervisor.fleet().place_in_line(agent.id).hash(&mut hasher);
    view.supervisor.fleet().held_back_by(agent.id).is_some().hash(&mut hasher);
    hearing.and_then(Hearing::model).hash(&mut hasher);
    hearing.and_then(Hearing::suspension).hash(&mut hasher);
    used.map(|(it, cost)| (it.input, it.output, it.cache_read, it.cache_write, cost))
        .hash(&mut hasher);
    hasher.finish()
}

/// Its program and the names of its variables, for whoever may see them.
fn private_launch(agent: &Agent, sight: Sight) -> (Vec<String>, Vec<String>) {
    match sight.sees(Private::Launch) {
        true => (agent.launch.argv.clone(), agent.launch.env_names.clone()),
        false => (Vec::new(), Vec::new()),
    }
}

/// What is left of an agent for whoever may see this of it. Where the state is not the recorded one, the evidence is another.
fn shown(
    (agent, sight): (&Agent, Sight),
    (parent, next): (Option<String>, Outlook),
    (hearing, spending): (Option<&Hearing>, &Spending),
    (presence, now): (&Presence, Time),
) -> wire::Agent {
    let confirmation = presence.confirmation(agent);
    let (state, reason) = agent.vouched(confirmation);
    let next = sentences::outlook(next);
    let silent_since = (state != agent.state).then(|| presence.silent_since(agent.id));
    let seen = sight.evidence(&agent.evidence);
    let (reason_word, reason_text) = why(agent, (state, reason), &seen, hearing);
    let (argv, env_names) = private_launch(agent, sight);
    wire::Agent {
        id: agent.id.to_string(),
        name: name(agent),
        target: name(agent),
        state: state.word().to_owned(),
        roster: state.roster().word().to_owned(),
        reason: reason_word,
        reason_text,
        evidence: silent_since.map_or_else(|| evidence(&seen), |at| silence(agent, presence, at)),
        since: rfc3339(silent_since.unwrap_or(agent.since)),
        until: agent.until.map(rfc3339),
        next: next.text.to_owned(),
        next_timed: next.timed.map(|(text, _)| text.to_owned()),
        next_at: next.timed.map(|(_, at)| rfc3339(at)),
        held_for: agent.hold.as_ref().map(|hold| hold.held_for.word().to_owned()),
        node: (agent.node != NodeId::HOME).then(|| agent.node.to_string()),
        role: agent.role.clone(),
        mandate: agent.role_terms.mandate.written().map(str::to_owned),
        parent,
        parent_id: agent.parent.map(|id| id.to_string()),
        harness: agent.launch.harness.clone(),
        host: sentences::host(agent.launch.host.kind()).to_owned(),
        tmux_session: agent.launch.host.tmux().map(|place| place.session.clone()),
        tmux_socket: agent.launch.host.tmux().map(|place| place.socket.clone()),
        situations: agent.situations.iter().map(ToString::to_string).collect(),
        project: agent.launch.project.clone(),
        dir: agent.launch.dir.clone(),
        argv,
        env_names,
        pending: pending(agent),
        restart: sentences::restart(agent.restart).to_owned(),
        session: session(agent),
        predecessor_id: agent.predecessor().map(|id| id.to_string()),
        crashed_predecessor_id: agent.crashed_predecessor().map(|id| id.to_string()),
        previous_exit: agent.previous_exit.map(exit),
        respawn_count: u64::from(agent.respawn_count),
        created_at: rfc3339(agent.created_at),
        last_seen: last_seen(agent, presence, now).map(rfc3339),
        // Filled in from the recording by a caller that may read files.
        last_activity: agent.session.as_ref().and_then(|s| s.started_at).map(rfc3339),
        summary: agent.summary.clone(),
        legacies: legacies(agent),
        to_be_buried: agent.burial.is_some(),
        work_phase: Some(agent.work.phase.word().to_owned()),
        work: Some(work::phase(agent)),
        checkpoint: last_checkpoint(agent, sight),
        model: model(agent, hearing),
        permission_mode: agent.launch.options.permission_mode.clone(),
        conversations: conversations(agent),
        context: context(agent, hearing),
        usage: spending.of(agent.id).map(usage),
        needs_you: needs_operator(state, reason),
        withheld: withheld(agent, sight, silent_since.is_none() && seen != agent.evidence),
        // What the whole fleet is asked for. One that has left memory gets no text any more.
        ..wire::Agent::default()
    }
}

/// The reason of its state, and the sentence for it.
fn why(
    agent: &Agent,
    (state, reason): (State, Reason),
    seen: &Evidence,
    hearing: Option<&Hearing>,
) -> (String, String) {
    suspension(agent, state, hearing)
        .unwrap_or_else(|| (reason.word().to_owned(), sentences::explained(reason, seen)))
}

/// The reason and its sentence where the program is suspended. No event tells: it is what the holder says
/// now, and concerns a program that is confirmed to run.
fn suspension(agent: &Agent, state: State, hearing: Option<&Hearing>) -> Option<(String, String)> {
    let session = agent.live_session()?;
    let hearing = hearing.filter(|hearing| hearing.number() == session.number)?;
    let why = hearing.suspension().filter(|_| matches!(state, State::Working | State::Waiting))?;
    let pid = session.process.map(|process| process.pid);
    Some((suspended::WORD.to_owned(), suspended::sentence(why, pid)))
}

/// Its last checkpoint, with the summary for whoever may see that.
fn last_checkpoint(agent: &Agent, sight: Sight) -> Option<Checkpoint> {
    let head = agent.checkpoint.as_ref()?;
    Some(checkpoint::head(head, sight.sees(Private::Transcript)))
}

/// The model that was heard of last, else the one that its owner chose.
fn model(agent: &Agent, hearing: Option<&Hearing>) -> Option<String> {
    let heard = hearing.and_then(|hearing| hearing.model().map(str::to_owned));
    heard.or_else(|| agent.launch.options.model.clone())
}

/// One of them, without the text.
pub fn legacy(agent: &Agent, kind: LegacyKind, left: &LeftText) -> Legacy {
    Legacy {
        kind: kind.word().to_owned(),
        agent: name(agent),
        agent_id: agent.id.to_string(),
        at: rfc3339(left.at),
        head: left.text.head.clone(),
        bytes: left.text.bytes,
        text: None,
    }
}

/// What it left behind, by the beginnings of the texts.
fn legacies(agent: &Agent) -> Vec<Legacy> {
    agent.legacies.iter().map(|(kind, left)| legacy(agent, *kind, left)).collect()
}

/// What the running session does not have yet.
fn pending(agent: &Agent) -> Vec<String> {
    let all = [("dir", agent.pending.dir), ("env", agent.pending.variables)];
    all.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| name.to_owned()).collect()
}

/// What an agent is shown without; `is_cut` if its evidence is told without some words.
fn withheld(agent: &Agent, sight: Sight, is_cut: bool) -> Vec<String> {
    let launch: &[&str] = if sight.sees(Private::Launch) { &[] } else { &["argv", "env_names"] };
    let evidence: &[&str] = if is_cut { &["evidence.fact"] } else { &[] };
    let has_summary = agent.checkpoint.is_some() && !sight.sees(Private::Transcript);
    let work: &[&str] = if has_summary { &["checkpoint.summary"] } else { &[] };
    launch.iter().chain(evidence).chain(work).map(|member| (*member).to_owned()).collect()
}

fn evidence(evidence: &Evidence) -> wire::Evidence {
    wire::Evidence {
        witness: sentences::witness(evidence.witness).to_owned(),
        fact: sentences::fact(evidence),
        at: rfc3339(evidence.at),
    }
}

/// The evidence for a session whose holder does not answer.
fn silence(agent: &Agent, presence: &Presence, since: Time) -> wire::Evidence {
    let last = presence.heard(agent.id).or_else(|| agent.session.as_ref()?.started_at);
    wire::Evidence {
        witness: sentences::witness(Witness::Daemon).to_owned(),
        fact: match last {
            Some(last) => format!("its holder was last heard at {}", rfc3339(last)),
            None => "its holder has never been heard".to_owned(),
        },
        at: rfc3339(since),
    }
}

/// When its session ended; before that now, while its holder is connected, or when it was last heard.
pub fn last_seen(agent: &Agent, presence: &Presence, now: Time) -> Option<Time> {
    let Some(session) = &agent.session else {
        return Some(agent.created_at);
    };
    match presence.confirmation(agent) {
        Confirmation::Confirmed => session.ended_at.or(Some(now)),
        Confirmation::NotYet | Confirmation::Lost => session
            .ended_at
            .or_else(|| presence.heard(agent.id))
            .or(session.started_at)
            .or(Some(session.wanted_at)),
    }
}

pub fn name(agent: &Agent) -> String {
    agent.name.as_ref().map_or_else(|| agent.id.to_string(), ToString::to_string)
}

fn conversations(agent: &Agent) -> Vec<String> {
    let known = agent.conversations.iter().flat_map(Conversations::newest_first);
    known.map(ToString::to_string).collect()
}

fn context(agent: &Agent, hearing: Option<&Hearing>) -> Option<wire::Context> {
    let (sample, at) = hearing?.sample()?;
    Some(wire::Context {
        tokens: sample.tokens,
        window: sample.window,
        usable: sample.usable,
        percent: sample.percent(),
        usable_percent: sample.usable_percent(),
        source: sample.source.word().to_owned(),
        at: rfc3339(at),
        passed: agent.clock.passed.map(perennial_core::context::Threshold::percent),
    })
}

fn symptom(agent: &Agent) -> Option<wire::ContextSymptom> {
    let (symptom, urgency, at) = agent.handoff.noticed?;
    Some(wire::ContextSymptom {
        symptom: symptom.word().to_owned(),
        urgency: urgency.word().to_owned(),
        told: symptom.description().to_owned(),
        at: rfc3339(at),
        compactions: u64::from(agent.handoff.compactions),
    })
}

fn current_task(task: &Task) -> wire::AgentTask {
    wire::AgentTask {
        id: task.id.to_string(),
        reference: task.brief.reference.clone(),
        title: task.brief.title.clone(),
        state: task.state.word().to_owned(),
        open_step: task.open_step().map(|(_, step)| step.text.clone()),
        steps_done: task.steps_done() as u64,
        steps: task.brief.steps.len() as u64,
    }
}

fn usage(used: Used) -> wire::Usage {
    let tokens = used.tokens;
    wire::Usage {
        input: tokens.input,
        output: tokens.output,
        cache_read: tokens.cache_read,
        cache_write: tokens.cache_write,
        cost_usd: used.cost_microusd.map(|cost| cost as f64 / 1e6),
        partial: tokens.is_partial,
    }
}

fn session(agent: &Agent) -> Option<wire::Session> {
    let session = agent.session.as_ref()?;
    Some(wire::Session {
        number: u64::from(session.number.0),
        id: agent.session_id()?.to_string(),
        phase: sentences::phase(session.phase).to_owned(),
        pid: session.process.map(|process| process.pid.cast_unsigned()),
        started_at: session.started_at.map(rfc3339),
        ended_at: session.ended_at.map(rfc3339),
        exit: session.exit.map(exit),
    })
}

/// The same as in events, where exactly one member is written.
fn exit(exit: Exit) -> wire::Exit {
    let (mut code, mut signal, mut unknown) = (None, None, None);
    match wire_event::exit(exit) {
        event::Exit::Code(number) => code = Some(number),
        event::Exit::Signal(number) => signal = Some(number),
        event::Exit::Unknown(why) => unknown = Some(why),
    }
    wire::Exit { code, signal, unknown }
}

/// Which agents a listing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The cemetery too; without it only if `roster` or `state` asks for it.
    pub all: bool,
    pub roster: Option<Roster>,
    pub state: Option<State>,
    pub project: Option<String>,
    pub situation: Option<String>,
    /// Only agents that were last confirmed at least this many seconds ago.
    pub stale_seconds: Option<u64>,
    /// Only holders of this role; of the dead, those who held it last.
    pub role: Option<String>,
    /// Only agents whose state has this word in a vocabulary; everybody whom it means.
    pub called: Option<(Vocabulary, String)>,
}

impl Filter {
    /// Whether it lets anybody in the cemetery through.
    pub fn has_dead(&self) -> bool {
        let by_roster = self.roster.is_none_or(|roster| roster == Roster::Cemetery);
        let by_state = self.state.is_none_or(|state| state.roster() == Roster::Cemetery);
        let by_word = self.called.is_none() || !self.dead_states().is_empty();
        let is_asked =
            self.all || self.roster.is_some() || self.state.is_some() || self.called.is_some();
        is_asked && by_roster && by_state && by_word && self.stale_seconds.is_none()
    }

    /// The states of the cemetery that it asks for. Those that never got a name are hidden until asked for.
    pub fn dead_states(&self) -> Vec<State> {
        match (&self.called, self.state) {
            (Some((vocabulary, word)), _) => {
                let mut meant = vocabulary.states(word);
                meant.retain(|state| state.roster() == Roster::Cemetery);
                meant
            }
            (None, Some(State::Expired)) => vec![State::Expired],
            (None, Some(_) | None) => vec![State::Dead],
        }
    }

    /// Whether it lets an agent through that is in the cemetery.
    pub fn passes_dead(&self, agent: &Agent) -> bool {
        let condition = Condition {
            state: agent.state,
            reason: Some(agent.reason),
            is_stale: false,
            is_merged: false,
        };
        self.has_dead()
            && self.project.as_ref().is_none_or(|project| in_project(agent, project))
            && self.is_of_situation(agent)
            && self.is_by_word(agent, condition)
    }

    /// Whether the agent has the role and the word that it asks for.
    fn is_by_word(&self, agent: &Agent, condition: Condition) -> bool {
        let holds =
            |role: &String| agent.role.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(role));
        let is_called =
            |(vocabulary, word): &(Vocabulary, String)| vocabulary.means(word, condition);
        self.role.as_ref().is_none_or(holds) && self.called.as_ref().is_none_or(is_called)
    }

    fn is_of_situation(&self, agent: &Agent) -> bool {
        let works_on = |word: &String| agent.situations.iter().any(|one| one.is(word));
        self.situation.as_ref().is_none_or(works_on)
    }
}

/// The agents in memory that a filter lets through: who needs you first, then by roster, then by name, the
/// youngest of a name first.
pub fn listing(view: &FleetView<'_>, filter: &Filter, caller: Caller) -> Vec<wire::Agent> {
    let FleetView { presence, now, .. } = *view;
    let agents = view.supervisor.fleet().agents();
    let agents = agents.filter(|agent| passes(agent, presence, filter, now));
    let mut shown: Vec<_> = agents
        .map(|known| {
            let view = agent(known, view, caller);
            let roster = known.vouched(presence.confirmation(known)).0.roster();
            let name = view.name.to_ascii_lowercase();
            ((!view.needs_you, roster, name, Reverse(known.id)), view)
        })
        .collect();
    shown.sort_by(|(one, _), (other, _)| one.cmp(other));
    shown.into_iter().map(|(_, view)| view).collect()
}

fn passes(agent: &Agent, presence: &Presence, filter: &Filter, now: Time) -> bool {
    let (state, reason) = agent.vouched(presence.confirmation(agent));
    // One that never got a name is kept, and hidden until asked for.
    if state == State::Expired && !filter.dead_states().contains(&State::Expired) {
        return false;
    }
    if state == State::Dead && !filter.has_dead() {
        return false;
    }
    let is_unseen = |seconds: u64| {
        last_seen(agent, presence, now).is_none_or(|at| now.since(at).as_secs() >= seconds)
    };
    let stale = |seconds: u64| {
        state == State::Unknown && agent.live_session().is_some() && is_unseen(seconds)
    };
    let is_stale = is_unseen(vocabulary::STALE_SECONDS);
    let condition = Condition { state, reason: Some(reason), is_stale, is_merged: false };
    filter.roster.is_none_or(|roster| roster == state.roster())
        && filter.state.is_none_or(|wanted| wanted == state)
        && filter.project.as_ref().is_none_or(|project| in_project(agent, project))
        && filter.is_of_situation(agent)
        && filter.stale_seconds.is_none_or(stale)
        && filter.is_by_word(agent, condition)
}

/// A project is named by its path, by its work tree's path, or by its last part.
fn in_project(agent: &Agent, project: &str) -> bool {
    let own = agent.launch.project.trim_end_matches('/');
    let tree = own.strip_suffix("/.git").unwrap_or(own);
    let wanted = project.trim_end_matches('/');
    [own, tree].contains(&wanted) || tree.rsplit('/').next() == Some(wanted)
}

#[cfg(test)]
mod tests;
