//! Logs one line for each exchange: short, or with every field. Field names follow OpenTelemetry's
//! conventions for generative AI if there is one; others begin with `toolwright`.

mod short;

use toolwright_core::loss::Severity;
use toolwright_core::{Dialect, FaultClass, Json, StopReason};
use toolwright_runtime::redact::excerpt::preview;
use toolwright_runtime::redact::redact;

use super::config::LogFormat;
use super::record::Payloads;
use super::{ExchangeRecord, ledger};
use short::ShortLine;
pub use short::write_request;

/// The target of the lines.
pub const TARGET: &str = "toolwright::exchange";
/// The target of lines with bodies.
pub const PAYLOADS: &str = "toolwright::payloads";

/// Maximum number of bytes of a body that are logged.
const MAX_LOGGED_BODY: usize = 64 << 10;

/// Logs the bodies with secrets redacted, if the configuration enables it. Of a large body, only the beginning is
/// searched for secrets, because this may run on the thread of a connection.
pub(super) fn payloads(record: &ExchangeRecord) {
    let Some(Payloads { request, response, .. }) = &record.payloads else { return };
    let shown = |bytes: &[u8]| {
        if bytes.len() > MAX_LOGGED_BODY {
            return preview(&Json::from(&*String::from_utf8_lossy(bytes)), MAX_LOGGED_BODY);
        }
        redact(&ledger::body(bytes), &Json::Bool(true)).compact()
    };
    tracing::event!(
        target: PAYLOADS,
        tracing::Level::INFO,
        toolwright.request.id = %record.id,
        toolwright.request.body = shown(request),
        toolwright.response.body = shown(response),
        "payloads"
    );
}

/// Writes the line: a warning if the gateway or the upstream failed, otherwise information.
pub(super) fn write(record: &ExchangeRecord, format: LogFormat) {
    let failed = record.fault.is_some_and(FaultClass::is_retryable);
    match (format, failed) {
        (LogFormat::Text, true) => tracing::warn!(target: TARGET, message = %ShortLine(record)),
        (LogFormat::Text, false) => tracing::info!(target: TARGET, message = %ShortLine(record)),
        (LogFormat::Full | LogFormat::Json, true) => warn(record),
        (LogFormat::Full | LogFormat::Json, false) => info(record),
    }
}

macro_rules! line {
    ($level:ident) => {
        fn $level(record: &ExchangeRecord) {
            tracing::event!(
                target: TARGET,
                level!($level),
                toolwright.request.id = %record.id,
                gen_ai.operation.name = operation(record.endpoint),
                gen_ai.provider.name = record.upstream_dialect.map(provider),
                gen_ai.request.model = record.requested_model.as_deref(),
                gen_ai.response.model = record.response_model.as_deref(),
                gen_ai.response.id = record.response_id.as_deref(),
                gen_ai.response.finish_reasons = record.stop.map(StopReason::name),
                gen_ai.usage.input_tokens = record.usage.as_ref().map(|usage| usage.input_total()),
                gen_ai.usage.output_tokens = record.usage.as_ref().and_then(|usage| usage.output),
                "error.type" = record.error(),
                http.response.status_code = record.status,
                toolwright.client = &*record.client.id,
                toolwright.tenant = &*record.client.tenant,
                toolwright.conversation = record.conversation.as_deref(),
                toolwright.dialect = record.dialect.id(),
                toolwright.endpoint = record.endpoint,
                toolwright.upstream = record.upstream.as_deref(),
                toolwright.upstream.dialect = record.upstream_dialect.map(Dialect::id),
                toolwright.stream = record.stream,
                toolwright.untouched = record.untouched,
                toolwright.attempts = record.attempts.len(),
                toolwright.calls = record.calls.len(),
                toolwright.ran = record.executed_calls.len(),
                toolwright.losses = record.loss_count(),
                toolwright.losses.major = record.losses_of(Severity::Major),
                toolwright.bytes_in = record.bytes_in,
                toolwright.bytes_out = record.bytes_out,
                toolwright.total_us = micros(record.timing.total),
                toolwright.first_byte_us = record.timing.first_byte.map(micros),
                toolwright.added_us = micros(record.timing.added),
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

/// Returns microseconds.
pub fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Returns OpenTelemetry's name of the operation.
pub(super) fn operation(endpoint: &str) -> &'static str {
    if endpoint == "embeddings" { "embeddings" } else { "chat" }
}

/// Returns OpenTelemetry's name of the vendor, if there is one.
pub(super) fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => "openai",
        Dialect::Bedrock => "aws.bedrock",
        Dialect::Gemini => "gcp.gemini",
        Dialect::Mistral => "mistral_ai",
        _ => dialect.id(),
    }
}
