//! The holders' thread: waits for requests, shims and processes, and hands each event to its holder.
//!
//! Never waits for one shim; never reaps a child that is not a shim or a swept orphan.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::{Epoch, SessionNumber};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::super::directory::HolderDirectory;
use super::super::monotonic::{Moment, now, wait_until};
use super::super::owner::Owner;
use super::super::process;
use super::holder::{Current, EndOrder, Holder, Link, Work};
use super::sweep::Sweep;
use super::{HostReport, Manner, Program, Request, Settings, Shared};

const WAKE: u64 = 0;
/// What an event of a holder is about: the low two bits of its token.
pub const LINK: u64 = 1;
pub const SHIM: u64 = 2;
pub const PROCESS: u64 = 3;
const READ_BYTES: usize = 16 << 10;

pub struct Run {
    pub settings: Settings,
    pub sink: Box<dyn Fn(HostReport) + Send>,
    pub shared: Arc<Shared>,
    pub epoll: std::os::fd::OwnedFd,
    pub holders: HashMap<Owner, Holder>,
    /// Slot to owner; a slot is never given to another one.
    pub slots: HashMap<u64, Owner>,
    next_slot: u64,
    due: BinaryHeap<Reverse<(Moment, Owner)>>,
    pub sweep: Sweep,
    pub buffer: Vec<u8>,
    pub next_request: u64,
}

impl Run {
    pub fn new(
        settings: Settings,
        sink: Box<dyn Fn(HostReport) + Send>,
        shared: Arc<Shared>,
    ) -> io::Result<Run> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &shared.wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Run {
            settings,
            sink,
            shared,
            epoll,
            holders: HashMap::new(),
            slots: HashMap::new(),
            next_slot: 0,
            due: BinaryHeap::new(),
            sweep: Sweep::default(),
            buffer: vec![0; READ_BYTES],
            next_request: 0,
        })
    }

    pub fn run(mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        loop {
            events.clear();
            let first = self.due.peek().map(|Reverse((at, _))| *at);
            let deadline = [first, self.sweep.next_deadline()].into_iter().flatten().min();
            let wait = wait_until(deadline, now());
            let ready = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, ready, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the holders' thread can't wait for events");
                    return;
                }
            }
            for event in &events {
                let token = event.data.u64();
                if token == WAKE {
                    if !self.on_requests() {
                        return;
                    }
                } else {
                    self.on_event(token, event.flags);
                }
            }
            self.on_time(now());
        }
    }

    /// `false` when asked to stop.
    fn on_requests(&mut self) -> bool {
        for request in self.shared.take() {
            match request {
                Request::Order(effect, manner) => self.on_order(effect, manner),
                Request::Job { job, number, order } => self.on_job(job, number, order),
                Request::Ticket { agent, number, mode, answer } => {
                    self.on_ticket(Owner::Agent(agent), number, mode, answer);
                }
                Request::Focus { agent, number, focus } => {
                    self.on_focus(Owner::Agent(agent), number, focus);
                }
                Request::Resize { agent, number, size } => {
                    self.on_resize(Owner::Agent(agent), number, size);
                }
                Request::Deliver { agent, number, delivery, answer } => {
                    self.on_deliver(Owner::Agent(agent), number, delivery, answer);
                }
                Request::Heard { agent, number } => self.on_heard(Owner::Agent(agent), number),
                Request::Continue { agent, number } => {
                    self.on_continue(Owner::Agent(agent), number);
                }
                Request::Epoch(epoch) => self.on_epoch(epoch),
                Request::Stop => return false,
            }
        }
        true
    }

    fn on_event(&mut self, token: u64, flags: EventFlags) {
        let slot = (token >> 2).checked_sub(1);
        let Some(owner) = slot.and_then(|slot| self.slots.get(&slot)).copied() else { return };
        match token & 3 {
            LINK => self.on_link(owner, flags),
            SHIM => self.on_shim(owner),
            _ => self.on_process(owner),
        }
        self.settle(owner);
    }

    pub fn token(slot: u64, what: u64) -> EventData {
        EventData::new_u64((slot + 1) << 2 | what)
    }

    pub fn watch(&self, fd: impl AsFd, slot: u64, what: u64) {
        if let Err(error) = epoll::add(&self.epoll, fd, Run::token(slot, what), EventFlags::IN) {
            tracing::error!(%error, "a holder can't be watched");
        }
    }

    fn on_order(&mut self, effect: SessionEffect, manner: Manner) {
        let SessionEffect { agent, number, recorded, action } = effect;
        let owner = Owner::Agent(agent);
        let ladder = self.settings.ladder;
        let Some(current) = self.newest(owner, number) else { return };
        current.recorded = recorded.or(current.recorded);
        match action {
            Action::Start(launch, _) => {
                if current.process.is_none() && current.ending.is_none() {
                    current.work = Some(Work::Session(match manner {
                        Manner::Program(program) => *program,
                        Manner::Plain | Manner::ByTerm | Manner::HangUp => Program::bare(&launch),
                    }));
                }
                self.tell_again(owner, number);
            }
            Action::Hold => self.tell_again(owner, number),
            Action::End(pace) => {
                let hangs_up = matches!(manner, Manner::HangUp);
                let interrupt = match manner {
                    Manner::ByTerm => std::time::Duration::ZERO,
                    Manner::Plain | Manner::HangUp | Manner::Program(_) => ladder.interrupt,
                };
                let patience = match pace {
                    perennial_core::session::Pace::Graceful => interrupt + ladder.term,
                    perennial_core::session::Pace::AtOnce => std::time::Duration::ZERO,
                };
                let force_at = now() + patience + ladder.grace;
                match current.end {
                    // The same again changes nothing: not even when it will be forced.
                    Some(end) if end.pace == pace => {}
                    Some(_) | None => {
                        let is_sent = false;
                        current.end =
                            Some(EndOrder { pace, interrupt, hangs_up, is_sent, force_at });
                    }
                }
                self.tell_again(owner, number);
            }
            Action::Release => current.is_released = true,
        }
        self.drive(owner);
        self.settle(owner);
    }

    /// The session that an order is about, if no newer one was ordered: then what the order is about is
    /// over, and was reported.
    pub fn newest(&mut self, owner: Owner, number: SessionNumber) -> Option<&mut Current> {
        let holder = self.holders.entry(owner).or_insert_with(|| {
            let slot = self.next_slot;
            self.next_slot += 1;
            self.slots.insert(slot, owner);
            let directory = match owner {
                Owner::Agent(agent) => HolderDirectory::new(&self.settings.holders_dir, agent),
                Owner::Job(job) => HolderDirectory::of_job(&self.settings.jobs_dir, job),
            };
            Holder::new(owner, slot, directory)
        });
        let newest = holder.current.as_ref().map(|current| current.number);
        if newest.is_some_and(|newest| newest > number) {
            return None;
        }
        if newest != Some(number) {
            holder.current = Some(Current::new(number));
            holder.failures = 0;
        }
        holder.current.as_mut()
    }

    /// An order that was given before gets the answer that it had.
    pub fn tell_again(&mut self, owner: Owner, number: SessionNumber) {
        let Some(holder) = self.holders.get(&owner) else { return };
        let Some(current) = &holder.current else { return };
        if current.ending.is_some() {
            self.tell_ended(owner, number);
        } else if let (Some(process), Link::Up(_), Some(shim)) =
            (current.process, &holder.link, &holder.shim)
        {
            self.tell_executed(owner, number, Some(shim.process), current.cgroup, process);
        }
    }

    /// After anything happened to a holder: its next deadline is waited for.
    pub fn settle(&mut self, owner: Owner) {
        self.forget_if_done(owner);
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(at) = holder.next_deadline() else { return };
        if holder.scheduled_at.is_none_or(|scheduled| at < scheduled) {
            holder.scheduled_at = Some(at);
            self.due.push(Reverse((at, owner)));
        }
    }

    fn on_time(&mut self, now: Moment) {
        while let Some(Reverse((at, owner))) = self.due.peek().copied() {
            if at > now {
                break;
            }
            self.due.pop();
            self.on_due(owner, now);
            self.settle(owner);
        }
        if self.sweep.next_deadline().is_some_and(|at| at <= now) {
            let living = self.holders.values().filter_map(|holder| holder.shim.as_ref());
            let shims: Vec<i32> = living.map(|shim| shim.process.pid).collect();
            for owner in self.sweep.look(&shims, now) {
                self.on_swept(owner);
                self.settle(owner);
            }
        }
    }

    fn on_epoch(&mut self, epoch: Epoch) {
        if epoch <= self.settings.epoch {
            return;
        }
        self.settings.epoch = epoch;
        let is_down = |holder: &&Holder| matches!(holder.link, Link::Down) && holder.shim.is_some();
        let refused: Vec<Owner> =
            self.holders.values().filter(is_down).map(|holder| holder.owner).collect();
        for owner in refused {
            self.connect(owner);
            self.settle(owner);
        }
    }

    /// A deadline of this holder may have come; it may also have moved.
    fn on_due(&mut self, owner: Owner, now: Moment) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        holder.scheduled_at = None;
        if matches!(&holder.link, Link::Greeting { by, .. } if *by <= now) {
            self.on_lost(owner, "it does not answer".to_owned());
        }
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        if holder.retry_at.is_some_and(|at| at <= now) {
            holder.retry_at = None;
            self.connect(owner);
        }
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = &mut holder.current else { return };
        if current.ending.is_some() {
            return;
        }
        let is_forced = current.end.is_some_and(|end| end.force_at <= now);
        let is_witnessed = current.witness_by.is_some_and(|by| by <= now);
        if is_forced || is_witnessed {
            current.witness_by = None;
            if let Some(end) = &mut current.end {
                end.force_at = now + self.settings.ladder.grace;
            }
            if let Some(shim) = &holder.shim {
                tracing::warn!(%owner, number = %current.number, "a shim hangs and is killed");
                process::kill(&shim.handle);
            }
        }
    }
}
