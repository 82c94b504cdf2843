//! The one thread that writes a file. What arrives while it writes goes into the next transaction
//! together, since a commit costs the same for one change as for many. What is not urgent waits a
//! little for company.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::StoreError;

/// The most jobs in one transaction.
const MOST: usize = 512;
/// How long a job that is not urgent waits for others.
const LINGER: Duration = Duration::from_millis(20);

/// A thread that writes a file. When it is dropped, what was asked for is done first.
#[derive(Debug)]
pub(crate) struct Writer {
    desk: Option<Arc<Desk>>,
    thread: Option<JoinHandle<()>>,
}

/// Where jobs are handed in. The thread goes on while there is one.
#[derive(Debug)]
pub(crate) struct Desk(mpsc::Sender<(Urgency, Box<dyn Job>)>);

/// Whether somebody waits for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Somebody does
    Now,
    /// Nobody does: it is done with others
    Soon,
}

/// A change, or a look at what is there.
trait Job: Send {
    /// Does it within a transaction, perhaps once more if the transaction fails.
    fn apply(&mut self, change: &Transaction<'_>) -> rusqlite::Result<()>;

    /// Tells whoever asked that it is committed, or why it is not.
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

impl Desk {
    /// Hands a job in. It is told of when it is committed, on the thread that writes.
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

    /// Hands a job in and waits for it without blocking a thread.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        apply: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (ack, answer) = oneshot::channel();
        // Whoever stopped waiting needs no answer.
        self.post(Urgency::Now, apply, |answer| drop(ack.send(answer)));
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection, path: PathBuf) -> Result<Writer, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let held = path.clone();
        let thread = std::thread::Builder::new()
            .name("toolwright-store".to_owned())
            .spawn(move || run(connection, &held, &queue))
            .map_err(|error| StoreError::Unavailable { path, why: error.to_string() })?;
        Ok(Writer { desk: Some(Arc::new(Desk(jobs))), thread: Some(thread) })
    }

    /// Where jobs are handed in.
    pub(crate) fn desk(&self) -> Result<&Arc<Desk>, StoreError> {
        self.desk.as_ref().ok_or(StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.desk.take());
        if let Some(thread) = self.thread.take() {
            // It ends by itself once the queue is empty; a panic in it has nobody left to tell.
            drop(thread.join());
        }
    }
}

type Queue = mpsc::Receiver<(Urgency, Box<dyn Job>)>;

fn run(mut connection: Connection, path: &Path, queue: &Queue) {
    while let Ok(first) = queue.recv() {
        let mut batch = gather(queue, first);
        let room = MOST.saturating_sub(batch.len());
        batch.extend(queue.try_iter().take(room).map(|(_, job)| job));
        write(&mut connection, path, batch);
    }
}

/// Waits for more to do, until something is urgent or the time is over.
fn gather(queue: &Queue, (mut urgency, first): (Urgency, Box<dyn Job>)) -> Vec<Box<dyn Job>> {
    let end = Instant::now() + LINGER;
    let mut batch = vec![first];
    while urgency == Urgency::Soon && batch.len() < MOST {
        let left = end.saturating_duration_since(Instant::now());
        // No more will come if all desks are gone.
        let Ok((next, job)) = queue.recv_timeout(left) else { break };
        urgency = next;
        batch.push(job);
    }
    batch
}

/// Does a batch in one transaction. If that fails, each job gets a transaction of its own, so that
/// one that cannot be done takes no other with it.
fn write(connection: &mut Connection, path: &Path, mut batch: Vec<Box<dyn Job>>) {
    let attempted = attempt(connection, &mut batch);
    if attempted.is_err() && batch.len() > 1 {
        for job in batch {
            write(connection, path, vec![job]);
        }
        return;
    }
    let committed = attempted.map_err(|error| StoreError::of(path, &error));
    for job in batch {
        job.done(committed.clone());
    }
}

fn attempt(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in jobs {
        job.apply(&change)?;
    }
    change.commit()
}
