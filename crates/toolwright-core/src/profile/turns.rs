//! Rules for instructions and the order of turns.

/// Placement of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemRule {
    /// Where system messages are accepted after the first turn
    pub late: LateSystem,
    /// Whether the role `developer` exists
    pub developer: bool,
    /// Whether instructions can only be one plain text, without cache breakpoints
    pub single_text: bool,
}

impl SystemRule {
    /// Messages of the role `system`, anywhere.
    pub const PLAIN: SystemRule =
        SystemRule { late: LateSystem::Anywhere, developer: false, single_text: false };
}

/// Where system messages are accepted after the first turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LateSystem {
    /// Anywhere except between a call and its outcome
    Anywhere,
    /// After a user message
    AfterUser(LatePlace),
    /// Nowhere
    Never,
}

/// Where a target accepts a system message after a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatePlace {
    /// Whether that message may contain outcomes
    pub after_outcomes: bool,
    /// Whether it may also follow an assistant message that ends with a hosted tool
    pub after_hosted: bool,
    /// Whether a user message may follow, not only an assistant message
    pub before_user: bool,
    /// Whether it may be the last message
    pub last: bool,
}

/// The order of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRule {
    /// The message of outcomes
    pub outcomes: OutcomeCarrier,
    /// Which consecutive messages of one role are merged
    pub merges: Merges,
    /// Whether the first message must be a user message
    pub user_first: bool,
    /// Whether an assistant message keeps the order of text and calls; otherwise text comes first
    pub ordered: bool,
    /// Whether an assistant message has at most one text, so that several are joined
    pub single_text: bool,
}

impl TurnRule {
    /// Messages in any order; an assistant message is its text, then its calls.
    pub const PLAIN: TurnRule = TurnRule {
        outcomes: OutcomeCarrier::OwnMessage,
        merges: Merges::None,
        user_first: false,
        ordered: false,
        single_text: false,
    };
}

/// Which consecutive messages of one role are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merges {
    /// None
    None,
    /// Those of the assistant
    Assistant,
    /// Those of the user as well: turns must alternate
    All,
}

/// The message of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeCarrier {
    /// A separate message for each
    OwnMessage,
    /// All outcomes of a turn in one user message, before other content
    UserTurn,
}
