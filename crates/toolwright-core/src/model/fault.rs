//! A failure for an API client, which each dialect encodes as a status and a body.

use std::fmt;

use crate::model::extra::Extra;

/// A failure, in a form that every dialect can express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its class, which determines status and retries
    pub class: FaultClass,
    /// The problem and the remedy, without payloads
    pub message: String,
    /// The HTTP status, if it was received over HTTP
    pub status: Option<u16>,
    /// The vendor's own code (`rate_limit_exceeded`, `3280`)
    pub code: Option<String>,
    /// The invalid field, in the vendor's notation
    pub param: Option<String>,
    /// Milliseconds after which to retry
    pub retry_after_ms: Option<u64>,
    /// The vendor's id of the request
    pub request_id: Option<String>,
    /// Fields without a canonical name
    pub extra: Extra,
}

toolwright_json::words! {
    /// Classes of failure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FaultClass: word, from_word {
        /// The request is invalid (400, 409, 422)
        Invalid = "invalid",
        /// Missing or wrong credentials (401)
        Unauthenticated = "unauthenticated",
        /// Out of credit (402)
        Billing = "billing",
        /// Insufficient permissions (403)
        Forbidden = "forbidden",
        /// No such model or path (404)
        NotFound = "not_found",
        /// The request is too large (413)
        TooLarge = "too_large",
        /// Too many requests (429)
        RateLimited = "rate_limited",
        /// The vendor took too long (408, 504)
        Timeout = "timeout",
        /// The vendor is overloaded (503, 529)
        Overloaded = "overloaded",
        /// The vendor failed (500, 502, 424)
        Internal = "internal",
    }
}

impl Fault {
    /// Creates a fault.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Fault {
        Fault {
            class,
            message: message.into(),
            status: None,
            code: None,
            param: None,
            retry_after_ms: None,
            request_id: None,
            extra: Extra::NONE,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl FaultClass {
    /// Returns the class of an HTTP status.
    pub fn from_status(status: u16) -> FaultClass {
        match status {
            401 => FaultClass::Unauthenticated,
            402 => FaultClass::Billing,
            403 => FaultClass::Forbidden,
            404 => FaultClass::NotFound,
            408 | 504 => FaultClass::Timeout,
            413 => FaultClass::TooLarge,
            429 => FaultClass::RateLimited,
            503 | 529 => FaultClass::Overloaded,
            400..=499 if status != 424 => FaultClass::Invalid,
            _ => FaultClass::Internal,
        }
    }

    /// Returns the default status of the class.
    pub fn status(self) -> u16 {
        match self {
            FaultClass::Invalid => 400,
            FaultClass::Unauthenticated => 401,
            FaultClass::Billing => 402,
            FaultClass::Forbidden => 403,
            FaultClass::NotFound => 404,
            FaultClass::TooLarge => 413,
            FaultClass::RateLimited => 429,
            FaultClass::Timeout => 504,
            FaultClass::Overloaded => 503,
            FaultClass::Internal => 500,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        use FaultClass::{Internal, Overloaded, RateLimited, Timeout};
        matches!(self, RateLimited | Timeout | Overloaded | Internal)
    }
}
