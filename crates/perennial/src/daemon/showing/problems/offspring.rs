//! Problems of agents that want children.

use perennial_api::Problem;
use perennial_core::fleet::Excess;

/// To an agent that wants a child with more than it has itself, or one too many.
pub fn above_own(excess: Excess) -> Problem {
    let why = match excess {
        Excess::Program => {
            "an agent starts agents by --harness, without a command, arguments or variables of its own"
                .to_owned()
        }
        Excess::Parent => "the parent must be the agent itself".to_owned(),
        Excess::Directory => "the directory must be the agent's own, or below it".to_owned(),
        Excess::PermissionMode => {
            "the permission mode would allow more than the agent's own; of another agent CLI, only the \
             least mode is certain to allow less"
                .to_owned()
        }
        Excess::Trust => "only a person may trust a directory".to_owned(),
        Excess::Conversation => "only a person may hand over a conversation".to_owned(),
        Excess::Host => "only a person may choose where an agent's terminal is".to_owned(),
        Excess::Children(most) => {
            format!(
                "an agent may have {most} children that are not buried, sleeping ones included \
                 (`children_max` in config.toml)"
            )
        }
        Excess::Depth(most) => format!(
            "agents that agents start may be {most} levels below the one that you started \
             (`depth_max` in config.toml)"
        ),
    };
    Problem::new(403, "not-allowed", "an agent may not start this agent")
        .because(why)
        .next("ask for less, or ask the operator to start the agent")
}
