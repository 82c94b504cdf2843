//! Measures how many tokens a model saves with the tools of a catalog, for `cargo xtask tokens-report`, which passes a
//! directory of sets as `cargo xtask search-report` reads it.
//!
//! The functions of all sets are published as prefabs. Their definitions in the form of OpenAI are counted, and beside
//! them the tools of the catalog with a journey: recommend, list, inspect, call. Parameters in the sets have no types,
//! so each is an optional string, and the definitions are smaller than those of real functions. Tokens are those of the
//! vocabulary `o200k_base`. It panics if there are too few functions, or if the tools of the catalog are too large.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed check ends the program, which prints a report"
)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_catalog::files::{FileLimits, Files};
use toolwright_catalog::runtime::Runner;
use toolwright_catalog::tools::CatalogTools;
use toolwright_catalog::{Catalog, Manifest, Package, PublishError, PublishOptions, tool_name};
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Call, Json, Message, Request, Tool};
use toolwright_core::{Dialect, object};
use toolwright_dialects::dialect;
use toolwright_gateway::proxy::tokens;
use toolwright_runtime::{Session, Toolbox};

/// Minimum number of functions.
const MIN_FUNCTIONS: usize = 5_000;
/// Number of functions of a prefab.
const PREFAB_FUNCTIONS: usize = 20;
/// Number of journeys, over the queries of all sets.
const JOURNEYS: usize = 100;
/// Maximum number of tokens of the catalog's tools.
const MAX_TOOL_TOKENS: usize = 900;
/// Runs the functions, which return a short result.
const SCRIPT: &str = r#"cat > /dev/null; printf '{"success":true}'"#;
/// The steps of a journey.
const STEPS: [&str; 4] =
    ["prefab_recommend", "list_prefab_functions", "get_function_details", "call_prefab_function"];

#[tokio::main]
async fn main() {
    let directory = std::env::args().nth(1).expect("the directory of the sets");
    let folders = folders(Path::new(&directory));
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    let functions = functions(&folders);
    let packages = functions.chunks(PREFAB_FUNCTIONS).enumerate().map(package);
    let manifests: Vec<Manifest> =
        packages.filter_map(|package| publish(&catalog, package)).collect();
    let tools: Vec<Tool> = manifests.iter().flat_map(tools_of).collect();
    assert!(tools.len() >= MIN_FUNCTIONS, "fewer than {MIN_FUNCTIONS} functions: {}", tools.len());
    println!("functions                     {:>10} in {} prefabs", tools.len(), manifests.len());
    let all = definitions(&tools);
    let mean = all / tools.len();
    println!("all definitions               {all:>10} tokens, {mean} for each function");

    let toolbox = toolbox(catalog, data.path());
    let six = definitions(&toolbox.tools());
    println!("tools of the catalog          {six:>10} tokens");
    assert!(six <= MAX_TOOL_TOKENS, "more than {MAX_TOOL_TOKENS} tokens: shorten descriptions");

    let queries = queries(&folders);
    let mut sums = [0; STEPS.len()];
    let step = queries.len().div_ceil(JOURNEYS);
    let mut count = 0;
    for query in queries.iter().step_by(step) {
        // A query without a hit is no journey.
        let Some(journey) = journey(&toolbox, query).await else { continue };
        count += 1;
        sums.iter_mut().zip(journey).for_each(|(sum, tokens)| *sum += tokens);
    }
    let steps = STEPS.iter().zip(sums).map(|(name, sum)| format!("{name} {}", sum / count));
    let steps = steps.collect::<Vec<_>>().join(", ");
    let journey = sums.iter().sum::<usize>() / count;
    println!("a journey, mean of {count:<10} {journey:>10} tokens: {steps}");
    let saved = all - six - journey;
    let hundredths = saved * 10_000 / all;
    let (percent, hundredths) = (hundredths / 100, hundredths % 100);
    println!("saved                         {saved:>10} tokens, {percent}.{hundredths:02} %");
}

/// The folders of sets, sorted.
fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.push(directory.to_owned());
    folders.retain(|folder| folder.join("tools.jsonl").exists());
    folders.sort();
    folders
}

fn lines(path: &Path) -> Vec<Json> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| Json::parse(line).unwrap()).collect()
}

fn text<'j>(line: &'j Json, key: &str) -> &'j str {
    line.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// The functions of all sets, as a manifest describes them. One of several with the same name is taken.
fn functions(folders: &[PathBuf]) -> Vec<Object> {
    let mut names = HashSet::new();
    let mut functions = Vec::new();
    for line in folders.iter().flat_map(|folder| lines(&folder.join("tools.jsonl"))) {
        let is_legal = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
        let name = text(&line, "name").replace(|letter| !is_legal(letter), "_");
        if name.is_empty() || text(&line, "description").is_empty() || !names.insert(name.clone()) {
            continue;
        }
        let mut known = HashSet::new();
        let parameters = line.get("params").and_then(Json::as_array).unwrap_or_default();
        let parameters = parameters.iter().filter_map(|parameter| {
            let (name, description) = parameter.as_str()?.split_once(':')?;
            (!name.trim().is_empty() && known.insert(name)).then(|| {
                object! {"name": name, "type": "string", "description": description.trim()}
            })
        });
        functions.push(object! {
            "name": name,
            "description": text(&line, "description"),
            "parameters": parameters.collect::<Vec<Object>>(),
            "effect": "read-only",
        });
    }
    functions
}

fn package((index, functions): (usize, &[Object])) -> Package {
    let document = object! {
        "id": format!("prefab-{index}"),
        "version": "1.0.0",
        "name": format!("Prefab {index}"),
        "description": "A prefab with functions of a set.",
        "functions": functions.to_vec(),
        "runtime": object! {"process": object! {"command": vec!["sh", "run.sh"]}},
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prefab.json"), Json::from(document).compact()).unwrap();
    fs::write(folder.path().join("run.sh"), SCRIPT).unwrap();
    Package::read(folder.path()).unwrap()
}

fn tools_of(manifest: &Manifest) -> Vec<Tool> {
    let tool = |function: &toolwright_catalog::Function| {
        Tool::function(tool_name(manifest.id.as_str(), &function.name), function.visible_schema())
            .with_description(function.description.as_str())
    };
    manifest.functions.iter().map(tool).collect()
}

/// Publishes a prefab, and returns its manifest; none if its definitions contain a credential.
fn publish(catalog: &Catalog, package: Package) -> Option<Manifest> {
    let manifest = package.manifest().clone();
    match catalog.publish(package, PublishOptions::default()) {
        Ok(_) => Some(manifest),
        Err(PublishError::Refused { faults, .. }) => {
            println!("refused {}: {}", manifest.id, faults[0]);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The tools of a catalog.
fn toolbox(catalog: Catalog, data: &Path) -> Toolbox {
    let files = Files::open(data, FileLimits::default()).unwrap();
    let runner = Runner::new(files);
    Toolbox::new(CatalogTools::local(catalog, Arc::new(runner)).handlers()).unwrap()
}

/// The texts of the queries of all sets.
fn queries(folders: &[PathBuf]) -> Vec<String> {
    let lines = folders.iter().flat_map(|folder| lines(&folder.join("queries.jsonl")));
    lines.map(|line| text(&line, "text").to_owned()).collect()
}

/// Calls each step for a query, and returns the tokens of the calls and their results; none if nothing is found.
async fn journey(toolbox: &Toolbox, query: &str) -> Option<[usize; STEPS.len()]> {
    let session = Session::new("journey");
    let call = async |step: usize, arguments: Object| {
        let call =
            Call::new("call_1", STEPS[step], Arguments::from_json(&arguments.clone().into()));
        let done = toolbox.call(&session, &call).await;
        let done = done.result().unwrap();
        assert!(done.error.is_none(), "{}: {}", STEPS[step], done.outcome.words());
        let result = done.outcome.words();
        let tokens =
            count(&Json::Object(arguments).compact()) + count(STEPS[step]) + count(&result);
        (tokens, Json::parse(&result).unwrap())
    };
    let (recommended, found) = call(0, object! {"query": query}).await;
    let prefab = found.pointer("/result/recommended_prefabs/0/id")?.as_str()?;
    let name = found.pointer("/result/recommended_prefabs/0/functions/0/name")?.as_str()?;
    let (listed, _) = call(1, object! {"prefab_id": prefab}).await;
    let of = object! {"prefab_id": prefab, "function_name": name};
    let (inspected, details) = call(2, of).await;
    let listed_parameters = details.pointer("/result/function/parameters").and_then(Json::as_array);
    let mut parameters = Object::new();
    for parameter in listed_parameters.unwrap_or_default() {
        parameters.insert(text(parameter, "name").to_owned(), "a value");
    }
    let arguments = object! {
        "prefab_id": prefab,
        "version": "1.0.0",
        "function_name": name,
        "parameters": parameters,
    };
    let (called, _) = call(3, arguments).await;
    Some([recommended, listed, inspected, called])
}

/// Tokens of definitions in the form of OpenAI.
fn definitions(tools: &[Tool]) -> usize {
    let codec = dialect::tool_codec(Dialect::OpenaiChat);
    tools.iter().map(|tool| count(&codec.encode_tool(tool).compact())).sum()
}

/// Tokens of a text.
fn count(text: &str) -> usize {
    let around = tokens::estimate(&Request::new([Message::user("")]));
    tokens::estimate(&Request::new([Message::user(text)])) - around
}
