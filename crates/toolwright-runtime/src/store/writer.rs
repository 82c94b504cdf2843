//! The writer thread of a file. Jobs that arrive during a transaction are combined in the next one,
//! because a commit costs the same for one change as for many. Jobs that are not urgent wait
//! briefly for others.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::StoreError;

/// Maximum number of jobs in one transaction.
const MOST: usize = 512;
/// How long a job that is not urgent waits for others.
const LINGER: Duration = Duration::from_millis(20);

/// How long a job works before another thread gets the core.
const TURN: Duration = Duration::from_micros(100);

/// The level of `synchronous` whose commits survive the end of the process, and the one whose commits survive a power
/// failure.
const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// A writer thread. Dropping it completes pending jobs first.
#[derive(Debug)]
pub struct Writer {
    sender: Option<Arc<JobSender>>,
    thread: Option<JoinHandle<()>>,
}

/// The queue of the writer thread, which runs while a sender exists.
#[derive(Debug)]
pub struct JobSender(mpsc::Sender<QueuedJob>);

type QueuedJob = (Urgency, Box<dyn Job>);

/// The urgency of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A caller waits for it
    Now,
    /// A caller waits for it, but not for the disk: it survives the end of the process, not a power failure
    NowUnsynced,
    /// No caller waits: it is combined with others, and need not survive a power failure either
    Soon,
}

/// Gives the core to other threads now and then during a long job. Without it, requests wait until the scheduler takes
/// the core away, which is 4 ms later on many systems.
#[derive(Debug)]
pub(crate) struct Turns(Instant);

impl Turns {
    /// Begins a job.
    pub(crate) fn start() -> Turns {
        Turns(Instant::now())
    }

    /// Lets others go first if the job had its turn.
    pub(crate) fn pass(&mut self) {
        if self.0.elapsed() > TURN {
            std::thread::yield_now();
            self.0 = Instant::now();
        }
    }
}

/// A read or write in a transaction.
trait Job: Send {
    /// Runs the job in a transaction, again if the transaction fails.
    fn apply(&mut self, change: &Transaction<'_>) -> rusqlite::Result<()>;

    /// Reports the commit, or the error.
    fn done(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Posted<A, D, T> {
    apply: A,
    done: D,
    answer: Option<T>,
}

impl<A, D, T> Job for Posted<A, D, T>
where
    A: FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send,
    D: FnOnce(Result<T, StoreError>) + Send,
    T: Send,
{
    fn apply(&mut self, change: &Transaction<'_>) -> rusqlite::Result<()> {
        self.answer = Some((self.apply)(change)?);
        Ok(())
    }

    fn done(self: Box<Self>, committed: Result<(), StoreError>) {
        let Posted { done, answer, .. } = *self;
        done(committed.and_then(|()| answer.ok_or(StoreError::Closed)));
    }
}

impl JobSender {
    /// Queues a job. `done` runs on the writer thread when the job is committed or has failed.
    pub(crate) fn post<T: Send + 'static>(
        &self,
        urgency: Urgency,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        let job = Box::new(Posted { apply, done, answer: None });
        if let Err(mpsc::SendError((_, job))) = self.0.send((urgency, job)) {
            job.done(Err(StoreError::Closed));
        }
    }

    /// Queues a job and awaits its result.
    pub async fn ask<T: Send + 'static>(
        &self,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_at(Urgency::Now, apply).await
    }

    /// Queues a job of this urgency and awaits its result.
    pub(crate) async fn ask_at<T: Send + 'static>(
        &self,
        urgency: Urgency,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (ack, answer) = oneshot::channel();
        // A caller that stopped waiting needs no answer.
        self.post(urgency, apply, |answer| drop(ack.send(answer)));
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// Starts the thread.
    pub fn start(connection: Connection, path: PathBuf) -> Result<Writer, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let held = path.clone();
        let thread = std::thread::Builder::new()
            .name("toolwright-store".to_owned())
            .spawn(move || run(connection, &held, &queue))
            .map_err(|error| StoreError::Unavailable { path, why: error.to_string() })?;
        Ok(Writer { sender: Some(Arc::new(JobSender(jobs))), thread: Some(thread) })
    }

    /// Returns the queue.
    pub fn sender(&self) -> Result<&Arc<JobSender>, StoreError> {
        self.sender.as_ref().ok_or(StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            // The thread ends when the queue is empty; a panic in it cannot be reported any more.
            drop(thread.join());
        }
    }
}

type Queue = mpsc::Receiver<QueuedJob>;

fn run(connection: Connection, path: &Path, queue: &Queue) {
    // SQLite always knows it; if not, commits wait for the disk.
    let level =
        connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap_or(FULL);
    let mut file = WrittenFile { connection, path, level, current: level };
    while let Ok(first) = queue.recv() {
        let mut batch = gather(queue, first);
        let room = MOST.saturating_sub(batch.len());
        batch.extend(queue.try_iter().take(room));
        file.write(batch);
    }
}

/// Collects more jobs until one is urgent or the linger time is over.
fn gather(queue: &Queue, first: QueuedJob) -> Vec<QueuedJob> {
    let end = Instant::now() + LINGER;
    let mut urgency = first.0;
    let mut batch = vec![first];
    while urgency == Urgency::Soon && batch.len() < MOST {
        let left = end.saturating_duration_since(Instant::now());
        // All senders are gone.
        let Ok(next) = queue.recv_timeout(left) else { break };
        urgency = next.0;
        batch.push(next);
    }
    batch
}

/// The file of a writer thread.
struct WrittenFile<'p> {
    connection: Connection,
    path: &'p Path,
    /// The level of `synchronous` for jobs whose callers wait for the disk
    level: i64,
    /// The level of the latest commit
    current: i64,
}

impl WrittenFile<'_> {
    /// Runs a batch in one transaction. If that fails, each job gets a separate transaction, so that
    /// one failing job does not affect the others.
    fn write(&mut self, mut batch: Vec<QueuedJob>) {
        let attempted = self.attempt(&mut batch);
        if attempted.is_err() && batch.len() > 1 {
            for job in batch {
                self.write(vec![job]);
            }
            return;
        }
        let committed = attempted.map_err(|error| StoreError::of(self.path, &error));
        for (_, job) in batch {
            job.done(committed.clone());
        }
    }

    fn attempt(&mut self, batch: &mut [QueuedJob]) -> rusqlite::Result<()> {
        let is_synced = batch.iter().any(|(urgency, _)| *urgency == Urgency::Now);
        let level = if is_synced { self.level } else { NORMAL };
        if level != self.current {
            self.connection.pragma_update(None, "synchronous", level)?;
            self.current = level;
        }
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (_, job) in batch {
            job.apply(&change)?;
        }
        change.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::{FULL, NORMAL, Urgency, Writer};
    use crate::store::{self, Kind, Safety};

    const LIST: Kind = Kind {
        name: "list",
        id: 7,
        migrations: &["CREATE TABLE list (word TEXT) STRICT"],
        safety: Safety::Power,
    };

    #[tokio::test]
    async fn a_job_waits_for_the_disk_unless_it_need_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.db");
        let writer = Writer::start(store::open(&path, &LIST).unwrap(), path).unwrap();
        for (urgency, level) in [
            (Urgency::NowUnsynced, NORMAL),
            (Urgency::Soon, NORMAL),
            (Urgency::Now, FULL),
            (Urgency::NowUnsynced, NORMAL),
        ] {
            let found = writer.sender().unwrap().ask_at(urgency, |change| {
                change.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))
            });
            assert_eq!(found.await.unwrap(), level, "{urgency:?}");
        }
    }
}
