//! What is said of a suspended program.

use perennial_core::fact::PausedBy;
use perennial_core::hearing::Suspension;

/// The word for programs, where a suspended program is the reason that nothing happens.
pub const WORD: &str = "suspended";

/// That the program is suspended, and how it is continued.
pub fn sentence(why: Suspension, pid: Option<i32>) -> String {
    let by_hand = pid.map(|pid| format!("`kill -CONT {pid}`"));
    let by_hand = by_hand.unwrap_or_else(|| "SIGCONT".to_owned());
    match why {
        Suspension::Forgotten => "suspended; being continued".to_owned(),
        Suspension::Wanted(PausedBy::Person) => {
            format!("suspended by the person attached; continues on detach or by {by_hand}")
        }
        Suspension::Wanted(PausedBy::KillSignal) => {
            format!("suspended by SIGSTOP; {by_hand} continues it")
        }
    }
}
