//! The `toolwright` command: reads its arguments and hands over to `cli`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
