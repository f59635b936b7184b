//! The tree of a transcript's lines, and the branch that goes on.
//!
//! Invariants
//! - BR1  The current branch ends in the newest line that is part of the conversation itself.
//! - BR2  A walk ends, also where lines name each other as parents in a circle.

use std::collections::HashMap;

use crate::transcript::step::StepId;

/// What a line says of the context, for whatever hangs off it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearing {
    None,
    /// A model answered with this number of tokens before it.
    Measured(u64),
    /// Everything before was replaced by a summary of this number of tokens, if the CLI said how many.
    Compacted(Option<u64>),
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: Option<StepId>,
    bearing: Bearing,
}

#[derive(Debug, Default)]
pub struct Tree {
    nodes: HashMap<StepId, Node>,
    leaf: Option<StepId>,
}

impl Tree {
    /// Takes up a line; returns whether it was not there yet.
    pub fn add(&mut self, id: StepId, parent: Option<StepId>, bearing: Bearing) -> bool {
        self.nodes.insert(id, Node { parent, bearing }).is_none()
    }

    pub fn set_leaf(&mut self, leaf: Option<StepId>) {
        self.leaf = leaf;
    }

    /// From the newest line to the first.
    pub fn branch(&self) -> impl Iterator<Item = (StepId, Bearing)> {
        let mut next = self.leaf;
        let walk = std::iter::from_fn(move || {
            let id = next?;
            let node = self.nodes.get(&id)?;
            next = node.parent;
            Some((id, node.bearing))
        });
        walk.take(self.nodes.len())
    }
}
