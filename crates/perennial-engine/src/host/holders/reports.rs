//! What shims say: their hello, their reports, their answers to requests.
//!
//! A report about another session than the newest that was ordered says nothing.

use perennial_core::id::{Epoch, SessionNumber};
use perennial_core::session::Process;
use rustix::event::epoll::{self, EventFlags};
use serde::Serialize;

use super::super::connection::Lost;
use super::super::monotonic::now;
use super::super::owner::Owner;
use super::super::process;
use super::super::protocol::{
    self, DELIVERS, ExitRecord, Focus, Frame, Mode, Order, Refused, ShimHello, ShimReport, Size,
};
use super::holder::{Conclusion, Link, RETRY_FIRST, WaitingTicket};
use super::run::{LINK, PROCESS, Run};
use super::{Answer, HostRefusal, HostReport, Ticket, drive};

/// How long a ticket is good for.
const TICKET_TTL_MS: u64 = 30_000;

impl Run {
    /// Sends a message to the shim, if there is a connection.
    pub fn say(&mut self, owner: Owner, message: &impl Serialize) {
        let Some(connection) = self.holders.get_mut(&owner).and_then(|h| h.connection()) else {
            return;
        };
        match connection.say(message) {
            Ok(()) => self.watch_link(owner),
            // A message that does not fit is ours to answer for, not the connection's.
            Err(Lost::Frame(error)) => self.on_unsendable(owner, &error.to_string()),
            Err(error) => self.on_lost(owner, error.to_string()),
        }
    }

    /// Only a start can be too long: its arguments are the caller's.
    fn on_unsendable(&mut self, owner: Owner, why: &str) {
        let current = self.holders.get(&owner).and_then(|holder| holder.current.as_ref());
        if current.is_some_and(|current| current.process.is_none()) {
            let why = format!("its command can't be sent: {why}");
            self.finish(owner, Conclusion::Told(ExitRecord::NotStarted(why)));
        }
    }

    fn watch_link(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let slot = holder.slot;
        let Some(connection) = holder.connection() else { return };
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::OUT, !connection.unsent().is_empty());
        let _unchanged = epoll::modify(&self.epoll, connection, Run::token(slot, LINK), flags);
    }

    pub fn on_link(&mut self, owner: Owner, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let connection = self.holders.get_mut(&owner).and_then(|holder| holder.connection());
            match connection.map(|connection| connection.flush()) {
                Some(Ok(())) => self.watch_link(owner),
                Some(Err(error)) => self.on_lost(owner, error.to_string()),
                None => {}
            }
        }
        self.read_link(owner);
    }

    /// Reads what has come, until nothing more is there.
    pub fn read_link(&mut self, owner: Owner) {
        loop {
            let Some(holder) = self.holders.get_mut(&owner) else { return };
            let is_greeting = matches!(holder.link, Link::Greeting { .. });
            let Some(connection) = holder.connection() else { return };
            match connection.next_frame() {
                Ok(Some(frame)) => {
                    if let Err(error) = self.on_frame(owner, frame, is_greeting) {
                        self.on_lost(owner, error.to_string());
                    }
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    self.on_lost(owner, error.to_string());
                    return;
                }
            }
            match connection.receive(&mut self.buffer) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    self.on_lost(owner, error.to_string());
                    return;
                }
            }
        }
    }

    fn on_frame(&mut self, owner: Owner, frame: Frame, is_greeting: bool) -> Result<(), Lost> {
        let Frame::Control(payload) = frame else { return Ok(()) };
        if is_greeting {
            self.on_hello(owner, protocol::parse(&payload)?);
        } else {
            match protocol::parse(&payload)? {
                ShimReport::Executed { number, process, cgroup } => {
                    self.on_executed(owner, SessionNumber(number), process.into(), cgroup);
                }
                ShimReport::Exited { number, exit } => {
                    self.on_exited(owner, SessionNumber(number), exit);
                }
                ShimReport::NotMine { number } => self.on_not_mine(owner, SessionNumber(number)),
                ShimReport::Answer { request, refused } => self.on_answer(owner, request, refused),
                ShimReport::Delivered { number, message, attempt, outcome } => {
                    self.on_delivered(owner, SessionNumber(number), &message, attempt, outcome);
                }
                ShimReport::Line { number, line } => {
                    self.on_line(owner, SessionNumber(number), line);
                }
                ShimReport::Announced { number, state } => {
                    self.on_announced(owner, SessionNumber(number), state);
                }
                ShimReport::Unknown => {}
            }
        }
        Ok(())
    }

    fn on_hello(&mut self, owner: Owner, hello: ShimHello) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        if let Some(why) = hello.refused {
            holder.last_refusal = Some(why.clone());
            if let Some(epoch) = protocol::outranked_by(&why) {
                (self.sink)(HostReport::Outranked { by: Epoch(epoch) });
            }
            self.on_lost(owner, format!("it refused: {why}"));
            return;
        }
        holder.link = match std::mem::replace(&mut holder.link, Link::Down) {
            Link::Greeting { connection, .. } | Link::Up(connection) => Link::Up(connection),
            Link::Down => return,
        };
        holder.retry_at = None;
        holder.retry_wait = RETRY_FIRST;
        holder.is_told_lost = false;
        holder.delivers = hello.features.iter().any(|feature| feature == DELIVERS);
        let Some(current) = &holder.current else { return };
        let number = current.number;
        match hello.session.filter(|session| session.number == number.0) {
            Some(session) => {
                if let Some(process) = session.process {
                    self.on_executed(owner, number, process.into(), session.cgroup);
                }
                if let Some(exit) = session.exit {
                    self.on_exited(owner, number, exit);
                }
            }
            None if current.work.is_some() && current.end.is_none() => {}
            None => self.on_unknown_session(owner),
        }
        self.drive(owner);
    }

    /// The shim lives and its newest session is not the one that is to be held or ended.
    fn on_unknown_session(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = &mut holder.current else { return };
        if current.is_start_sent {
            // Its start is on the way; the answer comes.
            return;
        }
        let exit = match holder.directory.read_exit(current.number) {
            Some(exit) => exit,
            None => match holder.directory.fence(current.number) {
                Ok(Some(exit)) => exit,
                // The shim had it waiting and began it just now, or a dead one had it.
                Ok(None) => {
                    let number = current.number.0;
                    self.say(owner, &Order::Tell { number });
                    return;
                }
                Err(error) => ExitRecord::NotStarted(error.to_string()),
            },
        };
        let number = current.number;
        self.on_exited(owner, number, exit);
    }

    fn on_executed(
        &mut self,
        owner: Owner,
        number: SessionNumber,
        process: Process,
        cgroup: Option<u64>,
    ) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let (slot, shim) = (holder.slot, holder.shim.as_ref().map(|shim| shim.process));
        holder.failures = 0;
        let Some(current) = holder.session(number).filter(|c| c.ending.is_none()) else { return };
        current.process = Some(process);
        current.cgroup = cgroup;
        if current.witness_by.is_none() {
            current.witness_by = now().checked_add(current.patience);
        }
        current.work = None;
        if current.handle.is_none() {
            current.handle = drive::witness(process);
        }
        if let Some(handle) =
            self.holders.get(&owner).and_then(|h| h.current.as_ref()?.handle.as_ref())
        {
            let data = Run::token(slot, PROCESS);
            // Known already after a reconnection: then nothing changes.
            let _present = epoll::add(&self.epoll, handle, data, EventFlags::IN);
        }
        self.tell_executed(owner, number, shim, cgroup, process);
        self.drive(owner);
    }

    fn on_exited(&mut self, owner: Owner, number: SessionNumber, exit: ExitRecord) {
        let is_newest = self.holders.get_mut(&owner).is_some_and(|h| h.session(number).is_some());
        if is_newest {
            self.finish(owner, Conclusion::Told(exit));
        }
    }

    /// A dead shim had the session: what it left is ended before its end is told.
    fn on_not_mine(&mut self, owner: Owner, number: SessionNumber) {
        let Some(current) = self.holders.get_mut(&owner).and_then(|h| h.session(number)) else {
            return;
        };
        if current.ending.is_none() {
            current.is_disowned = true;
            current.is_swept = false;
            self.drive(owner);
        }
    }

    /// The kernel shows the end of a session's process; its shim should say so, too.
    pub fn on_process(&mut self, owner: Owner) {
        let Some(current) = self.holders.get_mut(&owner).and_then(|h| h.current.as_mut()) else {
            return;
        };
        let Some(handle) = current.handle.take_if(|handle| process::is_over(handle)) else {
            return;
        };
        let _watched_no_more = epoll::delete(&self.epoll, &handle);
        // One that was asked to end is told of when its tree is gone; that has its own limit.
        if current.ending.is_none() && current.end.is_none() {
            current.witness_by = Some(now() + self.settings.ladder.grace);
        }
    }

    pub fn on_ticket(
        &mut self,
        owner: Owner,
        number: SessionNumber,
        mode: Mode,
        answer: Answer<Ticket>,
    ) {
        let reached = self.reach_terminal(owner, number).and_then(|request| {
            let token = random_token().ok_or(HostRefusal::Unreachable)?;
            let holder = self.holders.get(&owner).ok_or(HostRefusal::NotRunning)?;
            Ok((request, Ticket { token, socket: holder.directory.socket() }))
        });
        match reached {
            Ok((request, ticket)) => {
                let token = ticket.token.clone();
                self.wait_for(owner, WaitingTicket { request, ticket, answer });
                let number = number.0;
                let ttl_ms = TICKET_TTL_MS;
                self.say(owner, &Order::Ticket { number, request, token, mode, ttl_ms });
            }
            Err(refusal) => answer(Err(refusal)),
        }
    }

    pub fn on_resize(&mut self, owner: Owner, number: SessionNumber, size: Size) {
        if self.reach(owner, number).is_ok() {
            self.say(owner, &Order::Resize { number: number.0, size });
        }
    }

    pub fn on_focus(&mut self, owner: Owner, number: SessionNumber, focus: Focus) {
        if self.reach(owner, number).is_ok() {
            self.say(owner, &Order::Focus { number: number.0, focus });
        }
    }

    /// A number for a request to a running session's shim, if that can be reached.
    pub fn reach(&mut self, owner: Owner, number: SessionNumber) -> Result<u64, HostRefusal> {
        let holder = self.holders.get_mut(&owner).ok_or(HostRefusal::NotRunning)?;
        let current = holder.session(number).ok_or(HostRefusal::NotRunning)?;
        if current.process.is_none() {
            return Err(HostRefusal::NotRunning);
        }
        match holder.link {
            Link::Up(_) => self.reach_terminal(owner, number),
            Link::Down | Link::Greeting { .. } => Err(HostRefusal::Unreachable),
        }
    }

    /// The same for a session that is being started: its program may wait for whoever asks. An order
    /// need not wait for the hello, and comes behind that to start.
    fn reach_terminal(&mut self, owner: Owner, number: SessionNumber) -> Result<u64, HostRefusal> {
        let holder = self.holders.get_mut(&owner).ok_or(HostRefusal::NotRunning)?;
        let current = holder.session(number).ok_or(HostRefusal::NotRunning)?;
        let is_begun = current.process.is_some() || current.is_start_sent;
        if current.ending.is_some() || !is_begun {
            return Err(HostRefusal::NotRunning);
        }
        match holder.link {
            Link::Up(_) | Link::Greeting { .. } => {
                self.next_request += 1;
                Ok(self.next_request)
            }
            Link::Down => Err(HostRefusal::Unreachable),
        }
    }

    fn wait_for(&mut self, owner: Owner, waiting: WaitingTicket) {
        if let Some(holder) = self.holders.get_mut(&owner) {
            holder.tickets.push(waiting);
        }
    }

    fn on_answer(&mut self, owner: Owner, request: u64, refused: Option<Refused>) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(at) = holder.tickets.iter().position(|waiting| waiting.request == request) else {
            return;
        };
        let WaitingTicket { ticket, answer, .. } = holder.tickets.remove(at);
        answer(match refused {
            None => Ok(ticket),
            Some(Refused::Stale) => Err(HostRefusal::NotRunning),
            // The other three are for bytes, which only older daemons order to be typed.
            Some(Refused::Draft | Refused::Dialog | Refused::Full | Refused::Unknown) => {
                Err(HostRefusal::Unreachable)
            }
        });
    }

    /// Nobody answers any more.
    pub fn refuse_waiting(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        for waiting in std::mem::take(&mut holder.tickets) {
            (waiting.answer)(Err(HostRefusal::Unreachable));
        }
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        for waiting in std::mem::take(&mut holder.deliveries) {
            (waiting.answer)(Err(HostRefusal::Unreachable));
        }
    }
}

/// 256 random bits in hexadecimal.
fn random_token() -> Option<String> {
    let mut bytes = [0u8; 32];
    // SAFETY: the kernel writes at most as many bytes as the array has.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    (usize::try_from(count) == Ok(bytes.len()))
        .then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
