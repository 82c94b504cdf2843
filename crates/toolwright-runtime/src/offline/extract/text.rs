//! Extracts strings from a text: assigned, quoted, or of the expected kind.

use toolwright_core::{Json, Tool};

use super::super::piece::{Kind, Piece};
use super::super::slot::{Role, Slot};
use super::super::word::words;
use super::Source;

impl Source<'_> {
    /// Takes the string for a parameter.
    pub(super) fn text(
        &mut self,
        slot: &Slot<'_>,
        own: &[Piece<'_>],
        format: Option<&str>,
        tool: &Tool,
    ) -> Option<Json> {
        if let Some(value) = self.assigned(slot, own) {
            return Some(Json::from(value));
        }
        let of = |wanted: Kind| move |piece: &Piece<'_>| piece.kind == wanted;
        let quoted = of(Kind::Quoted);
        let found = match slot.role {
            Role::Path => self.take(own, of(Kind::Path)).or_else(|| self.take(own, quoted)),
            Role::Url => self.take(own, of(Kind::Url)).or_else(|| {
                // A URL given for a file parameter is accepted.
                self.take(own, of(Kind::Path)).filter(|_| slot.required)
            }),
            Role::Email => self.take(own, of(Kind::Email)),
            Role::Date => return self.date(own, format),
            Role::From | Role::To | Role::Place => {
                return self.place(slot, own).map(Json::from);
            }
            Role::Query | Role::Message => match self.take(own, quoted) {
                Some(text) => Some(text),
                None if slot.required && slot.role == Role::Query => {
                    return self.rest(own, tool).map(Json::from);
                }
                None => None,
            },
            Role::Count | Role::Other => self.take(own, quoted),
        };
        // A required string without a specific role takes an address of any kind.
        let found = found.or_else(|| {
            let any =
                |piece: &Piece<'_>| matches!(piece.kind, Kind::Url | Kind::Path | Kind::Handle);
            let addressed = matches!(slot.role, Role::Path | Role::Other | Role::From);
            if slot.required && addressed { self.take(own, any) } else { None }
        });
        found.map(Json::from)
    }

    /// `name=value` or `name: value`.
    fn assigned(&mut self, slot: &Slot<'_>, own: &[Piece<'_>]) -> Option<String> {
        let whole = self.text;
        for (at, piece) in own.iter().enumerate().filter(|(_, piece)| piece.kind != Kind::Quoted) {
            if let Some((name, value)) = piece.text.split_once('=')
                && name.trim_start_matches('-').eq_ignore_ascii_case(slot.name)
                && !value.is_empty()
            {
                self.use_up(&piece.range);
                return Some(value.to_owned());
            }
            let after = whole[piece.range.end..].trim_start();
            if piece.text.trim_start_matches('-').eq_ignore_ascii_case(slot.name)
                && after.starts_with([':', '=', '：'])
                && let Some(next) = own.get(at + 1).filter(|next| self.is_free(next))
            {
                self.use_up(&next.range);
                return Some(next.text.to_owned());
            }
        }
        None
    }

    /// Takes a date as written. Relative dates stay as words, since the rules have no clock.
    fn date(&mut self, own: &[Piece<'_>], format: Option<&str>) -> Option<Json> {
        if let Some(text) = self.take(own, |piece| piece.kind == Kind::Date) {
            return Some(Json::from(iso(text)));
        }
        let relative = |piece: &Piece<'_>| {
            let word = piece.text.to_lowercase();
            let known = ["today", "tomorrow", "yesterday"];
            known.iter().any(|day| *day == word || piece.kind == Kind::Concept(day))
        };
        if format.is_some() {
            return None;
        }
        // A relative date may apply to several things.
        own.iter().find(|piece| relative(piece)).map(|piece| Json::from(piece.text))
    }

    /// Takes the remainder of a clause after the words for the tool.
    fn rest(&mut self, own: &[Piece<'_>], tool: &Tool) -> Option<String> {
        let name = words(&tool.name);
        let leading = |piece: &&Piece<'_>| {
            piece.kind == Kind::Stop
                || words(piece.text).iter().all(|word| name.contains(word))
                || matches!(piece.kind, Kind::Concept("search"))
        };
        let first = own.iter().find(|piece| !leading(piece))?;
        let last = own.last()?;
        let range = first.range.start..last.range.end;
        let text =
            self.text[range.clone()].trim().trim_end_matches(['?', '？', '。', '.', '!', '！']);
        if text.is_empty() || !self.is_unused(&range) {
            return None;
        }
        self.use_up(&range);
        Some(text.to_owned())
    }
}

/// Formats a date as `2026-01-31`.
fn iso(text: &str) -> String {
    let parts: Vec<&str> =
        text.split(['-', '/', '年', '月', '日']).filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [year, month, day] => format!("{year}-{month:0>2}-{day:0>2}"),
        _ => text.to_owned(),
    }
}
