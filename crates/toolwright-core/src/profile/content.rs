//! Rules for what messages and outcomes contain.

use crate::model::part::MediaKind;

/// What messages may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentRule {
    /// Media in a user's message
    pub media: MediaRule,
    /// Cache breakpoints on parts
    pub cache: bool,
    /// Cache breakpoints on calls, too
    pub cache_on_calls: bool,
    /// Whether the text of an assistant may have one, where other content may
    pub cache_on_answers: bool,
    /// Lifetimes that a breakpoint may have; empty if it has none
    pub cache_ttls: &'static [&'static str],
    /// Refusals as such; else they become text
    pub refusal: bool,
    /// Whether arguments of a call must be an object; malformed text cannot be said then
    pub arguments_object: bool,
    /// Free-text arguments
    pub arguments_free: bool,
    /// Whether a text may be empty
    pub empty_text: bool,
    /// Whether each document needs a name of few characters that no other has, and words beside it
    pub labelled_documents: bool,
}

impl ContentRule {
    /// Text, empty or not, and calls with their arguments as they came.
    pub const PLAIN: ContentRule = ContentRule {
        media: MediaRule::NONE,
        cache: false,
        cache_on_calls: false,
        cache_on_answers: true,
        cache_ttls: &[],
        refusal: false,
        arguments_object: false,
        arguments_free: false,
        empty_text: true,
        labelled_documents: false,
    };
}

/// Which media, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaRule {
    /// The kinds that are accepted in base64
    pub base64: &'static [MediaKind],
    /// The media types of documents that are accepted in base64; none if every type is
    pub documents: &'static [&'static str],
    /// The kinds that are accepted by address
    pub url: &'static [MediaKind],
    /// Other kinds, which are left as they are if the request came in the target's format: some vendors
    /// of that format take them
    pub native: &'static [MediaKind],
    /// Whether a document may come as plain text
    pub text_document: bool,
    /// Whether the vendor keeps files under an id
    pub file: bool,
    /// Whether a file name or title can be said
    pub name: bool,
    /// Whether a media type is said, and must be, of what is at an address
    pub url_mime: bool,
}

impl MediaRule {
    /// No media.
    pub const NONE: MediaRule = MediaRule {
        base64: &[],
        documents: &[],
        url: &[],
        native: &[],
        text_document: false,
        file: false,
        name: false,
        url_mime: false,
    };
}

/// What outcomes may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRule {
    /// Media beside the text
    pub media: MediaRule,
    /// JSON as a value
    pub json: JsonRule,
    /// A flag for failure; else the text says it
    pub error_flag: bool,
    /// Whether success can be said explicitly
    pub success_flag: bool,
    /// Whether the tool's name is said
    pub name: bool,
    /// Cache breakpoints
    pub cache: bool,
    /// Whether several texts stay apart; else they are joined
    pub many_texts: bool,
    /// Whether the content may be empty
    pub empty: bool,
}

impl OutcomeRule {
    /// Texts, as many as there are.
    pub const TEXT: OutcomeRule = OutcomeRule {
        media: MediaRule::NONE,
        json: JsonRule::Text,
        error_flag: false,
        success_flag: false,
        name: false,
        cache: false,
        many_texts: true,
        empty: true,
    };
}

/// Which JSON an outcome can hold as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonRule {
    /// None: it becomes text
    Text,
    /// Objects; everything else becomes text
    Objects,
    /// Anything
    Any,
}
