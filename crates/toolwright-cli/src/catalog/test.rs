//! `toolwright catalog test`.

use clap::Args;
use toolwright_catalog::runtime::{FunctionCheck, split_files};
use toolwright_catalog::{Access, Example, Function, PrefabVersion, Runtime};
use toolwright_core::json::Object;
use toolwright_core::schema::{self, Violation};
use toolwright_core::{Arguments, Json, object};
use toolwright_gateway::catalog::UNCONFINED;
use toolwright_gateway::key::Client;
use toolwright_gateway::terminal;
use toolwright_runtime::{Effect, process};

use super::call::{Opened, call};
use super::{Common, find, not_found, one_line};
use crate::exit::{self, Failure, Result};

/// Maximum number of characters of a value in a problem.
const MAX_SHOWN_CHARS: usize = 200;

/// Arguments of `catalog test`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each function is checked: its schemas compile, its secrets are configured, and what runs it is there
(the program of a process, the host of a server, the built-in function). The report also says whether
processes are confined to their own files, for which the kernel needs Landlock. Then the examples of the
manifest are called as a model calls them, if the function is read-only, and their results are
compared. The exit code is 1 if a check or an example fails.

Examples:
  toolwright catalog test word-prefab
  toolwright catalog test word-prefab@0.1.0 count_words --json")]
pub(super) struct Test {
    /// The prefab
    #[arg(value_name = "PREFAB")]
    prefab: String,
    /// Test only this function
    function: Option<String>,
    /// Run the examples of functions that change something as well
    #[arg(long)]
    all: bool,
}

/// The result for a function.
struct Tested<'f> {
    name: &'f str,
    /// Whether the schemas compile, the secrets are configured, and the runtime is there
    is_ok: [bool; 3],
    passed: usize,
    skipped: usize,
    examples: usize,
    /// What failed, and why
    problems: Vec<(String, String)>,
}

/// The names of the checks.
const CHECKS: [&str; 3] = ["schemas", "secrets", "runtime"];

impl Test {
    pub(super) async fn run(self, common: &Common) -> Result<()> {
        let opened = Opened::open(common).await?;
        let version = find(&opened.local.catalog, &self.prefab)?;
        let functions: Vec<&Function> = match &self.function {
            Some(name) => {
                vec![version.function(&Access::everything(), name).map_err(not_found)?]
            }
            None => version.manifest.functions.iter().collect(),
        };
        if matches!(version.manifest.runtime, Runtime::Listed) {
            let id = &version.manifest.id;
            let what = format!("{id} cannot be called: the catalog lists it without its functions");
            return Err(Failure::failed(what));
        }
        let mut tested = Vec::with_capacity(functions.len());
        for check in opened.local.runner.check(&version, functions).await {
            tested.push(self.test_function(&opened, &version, check).await?);
        }
        opened.gateway.telemetry.close().await.map_err(exit::failed)?;
        write(common, &version, &tested)?;
        match tested.iter().filter(|own| !own.problems.is_empty()).count() {
            0 => Ok(()),
            failed => {
                Err(Failure::failed(format!("{failed} of {} functions failed", tested.len())))
            }
        }
    }

    async fn test_function<'f>(
        &self,
        opened: &Opened,
        version: &PrefabVersion,
        check: FunctionCheck<'f>,
    ) -> Result<Tested<'f>> {
        let is_callable = check.is_callable();
        let FunctionCheck { function, schemas, secrets, runtime, .. } = check;
        let results = [schemas, secrets, runtime];
        let mut tested = Tested {
            name: &function.name,
            is_ok: results.each_ref().map(Result::is_ok),
            passed: 0,
            skipped: 0,
            examples: function.examples.len(),
            problems: Vec::new(),
        };
        for (check, result) in CHECKS.into_iter().zip(results) {
            let problem = result.err().map(|error| (check.to_owned(), error.to_string()));
            tested.problems.extend(problem);
        }
        if !is_callable || function.effect != Effect::None && !self.all {
            tested.skipped = tested.examples;
            return Ok(tested);
        }
        for (index, example) in function.examples.iter().enumerate() {
            match run_example(opened, version, function, example).await? {
                None => tested.passed += 1,
                Some(text) => tested.problems.push((format!("example {}", index + 1), text)),
            }
        }
        Ok(tested)
    }
}

/// Calls a function with the arguments of an example, and returns what is wrong with its result.
async fn run_example(
    opened: &Opened,
    version: &PrefabVersion,
    function: &Function,
    example: &Example,
) -> Result<Option<String>> {
    let tool = opened.local.runner.tool(version, function);
    let tool = tool.map_err(exit::failed)?;
    let arguments = Arguments::from_json(&example.arguments.clone().into());
    let caller = Client::open().caller();
    let done = call(&opened.toolbox, &caller, &tool, arguments).await?;
    if let Some(error) = &done.error {
        return Ok(Some(terminal::without_advice(&error.text).to_owned()));
    }
    let mut value = done.value().map(std::borrow::Cow::into_owned).unwrap_or_default();
    if function.output_files().next().is_some() {
        value = split_files(value).0;
    }
    if let Some(returns) = &example.returns
        && !returns.equals(&value)
    {
        let problem = format!("it returned {}, not {}", shown(&value), shown(returns));
        return Ok(Some(problem));
    }
    let output = function.output_schema.as_ref();
    let check = output.and_then(|schema| schema::Check::compile(schema).ok());
    let violations = check.map(|check| check.violations(&value)).unwrap_or_default();
    Ok(violations.first().map(|Violation { path, message, .. }| {
        format!("it returned {}, which its schema refuses: {path} {message}", shown(&value))
    }))
}

fn shown(value: &Json) -> String {
    exit::shorten(&value.compact(), MAX_SHOWN_CHARS)
}

fn write(common: &Common, version: &PrefabVersion, tested: &[Tested<'_>]) -> Result<()> {
    let row = |own: &Tested<'_>| {
        let [schemas, secrets, runtime] =
            own.is_ok.map(|is_ok| if is_ok { "ok" } else { "failed" }.to_owned());
        let examples = match (own.examples, own.skipped) {
            (0, _) => "-".to_owned(),
            (examples, 0) => format!("{} of {examples}", own.passed),
            (_, skipped) => format!("{skipped} skipped"),
        };
        [one_line(own.name), schemas, secrets, runtime, examples]
    };
    let rows: Vec<[String; 5]> = tested.iter().map(row).collect();
    let is_process = matches!(version.manifest.runtime, Runtime::Process { .. });
    let is_confined = is_process.then(process::can_confine);
    let document = || {
        let manifest = &version.manifest;
        let has_passed = tested.iter().all(|own| own.problems.is_empty());
        let mut document = object! {
            "id": manifest.id.as_str(),
            "version": manifest.version.to_string(),
            "passed": has_passed,
            "functions": tested.iter().map(document).collect::<Vec<Object>>(),
        };
        document.insert_some("confined", is_confined);
        Json::Object(document)
    };
    common.write(document, ["FUNCTION", "SCHEMAS", "SECRETS", "RUNTIME", "EXAMPLES"], &rows)?;
    if common.json {
        return Ok(());
    }
    let problems = tested.iter().flat_map(|own| {
        own.problems.iter().map(|(check, text)| format!("{}: {check}: {text}\n", own.name))
    });
    let mut problems: String = problems.collect();
    if is_confined == Some(false) {
        problems.extend([UNCONFINED, "\n"]);
    }
    if problems.is_empty() {
        return Ok(());
    }
    exit::print(&terminal::plain(&format!("\n{problems}")))
}

fn document(own: &Tested<'_>) -> Object {
    let problem = |(check, text): &(String, String)| {
        object! {"check": check.as_str(), "problem": text.as_str()}
    };
    object! {
        "name": own.name,
        "passed": own.problems.is_empty(),
        "examples": object! {"total": own.examples, "passed": own.passed, "skipped": own.skipped},
        "problems": own.problems.iter().map(problem).collect::<Vec<Object>>(),
    }
}
