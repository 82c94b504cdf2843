//! Case 23: references are inlined, within bounds.

use std::fmt::Write;

use toolwright_core::Json;
use toolwright_core::loss::Severity;
use toolwright_core::profile::Subset;
use toolwright_core::schema::BUDGET;

use super::{SUBSETS, check, lowered};

/// A list whose items refer to itself, by a definition and by the root.
pub(super) const RECURSIVE: &str = r##"{"type":"object","properties":{"tree":{"$ref":"#/$defs/Node"},"again":{"$ref":"#"}},"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/Node","description":"the rest"}},"required":["name"]}}}"##;

#[test]
fn recursive_references_become_descriptions() {
    check(
        Subset::GeminiOpenapi,
        RECURSIVE,
        r#"{"type":"OBJECT","properties":{"tree":{"type":"OBJECT","properties":{"name":{"type":"STRING"},"next":{"type":"OBJECT","description":"the rest (the same shape as Node)"}},"required":["name"]},"again":{"type":"OBJECT","description":"the same shape as the whole"}}}"#,
        &[
            "note /properties/tree/$ref written out in place",
            "major /$defs/Node/properties/next/$ref replaced by a description",
            "note /$defs/Node/properties/next/description extended",
            "major /properties/again/$ref replaced by a description",
            "note /properties/again/description extended",
            "note /$defs removed",
        ],
    );
    let anthropic = lowered(Subset::AnthropicStrict, RECURSIVE);
    assert_eq!(
        anthropic.schema.pointer("/properties/tree").unwrap().to_string(),
        r##"{"$ref":"#/$defs/Node"}"##
    );
    assert_eq!(
        anthropic.schema.pointer("/$defs/Node/properties/next").unwrap().to_string(),
        r#"{"type":"string","description":"the rest (the same shape as Node, as JSON text)"}"#
    );
}

#[test]
fn recursion_stays_where_it_is_allowed() {
    let openai = lowered(Subset::OpenaiStrict, RECURSIVE);
    assert_eq!(
        openai.schema.pointer("/$defs/Node/properties/next").unwrap().to_string(),
        r##"{"description":"the rest","anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]}"##
    );
    assert!(openai.changes.iter().all(|change| change.severity == Severity::Note));
}

#[test]
fn endless_and_dangling_references_are_replaced() {
    for subset in SUBSETS {
        for reference in ["#/$defs/a", "#/$defs/none", "https://example.com/x", "#/%", "#anchor"] {
            let schema = format!(
                r##"{{"type":"object","properties":{{"p":{{"$ref":"{reference}"}}}},"$defs":{{"a":{{"$ref":"#/$defs/b"}},"b":{{"allOf":[{{"$ref":"#/$defs/a"}}]}}}}}}"##
            );
            let lowered = lowered(subset, &schema);
            assert!(lowered.schema.to_string().len() < 400, "{subset:?}");
            let kept = subset == Subset::Full
                || subset == Subset::OpenaiStrict && reference == "#/$defs/a";
            let grave = lowered.changes.iter().any(|change| change.severity == Severity::Major);
            assert_eq!(grave, !kept, "{subset:?} {reference}");
        }
    }
}

/// Each definition contains the next one twice: 2^40 nodes if inlined.
fn doubling(levels: usize, union: &str) -> String {
    let mut defs = String::new();
    for level in 0..levels {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level + 1);
        let body = match union {
            "" => format!(r#""properties":{{"l":{next},"r":{next}}}"#),
            word => format!(r#""{word}":[{next},{next}]"#),
        };
        write!(defs, r#""d{level}":{{{body}}},"#).unwrap();
    }
    write!(defs, r#""d{levels}":{{"type":"string"}}"#).unwrap();
    format!(
        r##"{{"type":"object","properties":{{"p":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{defs}}}}}"##
    )
}

#[test]
fn inlining_stops_at_the_size_budget() {
    for subset in SUBSETS {
        for union in ["", "allOf", "anyOf", "oneOf"] {
            let lowered = lowered(subset, &doubling(40, union));
            let size = lowered.schema.to_string().len();
            assert!(size < 100 * BUDGET, "{subset:?} {union}: {size}");
            if subset == Subset::GeminiOpenapi {
                assert!(lowered.changes.iter().any(|c| c.severity == Severity::Major));
            }
        }
        let root = doubling(40, "anyOf").replace(r#""type":"object","properties":{"p":{"#, "");
        let root = root.replacen(r##""$ref":"#/$defs/d0"}},"##, r##""$ref":"#/$defs/d0","##, 1);
        assert!(lowered(subset, &root).schema.to_string().len() < 100 * BUDGET);
    }
}

#[test]
fn long_chains_of_references_are_bounded() {
    let mut defs = String::new();
    for level in 0..2000 {
        let next = level + 1;
        write!(defs, r##""d{level}":{{"properties":{{"n":{{"$ref":"#/$defs/d{next}"}}}}}},"##)
            .unwrap();
    }
    let schema = format!(
        r##"{{"properties":{{"p":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{defs}"d2000":{{}}}}}}"##
    );
    for subset in SUBSETS {
        let lowered = lowered(subset, &schema);
        let text = lowered.schema.to_string();
        assert!(Json::parse(&text).is_ok(), "{subset:?} nests too deep");
    }
}

#[test]
fn siblings_of_a_reference_take_precedence() {
    check(
        Subset::GeminiOpenapi,
        r##"{"type":"object","properties":{"p":{"$ref":"#/definitions/a~1b","description":"mine","maximum":9}},"definitions":{"a/b":{"type":"integer","description":"theirs","title":"T","maximum":20,"minimum":1}}}"##,
        r#"{"type":"OBJECT","properties":{"p":{"description":"mine","maximum":9,"type":"INTEGER","title":"T","minimum":1}}}"#,
        &["note /properties/p/$ref written out in place", "note /definitions removed"],
    );
}

#[test]
fn depth_of_inlining_is_bounded() {
    // Each definition nests as deep as the reader allows, and ends in a reference to the next.
    for (open, close) in [
        (r#"{"items":"#, "}"),
        (r#"{"allOf":["#, "]}"),
        (r#"{"anyOf":["#, "]}"),
        (r#"{"properties":{"p":"#, "}}"),
        (r#"{"type":"object","properties":{"q":{}},"anyOf":["#, "]}"),
    ] {
        let mut defs = String::new();
        for level in 0..30 {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, (level + 1) % 30);
            let levels = 120 / (open.matches(['{', '[']).count() - open.matches('}').count());
            write!(defs, r#","d{level}":{}{next}{}"#, open.repeat(levels), close.repeat(levels))
                .unwrap();
        }
        let defs = &defs[1..];
        for root in [r##""properties":{"p":{"$ref":"#/$defs/d0"}}"##, r##""$ref":"#/$defs/d0""##] {
            let schema = format!(r#"{{{root},"$defs":{{{defs}}}}}"#);
            for subset in SUBSETS {
                lowered(subset, &schema);
            }
        }
    }
}
