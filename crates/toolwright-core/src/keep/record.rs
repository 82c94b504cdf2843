//! A [`Kept`] as a document, for a store that outlives the process. Version 1:
//!
//! ```json
//! {"v": 1, "maker": "anthropic", "signed": true, "known": false, "place": [hash, length],
//!  "pieces": [{"part": {…}}, {"words": [hash, length], "part": {…}}, {"arguments": hash, "part": {…}}]}
//! ```
//!
//! Words and calls are parts without their text and arguments, of which a hash is kept.

use super::{Kept, Piece};
use crate::document::{DocumentError, Fields, read_dialect, read_part, write_part};
use crate::json::{Json, Object};
use crate::model::call::{Arguments, Call};
use crate::model::digest::{ConversationDigest, TextDigest};
use crate::model::extra::Extra;
use crate::model::part::{Body, Part};
use crate::object;

const VERSION: u64 = 1;

impl Kept {
    /// Writes it.
    pub fn to_json(&self) -> Json {
        let pieces = self.pieces.iter().map(Piece::to_json);
        Json::Object(object! {
            "v": VERSION,
            "maker": self.maker.id(),
            "signed": self.signed,
            "known": self.known,
            "place": self.place.map(ConversationDigest::to_json),
            "pieces": pieces.collect::<Vec<_>>(),
        })
    }

    /// Reads it.
    pub fn from_json(document: &Json) -> Result<Kept, DocumentError> {
        let fields = Fields::of(document)?;
        if fields.count::<u64>("v")? != VERSION {
            return Err(DocumentError::new("version 1").within("v"));
        }
        let kept = Kept {
            maker: read_dialect(fields, "maker")?,
            signed: fields.flag("signed")?,
            known: fields.flag("known")?,
            pieces: fields.list("pieces", Piece::from_json)?,
            place: fields
                .optional("place", |own| read_digest(ConversationDigest::from_json(own)))?,
        };
        if kept.keys().next().is_none() {
            return Err(DocumentError::new("something to find it by"));
        }
        Ok(kept)
    }
}

fn read_digest<T>(digest: Option<T>) -> Result<T, DocumentError> {
    digest.ok_or_else(|| DocumentError::new("a hash and a length"))
}

impl Piece {
    fn to_json(&self) -> Object {
        let bare = |body, signature: &Option<_>, extra: &Extra| {
            let (signature, extra) = (signature.clone(), extra.clone());
            write_part(&Part { signature, extra, ..Part::new(body) })
        };
        match self {
            Piece::Whole(part) => object! {"part": write_part(part)},
            Piece::Words { words, signature, extra } => object! {
                "words": words.to_json(),
                "part": bare(Body::Text(String::new()), signature, extra),
            },
            Piece::Call { id, name, sum, signature, extra } => {
                let call = Call::new(id.as_str(), name.as_str(), Arguments::none());
                object! {"arguments": *sum, "part": bare(Body::Call(call), signature, extra)}
            }
        }
    }

    fn from_json(document: &Json) -> Result<Piece, DocumentError> {
        let fields = Fields::of(document)?;
        let part = fields.required("part", read_part)?;
        if let Some(words) =
            fields.present("words", |own| read_digest(TextDigest::from_json(own)))?
        {
            let Part { signature, extra, .. } = part;
            return Ok(Piece::Words { words, signature, extra });
        }
        let Some(sum) = fields.optional_count("arguments")? else { return Ok(Piece::Whole(part)) };
        match part {
            Part {
                body: Body::Call(Call { id: Some(id), name, .. }), signature, extra, ..
            } => Ok(Piece::Call { id, name, sum, signature, extra }),
            _ => Err(DocumentError::new("a call with an id").within("part")),
        }
    }
}
