//! Exploration is worth something only if it finds what is wrong: each mutation has to be caught,
//! within a bounded number of worlds.
//!
//! `PERENNIAL_FIRST_SEED=10000` tries other worlds.

use perennial_sim::{Mutation, explore_mutated};

const SEEDS: u64 = 4000;

fn caught(mutation: Mutation) {
    let first = std::env::var("PERENNIAL_FIRST_SEED").ok();
    let first = first.map_or(0, |first| first.parse::<u64>().expect("a number"));
    match explore_mutated(first..first + SEEDS, Some(mutation)) {
        Ok(summary) => panic!("{mutation:?} was not found: {summary}"),
        Err(violation) => println!("seed {}: {}", violation.seed, violation.property),
    }
}

macro_rules! caught {
    ($($name:ident: $mutation:ident,)*) => {
        $(#[test] fn $name() { caught(Mutation::$mutation) })*
        #[test]
        fn all_are_listed_here() {
            assert_eq!(Mutation::ALL.len(), [$(Mutation::$mutation),*].len());
        }
    };
}

caught! {
    acting_before_durable: ActBeforeDurable,
    answering_before_durable: AnswerBeforeDurable,
    dropping_exits: DropExit,
    forgetting_the_fence: ForgetFence,
    keeping_a_retry_after_stop: StopKeepsRetry,
    ended_when_asked: EndedWhenAsked,
    losing_untold_reports: LoseUntold,
    sharing_the_claim: SharedClaim,
    tearing_appends: TornAppend,
    taking_appends_behind_a_failed_one: UnchainedAppends,
    ignoring_versions: VersionsIgnored,
    polite_exits: PoliteExits,
    always_beginning_anew: FreshAlways,
    forgetting_the_fence_of_signs: ForgetSignFence,
    losing_new_windows: LoseWindow,
    losing_conversations: LoseBegan,
    not_holding_the_damaged: DamageNotHeld,
    taking_term_for_clean: TermIsClean,
    stopping_without_effect: StopWithoutEffect,
    obeying_any_agent: AgentsAreObeyed,
    not_noticing_a_jump: JumpUnnoticed,
    beginning_beside_the_old_tree: NextBesideTree,
    forgetting_what_was_typed: HolderForgets,
    running_a_job_again: JobRunsAgain,
    hearing_what_was_only_entered: HeardWhenEntered,
    settling_at_once: SettledAtOnce,
    forgetting_the_fence_of_attempts: ForgetAttempt,
    giving_up_in_a_turn: GiveUpInTurn,
    taking_every_answer_for_late: AnswersAreLate,
    taking_back_without_effect: UnsendWithoutEffect,
    losing_prompts: LosePrompts,
    losing_mentions: LoseMentions,
    losing_the_end_of_a_conversation: LoseSettled,
    losing_what_could_not_be_typed: LoseHeld,
    giving_texts_to_a_hook_before_durable: HookBeforeDurable,
    mail_in_vain: MailInVain,
    mail_twice_in_a_reply: MailTwice,
    mail_in_reverse: MailReversed,
    a_reply_without_its_first_mail: MailSkipped,
    mail_that_counts_as_seen_unread: MailSeenUnread,
    mail_that_is_not_written_down: MailUnwritten,
    losing_the_ids_of_mail: LoseMailIds,
    a_list_in_reverse: ListReversed,
    mail_twice_in_a_list: ListTwice,
}
