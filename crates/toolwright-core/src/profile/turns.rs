//! Rules for instructions, and for how turns follow each other.

/// Where instructions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemRule {
    /// Where system messages may stand behind the first turn of a conversation
    pub late: LateSystem,
    /// Whether the role `developer` exists
    pub developer: bool,
    /// Whether instructions can only be one plain text, without breakpoints
    pub single_text: bool,
}

impl SystemRule {
    /// Messages of the role `system`, anywhere.
    pub const PLAIN: SystemRule =
        SystemRule { late: LateSystem::Anywhere, developer: false, single_text: false };
}

/// Where system messages may stand behind the first turn of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateSystem {
    /// Anywhere but between a call and its outcome
    Anywhere,
    /// Behind a turn of the user
    AfterUser(LatePlace),
    /// Nowhere
    Never,
}

/// Where a target takes a system message behind a turn of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatePlace {
    /// Whether that turn may hold outcomes
    pub after_outcomes: bool,
    /// Whether a turn of the assistant that ends in a hosted tool will do as well
    pub after_hosted: bool,
    /// Whether a turn of the user may follow, too, not only one of the assistant
    pub before_user: bool,
    /// Whether it may be the last message
    pub last: bool,
}

/// How turns follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRule {
    /// How outcomes are carried
    pub outcomes: OutcomeCarrier,
    /// Which neighbours of one role are one message
    pub merges: Merges,
    /// Whether the first message must be one of the user
    pub user_first: bool,
    /// Whether an assistant's turn keeps the order of text and calls; else text comes first
    pub ordered: bool,
    /// Whether an assistant's turn has at most one text, so that several are joined
    pub single_text: bool,
}

impl TurnRule {
    /// Messages in any order; a turn of the assistant is its text, then its calls.
    pub const PLAIN: TurnRule = TurnRule {
        outcomes: OutcomeCarrier::OwnMessage,
        merges: Merges::None,
        user_first: false,
        ordered: false,
        single_text: false,
    };
}

/// Which neighbours of one role are one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merges {
    /// None: each stays apart
    None,
    /// Those of the assistant, whose turn has no borders within
    Assistant,
    /// Those of the user, too: turns must alternate
    All,
}

/// How outcomes are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeCarrier {
    /// A message for each
    OwnMessage,
    /// All outcomes of a turn in one message of the user, before anything else
    UserTurn,
}
