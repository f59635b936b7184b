//! What each event makes of a message.

use super::{Held, Message, MessageEvent, MessageState, OfferProgress};
use crate::time::Time;

/// Folds one event into a message; returns whether the message has ended.
pub(super) fn fold(message: &mut Message, event: &MessageEvent, at: Time) -> bool {
    let progressed = |message: &mut Message, to: OfferProgress| {
        message.left_in = None;
        if let MessageState::Offered { progress, at: known, .. } = &mut message.state {
            (*progress, *known) = ((*progress).max(to), at);
        }
    };
    match event {
        MessageEvent::Recorded { .. } => false,
        MessageEvent::Offered { session, attempt, channel, with, behind } => {
            message.attempts = *attempt;
            message.last_session = Some(*session);
            // The clock may have been set back since the first offer.
            let dated = at.before(*behind);
            message.first_offered_at =
                Some(message.first_offered_at.map_or(dated, |t| t.min(dated)));
            let progress = OfferProgress::Given;
            let channel = channel.unwrap_or_else(|| message.own_channel());
            let (session, with) = (*session, *with);
            message.state = MessageState::Offered { session, at, progress, channel, with };
            false
        }
        MessageEvent::Entered { is_last, .. } => {
            progressed(message, OfferProgress::Entered);
            *is_last
        }
        MessageEvent::Heard { .. } => {
            progressed(message, OfferProgress::Heard);
            false
        }
        MessageEvent::Held { why, until, .. } => {
            if why.may_leave_text() {
                message.left_in = message.last_session;
            } else if *why == Held::NotTaken {
                message.left_in = None;
            }
            message.state = MessageState::Waiting { after: Some(*why), until: *until };
            false
        }
        MessageEvent::Blocked { words, .. } => {
            message.left_in = None;
            message.hook_words = Some(words.clone());
            message.state = Message::BLOCKED;
            false
        }
        MessageEvent::Forwarded { to } => {
            message.to = to.clone();
            // What sessions of another agent did with it says nothing of the next one's.
            (message.last_session, message.left_in, message.hook_words) = (None, None, None);
            (message.first_offered_at, message.state) =
                (None, MessageState::Waiting { after: None, until: at });
            false
        }
        MessageEvent::Seen { .. }
        | MessageEvent::Read { .. }
        | MessageEvent::Withdrawn { .. }
        | MessageEvent::Returned => true,
    }
}
