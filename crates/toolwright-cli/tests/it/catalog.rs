//! `toolwright catalog`: from a folder to a found function, with tables, JSON and exit codes.

use std::fs;
use std::path::Path;

use toolwright_core::Json;

use crate::gateway::{Gateway, Reply, UPSTREAM_KEY, Upstream, by_hand};
use crate::run::{Ran, fixture, toolwright, toolwright_in};

fn catalog(data: &Path, arguments: &[&str]) -> Ran {
    let data = data.to_str().unwrap();
    toolwright(&[&["catalog"], arguments, &["--data", data]].concat(), b"")
}

fn ok(data: &Path, arguments: &[&str]) -> String {
    let ran = catalog(data, arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    ran.text()
}

fn json(data: &Path, arguments: &[&str]) -> Json {
    Json::parse(&ok(data, &[arguments, &["--json"]].concat())).unwrap()
}

/// Writes a manifest with one function over HTTP.
fn manifest(at: &Path, version: &str, parameters: &str) -> String {
    let text = format!(
        r#"{{"id":"weather-prefab","version":"{version}","name":"天气","description":"查询城市的天气预报。",
            "tags":["weather"],"author":"Li Wei",
            "functions":[{{"name":"forecast","description":"天气预报：返回一个城市的天气","parameters":[{parameters}]}}],
            "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#
    );
    let path = at.join(format!("weather-{version}.json"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_published_function_is_found_listed_and_described() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let added = ok(data, &["add", &fixture("catalog/file-processing-prefab")]);
    assert_eq!(added, "published file-processing-prefab@0.1.5 (1 function, latest)\n");
    let added = ok(data, &["add", &fixture("catalog/file-processing-prefab/prefab.json")]);
    assert!(added.starts_with("already there: file-processing-prefab@0.1.5"), "{added}");

    let hits = json(data, &["recommend", "我需要处理 PDF 文件，提取文本内容"]);
    assert_eq!(hits.pointer("/0/id").and_then(Json::as_str), Some("file-processing-prefab"));
    assert_eq!(hits.pointer("/0/version").and_then(Json::as_str), Some("0.1.5"));
    let best = hits.pointer("/0/functions/0/name").and_then(Json::as_str);
    assert_eq!(best, Some("parse_file"));
    let explained = ok(data, &["search", "parse_file", "--explain"]);
    assert!(explained.contains("name 'pars"), "{explained}");

    let functions = json(data, &["functions", "file-processing-prefab"]);
    let description = "解析文件为 Markdown 格式的纯文本，支持 PDF、图片、文档等多种格式";
    assert_eq!(
        functions.compact(),
        format!(r#"[{{"name":"parse_file","description":"{description}"}}]"#)
    );
    let details = ok(data, &["details", "file-processing-prefab@0.1.5", "parse_file"]);
    assert_eq!(details, fs::read_to_string(fixture("catalog/served/parse_file.json")).unwrap());
    let found = ok(data, &["search", "weather of Mars colonies"]);
    assert!(found.starts_with("nothing found"), "{found}");
}

/// An OpenAPI document of many operations, whose summaries share their words.
fn write_large_api(at: &Path) -> String {
    let things =
        ["comments", "commits", "files", "reviews", "reviewers", "labels", "checks", "links"];
    let mut operations = vec![("pulls/list".to_owned(), "List pull requests".to_owned())];
    for thing in things {
        for verb in ["list", "get", "create", "update", "delete", "lock", "archive", "count"] {
            for place in ["for a repository", "for a pull request", "for a requested team"] {
                let id = format!("{verb}_{thing}_{}", place.replace(' ', "_"));
                operations.push((id, format!("{verb} {thing} {place}")));
            }
        }
    }
    for number in 0..30 {
        let id = format!("stacks/list_pull_requests_{number}");
        operations.push((id, format!("List stack {number} of the requests to pull")));
    }
    let remark = "Results come in pages, in the order of their creation.";
    let paths = operations.iter().map(|(id, summary)| {
        let operation = format!(r#"{{"operationId":"{id}","summary":"{summary}","description":"{remark}","responses":{{}}}}"#);
        format!(r#""/{id}":{{"get":{operation}}}"#)
    });
    let text = format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"Code","version":"1.0.0","description":"Code and its changes"}},
            "servers":[{{"url":"https://example.com"}}],"paths":{{{}}}}}"#,
        paths.collect::<Vec<_>>().join(",")
    );
    let path = at.join("openapi.json");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_large_prefab_is_searched_by_summaries_and_weak_hits_are_marked() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &write_large_api(data), "--id", "code-api"]);
    for command in ["search", "recommend"] {
        let hits = json(data, &[command, "list pull requests"]);
        let functions = hits.pointer("/0/functions").and_then(Json::as_array).unwrap();
        assert_eq!(
            functions[0].get("name").and_then(Json::as_str),
            Some("pulls_list"),
            "{command}"
        );
        assert_eq!(functions[0].get("weak"), None);
        assert_eq!(functions.len(), 10, "{command} names more functions of a large prefab");

        let need = "telescopes, lighthouses and harbours of a repository";
        let hits = json(data, &[command, need]);
        let functions = hits.pointer("/0/functions").and_then(Json::as_array).unwrap();
        assert_eq!(functions.len(), 5, "{command}");
        let is_weak = |own: &Json| own.get("weak").and_then(Json::as_bool) == Some(true);
        assert!(functions.iter().all(is_weak), "{command}: {}", hits.compact());
        let table = ok(data, &[command, need]);
        assert_eq!(table.matches(" weak ").count(), 5, "{table}");
    }
}

#[test]
fn tables_align_wide_characters() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let table = ok(data, &["search", "天气预报"]);
    let lines: Vec<&str> = table.lines().collect();
    let column = lines[0].find("WHAT IT DOES").unwrap();
    assert_eq!(&lines[1][column..], "天气预报：返回一个城市的天气", "{table}");
    let list = ok(data, &["list"]);
    assert!(
        list.contains("weather-prefab  1.0.0    1          default     查询城市的天气预报。"),
        "{list}"
    );
    assert!(list.contains("builtin-files"), "{list}");
}

#[test]
fn every_fault_is_listed_and_nothing_is_published() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let path = manifest(data, "1.0", r#"{"name":"q","typ":"string"}"#);
    let ran = catalog(data, &["add", &path]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("2 faults; nothing is published\n  /version: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("  /functions/0/parameters/0/typ: "), "{}", ran.stderr);
    let ran = catalog(data, &["add", &path, "--json"]);
    assert_eq!(ran.code, 1);
    let faults = Json::parse(&ran.text()).unwrap();
    let pointer = faults.pointer("/faults/1/pointer").and_then(Json::as_str);
    assert_eq!(pointer, Some("/functions/0/parameters/0/typ"));
    let ran = catalog(data, &["versions", "weather-prefab"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("Prefab 'weather-prefab' not found"), "{}", ran.stderr);
}

#[test]
fn versions_are_compared_deprecated_yanked_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let breaking = r#"{"name":"city","type":"string","required":true}"#;
    let ran = catalog(data, &["add", &manifest(data, "1.0.1", breaking)]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("is a patch release and breaks callers of 1.0.0"),
        "{}",
        ran.stderr
    );
    let added = ok(data, &["add", &manifest(data, "1.1.0", breaking)]);
    assert!(
        added.contains("  breaks callers of 1.0.0\n  forecast: arguments breaking ("),
        "{added}"
    );
    let diff = json(data, &["diff", "weather-prefab", "1.0.0"]);
    assert_eq!(diff.pointer("/breaking"), Some(&Json::Bool(true)));
    assert!(diff.pointer("/functions/0/input/example").is_some());

    ok(data, &["yank", "weather-prefab", "1.1.0", "--reason", "wrong units"]);
    ok(data, &["deprecate", "weather-prefab", "1.0.0", "--message", "use climate-prefab"]);
    let versions = ok(data, &["versions", "weather-prefab"]);
    assert!(versions.contains("yanked: wrong units"), "{versions}");
    assert!(versions.contains("latest, deprecated: use climate-prefab"), "{versions}");
    ok(data, &["yank", "weather-prefab", "1.1.0", "--undo"]);
    assert_eq!(catalog(data, &["remove", "weather-prefab"]).code, 2, "a version, or --all");
    ok(data, &["remove", "weather-prefab", "--all"]);
    let ran = catalog(data, &["functions", "builtin-file"]);
    assert!(ran.stderr.contains("hint: did you mean builtin-files"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

#[test]
fn an_index_and_an_openapi_document_are_imported() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let entries: Vec<String> = (0..120)
        .map(|index| {
            format!(
                r#"{{"id":"listed-{index}","version":"0.1.0","author":"A","repo_url":"https://example.com/{index}",
                    "name":"Listed {index}","description":"Prefab number {index} of an index.","tags":["社区"]}}"#
            )
        })
        .collect();
    let index = data.join("index.json");
    fs::write(&index, format!("[{}]", entries.join(","))).unwrap();
    let added = ok(data, &["add", index.to_str().unwrap()]);
    assert_eq!(added.lines().count(), 120);
    let hits = json(data, &["search", "--tag", "社区", "--limit", "50"]);
    assert_eq!(hits.as_array().unwrap().len(), 50);

    let document = data.join("openapi.json");
    let text = r#"{"openapi":"3.1.0","info":{"title":"Pet store","version":"1.2"},
        "servers":[{"url":"https://pets.example"}],"paths":{"/pets":{"get":{"operationId":"listPets",
        "summary":"Lists pets","responses":{"200":{"description":"Pets"}}}}}}"#;
    fs::write(&document, text).unwrap();
    let added = ok(data, &["add", document.to_str().unwrap(), "--id", "pet-shop"]);
    assert!(added.starts_with("OpenAPI 3.1.0: 1 of 1 operations are functions\n"), "{added}");
    assert_eq!(json(data, &["functions", "pet-shop"]).as_array().unwrap().len(), 1);
    let ran = catalog(data, &["add", index.to_str().unwrap(), "--id", "x"]);
    assert_eq!(ran.code, 2, "only OpenAPI has this option: {}", ran.stderr);
}

/// A prefab whose functions a shell script runs.
fn shell_prefab(at: &Path, functions: &str) -> String {
    let folder = at.join("shell-prefab");
    fs::create_dir_all(&folder).unwrap();
    let manifest = format!(
        r#"{{"id":"shell-prefab","version":"1.0.0","name":"Shell","description":"Functions of a shell script.",
            "secrets":[{{"name":"API_KEY","instructions":"Ask the team."}}],
            "functions":[{functions}],"runtime":{{"process":{{"command":["sh","run.sh"]}}}}}}"#
    );
    fs::write(folder.join("prefab.json"), manifest).unwrap();
    let script =
        r#"case $(cat) in *'"function":"fail"'*) exit 3 ;; *) echo '{"words": 2.0}' ;; esac"#;
    fs::write(folder.join("run.sh"), script).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn functions_are_tested_with_their_examples() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let count = r#"{"name":"count","description":"Counts words","effect":"read-only","secrets":[],
        "parameters":[{"name":"text","type":"string","required":true}],
        "returns":{"type":"object","properties":{"words":{"type":"integer"}}},
        "examples":[{"arguments":{"text":"to be"},"returns":{"words":2}},{"arguments":{"text":"or not"}}]}"#;
    let store = r#"{"name":"store","description":"Stores words","secrets":[],
        "examples":[{"arguments":{},"returns":{"words":3}}]}"#;
    let fail = r#"{"name":"fail","description":"Fails","effect":"read-only","secrets":[],
        "examples":[{"arguments":{}}]}"#;
    let secret = r#"{"name":"secret","description":"Needs a secret","effect":"read-only"}"#;
    let all = [count, store, fail, secret].join(",");
    ok(data, &["add", &shell_prefab(data, &all)]);

    let tested = ok(data, &["test", "shell-prefab@1.0.0", "count"]);
    let heading = "FUNCTION  SCHEMAS  SECRETS  RUNTIME  EXAMPLES\n";
    let wanted = format!("{heading}count     ok       ok       ok       2 of 2\n");
    // A warning follows if the kernel cannot confine processes.
    assert!(tested.starts_with(&wanted), "{tested}");
    let tested = ok(data, &["test", "shell-prefab", "store"]);
    assert!(tested.contains("1 skipped\n"), "{tested}");

    let ran = catalog(data, &["test", "shell-prefab", "--all"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("3 of 4 functions failed"), "{}", ran.stderr);
    let text = ran.text();
    assert!(
        text.contains(r#"store: example 1: it returned {"words":2.0}, not {"words":3}"#),
        "{text}"
    );
    assert!(text.contains("it ended with code 3"), "{text}");
    assert!(
        text.contains("secret: secrets: The prefab shell-prefab needs the secret API_KEY"),
        "{text}"
    );
    let ran = catalog(data, &["test", "shell-prefab", "--all", "--json"]);
    assert_eq!(ran.code, 1);
    let report = Json::parse(&ran.text()).unwrap();
    assert_eq!(report.get("passed"), Some(&Json::Bool(false)));
    assert_eq!(report.pointer("/functions/0/passed"), Some(&Json::Bool(true)));
    let check = report.pointer("/functions/3/problems/0/check").and_then(Json::as_str);
    assert_eq!(check, Some("secrets"));
    assert_eq!(catalog(data, &["test", "shell-prefab", "cuont"]).code, 1);
}

#[test]
fn a_test_finds_what_is_not_there() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let publish = |id: &str, runtime: &str| {
        let folder = data.join(id);
        fs::create_dir_all(&folder).unwrap();
        let manifest = format!(
            r#"{{"id":"{id}","version":"1.0.0","name":"A","description":"A prefab for tests.",
                "functions":[{{"name":"run","description":"Runs"}}],"runtime":{runtime}}}"#
        );
        fs::write(folder.join("prefab.json"), manifest).unwrap();
        ok(data, &["add", folder.to_str().unwrap()]);
        let ran = catalog(data, &["test", id]);
        (ran.code, ran.text())
    };
    let (code, text) =
        publish("absent-program", r#"{"process":{"command":["no-such-program-here"]}}"#);
    assert!(text.contains("there is no executable program `no-such-program-here`"), "{text}");
    assert_eq!(code, 1);
    let (code, text) = publish("private-server", r#"{"http":{"base_url":"http://127.0.0.1:9"}}"#);
    assert!(text.contains("`127.0.0.1` is a loopback address"), "{text}");
    assert_eq!(code, 1);
    let (code, text) =
        publish("absent-server", r#"{"http":{"base_url":"http://no-such-host.invalid"}}"#);
    assert!(text.contains("its host was not found"), "{text}");
    assert_eq!(code, 1);
    let ran = catalog(data, &["test", "builtin-files", "list_files"]);
    assert!(ran.text().contains("this built-in function is not configured"), "{}", ran.text());
    let config = data.join("toolwright.toml");
    fs::write(&config, "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n[tools]\nroot = \".\"\n")
        .unwrap();
    let config = config.to_str().unwrap();
    ok(data, &["test", "private-server", "--config", config]);
    ok(data, &["test", "builtin-files", "list_files", "--config", config]);
    let called = ok(data, &["call", "builtin-files", "list_files", "--config", config]);
    assert!(called.contains("toolwright.toml"), "{called}");
}

#[test]
fn searches_translate_with_the_configured_dictionary() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let document = data.join("prefab.json");
    let text = r#"{"id":"umbrella-prefab","version":"1.0.0","name":"Umbrellas","description":"Orders umbrellas.",
        "functions":[{"name":"order_umbrella","description":"Orders an umbrella"}],
        "runtime":{"http":{"base_url":"https://example.com"}}}"#;
    fs::write(&document, text).unwrap();
    ok(data, &["add", document.to_str().unwrap()]);
    let (dictionary, config) = (data.join("cedict.txt"), data.join("toolwright.toml"));
    fs::write(&dictionary, "雨傘 雨伞 [yu3 san3] /umbrella/\n").unwrap();
    fs::write(&config, "[catalog]\ndictionary = \"cedict.txt\"\n").unwrap();
    let config = config.to_str().unwrap();
    for command in ["search", "recommend"] {
        let found = json(data, &[command, "雨伞"]);
        assert_eq!(found.compact(), "[]", "{command} without a dictionary");
        let found = json(data, &[command, "雨伞", "--config", config]);
        assert_eq!(found.pointer("/0/id").and_then(Json::as_str), Some("umbrella-prefab"));
    }
    fs::write(&dictionary, "this is no dictionary\n").unwrap();
    let ran = catalog(data, &["search", "雨伞", "--config", config]);
    assert!(ran.stderr.contains("cedict.txt cannot be used"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

#[test]
fn pre_releases_are_listed_with_a_mark_and_visibility_changes() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0-rc.1", "")]);
    let list = ok(data, &["list"]);
    assert!(list.contains("weather-prefab  1.0.0-rc.1 (pre-release)  1 "), "{list}");
    ok(data, &["visibility", "weather-prefab", "public"]);
    let list = json(data, &["list"]);
    let own = list.as_array().unwrap().last().unwrap();
    assert_eq!(own.get("visibility").and_then(Json::as_str), Some("public"));
    assert_eq!(own.get("latest"), Some(&Json::Bool(false)));
    assert_eq!(catalog(data, &["visibility", "weather-prefab", "secret"]).code, 2);
    let ran = catalog(data, &["visibility", "wether-prefab", "private"]);
    assert!(ran.stderr.contains("'wether-prefab' not found"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

#[test]
fn output_files_of_one_name_are_all_saved() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let output = r#"{"type":"array","items":{"type":"OutputFile"},"description":"A file"}"#;
    let function = format!(
        r#"{{"name":"write","description":"Writes two files","secrets":[],
            "files":{{"left":{output},"right":{output}}}}}"#
    );
    let folder = shell_prefab(data, &function);
    let script = r#"
        folder=$(sed -n 's/.*"output_dir":"\([^"]*\)".*/\1/p')
        echo left > "$folder/left/out.txt"; echo right > "$folder/right/out.txt"; echo true"#;
    fs::write(Path::new(&folder).join("run.sh"), script).unwrap();
    ok(data, &["add", &folder]);
    let saved = data.join("saved");
    ok(data, &["call", "shell-prefab", "write", "--output", saved.to_str().unwrap()]);
    let read = |name: &str| fs::read_to_string(saved.join(name)).unwrap();
    assert_eq!((read("out.txt").as_str(), read("out-2.txt").as_str()), ("left\n", "right\n"));
}

#[test]
fn a_search_goes_on_without_a_configuration_that_cannot_be_loaded() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let config = data.join("toolwright.toml");
    let text = "[upstreams.mine]\ndialect = \"openai-chat\"\nurl = \"https://example.com\"\n\
        key = \"env:TOOLWRIGHT_TEST_UNSET\"\n";
    fs::write(&config, text).unwrap();
    for command in ["search", "recommend"] {
        let search = ["catalog", command, "天气预报", "--data", "."];
        let ran = toolwright_in(data, &search, b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.text().contains("weather-prefab@1.0.0"), "{}", ran.text());
        assert!(ran.stderr.starts_with("warning: toolwright.toml:"), "{}", ran.stderr);
        assert!(ran.stderr.contains("TOOLWRIGHT_TEST_UNSET"), "{}", ran.stderr);
        let named = [search.as_slice(), &["--config", "toolwright.toml"]].concat();
        assert_eq!(toolwright_in(data, &named, b"").code, 1);
    }
}

#[test]
fn details_are_shown_without_a_readable_ledger() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    ok(data, &["add", &manifest(data, "1.0.0", "")]);
    let details = ["details", "weather-prefab", "forecast"];
    let plain = ok(data, &details);
    fs::write(data.join("ledger.sqlite"), "this is no ledger".repeat(100)).unwrap();
    let ran = catalog(data, &details);
    assert_eq!((ran.code, ran.text()), (0, plain), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("ledger.sqlite"), "{}", ran.stderr);
}

const YAML: &str = r#"
openapi: 3.0.3
info: {title: Pet store, version: "1.2"}
servers: [{url: "https://pets.example"}]
x-page: &page
  name: page
  in: query
  schema: {type: integer, maximum: 12345678901234567890}
paths:
  /pets:
    get:
      operationId: listPets
      summary: >
        Lists
        pets
      parameters: [*page, {name: no, in: query, schema: {type: string, enum: [no, "1.0"]}}]
      responses:
        200: {description: Pets}
"#;

#[test]
fn an_openapi_document_in_yaml_is_imported_within_limits() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let add = |name: &str, text: &str| {
        let document = data.join(name);
        fs::write(&document, text).unwrap();
        catalog(data, &["add", document.to_str().unwrap()])
    };
    let added = add("openapi.yaml", YAML);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let details = json(data, &["details", "pet-store", "listPets"]).compact();
    assert!(details.contains("Lists pets"), "{details}");
    assert!(details.contains("12345678901234567890"), "{details}");
    assert!(details.contains(r#""enum":["no","1.0"]"#), "{details}");

    // Each level has the level before nine times.
    let mut laughs = "openapi: 3.0.3\na0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n".to_owned();
    for level in 1..10 {
        let before = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs +=
            &["a", &level.to_string(), ": &a", &level.to_string(), " [", &before, "]\n"].concat();
    }
    // A long text many times.
    let long =
        format!("openapi: 3.0.3\na: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(90_000));
    for (name, text) in [("laughs.yml", laughs), ("long.yaml", long)] {
        let ran = add(name, &text);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(name) && ran.stderr.contains("alias"), "{}", ran.stderr);
    }
    let ran = add("broken.yaml", "openapi: [3.0.3\ninfo: {");
    assert!(ran.stderr.contains("broken.yaml: not YAML: "), "{}", ran.stderr);
}

#[test]
fn headers_of_an_openapi_document_are_secrets_of_the_configuration() {
    let (folder, server) =
        (tempfile::tempdir().unwrap(), Upstream::start([Reply::json(200, "[]")]));
    let add = |header: &str, variable: &str| {
        let document = YAML.replace("https://pets.example", &server.url());
        fs::write(folder.path().join("pets.yaml"), document).unwrap();
        let mut command = by_hand(folder.path());
        command.args(["catalog", "add", "pets.yaml", "--header", header]);
        let output = command.env(variable, UPSTREAM_KEY).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!text.contains(UPSTREAM_KEY), "{text}");
        (output.status.code().unwrap(), text)
    };
    let config = folder.path().join("toolwright.toml");
    fs::write(&config, "# Ours.\n[catalog]\nallow_addresses = [\"127.0.0.1\"]\n").unwrap();
    let (code, text) = add(&format!("X-Key={UPSTREAM_KEY}"), "UPSTREAM_KEY");
    assert!(code == 2 && text.contains("env:"), "{text}");
    let (code, text) = add("X-Key=env:UPSTREAM_KEY", "OTHER");
    assert!(code == 1 && text.contains("UPSTREAM_KEY is not set"), "{text}");
    let (code, text) = add("X-Key=env:UPSTREAM_KEY", "UPSTREAM_KEY");
    assert!(code == 0 && text.contains("toolwright.toml"), "{text}");
    let written = fs::read_to_string(&config).unwrap();
    let table = "\n[prefabs.pet-store.secrets]\nx_key = \"env:UPSTREAM_KEY\"\n";
    assert!(written.starts_with("# Ours.\n") && written.ends_with(table), "{written}");
    let (code, text) = add("X-Key=env:UPSTREAM_KEY", "UPSTREAM_KEY");
    assert_eq!(code, 0, "{text}");
    assert_eq!(fs::read_to_string(&config).unwrap(), written, "it has the secret already");

    let gateway = Gateway::start_by_hand(folder, &written);
    let body = br#"{"function": "listPets", "parameters": {}}"#;
    gateway.post("/v1/prefabs/pet-store/execute", &[], body).ok();
    assert_eq!(server.last().header("x-key"), Some(UPSTREAM_KEY));
    let details = gateway.get("/v1/public/prefabs/pet-store/functions/listPets", &[]).ok().text();
    assert!(!details.contains(UPSTREAM_KEY), "{details}");
}
