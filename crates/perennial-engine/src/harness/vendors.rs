//! The vendors whose dialects are built in: the one list that names them.

use super::claude::Claude;
use super::dialect::Dialect;

/// Every dialect. The first one's preset is meant where a harness is needed and none is named.
pub const DIALECTS: [&dyn Dialect; 1] = [&Claude];
