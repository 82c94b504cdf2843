//! What is done about a loss on the way to a vendor: it is noted on the answer, and told or refused
//! where that is asked for.

use std::fmt;
use std::sync::Arc;

use toolwright_core::fault::{Fault, FaultClass};
use toolwright_core::translate::Report;

/// What is done about what a vendor cannot be told, or cannot tell, as it was said. In each case it
/// is in [`Response::losses`](crate::Response::losses) as well.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Losses {
    /// No more
    #[default]
    Noted,
    /// Somebody is told of each report that has some: one of the request, one of the answer
    Told(Arc<dyn Fn(&Report) + Send + Sync>),
    /// A request that would lose something is refused, and nothing is sent
    Refused,
}

impl PartialEq for Losses {
    fn eq(&self, other: &Losses) -> bool {
        match (self, other) {
            (Losses::Told(own), Losses::Told(other)) => Arc::ptr_eq(own, other),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Losses {
    /// Somebody is told.
    pub fn told(observer: impl Fn(&Report) + Send + Sync + 'static) -> Losses {
        Losses::Told(Arc::new(observer))
    }

    /// Judges the report of a request.
    pub(super) fn of_request(&self, report: &Report) -> Result<(), Fault> {
        if matches!(self, Losses::Refused) && report.is_refused() {
            let (count, first) = (report.count(), report.first());
            let message = format!("refused: {count} would be lost, first {first}");
            return Err(Fault::new(FaultClass::Invalid, message));
        }
        self.tell(report);
        Ok(())
    }

    /// Tells of the report of an answer.
    pub(super) fn tell(&self, report: &Report) {
        if let Losses::Told(observer) = self
            && !report.losses.is_empty()
        {
            observer(report);
        }
    }
}

impl fmt::Debug for Losses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Losses::Noted => "Noted",
            Losses::Told(_) => "Told",
            Losses::Refused => "Refused",
        })
    }
}
