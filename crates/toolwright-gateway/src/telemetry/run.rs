//! Records what a run of tools does. The run and the recorder of its exchange share the record, because
//! the run does not own the body of the reply.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use toolwright_core::{Dialect, Usage};
use toolwright_dialects::dialect::{ChatCodec, ToolCodec};
use toolwright_dialects::translate::Report;
use toolwright_runtime::call::CallResult;

use super::AttemptContext;
use super::record::{Attempt, ExchangeRecord, ExecutedCall};

/// What a run did so far. Clones share one state.
#[derive(Clone)]
pub struct RunRecord {
    context: AttemptContext,
    /// The number of attempts
    attempts: Arc<AtomicUsize>,
    /// Tokens in the reported usage that earlier attempts were already charged for
    paid: Arc<AtomicU64>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    upstream: Option<Arc<str>>,
    codec: Option<&'static dyn ChatCodec>,
    attempts: Vec<Attempt>,
    report: Option<Report>,
    calls: Vec<String>,
    executed_calls: Vec<ExecutedCall>,
    usage: Option<Usage>,
}

impl fmt::Debug for RunRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunRecord").finish_non_exhaustive()
    }
}

impl RunRecord {
    /// Creates the record of a run for an exchange.
    pub fn new(context: AttemptContext) -> RunRecord {
        RunRecord { context, attempts: Arc::default(), paid: Arc::default(), state: Arc::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// The context of the next attempt at an upstream.
    pub fn attempt_context(&self) -> AttemptContext {
        self.context.clone().after(self.attempts.load(Ordering::Relaxed))
    }

    /// Records the upstream that is asked, without a codec if it is the model of the gateway.
    pub fn set_upstream(&self, upstream: &str, codec: Option<&'static dyn ChatCodec>) {
        self.with(|state| {
            state.upstream = Some(upstream.into());
            state.codec = codec;
        });
    }

    /// The tokens to charge, of those that were used.
    pub fn unpaid(&self, used: u64) -> u64 {
        used.saturating_sub(self.paid.load(Ordering::Relaxed))
    }

    /// The upstream that was asked last, and its dialect.
    pub fn upstream(&self) -> Option<(Arc<str>, Option<Dialect>)> {
        self.with(|state| Some((state.upstream.clone()?, state.codec.map(ToolCodec::dialect))))
    }

    /// Records an attempt at an upstream.
    pub fn add_attempt(&self, attempt: Attempt) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        self.with(|state| state.attempts.push(attempt));
    }

    /// Records the report of the first turn. Later turns report the same losses again.
    pub fn set_request_report(&self, report: &Report) {
        self.with(|state| {
            state.report.get_or_insert_with(|| report.clone());
        });
    }

    /// Adds calls and usage of a reply that the client does not get, or not as a whole.
    pub fn add_reply(&self, calls: impl IntoIterator<Item = String>, usage: Option<&Usage>) {
        self.with(|state| {
            state.calls.extend(calls);
            match (&mut state.usage, usage) {
                (Some(own), Some(more)) => own.add(more),
                (own, more) => *own = own.take().or(more.cloned()),
            }
        });
    }

    /// Records a call that has ended.
    pub fn add_executed_call(&self, done: &CallResult) {
        let took = done.duration;
        let name = done.outcome.name.as_deref().unwrap_or_default().into();
        let error = done.error.as_ref().map(|error| error.kind);
        let began = self.context.elapsed().saturating_sub(took);
        self.with(|state| {
            state.executed_calls.push(ExecutedCall { tool: name, error, began, took });
        });
    }

    /// Takes the usage of the exchange from the reply, which reports the sum of all turns. `paid` of these
    /// tokens were charged to earlier attempts.
    pub fn use_reply_usage(&self, paid: u64) {
        self.paid.store(paid, Ordering::Relaxed);
        self.with(|state| state.usage = None);
    }

    /// The codec of the upstream that was asked last.
    pub fn codec(&self) -> Option<&'static dyn ChatCodec> {
        self.with(|state| state.codec)
    }

    /// Moves everything so far into the record of the exchange.
    pub fn merge_into(&self, record: &mut ExchangeRecord) {
        // The upstream stays known until the run ends.
        let state = self.with(|state| {
            let (upstream, codec) = (state.upstream.clone(), state.codec);
            std::mem::replace(state, State { upstream, codec, ..State::default() })
        });
        record.upstream = state.upstream.or(record.upstream.take());
        record.upstream_dialect = state.codec.map(ToolCodec::dialect).or(record.upstream_dialect);
        record.attempts.extend(state.attempts);
        record.calls.splice(..0, state.calls);
        record.executed_calls.extend(state.executed_calls);
        if let Some(report) = state.report {
            record.request_report = report;
        }
        match (&mut record.usage, state.usage) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
    }
}
