//! Rejects unlikely repairs: a string that swallowed text that looks like a member, or a new member
//! that the schema does not declare.

use toolwright_json::Json;

use super::coerce::node;
use super::parameters::Parameters;
use super::{Change, Op, Reading};
use crate::schema::Violation;

/// Minimum cost of undoing a slip.
const MIN_SLIP_COST: u32 = 4;

/// Whether a string with unescaped quotes contains the name of a parameter before a colon.
pub(super) fn swallowed(parameters: &Parameters, reading: &Reading) -> Option<Violation> {
    let is_quote = |change: &&Change| {
        change.op == Op::Escape
            && change.from.as_ref().and_then(Json::as_str).is_some_and(|from| from.len() == 1)
    };
    let mut paths: Vec<&str> =
        reading.changes.iter().filter(is_quote).map(|change| change.path.as_str()).collect();
    paths.dedup();
    let path = paths.into_iter().find(|path| {
        let text = reading.value.pointer(path).and_then(Json::as_str);
        text.is_some_and(|text| names_parameter(parameters, text))
    })?;
    Some(Violation::new(path, "repair", "holds what looks like another parameter"))
}

/// Whether a text contains a name in quotes, or with one quote, before a colon.
fn names_parameter(parameters: &Parameters, text: &str) -> bool {
    let quotes = ['"', '\''];
    text.match_indices(':').any(|(colon, _)| {
        let before = text[..colon].trim_end();
        let name = before.trim_end_matches(quotes);
        parameters.iter().any(|parameter| {
            name.strip_suffix(&*parameter.name).is_some_and(|around| {
                let is_quoted = name.len() < before.len() || around.ends_with(quotes);
                is_quoted && !around.ends_with(char::is_alphanumeric)
            })
        })
    })
}

/// Whether brackets were guessed and the result has a member that the schema does not declare.
pub(super) fn invented(parameters: &Parameters, reading: &Reading) -> Option<Violation> {
    let is_guess = |change: &Change| match change.op {
        Op::Mark | Op::Close => true,
        Op::Quote | Op::Comma => change.cost >= MIN_SLIP_COST,
        _ => false,
    };
    let is_invented = reading.changes.iter().any(is_guess)
        && node::has_undeclared(parameters.check().schema(), &reading.value);
    is_invented.then(|| Violation::new("", "repair", "has members that are not declared"))
}
