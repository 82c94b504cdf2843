//! Rate limits of a client. Each rate is a bucket that refills in a minute.
//!
//! A bucket is stored as the time at which it will be full again. Usage moves that time forward, so
//! nothing has to be counted or swept. Tokens are known only after the reply: an estimate is
//! reserved first and corrected later, which can leave a debt. While there is debt, nothing is
//! admitted.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time in which a bucket refills.
const MINUTE: Duration = Duration::from_mins(1);

/// Maximum debt. No reply blocks a client for longer.
const MOST_DEBT: Duration = Duration::from_hours(1);

/// Limits per minute; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Requests
    pub requests_per_minute: Option<NonZeroU64>,
    /// Input and output tokens
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Calls of plans
    pub calls_per_minute: Option<NonZeroU64>,
}

/// The used rates of a client.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Buckets>);

#[derive(Debug, Default)]
struct Buckets {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    calls: Option<Bucket>,
}

/// Why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// The exhausted rate
    pub limit: Limit,
    /// Time until there is capacity again
    pub wait: Duration,
}

/// An exhausted rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Of requests
    Requests(NonZeroU64),
    /// Of tokens
    Tokens(NonZeroU64),
    /// Of calls of plans
    Calls(NonZeroU64),
}

impl Meter {
    /// Creates a meter with nothing used.
    pub fn new(rates: Rates) -> Meter {
        let full = |rate| Bucket { rate, full: None };
        Meter(Mutex::new(Buckets {
            requests: rates.requests_per_minute.map(full),
            tokens: rates.tokens_per_minute.map(full),
            calls: rates.calls_per_minute.map(full),
        }))
    }

    /// Changes the rates. The used number of requests and tokens stays.
    pub fn set(&self, rates: Rates, now: Instant) {
        let mut buckets = self.0.lock();
        let changed = |before: Option<Bucket>, rate: Option<NonZeroU64>| {
            let used = before.map(|before| before.used_at(rate, now));
            rate.map(|rate| Bucket { rate, full: used.map(|used| now + used) })
        };
        buckets.requests = changed(buckets.requests, rates.requests_per_minute);
        buckets.tokens = changed(buckets.tokens, rates.tokens_per_minute);
        buckets.calls = changed(buckets.calls, rates.calls_per_minute);
    }

    /// Counts a number of requests, if there is capacity for all of them. If there is not, none is counted.
    pub fn admit(&self, count: u64, now: Instant) -> Result<(), Full> {
        let mut buckets = self.0.lock();
        if let Some(tokens) = &buckets.tokens {
            // Capacity for one token: the number is not known yet.
            tokens.check(1, now, Limit::Tokens)?;
        }
        if let Some(requests) = &mut buckets.requests {
            requests.try_take(count, now, Limit::Requests)?;
        }
        Ok(())
    }

    /// Counts a call of a plan, if there is capacity.
    pub fn call(&self, now: Instant) -> Result<(), Full> {
        let Some(calls) = &mut self.0.lock().calls else { return Ok(()) };
        calls.try_take(1, now, Limit::Calls)
    }

    /// Returns the time until there is capacity for a call of a plan.
    pub fn call_wait(&self, now: Instant) -> Duration {
        let calls = self.0.lock().calls;
        let full = calls.and_then(|calls| calls.check(1, now, Limit::Calls).err());
        full.map_or(Duration::ZERO, |full| full.wait)
    }

    /// Whether tokens are limited.
    pub fn limits_tokens(&self) -> bool {
        self.0.lock().tokens.is_some()
    }

    /// Reserves tokens for a request, if there is capacity, and returns their number: at most half
    /// of the rate, so that a request whose estimate exceeds the limit can be admitted at all.
    pub fn reserve(&self, tokens: u64, now: Instant) -> Result<u64, Full> {
        let mut buckets = self.0.lock();
        let Some(bucket) = &mut buckets.tokens else { return Ok(0) };
        let reserved = tokens.min(bucket.rate.get().div_ceil(2));
        bucket.try_take(reserved, now, Limit::Tokens)?;
        Ok(reserved)
    }

    /// Charges the tokens that a request used, in place of the reserved ones.
    pub fn charge(&self, reserved: u64, used: u64, now: Instant) {
        let Some(bucket) = &mut self.0.lock().tokens else { return };
        match used.checked_sub(reserved) {
            Some(more) => bucket.take(more, now),
            None => bucket.give(reserved - used),
        }
    }
}

/// Creates the limit of a rate.
type LimitOf = fn(NonZeroU64) -> Limit;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: NonZeroU64,
    /// When the bucket will be full; `None` if it never was used
    full: Option<Instant>,
}

impl Bucket {
    /// Returns the usage, as the time until it is refilled.
    fn used(&self, now: Instant) -> Duration {
        self.full.map_or(Duration::ZERO, |full| full.saturating_duration_since(now))
    }

    /// Checks whether an amount is available.
    fn check(&self, amount: u64, now: Instant, limit: LimitOf) -> Result<(), Full> {
        let after = self.used(now) + scaled(MINUTE, amount, self.rate.get());
        let wait = after.saturating_sub(MINUTE);
        if wait.is_zero() { Ok(()) } else { Err(Full { limit: limit(self.rate), wait }) }
    }

    /// Takes an amount, if it is available.
    fn try_take(&mut self, amount: u64, now: Instant, limit: LimitOf) -> Result<(), Full> {
        self.check(amount, now, limit).map(|()| self.take(amount, now))
    }

    fn give(&mut self, amount: u64) {
        let back = scaled(MINUTE, amount, self.rate.get());
        self.full = self.full.and_then(|full| full.checked_sub(back));
    }

    fn take(&mut self, amount: u64, now: Instant) {
        let used = self.used(now) + scaled(MINUTE, amount, self.rate.get());
        self.full = Some(now + used.min(MOST_DEBT));
    }

    /// Returns the usage at another rate: a lower rate takes longer to refill it.
    fn used_at(&self, rate: Option<NonZeroU64>, now: Instant) -> Duration {
        let rate = rate.unwrap_or(self.rate);
        scaled(self.used(now), self.rate.get(), rate.get()).min(MOST_DEBT)
    }
}

/// Returns a duration multiplied by `times` and divided by `by`.
fn scaled(time: Duration, times: u64, by: u64) -> Duration {
    let nanos = time.as_nanos().saturating_mul(u128::from(times)) / u128::from(by.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests: u64, tokens: u64) -> Rates {
        Rates {
            requests_per_minute: NonZeroU64::new(requests),
            tokens_per_minute: NonZeroU64::new(tokens),
            calls_per_minute: None,
        }
    }

    fn admitted(meter: &Meter, tries: usize, now: Instant) -> usize {
        (0..tries).filter(|_| meter.admit(1, now).is_ok()).count()
    }

    #[test]
    fn a_minute_holds_as_many_requests_as_the_rate_says() {
        for rate in [1, 7, 60, 1000] {
            let start = Instant::now();
            let meter = Meter::new(rates(rate, 0));
            let rate = usize::try_from(rate).unwrap();
            assert_eq!(admitted(&meter, rate + 10, start), rate, "at once");
            assert_eq!(admitted(&meter, 10, start), 0);
            assert_eq!(admitted(&meter, rate + 10, start + MINUTE), rate, "a minute later");
        }
    }

    #[test]
    fn the_wait_is_exact() {
        let start = Instant::now();
        let meter = Meter::new(rates(60, 0));
        assert_eq!(admitted(&meter, 60, start), 60);
        let full = meter.admit(1, start).unwrap_err();
        assert_eq!(full.wait, Duration::from_secs(1));
        assert_eq!(full.limit, Limit::Requests(NonZeroU64::new(60).unwrap()));
        let early = start + full.wait.saturating_sub(Duration::from_nanos(1));
        assert_eq!(admitted(&meter, 1, early), 0, "and asking in vain costs nothing");
        assert_eq!(admitted(&meter, 2, start + full.wait), 1);
    }

    #[test]
    fn tokens_are_charged_afterwards_and_paid_back() {
        let start = Instant::now();
        let meter = Meter::new(rates(0, 1000));
        assert_eq!(admitted(&meter, 5, start), 5, "nothing is known of them yet");
        meter.charge(0, 999, start);
        assert_eq!(admitted(&meter, 1, start), 1, "one is left");
        meter.charge(0, 2001, start);
        let full = meter.admit(1, start).unwrap_err();
        assert!(matches!(full.limit, Limit::Tokens(_)));
        assert_eq!(full.wait, Duration::from_millis(120_060), "2000 in debt and room for one");
        assert!(meter.admit(1, start + full.wait).is_ok());
    }

    #[test]
    fn a_request_without_tokens_is_not_counted() {
        let start = Instant::now();
        let meter = Meter::new(rates(1, 10));
        meter.charge(0, 10, start);
        assert!(matches!(meter.admit(1, start).unwrap_err().limit, Limit::Tokens(_)));
        assert!(meter.admit(1, start + Duration::from_secs(6)).is_ok());
    }

    #[test]
    fn what_is_reserved_at_once_is_no_more_than_the_rate() {
        let start = Instant::now();
        for estimate in [1, 70, 100, 499, 500, 10_000, u64::MAX] {
            let meter = Meter::new(rates(0, 1000));
            let reserved: Vec<u64> =
                (0..100).map_while(|_| meter.reserve(estimate, start).ok()).collect();
            assert!(reserved.iter().sum::<u64>() <= 1000 && !reserved.is_empty(), "{estimate}");
            // Unused tokens are released, and no more than that.
            for own in &reserved {
                meter.charge(*own, 0, start);
            }
            let again = (0..100).map_while(|_| meter.reserve(estimate, start).ok()).count();
            assert_eq!(again, reserved.len(), "{estimate}");
        }
    }

    #[test]
    fn what_was_used_replaces_what_was_reserved() {
        let start = Instant::now();
        let meter = Meter::new(rates(0, 1000));
        let reserved = meter.reserve(100, start).unwrap();
        meter.charge(reserved, 600, start);
        assert!(meter.reserve(401, start).is_err() && meter.reserve(400, start).is_ok());
        // Releasing a reservation that has been refilled by time does not exceed the rate.
        let meter = Meter::new(rates(0, 1000));
        let reserved = meter.reserve(500, start).unwrap();
        meter.charge(reserved, 100, start + 2 * MINUTE);
        assert_eq!(admitted(&meter, 1, start + 2 * MINUTE), 1);
        assert!(meter.reserve(500, start + 2 * MINUTE).is_ok());
        assert!(meter.reserve(500, start + 2 * MINUTE).is_ok());
        assert!(meter.reserve(1, start + 2 * MINUTE).is_err());
    }

    #[test]
    fn debt_has_an_end() {
        let start = Instant::now();
        let meter = Meter::new(rates(0, 1));
        meter.charge(0, u64::MAX, start);
        meter.charge(1, u64::MAX, start);
        assert!(meter.admit(1, start).unwrap_err().wait <= MOST_DEBT);
        assert!(meter.admit(1, start + MOST_DEBT).is_ok());
    }

    #[test]
    fn other_rates_keep_what_was_used() {
        let start = Instant::now();
        let meter = Meter::new(rates(60, 0));
        assert_eq!(admitted(&meter, 30, start), 30);
        meter.set(rates(120, 0), start);
        assert_eq!(admitted(&meter, 200, start), 90, "30 of 120 were used");
        meter.set(rates(60, 0), start);
        assert_eq!(admitted(&meter, 10, start + MINUTE), 0, "120 used at 60 are two minutes");
        assert_eq!(admitted(&meter, 100, start + 2 * MINUTE), 60);
        meter.set(rates(0, 0), start);
        assert_eq!(admitted(&meter, 1000, start), 1000, "no limit");
    }

    #[test]
    fn requests_are_admitted_together_or_not_at_all() {
        let start = Instant::now();
        let meter = Meter::new(rates(10, 0));
        assert!(meter.admit(11, start).is_err() && meter.admit(7, start).is_ok());
        assert!(meter.admit(4, start).is_err());
        assert_eq!(admitted(&meter, 10, start), 3, "refused ones are not counted");
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let before = Instant::now();
        let start = before + Duration::from_secs(1);
        let meter = Meter::new(rates(2, 0));
        assert_eq!(admitted(&meter, 1, start), 1);
        assert_eq!(admitted(&meter, 1, before), 0);
        assert_eq!(admitted(&meter, 1, start), 1);
    }
}
