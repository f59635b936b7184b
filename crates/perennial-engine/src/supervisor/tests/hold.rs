//! U10: a compaction waits for the checkpoint that is taken before it, and not for long.

use std::sync::Arc;

use perennial_core::checkpoint::{self, CheckpointCause, CheckpointDraft, Material};
use perennial_core::keeping::KEEP_WITHIN;
use perennial_core::text::{Digest, Text};

use super::*;

/// A session whose compaction was announced, and the append that records it.
fn announced() -> (Supervisor, AppendId) {
    let mut supervisor = running();
    let began = Seen::SessionBegan(Followed::Started);
    let fact = Fact::new(Origin::Hook, began).within("c-1".parse().ok());
    carried(&mut supervisor, Input::Heard { agent: AGENT, number: NUMBER, fact });
    let seen = Seen::CompactionAnnounced { is_certain: true };
    let outputs = supervisor.step(heard(Origin::Hook, seen), later(1));
    let append = appended(&outputs);
    (supervisor, append)
}

fn later(micros: u64) -> Time {
    Time(NOW.0 + micros)
}

fn hold(waiter: u64) -> Input {
    Input::Hold { waiter: Waiter(waiter), agent: AGENT }
}

/// What the shell composes of the agent as it is now.
fn composed(supervisor: &Supervisor) -> Input {
    let agent = supervisor.fleet().agent(AGENT).expect("an agent");
    let content = checkpoint::compose(agent, &Fleet::default(), Material::default(), later(2));
    let text = Text { digest: Digest([7; 32]), bytes: 2, head: "{}".into() };
    let body = TextBody { text, body: Arc::from("{}") };
    let draft = CheckpointDraft { after: checkpoint::number(agent), content, body, files: None };
    let why = CheckpointCause::BeforeCompaction;
    Input::Observed(Observation::Composed { agent: AGENT, why, draft: Box::new(draft) })
}

#[test]
fn a_compaction_waits_until_its_checkpoint_is_durable() {
    let (mut supervisor, append) = announced();
    assert_eq!(replies(&supervisor.step(hold(2), later(1))), [], "it is on its way");
    assert_eq!(replies(&supervisor.step(Input::Durable(append, Seq(0)), later(2))), []);
    let taken = composed(&supervisor);
    let append = appended(&supervisor.step(taken, later(3)));
    assert_eq!(replies(&supervisor.step(hold(3), later(3))), [(3, 0)], "nothing is missing");
    assert_eq!(replies(&supervisor.step(Input::Tick, later(4))), [], "not durable yet");
    assert_eq!(replies(&supervisor.step(Input::Durable(append, Seq(0)), later(5))), [(2, 0)]);
}

#[test]
fn a_compaction_waits_no_longer_than_a_snapshot_may_take() {
    let (mut supervisor, append) = announced();
    assert_eq!(replies(&supervisor.step(hold(2), later(1))), []);
    carried(&mut supervisor, Input::Durable(append, Seq(0)));
    let until = later(1) + KEEP_WITHIN;
    assert!(supervisor.next_due().is_some_and(|due| due <= until));
    assert_eq!(replies(&supervisor.step(Input::Tick, Time(until.0 - 1))), []);
    assert_eq!(replies(&supervisor.step(Input::Tick, until)), [(2, 0)]);
    // One that announces nothing that counts is answered at once.
    let mut supervisor = running();
    assert_eq!(replies(&supervisor.step(hold(4), NOW)), [(4, 0)]);
}
