//! Agent clients, installed unmodified and run headless through the gateway against strict fake
//! upstreams: `conformance/clients.py`.

use crate::build::{self, BINARY};
use crate::conformance::sdks;
use crate::packages::{NodePackages, Venv};
use crate::run::{Failure, Outcome};

const SCRIPT: &str = "conformance/clients.py";
const INSTALLED: &str = "target/clients";
const JAVASCRIPT: NodePackages =
    NodePackages { source: "conformance/agents/js", folder: "target/clients/js" };

/// Checks the options; every other argument is the name of a client.
pub(crate) fn run(words: &[&str]) -> Outcome {
    if let Some(word) =
        words.iter().find(|word| word.starts_with('-') && !["--quick", "--write"].contains(word))
    {
        return Err(Failure(format!("unknown option {word}")));
    }
    build::gateway()?;
    let sdks = sdks();
    sdks.install()?;
    let environments =
        sdks.python(SCRIPT).with(&["--environments"]).with(words).with(&["."]).read()?;
    for environment in environments.lines() {
        install(environment)?;
    }
    let options = ["--binary", BINARY, "--installed", INSTALLED];
    sdks.python(SCRIPT).with(&options).with(words).with(&["."]).run()
}

/// Installs the packages of one environment.
fn install(environment: &str) -> Outcome {
    if environment == "js" {
        return JAVASCRIPT.install();
    }
    let requirements = format!("conformance/agents/requirements/{environment}.txt");
    Venv::new(format!("{INSTALLED}/{environment}"), requirements).install()
}
