//! Compatibility of versions, by containment of their schemas.

use toolwright_catalog::compatibility::{FunctionChange, Verdict};
use toolwright_catalog::{Catalog, Compatibility, Manifest, Package, PublishError, PublishOptions};
use toolwright_core::Json;

use super::{document, latest, publish};

fn manifest(functions: &str) -> Manifest {
    let text = format!(
        r#"{{"id":"test-prefab","version":"1.0.0","name":"Test","description":"A prefab for tests.",
            "functions":[{functions}],"runtime":{{"builtin":{{}}}}}}"#
    );
    Manifest::parse(&Json::parse(&text).unwrap()).unwrap()
}

fn compare(earlier: &str, later: &str) -> (Verdict, Verdict) {
    let [earlier, later] = [earlier, later]
        .map(|members| manifest(&format!(r#"{{"name":"run","description":"Runs.",{members}}}"#)));
    let report = Compatibility::compare(&earlier, &later);
    match &report.functions[..] {
        [only] => match &only.change {
            FunctionChange::Kept { input, output } => (input.clone(), output.clone()),
            change => panic!("{change:?}"),
        },
        functions => panic!("{functions:?}"),
    }
}

#[test]
fn arguments_may_be_widened() {
    let old = r#""parameters":[{"name":"a","type":"integer","required":true}]"#;
    for (new, word) in [
        (r#""parameters":[{"name":"a","type":"integer","required":true}]"#, "same"),
        (r#""parameters":[{"name":"a","type":"number"}]"#, "compatible"),
        (
            r#""parameters":[{"name":"a","type":"integer","required":true},{"name":"b","type":"string"}]"#,
            "compatible",
        ),
        (r#""parameters":[{"name":"a","type":"integer","maximum":5}]"#, "breaking"),
        (r#""parameters":[{"name":"b","type":"integer"}]"#, "breaking"),
        (
            r#""parameters":[{"name":"a","type":"integer"},{"name":"b","type":"string","required":true}]"#,
            "breaking",
        ),
        (
            r#""parameters":[{"name":"a","type":"integer"},{"name":"b","type":"string","required":true}],
               "hidden":["b"]"#,
            "compatible",
        ),
    ] {
        assert_eq!(compare(old, new).0.word(), word, "{new}");
    }
}

#[test]
fn a_new_parameter_of_an_open_schema_breaks_nothing() {
    let old = r#""input_schema":{"type":"object","properties":{"a":{"type":"object",
        "properties":{"x":{"type":"string"}}}}}"#;
    let new = r#""input_schema":{"type":"object","properties":{"a":{"type":"object",
        "properties":{"x":{"type":"string"},"y":{"type":"integer"}}},"b":{"type":"integer"}}}"#;
    assert_eq!(compare(old, new).0, Verdict::Compatible);
}

#[test]
fn return_values_may_be_narrowed() {
    let old = r#""returns":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"integer"}}}"#;
    for (new, word) in [
        (
            r#""returns":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{}}}"#,
            "compatible",
        ),
        (r#""returns":{"type":"object","properties":{"a":{"type":"string"}}}"#, "breaking"),
        (r#""returns":{"type":"string"}"#, "breaking"),
        (r#""effect":"read-only""#, "unknown"),
    ] {
        assert_eq!(compare(old, new).1.word(), word, "{new}");
    }
    let files = r#""files":{"out":{"type":"array","items":{"type":"OutputFile"}}}"#;
    assert_eq!(compare(files, r#""effect":"once""#).1.word(), "breaking");
}

#[test]
fn a_patch_release_that_breaks_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    publish(&catalog, "test-prefab", "1.0.0").unwrap();
    let with = |version: &str| {
        let parameters = r#"{"name":"q","type":"string","required":true}"#;
        let document = document("test-prefab", version, parameters);
        catalog
            .publish(Package::new(Manifest::parse(&document).unwrap()), PublishOptions::default())
    };
    for version in ["1.0.1", "1.0.1-rc.1"] {
        let Err(PublishError::Breaking { earlier, report, .. }) = with(version) else {
            panic!("{version} was published")
        };
        assert_eq!(earlier, "1.0.0");
        let breaks = report.breaks();
        assert!(breaks[0].starts_with("arguments of run: "), "{breaks:?}");
    }
    assert_eq!(latest(&catalog, "test-prefab").as_deref(), Some("1.0.0"));
    let published = with("1.1.0").unwrap();
    let (earlier, report) = published.compatibility.unwrap();
    assert_eq!((earlier.as_str(), report.is_breaking()), ("1.0.0", true), "shown, and not refused");
    assert_eq!(report.to_json().get("breaking"), Some(&Json::Bool(true)));
    let [run, stop] = &report.functions[..] else { panic!("{report:?}") };
    assert_eq!((run.name.as_str(), stop.name.as_str()), ("run", "stop"));
    assert!(with("1.1.1").unwrap().is_new, "compatible with 1.1.0");
}

#[test]
fn removed_and_added_functions_are_listed() {
    let [old, new] = ["a", "b"]
        .map(|name| manifest(&format!(r#"{{"name":"{name}","description":"Does it."}}"#)));
    let report = Compatibility::compare(&old, &new);
    let changes: Vec<_> = report.functions.iter().map(|own| (&*own.name, &own.change)).collect();
    assert_eq!(changes, [("b", &FunctionChange::Added), ("a", &FunctionChange::Removed)]);
    assert!(report.is_breaking());
}
