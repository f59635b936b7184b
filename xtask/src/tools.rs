//! What the tests need from the machine, in one table, and how it gets there.
//!
//! Installed by name from the machine's own package source; never downloaded from anywhere else.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::program;

struct Tool {
    what: What,
    /// The Debian packages that bring it.
    packages: &'static [&'static str],
    why: &'static str,
}

enum What {
    Program(&'static str),
    /// A library that the C compiler finds.
    Library(&'static str),
    /// A program that npm brings at this version, below `AGENT_CLIS`.
    AgentCli {
        package: &'static str,
        version: &'static str,
        program: &'static str,
    },
}

/// Where agent CLIs are put for tests, below the home directory; nothing of the owner's is there.
const AGENT_CLIS: &str = ".cache/perennial-test-tools";

/// Codex itself is in a package of its own for each processor, beside the one that is named.
#[cfg(target_arch = "x86_64")]
const CODEX: &str = "../codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
#[cfg(not(target_arch = "x86_64"))]
const CODEX: &str = "../codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex";

const REAL_CLI: &str = "a real agent CLI, against our own model server";

/// A later need is one more line.
const TOOLS: &[Tool] = &[
    Tool {
        what: What::Program("cc"),
        packages: &["gcc", "libc6-dev"],
        why: "links Rust and compiles SQLite",
    },
    Tool {
        what: What::Library("libc.a"),
        packages: &["libc6-dev"],
        why: "the binary is linked static",
    },
    Tool { what: What::Program("ar"), packages: &["binutils"], why: "archives SQLite's objects" },
    Tool {
        what: What::Program("git"),
        packages: &["git"],
        why: "says which files belong to the repository",
    },
    Tool {
        what: What::Program("tmux"),
        packages: &["tmux"],
        why: "holds the agents of the tests of --host tmux",
    },
    Tool {
        what: What::Program("npm"),
        packages: &["npm"],
        why: "brings the agent CLIs that tests run",
    },
    Tool {
        what: What::AgentCli {
            package: "@anthropic-ai/claude-code",
            version: "2.1.325",
            program: "bin/claude.exe",
        },
        packages: &[],
        why: REAL_CLI,
    },
    Tool {
        what: What::AgentCli { package: "@openai/codex", version: "0.166.0", program: CODEX },
        packages: &[],
        why: REAL_CLI,
    },
    Tool {
        what: What::AgentCli {
            package: "@google/gemini-cli",
            version: "0.61.0",
            program: "bundle/gemini.js",
        },
        packages: &[],
        why: REAL_CLI,
    },
];

/// Installs what is missing, or says what a person has to install.
pub fn install_missing() -> Result<(), Failure> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|tool| tool.packages).copied().collect();
    if !packages.is_empty()
        && let Some(prefix) = administrator()
    {
        println!("installing: {}", packages.join(" "));
        let install = ["apt-get", "install", "--yes", "--no-install-recommends"];
        // A fresh machine has no package lists yet; a failure here shows in the next step.
        let _ = program::run(&[prefix, &["apt-get", "update", "--quiet"]].concat());
        let _ = program::run(&[prefix, &install, &packages].concat());
    }
    for tool in missing {
        if let What::AgentCli { package, version, .. } = tool.what {
            println!("installing: {package} {version}");
            let prefix = agent_clis().to_string_lossy().into_owned();
            let name = format!("{package}@{version}");
            let _ = program::run(&[
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--prefix",
                &prefix,
                &name,
            ]);
        }
    }
    require()
}

/// Fails with what to install if something is missing.
pub fn require() -> Result<(), Failure> {
    let tools: Vec<String> = missing()
        .iter()
        .map(|tool| {
            let (name, from) = match tool.what {
                What::Program(name) | What::Library(name) => {
                    (name.to_owned(), format!("package {}", tool.packages.join(", ")))
                }
                What::AgentCli { package, version, .. } => {
                    (package.to_owned(), format!("npm, {version}, below ~/{AGENT_CLIS}"))
                }
            };
            format!("{name} ({from}): {}", tool.why)
        })
        .collect();
    if tools.is_empty() { Ok(()) } else { Err(Failure::Missing { tools }) }
}

fn missing() -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| !is_there(&tool.what)).collect()
}

fn is_there(what: &What) -> bool {
    match what {
        What::Program(name) => program::find(name).is_some(),
        // A compiler that does not find it repeats the bare name.
        What::Library(name) => program::output(&["cc", &format!("-print-file-name={name}")])
            .is_ok_and(|answer| answer.trim_ascii() != name.as_bytes()),
        What::AgentCli { package, version, program } => {
            let dir = agent_clis().join("node_modules").join(package);
            let manifest = std::fs::read_to_string(dir.join("package.json")).unwrap_or_default();
            let named = format!("\"version\": \"{version}\"");
            manifest.contains(&named) && dir.join(program).is_file()
        }
    }
}

fn agent_clis() -> PathBuf {
    std::env::home_dir().unwrap_or_default().join(AGENT_CLIS)
}

/// What to put before a command so that it may install, if anything helps.
fn administrator() -> Option<&'static [&'static str]> {
    program::find("apt-get")?;
    let uid = program::output(&["id", "-u"]).ok()?;
    if uid.trim_ascii() == b"0" {
        return Some(&[]);
    }
    program::succeeds(&["sudo", "-n", "true"]).then_some(&["sudo", "-n"])
}
