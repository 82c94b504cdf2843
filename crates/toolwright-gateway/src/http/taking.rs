//! Whether a client takes what waits for it. HTTP/2 has a window for each stream, and whoever keeps it
//! shut holds an answer, and the upstream behind it, for as long as the connection lives: the socket
//! shows nothing of that.
//!
//! A stream of HTTP/2 is a task, and is watched from outside: when it rests although its answer has
//! given something, that something waits for the window, and a timer is set. The end of the task is the
//! end of the stream and of all that was made for it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

tokio::task_local! {
    /// That of the stream that is at work
    static TAKING: Arc<Taking>;
}

/// How often an answer has given something and was asked for more. An odd number says that it was not
/// asked since it gave.
#[derive(Debug, Default)]
pub(super) struct Taking(AtomicU32);

impl Taking {
    /// That of the stream that is at work. HTTP/1 has none: there the socket tells enough.
    pub(super) fn of_this_stream() -> Option<Arc<Taking>> {
        TAKING.try_with(Arc::clone).ok()
    }

    /// Something waits to be taken.
    pub(super) fn give(&self) {
        self.0.store(self.0.load(Relaxed) | 1, Relaxed);
    }

    /// It was taken: more is asked for.
    pub(super) fn ask(&self) {
        let count = self.0.load(Relaxed);
        self.0.store(count.wrapping_add(count & 1), Relaxed);
    }

    /// How much was given before, if something waits.
    fn waiting(&self) -> Option<u32> {
        Some(self.0.load(Relaxed)).filter(|count| count % 2 == 1)
    }
}

/// Runs the streams of connections of HTTP/2.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    patience: Duration,
}

impl Streams {
    /// With patience for a client that takes nothing.
    pub(super) fn new(patience: Duration) -> Streams {
        Streams { patience }
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let taking = Arc::default();
        let stream = Box::pin(TAKING.scope(Arc::clone(&taking), stream));
        let (patience, since, alarm) = (self.patience, None, None);
        tokio::spawn(Watched { stream, taking, patience, since, alarm });
    }
}

/// A stream that ends when nothing of its answer is taken for too long.
struct Watched<F> {
    stream: Pin<Box<F>>,
    taking: Arc<Taking>,
    patience: Duration,
    /// What was found to wait, and when
    since: Option<(u32, Instant)>,
    /// There once something has waited; it is set again only when it rings
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output = ()>> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.stream.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let Some(waiting) = this.taking.waiting() else { return Poll::Pending };
        let since = match this.since {
            Some((same, since)) if same == waiting => since,
            _ => Instant::now(),
        };
        this.since = Some((waiting, since));
        let due = since + this.patience;
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
        loop {
            ready!(alarm.as_mut().poll(context));
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(due);
        }
    }
}
