//! Judges MCP on both sides with the official suite, SDKs and servers: `conformance/mcp/suite.py`.

use crate::build::{self, BINARY};
use crate::conformance::sdks;
use crate::packages::{NodePackages, Venv};
use crate::run::Outcome;

pub(crate) const PACKAGES: NodePackages =
    NodePackages { source: "conformance/mcp", folder: "target/conformance-mcp" };

/// Builds the gateway and the client, and runs the suite.
pub(crate) fn run() -> Outcome {
    build::gateway()?;
    let client = build::example("check_mcp")?;
    let fixtures = build::example("serve_mcp_fixtures")?;
    let current = python_sdk();
    let sqlite = venv("mcp-sqlite-venv", "sqlite-requirements.txt");
    current.install()?;
    sqlite.install()?;
    let chat = sdks();
    chat.install()?;
    PACKAGES.install()?;
    current
        .python("conformance/mcp/suite.py")
        .with(&["--binary", BINARY, "--fixtures", &fixtures, "--client", &client])
        .with(&["--packages", PACKAGES.folder, "--venv", &current.folder])
        .with(&["--sqlite-venv", &sqlite.folder, "--chat-venv", &chat.folder])
        .run_shown()
}

/// The official SDK for Python, and servers on it.
pub(crate) fn python_sdk() -> Venv {
    venv("mcp-venv", "requirements.txt")
}

fn venv(name: &str, requirements: &str) -> Venv {
    Venv::new(format!("target/{name}"), format!("conformance/mcp/{requirements}"))
}
