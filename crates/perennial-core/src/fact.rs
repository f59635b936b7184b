//! What was seen of an agent CLI: facts, in no vendor's words.
//!
//! A fact says what was seen, by whom, when and in which conversation. It never says a state, a turn
//! or a reason: those are concluded in `hearing`. Dialects translate a vendor's words into facts;
//! the daemon's threads fetch them. Every text in a fact is bounded by its source.

use std::borrow::Cow;
use std::time::Duration;

use crate::context::Sample;
use crate::conversation::{ConversationId, Followed, Whereabouts};
use crate::id::MessageId;
use crate::symptom::Symptom;
use crate::text::Fingerprint;
use crate::time::Time;
use crate::work::Indicator;

/// A hook that reports the end of a turn is given a text within this after its call.
const TURN_END_WITHIN: Duration = Duration::from_secs(2);

/// One thing that was seen of one session. Which session travels beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub origin: Origin,
    /// The conversation that it was seen in, where its source names one.
    pub conversation: Option<ConversationId>,
    /// When it happened, where its source says so (a hook, when it was called; a status line, when it
    /// was drawn); otherwise when it is heard.
    pub at: Option<Time>,
    /// It lay in a file before this daemon looked: an earlier daemon may have heard it.
    pub is_old: bool,
    /// A text in reply reaches the model within the turn.
    pub is_answerable: bool,
    /// It reports that a turn is over, and a text in reply makes the turn go on.
    pub may_go_on: bool,
    /// Of a prompt: the messages whose ids stand in it.
    pub mentions: Vec<MessageId>,
    /// Of a prompt: what a version that recorded the beginnings of texts knows it by, if by another
    /// fingerprint.
    pub older_text: Option<Fingerprint>,
    pub seen: Seen,
}

/// Who saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The harness called a hook.
    Hook,
    StatusLine,
    Transcript,
    /// The vendor's own list of live sessions.
    List,
    /// Processes and connections.
    Kernel,
    /// The terminal: keys of a person, modes that the program sets.
    Terminal,
    /// The agent itself, by a tool of ours.
    Agent,
    /// What git itself writes down in the repository of the session's work tree.
    Git,
}

/// A vendor's name of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallName(pub String);

/// What was seen. Subagents are left out where nothing says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The program is up with the fact's conversation, or has just gone over to it.
    SessionBegan(Followed),
    /// A prompt was sent: typed, given at the start, or made by the harness itself.
    PromptSubmitted {
        text: Fingerprint,
    },
    /// A tool is called; its vendor gives the call no name here.
    ToolBegan,
    /// These tool calls have finished; others may have, too. Without names: one that was told of by
    /// `ToolBegan`.
    ToolsFinished {
        calls: Vec<CallName>,
        in_subagent: bool,
    },
    /// A dialog asks for permission, to use this tool where the source names one.
    PermissionAsked {
        tool: Option<String>,
    },
    /// A dialog asks something else.
    QuestionAsked,
    /// The harness says that it has been waiting for its person for a while.
    IdleTold,
    /// The model's reply is complete; these many tasks of the harness run on.
    ReplyEnded {
        background_tasks: u32,
    },
    /// The turn is over; whether it failed or was cancelled is in the transcript only.
    TurnOver,
    /// A text of ours was given in reply to the end of a turn: the turn goes on.
    TurnGoesOn,
    /// The harness gave up on a model call, or waits before it tries again.
    CallFailed(Failure),
    /// What was said before was replaced by a summary.
    Compacted,
    /// The harness is about to do that. Not certain: it says so before every call.
    CompactionAnnounced {
        is_certain: bool,
    },
    /// A text has this symptom of a window that is running out.
    Symptom(Symptom),
    /// The status line was drawn.
    StatusLine {
        model: Option<String>,
        sample: Option<Sample>,
    },
    /// The window was measured in another way.
    Measured {
        model: Option<String>,
        sample: Sample,
    },
    /// The transcript has a prompt.
    Prompt {
        text: Fingerprint,
    },
    /// The transcript has a prompt that a hook of the user's refused, in these words.
    PromptBlocked {
        text: Fingerprint,
        words: String,
    },
    /// The transcript has a text that a hook or the harness put beside a prompt or a result.
    Added {
        text: String,
    },
    /// The transcript has an answer of the model.
    Answered,
    ToolCalled(CallName),
    ToolAnswered(CallName),
    /// A person stopped the model.
    Interrupted,
    /// Everything that the conversation's transcript holds has been told.
    CaughtUp,
    /// The same, and nothing had been written since the look before.
    Settled,
    Listed(Listed),
    /// Nothing was heard or written for this long.
    Silence {
        lasted: Duration,
        /// The last byte on any open connection of the program was received this long ago. Nothing
        /// without a connection, or where they can't be seen.
        received: Option<Duration>,
    },
    /// The program was suspended from its terminal, which nobody uses now; or it goes on.
    Suspended,
    Continued,
    /// The program was suspended by somebody who may want it so.
    Paused(PausedBy),
    /// The input line was drawn: keys are read as a prompt from here on.
    InputLineDrawn,
    Keys(Keys),
    /// What the session did or said shows where its work stands; a subagent's deeds are its lead's.
    Worked(Indicator),
    /// There is a new commit in the session's work tree. Nothing says whose it is: others may work there.
    Committed,
}

/// Who suspended a program and may want it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PausedBy {
    /// A person, at the terminal, who is still there.
    Person,
    KillSignal,
}

/// Why a model call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Until then, if the vendor said so.
    RateLimit {
        until: Option<Time>,
    },
    /// The same, and the harness gave the turn up.
    LimitReached {
        until: Option<Time>,
    },
    /// Credentials, account or payment: no retry helps.
    Refused,
    Overloaded,
    /// The conversation no longer fits into the window.
    TooLong,
    /// The window was full again right after each of several compactions.
    Thrash,
    Other,
}

/// What the vendor's list has of a session, since the fact's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    Busy,
    Idle,
    /// A dialog asks for permission.
    Permission,
    /// A dialog asks something else.
    Question,
    /// A menu that a person opened.
    Menu,
}

/// What a person's keys have left in the input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keys {
    /// Nothing.
    #[default]
    Clear,
    /// A text that was not sent.
    Draft,
    /// Keys whose effect is not known: there may be a menu or a mode.
    Doubt,
}

impl Fact {
    /// Seen now, and nothing else is known of it.
    pub fn new(origin: Origin, seen: Seen) -> Fact {
        let (conversation, at) = (None, None);
        let (is_old, is_answerable, may_go_on) = (false, false, false);
        let (mentions, older_text) = (Vec::new(), None);
        Fact {
            origin,
            conversation,
            at,
            is_old,
            is_answerable,
            may_go_on,
            mentions,
            older_text,
            seen,
        }
    }

    pub fn within(self, conversation: Option<ConversationId>) -> Fact {
        Fact { conversation, ..self }
    }

    /// What counts of a fact whose conversation lies there. An agent does not go over to a conversation that is
    /// somebody else's: its session is heard as if it had named none, or had begun with the agent's own.
    pub fn within_own(self, own: Option<ConversationId>, lies: Whereabouts) -> Fact {
        if lies.is_followed() {
            self
        } else if matches!(self.seen, Seen::SessionBegan(_)) {
            Fact { conversation: own, seen: Seen::SessionBegan(Followed::Resumed), ..self }
        } else {
            Fact { conversation: None, ..self }
        }
    }

    /// Whether a text in reply to it makes a turn go on: it reports the end of one, and was called just now. One that
    /// was called long ago is no longer waited for.
    pub fn goes_on_by(&self, now: Time) -> bool {
        self.may_go_on && self.at.is_none_or(|at| now.since(at) < TURN_END_WITHIN)
    }

    /// The same as a daemon finds it that did not hear it when it was said: nobody waits for a reply any more.
    pub fn kept(self) -> Fact {
        Fact { is_old: true, is_answerable: false, may_go_on: false, ..self }
    }

    pub fn at(self, at: Option<Time>) -> Fact {
        Fact { at, ..self }
    }

    /// The same by the core's time, which the clock that dates facts is so far behind. What lay in a
    /// file before this daemon looked keeps its date: how far the clock was behind then is unknown.
    pub fn by_core_time(&self, behind: Duration) -> Cow<'_, Fact> {
        match self.at {
            Some(at) if !behind.is_zero() && !self.is_old => {
                Cow::Owned(Fact { at: Some(at + behind), ..self.clone() })
            }
            Some(_) | None => Cow::Borrowed(self),
        }
    }
}

impl Origin {
    /// Whether a process of the session tells it, whenever it likes. Files are read at a pace of ours.
    pub fn has_allowance(self) -> bool {
        match self {
            Origin::Hook | Origin::StatusLine => true,
            Origin::Transcript
            | Origin::List
            | Origin::Kernel
            | Origin::Terminal
            | Origin::Agent
            | Origin::Git => false,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Origin::Hook => "hook",
            Origin::StatusLine => "status-line",
            Origin::Transcript => "transcript",
            Origin::List => "list",
            Origin::Kernel => "kernel",
            Origin::Terminal => "terminal",
            Origin::Agent => "agent",
            Origin::Git => "git",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_keeps_its_own_conversation_where_another_is_named() {
        let id = |text: &str| text.parse::<ConversationId>().ok();
        let began = Seen::SessionBegan(Followed::Started);
        let began = Fact::new(Origin::Hook, began).within(id("theirs"));
        let asked = Fact::new(Origin::Hook, Seen::QuestionAsked).within(id("theirs"));
        for lies in [Whereabouts::Own, Whereabouts::Nowhere, Whereabouts::AmongOwn] {
            assert_eq!(began.clone().within_own(id("ours"), lies), began);
            assert_eq!(asked.clone().within_own(id("ours"), lies), asked);
        }
        for lies in [Whereabouts::Elsewhere, Whereabouts::OnlyOurCopy] {
            let kept = began.clone().within_own(id("ours"), lies);
            assert_eq!(kept.conversation, id("ours"));
            assert_eq!(kept.seen, Seen::SessionBegan(Followed::Resumed));
            assert_eq!(asked.clone().within_own(id("ours"), lies).conversation, None);
        }
    }
}
