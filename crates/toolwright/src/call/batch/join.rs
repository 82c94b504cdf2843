//! Waiting for several futures at once. Each is polled when it is woken, and not when another is:
//! the calls of a turn may be thousands.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The results of all futures, in their order.
pub(super) async fn join<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let bell = Arc::new(Bell::default());
    let slots: Vec<Slot<F>> = futures
        .enumerate()
        .map(|(index, future)| {
            let waker = Arc::new(Knock { index, bell: bell.clone() }).into();
            Slot::UnderWay(Box::pin(future), waker)
        })
        .collect();
    bell.lock().woken.extend(0..slots.len());
    let waits = slots.len();
    All { slots, waits, bell }.await
}

enum Slot<F: Future> {
    UnderWay(Pin<Box<F>>, Waker),
    Ended(F::Output),
    Taken,
}

struct All<F: Future> {
    slots: Vec<Slot<F>>,
    /// How many are under way
    waits: usize,
    bell: Arc<Bell>,
}

/// Which futures were woken, and who is to hear of it.
#[derive(Default)]
struct Bell(Mutex<Rung>);

#[derive(Default)]
struct Rung {
    woken: Vec<usize>,
    waker: Option<Waker>,
}

/// Wakes one of the futures.
struct Knock {
    index: usize,
    bell: Arc<Bell>,
}

impl Bell {
    fn lock(&self) -> std::sync::MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut rung = self.bell.lock();
            rung.woken.push(self.index);
            rung.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

// The futures are pinned in boxes of their own, and nothing else is ever pinned.
impl<F: Future> Unpin for All<F> {}

impl<F: Future> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let All { slots, waits, bell } = &mut *self;
        let woken = {
            let mut rung = bell.lock();
            rung.waker = Some(context.waker().clone());
            std::mem::take(&mut rung.woken)
        };
        for slot in woken {
            let Some(slot) = slots.get_mut(slot) else { continue };
            if let Slot::UnderWay(future, waker) = slot
                && let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(waker))
            {
                *slot = Slot::Ended(value);
                *waits -= 1;
            }
        }
        if *waits > 0 {
            return Poll::Pending;
        }
        let take = |slot: &mut Slot<F>| match std::mem::replace(slot, Slot::Taken) {
            Slot::Ended(value) => Some(value),
            Slot::UnderWay(..) | Slot::Taken => None,
        };
        Poll::Ready(slots.iter_mut().filter_map(take).collect())
    }
}
