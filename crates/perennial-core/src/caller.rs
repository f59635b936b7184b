//! Who calls: which caller follows from what the shell has seen of its processes.
//!
//! Pure, and one table. A caller is the *agent* or *job* whose shim is above it, or whose cgroup or mark it has; a
//! *person* only with our own uid and a complete chain of parents up to pid 1 without any sign of a session.
//! Anybody else is a *viewer*; who leads to two agents is *ambiguous*. What each may do is in `authority`.
//!
//! Invariants
//! - ID1  A shim above the caller that this daemon does not know, of whatever home, makes it a viewer:
//!   no mark and no cgroup gives it more.
//! - ID2  Evidence only ever lowers rights: a job and an ambiguous caller, who have none, come first.

use crate::authority::Caller;
use crate::owner::Owner;

/// What was seen of a caller. Its marks are looked at only where they decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerEvidence {
    /// The shims among the caller and those above it, the nearest first.
    pub shims: Vec<ShimAbove>,
    pub top: Top,
    /// Whose cgroup it is in.
    pub cgroup: Option<Owner>,
    /// It runs as the user that the daemon runs as.
    pub is_own_user: bool,
}

/// A process that looks like a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimAbove {
    /// The daemon knows that it holds for this owner.
    Known(Owner),
    /// Its argv names this owner.
    Claimed(Owner),
    /// It can't be read.
    Hidden,
}

/// Where the chain of parents ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// Pid 1 of the daemon's own pid namespace.
    First,
    /// The first process that is visible in a pid namespace which was entered from outside.
    Namespace,
    /// The daemon itself: what falls to it is an orphan of a dead holder.
    Daemon,
    /// A process of the kernel session of a job whose shim died.
    OrphanedJob,
    /// It can't be followed further.
    Broken,
}

impl CallerEvidence {
    /// Nothing but that its parents can't be followed.
    pub fn none() -> CallerEvidence {
        CallerEvidence { shims: Vec::new(), top: Top::Broken, cgroup: None, is_own_user: false }
    }

    /// Who calls. `marks` are those of the caller and of all above it.
    pub fn caller(&self, marks: impl FnOnce() -> Vec<Owner>) -> Caller {
        lowered(self.by_ancestry(marks), self.cgroup)
    }

    /// Who is about to start a daemon. There is nobody yet who knows shims, so any of them makes it a viewer.
    pub fn starter(&self, marks: impl FnOnce() -> Vec<Owner>) -> Caller {
        match (&self.shims[..], self.top) {
            // The top of a pid namespace is as good as pid 1 here: a daemon inside starts only where it sees the
            // holders of its home, and people's commands follow its parents further than it can.
            ([], Top::First | Top::Namespace) => by_marks(&marks()).unwrap_or(Caller::Person),
            ([_, ..], _) | ([], Top::Daemon | Top::OrphanedJob | Top::Broken) => Caller::Viewer,
        }
    }

    fn by_ancestry(&self, marks: impl FnOnce() -> Vec<Owner>) -> Caller {
        match (&self.shims[..], self.top) {
            (_, Top::OrphanedJob) => Caller::Job,
            (shims, _) if shims.iter().any(ShimAbove::is_of_job) => Caller::Job,
            ([_, _, ..], _) => Caller::Ambiguous,
            ([ShimAbove::Known(_)], Top::Broken) => Caller::Viewer,
            ([ShimAbove::Known(owner)], _) => caller_of(*owner),
            ([ShimAbove::Claimed(_) | ShimAbove::Hidden], _) => Caller::Viewer,
            ([], Top::First) => match by_marks(&marks()) {
                Some(caller) => caller,
                None if self.is_own_user => Caller::Person,
                None => Caller::Viewer,
            },
            ([], Top::Namespace | Top::Daemon | Top::Broken) => Caller::Viewer,
        }
    }
}

impl ShimAbove {
    /// A job has no rights, so that its claim can be believed.
    fn is_of_job(&self) -> bool {
        match self {
            ShimAbove::Known(owner) | ShimAbove::Claimed(owner) => matches!(owner, Owner::Job(_)),
            ShimAbove::Hidden => false,
        }
    }
}

fn caller_of(owner: Owner) -> Caller {
    match owner {
        Owner::Agent(id) => Caller::Agent(id),
        Owner::Job(_) => Caller::Job,
    }
}

/// What a cgroup adds to what the parents show (ID2). It gives nobody more: whoever may write to a cgroup can
/// move into it.
fn lowered(caller: Caller, cgroup: Option<Owner>) -> Caller {
    match (caller, cgroup) {
        (Caller::Job, _) | (_, Some(Owner::Job(_))) => Caller::Job,
        (Caller::Agent(id), Some(Owner::Agent(other))) if id != other => Caller::Ambiguous,
        (Caller::Person, Some(Owner::Agent(id))) => Caller::Agent(id),
        (caller, Some(Owner::Agent(_)) | None) => caller,
    }
}

fn by_marks(marks: &[Owner]) -> Option<Caller> {
    let is_job = |owner: &Owner| matches!(owner, Owner::Job(_));
    match marks {
        [] => None,
        marks if marks.iter().any(is_job) => Some(Caller::Job),
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            Some(caller_of(*first))
        }
        [_, ..] => Some(Caller::Ambiguous),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AgentId, JobId};

    const ADA: Owner = Owner::Agent(AgentId(7));
    const BOB: Owner = Owner::Agent(AgentId(8));
    const JOB: Owner = Owner::Job(JobId(7));
    const AS_ADA: Caller = Caller::Agent(AgentId(7));
    const TOPS: [Top; 5] = [Top::First, Top::Namespace, Top::Daemon, Top::OrphanedJob, Top::Broken];

    fn evidence(shims: &[ShimAbove], top: Top) -> CallerEvidence {
        CallerEvidence { shims: shims.to_vec(), top, cgroup: None, is_own_user: true }
    }

    fn caller(shims: &[ShimAbove], top: Top, marks: &[Owner]) -> Caller {
        evidence(shims, top).caller(|| marks.to_vec())
    }

    #[test]
    fn a_person_has_a_whole_chain_without_any_sign_of_a_session() {
        assert_eq!(caller(&[], Top::First, &[]), Caller::Person);
        let other = CallerEvidence { is_own_user: false, ..evidence(&[], Top::First) };
        assert_eq!(other.caller(Vec::new), Caller::Viewer);
        for top in [Top::Namespace, Top::Daemon, Top::Broken] {
            assert_eq!(caller(&[], top, &[]), Caller::Viewer, "{top:?}");
        }
        assert_eq!(CallerEvidence::none().caller(Vec::new), Caller::Viewer);
    }

    #[test]
    fn a_known_shim_says_who_calls_whatever_the_marks_say() {
        for top in [Top::First, Top::Namespace, Top::Daemon] {
            assert_eq!(caller(&[ShimAbove::Known(ADA)], top, &[BOB]), AS_ADA, "{top:?}");
        }
        assert_eq!(caller(&[ShimAbove::Known(ADA)], Top::Broken, &[]), Caller::Viewer);
    }

    /// ID1
    #[test]
    fn a_shim_that_is_not_known_makes_a_viewer() {
        for shim in [ShimAbove::Claimed(ADA), ShimAbove::Hidden] {
            for top in [Top::First, Top::Namespace, Top::Daemon, Top::Broken] {
                for cgroup in [None, Some(ADA)] {
                    let seen = CallerEvidence { cgroup, ..evidence(&[shim], top) };
                    assert_eq!(seen.caller(|| vec![ADA]), Caller::Viewer, "{seen:?}");
                }
            }
        }
    }

    /// ID2
    #[test]
    fn whatever_leads_to_a_job_has_no_rights() {
        let others = [ShimAbove::Known(ADA), ShimAbove::Claimed(BOB), ShimAbove::Hidden];
        for top in TOPS {
            for job in [ShimAbove::Known(JOB), ShimAbove::Claimed(JOB)] {
                assert_eq!(caller(&[job], top, &[]), Caller::Job);
                for other in others {
                    assert_eq!(caller(&[other, job], top, &[]), Caller::Job);
                    assert_eq!(caller(&[job, other], top, &[]), Caller::Job);
                }
            }
        }
        assert_eq!(caller(&[ShimAbove::Known(ADA)], Top::OrphanedJob, &[]), Caller::Job);
        assert_eq!(caller(&[], Top::First, &[ADA, JOB]), Caller::Job);
    }

    #[test]
    fn two_shims_or_two_marks_are_ambiguous() {
        let shims = [ShimAbove::Known(ADA), ShimAbove::Claimed(ADA), ShimAbove::Hidden];
        for one in shims {
            for other in shims {
                assert_eq!(caller(&[one, other], Top::First, &[]), Caller::Ambiguous);
            }
        }
        assert_eq!(caller(&[], Top::First, &[ADA, ADA]), AS_ADA);
        assert_eq!(caller(&[], Top::First, &[ADA, BOB, ADA]), Caller::Ambiguous);
    }

    /// ID2
    #[test]
    fn a_cgroup_only_ever_lowers_rights() {
        let (agent, other) = (AS_ADA, Caller::Agent(AgentId(8)));
        for caller in [Caller::Person, agent, Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            assert_eq!(lowered(caller, None), caller);
            assert_eq!(lowered(caller, Some(JOB)), Caller::Job);
        }
        assert_eq!(lowered(Caller::Person, Some(ADA)), agent);
        assert_eq!(lowered(agent, Some(ADA)), agent);
        assert_eq!(lowered(other, Some(ADA)), Caller::Ambiguous);
        for caller in [Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            assert_eq!(lowered(caller, Some(ADA)), caller);
        }
    }

    #[test]
    fn a_daemon_is_started_by_a_person_below_no_shim() {
        let starter = |shims: &[ShimAbove], top, marks: &[Owner]| {
            evidence(shims, top).starter(|| marks.to_vec())
        };
        for top in [Top::First, Top::Namespace] {
            assert_eq!(starter(&[], top, &[]), Caller::Person);
            assert_eq!(starter(&[], top, &[ADA]), AS_ADA);
            assert_eq!(starter(&[], top, &[JOB]), Caller::Job);
        }
        for top in [Top::Daemon, Top::OrphanedJob, Top::Broken] {
            assert_eq!(starter(&[], top, &[]), Caller::Viewer, "{top:?}");
        }
        for shim in [ShimAbove::Claimed(ADA), ShimAbove::Claimed(JOB), ShimAbove::Hidden] {
            assert_eq!(starter(&[shim], Top::First, &[]), Caller::Viewer);
        }
    }
}
