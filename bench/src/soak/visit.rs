//! The kinds of visits that clients of the soak test make.

use crate::question::{Question, ReplyKind, Size};

/// The upstream, and the form of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    /// `oa` passes through, `an` is translated
    pub(crate) upstream: &'static str,
    /// Whole or stream
    pub(crate) reply: ReplyKind,
}

impl Kind {
    /// All four.
    pub(crate) const ALL: [Kind; 4] = [
        Kind { upstream: "oa", reply: ReplyKind::Whole },
        Kind { upstream: "oa", reply: ReplyKind::Stream },
        Kind { upstream: "an", reply: ReplyKind::Whole },
        Kind { upstream: "an", reply: ReplyKind::Stream },
    ];

    /// The standard request for a model of the mock.
    pub(crate) fn question(self, model: &str) -> Question {
        Question::new(&format!("{}/{model}", self.upstream), Size::Standard, self.reply)
    }
}

/// The behaviour of upstream and client in a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Visit {
    /// Success
    Fine,
    /// The upstream resets the connection
    Reset,
    /// The upstream never answers
    Stall,
    /// The upstream stalls in the middle
    Hang,
    /// The upstream closes in the middle
    Cut,
    /// The upstream is overloaded
    Busy,
    /// The upstream fails
    Fails,
    /// A proxy before the upstream replies with an HTML page
    Html,
    /// The client disconnects before the reply begins
    LeaveEarly,
    /// The client disconnects in the middle of the reply
    LeaveMiddle,
}

/// How many of a thousand visits. Those that wait for a second are few.
const SHARES: &[(Visit, u64)] = &[
    (Visit::Reset, 30),
    (Visit::Stall, 6),
    (Visit::Hang, 6),
    (Visit::Cut, 30),
    (Visit::Busy, 6),
    (Visit::Fails, 20),
    (Visit::Html, 20),
    (Visit::LeaveEarly, 20),
    (Visit::LeaveMiddle, 40),
];

impl Visit {
    /// All of them.
    pub(crate) const ALL: [Visit; 10] = [
        Visit::Fine,
        Visit::Reset,
        Visit::Stall,
        Visit::Hang,
        Visit::Cut,
        Visit::Busy,
        Visit::Fails,
        Visit::Html,
        Visit::LeaveEarly,
        Visit::LeaveMiddle,
    ];

    /// Visits in which the upstream fails.
    pub(crate) fn faults() -> Vec<Visit> {
        let others = [Visit::Fine, Visit::LeaveEarly, Visit::LeaveMiddle];
        Visit::ALL.into_iter().filter(|visit| !others.contains(visit)).collect()
    }

    /// Maps a random number to a visit.
    pub(crate) fn pick(number: u64) -> Visit {
        let mut left = number % 1000;
        for (visit, share) in SHARES {
            match left.checked_sub(*share) {
                None => return *visit,
                Some(rest) => left = rest,
            }
        }
        Visit::Fine
    }

    /// The model of the mock with this behaviour.
    pub(crate) fn model(self) -> &'static str {
        match self {
            Visit::Fine => "mock",
            Visit::Reset => "mock-reset",
            Visit::Stall | Visit::LeaveEarly => "mock-stall",
            Visit::Hang => "mock-hang",
            Visit::Cut => "mock-cut",
            Visit::Busy => "mock-busy",
            Visit::Fails => "mock-fails",
            Visit::Html => "mock-html",
            Visit::LeaveMiddle => "mock-gap-20",
        }
    }

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Visit::Fine => "fine",
            Visit::Reset => "upstream resets",
            Visit::Stall => "upstream stalls",
            Visit::Hang => "upstream falls silent in the middle",
            Visit::Cut => "upstream closes in the middle",
            Visit::Busy => "upstream says 429",
            Visit::Fails => "upstream says 500",
            Visit::Html => "HTML instead of an answer",
            Visit::LeaveEarly => "client leaves before the answer",
            Visit::LeaveMiddle => "client leaves in the middle",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visit_occurs_and_most_succeed() {
        let picked: Vec<Visit> = (0..1000).map(Visit::pick).collect();
        for visit in Visit::ALL {
            assert!(picked.contains(&visit), "{visit:?}");
        }
        assert!(picked.iter().filter(|visit| **visit == Visit::Fine).count() > 700);
    }
}
