//! Faults of a peer: which peer, what happened, and the remedy. The peer is named by a label, such as
//! "upstream `openai`".
//!
//! No message contains a key, an address or a piece of a body. Only a refused address names its host. A message
//! advises to try again only if a repeated request is harmless: nothing was sent, or its sender says so.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;

use super::deadline::Deadlines;
use super::informational::MAX_INFORMATIONAL;
use super::permit::Full;
use super::policy::AddressRefused;
use super::pool::ConnectTimeout;
use super::tunnel::ProxyError;

/// Why a request has no response, or only a part of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HttpFault {
    /// What happened
    pub kind: HttpFaultKind,
    /// The peer, what happened, and the remedy
    pub message: String,
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpFaultKind {
    /// The request cannot be sent as it is
    Invalid,
    /// No connection
    Unreachable,
    /// No TLS
    Tls,
    /// A proxy that cannot be used
    Proxy,
    /// An address that the policy refuses
    AddressRefused,
    /// No connection within the deadline
    ConnectTimeout,
    /// Another deadline passed
    Timeout,
    /// The connection was closed, or the response interrupted
    Broken,
    /// An invalid response, such as a redirect, a web page, or one that is too large
    InvalidResponse,
    /// Too many requests wait
    Crowded,
}

impl HttpFault {
    fn new(kind: HttpFaultKind, message: String) -> HttpFault {
        HttpFault { kind, message }
    }

    /// Whether the request was not sent.
    pub fn is_unsent(&self) -> bool {
        use HttpFaultKind::{AddressRefused, ConnectTimeout, Crowded, Proxy, Tls, Unreachable};
        matches!(self.kind, Unreachable | ConnectTimeout | Crowded | Tls | Proxy | AddressRefused)
    }

    /// Whether the fault may end by itself.
    pub fn is_transient(&self) -> bool {
        use HttpFaultKind::{Broken, ConnectTimeout, Crowded, Timeout, Unreachable};
        matches!(self.kind, Unreachable | ConnectTimeout | Crowded | Timeout | Broken)
    }
}

/// The request cannot be sent.
pub fn invalid(label: &str, what: &str) -> HttpFault {
    HttpFault::new(HttpFaultKind::Invalid, format!("{label}: {what}"))
}

/// No permit was available.
pub(crate) fn full(label: &str, full: Full) -> HttpFault {
    let message = match full {
        Full::QueueFull => {
            format!(
                "{label} is at its limit of concurrent requests, and its queue is \
                     full"
            )
        }
        Full::TimedOut(wait) => {
            format!("{label} had no free slot for this request within {}", span(wait))
        }
    };
    HttpFault::new(HttpFaultKind::Crowded, message + "; try again later")
}

/// No response head arrived within the deadline.
pub(crate) fn no_head(label: &str, deadlines: &Deadlines, is_repeatable: bool) -> HttpFault {
    let wait = span(deadlines.first_byte);
    late(format!("{label} did not begin to answer within {wait} (first_byte)"), is_repeatable)
}

/// Too many informational replies came before a response.
pub(crate) fn too_many_informational(label: &str) -> HttpFault {
    answer(
        label,
        &format!(
            "sent more than {MAX_INFORMATIONAL} informational replies (1xx) in place of an answer"
        ),
    )
}

/// No frame arrived within the deadline.
pub(crate) fn no_frame(label: &str, idle: Duration, is_repeatable: bool) -> HttpFault {
    late(format!("{label} sent no data for {} (idle)", span(idle)), is_repeatable)
}

/// The exchange failed before the response head.
pub(crate) fn no_answer(
    label: &str,
    error: &legacy::Error,
    deadlines: &Deadlines,
    is_repeatable: bool,
) -> HttpFault {
    if error.is_connect() {
        return no_address(label, error, deadlines);
    }
    match find::<hyper::Error>(error) {
        Some(error) if error.is_parse() => {
            let what = "sent a response that is not HTTP, or whose headers are too large";
            answer(label, &format!("{what}; check the scheme and the port of its URL"))
        }
        _ => {
            let advice = advice(is_repeatable);
            broken(label, &format!("closed the connection before it answered{advice}"))
        }
    }
}

/// No connection can be opened to an address, or its host is not found.
pub(crate) fn no_address(
    label: &str,
    error: &(dyn Error + 'static),
    deadlines: &Deadlines,
) -> HttpFault {
    // The outer errors only wrap the innermost one.
    let innermost = causes(error).filter_map(<dyn Error>::downcast_ref::<io::Error>).last();
    let reason = innermost.map(io::Error::kind);
    if find::<ConnectTimeout>(error).is_some() || reason == Some(io::ErrorKind::TimedOut) {
        let wait = span(deadlines.connect);
        let late = late(format!("{label} could not be connected to within {wait} (connect)"), true);
        return HttpFault { kind: HttpFaultKind::ConnectTimeout, ..late };
    }
    if let Some(refused) = find::<AddressRefused>(error) {
        let message = format!("{label} cannot be reached: {refused}");
        return HttpFault::new(HttpFaultKind::AddressRefused, message);
    }
    if let Some(error) = find::<ProxyError>(error) {
        return no_proxy(label, error);
    }
    if let Some(error) = find::<rustls::Error>(error) {
        return no_tls(label, error);
    }
    let why = match reason {
        Some(io::ErrorKind::ConnectionRefused) => "the connection is refused",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
            "the connection was closed during the handshake"
        }
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "its network is unreachable"
        }
        // Errors of a resolver have no kind.
        _ => "its host was not found, or no connection could be opened",
    };
    let hint = "check its URL, and whether it is running";
    let message = format!("{label} cannot be reached: {why}; {hint}");
    HttpFault::new(HttpFaultKind::Unreachable, message)
}

/// The proxy connection failed.
pub(crate) fn no_proxy(label: &str, error: &ProxyError) -> HttpFault {
    let setting = "check `proxy`, or the variables HTTPS_PROXY, HTTP_PROXY and ALL_PROXY";
    let (kind, why) = match error {
        ProxyError::Unreachable(_) => (HttpFaultKind::Unreachable, "cannot be reached".to_owned()),
        ProxyError::Credential => {
            let why = "requires a user and a password, or rejected ours (407)";
            (HttpFaultKind::Proxy, why.to_owned())
        }
        ProxyError::Refused(status) => {
            (HttpFaultKind::Proxy, format!("refused the CONNECT request ({status})"))
        }
        ProxyError::InvalidResponse => {
            (HttpFaultKind::Proxy, "sent a response that is not that of an HTTP proxy".to_owned())
        }
        ProxyError::Socks => (
            HttpFaultKind::Proxy,
            "cannot be reached by SOCKS, or refused the connection".to_owned(),
        ),
    };
    let message = format!("{label} cannot be reached: its proxy {why}; {setting}");
    HttpFault::new(kind, message)
}

fn no_tls(label: &str, error: &rustls::Error) -> HttpFault {
    let (why, hint) = match error {
        rustls::Error::InvalidCertificate(_) => (
            "its certificate is not trusted",
            "if it uses a private certificate authority, set `ca` to the file of that authority",
        ),
        rustls::Error::InvalidMessage(_) => {
            ("it does not speak TLS", "check whether its URL should begin with http://")
        }
        _ => ("the TLS handshake failed", "check its URL and its certificate"),
    };
    let message = format!("{label} cannot be reached: {why} ({error}); {hint}");
    HttpFault::new(HttpFaultKind::Tls, message)
}

/// The response was interrupted.
pub(crate) fn broken_off(
    label: &str,
    error: &hyper::Error,
    announced: Option<u64>,
    is_repeatable: bool,
) -> HttpFault {
    let advice = advice(is_repeatable);
    if error.is_parse() {
        return answer(label, &format!("sent invalid HTTP within its response{advice}"));
    }
    let when = match announced {
        Some(length) => format!("before the {length} bytes it announced were there"),
        None => "in the middle of its answer".to_owned(),
    };
    broken(label, &format!("closed the connection {when}{advice}"))
}

/// The response is invalid.
pub fn answer(label: &str, what: &str) -> HttpFault {
    HttpFault::new(HttpFaultKind::InvalidResponse, format!("{label} {what}"))
}

/// The connection or the response was interrupted.
pub fn broken(label: &str, what: &str) -> HttpFault {
    HttpFault::new(HttpFaultKind::Broken, format!("{label} {what}"))
}

fn late(what: String, is_repeatable: bool) -> HttpFault {
    let advice = if is_repeatable { "try again, or " } else { "" };
    let message = format!("{what}; {advice}set a longer deadline");
    HttpFault::new(HttpFaultKind::Timeout, message)
}

/// What to do after an interruption.
fn advice(is_repeatable: bool) -> &'static str {
    if is_repeatable { "; try again" } else { "" }
}

/// Returns the first error of a type in a chain of causes.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(<dyn Error>::downcast_ref)
}

/// Returns an error and its causes. An I/O error that wraps another reports the other's cause as
/// its own.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// Formats a duration as in the configuration: `600s`, `250ms`.
fn span(time: Duration) -> String {
    if time.subsec_nanos() == 0 {
        return format!("{}s", time.as_secs());
    }
    format!("{}ms", time.as_millis())
}
