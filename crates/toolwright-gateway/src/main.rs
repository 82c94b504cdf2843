//! The `toolwright` command: hands over to [`toolwright_gateway::cli`].

use std::process::ExitCode;

/// An exchange makes and frees hundreds of small values, often on different threads. With the
/// system's allocator that is a fifth of its work. It does not ask for huge pages (`no_thp`): with
/// them, a thousand open streams take half as much memory again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    toolwright_gateway::cli::run()
}
