//! Extracts arguments from a text, guided by the schema. Ambiguous values are left out.

mod place;
mod text;

use std::ops::Range;
use std::rc::Rc;

use toolwright_core::{Json, Tool};
use toolwright_json::{Number, Object};

use super::concept;
use super::piece::{Kind, Piece, pieces};
use super::slot::{Role, Slot, Takes, slots};
use super::word::words;
use crate::handle::Handle;

/// Maximum number of pieces that are examined for all arguments together.
const MAX_LOOKS: usize = 100_000;

/// The text of a message, with the parts that are used: no part becomes two arguments.
#[derive(Debug)]
pub(super) struct Source<'a> {
    text: &'a str,
    /// Which bytes of the text are used
    used: Vec<bool>,
    /// Number of pieces that may still be examined
    left: usize,
    /// All pieces of the text, computed on first use
    all: Option<Rc<[Piece<'a>]>>,
    /// The last handle in an outcome
    handle: Option<&'a str>,
}

/// The arguments found for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The arguments
    pub(super) arguments: Object,
    /// Missing required parameters, with their descriptions
    pub(super) missing: Vec<(&'a str, Option<&'a str>)>,
    /// Whether a value came from the clause itself
    pub(super) own: bool,
    /// Whether a value came from an earlier outcome, or must come from one
    pub(super) passed: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, handle: Option<&'a str>) -> Source<'a> {
        Source { text, used: vec![false; text.len()], left: MAX_LOOKS, all: None, handle }
    }

    pub(super) fn arguments<'t>(&mut self, tool: &'t Tool, range: Range<usize>) -> Found<'t> {
        let mut found =
            Found { arguments: Object::new(), missing: vec![], own: false, passed: false };
        let own = pieces(self.text, range.clone());
        if let Some(object) = self.spelled_out(&own) {
            return Found { arguments: object, own: true, ..found };
        }
        let slots = slots(tool);
        let mut values: Vec<Option<Json>> = vec![None; slots.len()];
        // Required parameters choose first.
        for required in [true, false] {
            for (slot, value) in slots.iter().zip(&mut values) {
                if slot.required == required {
                    *value = self.value(slot, &own, tool);
                }
            }
        }
        for (slot, value) in slots.iter().zip(values) {
            let handle = value.as_ref().and_then(Json::as_str);
            let handle = handle.is_some_and(|text| text.parse::<Handle>().is_ok());
            found.own |= value.is_some() && !handle;
            found.passed |= handle || (slot.takes == Takes::Data && slot.required);
            match value {
                Some(value) => found.arguments.push(slot.name.to_owned(), value),
                None if slot.required => found.missing.push((slot.name, slot.about)),
                None => {}
            }
        }
        found
    }

    /// Searches the whole text for missing arguments, among unused pieces.
    pub(super) fn complete<'t>(&mut self, tool: &'t Tool, found: &mut Found<'t>) {
        if found.missing.is_empty() {
            return;
        }
        let text = self.text;
        let all = Rc::clone(self.all.get_or_insert_with(|| pieces(text, 0..text.len()).into()));
        for slot in slots(tool) {
            let Some(at) = found.missing.iter().position(|own| own.0 == slot.name) else {
                continue;
            };
            if let Some(value) = self.value(&slot, &all, tool) {
                found.missing.remove(at);
                found.own |= slot.takes != Takes::Data;
                found.arguments.push(slot.name.to_owned(), value);
            }
        }
    }

    /// Takes arguments from a JSON object in the text.
    fn spelled_out(&mut self, own: &[Piece<'_>]) -> Option<Object> {
        let piece = own.iter().find(|piece| piece.kind == Kind::Object && self.is_free(piece))?;
        let Ok(Json::Object(object)) = Json::parse(piece.text) else { return None };
        self.use_up(&piece.range);
        Some(object)
    }

    fn value(&mut self, slot: &Slot<'_>, own: &[Piece<'_>], tool: &Tool) -> Option<Json> {
        self.left = self.left.checked_sub(own.len())?;
        match &slot.takes {
            Takes::OneOf(accepted) => self.one_of(accepted, own),
            Takes::Boolean => Self::boolean(slot, own),
            Takes::Number { whole } => self.number(slot, own, *whole),
            Takes::Text(format) => self.text(slot, own, *format, tool),
            Takes::Texts => self.texts(slot, own),
            Takes::Numbers => {
                let all = self.take_all(own, |piece| piece.kind == Kind::Number);
                let numbers: Vec<Json> = all.iter().filter_map(|text| number(text)).collect();
                (!numbers.is_empty()).then_some(Json::Array(numbers))
            }
            Takes::Data => self.handle(own),
            Takes::Any => self.text(slot, own, None, tool).or_else(|| self.handle(own)),
        }
    }

    /// Takes a handle from the text, or else the last handle in an outcome.
    fn handle(&mut self, own: &[Piece<'_>]) -> Option<Json> {
        let said = self.take(own, |piece| piece.kind == Kind::Handle);
        said.or(self.handle).map(Json::from)
    }

    /// Takes an accepted value from the text, by its own word or a translation.
    fn one_of(&mut self, accepted: &[Json], own: &[Piece<'_>]) -> Option<Json> {
        for value in accepted {
            let Some(word) = value.as_str() else { continue };
            let mut same = vec![word.to_lowercase()];
            same.extend(concept::spellings(&word.to_lowercase()).map(str::to_owned));
            let says = |piece: &Piece<'_>| same.contains(&piece.text.to_lowercase());
            if let Some(piece) = own.iter().find(|piece| self.is_free(piece) && says(piece)) {
                self.use_up(&piece.range);
                return Some(value.clone());
            }
        }
        None
    }

    /// Returns true if the text contains the name, false if a negation precedes it.
    fn boolean(slot: &Slot<'_>, own: &[Piece<'_>]) -> Option<Json> {
        const NO: [&str; 9] =
            ["no", "not", "without", "don't", "never", "false", "off", "不", "不要"];
        let name = words(slot.name);
        let is_name = |piece: &Piece<'_>| {
            let said = words(piece.text);
            !said.is_empty() && said.iter().all(|word| name.contains(word))
        };
        let at = own.iter().position(is_name)?;
        let said: Vec<String> = own[at..].iter().flat_map(|piece| words(piece.text)).collect();
        if name.is_empty() || !name.iter().all(|word| said.contains(word)) {
            return None;
        }
        let around = own[at.saturating_sub(2)..(at + name.len() + 2).min(own.len())].iter();
        let no = around.map(|piece| piece.text.to_lowercase()).any(|text| NO.contains(&&*text));
        Some(Json::Bool(!no))
    }

    /// Takes a number beside the parameter's name, or, for a required parameter, the next one.
    fn number(&mut self, slot: &Slot<'_>, own: &[Piece<'_>], whole: bool) -> Option<Json> {
        const MANY: [&str; 9] =
            ["last", "first", "top", "latest", "most", "前", "最近", "最后", "最多"];
        let name = words(slot.name);
        let fits = |piece: &Piece<'_>| {
            piece.kind == Kind::Number && !(whole && piece.text.contains(['.', 'e', 'E']))
        };
        let beside = |at: usize| {
            let near = [at.checked_sub(1), at.checked_sub(2), Some(at + 1)];
            near.into_iter().flatten().filter_map(|at| own.get(at)).any(|piece| {
                let counted = slot.role == Role::Count
                    && MANY.iter().any(|word| piece.text.to_lowercase().ends_with(word));
                counted || words(piece.text).iter().any(|word| name.contains(word))
            })
        };
        let free = |at: &usize| self.is_free(&own[*at]) && fits(&own[*at]);
        let mut places = (0..own.len()).filter(free);
        let at = match places.clone().find(|at| beside(*at)) {
            Some(at) => at,
            None if slot.required => places.next()?,
            None => return None,
        };
        self.use_up(&own[at].range);
        number(own[at].text)
    }

    fn texts(&mut self, slot: &Slot<'_>, own: &[Piece<'_>]) -> Option<Json> {
        let kind = if slot.role == Role::Path { Kind::Path } else { Kind::Quoted };
        let mut all = self.take_all(own, |piece| piece.kind == kind);
        if all.is_empty() {
            all = self.take_all(own, |piece| piece.kind == Kind::Quoted);
        }
        (!all.is_empty()).then(|| Json::from(all.into_iter().map(Json::from).collect::<Vec<_>>()))
    }

    fn take<'p>(&mut self, own: &[Piece<'p>], is: impl Fn(&Piece<'_>) -> bool) -> Option<&'p str> {
        let piece = own.iter().find(|piece| is(piece) && self.is_free(piece))?;
        self.use_up(&piece.range);
        Some(piece.text)
    }

    fn take_all<'p>(&mut self, own: &[Piece<'p>], is: impl Fn(&Piece<'_>) -> bool) -> Vec<&'p str> {
        let taken = own.iter().filter(|piece| is(piece) && self.is_free(piece));
        let taken: Vec<&Piece<'p>> = taken.collect();
        for piece in &taken {
            self.use_up(&piece.range);
        }
        taken.into_iter().map(|piece| piece.text).collect()
    }

    fn is_free(&self, piece: &Piece<'_>) -> bool {
        self.is_unused(&piece.range)
    }

    fn is_unused(&self, range: &Range<usize>) -> bool {
        self.used.get(range.clone()).is_some_and(|used| !used.contains(&true))
    }

    fn use_up(&mut self, range: &Range<usize>) {
        if let Some(used) = self.used.get_mut(range.clone()) {
            used.fill(true);
        }
    }
}

fn number(text: &str) -> Option<Json> {
    Number::parse(text.trim_start_matches('+')).map(Json::Number)
}

#[cfg(test)]
mod tests {
    use toolwright_core::{Json, Tool};

    use super::{MAX_LOOKS, Source};

    #[test]
    fn arguments_are_looked_for_within_bounds() {
        let names: Vec<String> = (0..500)
            .map(|at| format!(r#""p{at}":{{"type":"array","items":{{"type":"string"}}}}"#))
            .collect();
        let schema = format!(r#"{{"properties":{{{}}}}}"#, names.join(","));
        let tool = Tool::function("t", Json::parse(&schema).unwrap());
        let text = "'x' ".repeat(4_000);
        let mut source = Source::new(&text, None);
        for _ in 0..32 {
            source.arguments(&tool, 0..text.len());
        }
        // Further searches find nothing.
        assert!(source.left < 4_000, "{} of {MAX_LOOKS} looks left", source.left);
    }
}
