//! Whether an upstream is asked again, and when. The decision is made without clock or dice: both
//! are given. It is for requests of which the caller has seen nothing yet.
//!
//! | what is known | what follows |
//! |---|---|
//! | the fault will not pass, the attempts are used up, or the vendor says no | give up |
//! | the vendor says when | wait so long, and a little more; give up if it is beyond [`PATIENCE`] |
//! | else | wait a random time up to a bound that doubles with each attempt |

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use toolwright_core::fault::Fault;

use crate::settings::Retry as Policy;

/// The longest wait that a vendor may ask for. Whoever would have to wait longer is told so instead,
/// and may ask another upstream meanwhile.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Codes of our own faults that no further attempt mends: the certificate stays untrusted, the proxy
/// closed, the answer none, and a deadline was all the time that there is.
const LASTING: [&str; 4] =
    ["upstream_tls", "upstream_proxy", "upstream_answer", "upstream_timeout"];

/// What follows from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Wait so long, then ask again
    Wait(Duration),
    /// The fault is the answer
    GiveUp,
}

/// What the headers of a reply say about another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hint {
    /// When to try again, counted from the reply
    pub wait: Option<Duration>,
    /// Whether to try again at all, if the vendor says so
    pub again: Option<bool>,
}

/// The attempts at one request.
#[derive(Debug, Clone)]
pub struct Retry {
    policy: Policy,
    made: u32,
}

impl Retry {
    /// So many further attempts, after up to half a second, a second, … eight seconds.
    pub fn new(retries: u32) -> Retry {
        Retry { policy: policy(retries), made: 0 }
    }

    /// Counts an attempt that failed, and says what follows.
    pub fn after(&mut self, fault: &Fault) -> Verdict {
        self.after_reply(fault, Hint::default())
    }

    /// The same, where the headers of the reply are known.
    pub fn after_reply(&mut self, fault: &Fault, hint: Hint) -> Verdict {
        self.made = self.made.saturating_add(1);
        decide(&self.policy, self.made, fault, hint, dice())
    }
}

fn policy(retries: u32) -> Policy {
    Policy { max: retries, backoff: Duration::from_millis(500), ceiling: Duration::from_secs(8) }
}

/// Decides after an attempt, of which the first is 1. The dice are any number, another each time.
pub fn decide(retry: &Policy, attempt: u32, fault: &Fault, hint: Hint, dice: u32) -> Verdict {
    let lasting = fault.code.as_deref().is_some_and(|code| LASTING.contains(&code));
    let passes = hint.again.unwrap_or_else(|| fault.class.is_retryable() && !lasting);
    if attempt > retry.max || !passes {
        return Verdict::GiveUp;
    }
    let told = hint.wait.or(fault.retry_after_ms.map(Duration::from_millis));
    match told {
        Some(wait) if wait > PATIENCE => Verdict::GiveUp,
        // All who were told the same time should not come back at the same time.
        Some(wait) => Verdict::Wait(wait + share(retry.backoff, dice)),
        None => Verdict::Wait(share(retry.wait(attempt), dice)),
    }
}

/// A random share of a time.
fn share(most: Duration, dice: u32) -> Duration {
    most.mul_f64(f64::from(dice) / f64::from(u32::MAX))
}

/// A number for [`decide`].
fn dice() -> u32 {
    // Without a source of randomness the longest wait is the safe one.
    getrandom::u32().unwrap_or(u32::MAX)
}

impl Hint {
    /// Reads `retry-after-ms`, `retry-after` (seconds or a date) and `x-should-retry`.
    pub fn of(headers: &HeaderMap, now: SystemTime) -> Hint {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let millis = text("retry-after-ms").and_then(|text| read_seconds(text, 1000.0));
        let seconds = text("retry-after").and_then(|text| read_seconds(text, 1.0));
        let date = || text("retry-after").and_then(|text| httpdate::parse_http_date(text).ok());
        // A date that has passed means: now.
        let until = || Some(date()?.duration_since(now).unwrap_or_default());
        let again = text("x-should-retry").and_then(|word| word.trim().parse().ok());
        Hint { wait: millis.or(seconds).or_else(until), again }
    }

    /// Tells a fault when to try again, where its body did not.
    #[must_use]
    pub fn told(self, mut fault: Fault) -> Fault {
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

    fn hint(headers: &[(&'static str, &str)]) -> Hint {
        let pairs = headers.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        Hint::of(&pairs.collect(), now)
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
        let at = |attempt, dice| wait(decide(&retry, attempt, &overloaded, Hint::default(), dice));
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
        assert!(again(1, &overloaded, Hint::default()) && again(2, &overloaded, Hint::default()));
        assert!(!again(3, &overloaded, Hint::default()));
        assert!(!again(1, &fault(FaultClass::Invalid), Hint::default()));
        assert!(!again(1, &fault(FaultClass::Billing), Hint::default()));
        for code in LASTING {
            let own = Fault { code: Some(code.to_owned()), ..fault(FaultClass::Internal) };
            assert!(!again(1, &own, Hint::default()), "{code}");
        }
        assert!(!again(1, &overloaded, hint(&[("x-should-retry", "false")])));
        assert!(again(1, &fault(FaultClass::Invalid), hint(&[("x-should-retry", "true")])));
    }

    #[test]
    fn what_the_vendor_says_is_honoured_up_to_a_bound() {
        let (retry, limited) = (policy(2), fault(FaultClass::RateLimited));
        let after = |hint, dice| decide(&retry, 1, &limited, hint, dice);
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
            let told = hint(&[("retry-after", oversized)]).told(limited.clone());
            assert_eq!(told.retry_after_ms, Some(u64::MAX), "{oversized}");
        }
        // As Gemini says it, in the body.
        let told = Fault { retry_after_ms: Some(17_000), ..limited.clone() };
        assert_eq!(decide(&retry, 1, &told, Hint::default(), 0), exactly(17_000));
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
        let told = hint(&[("retry-after", "2")]).told(fault(FaultClass::RateLimited));
        assert_eq!(told.retry_after_ms, Some(2000));
    }
}
