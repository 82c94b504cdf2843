//! Schemas of earlier documents. An agent sends its tools with each of its requests, so that most
//! schemas were parsed before: they are compared, and not parsed again.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::raw::Raw;
use super::weigh_at_most;

/// Bytes before and after the start of a schema by which an earlier one is found. Those before it
/// usually end the description of its tool.
const BEFORE: usize = 128;
const AFTER: usize = 128;

/// Memory of a generation, and of one schema in it, by the upper bound that [`weigh_at_most`] gives.
const MAX_BYTES: usize = 16 << 20;
const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// The schemas of earlier documents, as many as fit in its memory. Any number of documents can be
/// parsed with it at once, by [`peek_and_parse`](super::peek_and_parse); the results are the same
/// as without it.
#[derive(Debug, Default)]
pub struct SeenSchemas {
    schemas: RwLock<Generations>,
}

/// When the new generation is full, it becomes the old one, and what was not used since is dropped.
#[derive(Debug, Default)]
struct Generations {
    new: HashMap<u32, Seen>,
    old: HashMap<u32, Seen>,
    /// Memory of the new generation
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Seen {
    schema: Arc<Raw>,
    /// The depth at which it was parsed: less deep, it is within the limit as well
    depth: usize,
}

impl SeenSchemas {
    /// Returns the schema that begins at a position, if the text there is that of an earlier one.
    pub(super) fn find(&self, document: &str, at: usize, depth: usize) -> Option<Arc<Raw>> {
        let key = key(document, at);
        let (seen, is_old) = {
            let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
            match schemas.new.get(&key) {
                Some(seen) => (seen.clone(), false),
                None => (schemas.old.get(&key)?.clone(), true),
            }
        };
        let text = seen.schema.text()?;
        if depth > seen.depth || !document.as_bytes()[at..].starts_with(text.as_bytes()) {
            return None;
        }
        let schema = Arc::clone(&seen.schema);
        if is_old {
            self.add(key, seen);
        }
        Some(schema)
    }

    /// Keeps a schema that was parsed from a position.
    pub(super) fn keep(&self, document: &str, at: usize, depth: usize, schema: &Arc<Raw>) {
        self.add(key(document, at), Seen { schema: Arc::clone(schema), depth });
    }

    fn add(&self, key: u32, seen: Seen) {
        let bytes = seen.schema.text().map_or(0, |text| weigh_at_most(text.as_bytes()));
        if bytes > MAX_SCHEMA_BYTES {
            return;
        }
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        schemas.bytes += bytes;
        if schemas.bytes > MAX_BYTES {
            schemas.bytes = bytes;
            schemas.old = std::mem::take(&mut schemas.new);
        }
        schemas.new.insert(key, seen);
    }
}

/// Returns a hash by which a schema is found; one of another schema only hides it.
fn key(document: &str, at: usize) -> u32 {
    let (start, end) = (at.saturating_sub(BEFORE), document.len().min(at + AFTER));
    crc32fast::hash(&document.as_bytes()[start..end])
}

#[cfg(test)]
mod tests {
    use super::super::{Json, Object, peek_and_parse};
    use super::*;

    fn tool(description: &str, properties: usize) -> String {
        let property = |at| format!(r#""p{at}":{{"type":"string","description":"{description}"}}"#);
        let properties: Vec<String> = (0..properties).map(property).collect();
        format!(
            r#"{{"tools":[{{"name":"{}","parameters":{{"type":"object","properties":{{{}}},"required":["p0"]}}}}]}}"#,
            &description[..description.len().min(8)],
            properties.join(",")
        )
    }

    fn parse(text: &str, seen: &SeenSchemas) -> Result<Json, String> {
        let parsed = peek_and_parse(text.as_bytes(), &["tools"], seen);
        parsed.map(|(_, parsed)| parsed).map_err(|error| error.to_string())
    }

    fn schema(parsed: &Json) -> &Object {
        parsed.pointer("/tools/0/parameters").and_then(Json::as_object).unwrap()
    }

    #[test]
    fn a_schema_that_was_seen_is_shared_and_another_is_not() {
        let seen = SeenSchemas::default();
        let text = tool("a", 3);
        let [first, second] = [(); 2].map(|()| parse(&text, &seen).unwrap());
        assert_eq!((&first, first.compact()), (&second, text.clone()));
        let members = |parsed: &Json| schema(parsed).members().as_slice().as_ptr();
        assert_eq!(members(&first), members(&second), "shared");
        // The beginning is the same, and the text is as long.
        let other = text.replace("[\"p0\"]", "[\"p1\"]");
        let parsed = parse(&other, &seen).unwrap();
        assert_eq!(parsed.compact(), other);
        assert_eq!(schema(&parsed).get("required"), Some(&Json::parse("[\"p1\"]").unwrap()));
    }

    #[test]
    fn a_change_of_a_shared_schema_stays_within_its_document() {
        let seen = SeenSchemas::default();
        let text = tool("a", 3);
        let mut first = parse(&text, &seen).unwrap();
        for parsed in [&mut first, &mut parse(&text, &seen).unwrap()] {
            let schema = parsed.pointer_mut("/tools/0/parameters").unwrap();
            let schema = schema.as_object_mut().unwrap();
            schema.remove("required");
            schema.get_mut("properties").unwrap().as_object_mut().unwrap().remove("p0");
            assert!(!parsed.compact().contains("p0"));
        }
        assert_eq!(parse(&text, &seen).unwrap().compact(), text);
    }

    #[test]
    fn a_document_is_refused_with_seen_schemas_as_without() {
        let seen = SeenSchemas::default();
        let text = tool("a", 3);
        parse(&text, &seen).unwrap();
        for wrong in [
            text.replace("\"p0\"]}", "\"p0\"]"),
            text.replace("\"p0\"]}", "\"p0\"]}]"),
            text.replace("\"required\":", "\"required\""),
            text.replace("\"p2\":", "\"p2\": tru"),
        ] {
            let expected = Json::parse(&wrong).unwrap_err().to_string();
            assert_eq!(parse(&wrong, &seen), Err(expected), "{wrong}");
        }
        // A schema that is deep enough is refused within deeper objects.
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
        let text = format!(r#"{{"tools":[{{"parameters":{deep}}}]}}"#);
        let nested = format!(r#"{{"tools":{}{text}{}}}"#, "[".repeat(40), "]".repeat(40));
        parse(&text, &seen).unwrap();
        let expected = Json::parse(&nested).unwrap_err().to_string();
        assert_eq!(parse(&nested, &seen), Err(expected));
    }

    #[test]
    fn the_size_of_what_is_kept_is_bounded_and_what_is_used_stays() {
        let seen = SeenSchemas::default();
        let used = tool("used", 3);
        for at in 0..600 {
            parse(&used, &seen).unwrap();
            parse(&tool(&format!("{at}{}", "x".repeat(20_000)), 3), &seen).unwrap();
        }
        parse(&tool("large", 10_000), &seen).unwrap();
        let schemas = seen.schemas.read().unwrap();
        let texts = || {
            let all = schemas.new.values().chain(schemas.old.values());
            all.filter_map(|seen| seen.schema.text())
        };
        let bytes: usize = texts().map(|text| weigh_at_most(text.as_bytes())).sum();
        assert!((MAX_BYTES..=2 * MAX_BYTES).contains(&bytes), "{bytes}");
        assert!(texts().any(|text| text.contains("used")));
        assert!(!texts().any(|text| text.contains("large")));
    }
}
