//! Functions of a prefab.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::schema::Check;
use toolwright_core::{Json, duration, object};
use toolwright_json::{Object, pointer};
use toolwright_plan::Plan;

use super::definition;
use super::fields::{Fields, Node};
use super::runtime::Runtime;
use super::vocabulary::{self, Unmarked};
use crate::binding::{Binding, Credential};
use toolwright_runtime::settings::Effect;

/// The member of the arguments that has the links to input files.
pub const FILES: &str = "files";

/// A function of a prefab.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Function {
    /// The name, unique in the prefab
    pub name: String,
    /// What it does
    pub description: String,
    /// The definition that clients receive, as it was written: name, description, parameters, files and
    /// returns, without the parameters that the manifest hides
    pub definition: Json,
    /// The schema of its arguments: all parameters, and `files` if it has input files
    pub input_schema: Json,
    /// The schema of its return value, if the manifest describes it
    pub output_schema: Option<Json>,
    /// The files that it takes and returns
    pub files: Vec<FileParameter>,
    /// The effect of a call
    pub effect: Effect,
    /// Maximum duration of a call
    pub deadline: Option<Duration>,
    /// How long a result is cached
    pub cache: Option<Duration>,
    /// Parameters that the host fills and no model sees
    pub hidden: Vec<String>,
    /// The names of the secrets that it needs
    pub secrets: Vec<String>,
    /// Whether it answers with a stream of events
    pub streaming: bool,
    /// How it is sent as an HTTP request, if the runtime is HTTP
    pub http: Option<Binding>,
    /// The plan that it runs, if its prefab consists of plans. Its parameters are the inputs of the plan, its result are
    /// the outputs
    pub plan: Option<Arc<Plan>>,
    /// Calls that show how it is used, and that test it
    pub examples: Vec<Example>,
}

/// A call of a function, as its manifest shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// The arguments, without hidden parameters
    pub arguments: Object,
    /// The return value, if the manifest states it
    pub returns: Option<Json>,
}

/// Files that a function takes or returns under one key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileParameter {
    /// The key
    pub key: String,
    /// Whether the function takes or returns them
    pub direction: FileDirection,
    /// Whether a call needs them
    pub is_required: bool,
    /// The schema of the list of links
    pub schema: Json,
}

/// Whether a function takes or returns files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDirection {
    /// It takes them
    Input,
    /// It returns them
    Output,
}

impl Function {
    /// Returns the files that it takes.
    pub fn input_files(&self) -> impl Iterator<Item = &FileParameter> {
        self.files.iter().filter(|file| file.direction == FileDirection::Input)
    }

    /// Returns the files that it returns.
    pub fn output_files(&self) -> impl Iterator<Item = &FileParameter> {
        self.files.iter().filter(|file| file.direction == FileDirection::Output)
    }

    /// Returns the files that it takes and that no HTTP request of it has.
    pub(crate) fn unsent_files(&self) -> impl Iterator<Item = &FileParameter> {
        unsent_files(&self.files, self.http.as_ref())
    }

    /// Returns the schema of the arguments that a caller sends: without hidden parameters.
    pub fn visible_schema(&self) -> Json {
        let mut schema = self.input_schema.clone();
        definition::hide_properties(&mut schema, &|name| self.hidden.iter().any(|own| own == name));
        schema
    }

    /// Returns the definition without further parameters, which the configuration hides.
    pub fn definition_without(&self, hidden: &[&str]) -> Json {
        let mut definition = self.definition.clone();
        definition::hide(&mut definition, &|name| hidden.contains(&name));
        definition
    }
}

const EFFECTS: &[(&str, Effect)] =
    &[("read-only", Effect::None), ("idempotent", Effect::Keyed), ("once", Effect::Once)];

pub(super) fn read(
    node: Node<'_>,
    runtime: Option<&Runtime>,
    secrets: &[String],
) -> Option<Function> {
    let written = node.value;
    let at = node.pointer.clone();
    let problems = node.problems;
    let mut fields = Fields::of(node)?;
    let name = fields.require("name").and_then(|node| {
        let name = node.text_of(1, 128)?;
        let is_name = name.chars().all(|own| own.is_alphanumeric() || "_-.".contains(own));
        let rule = "the name of a function has letters, digits, '_', '-' and '.'";
        node.some_or(is_name.then_some(name), rule)
    });
    let description = fields.require("description").and_then(|node| node.text_of(1, 10_000));
    let plan = read_plan(&mut fields, runtime);
    let files = fields.take("files").map_or(Some(Vec::new()), |node| {
        if plan.is_some() {
            node.fault("a plan takes and returns no files");
        }
        vocabulary::files(&node)
    });
    let (parameters, schema) = (fields.take("parameters"), fields.take("input_schema"));
    if let (Some(_), Some(schema)) = (&parameters, &schema) {
        schema.fault("a function has either 'parameters' or 'input_schema'");
    }
    let is_listed = schema.is_none();
    if let (Some(_), Some(node)) = (&plan, parameters.as_ref().or(schema.as_ref())) {
        node.fault("the parameters of this function are the 'inputs' of its plan");
    }
    let input = match (&parameters, &schema) {
        _ if plan.is_some() => plan.as_deref().map(plan_inputs),
        (_, Some(schema)) => read_schema(schema),
        (Some(parameters), None) => vocabulary::parameters(parameters),
        (None, None) => {
            Some((object! {"type": "object", "additionalProperties": false}, Vec::new()))
        }
    };
    let (returns, output) = (fields.take("returns"), fields.take("output_schema"));
    if let (Some(_), Some(output)) = (&returns, &output) {
        output.fault("a function has either 'returns' or 'output_schema'");
    }
    let output_at = if output.is_some() { "output_schema" } else { "returns" };
    let output_schema = match (&returns, &output) {
        (_, Some(output)) => Some(output.value.clone()),
        (Some(returns), None) => Some(vocabulary::lower(returns, Unmarked::Required)),
        (None, None) => plan.as_deref().map(plan_outputs),
    };
    let effect = fields.take("effect").map_or(Some(Effect::Once), |node| node.one_of(EFFECTS));
    let deadline = fields.take("deadline").and_then(|node| time(&node));
    let cache = fields.take("cache").and_then(|node| {
        let cached = time(&node);
        if effect.is_some_and(|effect| effect != Effect::None) {
            node.fault("only a function with the effect 'read-only' is cached");
        }
        cached
    });
    let parameter_names = input.as_ref().map(|(_, names)| names.as_slice());
    let hidden = fields.take("hidden").map_or(Some(Vec::new()), |node| {
        declared(&node, parameter_names, "a parameter of this function")
    });
    let all_secrets = secrets;
    let secrets = match fields.take("secrets") {
        Some(node) => declared(&node, Some(secrets), "declared in 'secrets' of the manifest")
            .unwrap_or_default(),
        None => secrets.to_vec(),
    };
    let streaming = fields.take("streaming").map_or(Some(false), |node| node.flag());
    let http = fields.take("http").and_then(|node| {
        if runtime.is_some_and(|runtime| !matches!(runtime, Runtime::Http { .. })) {
            node.fault("only a function of an HTTP runtime has this member");
            return None;
        }
        let binding = Binding::parse(node.value);
        binding.map_err(|error| problems.add(node.pointer + &error.pointer, error.problem)).ok()
    });
    let examples = fields.take("examples");
    fields.finish();

    let (mut arguments, names) = input?;
    let files = files?;
    let is_process = runtime.is_none_or(|runtime| matches!(runtime, Runtime::Process { .. }));
    if !is_process && streaming == Some(true) {
        let problem = "only a function of a process runtime answers with events";
        problems.add(format!("{at}/streaming"), problem);
    }
    let takes_files = files.iter().any(|file| file.direction == FileDirection::Input);
    if let Some(index) = names.iter().position(|name| name == FILES).filter(|_| takes_files) {
        let at = if is_listed {
            format!("{at}/parameters/{index}/name")
        } else {
            format!("{at}/input_schema/properties/{FILES}")
        };
        problems.add(at, "the arguments have the links to input files under this name; rename it");
        return None;
    }
    if let Some(binding) = &http {
        let is_file = |key: &str| files.iter().any(|file| file.key == key);
        let unknown = binding.arguments().find(|own| !names.iter().any(|name| name == own));
        if let Some(name) = unknown.or_else(|| binding.files().find(|key| !is_file(key))) {
            let problem = format!("'{name}' is neither a parameter nor a file of this function");
            problems.add(format!("{at}/http"), problem);
        }
        let mut needed = binding.security.iter().flatten().flat_map(Credential::secrets);
        if let Some(name) = needed.find(|name| !all_secrets.iter().any(|own| own == name)) {
            let problem = format!("'{name}' is not declared in 'secrets' of the manifest");
            problems.add(format!("{at}/http/security"), problem);
        }
    }
    if let Some(Runtime::Http { .. }) = runtime
        && problems.checks_schemas
    {
        for file in unsent_files(&files, http.as_ref()) {
            let problem =
                "no request has this file: send it as the body or as a part of the body of 'http'";
            problems.add(format!("{at}/files/{}", pointer::escape(&file.key)), problem);
        }
    }
    vocabulary::add_files(&mut arguments, &files);
    let input_schema = Json::Object(arguments);
    if problems.checks_schemas {
        vocabulary::compile(&input_schema, problems, |path| match path {
            ["properties", FILES, "properties", rest @ ..] if takes_files => {
                join(&at, &[&["files"], rest])
            }
            path if !is_listed => join(&at, &[&["input_schema"], path]),
            ["properties", name, rest @ ..] => {
                let name = pointer::unescape(name);
                let index = names.iter().position(|own| *own == name).unwrap_or_default();
                join(&at, &[&["parameters", &index.to_string()], rest])
            }
            _ => join(&at, &[&["parameters"]]),
        });
        if let Some(schema) = &output_schema {
            vocabulary::compile(schema, problems, |path| join(&at, &[&[output_at], path]));
        }
    }
    let hidden = hidden?;
    let schemas = (&input_schema, output_schema.as_ref());
    let definition = definition::define(written.as_object()?, schemas, takes_files, &hidden);
    let function = Function {
        name: name?,
        description: description?,
        definition,
        input_schema,
        output_schema,
        files,
        effect: effect?,
        deadline,
        cache,
        hidden,
        secrets,
        streaming: streaming?,
        http,
        plan,
        examples: Vec::new(),
    };
    let examples = examples.map_or(Some(Vec::new()), |node| read_examples(&node, &function));
    Some(Function { examples: examples?, ..function })
}

/// Reads the plan of a function.
fn read_plan(fields: &mut Fields<'_>, runtime: Option<&Runtime>) -> Option<Arc<Plan>> {
    if runtime != Some(&Runtime::Plan) {
        if let Some(node) = fields.take("plan") {
            node.fault("only a function of a plan runtime has this member");
        }
        return None;
    }
    let node = fields.require("plan")?;
    let (plan, errors) = Plan::parse_partly(node.value);
    for error in &errors {
        node.problems.add(format!("{}{}", node.pointer, error.path), error.message.clone());
    }
    Some(Arc::new(plan))
}

/// Returns the schema of a plan's inputs, and their names.
fn plan_inputs(plan: &Plan) -> (Object, Vec<String>) {
    let schema = plan.inputs.as_ref().and_then(Json::as_object).cloned();
    with_names(schema.unwrap_or_else(|| object! {"type": "object", "additionalProperties": false}))
}

/// Returns the schema of a plan's outputs, of which only the names are known.
fn plan_outputs(plan: &Plan) -> Json {
    let names = || plan.outputs.iter().map(|(name, _)| name.as_str());
    let properties: Object =
        names().map(|name| (name.to_owned().into(), Json::Object(Object::new()))).collect();
    let required: Vec<&str> = names().collect();
    object! {"type": "object", "properties": properties, "required": required}.into()
}

/// Returns the input files that no request has.
fn unsent_files<'f>(
    files: &'f [FileParameter],
    http: Option<&Binding>,
) -> impl Iterator<Item = &'f FileParameter> {
    let is_sent = move |key: &str| http.is_some_and(|http| http.files().any(|own| own == key));
    let inputs = files.iter().filter(|file| file.direction == FileDirection::Input);
    inputs.filter(move |file| !is_sent(&file.key))
}

/// Reads the examples of a function, and checks them with its schemas.
fn read_examples(node: &Node<'_>, function: &Function) -> Option<Vec<Example>> {
    let items = node.items()?;
    // A schema that does not compile is reported at its place.
    let compile = |schema: &Json| Check::compile(schema).ok();
    let is_checked = node.problems.checks_schemas && !items.is_empty();
    let input = is_checked.then(|| compile(&function.visible_schema())).flatten();
    let output = function.output_schema.as_ref().filter(|_| is_checked).and_then(compile);
    let mut examples = Vec::with_capacity(items.len());
    for item in items {
        let Some(mut fields) = Fields::of(item) else { continue };
        let arguments = fields.require("arguments").and_then(|node| {
            check_example(&node, input.as_ref());
            node.object().cloned()
        });
        let returns = fields.take("returns").map(|node| {
            check_example(&node, output.as_ref());
            node.value.clone()
        });
        fields.finish();
        examples.extend(arguments.map(|arguments| Example { arguments, returns }));
    }
    Some(examples)
}

/// Reports the members of an example that a schema does not accept.
fn check_example(node: &Node<'_>, check: Option<&Check>) {
    for violation in check.into_iter().flat_map(|check| check.violations(node.value)) {
        node.problems.add(format!("{}{}", node.pointer, violation.path), violation.message);
    }
}

fn join(start: &str, parts: &[&[&str]]) -> String {
    let mut out = start.to_owned();
    for segment in parts.iter().copied().flatten() {
        out.push('/');
        out.push_str(segment);
    }
    out
}

/// Reads a JSON Schema of arguments, and the names of its properties.
fn read_schema(node: &Node<'_>) -> Option<(Object, Vec<String>)> {
    let schema = node.object()?;
    if schema.get("type").is_some_and(|kind| kind.as_str() != Some("object")) {
        node.fault("arguments are an object: the type of this schema must be \"object\"");
    }
    Some(with_names(schema.clone()))
}

/// Adds the type of arguments to their schema, and the names of its properties.
fn with_names(mut schema: Object) -> (Object, Vec<String>) {
    if !schema.contains_key("type") {
        schema.insert("type", "object");
    }
    let properties = schema.get("properties").and_then(Json::as_object);
    let names = properties.into_iter().flat_map(Object::keys).map(str::to_owned).collect();
    (schema, names)
}

/// Reads a duration of more than zero.
fn time(node: &Node<'_>) -> Option<Duration> {
    let time = duration::parse(node.text()?).filter(|time| !time.is_zero());
    let units = duration::UNITS;
    node.some_or(time, &format!("this must be a duration such as \"10s\"; units are {units}"))
}

/// Reads a list of names that are declared elsewhere.
fn declared(node: &Node<'_>, names: Option<&[String]>, what: &str) -> Option<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for item in node.items()? {
        let Some(name) = item.text() else { continue };
        if names.is_some_and(|names| !names.iter().any(|own| own == name)) {
            item.fault(format!("'{name}' is not {what}"));
        }
        if found.iter().any(|own| own == name) {
            item.fault(format!("'{name}' is repeated"));
        }
        found.push(name.to_owned());
    }
    Some(found)
}
