//! Waiting for several futures at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The results of all futures, in their order.
pub(super) async fn join<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let slots = futures.map(|future| Slot::UnderWay(Box::pin(future))).collect();
    All { slots }.await
}

enum Slot<F: Future> {
    UnderWay(Pin<Box<F>>),
    Ended(F::Output),
    Taken,
}

struct All<F: Future> {
    slots: Vec<Slot<F>>,
}

// The futures are pinned in boxes of their own, and nothing else is ever pinned.
impl<F: Future> Unpin for All<F> {}

impl<F: Future> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waits = false;
        for slot in &mut self.slots {
            if let Slot::UnderWay(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Slot::Ended(value),
                    Poll::Pending => waits = true,
                }
            }
        }
        if waits {
            return Poll::Pending;
        }
        let take = |slot: &mut Slot<F>| match std::mem::replace(slot, Slot::Taken) {
            Slot::Ended(value) => Some(value),
            Slot::UnderWay(_) | Slot::Taken => None,
        };
        Poll::Ready(self.slots.iter_mut().filter_map(take).collect())
    }
}
