//! What a run did so far, for whoever tells of the exchange: the run works elsewhere than where its
//! answer is written.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use toolwright::call::Done;
use toolwright_core::dialect::{ChatCodec, ToolCodec};
use toolwright_core::translate::Report;
use toolwright_core::{Dialect, Usage};

use crate::telemetry::exchanged::{Attempt, Ran};
use crate::telemetry::{Exchanged, Trail};

/// What a run did so far. Clones are the same.
#[derive(Clone)]
pub struct Notes {
    trail: Trail,
    /// How many attempts were made
    tried: Arc<AtomicUsize>,
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
    ran: Vec<Ran>,
    usage: Option<Usage>,
}

impl Notes {
    /// Of an exchange.
    pub fn new(trail: Trail) -> Notes {
        Notes { trail, tried: Arc::default(), paid: Arc::default(), state: Arc::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the next attempt at an upstream must know of the exchange.
    pub fn trail(&self) -> Trail {
        self.trail.after(self.tried.load(Ordering::Relaxed))
    }

    /// An upstream was asked: here, if it speaks no dialect.
    pub fn asked(&self, upstream: &str, codec: Option<&'static dyn ChatCodec>) {
        self.with(|state| {
            state.upstream = Some(upstream.into());
            state.codec = codec;
        });
    }

    /// The tokens that are still to be paid for, of those that were used.
    pub fn unpaid(&self, used: u64) -> u64 {
        used.saturating_sub(self.paid.load(Ordering::Relaxed))
    }

    /// Who was asked last, and its dialect if it speaks one.
    pub fn upstream(&self) -> Option<(Arc<str>, Option<Dialect>)> {
        self.with(|state| Some((state.upstream.clone()?, state.codec.map(ToolCodec::dialect))))
    }

    /// It was tried once.
    pub fn tried(&self, attempt: Attempt) {
        self.tried.fetch_add(1, Ordering::Relaxed);
        self.with(|state| state.attempts.push(attempt));
    }

    /// What the client's request lost. Later turns lose the same again.
    pub fn lost(&self, report: &Report) {
        self.with(|state| {
            state.report.get_or_insert_with(|| report.clone());
        });
    }

    /// An answer of the model was not the last, or not all of it goes to the client.
    pub fn heard(&self, calls: impl IntoIterator<Item = String>, usage: Option<&Usage>) {
        self.with(|state| {
            state.calls.extend(calls);
            match (&mut state.usage, usage) {
                (Some(own), Some(more)) => own.add(more),
                (own, more) => *own = own.take().or(more.cloned()),
            }
        });
    }

    /// A call was made.
    pub fn ran(&self, done: &Done) {
        let took = done.duration;
        let name = done.outcome.name.as_deref().unwrap_or_default().into();
        let error = done.error.as_ref().map(|error| error.kind);
        let began = self.trail.elapsed().saturating_sub(took);
        self.with(|state| state.ran.push(Ran { tool: name, error, began, took }));
    }

    /// Takes the usage of the exchange from the reply, which reports the sum of all turns. `paid` of these
    /// tokens were charged to earlier attempts.
    pub fn told_usage(&self, paid: u64) {
        self.paid.store(paid, Ordering::Relaxed);
        self.with(|state| state.usage = None);
    }

    /// Whose words the answer is in.
    pub fn codec(&self) -> Option<&'static dyn ChatCodec> {
        self.with(|state| state.codec)
    }

    /// Gives all of it to what is told of the exchange.
    pub fn onto(&self, told: &mut Exchanged) {
        // Who answered is known until the run has ended.
        let state = self.with(|state| {
            let (upstream, codec) = (state.upstream.clone(), state.codec);
            std::mem::replace(state, State { upstream, codec, ..State::default() })
        });
        told.upstream = state.upstream.or(told.upstream.take());
        told.upstream_dialect = state.codec.map(ToolCodec::dialect).or(told.upstream_dialect);
        told.attempts.extend(state.attempts);
        told.calls.splice(..0, state.calls);
        told.ran.extend(state.ran);
        if let Some(report) = state.report {
            told.request = report;
        }
        match (&mut told.usage, state.usage) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
    }
}
