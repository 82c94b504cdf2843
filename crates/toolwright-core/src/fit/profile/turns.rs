//! Rules for instructions, and for how turns follow each other.

/// Where instructions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemRule {
    /// Whether system messages may stand within the conversation
    pub in_conversation: bool,
    /// Whether the role `developer` exists
    pub developer: bool,
    /// Whether instructions can only be one plain text, without breakpoints
    pub single_text: bool,
}

impl SystemRule {
    /// Messages of the role `system`, anywhere.
    pub const PLAIN: SystemRule =
        SystemRule { in_conversation: true, developer: false, single_text: false };
}

/// How turns follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRule {
    /// How outcomes are carried
    pub outcomes: OutcomeCarrier,
    /// Which neighbours of one role are one message
    pub merges: Merges,
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
