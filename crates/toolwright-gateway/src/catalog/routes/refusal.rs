//! Errors of the prefab interface: `{"detail": …}`, a text or an object with `error_code` and `message`.

use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use toolwright_catalog::files::FileError;
use toolwright_catalog::runtime::FunctionError;
use toolwright_core::schema::Violation;
use toolwright_core::{Fault, FaultClass, Json, object};

use crate::catalog::unavailable;
use crate::fault;
use crate::http::Reply;
use crate::telemetry::RequestId;

/// A request that is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    detail: Json,
    /// Names that the client may have meant
    suggestions: Vec<String>,
    retry_after_ms: Option<u64>,
}

impl Refusal {
    fn new(status: StatusCode, detail: impl Into<Json>) -> Refusal {
        Refusal { status, detail: detail.into(), suggestions: Vec::new(), retry_after_ms: None }
    }

    /// What the request names does not exist.
    pub(super) fn not_found(detail: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, Json::from(detail.into()))
    }

    /// The request is invalid.
    pub(super) fn invalid(detail: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, Json::from(detail.into()))
    }

    /// The client is not authenticated.
    pub(super) fn unauthenticated(detail: &str) -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, Json::from(detail))
    }

    /// The request is not permitted.
    pub(super) fn forbidden(detail: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, Json::from(detail.into()))
    }

    /// A limit of the client is reached.
    pub(super) fn quota(message: &str, quota_type: &str, limit: u64, used: u64) -> Refusal {
        let detail = object! {
            "error_code": "QUOTA_EXCEEDED",
            "message": message,
            "limit": limit,
            "used": used,
            "quota_type": quota_type,
        };
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, Json::Object(detail))
    }

    /// The calls of a plan exceed the rate of the client, which may make the next one after a time.
    pub(super) fn rate_limited(message: &str, wait: Duration) -> Refusal {
        let detail = object! {"error_code": "RATE_LIMITED", "message": message};
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, Json::Object(detail));
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        refusal.with_retry_after(Some(wait.saturating_add(1)))
    }

    /// The arguments of a call are invalid.
    pub(super) fn invalid_arguments(
        call: usize,
        function: &str,
        violations: &[Violation],
    ) -> Refusal {
        let errors: Vec<Json> = violations
            .iter()
            .map(|own| {
                let path = own.path.as_str();
                Json::Object(object! {"path": path, "message": own.message.as_str()})
            })
            .collect();
        let first = violations.first().map(|own| match own.path.as_str() {
            "" => format!("The object {}.", own.message),
            path => format!("`{path}` {}.", own.message),
        });
        let message = format!(
            "The arguments of `{function}` are invalid. {}",
            first.unwrap_or_else(|| "They cannot be read.".to_owned())
        );
        let detail = object! {
            "error_code": "INVALID_ARGUMENTS",
            "message": message,
            "call": call,
            "errors": errors,
        };
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, Json::Object(detail))
    }

    /// The idempotency key belongs to another request.
    pub(super) fn key_reused() -> Refusal {
        let detail = object! {
            "error_code": "IDEMPOTENCY_KEY_REUSED",
            "message": "The idempotency key was used for another request. Send a new key with a new request.",
        };
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, Json::Object(detail))
    }

    /// A function needs a secret that is not configured.
    pub(super) fn missing_secret(prefab: &str, secret: &str, instructions: &str) -> Refusal {
        let detail = object! {
            "error_code": "MISSING_SECRET",
            "message": format!("The prefab '{prefab}' needs the secret '{secret}'."),
            "prefab_id": prefab,
            "secret_name": secret,
            "instructions": instructions,
        };
        Refusal::new(StatusCode::BAD_REQUEST, Json::Object(detail))
    }

    /// Nothing here can run the function. The configuration lacks something, so a retry is useless.
    pub(super) fn not_runnable(message: &str) -> Refusal {
        let detail = object! {"error_code": "NOT_RUNNABLE", "message": message};
        Refusal::new(StatusCode::BAD_REQUEST, Json::Object(detail))
    }

    /// Sets the time after which the client may try again.
    pub(super) fn with_retry_after(mut self, milliseconds: Option<u64>) -> Refusal {
        self.retry_after_ms = milliseconds;
        self
    }

    /// The data folder cannot be used. The reason, which may contain paths, is in the log only.
    pub(super) fn unavailable(why: &str) -> Refusal {
        Refusal::from(unavailable(why))
    }

    /// Adds names that the client may have meant.
    pub(super) fn with_suggestions(mut self, suggestions: Vec<String>) -> Refusal {
        self.suggestions = suggestions;
        self
    }

    /// Creates the reply.
    pub(crate) fn reply(self) -> Reply {
        let mut body = object! {"detail": self.detail};
        if !self.suggestions.is_empty() {
            let suggestions: Vec<Json> = self.suggestions.into_iter().map(Json::from).collect();
            body.push("suggestions", suggestions);
        }
        let mut reply = fault::document(&Json::Object(body));
        *reply.status_mut() = self.status;
        let headers = reply.headers_mut();
        if let Some(wait) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.div_ceil(1_000)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Ok(id) = HeaderValue::try_from(RequestId::random().to_string()) {
            headers.insert(fault::REQUEST_ID, id);
        }
        reply
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        let usual = match fault.class {
            FaultClass::Invalid => 422,
            class => class.status(),
        };
        let status = StatusCode::from_u16(fault.status.unwrap_or(usual));
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after_ms = fault.retry_after_ms;
        Refusal { retry_after_ms, ..Refusal::new(status, Json::from(fault.message)) }
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Refusal {
        match error {
            FileError::NotFound => Refusal::not_found("File not found"),
            FileError::TooLarge { max } => {
                let message = format!("The file is larger than the {max} bytes that are accepted.");
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Json::from(message))
            }
            FileError::Quota { unit, limit, used } => {
                let message = format!(
                    "The files exceed the quota of {limit} {unit}. Remove temporary files, or ask \
                     the operator to raise catalog.max_storage."
                );
                let kind = if unit == "bytes" { "storage_bytes" } else { "storage_files" };
                Refusal::quota(&message, kind, limit, used)
            }
            other => Refusal::unavailable(&other.to_string()),
        }
    }
}

impl From<FunctionError> for Refusal {
    fn from(error: FunctionError) -> Refusal {
        match error {
            FunctionError::MissingSecret { prefab, secret, instructions } => {
                Refusal::missing_secret(&prefab, &secret, &instructions)
            }
            other => Refusal::not_runnable(&other.to_string()),
        }
    }
}
