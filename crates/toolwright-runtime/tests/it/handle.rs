//! Handles: stored for their owner, shown as a preview, resolved before validation.

mod store;

use std::time::Duration;

use toolwright_core::Body;
use toolwright_core::args::Op;
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::schema::Violation;
use toolwright_core::{Json, Part};
use toolwright_runtime::handle::{
    Handle, HandleError, HandleId, HandleStore, Limits, MemoryHandles, Owner, PREVIEW_MAX, admit,
    budget, conceal, preview, resolve,
};
use toolwright_runtime::output::{Blob, Content, Piece};
use toolwright_testing::tools::CountingHandles;

fn owner(tenant: &str, conversation: &str) -> Owner {
    Owner { tenant: tenant.into(), conversation: conversation.into() }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn table() -> Json {
    json(r#"{"columns":["姓名","age"],"rows":[["张三",34],["李四",null]]}"#)
}

fn any() -> Json {
    json("{}")
}

fn blob(bytes: &[u8]) -> Blob {
    Blob { mime: "application/pdf".to_owned(), bytes: bytes.into() }
}

/// The text of some parts.
fn words(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Json(value) => value.compact(),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a model sees of an output.
async fn shown(
    pieces: impl IntoIterator<Item = impl Into<Piece>>,
    bytes: usize,
    owner: &Owner,
    store: Option<&dyn HandleStore>,
) -> String {
    let pieces = pieces.into_iter().map(Into::into).collect();
    words(&budget(pieces, bytes, owner, store).await.0)
}

/// The first handle in some text.
fn handle_in(text: &str) -> String {
    let start = text.find("tw:").expect("a handle");
    text[start..start + 35].to_owned()
}

#[test]
fn only_exact_text_parses_as_a_handle() {
    let id = "tw:00112233445566778899aabbccddeeff";
    for good in [id.to_owned(), format!("{id}#/rows/0"), format!("{id}#")] {
        assert!(good.parse::<Handle>().is_ok(), "{good}");
    }
    let long = format!("{id}0");
    let within = format!("see {id}");
    let bare = format!("{id}#rows");
    for bad in ["", "tw:", "tw:12", "TW:00112233445566778899aabbccddeeff", &long, &within, &bare] {
        assert!(bad.parse::<Handle>().is_err(), "{bad}");
    }
    assert!("tw:+0112233445566778899aabbccddeeff".parse::<Handle>().is_err());
}

#[tokio::test]
async fn handles_become_values_at_any_depth() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    let text = format!(
        r#"{{"table":"{id}","cells":["{id}#/rows/0/0",{{"x":"{id}#/columns"}}],"note":"see {id}"}}"#
    );
    let mut value = json(&text);
    let changes = resolve(&mut value, &any(), &mine, &store).await.unwrap();
    let expected = format!(
        r#"{{"table":{},"cells":["张三",{{"x":["姓名","age"]}}],"note":"see {id}"}}"#,
        table().compact()
    );
    assert_eq!(value, json(&expected));
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["/table", "/cells/0", "/cells/1/x"]);
    assert!(changes.iter().all(|change| change.op == Op::Handle && change.to.is_none()));
    assert_eq!(changes[0].from, Some(Json::from(id.to_string())));
}

#[tokio::test]
async fn inserted_values_are_not_resolved_again() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let inner = store.put(&mine, Content::json("secret")).await.unwrap();
    let outer = store.put(&mine, Content::json(inner.to_string())).await.unwrap();
    let mut value = json(&format!(r#"{{"a":"{outer}"}}"#));
    resolve(&mut value, &any(), &mine, &store).await.unwrap();
    assert_eq!(value.get("a").and_then(Json::as_str), Some(inner.to_string().as_str()));
}

#[tokio::test]
async fn a_parameter_of_type_handle_keeps_the_handle() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    let schema = json(
        r##"{"type":"object","properties":{
            "direct":{"type":"string","format":"handle"},
            "list":{"type":"array","items":{"$ref":"#/$defs/h"}},
            "maybe":{"anyOf":[{"$ref":"#/$defs/h"},{"type":"null"}]},
            "value":{"type":"object"}},
          "$defs":{"h":{"type":"string","format":"handle"}}}"##,
    );
    let mut value =
        json(&format!(r#"{{"direct":"{id}","list":["{id}"],"maybe":"{id}","value":"{id}"}}"#));
    let changes = resolve(&mut value, &schema, &mine, &store).await.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].path, "/value");
}

#[tokio::test]
async fn bytes_become_base64_where_the_schema_requires_it() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::Bytes(blob(b"%PDF\xff"))).await.unwrap();
    let schema = json(
        r#"{"properties":{"file":{"type":"string","contentEncoding":"base64"},"text":{"type":"string"}}}"#,
    );
    let mut value = json(&format!(r#"{{"file":"{id}"}}"#));
    resolve(&mut value, &schema, &mine, &store).await.unwrap();
    assert_eq!(value, json(r#"{"file":"JVBERv8="}"#));
    for arguments in [format!(r#"{{"text":"{id}"}}"#), format!(r#"{{"file":"{id}#/0"}}"#)] {
        let failure = resolve(&mut json(&arguments), &schema, &mine, &store).await.unwrap_err();
        assert_eq!(failure.error, HandleError::NotJson);
        assert!(failure.text.contains("5 bytes of application/pdf"), "{}", failure.text);
    }
}

#[tokio::test]
async fn forged_and_foreign_handles_have_the_same_error() {
    let store = MemoryHandles::default();
    let theirs =
        store.put(&owner("other", "run-1"), Content::json(table())).await.unwrap().to_string();
    let forged = HandleId::from_random(u128::MAX).to_string();
    let mine = owner("acme", "run-1");
    let mut texts = Vec::new();
    for id in [&theirs, &forged] {
        let mut value = json(&format!(r#"{{"table":"{id}#/rows"}}"#));
        let failure = resolve(&mut value, &any(), &mine, &store).await.unwrap_err();
        assert_eq!((failure.path.as_str(), failure.error), ("/table", HandleError::Unknown));
        texts.push(failure.text.replace(id.as_str(), "ID"));
    }
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].contains("call the tool that makes the data"), "{}", texts[0]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_handle_says_to_call_again() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    tokio::time::advance(Duration::from_hours(2)).await;
    let mut value = json(&format!(r#"{{"table":"{id}"}}"#));
    let failure = resolve(&mut value, &any(), &mine, &store).await.unwrap_err();
    assert_eq!(failure.error, HandleError::Expired);
    assert!(failure.text.contains("Call the tool that made it again"), "{}", failure.text);
}

#[tokio::test]
async fn a_dangling_pointer_suggests_existing_keys() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    let explain = async |pointer: &str| {
        let mut value = json(&format!(r#"{{"x":"{id}#{pointer}"}}"#));
        let failure = resolve(&mut value, &any(), &mine, &store).await.unwrap_err();
        assert_eq!(failure.error, HandleError::NoSuchPiece);
        failure.text
    };
    assert!(
        explain("/row/0")
            .await
            .contains("at its top there is an object with the keys columns, rows")
    );
    assert!(explain("/rows/2").await.contains("at #/rows there is an array of 2 items, 0 to 1"));
    assert!(
        explain("/rows/0/0/x")
            .await
            .contains("at #/rows/0/0 there is a string, which has no pieces")
    );
    let long = explain(&"/nothing".repeat(10_000)).await;
    assert!(long.len() < 1000, "{}", long.len());
}

#[tokio::test]
async fn the_resolved_size_of_a_call_is_bounded() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json("x".repeat(1 << 20))).await.unwrap();
    let many = vec![id.to_string(); 1000];
    let mut value = Json::from(many);
    let failure = resolve(&mut value, &any(), &mine, &store).await.unwrap_err();
    assert_eq!(failure.error, HandleError::TooLarge);
}

#[tokio::test]
async fn violations_do_not_show_values_of_handles() {
    let store = MemoryHandles::default();
    let mine = owner("acme", "run-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    let mut value = json(&format!(r#"{{"table":"{id}","tables":1}}"#));
    let changes = resolve(&mut value, &any(), &mine, &store).await.unwrap();
    let violation = |path: &str| Violation {
        path: path.to_owned(),
        keyword: "type".to_owned(),
        message: "not a number".to_owned(),
        got: Some("张三".into()),
        accepted: None,
        schema_path: String::new(),
    };
    let mut violations = [violation("/table"), violation("/table/rows/0/0"), violation("/tables")];
    conceal(&mut violations, &changes);
    assert_eq!(violations.map(|violation| violation.got.is_some()), [false, false, true]);
}

#[test]
fn a_preview_describes_the_value_and_how_to_use_it() {
    let id = HandleId::from_random(1);
    let text = preview(id, &Content::json(table()));
    assert!(text.starts_with("table of 2 rows and 2 columns: 姓名, age (67 bytes)"), "{text}");
    assert!(text.contains("#/rows/0: [\"张三\",34]"), "{text}");
    let piece = format!("pass \"{id}\" as the argument, or a piece of it as \"{id}#/rows/0\".");
    assert!(text.ends_with(&piece), "{text}");

    let text = preview(id, &Content::json(json(r#"{"a/b":[1,2],"c":"d"}"#)));
    assert!(text.contains("object with 2 keys: a/b, c"), "{text}");
    assert!(text.contains("#/a~1b: [1,2]\n#/c: \"d\"\n"), "{text}");

    let text = preview(id, &Content::Bytes(blob(&[7; 12_345])));
    assert!(text.starts_with("12.3 kB of application/pdf, kept"), "{text}");
}

#[test]
fn a_preview_is_bounded_and_never_the_bytes() {
    let id = HandleId::from_random(1);
    let base64 = "iVBORw0KGgo".repeat(10_000);
    let wide: Vec<String> = (0..5000).map(|n| format!("列{n}")).collect();
    let deep = "[".repeat(100) + &"]".repeat(100);
    let values = [
        Json::from("长".repeat(100_000)),
        Json::from(base64.clone()),
        json(&format!(r#"{{"image":"{base64}","url":"data:image/png;base64,{base64}"}}"#)),
        Json::from(wide.clone()),
        Json::Object(wide.iter().map(|name| (name.clone().into(), Json::Null)).collect()),
        Json::Object([("键".repeat(9999).into(), Json::Null)].into_iter().collect()),
        toolwright_core::object! {"columns": wide.clone(), "rows": vec![Json::from(wide); 3]}
            .into(),
        json(&deep),
    ];
    for value in values {
        let text = preview(id, &Content::json(value));
        assert!(text.len() <= PREVIEW_MAX, "{} bytes: {text}", text.len());
        assert!(!text.contains("iVBORw0KGgoiVBOR"), "{text}");
        assert!(text.contains(&id.to_string()));
    }
    let mime = "x".repeat(5000);
    let odd = Content::Bytes(Blob { mime, bytes: [].into() });
    assert!(preview(id, &odd).len() <= PREVIEW_MAX);
}

#[tokio::test]
async fn a_small_result_passes_as_it_is() {
    let store = MemoryHandles::default();
    let pieces = vec![Content::text("好").into(), Content::json(table()).into()];
    let (parts, _) = budget(pieces, 1000, &owner("a", "r"), Some(&store)).await;
    assert_eq!(parts, [Part::text("好"), Part::new(Body::Json(table()))]);
}

#[tokio::test]
async fn a_large_result_costs_a_bounded_preview() {
    let store = MemoryHandles::default();
    let mine = owner("a", "r");
    let rows: Vec<Json> = (0..50_000_u64).map(|n| Json::from(vec![n, n * 7])).collect();
    let value = Json::from(toolwright_core::object! {"columns": vec!["n", "m"], "rows": rows});
    assert!(value.compact().len() > 500_000);
    let text = shown([Content::json(value.clone())], 16_384, &mine, Some(&store)).await;
    assert!(text.len() <= PREVIEW_MAX, "{text}");
    // The handle refers to the complete value.
    let mut arguments = Json::from(handle_in(&text));
    resolve(&mut arguments, &any(), &mine, &store).await.unwrap();
    assert_eq!(arguments, value);
}

#[tokio::test]
async fn many_small_pieces_are_bounded_together() {
    let store = MemoryHandles::default();
    let mine = owner("a", "r");
    let pieces = (0..10_000).map(|n| Content::text(format!("piece {n}")));
    let text = shown(pieces, 4096, &mine, Some(&store)).await;
    assert!(text.len() <= 4096 + 2 * PREVIEW_MAX, "{}", text.len());
    assert!(text.starts_with("piece 0\npiece 1\n"));
    let mut rest = Json::from(handle_in(&text));
    resolve(&mut rest, &any(), &mine, &store).await.unwrap();
    assert_eq!(rest.as_array().unwrap().last(), Some(&Json::from("piece 9999")));
    // The same holds for ten thousand blobs, each with a handle.
    let blobs = (0..10_000_u32).map(|n| Content::Bytes(blob(&n.to_le_bytes())));
    let text = shown(blobs, 4096, &mine, Some(&store)).await;
    assert!(text.len() <= 4096 + 2 * PREVIEW_MAX, "{}", text.len());
}

#[tokio::test]
async fn without_a_store_a_result_is_truncated() {
    let mine = owner("a", "r");
    let long = "文".repeat(100_000);
    let text = shown([Content::text(long)], 1000, &mine, None).await;
    assert!(text.len() < 1200, "{}", text.len());
    assert!(text.ends_with("[Cut here: 299.0 kB more, not kept. Ask for less.]"), "{text}");
    let text = shown([Content::Bytes(blob(&[0; 9]))], 1000, &mine, None).await;
    assert_eq!(text, "[9 bytes of application/pdf, not shown and not kept.]");
    // A store that has no capacity has the same effect, and gives the reason.
    let store = MemoryHandles::new(Limits { bytes: 10, ..Limits::default() });
    let text = shown([Content::Bytes(blob(&[0; 99]))], 1000, &mine, Some(&store)).await;
    assert!(text.contains("no capacity"), "{text}");
}

#[tokio::test]
async fn data_for_tools_alone_is_never_shown() {
    let mine = owner("a", "r");
    let data = || [Piece::hidden(Content::json(table()), "2 rows of people")];
    let store = MemoryHandles::default();
    let text = shown(data(), 16_384, &mine, Some(&store)).await;
    assert!(text.starts_with("2 rows of people\n") && !text.contains("张三"), "{text}");
    let mut value = Json::from(handle_in(&text));
    resolve(&mut value, &any(), &mine, &store).await.unwrap();
    assert_eq!(value, table());
    let text = shown(data(), 16_384, &mine, None).await;
    assert!(text.starts_with("2 rows of people\n") && !text.contains("张三"), "{text}");
}

#[tokio::test]
async fn media_stay_typed_parts() {
    let store = MemoryHandles::default();
    let mine = owner("a", "r");
    let image = |bytes: usize| {
        Content::from(Media {
            kind: MediaKind::Image,
            mime: Some("image/png".to_owned()),
            source: MediaSource::Base64("AAAA".repeat(bytes / 4)),
            name: None,
        })
    };
    let two = vec![image(100_000).into(), image(100_000).into()];
    let (parts, _) = budget(two, 1000, &mine, Some(&store)).await;
    assert!(parts.iter().all(|part| matches!(part.body, Body::Media(_))));
    // A value that no vendor would accept is stored as bytes.
    let text = shown([image(40 << 20)], 1000, &mine, Some(&store)).await;
    assert!(text.starts_with("31.4 MB of image/png, kept"), "{text}");
}

#[test]
fn the_schema_that_models_see_admits_handles_where_data_goes() {
    let schema = json(
        r##"{"type":"object","properties":{
            "path":{"type":"string"},
            "limit":{"type":"integer"},
            "rows":{"type":"array","items":{"type":"object"},"description":"The rows"},
            "table":{"$ref":"#/$defs/Table"},
            "maybe":{"anyOf":[{"$ref":"#/$defs/Table"},{"type":"null"}]},
            "either":{"type":["string","array"]},
            "tree":{"$ref":"#/$defs/Tree"},
            "any":{}},
          "required":["path"],
          "$defs":{"Table":{"type":"object","properties":{"rows":{"type":"array"}}},
                   "Tree":{"type":"object","properties":{"child":{"$ref":"#/$defs/Tree"}}}}}"##,
    );
    let shown = admit(&schema);
    let hint = r#"{"type":"string","description":"Or a handle from an earlier result: tw:…"}"#;
    let expected = format!(
        r##"{{"type":"object","properties":{{
            "path":{{"type":"string"}},
            "limit":{{"type":"integer"}},
            "rows":{{"description":"The rows","anyOf":[{{"type":"array","items":{{"type":"object"}}}},{hint}]}},
            "table":{{"anyOf":[{{"$ref":"#/$defs/Table"}},{hint}]}},
            "maybe":{{"anyOf":[{{"$ref":"#/$defs/Table"}},{{"type":"null"}},{hint}]}},
            "either":{{"type":["string","array"]}},
            "tree":{{"anyOf":[{{"$ref":"#/$defs/Tree"}},{hint}]}},
            "any":{{}}}},
          "required":["path"],
          "$defs":{{"Table":{{"type":"object","properties":{{"rows":{{"type":"array"}}}}}},
                   "Tree":{{"type":"object","properties":{{"child":{{"$ref":"#/$defs/Tree"}}}}}}}}}}"##
    );
    assert_eq!(shown.compact(), json(&expected).compact());
    assert_eq!(admit(&schema).compact(), shown.compact());
}

#[tokio::test]
async fn a_value_is_read_once_however_often_it_is_named() {
    let (store, mine) = (CountingHandles::default(), owner("a", "r"));
    let first = store.put(&mine, Content::json(table())).await.unwrap();
    let second = store.put(&mine, Content::json(json("[1]"))).await.unwrap();
    let names = |_| [Json::from(format!("{first}#/rows/1/0")), Json::from(format!("{second}#/0"))];
    let mut arguments = Json::Array((0..1000).flat_map(names).collect());
    let changes = resolve(&mut arguments, &any(), &mine, &store).await.unwrap();
    assert_eq!(store.reads.get(), 2);
    let pairs = arguments.as_array().unwrap().chunks(2);
    assert!({ pairs }.all(|pair| pair == [Json::from("李四"), Json::from(1)]));
    let paths = changes.iter().map(|change| change.path.clone());
    assert!(paths.eq((0..2000).map(|index| format!("/{index}"))), "in the order of the arguments");
}
