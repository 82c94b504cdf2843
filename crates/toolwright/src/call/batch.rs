//! The calls of one turn: made at once, answered in their order, equal ones made once.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use toolwright_core::part::Part;
use toolwright_core::{Call, Outcome};

use super::bind::Place;
use super::journey::{self, Prepared, Ready};
use super::note;
use super::wholeness::Wholeness;
use super::{Called, Done, Source};
use crate::session::Session;
use crate::settings::Effect;
use crate::toolbox::Toolbox;

/// Makes all calls of a turn. What comes back is in the order of the calls.
pub(crate) async fn call_all(
    toolbox: &Toolbox,
    session: &Session,
    calls: &[Call],
    wholeness: Wholeness,
) -> Vec<Called> {
    let mut prepared: Vec<Option<Prepared<'_>>> = Vec::with_capacity(calls.len());
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for (position, call) in calls.iter().enumerate() {
        let repeats = match call.id.as_deref() {
            Some(id) => {
                let times = ids.entry(id).or_default();
                *times += 1;
                *times - 1
            }
            None => 0,
        };
        let place = Place { position, repeats };
        let wholeness =
            if position + 1 == calls.len() { wholeness } else { before_last(wholeness) };
        prepared.push(Some(journey::prepare(toolbox, session, call, place, wholeness)));
    }
    let firsts = firsts(&mut prepared);
    let under_way = prepared.iter_mut().zip(&firsts).enumerate().map(|(index, (slot, first))| {
        let slot = if *first == index { slot.take() } else { None };
        Box::pin(async move { Some(journey::proceed(toolbox, session, slot?).await) })
    });
    let mut called = join(under_way.collect()).await;
    // An equal call comes after its first, which is therefore there.
    for (index, slot) in prepared.into_iter().enumerate() {
        if let (Some(slot), Some(Some(first))) = (slot, called.get(firsts[index])) {
            called[index] = Some(share(toolbox, session, slot, first));
        }
    }
    called.into_iter().flatten().collect()
}

/// A model writes its calls one after another: only the last can have been cut off.
fn before_last(wholeness: Wholeness) -> Wholeness {
    match wholeness {
        Wholeness::Truncated => Wholeness::Unknown,
        other => other,
    }
}

/// For each call the first that is equal to it, which may be itself. Equal calls get the same key,
/// so that not even an approval can make two effects of them.
fn firsts(prepared: &mut [Option<Prepared<'_>>]) -> Vec<usize> {
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    let mut firsts = Vec::with_capacity(prepared.len());
    for index in 0..prepared.len() {
        let ready = prepared[index].as_ref().and_then(|prepared| {
            Some((prepared.call.name.clone(), prepared.ready.as_ref().ok()?.canonical.clone()))
        });
        let first = ready.map_or(index, |equal| *seen.entry(equal).or_insert(index));
        if first != index
            && let Some(Ok(Ready { key, .. })) = prepared[first].as_ref().map(|first| &first.ready)
        {
            let key = key.clone();
            if let Some(Ok(ready)) = prepared[index].as_mut().map(|own| own.ready.as_mut()) {
                ready.key = key;
            }
        }
        firsts.push(first);
    }
    firsts
}

/// What an equal call gets of the first one.
fn share(
    toolbox: &Toolbox,
    session: &Session,
    mut prepared: Prepared<'_>,
    first: &Called,
) -> Called {
    let first = match first {
        Called::Done(first) => first,
        Called::Waiting(first) => {
            let reason = first.reason.clone();
            note::waiting(toolbox, session, &prepared);
            return Called::Waiting(journey::question(session, prepared, reason));
        }
    };
    let effect = prepared.item.as_ref().map(|item| item.handler.settings().effect);
    let mut content = first.outcome.content.clone();
    if effect != Some(Effect::None) {
        // Somebody may have wanted it twice, and must hear that it was done once.
        content.push(Part::text(
            "[You made this call twice in one turn. It was run once, and this is that result. If \
             it shall be done again, call it again in your next turn.]",
        ));
    }
    let done = Done {
        outcome: Outcome {
            call_id: prepared.call.id.clone(),
            name: Some(prepared.call.name.clone()),
            content,
            error: first.outcome.error,
        },
        changes: std::mem::take(&mut prepared.changes),
        attempts: 0,
        source: Source::Duplicate,
        ..first.clone()
    };
    note::done(toolbox, session, &prepared, &done);
    Called::Done(done)
}

/// Waits for all of some futures at once.
async fn join<F: Future>(futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let results = futures.iter().map(|_| None).collect();
    let all = All { futures: futures.into_iter().map(Some).collect(), results };
    all.await.into_iter().flatten().collect()
}

struct All<F: Future> {
    /// What is still under way
    futures: Vec<Option<Pin<Box<F>>>>,
    results: Vec<Option<F::Output>>,
}

// Nothing in it is ever pinned in place: the futures have their own boxes.
impl<F: Future> Unpin for All<F> {}

impl<F: Future> Future for All<F> {
    type Output = Vec<Option<F::Output>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let all = &mut *self;
        for (slot, result) in all.futures.iter_mut().zip(&mut all.results) {
            if let Some(future) = slot
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *result = Some(value);
                *slot = None;
            }
        }
        if all.futures.iter().any(Option::is_some) {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut all.results))
    }
}
