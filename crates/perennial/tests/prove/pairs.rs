//! `pairs`: two texts that are sent at the same moment, to an idle agent and to one in a turn.

use crate::conversation::Conversation;
use crate::proof::Proof;

const TRIALS: usize = 25;

pub fn pairs(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let mut conversation = Conversation::start();
            for _ in 0..TRIALS {
                if !proof.goes_on() {
                    break;
                }
                proof.begin_trial();
                if proof.below(2) == 0 {
                    conversation.begin_turn("0.7");
                    proof.pass_up_to(500);
                }
                for token in conversation.send_pair() {
                    conversation.arrives(&token);
                }
            }
            conversation.judge(proof);
        });
    }
}
