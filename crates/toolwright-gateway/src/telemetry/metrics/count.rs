//! Adds an exchange to the metrics.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::loss::Severity;
use toolwright_core::{Dialect, FaultClass, Usage};
use toolwright_runtime::CallErrorKind;

use super::Metrics;
use super::label::{
    Attempts, Calls, FunctionCalls, FunctionTimes, Left, Losses, Overhead, Requests, Times, Tokens,
};
use crate::telemetry::ExchangeRecord;

impl Metrics {
    pub(in crate::telemetry) fn begun(&self) {
        self.open.inc();
    }

    pub(in crate::telemetry) fn ended(&self) {
        self.open.dec();
    }

    /// Adds a call of a function.
    pub fn count_function(
        &self,
        name: &Arc<str>,
        error: Option<CallErrorKind>,
        duration: Duration,
    ) {
        let function = self.function(name);
        let outcome = error.map_or("ok", CallErrorKind::as_str);
        let calls = FunctionCalls { function: Arc::clone(&function), outcome };
        self.function_calls.get_or_create(&calls).inc();
        let times = self.function_times.get_or_create(&FunctionTimes { function });
        times.observe(duration.as_secs_f64());
    }

    /// Adds a finished exchange.
    pub fn count(&self, record: &ExchangeRecord) {
        let dialect = record.dialect.id();
        let upstream = record.upstream.as_ref().unwrap_or(&self.none);
        let upstream_dialect = record.upstream_dialect.map_or("none", Dialect::id);
        let model = self.model(record.requested_model.as_ref());
        let requests = Requests {
            dialect,
            upstream: upstream.clone(),
            model: model.clone(),
            status: class(record.status),
        };
        self.requests.get_or_create(&requests).inc();
        if record.client_left {
            self.left.get_or_create(&Left { dialect }).inc();
        }
        let times = Times { dialect, upstream: upstream.clone(), stream: record.stream };
        self.total.get_or_create(&times).observe(record.timing.total.as_secs_f64());
        if let Some(first_byte) = record.timing.first_byte {
            self.first_byte.get_or_create(&times).observe(first_byte.as_secs_f64());
        }
        let mode = if record.untouched { "passthrough" } else { "translated" };
        let overhead = Overhead { dialect, upstream_dialect, mode };
        self.added.get_or_create(&overhead).observe(record.timing.added.as_secs_f64());
        for attempt in &record.attempts {
            let outcome = attempt.fault.map_or("ok", FaultClass::word);
            let attempts = Attempts { upstream: attempt.upstream.clone(), outcome };
            self.attempts.get_or_create(&attempts).inc();
        }
        if let Some(usage) = &record.usage {
            for (direction, kind, tokens) in tokens(usage) {
                let (upstream, model) = (upstream.clone(), model.clone());
                let labels = Tokens { upstream, model, direction, kind };
                self.tokens.get_or_create(&labels).inc_by(tokens.min(MAX_TOKENS));
            }
        }
        for severity in Severity::ALL {
            let lost = record.losses_of(severity);
            if lost > 0 {
                let severity = severity.word();
                let losses = Losses { dialect, upstream_dialect, severity };
                self.losses.get_or_create(&losses).inc_by(lost);
            }
        }
        self.asked.inc_by(record.calls.len() as u64);
        for ran in &record.executed_calls {
            let outcome = ran.error.map_or("ok", CallErrorKind::as_str);
            self.calls.get_or_create(&Calls { by: "gateway", outcome }).inc();
        }
        self.bytes_in.inc_by(record.bytes_in);
        self.bytes_out.inc_by(record.bytes_out);
    }
}

/// Maximum number of tokens that are counted for one reply. Counters do not saturate, so no
/// upstream may make them overflow.
const MAX_TOKENS: u64 = 1 << 40;

/// Returns the class of a status.
fn class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "none",
    }
}

/// Returns the counts that add up, without zeros.
fn tokens(usage: &Usage) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    let reasoning = usage.reasoning.unwrap_or(0);
    let counts = [
        ("input", "uncached", usage.input.unwrap_or(0)),
        ("input", "cache_read", usage.cache_read.unwrap_or(0)),
        ("input", "cache_write", usage.cache_write.unwrap_or(0)),
        ("output", "reasoning", reasoning),
        ("output", "answer", usage.output.unwrap_or(0).saturating_sub(reasoning)),
    ];
    counts.into_iter().filter(|(_, _, tokens)| *tokens > 0)
}
