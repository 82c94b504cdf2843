//! The stored form of a run, version 1:
//!
//! ```json
//! {"v": 1, "digest": "…", "given": 3, "upstream": {"id": "claude", "dialect": "anthropic"},
//!  "effects": [{"tool": "write_file", "call": "call_1", "end": "done"}], "run": {…}}
//! ```
//!
//! `run` is the saved form of the library, which has its own version.

use std::sync::Arc;

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Dialect, Json, object};

use crate::conversation::ConversationId;
use crate::tool_runs::effects::Effect;

/// The current version.
const VERSION: u64 = 1;

/// The saved state of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The hash of the request
    pub digest: String,
    /// Number of messages in the request
    pub given: usize,
    /// The upstream that answered last, and its dialect
    pub upstream: Option<(Arc<str>, Option<Dialect>)>,
    /// Effects of tools
    pub effects: Vec<Effect>,
    /// The run
    pub run: Json,
}

impl Record {
    /// Returns the conversation of the run.
    pub fn conversation(&self) -> Option<ConversationId> {
        let name = self.run.get("conversation").and_then(Json::as_str)?;
        ConversationId::parse(name).ok()
    }

    /// Whether both are states of one run.
    pub fn is_same_run(&self, other: &Record) -> bool {
        self.run.get("id") == other.run.get("id")
    }

    /// Encodes the record.
    pub fn write(self) -> Vec<u8> {
        let upstream = self.upstream.map(|(id, dialect)| {
            object! {"id": &*id, "dialect": dialect.map(Dialect::id)}
        });
        let document = object! {
            "v": VERSION,
            "digest": self.digest,
            "given": self.given as u64,
            "upstream": upstream,
            "effects": self.effects.iter().map(Effect::to_json).collect::<Vec<_>>(),
            "run": self.run,
        };
        Json::Object(document).compact().into_bytes()
    }

    /// Decodes a record.
    pub fn read(bytes: &[u8]) -> Result<Record, DocumentError> {
        let document = Json::parse_bytes(bytes).map_err(|_| DocumentError::new("JSON"))?;
        let fields = ObjectReader::of(&document)?;
        if fields.count::<u64>("v")? != VERSION {
            return Err(DocumentError::new("version 1").within("v"));
        }
        Ok(Record {
            digest: fields.text("digest")?.to_owned(),
            given: fields.count("given")?,
            upstream: fields.optional("upstream", read_upstream)?,
            effects: fields.list("effects", Effect::from_json)?,
            run: fields.required("run", |run| Ok(run.clone()))?,
        })
    }
}

fn read_upstream(document: &Json) -> Result<(Arc<str>, Option<Dialect>), DocumentError> {
    let fields = ObjectReader::of(document)?;
    let dialect = fields.optional_text("dialect")?;
    Ok((fields.text("id")?.into(), dialect.and_then(|id| id.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_one_of_a_later_version_is_not() {
        let effect = r#"{"tool":"t","call":"c","end":"outcome unknown"}"#;
        let effect = Effect::from_json(&Json::parse(effect).unwrap()).unwrap();
        for upstream in
            [None, Some(("up".into(), Some(Dialect::Anthropic))), Some(("off".into(), None))]
        {
            let (digest, run) = ("d".to_owned(), Json::Object(object! {"id": "run_1"}));
            let record = Record { digest, given: 2, upstream, effects: vec![effect.clone()], run };
            let bytes = record.clone().write();
            assert_eq!(Record::read(&bytes), Ok(record));
            let later = String::from_utf8(bytes).unwrap().replace("\"v\":1", "\"v\":2");
            assert_eq!(Record::read(later.as_bytes()).unwrap_err().path, "/v");
        }
    }
}
