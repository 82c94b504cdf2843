//! Ends streams of HTTP/2 whose client does not read. HTTP/2 has a flow-control window for each stream. A
//! client that does not open it blocks a reply, and the upstream behind it, for the life of the
//! connection, and the socket does not show it.
//!
//! A stream of HTTP/2 is a task. If the task is pending although its body has produced data, the data
//! waits for the window, and a timer starts. When it fires, the task ends, and with it the stream and its
//! upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

tokio::task_local! {
    /// The state of the stream whose task is polled
    static WRITE_STALL: Arc<WriteStall>;
}

/// Counts how often a body has produced data and was polled for more. An odd number means that it was not
/// polled since it produced data.
#[derive(Debug, Default)]
pub(super) struct WriteStall(AtomicU32);

impl WriteStall {
    /// The state of the stream whose task is polled. HTTP/1 has none, because there the socket blocks.
    pub(super) fn of_this_stream() -> Option<Arc<WriteStall>> {
        WRITE_STALL.try_with(Arc::clone).ok()
    }

    /// Records that the body has produced data.
    pub(super) fn give(&self) {
        self.0.store(self.0.load(Relaxed) | 1, Relaxed);
    }

    /// Records that the data was written and the body is polled for more.
    pub(super) fn ask(&self) {
        let count = self.0.load(Relaxed);
        self.0.store(count.wrapping_add(count & 1), Relaxed);
    }

    /// The count, if data is waiting.
    fn waiting(&self) -> Option<u32> {
        Some(self.0.load(Relaxed)).filter(|count| count % 2 == 1)
    }
}

/// Runs the streams of an HTTP/2 connection.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    patience: Duration,
}

impl Streams {
    /// Sets the maximum time that a client may not read.
    pub(super) fn new(patience: Duration) -> Streams {
        Streams { patience }
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let stall = Arc::default();
        let stream = Box::pin(WRITE_STALL.scope(Arc::clone(&stall), stream));
        let (patience, since, alarm) = (self.patience, None, None);
        tokio::spawn(Watched { stream, stall, patience, since, alarm });
    }
}

/// A stream that ends when its client does not read for too long.
struct Watched<F> {
    stream: Pin<Box<F>>,
    stall: Arc<WriteStall>,
    patience: Duration,
    /// The count at which data was found waiting, and when
    since: Option<(u32, Instant)>,
    /// Created at the first wait, and reset only when it fires
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output = ()>> Future for Watched<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.stream.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let Some(waiting) = this.stall.waiting() else { return Poll::Pending };
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
