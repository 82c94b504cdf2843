//! The state of a running plan: which calls come next, and what follows from their results.
//!
//! The interpreter does nothing itself. An engine takes calls from it, makes them in any order and reports
//! their results, so that every engine gives a plan the same meaning. Given the same results, it asks for the same
//! calls: a run is resumed by giving it the recorded results again. `values` has the values of its references.

mod values;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use toolwright_json::{Json, Object};

use self::values::Absent;
use super::document::{OnError, Plan};
use super::graph::{Edge, EdgeKind, Graph};
use super::state::{StepError, StepResult};

/// A call that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlannedCall {
    /// The position of the step
    pub step: usize,
    /// The position of the item, if the step has `each`
    pub item: Option<usize>,
    /// The arguments, with the values of references. `as_handle` has the JSON Pointers of those to pass by handle
    pub arguments: Object,
    /// JSON Pointers into the arguments, to values that the plan passes by handle
    pub as_handle: Vec<String>,
    /// Number of calls of the step, one for each item
    pub calls: usize,
}

/// How the item of a step's `each` ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ItemResult {
    Value(Arc<Json>),
    /// The condition left it out, or its failure counts as that
    LeftOut,
    /// It failed, and the run continues
    Null,
}

/// A running plan.
#[derive(Debug, Clone)]
pub struct Interpreter {
    plan: Arc<Plan>,
    graph: Arc<Graph>,
    inputs: Arc<Json>,
    positions: Arc<HashMap<String, usize>>,
    steps: Vec<Progress>,
    /// Number of items of each step that has `each`, once it is known
    item_counts: Vec<Option<usize>>,
    /// Steps that have calls to make
    ready: BTreeSet<usize>,
    /// Steps that ended since the last look
    settled: Vec<usize>,
    /// Whether handles may stand for values
    has_handles: bool,
}

#[derive(Debug, Clone)]
enum Progress {
    /// Waits for this many steps
    Waiting(usize),
    /// Its calls are being made
    Open(OpenStep),
    Settled(StepResult),
}

/// The items of a step's `each`.
#[derive(Debug, Clone)]
enum Items {
    /// This many, which are looked up where they are when they are needed
    Shared(usize),
    /// Items that are nowhere else
    Owned(Vec<Json>),
}

impl Items {
    fn len(&self) -> usize {
        match self {
            Items::Shared(count) => *count,
            Items::Owned(items) => items.len(),
        }
    }
}

impl OpenStep {
    /// The position of the next item, if the step has `each`.
    fn item(&self) -> Option<usize> {
        self.items.is_some().then_some(self.taken)
    }
}

#[derive(Debug, Clone)]
struct OpenStep {
    items: Option<Items>,
    /// Number of calls that were taken
    taken: usize,
    results: Vec<Option<ItemResult>>,
    /// Number of calls without a result
    running: usize,
    failure: Option<(usize, StepError)>,
}

impl Interpreter {
    /// Starts a plan that was [checked](super::check).
    pub fn new(plan: Arc<Plan>, graph: Arc<Graph>, inputs: Arc<Json>) -> Interpreter {
        Interpreter::start(plan, graph, inputs, false)
    }

    /// Starts a plan that was [checked](super::check), for an engine that stores [values](super::stored) elsewhere.
    pub fn with_handles(plan: Arc<Plan>, graph: Arc<Graph>, inputs: Arc<Json>) -> Interpreter {
        Interpreter::start(plan, graph, inputs, true)
    }

    fn start(
        plan: Arc<Plan>,
        graph: Arc<Graph>,
        inputs: Arc<Json>,
        has_handles: bool,
    ) -> Interpreter {
        let waiting = |step| Progress::Waiting(graph.before(step).len());
        let ids = plan.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at));
        let mut interpreter = Interpreter {
            steps: (0..plan.steps.len()).map(waiting).collect(),
            positions: Arc::new(ids.collect()),
            item_counts: vec![None; plan.steps.len()],
            plan,
            graph,
            inputs,
            ready: BTreeSet::new(),
            settled: Vec::new(),
            has_handles,
        };
        for step in 0..interpreter.steps.len() {
            if matches!(interpreter.steps[step], Progress::Waiting(0))
                && let Some(result) = interpreter.open(step)
            {
                interpreter.settle(step, result);
            }
        }
        interpreter
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns the step and the item of the next call; none if the engine must report results first. It may turn out
    /// that the call is not made, because of its condition or a value that is missing.
    pub fn next_place(&self) -> Option<(usize, Option<usize>)> {
        self.next_open().map(|(step, open)| (step, open.item()))
    }

    fn next_open(&self) -> Option<(usize, &OpenStep)> {
        self.ready.iter().find_map(|&step| match &self.steps[step] {
            Progress::Open(open) => Some((step, open)),
            _ => None,
        })
    }

    /// Returns how much memory the arguments of the next call take; none if the engine must report results first. Steps
    /// and items without a call end on the way.
    pub fn next_weight(&mut self) -> Option<usize> {
        loop {
            let (step, open) = self.next_open()?;
            let (item, at) = (open.item(), open.taken);
            let examined = self.examine(step, open);
            if let Ok(Some(weight)) = examined {
                return Some(weight);
            }
            self.take_next();
            match examined {
                Err(Absent::Skipped(reason)) if item.is_none() => {
                    self.settle(step, StepResult::Skipped { reason });
                }
                Err(Absent::Failed(error)) => self.fail(step, item, error),
                _ => self.record(step, at, ItemResult::LeftOut),
            }
        }
    }

    /// Takes the [next call](Self::next_place) without its arguments.
    pub fn take_next(&mut self) {
        if let Some((step, _)) = self.next_place()
            && let Progress::Open(open) = &mut self.steps[step]
        {
            open.taken += 1;
            open.running += 1;
            if open.taken == open.results.len() {
                self.ready.remove(&step);
            }
        }
    }

    /// Returns the next call, in the order of the document and of the items; none if the engine must report
    /// results first.
    pub fn next_call(&mut self) -> Option<PlannedCall> {
        self.next_weight()?;
        let (step, open) = self.next_open()?;
        let (item, calls) = (open.item(), open.results.len());
        let (arguments, as_handle) = self.arguments(step, open);
        self.take_next();
        Some(PlannedCall { step, item, arguments, as_handle, calls })
    }

    /// Reports the output of a call.
    pub fn succeed(&mut self, step: usize, item: Option<usize>, output: impl Into<Arc<Json>>) {
        let output = output.into();
        match item {
            Some(at) => self.record(step, at, ItemResult::Value(output)),
            None => self.settle(step, StepResult::Succeeded(output)),
        }
    }

    /// Reports that a call failed, after its retries.
    pub fn fail(&mut self, step: usize, item: Option<usize>, error: StepError) {
        let on_error = self.plan.steps[step].on_error;
        let Some(at) = item else {
            return self.settle(step, failed(on_error, error));
        };
        match on_error {
            OnError::Skip => self.record(step, at, ItemResult::LeftOut),
            OnError::Continue => self.record(step, at, ItemResult::Null),
            OnError::Fail => {
                let Progress::Open(open) = &mut self.steps[step] else { return };
                open.running -= 1;
                // No more items are started; of several failures the first item's is reported.
                self.ready.remove(&step);
                if open.failure.as_ref().is_none_or(|(first, _)| at < *first) {
                    open.failure = Some((at, error));
                }
                self.settle_items(step);
            }
        }
    }

    /// Returns the first item that failed, if the step fails with it.
    pub fn failed_item(&self, step: usize) -> Option<usize> {
        match self.steps.get(step)? {
            Progress::Open(open) => open.failure.as_ref().map(|(at, _)| *at),
            _ => None,
        }
    }

    /// Reports that the call of an item is not made, because an [earlier item](Self::failed_item) failed.
    pub fn abandon(&mut self, step: usize) {
        if let Progress::Open(open) = &mut self.steps[step] {
            open.running -= 1;
            self.settle_items(step);
        }
    }

    /// Returns the result of a step that has ended.
    pub fn result(&self, step: usize) -> Option<&StepResult> {
        match self.steps.get(step)? {
            Progress::Settled(result) => Some(result),
            _ => None,
        }
    }

    /// Returns the number of finished and of all items of a step's `each`, also those that its condition leaves out,
    /// unless the step failed.
    pub fn items(&self, step: usize) -> Option<(usize, usize)> {
        let all = (*self.item_counts.get(step)?)?;
        match &self.steps[step] {
            Progress::Open(OpenStep { taken, running, .. }) => Some((taken - running, all)),
            Progress::Settled(StepResult::Succeeded(_)) => Some((all, all)),
            _ => None,
        }
    }

    /// Returns the steps that have ended since the last call of this method.
    pub fn take_settled(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.settled)
    }

    /// Whether all steps have ended.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Progress::Settled(_)))
    }

    /// Whether a step failed that lets the run fail.
    pub fn has_failed(&self) -> bool {
        let fails = |step: &Progress| {
            matches!(step, Progress::Settled(StepResult::Failed { continued: false, .. }))
        };
        self.steps.iter().any(fails)
    }

    /// Decides about a step whose predecessors have all ended. Returns its result if it makes no call.
    fn open(&mut self, step: usize) -> Option<StepResult> {
        let plan = Arc::clone(&self.plan);
        let own = &plan.steps[step];
        if let Some(by) = self.blocker(step) {
            return Some(StepResult::Blocked { by });
        }
        if let Some(when) = own.when.as_ref().filter(|_| !own.filters_items()) {
            match self.holds(when, None) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = "its condition does not hold".to_owned();
                    return Some(StepResult::Skipped { reason });
                }
                Err(error) => return Some(failed(own.on_error, error)),
            }
        }
        let items = match own.each.as_ref().map(|each| self.items_of(each)).transpose() {
            Ok(items) => items,
            Err(Absent::Skipped(reason)) => return Some(StepResult::Skipped { reason }),
            Err(Absent::Failed(error)) => return Some(failed(own.on_error, error)),
        };
        self.item_counts[step] = items.as_ref().map(Items::len);
        let count = items.as_ref().map_or(1, Items::len);
        if count == 0 {
            return Some(StepResult::Succeeded(Arc::new(Json::Array(Vec::new()))));
        }
        let results = vec![None; count];
        self.steps[step] =
            Progress::Open(OpenStep { items, taken: 0, results, running: 0, failure: None });
        self.ready.insert(step);
        None
    }

    /// Returns the step whose failure keeps a step from running.
    fn blocker(&self, step: usize) -> Option<usize> {
        // The order of steps that share a value does not depend on their success.
        let is_needed = |edge: &&Edge| !matches!(edge.kind, EdgeKind::Shared(_));
        self.graph.incoming(step).iter().filter(is_needed).find_map(|edge| {
            match self.result(edge.from)? {
                StepResult::Failed { continued: false, .. } => Some(edge.from),
                StepResult::Blocked { by } => Some(*by),
                _ => None,
            }
        })
    }

    fn record(&mut self, step: usize, at: usize, result: ItemResult) {
        if let Progress::Open(open) = &mut self.steps[step] {
            open.running -= 1;
            open.results[at] = Some(result);
            self.settle_items(step);
        }
    }

    /// Ends a step with `each` when all of its calls have ended.
    fn settle_items(&mut self, step: usize) {
        let Progress::Open(open) = &mut self.steps[step] else { return };
        if open.running > 0 || open.failure.is_none() && open.taken < open.results.len() {
            return;
        }
        let result = if let Some((at, error)) = open.failure.take() {
            let message = format!("item {at}: {}", error.message);
            StepResult::Failed { error: StepError { message, ..error }, continued: false }
        } else {
            let values = open.results.drain(..).flatten().filter_map(|result| match result {
                ItemResult::Value(value) => Some(Arc::unwrap_or_clone(value)),
                ItemResult::Null => Some(Json::Null),
                ItemResult::LeftOut => None,
            });
            StepResult::Succeeded(Arc::new(Json::Array(values.collect())))
        };
        self.settle(step, result);
    }

    /// Ends a step, and decides about the steps that waited for it.
    fn settle(&mut self, step: usize, result: StepResult) {
        let graph = Arc::clone(&self.graph);
        let mut ended = vec![(step, result)];
        while let Some((step, result)) = ended.pop() {
            self.ready.remove(&step);
            self.steps[step] = Progress::Settled(result);
            self.settled.push(step);
            for &next in graph.after(step) {
                if let Progress::Waiting(left) = &mut self.steps[next] {
                    *left -= 1;
                    if *left == 0 {
                        ended.extend(self.open(next).map(|result| (next, result)));
                    }
                }
            }
        }
    }
}

/// The result of a step whose call failed.
fn failed(on_error: OnError, error: StepError) -> StepResult {
    match on_error {
        OnError::Fail => StepResult::Failed { error, continued: false },
        OnError::Continue => StepResult::Failed { error, continued: true },
        OnError::Skip => StepResult::Skipped { reason: format!("it failed: {error}") },
    }
}
