//! The `toolwright` command: hands over to [`toolwright_gateway::cli`].

use std::process::ExitCode;

/// An exchange makes and frees hundreds of small values, often on different threads. With the
/// system's allocator that is a fifth of its work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    toolwright_gateway::cli::run()
}
