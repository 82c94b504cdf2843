//! The stored form of [`CachedReasoning`], for a store that outlives the process. Version 1:
//!
//! ```json
//! {"v": 1, "maker": "anthropic", "signed": true, "known": false, "place": [hash, length],
//!  "pieces": [{"part": {…}}, {"words": [hash, length], "part": {…}}, {"arguments": hash, "part": {…}}]}
//! ```
//!
//! Texts and calls are stored as parts without text and arguments, beside a digest of these.

use toolwright_core::digest::{ConversationDigest, TextDigest};
use toolwright_core::document::{DocumentError, ObjectReader, read_dialect, read_part, write_part};
use toolwright_core::{Arguments, Body, Call, Extra, Part};
use toolwright_json::{Json, Object, Text, object};

use super::{CachedPart, CachedReasoning};

const VERSION: u64 = 1;

impl CachedReasoning {
    /// Writes the stored form.
    pub fn to_json(&self) -> Json {
        let parts = self.parts.iter().map(CachedPart::to_json);
        Json::Object(object! {
            "v": VERSION,
            "maker": self.vendor.id(),
            "signed": self.signed,
            "known": self.has_vendor_fields,
            "place": self.conversation.map(ConversationDigest::to_json),
            "pieces": parts.collect::<Vec<_>>(),
        })
    }

    /// Reads the stored form.
    pub fn from_json(document: &Json) -> Result<CachedReasoning, DocumentError> {
        let fields = ObjectReader::of(document)?;
        if fields.count::<u64>("v")? != VERSION {
            return Err(DocumentError::new("version 1").within("v"));
        }
        let cached = CachedReasoning {
            vendor: read_dialect(fields, "maker")?,
            signed: fields.flag("signed")?,
            has_vendor_fields: fields.flag("known")?,
            parts: fields.list("pieces", CachedPart::from_json)?,
            conversation: fields
                .optional("place", |own| read_digest(ConversationDigest::from_json(own)))?,
        };
        if cached.keys().next().is_none() {
            return Err(DocumentError::new("something to find it by"));
        }
        Ok(cached)
    }
}

fn read_digest<T>(digest: Option<T>) -> Result<T, DocumentError> {
    digest.ok_or_else(|| DocumentError::new("a hash and a length"))
}

impl CachedPart {
    fn to_json(&self) -> Object {
        let bare = |body, signature: &Option<_>, extra: &Extra| {
            let (signature, extra) = (signature.clone(), extra.clone());
            write_part(&Part { signature, extra, ..Part::new(body) })
        };
        match self {
            CachedPart::Complete(part) => object! {"part": write_part(part)},
            CachedPart::Text { digest, signature, extra } => object! {
                "words": digest.to_json(),
                "part": bare(Body::Text(Text::default()), signature, extra),
            },
            CachedPart::Call { id, name, arguments_digest, signature, extra } => {
                let call = Call::new(id.as_str(), name.as_str(), Arguments::none());
                object! {"arguments": *arguments_digest, "part": bare(Body::Call(call), signature, extra)}
            }
        }
    }

    fn from_json(document: &Json) -> Result<CachedPart, DocumentError> {
        let fields = ObjectReader::of(document)?;
        let part = fields.required("part", read_part)?;
        if let Some(digest) =
            fields.present("words", |own| read_digest(TextDigest::from_json(own)))?
        {
            let Part { signature, extra, .. } = part;
            return Ok(CachedPart::Text { digest, signature, extra });
        }
        let Some(arguments_digest) = fields.optional_count("arguments")? else {
            return Ok(CachedPart::Complete(part));
        };
        match part {
            Part {
                body: Body::Call(Call { id: Some(id), name, .. }), signature, extra, ..
            } => Ok(CachedPart::Call { id, name, arguments_digest, signature, extra }),
            _ => Err(DocumentError::new("a call with an id").within("part")),
        }
    }
}
