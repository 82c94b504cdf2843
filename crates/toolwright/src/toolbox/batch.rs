//! The calls of one turn: made at once, answered in their order.
//!
//! Equal calls are made once. Calls that work with the same context, one of them to change it, are
//! made one after another in the order in which the model wrote them; all others run in parallel.

mod order;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use toolwright_core::part::Part;
use toolwright_core::{Call, Outcome};

use super::pipeline::{self, Made, Prepared, Ready};
use super::{Toolbox, audit};
use crate::call::key::Place;
use crate::call::{Called, Done, Wholeness};
use crate::ledger::ResultSource;
use crate::session::Session;
use crate::settings::Effect;

/// Makes all calls of a turn. What comes back is in the order of the calls.
pub(crate) async fn call_all(
    toolbox: &Toolbox,
    session: &Session,
    calls: &[Call],
    wholeness: Wholeness,
) -> Vec<Called> {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut firsts: HashMap<(&str, String), (usize, Arc<str>)> = HashMap::new();
    // Which call an equal one shares the outcome of.
    let mut shared: Vec<(usize, usize, Made<'_>, Ready)> = Vec::new();
    let mut own: Vec<(usize, Prepared<'_>)> = Vec::with_capacity(calls.len());
    for (position, call) in calls.iter().enumerate() {
        let place = Place { position, repeats: repeats(&mut ids, call) };
        let last = position + 1 == calls.len();
        let wholeness = if last { wholeness } else { wholeness.before_last() };
        let mut prepared = pipeline::prepare(toolbox, session, call, place, wholeness);
        if let Ok(ready) = &mut prepared.ready
            && calls.len() > 1
        {
            let equal = (call.name.as_str(), ready.canonical.clone());
            let itself = (position, ready.key.clone());
            let (first, key) = firsts.entry(equal).or_insert_with(|| itself.clone());
            if *first != position && order::changes_between(&own, *first, ready) {
                // It asks again what may have become different.
                (*first, *key) = itself;
            }
            if *first != position {
                // The same key, so that not even an approval makes two effects of them.
                ready.key = key.clone();
                prepared.made.key = Some(key.clone());
                if let Ok(ready) = prepared.ready {
                    shared.push((position, *first, prepared.made, ready));
                }
                continue;
            }
        }
        own.push((position, prepared));
    }
    let turns = order::turns(&own);
    let under_way = own.into_iter().zip(turns).map(|((position, prepared), turn)| async move {
        let _ended = turn.wait().await;
        (position, pipeline::proceed(toolbox, session, prepared).await)
    });
    let mut called: Vec<(usize, Called)> = join_all(under_way).await;
    // Those before the equal ones are in the order of their positions.
    let own = called.len();
    for (position, first, made, ready) in shared {
        if let Ok(equal) = called[..own].binary_search_by_key(&first, |(position, _)| *position) {
            let own = share(toolbox, session, made, ready, &called[equal].1);
            called.push((position, own));
        }
    }
    called.sort_by_key(|(position, _)| *position);
    called.into_iter().map(|(_, called)| called).collect()
}

/// How many calls before this one have its id.
fn repeats<'c>(ids: &mut HashMap<&'c str, usize>, call: &'c Call) -> usize {
    let Some(id) = call.id.as_deref() else { return 0 };
    let times = ids.entry(id).or_default();
    *times += 1;
    *times - 1
}

/// What an equal call gets of the first one.
fn share(
    toolbox: &Toolbox,
    session: &Session,
    made: Made<'_>,
    ready: Ready,
    first: &Called,
) -> Called {
    let first = match first {
        Called::Done(first) => first,
        Called::Waiting(_) => {
            audit::waiting(toolbox, session, &made);
            return Called::Waiting(pipeline::question(session, &made, ready));
        }
    };
    let mut content = first.outcome.content.clone();
    if ready.item.handler.settings().effect != Effect::None {
        // Somebody may have wanted it twice, and must hear that it was done once.
        content.push(Part::text(
            "[You made this call more than once in one turn. It was run once, and this is its \
             result. If it shall be done again, call it again in your next turn.]",
        ));
    }
    let done = Done {
        outcome: Outcome {
            call_id: made.call.id.clone(),
            name: Some(made.call.name.clone()),
            content,
            error: first.outcome.error,
        },
        changes: made.changes.clone(),
        attempts: 0,
        source: ResultSource::Duplicate,
        ..first.clone()
    };
    audit::done(toolbox, session, &made, &done);
    Called::Done(done)
}
