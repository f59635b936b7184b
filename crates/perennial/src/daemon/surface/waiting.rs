//! Looks at directories of agents and of projects, on threads that may wait: such a file system may be slow, or hang, and
//! the thread that answers everybody must not wait for it.

use std::path::{Path, PathBuf};

use super::answer::ProblemResponse;
use super::{checks, project};
use crate::daemon::driving::driver::Closing;

pub(super) async fn on_waiting_thread<T: Send + 'static>(
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProblemResponse> {
    Ok(tokio::task::spawn_blocking(look).await.map_err(|_| Closing)?)
}

/// The project that a directory belongs to, if that is there.
pub(super) async fn project_of_directory(dir: &str) -> Result<String, ProblemResponse> {
    let dir = dir.to_owned();
    let look = move || checks::directory(&dir).map(|dir| text(&project::of(&dir)));
    on_waiting_thread(look).await?.map_err(ProblemResponse)
}

/// The project that a path would belong to, whether there is anything or not.
pub(super) async fn project_of(path: impl Into<PathBuf>) -> Result<String, ProblemResponse> {
    let path = path.into();
    on_waiting_thread(move || text(&project::of(&path))).await
}

fn text(project: &Path) -> String {
    project.to_string_lossy().into_owned()
}
