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
        for visit in Visit::ALL {
            match left.checked_sub(visit.traits().0) {
                None => return visit,
                Some(rest) => left = rest,
            }
        }
        Visit::Fine
    }

    /// How many of a thousand visits, the model of the mock with this behaviour, and the name in tables. Visits that
    /// wait for a second are few.
    fn traits(self) -> (u64, &'static str, &'static str) {
        match self {
            Visit::Fine => (822, "mock", "fine"),
            Visit::Reset => (30, "mock-reset", "upstream resets"),
            Visit::Stall => (6, "mock-stall", "upstream stalls"),
            Visit::Hang => (6, "mock-hang", "upstream falls silent in the middle"),
            Visit::Cut => (30, "mock-cut", "upstream closes in the middle"),
            Visit::Busy => (6, "mock-busy", "upstream says 429"),
            Visit::Fails => (20, "mock-fails", "upstream says 500"),
            Visit::Html => (20, "mock-html", "HTML instead of an answer"),
            Visit::LeaveEarly => (20, "mock-stall", "client leaves before the answer"),
            Visit::LeaveMiddle => (40, "mock-gap-20", "client leaves in the middle"),
        }
    }

    /// The model of the mock with this behaviour.
    pub(crate) fn model(self) -> &'static str {
        self.traits().1
    }

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        self.traits().2
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
