//! What a message asks for: tools, in order, each with the clause that asks for it.

use std::collections::HashSet;
use std::ops::Range;

use toolwright_core::Tool;

use super::clause::{Clause, split};
use super::pick::{Index, Picked};
use super::piece::{Kind, Piece, pieces};
use super::word::words;

/// One requested tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish<'a> {
    /// The tool
    pub(super) tool: &'a Tool,
    /// The range of its clause
    pub(super) range: Range<usize>,
    /// Whether it must follow the previous wish
    pub(super) then: bool,
    /// The words that selected the tool
    pub(super) words: Vec<String>,
}

/// All requested calls.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wishes<'a> {
    /// In order
    pub(super) list: Vec<Wish<'a>>,
    /// Tools that could not be distinguished
    pub(super) unsure: Vec<&'a Tool>,
}

/// Finds the wishes of a text. A clause without a tool belongs to the previous one.
pub(super) fn wishes<'a>(text: &str, index: &Index<'a>) -> Wishes<'a> {
    let request: HashSet<String> = words(text).into_iter().collect();
    let mut wishes = Wishes::default();
    for Clause { range, then } in split(text) {
        let own = pieces(text, range.clone());
        let picked = index.pick(&text[range.clone()], &own, &request);
        let before = wishes.list.last_mut();
        match (picked, before) {
            (Picked::Nothing, Some(before)) => before.range.end = range.end,
            (Picked::Nothing, None) => {}
            (Picked::One(tool, _), Some(before)) if same(before.tool, tool) && !says_more(&own) => {
                before.range.end = range.end;
            }
            (Picked::Unsure(tools), Some(before))
                if tools.iter().any(|own| same(before.tool, own)) =>
            {
                before.range.end = range.end;
            }
            (Picked::One(tool, words), _) => wishes.list.push(Wish { tool, range, then, words }),
            (Picked::Unsure(tools), _) => wishes.unsure = tools,
        }
    }
    wishes
}

fn same(a: &Tool, b: &Tool) -> bool {
    a.name == b.name
}

/// Whether a clause contains an argument.
fn says_more(own: &[Piece<'_>]) -> bool {
    own.iter().any(|piece| !matches!(piece.kind, Kind::Word | Kind::Concept(_) | Kind::Stop))
}
