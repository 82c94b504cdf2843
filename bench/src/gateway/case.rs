//! The measured cases: which request, which form of reply, at which rate.

use crate::question::{ReplyKind, Size};

/// How requests are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// This many clients, each in a closed loop
    Clients(usize),
    /// This many requests per second, by a schedule
    Rate(u32),
}

/// One row of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    /// The size of the request
    pub(crate) size: Size,
    /// The form of the reply
    pub(crate) reply: ReplyKind,
    /// The pacing
    pub(crate) pace: Pace,
}

impl Case {
    /// Its title.
    pub(crate) fn name(self) -> String {
        let pace = match self.pace {
            Pace::Clients(1) => "1 client".to_owned(),
            Pace::Clients(count) => format!("{count} clients"),
            Pace::Rate(rate) => format!("{rate} a second"),
        };
        format!("{}, {}, {pace}", self.reply.name(), self.size.name())
    }
}

/// All cases.
pub(crate) fn all(short: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |size, reply, pace| cases.push(Case { size, reply, pace });
    for reply in [ReplyKind::Whole, ReplyKind::Stream] {
        for clients in [1, 16, 64] {
            add(Size::Standard, reply, Pace::Clients(clients));
        }
        for size in [Size::Kilobyte, Size::Hundred, Size::Agent, Size::Megabyte] {
            add(size, reply, Pace::Clients(1));
            if !short {
                add(size, reply, Pace::Clients(16));
            }
        }
    }
    add(Size::Standard, ReplyKind::Whole, Pace::Rate(500));
    add(Size::Standard, ReplyKind::Stream, Pace::Rate(200));
    if !short {
        add(Size::Standard, ReplyKind::Whole, Pace::Rate(2000));
        add(Size::Standard, ReplyKind::Stream, Pace::Rate(500));
    }
    cases
}
