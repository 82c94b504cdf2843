//! The `toolwright` command: hands over to [`toolwright_gateway::cli`].

use std::process::ExitCode;

/// An exchange makes and frees hundreds of small values, often on different threads. With the
/// system's allocator that is a fifth of its work. It does not ask for huge pages (`no_thp`): with
/// them, a thousand open streams take half as much memory again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(unix)]
    give_memory_back();
    toolwright_gateway::cli::run()
}

/// Has the allocator of a gateway give memory back to the system at once. By default it waits for a
/// second, in which a burst of large bodies takes more than twice the memory that they have. The
/// allocator reads its options before `main`, so the process is replaced by one with the option set.
#[cfg(unix)]
fn give_memory_back() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const OPTION: &str = "MIMALLOC_ARENA_PURGE_MULT";
    let mut arguments = env::args_os().skip(1).peekable();
    let is_gateway = arguments.peek().is_some_and(|command| command == "serve");
    if !is_gateway || env::var_os(OPTION).is_some() {
        return;
    }
    if let Ok(program) = env::current_exe() {
        // It returns only if it fails. Then the gateway runs as it is.
        let _failed = Command::new(program).args(arguments).env(OPTION, "0").exec();
    }
}
