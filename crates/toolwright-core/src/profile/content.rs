//! Rules for the content of messages and outcomes.

use crate::model::part::MediaKind;

/// The content that messages may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentRule {
    /// Media in user messages
    pub media: MediaRule,
    /// Cache breakpoints on parts
    pub cache: bool,
    /// Cache breakpoints on calls
    pub cache_on_calls: bool,
    /// Cache breakpoints on assistant text, if other content may have them
    pub cache_on_answers: bool,
    /// Supported lifetimes of a cache breakpoint; empty if there is no such setting
    pub cache_ttls: &'static [&'static str],
    /// Refusals; otherwise they become text
    pub refusal: bool,
    /// Whether the arguments of a call must be an object, so that malformed text cannot be
    /// expressed
    pub arguments_object: bool,
    /// Free-text arguments
    pub arguments_free: bool,
    /// Whether a text may be empty
    pub empty_text: bool,
    /// Whether each document needs a short unique name, and a text beside it
    pub labelled_documents: bool,
}

impl ContentRule {
    /// Text, empty or not, and calls with unchanged arguments.
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

/// Supported media and their sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaRule {
    /// The kinds accepted in base64
    pub base64: &'static [MediaKind],
    /// The media types of documents accepted in base64; empty if all are
    pub documents: &'static [&'static str],
    /// The kinds accepted by URL
    pub url: &'static [MediaKind],
    /// Other kinds, which are passed on if the request came in the target's format: some vendors of
    /// that format accept them
    pub native: &'static [MediaKind],
    /// Whether a document may be plain text
    pub text_document: bool,
    /// Whether the vendor stores files by id
    pub file: bool,
    /// Whether a file name or title is supported
    pub name: bool,
    /// Whether a media type is required for a URL
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

/// The content that outcomes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRule {
    /// Media beside the text
    pub media: MediaRule,
    /// JSON values
    pub json: JsonRule,
    /// A flag for failure; otherwise the text says it
    pub error_flag: bool,
    /// Whether success can be expressed explicitly
    pub success_flag: bool,
    /// Whether the tool's name is sent
    pub name: bool,
    /// Cache breakpoints
    pub cache: bool,
    /// Whether several texts stay separate; otherwise they are joined
    pub many_texts: bool,
    /// Whether the content may be empty
    pub empty: bool,
}

impl OutcomeRule {
    /// Any number of texts.
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

/// The JSON values that an outcome can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonRule {
    /// None: they become text
    Text,
    /// Objects; other values become text
    Objects,
    /// Any value
    Any,
}
