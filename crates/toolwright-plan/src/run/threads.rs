//! Threads that work on plans alone, because large values must not keep the threads of a host's connections.

use std::cell::RefCell;
use std::future::Future;
use std::num::NonZero;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Number of threads, beside those for what blocks.
const THREADS: usize = 2;

thread_local! {
    /// Of a thread of [`PlanThreads`]: how many of them may do heavy work at the same time
    static HEAVY: RefCell<Option<Arc<Semaphore>>> = const { RefCell::new(None) };
}

/// Threads that work on plans, from the first work on. Clones share them, and they end after the last clone.
#[derive(Clone, Debug, Default)]
pub struct PlanThreads(Arc<Threads>);

/// `None` inside if the threads could not be started.
#[derive(Debug, Default)]
struct Threads(OnceLock<Option<Runtime>>);

impl PlanThreads {
    /// Works on these threads, or on those of the caller if they could not be started.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match self.0.0.get_or_init(start) {
            Some(threads) => threads.spawn(work),
            None => tokio::spawn(work),
        }
    }
}

fn start() -> Option<Runtime> {
    // More would not be faster, and the allocator keeps for each thread what it has freed.
    let heavy = Arc::new(Semaphore::new(available_parallelism().map_or(1, NonZero::get)));
    let mut threads = Builder::new_multi_thread();
    threads.worker_threads(THREADS).thread_name("plans").enable_all();
    threads.on_thread_start(move || HEAVY.set(Some(Arc::clone(&heavy))));
    threads.build().ok()
}

/// Waits until one more thread may do heavy work. Beside [`PlanThreads`] there is no limit.
pub(super) async fn heavy() -> Option<OwnedSemaphorePermit> {
    let heavy = HEAVY.with_borrow(Option::clone)?;
    heavy.acquire_owned().await.ok()
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The last owner may be a task, which must not wait for threads.
        if let Some(threads) = self.0.take().flatten() {
            threads.shutdown_background();
        }
    }
}
