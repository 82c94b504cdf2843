//! Extracts locations from a text: after a preposition, or a word with no other meaning.

use super::super::concept;
use super::super::piece::{Kind, Piece};
use super::super::slot::{Role, Slot};
use super::super::word::words;
use super::Source;

impl Source<'_> {
    /// Takes the location for a parameter.
    pub(super) fn place(&mut self, slot: &Slot<'_>, own: &[Piece<'_>]) -> Option<String> {
        let leads: &[&str] = match slot.role {
            Role::From => &["from", "从", "自"],
            Role::To => &["to", "到", "去", "飞往", "飞到", "前往", "至"],
            _ => &["in", "at", "for", "of", "near", "在"],
        };
        let led = own.iter().enumerate().find_map(|(at, piece)| {
            let word = piece.text.to_lowercase();
            leads.contains(&word.as_str()).then(|| self.name_at(own, at + 1)).flatten()
        });
        // The start or end of a trip needs a preposition; a location may stand alone.
        let alone = || match slot.role {
            Role::Place => (0..own.len()).find_map(|at| self.name_at(own, at)),
            _ => None,
        };
        let (from, to) = led.or_else(alone)?;
        let range = own[from].range.start..own[to].range.end;
        self.use_up(&range);
        Some(self.text[range].to_owned())
    }

    /// Returns the name that begins at a piece: Chinese characters that are no known word, or
    /// capitalized words. After a preposition, and not at the very beginning, a lower-case word
    /// counts too.
    fn name_at(&self, own: &[Piece<'_>], at: usize) -> Option<(usize, usize)> {
        let first = own.get(at).filter(|piece| self.is_free(piece))?;
        match first.kind {
            Kind::Quoted => Some((at, at)),
            Kind::Unknown if first.text.chars().count() >= 2 => Some((at, at)),
            Kind::Word => {
                let led = at.checked_sub(1).is_some_and(|before| {
                    ["in", "at", "from", "to", "near", "for"]
                        .contains(&own[before].text.to_lowercase().as_str())
                });
                let capital =
                    |piece: &Piece<'_>| piece.text.starts_with(|own: char| own.is_uppercase());
                // A capitalized word after a preposition is a name, whatever else it may mean.
                let named = |piece: &Piece<'_>| {
                    let common = concept::of_word(&piece.text.to_lowercase()).is_some();
                    piece.kind == Kind::Word
                        && self.is_free(piece)
                        && !words(piece.text).is_empty()
                        && (!common || (led && capital(piece)))
                };
                if !named(first) || !(capital(first) || led) {
                    return None;
                }
                let more = own[at + 1..].iter().take_while(|piece| named(piece) && capital(piece));
                Some((at, at + more.count()))
            }
            _ => None,
        }
    }
}
