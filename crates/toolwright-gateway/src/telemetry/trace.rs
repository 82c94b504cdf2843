//! The trace of an exchange, by the W3C header `traceparent`: read from the client's request, and
//! sent to the upstream.

use std::fmt;
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::RequestId;

/// The name of the header.
pub const HEADER: HeaderName = HeaderName::from_static("traceparent");

/// A span of a trace, as in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace
    pub trace: u128,
    /// The span
    pub span: u64,
    /// Flags; the lowest bit says that the trace is sampled
    pub flags: u8,
}

/// The span of an exchange in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The span of the exchange
    pub own: TraceParent,
    /// The span of the client, if it sent one
    pub parent: Option<TraceParent>,
}

/// The text is not a `traceparent` of a supported version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent")]
pub struct NotATraceParent;

impl Trace {
    /// Creates the span of an exchange: a child of the client's span, or the root of a new trace.
    pub fn of(headers: &HeaderMap, id: RequestId) -> Trace {
        let parent = headers.get(HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        let parent: Option<TraceParent> = parent;
        let trace = parent.map_or(id.bits(), |parent| parent.trace);
        let flags = parent.map_or(1, |parent| parent.flags);
        let own = TraceParent { trace, span: child(low(id), 0), flags };
        Trace { own, parent }
    }

    /// Whether the trace is sampled.
    pub fn is_recorded(&self) -> bool {
        self.own.flags & 1 == 1
    }

    /// Returns the span of a child by its number.
    #[must_use]
    pub fn child(&self, number: usize) -> TraceParent {
        TraceParent { span: child(self.own.span, number as u64 + 1), ..self.own }
    }
}

impl TraceParent {
    /// Returns the value of the header.
    pub fn header(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.to_string()).ok()
    }
}

/// Returns the lower bits of an exchange's id, which contain no timestamp.
#[allow(clippy::cast_possible_truncation, reason = "the lower bits are meant")]
fn low(id: RequestId) -> u64 {
    id.bits() as u64
}

/// Derives an id from another and a number, so that it need not be stored: the finalizer of the
/// generator `SplitMix64`, which is a bijection.
fn child(span: u64, number: u64) -> u64 {
    let mut bits = span.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Zero is not a valid id.
    (bits ^ (bits >> 31)).max(1)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl FromStr for TraceParent {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<TraceParent, NotATraceParent> {
        let hex = |text: &str, length: usize| {
            let legal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let whole = text.len() == length && text.bytes().all(legal);
            whole.then(|| u128::from_str_radix(text, 16).ok()).flatten().ok_or(NotATraceParent)
        };
        let mut parts = text.split('-');
        let mut next = |length| hex(parts.next().ok_or(NotATraceParent)?, length);
        let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        // Later versions may append fields; version 255 is invalid.
        let more = parts.next().is_some();
        if version == 255 || (version == 0 && more) || trace == 0 || span == 0 {
            return Err(NotATraceParent);
        }
        let span = u64::try_from(span).map_err(|_| NotATraceParent)?;
        let flags = u8::try_from(flags).map_err(|_| NotATraceParent)?;
        Ok(TraceParent { trace, span, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let parent: TraceParent = GIVEN.parse().unwrap();
        assert_eq!(parent.to_string(), GIVEN);
        assert_eq!(parent.header().unwrap(), GIVEN);
        let later = GIVEN.replacen("00", "cc", 1) + "-what-the-future-brings";
        assert_eq!(later.parse(), Ok(parent));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for text in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(text.parse::<TraceParent>(), Err(NotATraceParent), "{text}");
        }
    }

    #[test]
    fn an_exchange_goes_on_with_the_clients_trace_or_begins_one() {
        let (mut headers, id) = (HeaderMap::new(), RequestId::random());
        let begun = Trace::of(&headers, id);
        assert_eq!((begun.own.trace, begun.parent), (id.bits(), None));
        assert!(begun.is_recorded());
        headers.insert(HEADER, HeaderValue::from_static(GIVEN));
        let goes_on = Trace::of(&headers, id);
        let parent: TraceParent = GIVEN.parse().unwrap();
        assert_eq!(goes_on.parent, Some(parent));
        assert_eq!(goes_on.own.trace, parent.trace);
        assert_ne!(goes_on.own.span, parent.span);
        let quiet = GIVEN.replace("-01", "-00");
        headers.insert(HEADER, HeaderValue::try_from(quiet).unwrap());
        assert!(!Trace::of(&headers, id).is_recorded());
    }

    #[test]
    fn spans_differ() {
        let trace = Trace::of(&HeaderMap::new(), RequestId::random());
        let mut spans: Vec<u64> = (0..1000).map(|number| trace.child(number).span).collect();
        spans.push(trace.own.span);
        spans.sort_unstable();
        spans.dedup();
        assert_eq!(spans.len(), 1001);
    }
}
