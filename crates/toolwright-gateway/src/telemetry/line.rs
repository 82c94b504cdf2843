//! One exchange, one line in the log: short for people, or with every field. The names of fields are those
//! of OpenTelemetry's conventions for generative AI where they have one; ours begin with `toolwright`.

mod short;

use toolwright::chat::response::finish_reason;
use toolwright::redact::redact;
use toolwright_core::fit::Severity;
use toolwright_core::{Dialect, FaultClass, Json};

use super::exchanged::Payloads;
use super::{Exchanged, ledger};
use crate::config::LogFormat;
use short::ShortLine;

/// The target of the lines.
pub const TARGET: &str = "toolwright::exchange";
/// The target of lines with bodies.
pub const PAYLOADS: &str = "toolwright::payloads";

/// Writes the bodies, secrets redacted. Only where the configuration says so.
pub(super) fn payloads(told: &Exchanged) {
    let Some(Payloads { request, response }) = &told.payloads else { return };
    let shown = |bytes: &[u8]| redact(&ledger::body(bytes), &Json::Bool(true)).compact();
    tracing::event!(
        target: PAYLOADS,
        tracing::Level::INFO,
        toolwright.request.id = %told.id,
        toolwright.request.body = shown(request),
        toolwright.response.body = shown(response),
        "payloads"
    );
}

/// Writes the line: a warning if the gateway or the upstream failed, otherwise information.
pub(super) fn write(told: &Exchanged, format: LogFormat) {
    let failed = told.fault.is_some_and(FaultClass::is_retryable);
    match (format, failed) {
        (LogFormat::Text, true) => tracing::warn!(target: TARGET, message = %ShortLine(told)),
        (LogFormat::Text, false) => tracing::info!(target: TARGET, message = %ShortLine(told)),
        (LogFormat::Full | LogFormat::Json, true) => warn(told),
        (LogFormat::Full | LogFormat::Json, false) => info(told),
    }
}

macro_rules! line {
    ($level:ident) => {
        fn $level(told: &Exchanged) {
            tracing::event!(
                target: TARGET,
                level!($level),
                toolwright.request.id = %told.id,
                gen_ai.operation.name = operation(told.endpoint),
                gen_ai.provider.name = told.upstream_dialect.map(provider),
                gen_ai.request.model = told.asked.as_deref(),
                gen_ai.response.model = told.model.as_deref(),
                gen_ai.response.id = told.answer_id.as_deref(),
                gen_ai.response.finish_reasons = told.stop.map(finish_reason),
                gen_ai.usage.input_tokens = told.usage.as_ref().map(|usage| usage.input_total()),
                gen_ai.usage.output_tokens = told.usage.as_ref().and_then(|usage| usage.output),
                "error.type" = told.error(),
                http.response.status_code = told.status,
                toolwright.client = &*told.client.id,
                toolwright.tenant = &*told.client.tenant,
                toolwright.dialect = told.dialect.id(),
                toolwright.endpoint = told.endpoint,
                toolwright.upstream = told.upstream.as_deref(),
                toolwright.upstream.dialect = told.upstream_dialect.map(Dialect::id),
                toolwright.stream = told.stream,
                toolwright.untouched = told.untouched,
                toolwright.attempts = told.attempts.len(),
                toolwright.calls = told.calls.len(),
                toolwright.ran = told.ran.len(),
                toolwright.losses = told.losses(),
                toolwright.losses.major = told.lost(Severity::Major),
                toolwright.bytes_in = told.bytes_in,
                toolwright.bytes_out = told.bytes_out,
                toolwright.total_us = micros(told.took.total),
                toolwright.first_byte_us = told.took.first_byte.map(micros),
                toolwright.added_us = micros(told.took.added),
                "exchange"
            );
        }
    };
}

macro_rules! level {
    (info) => {
        tracing::Level::INFO
    };
    (warn) => {
        tracing::Level::WARN
    };
}

line!(info);
line!(warn);

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The operation by OpenTelemetry's word.
pub(super) fn operation(endpoint: &str) -> &'static str {
    if endpoint == "embeddings" { "embeddings" } else { "chat" }
}

/// The vendor by OpenTelemetry's word, where it has one.
pub(super) fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => "openai",
        Dialect::Bedrock => "aws.bedrock",
        Dialect::Gemini => "gcp.gemini",
        Dialect::Mistral => "mistral_ai",
        Dialect::Anthropic
        | Dialect::Deepseek
        | Dialect::Ollama
        | Dialect::Cohere
        | Dialect::Mcp => dialect.id(),
    }
}
