//! Finds arguments in a message, guided by the parameters. Ambiguous values are left out.

use std::ops::Range;

use toolwright_core::{Json, Tool};
use toolwright_json::{Number, Object};

use super::parameters::{Parameter, Takes, parameters};
use super::pieces::{Kind, Piece};
use super::vocabulary::{concept, words};
use crate::handle::Handle;

/// Maximum number of pieces that are examined for all arguments together.
const MAX_LOOKS: usize = 100_000;

/// Words before a number that counts something.
const MANY: [&str; 9] = ["last", "first", "top", "latest", "most", "前", "最近", "最后", "最多"];

/// The kinds of addresses.
const ADDRESSES: [Kind; 3] = [Kind::Url, Kind::Path, Kind::Handle];

/// Days that stay as words, since the rules have no clock.
const DAYS: [&str; 3] = ["today", "tomorrow", "yesterday"];

/// The text of a message, with the parts that are used: no part becomes two arguments.
#[derive(Debug)]
pub(super) struct Source<'a> {
    text: &'a str,
    /// Which bytes of the text are used
    used: Vec<bool>,
    /// Number of pieces that may still be examined
    left: usize,
    /// The last handle in an outcome
    handle: Option<&'a str>,
}

/// The arguments found for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'t> {
    /// The arguments
    pub(super) arguments: Object,
    /// Missing required parameters, with their descriptions
    pub(super) missing: Vec<(&'t str, Option<&'t str>)>,
    /// Whether a value came from the message
    pub(super) is_own: bool,
    /// Whether a value came from an earlier outcome, or must come from one
    pub(super) is_passed: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, handle: Option<&'a str>) -> Source<'a> {
        Source { text, used: vec![false; text.len()], left: MAX_LOOKS, handle }
    }

    /// Finds the arguments of a tool in the pieces of its clause.
    pub(super) fn arguments<'t>(&mut self, tool: &'t Tool, own: &[Piece<'_>]) -> Found<'t> {
        let mut found =
            Found { arguments: Object::new(), missing: vec![], is_own: false, is_passed: false };
        let object = own.iter().find(|piece| piece.kind == Kind::Object && self.is_free(piece));
        if let Some(Ok(Json::Object(object))) = object.map(|piece| Json::parse(piece.text)) {
            own.iter()
                .filter(|piece| piece.kind == Kind::Object)
                .for_each(|piece| self.take(piece));
            return Found { arguments: object, is_own: true, ..found };
        }
        let parameters = parameters(tool);
        let mut values: Vec<Option<Json>> = vec![None; parameters.len()];
        // Required parameters choose first.
        for is_required in [true, false] {
            let all = parameters.iter().zip(&mut values);
            for (parameter, value) in all.filter(|own| own.0.is_required == is_required) {
                *value = self.value(parameter, own);
            }
        }
        for (Parameter { name, about, is_required, takes }, value) in
            parameters.into_iter().zip(values)
        {
            let is_handle = value.as_ref().and_then(Json::as_str).is_some_and(is_handle);
            found.is_own |= value.is_some() && !is_handle;
            found.is_passed |= is_handle || (takes == Takes::Data && is_required);
            match value {
                Some(value) => found.arguments.push(name.to_owned(), value),
                None if is_required => found.missing.push((name, about)),
                None => {}
            }
        }
        found
    }

    /// Searches all pieces of the message for missing arguments.
    pub(super) fn complete(&mut self, tool: &Tool, all: &[Piece<'_>], found: &mut Found<'_>) {
        for parameter in parameters(tool) {
            let is_it = |missing: &(&str, Option<&str>)| missing.0 == parameter.name;
            let Some(place) = found.missing.iter().position(is_it) else { continue };
            if let Some(value) = self.value(&parameter, all) {
                found.missing.remove(place);
                found.is_own |= parameter.takes != Takes::Data;
                found.arguments.push(parameter.name.to_owned(), value);
            }
        }
    }

    fn value(&mut self, parameter: &Parameter<'_>, own: &[Piece<'_>]) -> Option<Json> {
        self.left = self.left.checked_sub(own.len())?;
        // A required text takes an address of any kind.
        let address = if parameter.is_required { &ADDRESSES[..] } else { &[] };
        match parameter.takes {
            Takes::OneOf(accepted) => self.one_of(accepted, own),
            Takes::Number { is_whole, is_count } => self.number(parameter, own, is_whole, is_count),
            Takes::Path => self.first(own, &[&[Kind::Path, Kind::Quoted], address].concat()),
            Takes::Date { is_formal } => self.date(own, is_formal),
            Takes::From => self.place(own, "from 从 自").or_else(|| self.first(own, address)),
            Takes::To => self.place(own, "to 到 去 飞往 飞到 前往 至"),
            Takes::Place => self.place(own, "in at for of near 在").or_else(|| {
                let alone = (0..own.len()).find_map(|at| self.name_at(own, at))?;
                self.take_range(alone)
            }),
            Takes::Text => self.first(own, &[&[Kind::Quoted], address].concat()),
            Takes::Texts => {
                let kinds = [Kind::Path, Kind::Quoted];
                let all: Vec<Json> = std::iter::from_fn(|| self.first(own, &kinds)).collect();
                (!all.is_empty()).then_some(Json::Array(all))
            }
            Takes::Data if parameter.is_required => self.handle(own),
            Takes::Data => None,
            Takes::Any => {
                let text = self.first(own, &[&[Kind::Quoted], address].concat());
                text.or_else(|| self.handle(own))
            }
        }
    }

    /// Takes the first piece of one of some kinds, in the order of the kinds.
    fn first(&mut self, own: &[Piece<'_>], kinds: &[Kind]) -> Option<Json> {
        let of = |kind: &Kind| own.iter().find(|piece| piece.kind == *kind && self.is_free(piece));
        let piece = kinds.iter().find_map(of)?;
        self.take(piece);
        Some(Json::from(piece.text))
    }

    /// Takes a handle from the text, or else the last handle in an outcome.
    fn handle(&mut self, own: &[Piece<'_>]) -> Option<Json> {
        self.first(own, &[Kind::Handle]).or_else(|| self.handle.map(Json::from))
    }

    /// Takes an accepted value from the text, by its own word or another one of its concept.
    fn one_of(&mut self, accepted: &[Json], own: &[Piece<'_>]) -> Option<Json> {
        let is_same = |value: &str, piece: &Piece<'_>| {
            let (value, said) = (value.to_lowercase(), piece.text.to_lowercase());
            value == said || concept(&value).is_some_and(|own| concept(&said) == Some(own))
        };
        let found = accepted.iter().find_map(|value| {
            let says = |piece: &&Piece<'_>| {
                self.is_free(piece) && is_same(value.as_str().unwrap_or_default(), piece)
            };
            Some((value, own.iter().find(says)?))
        });
        let (value, piece) = found?;
        self.take(piece);
        Some(value.clone())
    }

    /// Takes a number beside the parameter's name, or, for a required parameter, the next one.
    fn number(
        &mut self,
        parameter: &Parameter<'_>,
        own: &[Piece<'_>],
        is_whole: bool,
        is_count: bool,
    ) -> Option<Json> {
        let name = words(parameter.name);
        let is_near = |at: usize| {
            let near = [at.checked_sub(1), at.checked_sub(2), Some(at + 1)];
            near.into_iter().flatten().filter_map(|at| own.get(at)).any(|piece| {
                let said = piece.text.to_lowercase();
                (is_count && MANY.iter().any(|word| said.ends_with(word)))
                    || words(piece.text).iter().any(|word| name.contains(word))
            })
        };
        let fits = |at: &usize| {
            let piece = &own[*at];
            let is_fraction = piece.text.contains(['.', 'e', 'E']);
            piece.kind == Kind::Number && !(is_whole && is_fraction) && self.is_free(piece)
        };
        let mut places = (0..own.len()).filter(fits);
        let near = places.clone().find(|at| is_near(*at));
        let at = near.or_else(|| places.next().filter(|_| parameter.is_required))?;
        self.take(&own[at]);
        Number::parse(own[at].text.trim_start_matches('+')).map(Json::Number)
    }

    /// Takes a date. Relative dates stay as words, and may apply to several things.
    fn date(&mut self, own: &[Piece<'_>], is_formal: bool) -> Option<Json> {
        if let Some(date) = self.first(own, &[Kind::Date]) {
            let text = date.as_str().unwrap_or_default();
            let parts = text.split(['-', '/', '年', '月', '日']).filter(|part| !part.is_empty());
            return match parts.collect::<Vec<_>>()[..] {
                [year, month, day] => Some(format!("{year}-{month:0>2}-{day:0>2}").into()),
                _ => Some(date),
            };
        }
        let is_day = |piece: &&Piece<'_>| {
            concept(&piece.text.to_lowercase()).is_some_and(|own| DAYS.contains(&own))
        };
        own.iter().filter(|_| !is_formal).find(is_day).map(|piece| Json::from(piece.text))
    }

    /// Takes a location after one of some prepositions.
    fn place(&mut self, own: &[Piece<'_>], leads: &str) -> Option<Json> {
        let is_lead = |word: &str| leads.split(' ').any(|lead| lead.eq_ignore_ascii_case(word));
        let mut places = (1..own.len()).filter(|at| is_lead(own[*at - 1].text));
        let led = places.find_map(|at| self.name_at(own, at))?;
        self.take_range(led)
    }

    /// Returns the name that begins at a piece: a quotation, Chinese characters that are no known word, or capitalized
    /// words. After a preposition, a lower-case word counts too.
    fn name_at(&self, own: &[Piece<'_>], at: usize) -> Option<Range<usize>> {
        let first = own.get(at).filter(|piece| self.is_free(piece))?;
        let is_han = first.kind == Kind::Unknown && first.text.chars().count() >= 2;
        if first.kind == Kind::Quoted || is_han {
            return Some(first.range.clone());
        }
        let is_led = at.checked_sub(1).is_some_and(|before| {
            let word = own[before].text.to_lowercase();
            ["in", "at", "from", "to", "near", "for"].contains(&&*word)
        });
        let is_capital = |piece: &Piece<'_>| piece.text.starts_with(|own: char| own.is_uppercase());
        // A capitalized word after a preposition is a name, whatever else it may mean.
        let is_name = |piece: &Piece<'_>| {
            let is_common = concept(&piece.text.to_lowercase()).is_some();
            let is_free = piece.kind == Kind::Word && self.is_free(piece);
            is_free
                && !words(piece.text).is_empty()
                && (!is_common || (is_led && is_capital(piece)))
        };
        if !is_name(first) || !(is_capital(first) || is_led) {
            return None;
        }
        let more = own[at + 1..].iter().take_while(|piece| is_name(piece) && is_capital(piece));
        Some(first.range.start..more.last().unwrap_or(first).range.end)
    }

    fn is_free(&self, piece: &Piece<'_>) -> bool {
        self.used.get(piece.range.clone()).is_some_and(|used| !used.contains(&true))
    }

    fn take(&mut self, piece: &Piece<'_>) {
        self.take_range(piece.range.clone());
    }

    fn take_range(&mut self, range: Range<usize>) -> Option<Json> {
        self.used.get_mut(range.clone())?.fill(true);
        self.text.get(range).map(Json::from)
    }
}

fn is_handle(text: &str) -> bool {
    text.parse::<Handle>().is_ok()
}

#[cfg(test)]
mod tests {
    use toolwright_core::{Json, Tool};

    use super::super::pieces::clauses;
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
            source.arguments(&tool, &clauses(&text)[0].pieces);
        }
        // Further searches find nothing.
        assert!(source.left < 4_000, "{} of {MAX_LOOKS} looks left", source.left);
    }
}
