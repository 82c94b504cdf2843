//! A cache of parsed schemas. An agent sends the same tools with each of its requests, so most of
//! their schemas are found in the cache by comparison and are not parsed again.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::raw::Raw;
use super::weigh;

/// Bytes before and after the start of a schema that make up its key. Those before it usually belong
/// to the description of the tool.
const BEFORE: usize = 128;
const AFTER: usize = 128;

/// Memory in bytes of a generation, and of one schema in it.
const MAX_BYTES: usize = 8 << 20;
const MAX_SCHEMA_BYTES: usize = 512 << 10;

/// Parsed schemas of earlier documents, up to 16 MiB. Any number of threads can use it at once with
/// [`peek_and_parse`](crate::peek_and_parse), whose result does not depend on it.
#[derive(Debug, Default)]
pub struct SchemaCache {
    schemas: RwLock<Generations>,
}

/// When the new generation is full, it replaces the old one. Entries of the old generation that are
/// used move to the new one.
#[derive(Debug, Default)]
struct Generations {
    new: HashMap<u32, Entry>,
    old: HashMap<u32, Entry>,
    /// Memory of the new generation
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    schema: Arc<Raw>,
    /// The depth at which it was parsed. At a smaller depth it does not exceed the limit either
    depth: usize,
    /// Its memory, with all of its members parsed
    bytes: usize,
}

impl SchemaCache {
    /// Returns the schema that begins at a position, if the text there is that of an earlier one.
    pub(crate) fn find(&self, document: &str, at: usize, depth: usize) -> Option<Arc<Raw>> {
        let key = key(document, at);
        let (entry, is_old) = {
            let schemas = self.schemas.read();
            match schemas.new.get(&key) {
                Some(entry) => (entry.clone(), false),
                None => (schemas.old.get(&key)?.clone(), true),
            }
        };
        let text = entry.schema.text()?;
        if depth > entry.depth || !document.as_bytes()[at..].starts_with(text.as_bytes()) {
            return None;
        }
        let schema = Arc::clone(&entry.schema);
        if is_old {
            self.add(key, entry);
        }
        Some(schema)
    }

    /// Keeps a schema that was parsed from a position.
    pub(crate) fn keep(&self, document: &str, at: usize, depth: usize, schema: &Arc<Raw>) {
        let Some(text) = schema.text() else { return };
        // Its text, those of objects within it, and the values.
        let bytes = 2 * text.len() + weigh(text.as_bytes()).unwrap_or(0);
        if bytes <= MAX_SCHEMA_BYTES {
            self.add(key(document, at), Entry { schema: Arc::clone(schema), depth, bytes });
        }
    }

    fn add(&self, key: u32, entry: Entry) {
        let mut schemas = self.schemas.write();
        schemas.bytes += entry.bytes;
        if let Some(replaced) = schemas.new.insert(key, entry) {
            schemas.bytes -= replaced.bytes;
        }
        if schemas.bytes > MAX_BYTES {
            schemas.bytes = 0;
            let full = std::mem::take(&mut schemas.new);
            let unused = std::mem::replace(&mut schemas.old, full);
            drop(schemas);
            drop(unused);
        }
    }
}

/// Returns the key of a schema. Schemas with equal keys replace each other; a hit requires equal text.
fn key(document: &str, at: usize) -> u32 {
    let (start, end) = (at.saturating_sub(BEFORE), document.len().min(at + AFTER));
    crc32fast::hash(&document.as_bytes()[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peek::peek_and_parse;
    use crate::value::hints::tests::HINTS;
    use crate::value::{Json, Key, Object};

    fn tool(description: &str, properties: usize) -> String {
        let property = |at| format!(r#""p{at}":{{"type":"string","description":"{description}"}}"#);
        let properties: Vec<String> = (0..properties).map(property).collect();
        format!(
            r#"{{"tools":[{{"name":"{}","parameters":{{"type":"object","properties":{{{}}},"required":["p0"]}}}}]}}"#,
            &description[..description.len().min(8)],
            properties.join(",")
        )
    }

    fn parse(text: &str, cache: &SchemaCache) -> Result<Json, String> {
        let parsed = peek_and_parse(text.as_bytes(), &["tools"], &HINTS, cache);
        parsed.map(|(_, parsed)| parsed).map_err(|error| error.to_string())
    }

    fn schema(parsed: &Json) -> &Object {
        parsed.pointer("/tools/0/parameters").and_then(Json::as_object).unwrap()
    }

    /// Where the members of the schema are in memory.
    fn members(parsed: &Json) -> *const (Key, Json) {
        schema(parsed).members().as_slice().as_ptr()
    }

    #[test]
    fn a_cached_schema_is_shared_and_another_is_not() {
        let cache = SchemaCache::default();
        let text = tool("a", 3);
        let [first, second] = [(); 2].map(|()| parse(&text, &cache).unwrap());
        assert_eq!((&first, first.compact()), (&second, text.clone()));
        assert_eq!(members(&first), members(&second), "shared");
        // The beginning is the same, and the text is as long.
        let other = text.replace("[\"p0\"]", "[\"p1\"]");
        let parsed = parse(&other, &cache).unwrap();
        assert_eq!(parsed.compact(), other);
        assert_eq!(schema(&parsed).get("required"), Some(&Json::parse("[\"p1\"]").unwrap()));
    }

    #[test]
    fn a_change_of_a_shared_schema_stays_within_its_document() {
        let cache = SchemaCache::default();
        let text = tool("a", 3);
        let mut first = parse(&text, &cache).unwrap();
        for parsed in [&mut first, &mut parse(&text, &cache).unwrap()] {
            let schema = parsed.pointer_mut("/tools/0/parameters").unwrap();
            let schema = schema.as_object_mut().unwrap();
            schema.remove("required");
            schema.get_mut("properties").unwrap().as_object_mut().unwrap().remove("p0");
            assert!(!parsed.compact().contains("p0"));
        }
        assert_eq!(parse(&text, &cache).unwrap().compact(), text);
    }

    #[test]
    fn a_document_is_refused_with_schema_cache_as_without() {
        let cache = SchemaCache::default();
        let text = tool("a", 3);
        parse(&text, &cache).unwrap();
        for wrong in [
            text.replace("\"p0\"]}", "\"p0\"]"),
            text.replace("\"p0\"]}", "\"p0\"]}]"),
            text.replace("\"required\":", "\"required\""),
            text.replace("\"p2\":", "\"p2\": tru"),
        ] {
            let expected = Json::parse(&wrong).unwrap_err().to_string();
            assert_eq!(parse(&wrong, &cache), Err(expected), "{wrong}");
        }
    }

    #[test]
    fn a_cached_schema_is_refused_where_it_is_too_deep() {
        let cache = SchemaCache::default();
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let name = "n".repeat(BEFORE);
        let tool = format!(r#"{{"name":"{name}","parameters":{{"type":"object","deep":{deep}}}}}"#);
        let nested =
            |levels| format!(r#"{{"tools":[{}{tool}{}]}}"#, "[".repeat(levels), "]".repeat(levels));
        for levels in [10, 5, 0] {
            assert_eq!(
                parse(&nested(levels), &cache),
                Json::parse(&nested(levels)).map_err(|error| error.to_string())
            );
        }
        let expected = Json::parse(&nested(40)).unwrap_err().to_string();
        assert_eq!(parse(&nested(40), &cache), Err(expected));
    }

    #[test]
    fn what_is_used_stays_while_the_memory_is_bounded() {
        let cache = SchemaCache::default();
        let used = tool("used", 3);
        let first = parse(&used, &cache).unwrap();
        for at in 0..1_000 {
            let again = parse(&used, &cache).unwrap();
            assert_eq!(members(&again), members(&first), "{at}");
            parse(&tool(&format!("{at}{}", "x".repeat(10_000)), 2), &cache).unwrap();
        }
        parse(&tool("large", 10_000), &cache).unwrap();
        let schemas = cache.schemas.read();
        let all = || schemas.new.values().chain(schemas.old.values());
        let bytes: usize = all().map(|entry| entry.bytes).sum();
        assert!((MAX_BYTES..=2 * MAX_BYTES + MAX_SCHEMA_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(schemas.bytes, schemas.new.values().map(|entry| entry.bytes).sum::<usize>());
        let weigh = |entry: &Entry| weigh(entry.schema.text().unwrap().as_bytes()).unwrap();
        assert!(all().all(|entry| entry.bytes > weigh(entry)));
        assert!(!all().any(|entry| entry.schema.text().unwrap().contains("large")));
    }
}
