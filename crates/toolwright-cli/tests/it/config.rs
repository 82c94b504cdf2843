//! `toolwright.toml`: its meaning, and the messages for mistakes in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolwright_catalog::Visibility;
use toolwright_gateway::Config;
use toolwright_gateway::config::ConfigError;
use toolwright_gateway::mcp::config::{McpPlace, McpValue};
use toolwright_gateway::models::config::Access;
use toolwright_gateway::telemetry::config::{LedgerSettings, LogFormat, TelemetrySettings};
use toolwright_runtime::Fill;
use toolwright_runtime::upstream::Remote;

use crate::run::toolwright;

/// The value of every secret in these tests.
const SECRET: &str = "sk-hunter2";

fn env(name: &str) -> Option<String> {
    match name {
        "EMPTY" => Some(" \n".to_owned()),
        "UNSET" => None,
        _ => Some(format!("{SECRET}\n")),
    }
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("."), &env)
}

/// The error of a text as displayed, with its hint.
fn refusal(text: &str) -> String {
    let Err(error) = parse(text) else { panic!("accepted: {text}") };
    let shown = format!("{error} | {}", error.hint().unwrap_or_default());
    assert!(!shown.contains(SECRET), "{shown}");
    shown
}

fn example() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../toolwright.example.toml");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn an_empty_configuration_has_the_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8000");
    assert_eq!(config.data, Path::new("./.toolwright"));
    assert_eq!(config.limits.body, 32 << 20);
    assert_eq!(config.limits.header_timeout, Duration::from_secs(10));
    assert_eq!(config.telemetry.losses.max_entries, 10_000);
    assert!(config.upstreams.is_empty() && config.models.is_empty() && config.keys.is_empty());
    assert!(config.tools.is_none() && config.tls.is_none() && !config.open);
    assert!(!config.telemetry.log.payloads && !config.telemetry.ledger.payloads);
}

#[test]
fn a_named_file_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let error = Config::load(Some(&path), &env).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");
}

#[test]
fn an_error_names_the_file_the_line_and_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "open = true\n[limits]\n  body = \"much\"\n").unwrap();
    let error = Config::load(Some(&path), &env).unwrap_err();
    let start = format!("{}:3:10: limits.body: this must be a size", path.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn the_example_matches_its_comments() {
    let config = parse(&example()).unwrap();
    assert_eq!(config.upstreams["claude"].dialect, "anthropic");
    assert_eq!(config.models["fast"].targets, ["claude/claude-haiku-5", "offline/rules"]);
}

#[test]
fn the_example_shows_every_setting_at_its_default() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["cert.pem", "key.pem", "corp.pem", "cedict.txt"] {
        std::fs::write(folder.path().join(file), "").unwrap();
    }
    let setting =
        |line: &str| line.strip_prefix('#').is_some_and(|rest| !rest.starts_with([' ', '#']));
    let lines: Vec<String> = example()
        .lines()
        .map(|line| if setting(line) { line[1..].to_owned() } else { line.to_owned() })
        .collect();
    let config = Config::parse(&lines.join("\n"), folder.path(), &env).unwrap();
    let usual = Config::default();
    assert_eq!(config.listen, usual.listen);
    assert_eq!(config.limits, usual.limits);
    let max_age = Some(Duration::from_hours(90 * 24));
    let ledger = LedgerSettings { max_age, ..usual.telemetry.ledger.clone() };
    assert_eq!(config.telemetry, TelemetrySettings { ledger, ..usual.telemetry });
    assert_eq!(config.responses, usual.responses);
    assert_eq!(config.catalog.files, usual.catalog.files);
    assert_eq!(config.catalog.public_url.as_deref(), Some("https://tools.example"));
    assert_eq!(config.catalog.dictionary.as_deref(), Some(&*folder.path().join("cedict.txt")));
    assert!(config.catalog.embeddings.is_some());
    let prefab = &config.catalog.prefabs["file-processing-prefab"];
    assert_eq!(prefab.visibility, Some(Visibility::Public));
    assert_eq!(prefab.secrets["OCR_KEY"].expose(), SECRET);
    let fills: Vec<(&str, &Fill)> =
        prefab.hide["parse_file"].iter().map(|(name, fill)| (name.as_str(), fill)).collect();
    assert!(
        matches!(
            fills[..],
            [
                ("executor", Fill::Constant(_)),
                ("storage_key", Fill::Secret(_)),
                ("owner", Fill::Tenant)
            ]
        ),
        "{fills:?}"
    );
    let claude = &config.upstreams["claude"];
    assert_eq!((claude.first_byte, claude.idle), (Duration::from_mins(10), Duration::from_mins(2)));
    assert_eq!(claude.ca.as_deref(), Some(&*folder.path().join("corp.pem")));
    assert_eq!(claude.headers.len(), 2);
    assert!(matches!(config.upstreams["aws"].access, Access::Aws { .. }));
    assert_eq!(config.models["helper"].tools, ["read_csv", "git_status"]);
    let alice = &config.keys[0];
    assert_eq!((alice.name.as_str(), alice.tenant.as_str()), ("alice", "acme"));
    assert_eq!(alice.rates.tokens_per_minute.unwrap().get(), 100_000);
    assert_eq!(config.tls.unwrap().cert, folder.path().join("cert.pem"));
    let tools = config.tools.unwrap();
    assert_eq!(tools.allow, ["write_file"]);
    let limits = (tools.limits.turns, tools.limits.calls, tools.limits.duration);
    assert_eq!(limits, (20, Some(100), Some(Duration::from_mins(10))));
}

#[test]
fn a_truncated_file_is_read_or_refused() {
    let example = example();
    for (end, _) in example.char_indices() {
        if let Err(error) = parse(&example[..end]) {
            let position = error.position().unwrap();
            assert!(position.line <= example[..end].matches('\n').count() + 1, "{error}");
        }
    }
}

#[test]
fn unknown_keys_are_refused_with_a_suggestion() {
    for (text, key, hint) in [
        ("lisen = \"127.0.0.1:1\"", "1:1: lisen:", "did you mean `listen`?"),
        ("[limit]\nbody = 1", "1:2: limit:", "did you mean `limits`?"),
        ("[limits]\nbdoy = 1", "2:1: limits.bdoy:", "did you mean `body`?"),
        ("[upstreams.openai]\nbaseurl = \"x\"", "upstreams.openai.baseurl:", "`base_url`"),
        ("[log]\nlevels = \"info\"", "log.levels:", "`level`"),
        ("[models]\na = { use = [\"b\"], tool = [] }", "models.a.tool:", "`tools`"),
        ("[responses]\nentries = 1", "accepted: store, max_age, max_bytes, max_entries", ""),
        ("[losses]\nzebra = 1", "losses.zebra: there is no such key; accepted: max_entries", ""),
    ] {
        let shown = refusal(text).replace("line ", "").replace(", column ", ":");
        assert!(shown.contains(key) && shown.contains(hint), "{text}: {shown}");
    }
}

#[test]
fn wrong_values_are_refused_with_the_accepted_ones() {
    for (text, expected) in [
        ("listen = 8000", "listen: this must be a text in quotes, not a whole number"),
        ("listen = \"example.com:80\"", "listen: this is not an address with a port"),
        ("open = \"yes\"", "open: this must be true or false, not a text"),
        (
            "[limits]\ndrain_timeout = 30",
            "this must be a length of time with its unit, such as \"10s\"",
        ),
        ("[limits]\ndrain_timeout = \"30 sec\"", "units are ms, s, m, h, d"),
        ("[responses]\nmax_age = \"0s\"", "responses.max_age: this must be more than zero"),
        ("[responses]\nmax_age = \"400d\"", "responses.max_age: this must be a length of time"),
        ("[responses]\nmax_bytes = \"some\"", "responses.max_bytes: this must be a size"),
        (
            "[responses]\nmax_entries = 0",
            "responses.max_entries: this must be a whole number from 1",
        ),
        ("[responses]\nstore = \"no\"", "responses.store: this must be true or false"),
        ("[limits]\nheader_timeout = \"0s\"", "more than zero"),
        ("[limits]\nbody = 0", "limits.body: this must be a whole number from 1"),
        ("[limits]\nheaders = -1", "limits.headers: this must be a whole number from 1"),
        ("[limits]\nbody = \"1GB\"", "less than `body`"),
        ("[limits]\nheader_bytes = 10", "8192 bytes or more"),
        (
            "[log]\nlevel = \"inof\"",
            "one of off, error, warn, info, debug, trace | did you mean `info`?",
        ),
        ("[log]\nformat = \"xml\"", "log.format: this must be one of text, full, json"),
        ("limits = 3", "limits: this must be a table, not a whole number"),
        ("[upstreams.x]\ndialect = \"antropic\"", "did you mean `anthropic`?"),
        ("[upstreams.x]\ndialect = \"mcp\"", "no dialect of an upstream"),
        ("[upstreams.x]", "upstreams.x: the key `dialect` is missing; accepted: openai-chat"),
        ("[upstreams.openai]\nretries = 99", "from 0 to 10"),
        ("[upstreams.openai]\nversion = \"1\"", "only for the dialect anthropic"),
        ("[upstreams.openai]\nregion = \"x\"", "only for the dialect bedrock"),
        ("[upstreams.openai]\nbase_url = \"api.x.com\"", "starts with https:// or http://"),
        (
            "[upstreams.openai]\nbase_url = \"https://me:sk-hunter2@x.com\"",
            "must not contain a credential",
        ),
        (
            "[upstreams.openai]\nbase_url = \"https://x.com/v1?key=sk-hunter2\"",
            "must not have a query",
        ),
        ("[upstreams.openai]\nbase_url = \"https:///v1\"", "this is not an address"),
        ("[upstreams.openai]\nca = \"none.pem\"", "none.pem: No such file"),
        ("[upstreams.openai]\nheaders = { \"a b\" = \"c\" }", "not the name of a header"),
        ("[upstreams.openai]\nheaders = { \"host\" = \"c\" }", "use `base_url`"),
        ("[upstreams.openai]\nheaders = { \"x\" = \"a\\nb\" }", "not valid in a header"),
        ("[upstreams.openai]\nmodels = \"gpt-4o\"", "this must be a list in brackets"),
        ("[upstreams.openai]\nmax_tokens = 0", "upstreams.openai.max_tokens: this must be a whole"),
        ("[upstreams.openai]\ndrop = [\"temprature\"]", "did you mean `temperature`?"),
        ("[upstreams.openai]\ndrop = \"seed\"", "this must be a list in brackets"),
        (
            "[models]\na = { use = [\"offline/rules\"], max_tokens = -1 }",
            "models.a.max_tokens: this",
        ),
        ("[tools]\nallow = []", "tools: the key `root` is missing"),
        ("[tools]\nroot = \"Cargo.toml\"", "is not a folder"),
        ("[tools]\nroot = \".\"\nallow = [\"write_fiel\"]", "tools.allow[0]: there is no tool"),
        ("[tools]\nroot = \".\"\nallow = [\"write_fiel\"]", "did you mean `write_file`?"),
        ("[models]\na = { use = [\"b\"], tools = [\"read_csv\"] }", "has no tools | add the table"),
        ("[tls]\ncert = \"Cargo.toml\"", "tls: `cert` and `key` are both needed"),
        ("[tls]\ncert = \"none.pem\"", "tls.cert: ./none.pem"),
        ("[mcp.files]\nurl = \"x\"", "mcp.files.url: this must be an http or https URL"),
        ("[mcp.files]\ncommand = []", "mcp.files.command: the command is empty"),
        ("[mcp.files]\nurl = \"http://x\"\ncommand = [\"y\"]", "either `command`"),
        ("[mcp.\"a b\"]\nurl = \"http://x\"", "the name of an MCP server"),
        ("[mcp.files]\nurl = \"http://x\"\nprefx = \"y\"", "did you mean `prefix`?"),
        (
            "[mcp.git]\nurl = \"http://x\"\n[mcp.git_hub]\nurl = \"http://y\"",
            "the names of git begin with git_, those of git_hub with git_hub_",
        ),
        (
            "[mcp.files]\nurl = \"http://x\"\n[tool_sets.files]\ntools = []",
            "tool_sets.files: `files` is the name of an MCP server",
        ),
        ("[tool_sets.a]\ntols = []", "the key `tools` is missing"),
        ("[tool_sets.a]\ntools = [\"read_csv\"]", "has no tools | add the table"),
        ("[tool_sets.catalog]\ntools = []", "tool_sets.catalog: the name of a tool set"),
        ("a = ", "this is not TOML"),
        ("[a\nb = 1", "this is not TOML"),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(expected), "{text}: {shown}");
        assert!(shown.starts_with("line "), "{text}: {shown}");
    }
}

#[test]
fn secrets_are_referenced_and_not_inline() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), format!("{SECRET}\n")).unwrap();
    for key in ["env:SET", "file:key"] {
        let text = format!("[upstreams.openai]\nkey = \"{key}\"");
        let config = Config::parse(&text, folder.path(), &env).unwrap();
        let Access::Key(secret) = &config.upstreams["openai"].access else { panic!("{key}") };
        assert_eq!(secret.expose(), SECRET);
        assert!(!format!("{config:?}").contains(SECRET));
    }
    for (key, expected) in [
        (SECRET, "a secret is not written into the configuration itself | keep it in a variable"),
        ("env:UNSET", "the variable UNSET is not set | set UNSET"),
        ("env:EMPTY", "the variable EMPTY is empty"),
        ("env:", "not the name of a variable"),
        ("env:sk-hunter2", "not the name of a variable"),
        ("file:none", "none: No such file"),
        ("file:", "a path must follow"),
        ("Client", "a secret is not written"),
    ] {
        let shown = refusal(&format!("[upstreams.openai]\nkey = \"{key}\""));
        assert!(shown.contains(expected), "{key}: {shown}");
    }
    // TOML that cannot be parsed is not quoted either.
    refusal("[upstreams.openai]\nkey = \"sk-hunter2\nmodels = 1");
    refusal("[upstreams.openai]\nkey = sk-hunter2");
    refusal("[upstreams.openai]\nheaders = { \"authorization\" = \"Bearer sk-hunter2\" }");
    refusal("[keys.alice]\nhash = \"sk-hunter2\"");
}

#[test]
fn headers_hold_text_and_secrets_and_print_neither() {
    let text = "[upstreams.openai]\n\
        headers = { \"x-team\" = \"agents\", \"authorization\" = \"env:SET\" }";
    let config = parse(text).unwrap();
    let headers = &config.upstreams["openai"].headers;
    let shown: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), value.expose().as_str())).collect();
    assert_eq!(shown, [("x-team", "agents"), ("authorization", SECRET)]);
    assert!(!format!("{config:?}").contains(SECRET));
}

#[test]
fn a_variable_for_an_mcp_server_is_a_secret_by_its_name_or_form() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), SECRET).unwrap();
    let values = |place: &str| {
        let env = |name: &str| match name {
            "DATABASE" => Some("postgres://user:hunter2@host/".to_owned()),
            _ => Some("eu-central-1".to_owned()),
        };
        let config = Config::parse(&format!("[mcp.s]\n{place}"), folder.path(), &env).unwrap();
        let (McpPlace::Command { env: own, .. } | McpPlace::Url { headers: own, .. }) =
            config.mcp["s"].place.clone();
        own.iter().map(|(_, own)| matches!(own, McpValue::Secret(_))).collect::<Vec<_>>()
    };
    for (value, is_secret) in [
        ("AWS_REGION = \"env:AWS_REGION\"", false),
        ("API_TOKEN = \"env:REGION\"", true),
        ("OTHER = \"env:GITHUB_TOKEN\"", true),
        ("BRAVE_KEY = \"env:REGION\"", true),
        ("OTHER = \"env:DATABASE\"", true),
        ("OTHER = \"file:key\"", true),
    ] {
        assert_eq!(
            values(&format!("command = [\"x\"]\nenv = {{ {value} }}")),
            [is_secret],
            "{value}"
        );
    }
    assert_eq!(values("url = \"http://x\"\nheaders = { x-region = \"env:REGION\" }"), [true]);
}

#[test]
fn a_proxy_has_its_credential_in_a_secret() {
    let setting = |value: &str| {
        let text = format!("[upstreams.openai]\nproxy = \"{value}\"");
        format!("{:?}", parse(&text).unwrap().upstreams["openai"].proxy)
    };
    assert_eq!(setting("none"), "Direct");
    assert_eq!(setting("http://proxy:3128"), "Url(Secret(…))");
    assert_eq!(setting("env:PROXY"), "Url(Secret(…))");
    let told = refusal("[upstreams.openai]\nproxy = \"http://user:sk-hunter2@proxy\"");
    assert!(told.contains("env:NAME"), "{told}");
    let told = refusal("[upstreams.openai]\nproxy = \"ftp://proxy\"");
    assert!(told.contains("upstreams.openai.proxy: the proxy's address must begin"), "{told}");
}

#[test]
fn aws_keys_belong_together() {
    let bedrock = "[upstreams.bedrock]\n";
    for (text, expected) in [
        ("access_key = \"env:A\"", "belong together"),
        ("access_key = \"env:A\"\nsecret_key = \"env:B\"\nkey = \"env:C\"", "not both"),
        ("access_key = \"env:A\"\nsecret_key = \"sk-hunter2\"", "a secret is not written"),
    ] {
        let shown = refusal(&format!("{bedrock}{text}"));
        assert!(shown.contains(expected), "{shown}");
    }
    assert!(
        refusal("[upstreams.openai]\nsecret_key = \"env:A\"")
            .contains("only for the dialect bedrock")
    );
    let config = parse("[upstreams.bedrock]\nkey = \"client\"").unwrap();
    assert!(matches!(config.upstreams["bedrock"].access, Access::Client));
}

#[test]
fn aws_keys_may_be_in_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    let text = "[work]\naws_access_key_id = AKWORK\naws_secret_access_key = s\n";
    std::fs::write(&credentials, text).unwrap();
    let credentials = credentials.to_str().unwrap();
    let found = |text: &str| {
        let variables = [
            ("AWS_SHARED_CREDENTIALS_FILE", credentials),
            ("AWS_ACCESS_KEY_ID", "other"),
            ("AWS_PROFILE", "other"),
        ];
        remotes(text, &variables).map_err(|error| error.to_string())
    };
    let bedrock = "[upstreams.bedrock]\n";
    found(&format!("{bedrock}profile = \"work\"\nregion = \"eu-west-1\"")).unwrap();
    let local = "base_url = \"http://127.0.0.1:1\"\nregion = \"eu-west-1\"";
    found(&format!("{bedrock}profile = \"work\"\n{local}")).unwrap();
    let error = found(&format!("{bedrock}profile = \"home\"\n{local}")).unwrap_err();
    assert!(error.contains("there is no profile `home`"), "{error}");
    let error = found(&format!("{bedrock}profile = \"work\"")).unwrap_err();
    assert!(error.contains("AWS_REGION"), "{error}");
    let told = refusal("[upstreams.bedrock]\nprofile = \"work\"\nkey = \"env:KEY\"");
    assert!(told.contains("either `profile` or keys"), "{told}");
    let told = refusal("[upstreams.openai]\nprofile = \"work\"");
    assert!(told.contains("only for the dialect bedrock"), "{told}");
}

#[test]
fn names_have_legal_characters() {
    for text in [
        "[upstreams.offline]\ndialect = \"ollama\"",
        "[upstreams.\"a/b\"]\ndialect = \"ollama\"",
        "[upstreams.\"\"]\ndialect = \"ollama\"",
        "[models]\n\"a/b\" = [\"gpt-4o\"]",
        "[models]\n\"a*\" = [\"gpt-4o\"]",
        "[models]\noffline = [\"gpt-4o\"]",
        "[keys.\"a b\"]\nhash = \"\"",
    ] {
        refusal(text);
    }
    let config =
        parse("[upstreams.\"通义\"]\ndialect = \"qwen\"\n[models]\n\"助手\" = \"通义/qwen-max\"");
    assert_eq!(config.unwrap().models["助手"].targets, ["通义/qwen-max"]);
}

#[test]
fn aliases_have_existing_targets() {
    let config =
        parse("[models]\na = [\"b\", \"gpt-4o\"]\nb = \"openai/gpt-4o\"\nc = [\"a\", \"b\"]");
    assert_eq!(config.unwrap().models["a"].targets, ["b", "gpt-4o"]);
    for (text, expected) in [
        ("a = [\"opnai/gpt-4o\"]", "models.a[0]: there is no upstream `opnai`"),
        ("a = [\"opnai/gpt-4o\"]", "did you mean `openai`?"),
        ("a = []", "models.a: the list is empty"),
        ("a = [\"openai/\"]", "must follow the `/`"),
        ("a = { tools = [] }", "the key `use` is missing"),
        ("a = \"a\"", "a → a"),
        ("a = [\"gpt-4o\", \"b\"]\nb = [\"c\"]\nc = [\"gpt-4o\", \"a\"]", "a → b → c → a"),
    ] {
        let shown = refusal(&format!("[models]\n{text}"));
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}

#[test]
fn each_key_hash_belongs_to_one_client() {
    let hash = format!("blake3:{}", "0".repeat(64));
    let config = parse(&format!("[keys.a]\nhash = \"{hash}\"\nmodels = []")).unwrap();
    assert_eq!(config.keys[0].tenant, "a");
    assert!(!config.keys[0].models.has("fast") && config.keys[0].tools.has("read_csv"));
    for (text, expected) in [
        ("[keys.a]", "`toolwright key a` makes a key"),
        ("[keys.a]\nhash = \"sha256:00\"", "`blake3:` and 64 hexadecimal digits"),
        ("[keys.a]\nhash = \"H\"\n[keys.b]\nhash = \"H\"", "keys.b: this is also the key of `a`"),
        ("[keys.a]\nhash = \"H\"\nmodels = [\"opnai/*\"]", "did you mean `openai`?"),
        ("[keys.a]\nhash = \"H\"\nrequests_per_minute = 0", "whole number from 1"),
    ] {
        let shown = refusal(&text.replace("\"H\"", &format!("\"{hash}\"")));
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}

#[test]
fn unauthenticated_access_needs_an_explicit_setting() {
    let hash = format!("[keys.a]\nhash = \"blake3:{}\"", "0".repeat(64));
    for (listen, more, fine) in [
        ("127.0.0.1:1", "", true),
        ("127.9.9.9:1", "", true),
        ("localhost:1", "", true),
        ("[::1]:1", "", true),
        ("[::ffff:127.0.0.1]:1", "", true),
        ("0.0.0.0:1", "", false),
        ("[::]:1", "", false),
        ("192.168.1.1:1", "", false),
        ("[::ffff:10.0.0.1]:1", "", false),
        ("0.0.0.0:1", "open = true", true),
        ("0.0.0.0:1", &hash, true),
    ] {
        let config = parse(&format!("listen = \"{listen}\"\n{more}")).unwrap();
        let checked = config.check_listen(config.listen);
        assert_eq!(checked.is_ok(), fine, "{listen} {more}");
        if let Err(error) = checked {
            assert!(error.to_string().contains(&config.listen.to_string()), "{error}");
            let hint = error.hint().unwrap();
            assert!(hint.contains("toolwright key") && hint.contains("--open"), "{hint}");
        }
    }
}

#[test]
fn the_log_is_configured() {
    let log = parse("[log]\nlevel = \"debug\"\nformat = \"json\"\npayloads = true")
        .unwrap()
        .telemetry
        .log;
    assert_eq!(log.level.to_string(), "debug");
    assert_eq!((log.format, log.payloads), (LogFormat::Json, true));
    assert_eq!(parse("[log]\nformat = \"full\"").unwrap().telemetry.log.format, LogFormat::Full);
}

/// The upstreams of a configuration in an environment.
fn remotes(
    text: &str,
    variables: &[(&str, &str)],
) -> Result<BTreeMap<String, Remote>, ConfigError> {
    let env = |name: &str| {
        let found = variables.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Config::parse(text, Path::new("."), &env).unwrap().remotes(&env)
}

fn names(remotes: &BTreeMap<String, Remote>) -> Vec<&str> {
    remotes.keys().map(String::as_str).collect()
}

#[test]
fn upstreams_are_found_in_the_environment() {
    assert!(remotes("", &[]).unwrap().is_empty());
    let found = remotes("", &[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]).unwrap();
    assert!(names(&found).contains(&"anthropic") && names(&found).contains(&"openai"));
    let error =
        remotes("", &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "nonsense")]).unwrap_err();
    assert!(error.to_string().contains("OPENAI_BASE_URL"), "{error}");
}

#[test]
fn the_configuration_wins_over_the_environment() {
    let text = "[upstreams.openai]\nbase_url = \"http://127.0.0.1:1\"\nretries = 7\nidle = \"3s\"";
    let variables = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "nonsense")];
    let found = remotes(text, &variables);
    // Another upstream of the same vendor is still found, and refused because of its address.
    assert!(found.is_err());
    let found = remotes(text, &[("OPENAI_API_KEY", "k")]).unwrap();
    let openai = &found["openai"];
    assert_eq!((openai.id(), openai.retries()), ("openai", 7));
    assert_eq!(openai.deadlines().idle, Duration::from_secs(3));
}

#[test]
fn a_table_may_omit_defaults() {
    let variables =
        [("ANTHROPIC_API_KEY", "k"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let text = "[upstreams.claude]\ndialect = \"anthropic\"\nversion = \"2026-10-21\"\n\
        [upstreams.aws]\ndialect = \"bedrock\"\nregion = \"eu-west-1\"\n\
        [upstreams.mine]\ndialect = \"anthropic\"\nkey = \"client\"\n\
        [upstreams.local]\ndialect = \"ollama\"";
    let found = remotes(text, &variables).unwrap();
    assert_eq!(names(&found), ["anthropic", "aws", "claude", "local", "mine"]);
    assert_eq!(found["claude"].version(), Some("2026-10-21"));
    assert!(found["mine"].wants_client_credential() && !found["claude"].wants_client_credential());
}

#[test]
fn an_unusable_upstream_is_reported_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(folder.path().join("corp.pem"), "nonsense").unwrap();
    for (text, expected) in [
        ("[upstreams.claude]\ndialect = \"anthropic\"", "set ANTHROPIC_API_KEY"),
        ("[upstreams.bedrock]\nkey = \"env:KEY\"", "region"),
        ("[upstreams.bedrock]\naccess_key = \"env:KEY\"\nsecret_key = \"env:KEY\"", "region"),
        ("[upstreams.openai-flat]", "the key `base_url` is missing"),
        ("[upstreams.ollama]\nca = \"corp.pem\"", "no PEM certificate"),
    ] {
        std::fs::write(&path, format!("\n{text}")).unwrap();
        let env = |name: &str| (name == "KEY").then(|| SECRET.to_owned());
        let config = Config::load(Some(&path), &env).unwrap();
        let error = config.remotes(&env).unwrap_err().to_string();
        let start = format!("{}:2:12: upstreams.", path.display());
        assert!(error.starts_with(&start) && error.contains(expected), "{text}: {error}");
        assert!(!error.contains(SECRET));
    }
}

#[test]
fn the_command_prints_the_position_of_an_error_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let file = path.to_str().unwrap();
    for (text, expected) in [
        ("\nlisen = \"127.0.0.1:0\"\n", "mine.toml:2:1: lisen: there is no such key; accepted: "),
        ("\nlisen = \"127.0.0.1:0\"\n", "\nhint: did you mean `listen`?\n"),
        ("[upstreams.openai]\nkey = \"sk-hunter2\"", "mine.toml:2:7: upstreams.openai.key: "),
        ("[upstreams.openai]\nkey = \"env:TOOLWRIGHT_NO_SUCH\"", "TOOLWRIGHT_NO_SUCH is not set"),
        ("listen = \"0.0.0.0:0\"", "hint: create a key with `toolwright key NAME`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let ran = toolwright(&["serve", "--config", file], b"");
        assert_eq!((ran.code, ran.text().as_str()), (1, ""), "{text}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(expected),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    }
}

#[test]
fn settings_of_prefabs_are_checked() {
    for (text, words) in [
        ("[catalog]\nvisibility = \"open\"", "catalog.visibility"),
        ("[catalog]\npublic_url = \"ftp://a\"", "http or https URL"),
        ("[catalog]\npublic_url = \"/files\"", "http or https URL"),
        ("[catalog]\nallow_addresses = [\"a b\"]", "catalog.allow_addresses[0]"),
        ("[catalog]\nmax_file = \"big\"", "a size"),
        ("[catalog]\nfilter_model = 1", "catalog.filter_model"),
        ("[catalog]\nmax_fil = 1", "did you mean `max_file`"),
        ("[prefabs.x-prefab.secrets]\nKEY = \"sk-written-here\"", "env:NAME"),
        ("[prefabs.x-prefab.secrets]\nKEY = \"env:UNSET\"", "UNSET is not set"),
        ("[prefabs.x-prefab.hide.f]\na = 1", "prefabs.x-prefab.hide.f.a"),
        ("[prefabs.x-prefab.hide.f]\na = {}", "this must have one of `const`"),
        ("[prefabs.x-prefab.hide.f]\na = { const = 1, caller = \"id\" }", "this must have one of"),
        ("[prefabs.x-prefab.hide.f]\na = { caller = \"name\" }", "one of id, tenant"),
        ("[prefabs.x-prefab.hide.f]\na = { const = 2026-11-16 }", "no form in JSON"),
        ("[prefabs.x-prefab]\nhidden = 1", "there is no such key"),
        ("[prefabs.X_prefab]\nvisibility = \"private\"", "not the id of a prefab"),
        (
            "[prefabs.x-prefab.hide.f]\na = { slot = \"t\" }",
            "no tool stores its result in the slot `t`",
        ),
        ("[prefabs.x-prefab.hide.f]\na = { const = 1, as = \"text\" }", "this must have one of"),
        ("[mcp.a]\ncommand = [\"x\"]\n[mcp.a.slots.f]\npart = \"/rows\"", "`store` is missing"),
        (
            "[mcp.a]\ncommand = [\"x\"]\n[mcp.a.slots.f]\nstore = \"t\"\npart = \"rows\"",
            "JSON Pointer",
        ),
        (
            "[mcp.a]\ncommand = [\"x\"]\n[mcp.a.slots.f]\nstore = \"table\"\n\
             [mcp.a.hide.g]\nrows = { slot = \"tabel\" }",
            "did you mean `table`",
        ),
        ("[mcp.a]\ncommand = [\"x\"]\n[mcp.a.parameters.f]\nx = { as = \"hex\" }", "base64"),
        ("[mcp.a]\ncommand = [\"x\"]\n[mcp.a.parameters.f]\nx = {}", "`as` is missing"),
        ("[prefab_gateway]\nbase_url = \"localhost\"", "http or https URL"),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(words), "{text}: {shown}");
        assert!(!shown.contains("sk-written-here"), "{shown}");
    }
    let config =
        parse("[prefabs.x-prefab.hide.f]\na = { const = [0x10, 1.5, { b = \"c\" }, true] }")
            .unwrap();
    let Fill::Constant(constant) = &config.catalog.prefabs["x-prefab"].hide["f"][0].1 else {
        panic!()
    };
    assert_eq!(constant.compact(), r#"[16,1.5,{"b":"c"},true]"#);
}
