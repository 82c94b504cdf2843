//! What happens when a request or a response loses something on the way to or from a vendor.

use std::fmt;
use std::sync::Arc;

use toolwright_core::{Fault, FaultClass};
use toolwright_dialects::translate::Report;

/// What happens when a request or a response loses something. In each case
/// [`Response::losses`](toolwright_core::Response::losses) lists it.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum LossPolicy {
    /// Nothing else
    #[default]
    Report,
    /// An observer is called with each report that has losses: of the request, of the response
    Observe(Arc<dyn Fn(&Report) + Send + Sync>),
    /// A request that would lose something is refused; nothing is sent
    Refuse,
}

impl PartialEq for LossPolicy {
    fn eq(&self, other: &LossPolicy) -> bool {
        match (self, other) {
            (LossPolicy::Observe(own), LossPolicy::Observe(other)) => Arc::ptr_eq(own, other),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl LossPolicy {
    /// Calls an observer.
    pub fn observe(observer: impl Fn(&Report) + Send + Sync + 'static) -> LossPolicy {
        LossPolicy::Observe(Arc::new(observer))
    }

    /// Checks the report of a request.
    pub(super) fn check_request(&self, report: &Report) -> Result<(), Fault> {
        if matches!(self, LossPolicy::Refuse) && report.is_refused() {
            let (count, first) = (report.count(), report.first());
            let message = format!("refused: {count} would be lost, first {first}");
            return Err(Fault::new(FaultClass::Invalid, message));
        }
        self.notify(report);
        Ok(())
    }

    /// Calls the observer, if the report has losses.
    pub(super) fn notify(&self, report: &Report) {
        if let LossPolicy::Observe(observer) = self
            && !report.losses.is_empty()
        {
            observer(report);
        }
    }
}

impl fmt::Debug for LossPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LossPolicy::Report => "Report",
            LossPolicy::Observe(_) => "Observe",
            LossPolicy::Refuse => "Refuse",
        })
    }
}
