//! The sources of a toolbox: a snapshot of what they list, and the tools that were resolved.
//!
//! Listing compiles nothing. A tool is resolved and compiled when it is called for the first time, and kept
//! until it changes, or until too many others were called. A call in flight keeps the tool that it found.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use toolwright_core::{Tool, ToolKind};

use super::item::Item;
use super::lookup;
use super::source::{MissingTool, SourceError, SourceProblem, SourceReport, ToolSource};
use crate::bounded::BoundedMap;
use crate::error::{CallError, CallErrorKind};
use crate::handle;
use crate::handler::Handler;

/// Maximum duration of a complete listing of one source.
const LISTING_DEADLINE: Duration = Duration::from_secs(30);
/// Maximum duration of the resolution of a tool.
const RESOLVING_DEADLINE: Duration = Duration::from_secs(10);
/// Minimum time between a listing of a source and the next one that its changes cause.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of pages of one listing.
const MAX_PAGES: usize = 10_000;
/// Maximum number of compiled tools.
const MAX_COMPILED: usize = 4096;
/// Maximum number of problems that are remembered for the listing and for the calls of a source.
const MAX_PROBLEMS: usize = 100;

/// The sources of a toolbox.
pub(crate) struct Sources {
    slots: Vec<Slot>,
    /// Names that the toolbox has without sources
    fixed: HashSet<Arc<str>>,
    snapshot: RwLock<Arc<Snapshot>>,
    compiled: Mutex<BoundedMap<Arc<str>, Compiled, ()>>,
    /// Changes with the tools that are listed
    changes: watch::Sender<()>,
}

struct Slot {
    source: Arc<dyn ToolSource>,
    compiled: AtomicUsize,
    /// Problems of calls since the last listing
    problems: Mutex<Vec<SourceProblem>>,
    /// Held while the source is listed
    refreshing: tokio::sync::Mutex<()>,
}

/// What the sources list. It does not change; a refresh creates another one.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) tools: Vec<ListedTool>,
    index: HashMap<Arc<str>, usize>,
    listings: Vec<Arc<Listing>>,
    /// Problems between the listings, by source
    shadowed: Vec<Vec<SourceProblem>>,
}

/// A tool that a source lists.
#[derive(Clone)]
pub(crate) struct ListedTool {
    pub(crate) name: Arc<str>,
    pub(crate) tool: Arc<Tool>,
    /// The index of its source
    pub(crate) source: usize,
    /// The definition for the model if arguments may be handles, once it is needed
    with_handles: OnceLock<Arc<Tool>>,
}

/// The tools of one source.
#[derive(Default)]
struct Listing {
    tools: Vec<(Arc<str>, Arc<Tool>)>,
    problems: Vec<SourceProblem>,
}

/// A tool that was resolved.
struct Compiled {
    /// The item; none if its schema is invalid
    item: Option<Arc<Item>>,
    source: usize,
    /// Whether it may have changed, so that it is resolved again
    is_stale: bool,
}

impl ListedTool {
    /// The definition for the model if arguments may be handles.
    pub(crate) fn with_handles(&self) -> &Arc<Tool> {
        self.with_handles.get_or_init(|| Arc::new(handle::admit_in(&self.tool)))
    }
}

impl Snapshot {
    pub(crate) fn get(&self, name: &str) -> Option<&ListedTool> {
        self.index.get(name).and_then(|index| self.tools.get(*index))
    }

    /// Position of a tool in the list.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
}

impl Sources {
    pub(crate) fn new(
        sources: impl IntoIterator<Item = Arc<dyn ToolSource>>,
        fixed: HashSet<Arc<str>>,
    ) -> Sources {
        let slot = |source| Slot {
            source,
            compiled: AtomicUsize::new(0),
            problems: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        };
        Sources {
            slots: sources.into_iter().map(slot).collect(),
            fixed,
            snapshot: RwLock::default(),
            compiled: Mutex::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// The index of a source.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.source.name() == name)
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().clone()
    }

    /// Lists all sources. The tools of each are there as soon as it has answered.
    pub(crate) async fn refresh(&self) {
        join_all((0..self.slots.len()).map(|index| self.refresh_slot(index))).await;
    }

    fn refresh_slot(&self, index: usize) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let slot = &self.slots[index];
            let _guard = slot.refreshing.lock().await;
            slot.problems.lock().clear();
            let listed = guarded(LISTING_DEADLINE, list_pages(&*slot.source)).await.flatten();
            self.publish(index, listed);
        })
    }

    /// Puts the listing of a source into the snapshot. One that failed keeps the tools of the last one.
    fn publish(&self, index: usize, listed: Result<Listing, SourceError>) {
        // A tool that is resolved meanwhile is not kept, because the snapshot has changed.
        let mut compiled = self.compiled.lock();
        let before = self.snapshot();
        let mut listings = before.listings.clone();
        listings.resize_with(self.slots.len(), Arc::default);
        listings[index] = Arc::new(listed.unwrap_or_else(|error| Listing {
            tools: listings[index].tools.clone(),
            problems: vec![SourceProblem::Listing(error)],
        }));
        let after = Arc::new(self.merge(listings));
        *self.snapshot.write() = after.clone();
        let is_unchanged = |name: &str, known: &Compiled| {
            let listed = before.get(name).zip(after.get(name));
            listed.is_some_and(|(old, new)| {
                new.source == known.source && Arc::ptr_eq(&old.tool, &new.tool)
            })
        };
        let stale: Vec<Arc<str>> = compiled
            .iter_latest()
            .filter(|((), name, known)| !is_unchanged(name, known))
            .map(|((), name, _)| name.clone())
            .collect();
        for name in stale {
            if let Some(known) = compiled.renew(&name, ()) {
                known.is_stale = true;
            }
        }
        drop(compiled);
        let is_same = |(old, new): (&ListedTool, &ListedTool)| Arc::ptr_eq(&old.tool, &new.tool);
        let (old, new) = (&before.tools, &after.tools);
        if old.len() != new.len() || !old.iter().zip(new).all(is_same) {
            self.changes.send_replace(());
        }
    }

    /// Observes listings that differ from the ones before.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Refreshes a source whenever it has changed, at most once in an interval. Never returns.
    pub(crate) async fn follow(&self) {
        let slots = self.slots.iter().enumerate().map(|(index, slot)| async move {
            loop {
                let changed = AssertUnwindSafe(async { slot.source.changed().await });
                // A source that crashes here is not followed any more.
                if changed.catch_unwind().await.is_err() {
                    return;
                }
                self.refresh_slot(index).await;
                sleep(FOLLOW_INTERVAL).await;
            }
        });
        join_all(slots).await;
        std::future::pending::<()>().await;
    }

    /// Joins the listings. The first source that lists a name provides it.
    fn merge(&self, listings: Vec<Arc<Listing>>) -> Snapshot {
        let count = listings.iter().map(|listing| listing.tools.len()).sum();
        let mut tools: Vec<ListedTool> = Vec::with_capacity(count);
        let mut index = HashMap::with_capacity(count);
        let mut shadowed = vec![Vec::new(); listings.len()];
        for (source, listing) in listings.iter().enumerate() {
            for (name, tool) in &listing.tools {
                let by = if self.fixed.contains(name) {
                    Some("the toolbox".to_owned())
                } else {
                    let first = index.get(name).and_then(|at: &usize| tools.get(*at));
                    first.map(|first| self.slots[first.source].source.name().to_owned())
                };
                if let Some(by) = by {
                    note(&mut shadowed[source], SourceProblem::Shadowed { tool: name.clone(), by });
                    continue;
                }
                index.insert(name.clone(), tools.len());
                let (name, tool) = (name.clone(), tool.clone());
                tools.push(ListedTool { name, tool, source, with_handles: OnceLock::new() });
            }
        }
        Snapshot { tools, index, listings, shadowed }
    }

    /// Finds a tool by its name, listed or not, and compiles it if that has not been done.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<Arc<Item>>, CallError> {
        let mut earlier = None;
        if let Some(known) = self.compiled.lock().renew(name, ()) {
            if !known.is_stale {
                return known.item.clone().map(Some).ok_or_else(|| unavailable(name));
            }
            earlier.clone_from(&known.item);
        }
        let snapshot = self.snapshot();
        let listed = snapshot.get(name).map(|listed| listed.source);
        let slots = self.slots.iter().enumerate();
        for (index, slot) in slots.filter(|(index, _)| listed.is_none_or(|own| own == *index)) {
            let resolving = async { slot.source.resolve(name).await };
            let handler = match guarded(RESOLVING_DEADLINE, resolving).await.flatten() {
                Ok(Some(handler)) => handler,
                Ok(None) => continue,
                Err(source) => {
                    // A name that no source lists is the text of a model.
                    let listed = snapshot.get(name).map(|listed| listed.name.clone());
                    let tool = listed.unwrap_or_else(|| lookup::shortened(name).into());
                    let error = unavailable(&tool).retryable();
                    note(&mut slot.problems.lock(), SourceProblem::Resolving { tool, source });
                    return Err(error);
                }
            };
            let handler = if listed.is_some() { handler.with_name(name) } else { handler };
            let item = match earlier.and_then(|earlier| earlier.renewed(&handler)) {
                Some(item) => Some(Arc::new(item)),
                None => Sources::compile(slot, handler),
            };
            let resolved = Compiled { item, source: index, is_stale: false };
            let item = self.keep(name, resolved, &snapshot);
            return item.map(Some).ok_or_else(|| unavailable(name));
        }
        Ok(None)
    }

    /// Returns what the sources know of a tool that none of them has.
    pub(crate) async fn explain_missing(&self, name: &str) -> MissingTool {
        let mut missing = MissingTool::default();
        for slot in &self.slots {
            let asked = async { slot.source.explain_missing(name).await };
            if let Ok(own) = guarded(RESOLVING_DEADLINE, asked).await {
                missing.extend(own);
            }
        }
        missing
    }

    fn compile(slot: &Slot, handler: Handler) -> Option<Arc<Item>> {
        slot.compiled.fetch_add(1, Ordering::Relaxed);
        let tool: Arc<str> = handler.tool().name.as_str().into();
        match Item::new(handler) {
            Ok(item) => Some(Arc::new(item)),
            Err(source) => {
                note(&mut slot.problems.lock(), SourceProblem::Schema { tool, source });
                None
            }
        }
    }

    /// Keeps a tool, unless the sources were listed meanwhile. Another call may have been faster; then its
    /// item is returned, which has the limit and the cache of the tool.
    fn keep(&self, name: &str, resolved: Compiled, snapshot: &Arc<Snapshot>) -> Option<Arc<Item>> {
        let mut compiled = self.compiled.lock();
        if !Arc::ptr_eq(snapshot, &self.snapshot()) {
            return resolved.item;
        }
        if let Some(known) = compiled.get(name).filter(|known| !known.is_stale) {
            return known.item.clone();
        }
        let item = resolved.item.clone();
        compiled.insert(name.into(), resolved, 0, ());
        while compiled.pop_excess(MAX_COMPILED, usize::MAX).is_some() {}
        item
    }

    pub(crate) fn reports(&self) -> Vec<SourceReport> {
        let snapshot = self.snapshot();
        let mut tools = vec![0; self.slots.len()];
        for listed in &snapshot.tools {
            tools[listed.source] += 1;
        }
        let report = |(index, slot): (usize, &Slot)| {
            let listing = snapshot.listings.get(index).map(|listing| &*listing.problems);
            let mut problems = listing.unwrap_or_default().to_vec();
            problems.extend(snapshot.shadowed.get(index).into_iter().flatten().cloned());
            problems.extend(slot.problems.lock().iter().cloned());
            SourceReport {
                source: slot.source.name().to_owned(),
                tools: tools[index],
                compiled: slot.compiled.load(Ordering::Relaxed),
                problems,
            }
        };
        self.slots.iter().enumerate().map(report).collect()
    }
}

/// Waits for a source, which may crash, at most until a deadline.
async fn guarded<T>(
    deadline: Duration,
    operation: impl Future<Output = T>,
) -> Result<T, SourceError> {
    match timeout(deadline, AssertUnwindSafe(operation).catch_unwind()).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(SourceError("the source crashed".to_owned())),
        Err(_) => Err(SourceError(format!("not finished within {deadline:?}"))),
    }
}

/// Lists all pages of a source.
async fn list_pages(source: &dyn ToolSource) -> Result<Listing, SourceError> {
    let mut listing = Listing::default();
    let mut names: HashSet<Arc<str>> = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let page = source.list(cursor.as_deref()).await?;
        for problem in page.problems {
            note(&mut listing.problems, problem);
        }
        for tool in page.tools {
            let name: Arc<str> = tool.name.as_str().into();
            let problem = if name.is_empty() {
                SourceProblem::Nameless
            } else if matches!(tool.kind, ToolKind::Hosted(_)) {
                SourceProblem::Hosted { tool: name }
            } else if names.insert(name.clone()) {
                listing.tools.push((name, tool));
                continue;
            } else {
                SourceProblem::Duplicate { tool: name }
            };
            note(&mut listing.problems, problem);
        }
        match page.next {
            None => return Ok(listing),
            Some(next) if cursor.as_ref() == Some(&next) => {
                return Err(SourceError("a page refers to itself as the next one".to_owned()));
            }
            next => cursor = next,
        }
    }
    Err(SourceError(format!("more than {MAX_PAGES} pages")))
}

fn note(problems: &mut Vec<SourceProblem>, problem: SourceProblem) {
    if problems.len() < MAX_PROBLEMS {
        problems.push(problem);
    }
}

/// The error of a call whose tool cannot be resolved. The cause is for the operator.
fn unavailable(tool: &str) -> CallError {
    let text = format!(
        "The tool {tool} cannot be used at the moment, so nothing was done. Continue without it, or \
         tell the user."
    );
    CallError::new(CallErrorKind::Unavailable, text)
}
