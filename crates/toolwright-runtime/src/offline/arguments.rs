//! Finds the arguments of a call in the pieces of a message, guided by the parameters of the tool. Ambiguous values are
//! left out.

use toolwright_core::{Json, Tool};
use toolwright_json::{Number, Object};

use super::cut;
use super::parameters::{Parameter, READ_NAME, Role, Takes, parameters};
use super::pick::Wish;
use super::pieces::{Kind, Piece, has, is_unknown};
use super::vocabulary::words;

/// Maximum number of accepted values that are looked for.
const MAX_ACCEPTED: usize = 100;

/// A call with the arguments that were found.
#[derive(Debug)]
pub(super) struct Found<'t> {
    /// The tool
    pub(super) tool: &'t Tool,
    /// The arguments
    pub(super) arguments: Object,
    /// Missing required parameters
    pub(super) missing: Vec<Parameter<'t>>,
    /// Whether it can run together with the previous call
    pub(super) is_independent: bool,
}

impl<'t> Found<'t> {
    /// Finds the arguments of a wish. `handle` is the last one in an outcome.
    pub(super) fn new(wish: Wish<'_, 't>, handle: Option<&str>) -> Found<'t> {
        let Wish { tool, mut pieces, then } = wish;
        let (mut arguments, mut missing) = (Object::new(), Vec::new());
        let object = pieces.iter().find(|piece| piece.kind == Kind::Object);
        if let Some(Ok(Json::Object(object))) = object.map(|piece| Json::parse(piece.text)) {
            arguments = object;
        } else {
            for parameter in parameters(tool) {
                match value(&parameter, &mut pieces, handle) {
                    Some(value) => arguments.push(parameter.name.to_owned(), value),
                    None if parameter.is_required => missing.push(parameter),
                    None => {}
                }
            }
        }
        let is_handle = |(_, value): (&str, &Json)| handle.is_some() && value.as_str() == handle;
        let is_passed = arguments.iter().any(is_handle);
        let is_safe = !arguments.is_empty() || is_read_only(tool);
        let is_independent = !then && missing.is_empty() && !is_passed && is_safe;
        Found { tool, arguments, missing, is_independent }
    }
}

/// Whether a tool is marked as read-only.
fn is_read_only(tool: &Tool) -> bool {
    let hint = tool.annotations.as_ref().and_then(|hints| hints.get("readOnlyHint"));
    hint.and_then(Json::as_bool).unwrap_or(false)
}

/// Takes the value of a parameter from the pieces.
fn value(
    parameter: &Parameter<'_>,
    pieces: &mut [Piece<'_>],
    handle: Option<&str>,
) -> Option<Json> {
    match parameter.takes {
        Takes::OneOf(accepted) => one_of(accepted, pieces),
        Takes::Number => number(parameter, pieces),
        Takes::Text(role) => text(role, parameter.is_required, pieces),
        Takes::Texts => {
            let is_text = |piece: &&mut Piece<'_>| matches!(piece.kind, Kind::Path | Kind::Quoted);
            let texts: Vec<Json> = pieces.iter_mut().filter(is_text).map(take).collect();
            (!texts.is_empty()).then_some(Json::Array(texts))
        }
        Takes::Data => handle.filter(|_| parameter.is_required).map(Json::from),
    }
}

/// Takes a piece, so that it does not become another argument too.
fn take(piece: &mut Piece<'_>) -> Json {
    piece.kind = Kind::Used;
    Json::from(piece.text)
}

/// Takes an accepted value from the text, by its own word or another one of its concept.
fn one_of(accepted: &[Json], pieces: &mut [Piece<'_>]) -> Option<Json> {
    accepted.iter().take(MAX_ACCEPTED).find_map(|value| {
        let wanted = words(cut(value.as_str()?, READ_NAME));
        let is_said = |piece: &&mut Piece<'_>| {
            piece.kind != Kind::Used && piece.words == wanted && !wanted.is_empty()
        };
        pieces.iter_mut().find(is_said).map(take)?;
        Some(value.clone())
    })
}

/// Takes a number beside a word of the parameter's name, or, for a required parameter, the next one.
fn number(parameter: &Parameter<'_>, pieces: &mut [Piece<'_>]) -> Option<Json> {
    let is_named = |at: &usize| {
        let near = &pieces[at.saturating_sub(2)..pieces.len().min(at + 2)];
        near.iter().flat_map(|piece| &piece.words).any(|word| parameter.words.contains(word))
    };
    let mut numbers = (0..pieces.len()).filter(|at| pieces[*at].kind == Kind::Number);
    let named = numbers.clone().find(is_named);
    let at = named.or_else(|| numbers.next().filter(|_| parameter.is_required))?;
    take(&mut pieces[at]);
    Number::parse(pieces[at].text).map(Json::Number)
}

/// Takes a text: an unknown word after one that leads to it, or else by its kind. A required text can also be an
/// address. A name may have several words.
fn text(role: &Role, is_required: bool, pieces: &mut [Piece<'_>]) -> Option<Json> {
    let others = if is_required { &[Kind::Quoted, Kind::Url, Kind::Path][..] } else { &[] };
    let is_led = |at: &usize| {
        let (before, piece) = (&pieces[at - 1], &pieces[*at]);
        matches!(piece.kind, Kind::Name | Kind::Word)
            && is_unknown(&piece.words)
            && has(role.leads, &before.text.to_lowercase())
    };
    let of = |kind: &Kind| pieces.iter().position(|piece| piece.kind == *kind);
    let led = (1..pieces.len()).find(is_led);
    let at = led.or_else(|| role.kinds.iter().chain(others).find_map(of))?;
    let kind = pieces[at].kind;
    let is_next = |piece: &&Piece<'_>| kind == Kind::Name && piece.kind == Kind::Name;
    let length = pieces[at..].iter().take_while(is_next).count().max(1);
    let taken = &mut pieces[at..at + length];
    let text = taken.iter().map(|piece| piece.text).collect::<Vec<_>>().join(" ");
    for piece in taken {
        piece.kind = Kind::Used;
    }
    Some(Json::from(if kind == Kind::Date { iso(&text) } else { text }))
}

/// Returns a date in the form `2026-01-31`. Words such as "tomorrow" stay, since the rules have no clock.
fn iso(date: &str) -> String {
    let parts = date.split(['-', '/', '年', '月', '日']).filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>()[..] {
        [year, month, day] => format!("{year}-{month:0>2}-{day:0>2}"),
        _ => date.to_owned(),
    }
}
