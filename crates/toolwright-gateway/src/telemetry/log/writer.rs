//! The writer thread. It writes the lines of several milliseconds together, because waking the
//! thread costs more than formatting a line.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use prometheus_client::metrics::counter::Counter;
use tracing_subscriber::fmt::MakeWriter;

/// Maximum size of the queue in bytes. Lines beyond it are dropped.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// Time that the writer waits for more lines before it writes.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// Maximum time to wait for the last lines at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The queue of lines. Clones share it.
#[derive(Debug, Clone)]
pub struct Lines {
    shared: Arc<Shared>,
    dropped: Counter,
}

/// Writes the queued lines when it is dropped, and closes the queue.
#[derive(Debug)]
pub struct FlushGuard(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Open,
    Closing,
    Closed,
}

impl Lines {
    /// Creates a queue to a sink, and the guard that closes it. Lines that exceed the queue are
    /// counted.
    pub fn new(sink: impl Write + Send + 'static, dropped: Counter) -> (Lines, FlushGuard) {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("toolwright-log".to_owned());
        if thread.spawn(move || own.run(sink)).is_err() {
            shared.state.lock().phase = Phase::Closed;
        }
        (Lines { shared: shared.clone(), dropped }, FlushGuard(shared))
    }
}

impl Shared {
    fn run(&self, mut sink: impl Write) {
        let mut batch = Vec::new();
        loop {
            let idle = |state: &mut State| state.bytes.is_empty() && state.phase == Phase::Open;
            let mut state = self.state.lock();
            self.changed.wait_while(&mut state, idle);
            let is_open = state.phase == Phase::Open;
            drop(state);
            if is_open {
                std::thread::sleep(BATCH_DELAY);
            }
            std::mem::swap(&mut batch, &mut self.state.lock().bytes);
            // Failing to write the log must not stop the gateway.
            let _written = sink.write_all(&batch).and_then(|()| sink.flush());
            batch.clear();
            let mut state = self.state.lock();
            if state.phase != Phase::Open && state.bytes.is_empty() {
                state.phase = Phase::Closed;
                self.changed.notify_all();
                return;
            }
        }
    }
}

impl Drop for FlushGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        if state.phase == Phase::Closed {
            return;
        }
        state.phase = Phase::Closing;
        self.0.changed.notify_all();
        let open = |state: &mut State| state.phase != Phase::Closed;
        self.0.changed.wait_while_for(&mut state, open, FLUSH_TIMEOUT);
    }
}

impl Write for &Lines {
    /// Queues a whole line, or drops it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.state.lock();
        if state.phase == Phase::Closed || state.bytes.len() + line.len() > MAX_QUEUED_BYTES {
            self.dropped.inc();
            return Ok(line.len());
        }
        let first = state.bytes.is_empty();
        state.bytes.extend_from_slice(line);
        drop(state);
        if first {
            self.shared.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}
