//! A JSON object that is stored as its text and parsed when a member is first read.

use std::sync::OnceLock;

use super::object::{Object, Pair};
use super::{Json, KnownKeys, parse};

/// Minimum size of an object that is kept as text: a smaller one is parsed as fast as copied.
pub(crate) const MIN_RAW: usize = 48;

/// An object that was parsed from compact text. Its members are parsed on first access, which
/// cannot fail, because the parser has validated the text.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    text: Box<str>,
    /// Common keys of its members
    keys: &'static KnownKeys,
    read: OnceLock<Vec<Pair>>,
    /// The members, once they may differ from the text
    changed: Option<Vec<Pair>>,
}

impl Raw {
    /// Creates it from the text of an object.
    pub(crate) fn new(text: &str, keys: &'static KnownKeys) -> Raw {
        Raw { text: text.into(), keys, read: OnceLock::new(), changed: None }
    }

    /// Sets the parsed members.
    pub(crate) fn with_members(self, object: Object) -> Raw {
        Raw { read: OnceLock::from(object.into_iter().collect::<Vec<Pair>>()), ..self }
    }

    /// Returns the text, if it is unchanged.
    pub(crate) fn text(&self) -> Option<&str> {
        if self.changed.is_some() { None } else { Some(&self.text) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changed.as_ref().is_some_and(Vec::is_empty)
    }

    pub(crate) fn members(&self) -> &Vec<Pair> {
        match &self.changed {
            Some(changed) => changed,
            None => self.read.get_or_init(|| read(&self.text, self.keys)),
        }
    }

    /// Returns the members for modification.
    pub(crate) fn members_mut(&mut self) -> &mut Vec<Pair> {
        let Raw { text, keys, read: known, changed } = self;
        changed.get_or_insert_with(|| known.take().unwrap_or_else(|| read(text, keys)))
    }
}

fn read(text: &str, keys: &'static KnownKeys) -> Vec<Pair> {
    match parse::raw_members(text, keys) {
        Ok(Json::Object(object)) => object.into_iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::hints::tests::HINTS;

    const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string","description":"A \"name\",\n with é"},"days":{"type":"integer","maximum":1e1}},"required":["city"],"type":"object"}"#;

    fn object(text: &str) -> Object {
        match Json::parse_with(text, &HINTS) {
            Ok(Json::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    /// A tool with a schema, kept as text and as a tree.
    fn pair(schema: &str) -> (Object, Object) {
        let text = format!(r#"{{"parameters":{schema}}}"#);
        let Some(Json::Object(kept)) = object(&text).remove("parameters") else { panic!() };
        (kept, object(schema))
    }

    #[test]
    fn a_kept_object_is_the_tree_that_its_text_says() {
        let (kept, tree) = pair(SCHEMA);
        assert_eq!(kept.raw_text(), Some(SCHEMA));
        assert_eq!(tree.raw_text(), None);
        assert_eq!(kept.compact(), SCHEMA);
        assert_eq!(kept, tree);
        assert_eq!(kept.clone(), tree);
        assert_eq!(kept.weight(), tree.weight());
        assert_eq!((kept.len(), kept.is_empty()), (4, false));
        let inner = kept.get("properties").and_then(Json::as_object).unwrap();
        assert!(inner.raw_text().is_some());
        assert_eq!(inner.get("days"), tree.get("properties").and_then(|own| own.get("days")));
        assert_eq!(kept.raw_text(), Some(SCHEMA), "reading changes nothing");
    }

    #[test]
    fn a_change_shows_in_the_text_at_any_depth() {
        let (mut kept, mut tree) = pair(SCHEMA);
        for own in [&mut kept, &mut tree] {
            let properties = own.get_mut("properties").and_then(Json::as_object_mut).unwrap();
            properties.remove("days");
            own.remove_repeated_keys();
            own.insert("title", "Weather");
        }
        assert_eq!(kept.raw_text(), None);
        assert_eq!(kept.compact(), tree.compact());
        assert_eq!(kept.clone().into_iter().count(), 4);
        let all: Vec<String> = kept.keys().map(str::to_owned).collect();
        for key in &all {
            kept.remove(key);
        }
        assert!(kept.is_empty() && kept.compact() == "{}");
    }

    #[test]
    fn a_text_that_the_writer_would_write_otherwise_is_not_kept() {
        for other in [
            SCHEMA.replacen(':', ": ", 1),
            SCHEMA.replace("\\n", "\\u000a"),
            SCHEMA.replace("é", "\\u00e9"),
            SCHEMA.replacen("city", "ci\\/ty", 1),
            SCHEMA.replace("}}", "}\n}"),
        ] {
            let (kept, tree) = pair(&other);
            assert_eq!(kept.raw_text(), None, "{other}");
            assert_eq!(kept.compact(), tree.compact());
            assert_eq!(kept, tree);
        }
        let bad = SCHEMA.replacen("true", "tru", 1).replacen("1e1", "1e", 1);
        assert!(Json::parse(&format!(r#"{{"parameters":{bad}}}"#)).is_err());
    }
}
