//! What every host promises: orders go in, reports come out.

use perennial_core::conversation::Opening;
use perennial_core::effect::Action;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::SessionNumber;
use perennial_core::launch::{BARE_COMMAND, Host as Holder, Launch, Options};
use perennial_core::observation::Report;
use perennial_core::session::{Pace, Process};
use perennial_sim::SimulatedHost;

use crate::real_host::RealHost;

/// What a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Runs until it is asked to end, and ends then with code 0.
    Obeys,
    /// Runs until it is killed.
    Deaf,
    /// Ends with code 7.
    Exits,
    /// Can't be executed.
    Missing,
}

/// A host of one agent.
pub trait Host {
    fn start(&mut self, number: SessionNumber, program: Program);
    fn order(&mut self, number: SessionNumber, action: Action);
    /// The next report; `None` if none comes.
    fn report(&mut self) -> Option<(SessionNumber, Report)>;
    fn kill_holder(&mut self);
    fn kill_program(&mut self, number: SessionNumber, process: Process);
    /// Its daemon goes; nothing is heard until another one starts.
    fn stop_daemon(&mut self);
    fn start_daemon(&mut self);
    /// Whether a holder is left, once it had the time to go.
    fn has_holder(&mut self) -> bool;
}

enum Step {
    Start(u32, Program),
    Hold(u32),
    End(u32, Pace),
    Release(u32),
    KillHolder,
    KillProgram(u32),
    StopDaemon,
    StartDaemon,
    /// It is reported to run, as the same process each time.
    Runs(u32),
    Ended(u32, Exit),
    HolderGone,
}

use Program::*;
use Step::*;

const NOT_STARTED: Exit = Exit::Unknown(UnknownExit::NotStarted);
const HOLDER_DIED: Exit = Exit::Unknown(UnknownExit::HolderDied);
const KILLED: Exit = Exit::KillSignal(9);
const EXITED: Exit = Exit::Code(7);
const OBEYED: Exit = Exit::Code(0);

const TABLE: &[(&str, &[Step])] = &[
    ("a session runs and ends by itself", &[Start(1, Exits), Runs(1), Ended(1, EXITED)]),
    ("the same start again", &[Start(1, Obeys), Runs(1), Start(1, Obeys), Runs(1)]),
    (
        "the same start after its end runs nothing",
        &[Start(1, Exits), Runs(1), Ended(1, EXITED), Start(1, Obeys), Ended(1, EXITED)],
    ),
    ("the next session", &[Start(1, Exits), Runs(1), Ended(1, EXITED), Start(2, Obeys), Runs(2)]),
    (
        "orders about an earlier session touch nobody",
        &[
            Start(1, Exits),
            Runs(1),
            Ended(1, EXITED),
            Start(2, Obeys),
            Runs(2),
            End(1, Pace::AtOnce),
            Release(1),
            Hold(2),
            Runs(2),
        ],
    ),
    (
        "ended before it began, it never begins",
        &[
            End(1, Pace::Graceful),
            Ended(1, NOT_STARTED),
            Start(1, Obeys),
            Ended(1, NOT_STARTED),
            Start(2, Obeys),
            Runs(2),
        ],
    ),
    (
        "a program that can't be executed",
        &[Start(1, Missing), Ended(1, NOT_STARTED), Start(2, Obeys), Runs(2)],
    ),
    (
        "asked to end, it may do so in order",
        &[Start(1, Obeys), Runs(1), End(1, Pace::Graceful), Ended(1, OBEYED)],
    ),
    (
        "asked to end and deaf, it is killed",
        &[Start(1, Deaf), Runs(1), End(1, Pace::Graceful), Ended(1, KILLED)],
    ),
    (
        "ended at once",
        &[
            Start(1, Obeys),
            Runs(1),
            End(1, Pace::AtOnce),
            Ended(1, KILLED),
            Start(2, Obeys),
            Runs(2),
        ],
    ),
    (
        "the end is told again to who asks for it",
        &[
            Start(1, Obeys),
            Runs(1),
            End(1, Pace::AtOnce),
            Ended(1, KILLED),
            End(1, Pace::AtOnce),
            Ended(1, KILLED),
        ],
    ),
    (
        "a killed holder takes its session along",
        &[Start(1, Obeys), Runs(1), KillHolder, Ended(1, HOLDER_DIED), Start(2, Obeys), Runs(2)],
    ),
    (
        "the next daemon adopts what runs",
        &[
            Start(1, Obeys),
            Runs(1),
            StopDaemon,
            StartDaemon,
            Hold(1),
            Runs(1),
            End(1, Pace::Graceful),
            Ended(1, OBEYED),
        ],
    ),
    (
        "a start ordered by an earlier daemon is not repeated",
        &[Start(1, Obeys), Runs(1), StopDaemon, StartDaemon, Start(1, Obeys), Runs(1)],
    ),
    (
        "the next daemon hears of an end that nobody saw",
        &[
            Start(1, Obeys),
            Runs(1),
            StopDaemon,
            KillProgram(1),
            HolderGone,
            StartDaemon,
            Hold(1),
            Ended(1, KILLED),
        ],
    ),
    (
        "the next daemon finds a killed holder's session ended",
        &[
            Start(1, Deaf),
            Runs(1),
            StopDaemon,
            KillHolder,
            StartDaemon,
            Hold(1),
            Ended(1, HOLDER_DIED),
        ],
    ),
    (
        "a released holder goes, and the next session gets another",
        &[
            Start(1, Exits),
            Runs(1),
            Ended(1, EXITED),
            Release(1),
            HolderGone,
            Start(2, Obeys),
            Runs(2),
        ],
    ),
];

/// Runs one row; says what is wrong.
fn run(host: &mut dyn Host, steps: &[Step]) -> Result<(), String> {
    let mut processes: Vec<(u32, Process)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let at = index + 1;
        match step {
            Start(number, program) => host.start(SessionNumber(*number), *program),
            Hold(number) => host.order(SessionNumber(*number), Action::Hold),
            End(number, pace) => host.order(SessionNumber(*number), Action::End(*pace)),
            Release(number) => host.order(SessionNumber(*number), Action::Release),
            KillHolder => host.kill_holder(),
            KillProgram(number) => {
                let process = processes.iter().find(|(of, _)| of == number);
                let (_, process) = process.ok_or(format!("step {at}: it does not run"))?;
                host.kill_program(SessionNumber(*number), *process);
            }
            StopDaemon => host.stop_daemon(),
            StartDaemon => host.start_daemon(),
            Runs(number) => {
                let process = runs(host, *number).map_err(|why| format!("step {at}: {why}"))?;
                match processes.iter().find(|(of, _)| of == number) {
                    Some((_, earlier)) if *earlier != process => {
                        return Err(format!("step {at}: {earlier:?} became {process:?}"));
                    }
                    Some(_) => {}
                    None => processes.push((*number, process)),
                }
            }
            Ended(number, exit) => {
                let found = ended(host, *number).map_err(|why| format!("step {at}: {why}"))?;
                if found != *exit {
                    return Err(format!("step {at}: ended {found:?}, not {exit:?}"));
                }
            }
            HolderGone => {
                if host.has_holder() {
                    return Err(format!("step {at}: the holder is still there"));
                }
            }
        }
    }
    Ok(())
}

/// Waits for the word that a session runs.
fn runs(host: &mut dyn Host, number: u32) -> Result<Process, String> {
    loop {
        match host.report() {
            Some((of, Report::Executed(process))) if of.0 == number => return Ok(process),
            Some((of, report)) if of.0 == number => return Err(format!("{report:?}")),
            // What is told of an earlier session again.
            Some(_) => {}
            None => return Err("nobody says that it runs".to_owned()),
        }
    }
}

/// Waits for the word that a session ended; that it runs may be told again before.
fn ended(host: &mut dyn Host, number: u32) -> Result<Exit, String> {
    loop {
        match host.report() {
            Some((of, report)) if of.0 == number => {
                if let Some(exit) = report.exit() {
                    return Ok(exit);
                }
            }
            Some(_) => {}
            None => return Err("nobody says that it ended".to_owned()),
        }
    }
}

fn keeps_the_contract<H: Host>(new: impl Fn() -> H) {
    let broken: Vec<String> = TABLE
        .iter()
        .filter_map(|(row, steps)| {
            let why = run(&mut new(), steps).err()?;
            Some(format!("{row}: {why}"))
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_simulated_host_keeps_the_contract() {
    keeps_the_contract(SimulatedHost::new);
}

#[test]
fn the_real_host_keeps_the_contract() {
    keeps_the_contract(RealHost::new);
}

pub fn launch(dir: &str, argv: &[&str]) -> Launch {
    Launch {
        harness: BARE_COMMAND.to_owned(),
        host: Holder::Shim,
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        dir: dir.to_owned(),
        env_names: Vec::new(),
        project: dir.to_owned(),
        options: Options::default(),
    }
}

impl Host for SimulatedHost {
    fn start(&mut self, number: SessionNumber, program: Program) {
        self.program(match program {
            Obeys => "steady",
            Deaf => "deaf",
            Exits => "exit:7@10ms",
            Missing => "missing",
        });
        self.order(number, Action::Start(Box::new(launch("/", &["program"])), Opening::Bare));
    }

    fn order(&mut self, number: SessionNumber, action: Action) {
        self.order(number, action);
    }

    fn report(&mut self) -> Option<(SessionNumber, Report)> {
        self.report()
    }

    fn kill_holder(&mut self) {
        self.kill_holder();
    }

    fn kill_program(&mut self, number: SessionNumber, _process: Process) {
        self.kill_program(number);
    }

    fn stop_daemon(&mut self) {
        self.stop_daemon();
    }

    fn start_daemon(&mut self) {
        self.start_daemon();
    }

    fn has_holder(&mut self) -> bool {
        self.has_holder()
    }
}
