//! Lines into steps, one conversation at a time. Reads no file, and keeps no text.
//!
//! Invariants
//! - PL1  A line is told once, also when the file is read again from its beginning.
//! - PL2  A line that can't be read is counted, and is no step.

use std::collections::HashSet;

use super::line::{Damaged, Line};
use crate::transcript::line_reader::{ContextUse, LineReader, Notes};
use crate::transcript::step::{Compaction, Content, Step, StepId};

#[derive(Debug)]
pub struct Reader {
    told: HashSet<StepId>,
    context: ContextUse,
    notes: Notes,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { told: HashSet::new(), context: ContextUse::Unknown, notes: Notes::default() }
    }
}

impl LineReader for Reader {
    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) {
        self.notes.lines += 1;
        if self.tell(line, each).is_err() {
            self.notes.damaged += 1;
        }
    }

    fn restart(&mut self) {
        self.notes = Notes::default();
    }

    fn oversized(&mut self) {
        self.notes.lines += 1;
        self.notes.damaged += 1;
    }

    fn notes(&self) -> Notes {
        self.notes
    }

    fn context(&self) -> ContextUse {
        self.context
    }
}

impl Reader {
    fn tell(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) -> Result<(), Damaged> {
        let line = Line::read(line)?;
        let Some(content) = line.content()? else {
            self.notes.unknown += 1;
            return Ok(());
        };
        if !self.told.insert(line.id()) {
            return Ok(());
        }
        if let Content::Usage(usage) = &content {
            self.context = ContextUse::Measured { tokens: usage.tokens.context() };
        }
        if let Content::Compaction(Compaction { post_tokens, .. }) = &content {
            self.context = ContextUse::Compacted { tokens: *post_tokens };
        }
        let (id, time) = (Some(line.id()), line.time());
        each(Step { id, parent: None, time, is_subagent: false, content });
        Ok(())
    }
}
