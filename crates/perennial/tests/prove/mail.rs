//! `mail`: agents write to each other while their programs and the daemon are killed. Judged by what the models
//! received: each mail that was acknowledged to its sender once, and in order for each sender.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use perennial_api::mail::{Mail, MailList};
use rustix::process::Signal;
use serde_json::json;
use understudy::Turn;

use crate::conformance::harness::Harness;
use crate::conformance::stage::{Stage, prompt};
use crate::processes;
use crate::proof::Proof;
use crate::sealed::{PROGRAM, finish};

const FOURTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/fourth/parley.toml");

const AGENTS: u64 = 20;
/// How many agents write in each trial, and how many mails each.
const SENDERS: u64 = 4;
const MAILS: u64 = 6;
/// The breaker opens at the fifth restart.
const CRASHES: usize = 3;

pub fn mail(proof: &mut Proof) {
    proof.home(|proof| {
        let mut harness = Harness::of_file(Path::new(FOURTH));
        harness.program = Some(Path::new(FOURTH).with_extension(""));
        let stage = Stage::new(&harness);
        stage.model_says([Turn::text("Understood.")]);
        for number in 0..AGENTS {
            let name = name(number);
            let words = ["spawn", &name, "--harness", "parley", "--prompt", "hello"];
            let ran = finish(stage.command(&words));
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        let mut kills = Kills::default();
        while proof.goes_on() {
            proof.begin_trial();
            (0..SENDERS).for_each(|_| writes(proof, &stage));
            proof.pass_up_to(1000);
            kills.add(proof, &stage);
        }
        judge(proof, &stage);
        println!("mail: {} programs and {} daemons were killed", kills.programs, kills.daemons);
    });
}

fn name(number: u64) -> String {
    format!("agent-{number}")
}

/// An agent's model writes to some others.
fn writes(proof: &mut Proof, stage: &Stage) {
    let from = name(proof.below(AGENTS));
    let file = acknowledged(stage).display().to_string();
    let mut send =
        |_| format!("{PROGRAM} mail send {} -m words >> '{file}'", name(proof.below(AGENTS)));
    let command = (0..MAILS).map(&mut send).collect::<Vec<_>>().join("; ");
    let turns = json!([{ "tools": stage.shell(&command) }, { "text": "Sent." }]);
    stage.sealed.ok(["send", &from, &prompt(&turns)]);
}

/// What senders were told, a line each.
fn acknowledged(stage: &Stage) -> PathBuf {
    stage.sealed.dir.join("acknowledged")
}

/// The mails that senders were told were sent, with their recipients.
fn sent(stage: &Stage) -> Vec<(String, String)> {
    let told = std::fs::read_to_string(acknowledged(stage)).unwrap_or_default();
    let words = told.lines().filter_map(|line| line.strip_prefix("sent ")?.split_once(" to "));
    let sent = words.filter_map(|(id, rest)| Some((id.to_owned(), rest.split(';').next()?.into())));
    sent.collect()
}

/// What was killed so far.
#[derive(Debug, Default)]
struct Kills {
    daemons: u64,
    programs: u64,
    by_agent: BTreeMap<String, usize>,
}

impl Kills {
    /// One program is killed, or the daemon: a trial without a kill there is not.
    fn add(&mut self, proof: &mut Proof, stage: &Stage) {
        let can_crash =
            |name: &String| self.by_agent.get(name).is_none_or(|count| *count < CRASHES);
        let victims: Vec<String> = (0..AGENTS).map(name).filter(can_crash).collect();
        if victims.is_empty() || proof.below(5) == 0 {
            stage.sealed.kill_daemon();
            stage.sealed.start_daemon();
            self.daemons += 1;
            return;
        }
        let victim = &victims[proof.below(victims.len() as u64) as usize];
        stage.until("its program is killed", || {
            let pid = stage.sealed.show(victim).session.and_then(|session| session.pid);
            let process = pid.and_then(processes::find);
            // One that has just ended can't be killed; the next one can.
            process.is_some_and(|process| processes::signal(process, Signal::KILL))
        });
        *self.by_agent.entry(victim.clone()).or_default() += 1;
        self.programs += 1;
    }
}

/// The mails to an agent, the oldest first.
fn mails(stage: &Stage, name: &str) -> Vec<Mail> {
    let list: MailList = stage.sealed.json(&["mail", "ls", name, "-n", "1000"]);
    list.mails.into_iter().rev().collect()
}

fn judge(proof: &mut Proof, stage: &Stage) {
    let mut listed = BTreeSet::new();
    // Nobody is judged while somebody may still write.
    for name in (0..AGENTS).map(name) {
        stage.until("its texts are seen", || {
            let agent = stage.sealed.show(&name);
            agent.reason == "idle" && agent.texts_waiting == 0
        });
    }
    for name in (0..AGENTS).map(name) {
        let is_seen = |mail: &Mail| mail.state == "seen";
        stage.until("every mail is seen", || {
            stage.sealed.show(&name).reason == "idle" && mails(stage, &name).iter().all(is_seen)
        });
        // A last request has all that the model was ever told.
        let last = format!("that was all, {name}");
        stage.sealed.ok(["send", &name, "--wait", &last]);
        stage.told(&last);
        let requests = stage.requests();
        let request = requests.iter().rev().find(|record| record.request.contains(&last));
        let Some(request) = request else {
            proof.violated(&format!("{name} has no last request"));
            continue;
        };
        let texts = request.request.messages.iter().map(|message| message.text());
        let told = texts.collect::<Vec<_>>().join("\n");
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for mail in mails(stage, &name) {
            listed.insert((mail.id.clone(), name.clone()));
            // In a list or in a sentence: its input line has no second line.
            let header = format!("{} from ", mail.id);
            let found: Vec<usize> = told.match_indices(&header).map(|(at, _)| at).collect();
            match found[..] {
                [at] if places.insert(mail.from.clone(), at).is_none_or(|last| last < at) => {}
                [_] => proof.violated(&format!("{} to {name} is out of order", mail.id)),
                [] => proof.violated(&format!("{} to {name} is lost", mail.id)),
                _ => proof.violated(&format!("{} to {name} was told {}×", mail.id, found.len())),
            }
        }
    }
    let sent = sent(stage);
    for (id, name) in sent.iter().filter(|mail| !listed.contains(mail)) {
        proof.violated(&format!("{id} to {name} was acknowledged and is not listed"));
    }
    if sent.is_empty() {
        proof.violated("no mail was acknowledged");
    }
    println!("mail: {} mails were sent, {} of them acknowledged", listed.len(), sent.len());
}
