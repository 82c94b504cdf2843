//! The `toolwright` command: hands over to [`toolwright_gateway::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    toolwright_gateway::cli::run()
}
