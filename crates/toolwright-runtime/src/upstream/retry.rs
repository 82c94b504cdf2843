//! Decides whether and when a request is retried. Clock and randomness are parameters. Only requests of
//! which the caller has seen nothing are retried.
//!
//! | known | decision |
//! |---|---|
//! | the fault is permanent, no retry is left, or the vendor says no | give up |
//! | the vendor says when | wait that long and a random time more; give up beyond [`MAX_RETRY_AFTER`] |
//! | otherwise | wait a random time up to a bound that doubles with each attempt |

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use toolwright_core::Fault;

use crate::settings::Retry as Policy;

/// Maximum wait that a vendor may ask for. Beyond it the fault is returned, so that the caller can use
/// another upstream.
pub const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Codes of our own faults that a retry does not fix.
const PERMANENT_CODES: [&str; 5] = [
    "upstream_tls",
    "upstream_proxy",
    "upstream_answer",
    "upstream_timeout",
    "upstream_connect_timeout",
];

/// The decision after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Wait, then retry
    Wait(Duration),
    /// Return the fault
    GiveUp,
}

/// What response headers say about retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetryHint {
    /// The time to wait from the response on
    pub wait: Option<Duration>,
    /// Whether to retry, if the vendor says so
    pub again: Option<bool>,
}

/// The attempts at one request.
#[derive(Debug, Clone)]
pub struct Retry {
    policy: Policy,
    made: u32,
}

impl Retry {
    /// Allows that many retries, after up to half a second, a second, … eight seconds.
    pub fn new(retries: u32) -> Retry {
        Retry { policy: policy(retries), made: 0 }
    }

    /// Counts a failed attempt and decides.
    pub fn after(&mut self, fault: &Fault) -> Verdict {
        self.after_reply(fault, RetryHint::default())
    }

    /// Counts a failed attempt and decides, with the hint of the response headers.
    pub fn after_reply(&mut self, fault: &Fault, hint: RetryHint) -> Verdict {
        self.made = self.made.saturating_add(1);
        decide(&self.policy, self.made, fault, hint, random())
    }
}

fn policy(retries: u32) -> Policy {
    Policy { max: retries, backoff: Duration::from_millis(500), ceiling: Duration::from_secs(8) }
}

/// Decides after an attempt, counted from 1, with a random number.
pub fn decide(
    retry: &Policy,
    attempt: u32,
    fault: &Fault,
    hint: RetryHint,
    random: u32,
) -> Verdict {
    let permanent = fault.code.as_deref().is_some_and(|code| PERMANENT_CODES.contains(&code));
    let passes = hint.again.unwrap_or_else(|| fault.class.is_retryable() && !permanent);
    if attempt > retry.max || !passes {
        return Verdict::GiveUp;
    }
    let told = hint.wait.or(fault.retry_after_ms.map(Duration::from_millis));
    match told {
        Some(wait) if wait > MAX_RETRY_AFTER => Verdict::GiveUp,
        // Clients that got the same hint should not retry at the same time.
        Some(wait) => Verdict::Wait(wait + share(retry.backoff, random)),
        None => Verdict::Wait(share(retry.wait(attempt), random)),
    }
}

/// A random share of a duration.
fn share(most: Duration, random: u32) -> Duration {
    most.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// A random number for [`decide`].
fn random() -> u32 {
    // Without randomness, the longest wait is the safe one.
    getrandom::u32().unwrap_or(u32::MAX)
}

impl RetryHint {
    /// Reads `retry-after-ms`, `retry-after` (seconds or a date) and `x-should-retry`.
    pub fn from_headers(headers: &HeaderMap, now: SystemTime) -> RetryHint {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let millis = text("retry-after-ms").and_then(|text| read_seconds(text, 1000.0));
        let seconds = text("retry-after").and_then(|text| read_seconds(text, 1.0));
        let date = || text("retry-after").and_then(|text| httpdate::parse_http_date(text).ok());
        // A date in the past means now.
        let until = || Some(date()?.duration_since(now).unwrap_or_default());
        let again = text("x-should-retry").and_then(|word| word.trim().parse().ok());
        RetryHint { wait: millis.or(seconds).or_else(until), again }
    }

    /// Adds the wait to a fault.
    #[must_use]
    pub fn apply_to(self, mut fault: Fault) -> Fault {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let wait = self.wait.map(millis);
        fault.retry_after_ms = wait.or(fault.retry_after_ms);
        fault
    }
}

/// Parses a number in units of which `per_second` make a second. A value that no duration can hold becomes
/// the longest duration.
fn read_seconds(text: &str, per_second: f64) -> Option<Duration> {
    let text = text.trim();
    // Words such as `inf` are no numbers here.
    let number: f64 =
        text.starts_with(|own: char| own.is_ascii_digit()).then(|| text.parse().ok())??;
    Some(Duration::try_from_secs_f64(number / per_second).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use toolwright_core::fault::FaultClass;

    const HALF: u32 = u32::MAX / 2;

    fn fault(class: FaultClass) -> Fault {
        Fault::new(class, "no")
    }

    fn hint(headers: &[(&'static str, &str)]) -> RetryHint {
        let pairs = headers.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        RetryHint::from_headers(&pairs.collect(), now)
    }

    fn wait(verdict: Verdict) -> f64 {
        match verdict {
            Verdict::Wait(wait) => wait.as_secs_f64(),
            Verdict::GiveUp => f64::NAN,
        }
    }

    #[test]
    fn waits_are_random_up_to_a_bound_that_doubles() {
        let (retry, overloaded) = (policy(9), fault(FaultClass::Overloaded));
        let at = |attempt, random| {
            wait(decide(&retry, attempt, &overloaded, RetryHint::default(), random))
        };
        assert!(at(1, 0).abs() < 1e-9 && (at(1, u32::MAX) - 0.5).abs() < 1e-6);
        assert!((at(3, u32::MAX) - 2.0).abs() < 1e-6 && (at(3, HALF) - 1.0).abs() < 1e-6);
        assert!((at(9, u32::MAX) - 8.0).abs() < 1e-6);
    }

    #[test]
    fn attempts_are_counted_and_lasting_faults_end_them() {
        let retry = policy(2);
        let overloaded = fault(FaultClass::Overloaded);
        let again = |attempt, fault: &Fault, hint| {
            decide(&retry, attempt, fault, hint, 0) == Verdict::Wait(Duration::ZERO)
        };
        assert!(
            again(1, &overloaded, RetryHint::default())
                && again(2, &overloaded, RetryHint::default())
        );
        assert!(!again(3, &overloaded, RetryHint::default()));
        assert!(!again(1, &fault(FaultClass::Invalid), RetryHint::default()));
        assert!(!again(1, &fault(FaultClass::Billing), RetryHint::default()));
        for code in PERMANENT_CODES {
            let own = Fault { code: Some(code.to_owned()), ..fault(FaultClass::Internal) };
            assert!(!again(1, &own, RetryHint::default()), "{code}");
        }
        assert!(!again(1, &overloaded, hint(&[("x-should-retry", "false")])));
        assert!(again(1, &fault(FaultClass::Invalid), hint(&[("x-should-retry", "true")])));
    }

    #[test]
    fn what_the_vendor_says_is_honoured_up_to_a_bound() {
        let (retry, limited) = (policy(2), fault(FaultClass::RateLimited));
        let after = |hint, random| decide(&retry, 1, &limited, hint, random);
        let exactly = |millis| Verdict::Wait(Duration::from_millis(millis));
        assert_eq!(after(hint(&[("retry-after", "7")]), 0), exactly(7000));
        assert_eq!(after(hint(&[("retry-after", "1.5")]), 0), exactly(1500));
        assert!((wait(after(hint(&[("retry-after", "7")]), u32::MAX)) - 7.5).abs() < 1e-6);
        let both = hint(&[("retry-after", "7"), ("retry-after-ms", "250")]);
        assert_eq!(after(both, 0), exactly(250));
        assert_eq!(after(hint(&[("retry-after", "61")]), 0), Verdict::GiveUp);
        for oversized in ["1e30", "99999999999999999999999", "1e400"] {
            for name in ["retry-after", "retry-after-ms"] {
                assert_eq!(after(hint(&[(name, oversized)]), 0), Verdict::GiveUp, "{oversized}");
            }
            let told = hint(&[("retry-after", oversized)]).apply_to(limited.clone());
            assert_eq!(told.retry_after_ms, Some(u64::MAX), "{oversized}");
        }
        // As Gemini says it, in the body.
        let told = Fault { retry_after_ms: Some(17_000), ..limited.clone() };
        assert_eq!(decide(&retry, 1, &told, RetryHint::default(), 0), exactly(17_000));
    }

    #[test]
    fn a_date_is_a_wait_from_now() {
        let until = |date| hint(&[("retry-after", date)]).wait;
        assert_eq!(until("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(until("Sun, 06 Nov 1994 08:50:00 GMT"), Some(Duration::from_secs(23)));
        assert_eq!(until("Sat, 05 Nov 1994 08:50:00 GMT"), Some(Duration::ZERO));
        for wrong in [
            "",
            "soon",
            "-1",
            "NaN",
            "inf",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
        ] {
            assert_eq!(until(wrong), None, "{wrong}");
        }
        let told = hint(&[("retry-after", "2")]).apply_to(fault(FaultClass::RateLimited));
        assert_eq!(told.retry_after_ms, Some(2000));
    }
}
