//! Tests of manifests.

use std::time::Duration;

use toolwright_core::schema::Check;
use toolwright_runtime::settings::Effect;

use super::*;

const FILE_PROCESSING: &str =
    include_str!("../../../../fixtures/catalog/file-processing-prefab/prefab.json");
const PARSE_FILE: &str = include_str!("../../../../fixtures/catalog/served/parse_file.json");

/// A manifest with one function, and replaced members.
fn manifest(function: &str, more: &str) -> Json {
    let text = format!(
        r#"{{"id":"test-prefab","version":"1.0.0","name":"Test","description":"A prefab for tests.",
            "functions":[{function}],"runtime":{{"builtin":{{}}}}{more}}}"#
    );
    Json::parse(&text).unwrap()
}

fn function(members: &str) -> Result<Function, Vec<ManifestFault>> {
    let function = format!(r#"{{"name":"run","description":"Runs.",{members}}}"#);
    Manifest::parse(&manifest(&function, "")).map(|mut manifest| manifest.functions.remove(0))
}

fn pointers(result: Result<impl Sized, Vec<ManifestFault>>) -> Vec<String> {
    result.err().unwrap().into_iter().map(|fault| fault.pointer).collect()
}

#[test]
fn a_definition_is_served_to_the_letter() {
    let manifest = Manifest::parse(&Json::parse(FILE_PROCESSING).unwrap()).unwrap();
    assert_eq!(
        (manifest.id.as_str(), manifest.version.to_string().as_str()),
        ("file-processing-prefab", "0.1.5")
    );
    let [function] = &manifest.functions[..] else { panic!("one function") };
    assert_eq!(function.definition.pretty(), PARSE_FILE.trim_end());
    assert_eq!((function.effect, function.deadline), (Effect::None, Some(Duration::from_mins(1))));
    assert_eq!(manifest.document.pretty(), FILE_PROCESSING.trim_end());
}

#[test]
fn the_vocabulary_becomes_json_schema() {
    let manifest = Manifest::parse(&Json::parse(FILE_PROCESSING).unwrap()).unwrap();
    let [function] = &manifest.functions[..] else { panic!("one function") };
    let input = Check::compile(&function.input_schema).unwrap();
    let accepts = |check: &Check, text: &str| check.accepts(&Json::parse(text).unwrap());
    assert!(accepts(&input, r#"{"files":{"input":["s3://a/b.pdf"]}}"#));
    for wrong in [
        "{}",
        r#"{"files":{}}"#,
        r#"{"files":{"input":[]}}"#,
        r#"{"files":{"input":["a","b"]}}"#,
        r#"{"files":{"input":["a"],"output":["b"]}}"#,
        r#"{"files":{"input":["a"]},"more":1}"#,
    ] {
        assert!(!accepts(&input, wrong), "{wrong}");
    }
    let output = Check::compile(function.output_schema.as_ref().unwrap()).unwrap();
    assert!(accepts(&output, r#"{"success":true}"#), "optional members may be absent");
    assert!(!accepts(&output, r#"{"content":"x"}"#), "others may not");
    let keys = |direction| {
        let files = function.files.iter().filter(move |file| file.direction == direction);
        files.map(|file| file.key.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(keys(FileDirection::Input), ["input"]);
    assert_eq!(keys(FileDirection::Output), ["output"]);
}

#[test]
fn parameters_say_themselves_whether_they_are_required() {
    let function = function(
        r#""parameters":[
            {"name":"city","type":"string","description":"City","required":true},
            {"name":"days","type":"integer","default":3,"enum":[1,3,7]},
            {"name":"unit","type":"string","default":null},
            {"name":"place","type":"object","properties":{
                "lat":{"type":"number","required":true},"note":{"type":"string","optional":true}}},
            {"name":"tags","type":"array","items":{"type":"string"}}]"#,
    )
    .unwrap();
    let expected = r#"{"type":"object","properties":{"city":{"type":"string","description":"City"},"days":{"type":"integer","default":3,"enum":[1,3,7]},"unit":{"type":"string"},"place":{"type":"object","properties":{"lat":{"type":"number"},"note":{"type":"string"}},"required":["lat"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["city"],"additionalProperties":false}"#;
    assert_eq!(function.input_schema.compact(), expected);
}

#[test]
fn a_json_schema_is_listed_as_parameters() {
    let function = function(
        r#""input_schema":{"type":"object","properties":{"q":{"type":"string","description":"Query"},
            "executor":{"type":"string"}},"required":["q","executor"]},
            "output_schema":{"type":"string"},"hidden":["executor"]"#,
    )
    .unwrap();
    assert_eq!(
        function.definition.compact(),
        r#"{"name":"run","description":"Runs.","parameters":[{"name":"q","type":"string","description":"Query","required":true}],"returns":{"type":"string"},"files":{}}"#
    );
    assert!(function.input_schema.pointer("/properties/executor").is_some(), "the host fills it");
    assert_eq!(
        function.definition_without(&["q"]).get("parameters"),
        Some(&Json::Array(Vec::new()))
    );
}

#[test]
fn a_schema_that_no_list_can_say_is_served_as_well() {
    let function = function(
        r##""input_schema":{"properties":{"a":{"$ref":"#/$defs/a"},"executor":true},
            "required":["executor"],"$defs":{"a":{"type":"string"}}},"hidden":["executor"]"##,
    )
    .unwrap();
    let served = function.definition.get("input_schema").unwrap();
    assert!(served.pointer("/$defs/a").is_some());
    assert!(served.pointer("/properties/executor").is_none());
    assert_eq!(served.get("required"), Some(&Json::Array(Vec::new())));
}

#[test]
fn every_fault_is_reported_at_its_place_in_order() {
    let document = Json::parse(
        r#"{"id":"Bad_Id","version":"1.0","name":"","description":"short","tags":["a","a",1],
            "colour":"red","author":5,"repo_url":"ftp://x","visibility":"secret",
            "secrets":[{"name":"0"},{"name":"KEY","extra":1}],
            "functions":[
                {"name":"a/b","description":"","parameters":[{"type":"strin"},{"name":"x","requird":true}]},
                {"name":"ok","description":"Fine.","effect":"never","deadline":"10","cache":"0s",
                 "hidden":["y"],"secrets":["OTHER"],"streaming":"yes","http":{},
                 "parameters":[{"name":"files","type":"string"}],
                 "files":{"in":{"type":"InputFile"},"odd":{"type":"string"}}},
                {"name":"ok","description":"Again."}],
            "runtime":{"process":{"command":["python3","../run.py","/etc/x","--a=/b"],"cwd":"/"}}}"#,
    )
    .unwrap();
    assert_eq!(
        pointers(Manifest::parse(&document)),
        [
            "/id",
            "/version",
            "/name",
            "/description",
            "/tags/1",
            "/tags/2",
            "/colour",
            "/author",
            "/repo_url",
            "/visibility",
            "/secrets/0/name",
            "/secrets/1/extra",
            "/functions/0/name",
            "/functions/0/description",
            "/functions/0/parameters/0/type",
            "/functions/0/parameters/0/name",
            "/functions/0/parameters/1/requird",
            "/functions/1/effect",
            "/functions/1/deadline",
            "/functions/1/cache",
            "/functions/1/hidden/0",
            "/functions/1/secrets/0",
            "/functions/1/streaming",
            "/functions/1/http",
            "/functions/1/parameters/0/name",
            "/functions/1/files/odd",
            "/functions/2/name",
            "/runtime/process/command/1",
            "/runtime/process/command/2",
            "/runtime/process/command/3",
            "/runtime/process/cwd",
        ]
    );
}

#[test]
fn schemas_that_do_not_compile_are_refused_at_their_keyword() {
    for (members, pointer) in [
        (r#""parameters":[{"name":"a","pattern":"("}]"#, "/functions/0/parameters/0/pattern"),
        (r#""parameters":[{"name":"a","minimum":"1"}]"#, "/functions/0/parameters/0/minimum"),
        (
            r#""parameters":[{"name":"a/b","items":{"minItems":-1}}]"#,
            "/functions/0/parameters/0/items/minItems",
        ),
        (r#""input_schema":{"properties":[]}"#, "/functions/0/input_schema/properties"),
        (r##""input_schema":{"$ref":"#/$defs/a"}"##, "/functions/0/input_schema"),
        (r#""input_schema":{"type":"string"}"#, "/functions/0/input_schema"),
        (
            r#""returns":{"properties":{"a":{"maxLength":"x"}}}"#,
            "/functions/0/returns/properties/a/maxLength",
        ),
        (
            r#""files":{"in":{"type":"array","items":{"type":"InputFile"},"maxItems":"1"}}"#,
            "/functions/0/files/in/maxItems",
        ),
    ] {
        assert_eq!(pointers(function(members)), [pointer], "{members}");
    }
}

#[test]
fn a_runtime_is_exactly_one() {
    for (runtime, pointer) in [
        ("{}", "/runtime"),
        (r#"{"builtin":{},"process":{"command":["a"]}}"#, "/runtime"),
        (r#"{"builtin":{"x":1}}"#, "/runtime/builtin/x"),
        (r#"{"http":{}}"#, "/runtime/http/base_url"),
        (r#"{"http":{"base_url":"https://me:pw@host"}}"#, "/runtime/http/base_url"),
        (r#"{"http":{"base_url":"https://host/a?b=c"}}"#, "/runtime/http/base_url"),
        (r#"{"http":{"base_url":"https://h","headers":{"a b":"c"}}}"#, "/runtime/http/headers/a b"),
        (r#"{"mcp":{}}"#, "/runtime/mcp"),
        (r#"{"mcp":{"command":["a"],"url":"http://h"}}"#, "/runtime/mcp"),
        (r#"{"process":{"command":[]}}"#, "/runtime/process/command"),
        (r#"{"proces":{"command":["a"]}}"#, "/runtime"),
    ] {
        let mut document = manifest(r#"{"name":"run","description":"Runs."}"#, "");
        document.as_object_mut().unwrap().insert("runtime", Json::parse(runtime).unwrap());
        assert_eq!(pointers(Manifest::parse(&document))[0], pointer, "{runtime}");
    }
}

#[test]
fn an_http_function_sends_all_its_input_files() {
    let document = |http: &str| {
        let files = r#""files":{"in":{"type":"array","items":{"type":"InputFile"}},
            "out":{"type":"array","items":{"type":"OutputFile"}}}"#;
        let function = format!(r#"{{"name":"run","description":"Runs.",{files}{http}}}"#);
        let mut document = manifest(&function, "");
        let runtime = Json::parse(r#"{"http":{"base_url":"https://example.com"}}"#).unwrap();
        document.as_object_mut().unwrap().insert("runtime", runtime);
        document
    };
    let read = |http: &str| Manifest::parse(&document(http));
    let bound = |body: &str| format!(r#","http":{{"method":"POST","path":"/"{body}}}"#);
    assert_eq!(pointers(read("")), ["/functions/0/files/in"]);
    assert_eq!(pointers(read(&bound(""))), ["/functions/0/files/in"]);
    let body = r#","body":{"content_type":"application/pdf","file":"in"}"#;
    assert!(read(&bound(body)).is_ok(), "{:?}", read(&bound(body)).err());
    // What was published before this was checked stays readable.
    let published = Manifest::parse_published(&document("")).unwrap();
    let unsent: Vec<&str> = published.functions[0].unsent_files().map(|own| &*own.key).collect();
    assert_eq!(unsent, ["in"]);
}

#[test]
fn ids_are_kebab_case() {
    for id in ["abc", "file-processing-prefab", "a1-2b"] {
        assert!(PrefabId::parse(id).is_some(), "{id}");
    }
    let long = "a".repeat(65);
    for id in ["ab", "Abc", "1bc", "-abc", "abc-", "a--b", "a_b", "ab.c", "表格工具", &long] {
        assert!(PrefabId::parse(id).is_none(), "{id}");
    }
}

#[test]
fn a_repeated_key_is_refused_at_any_depth() {
    let function =
        r#"{"name":"run","description":"Runs.","returns":{"type":"string","type":"number"}}"#;
    let document = manifest(function, r#","name":"Other""#);
    assert_eq!(pointers(Manifest::parse(&document)), ["/name", "/functions/0/returns/type"]);
}

#[test]
fn toml_is_the_same_manifest() {
    let text = r#"
        id = "test-prefab"
        version = "1.0.0"
        name = "Test"
        description = "A prefab for tests."

        [[functions]]
        name = "run"
        description = "Runs."
        cache = "5m"
        effect = "read-only"
        parameters = [{ name = "n", type = "number", minimum = 0x10, maximum = 2.5e3 }]

        [runtime.process]
        command = ["python3", "run.py"]
    "#;
    let manifest = Manifest::from_toml(text).unwrap();
    assert_eq!(manifest.functions[0].cache, Some(Duration::from_mins(5)));
    assert_eq!(
        manifest.functions[0].definition.get("parameters").unwrap().compact(),
        r#"[{"name":"n","type":"number","minimum":16,"maximum":2.5e3}]"#
    );
    let faults = Manifest::from_toml("id = 'a'\nversion = = 1").unwrap_err();
    assert!(faults[0].problem.starts_with("line 2 is not TOML"), "{}", faults[0]);
    assert_eq!(pointers(Manifest::from_toml("[[functions]]\nx = nan")), ["/functions/0/x"]);
}

#[test]
fn an_entry_of_an_index_lists_a_prefab() {
    let entry = Json::parse(
        r#"{"id":"pdf-tools","version":"0.3.0","author":"Li Wei","repo_url":"https://example.com/pdf",
            "name":"PDF 工具","description":"合并、拆分和旋转 PDF 文件。","tags":["pdf","文档"]}"#,
    )
    .unwrap();
    let manifest = Manifest::parse_listing(&entry).unwrap();
    assert_eq!((manifest.runtime, manifest.functions.len()), (Runtime::Listed, 0));
    assert_eq!(pointers(Manifest::parse(&entry)), ["/runtime", "/functions"]);
}

#[test]
fn the_request_of_a_function_uses_what_the_manifest_declares() {
    let faults = |http: &str| {
        let document = format!(
            r#"{{"id":"web-api","version":"1.0.0","name":"API","description":"An API over HTTP",
            "secrets":[{{"name":"KEY"}}],"runtime":{{"http":{{"base_url":"https://api.example"}}}},
            "functions":[{{"name":"f","description":"F.","parameters":[{{"name":"id","type":"string"}}],
            "http":{http}}}]}}"#
        );
        match Manifest::parse(&Json::parse(&document).unwrap()) {
            Ok(manifest) => {
                assert!(manifest.functions[0].http.is_some());
                Vec::new()
            }
            faults => pointers(faults),
        }
    };
    for (http, expected) in [
        (
            r#"{"method":"GET","path":"/{id}","parameters":[{"name":"id","in":"path"}],"security":[[{"type":"bearer","secret":"KEY"}]]}"#,
            &[][..],
        ),
        (r#"{"method":"GET","path":"/{id}"}"#, &["/path"]),
        (r#"{"method":"GET","path":"/","parameters":[{"name":"x","in":"query"}]}"#, &[""]),
        (r#"{"method":"PUT","path":"/","body":{"content_type":"image/png","file":"x"}}"#, &[""]),
        (
            r#"{"method":"GET","path":"/","security":[[{"type":"bearer","secret":"X"}]]}"#,
            &["/security"],
        ),
        ("{}", &["/method", "/path"]),
        (
            r#"{"method":"get","path":"a#b","base_url":1,"parameters":[
                {"name":"id","in":"path","style":"forms"},{"in":"header","explode":"no"},
                {"name":"Host","in":"header"},{"name":"q"}],
                "body":{"content_type":"a\nb","argument":"x","file":"y","requierd":true},
                "security":[[{"type":"basic"},{"type":"oauth"}],
                    [{"type":"api_key","in":"path","name":"a b"}]]}"#,
            &[
                "/method",
                "/path",
                "/base_url",
                "/parameters/0/style",
                "/parameters/1/explode",
                "/parameters/1/name",
                "/parameters/2/name",
                "/parameters/3/in",
                "/body",
                "/body/content_type",
                "/body/requierd",
                "/security/0/0/username",
                "/security/0/0/password",
                "/security/0/1/type",
                "/security/1/0/in",
                "/security/1/0/secret",
            ],
        ),
    ] {
        let expected = expected.iter().map(|pointer| format!("/functions/0/http{pointer}"));
        assert_eq!(faults(http), expected.collect::<Vec<_>>(), "{http}");
    }
}

#[test]
fn the_keys_of_files_stay_within_a_folder() {
    for key in ["../../..", "/etc", "..", "", "a/b"] {
        let text = format!(
            r#"{{"id":"a-prefab","version":"1.0.0","name":"A","description":"A prefab for tests.",
                "functions":[{{"name":"run","description":"Runs.","files":{{"{key}":
                    {{"type":"array","items":{{"type":"OutputFile"}}}}}}}}],
                "runtime":{{"process":{{"command":["python3"]}}}}}}"#
        );
        let faults = Manifest::parse(&Json::parse(&text).unwrap()).unwrap_err();
        assert!(
            faults.iter().any(|fault| fault.problem.contains("the key of files")),
            "{faults:?}"
        );
    }
}

#[test]
fn examples_are_checked_with_the_schemas() {
    let run = |examples: &str| {
        function(&format!(
            r#""parameters":[{{"name":"n","type":"integer","required":true}},{{"name":"who","type":"string","required":true}}],
                "hidden":["who"],"returns":{{"type":"string"}},"examples":{examples}"#
        ))
    };
    let read = run(r#"[{"arguments":{"n":1},"returns":"one"},{"arguments":{"n":2}}]"#).unwrap();
    assert_eq!(read.examples.len(), 2);
    assert_eq!(read.examples[0].returns, Some("one".into()));
    assert_eq!(read.definition.get("examples"), None, "clients receive the definition alone");
    let wrong = r#"[{"arguments":{"n":"x"}},{"arguments":{"n":1,"who":"me"}},{"returns":2},
                    {"arguments":{"n":1},"returns":2,"result":2}]"#;
    assert_eq!(
        pointers(run(wrong)),
        [
            "/functions/0/examples/0/arguments/n",
            "/functions/0/examples/1/arguments",
            "/functions/0/examples/2/returns",
            "/functions/0/examples/2/arguments",
            "/functions/0/examples/3/returns",
            "/functions/0/examples/3/result",
        ]
    );
}
