//! What the thread tells its sink, in the words of the owner: an agent's session, or a job.

use perennial_core::id::SessionNumber;
use perennial_core::observation::Report;
use perennial_core::session::Process;

use super::super::jobs::JobReport;
use super::super::owner::Owner;
use super::run::Run;
use super::{HostReport, jobs};

impl Run {
    pub fn tell_began(&self, owner: Owner, shim: Process) {
        let Some(holder) = self.holders.get(&owner) else { return };
        let Some(current) = &holder.current else { return };
        (self.sink)(match owner {
            Owner::Agent(agent) => HostReport::Began { agent, shim },
            Owner::Job(job) => {
                let (number, report) = (current.number.0, JobReport::Held { shim, cgroup: None });
                HostReport::Job { job, number, report }
            }
        });
    }

    /// Who hears that it runs finds its holder connected.
    pub fn tell_executed(
        &self,
        owner: Owner,
        number: SessionNumber,
        shim: Option<Process>,
        cgroup: Option<u64>,
        process: Process,
    ) {
        if let Some(shim) = shim {
            (self.sink)(match owner {
                Owner::Agent(agent) => HostReport::Connected { agent, number, shim, cgroup },
                Owner::Job(job) => {
                    let report = JobReport::Held { shim, cgroup };
                    HostReport::Job { job, number: number.0, report }
                }
            });
        }
        (self.sink)(match owner {
            Owner::Agent(agent) => {
                HostReport::Session { agent, number, report: Report::Executed(process) }
            }
            Owner::Job(job) => {
                HostReport::Job { job, number: number.0, report: JobReport::Executed(process) }
            }
        });
    }

    pub fn tell_ended(&self, owner: Owner, number: SessionNumber) {
        let Some(holder) = self.holders.get(&owner) else { return };
        let ending = holder.current.as_ref().and_then(|current| current.ending.as_ref());
        let Some(ending) = ending else { return };
        (self.sink)(match owner {
            Owner::Agent(agent) => HostReport::Session { agent, number, report: ending.into() },
            Owner::Job(job) => {
                let report = jobs::ended(holder, number, ending);
                HostReport::Job { job, number: number.0, report }
            }
        });
    }

    /// A job is not shown as connected or not: it runs, or it has ended.
    pub fn tell_lost(&self, owner: Owner, number: SessionNumber, why: String) {
        match owner {
            Owner::Agent(agent) => {
                (self.sink)(HostReport::Disconnected { agent, number, why });
            }
            Owner::Job(job) => {
                tracing::info!(%job, %number, %why, "the holder of a job does not answer");
            }
        }
    }
}
