//! The `toolwright` command: hands over to [`toolwright_cli`].

use std::process::ExitCode;

/// An exchange allocates and frees hundreds of small values, often on different threads, which
/// takes a fifth of its time with the system allocator. Huge pages are disabled (`no_thp`): with
/// them, a thousand open streams take half as much memory again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    toolwright_runtime::process::init();
    #[cfg(unix)]
    give_memory_back();
    toolwright_cli::run()
}

/// Makes the allocator of a gateway return freed memory to the system: blocks of more than 4 MiB at
/// once, others 10 ms later, with the next allocations. By default it waits for a second, during
/// which a burst of large bodies takes more than twice its memory. At once, every request of an
/// agent's size returns memory and faults it in again, which takes up to a seventh of its time; so
/// does a limit below 4 MiB, the size of the allocator's own pages for such bodies. The allocator
/// reads its options before `main`, so the process re-executes itself with them set.
#[cfg(unix)]
fn give_memory_back() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const DELAY: &str = "MIMALLOC_PURGE_DELAY";
    const MAX_KEPT: &str = "MIMALLOC_ARENA_MAX_OBJECT_SIZE";
    let mut arguments = env::args_os().skip(1).peekable();
    let is_gateway = arguments.peek().is_some_and(|command| command == "serve");
    if !is_gateway || env::var_os(DELAY).is_some() {
        return;
    }
    if let Ok(program) = env::current_exe() {
        let mut command = Command::new(program);
        command.args(arguments).env(DELAY, "10").env(MAX_KEPT, "4M");
        // `exec` returns only on failure; the gateway then runs without the options.
        let _failed = command.exec();
    }
}
