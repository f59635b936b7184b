//! Why the mirror can't be in a project's work tree.

use std::io;
use std::path::Path;

use perennial_api::Problem;

use super::super::render::text::plain;

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

pub fn no_directory(dir: &Path, error: &io::Error) -> Problem {
    Problem::new(404, "no-directory", format!("can't use the directory {}", shown(dir)))
        .because(error.to_string())
        .next("name a directory of the project: perennial init ~/work/site")
}

pub fn no_work_tree(project: &Path) -> Problem {
    Problem::new(400, "no-work-tree", format!("{} has no main work tree", shown(project)))
        .because(
            "it is a bare repository or a submodule's, with no directory beside it to put files in",
        )
        .next("run `perennial init` in an ordinary clone")
}

pub fn in_the_way(own: &Path) -> Problem {
    Problem::new(409, "init-refused", format!("{} is not Perennial's", shown(own)))
        .because("it is a link, a file, or a directory that `perennial init` did not make; nothing was changed")
        .next("move it elsewhere, then run `perennial init` again")
}

pub fn not_made(own: &Path, error: &io::Error) -> Problem {
    Problem::new(500, "init-failed", format!("can't set up {}", shown(own)))
        .because(error.to_string())
        .next("check who may write there; `perennial init` can be run again")
}
