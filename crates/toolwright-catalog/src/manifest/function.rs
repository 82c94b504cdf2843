//! Functions of a prefab.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::schema::Check;
use toolwright_core::{Json, duration, object};
use toolwright_json::{Object, pointer};
use toolwright_plan::Plan;
use toolwright_runtime::Effect;

use super::runtime::Runtime;
use super::vocabulary::{self, Unmarked};
use super::{Fields, Node, binding, definition};
use crate::binding::{Binding, Credential};

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
    /// The plan that it runs, if its prefab consists of plans. Its parameters are the inputs of the plan, its result
    /// are the outputs
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
        let is_sent =
            |key: &str| self.http.as_ref().is_some_and(|http| http.files().any(|file| file == key));
        self.input_files().filter(move |file| !is_sent(&file.key))
    }

    /// Returns the schema of the arguments that a caller sends: without hidden parameters.
    pub fn visible_schema(&self) -> Json {
        let mut schema = self.input_schema.clone();
        definition::hide_properties(&mut schema, &|name| {
            self.hidden.iter().any(|hidden| hidden == name)
        });
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

/// What the members of a function depend on.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'m> {
    /// The runtime, if it could be read
    pub(super) runtime: Option<&'m Runtime>,
    /// The secrets that the manifest declares
    pub(super) secrets: &'m [String],
    /// Whether schemas are compiled, and requests are compared with the files: not for a manifest that was published,
    /// perhaps before such a check existed
    pub(super) checks_schemas: bool,
}

/// The arguments of a function as they were read.
struct Arguments {
    schema: Object,
    /// The names of the parameters, in order
    names: Vec<String>,
    /// Whether they are a list of parameters, and not a schema
    is_listed: bool,
}

/// The output of a function as it was read.
struct Returned {
    schema: Option<Json>,
    /// The member that describes it
    member: &'static str,
}

/// Reads a function: its members one by one, then what they say of each other, then its schemas.
pub(super) fn read(node: Node<'_>, around: Surroundings<'_>) -> Option<Function> {
    let (written, mut fields) = (node.clone(), Fields::of(node)?);
    let name = fields.require("name").and_then(|node| {
        let name = node.text_of(1, 128)?;
        let is_name = name.chars().all(|own| own.is_alphanumeric() || "_-.".contains(own));
        let rule = "the name of a function has letters, digits, '_', '-' and '.'";
        node.some_or(is_name.then_some(name), rule)
    });
    let description = fields.require("description").and_then(|node| node.text_of(1, 10_000));
    let plan = read_plan(&mut fields, around.runtime);
    let files = read_files(&mut fields, plan.is_some());
    let arguments = read_arguments(&mut fields, plan.as_deref());
    let returned = read_returned(&mut fields, plan.as_deref());
    let effect = fields.take("effect").map_or(Some(Effect::Once), |node| node.one_of(EFFECTS));
    let deadline = fields.take("deadline").and_then(|node| time(&node));
    let cache = fields.take("cache").and_then(|node| {
        if effect.is_some_and(|effect| effect != Effect::None) {
            node.fault("only a function with the effect 'read-only' is cached");
        }
        time(&node)
    });
    let names = arguments.as_ref().map(|schema| schema.names.as_slice());
    let hidden = fields
        .take("hidden")
        .map_or(Some(Vec::new()), |node| declared(&node, names, "a parameter of this function"));
    let secrets = fields.take("secrets").map_or(Some(around.secrets.to_vec()), |node| {
        declared(&node, Some(around.secrets), "declared in 'secrets' of the manifest")
    });
    let streaming = fields.take("streaming").map_or(Some(false), |node| node.flag());
    let http = read_binding(&mut fields, around.runtime);
    let examples = fields.take("examples");
    fields.finish();
    let mut function = Function {
        name: name.unwrap_or_default(),
        description: description.unwrap_or_default(),
        definition: Json::Null,
        input_schema: Json::Null,
        output_schema: returned.schema,
        files: files?,
        effect: effect.unwrap_or(Effect::Once),
        deadline,
        cache,
        hidden: hidden.unwrap_or_default(),
        secrets: secrets.unwrap_or_default(),
        streaming: streaming.unwrap_or_default(),
        http,
        plan,
        examples: Vec::new(),
    };
    let arguments = arguments?;
    function.check(&written, &arguments, around)?;
    function.compile(&written, arguments, returned.member, around.checks_schemas)?;
    if let Some(node) = examples {
        function.examples = read_examples(&node, &function, around.checks_schemas)?;
    }
    Some(function)
}

impl Function {
    /// Reports what the members of the function say against each other.
    fn check(
        &self,
        written: &Node<'_>,
        arguments: &Arguments,
        around: Surroundings<'_>,
    ) -> Option<()> {
        let is_process =
            around.runtime.is_none_or(|runtime| matches!(runtime, Runtime::Process { .. }));
        if !is_process && self.streaming {
            let problem = "only a function of a process runtime answers with events";
            written.fault_at("/streaming", problem);
        }
        let taken = arguments.names.iter().position(|name| name == FILES);
        if let Some(index) = taken.filter(|_| self.input_files().next().is_some()) {
            let at = if arguments.is_listed {
                format!("/parameters/{index}/name")
            } else {
                format!("/input_schema/properties/{FILES}")
            };
            let problem = "the arguments have the links to input files under this name; rename it";
            written.fault_at(&at, problem);
            return None;
        }
        if let Some(binding) = &self.http {
            let is_file = |key: &str| self.files.iter().any(|file| file.key == key);
            let is_known = |own: &str| arguments.names.iter().any(|name| name == own);
            let arguments = binding.arguments().filter(|argument| !is_known(argument));
            for name in arguments.chain(binding.files().filter(|key| !is_file(key))) {
                let problem =
                    format!("'{name}' is neither a parameter nor a file of this function");
                written.fault_at("/http", problem);
            }
            let needed = binding.security.iter().flatten().flat_map(Credential::secrets);
            let is_declared = |name: &str| around.secrets.iter().any(|secret| secret == name);
            for name in needed.filter(|name| !is_declared(name)) {
                let problem = format!("'{name}' is not declared in 'secrets' of the manifest");
                written.fault_at("/http/security", problem);
            }
        }
        // A request that cannot be read may have the files.
        let is_read = self.http.is_some() || written.value.get("http").is_none();
        if let Some(Runtime::Http { .. }) = around.runtime
            && around.checks_schemas
            && is_read
        {
            for file in self.unsent_files() {
                let problem = "no request has this file: send it as the body or as a part of the body of 'http'";
                written.fault_at(&format!("/files/{}", pointer::escape(&file.key)), problem);
            }
        }
        Some(())
    }

    /// Sets the schemas, and the definition that clients receive. Schemas that do not compile are reported at the
    /// places that they come from.
    fn compile(
        &mut self,
        written: &Node<'_>,
        arguments: Arguments,
        returned: &str,
        checks_schemas: bool,
    ) -> Option<()> {
        let Arguments { mut schema, names, is_listed } = arguments;
        let takes_files = self.input_files().next().is_some();
        vocabulary::add_files(&mut schema, &self.files);
        self.input_schema = Json::Object(schema);
        if checks_schemas {
            vocabulary::compile(&self.input_schema, written, |path| match path {
                ["properties", FILES, "properties", rest @ ..] if takes_files => {
                    join(&[&["files"], rest])
                }
                path if !is_listed => join(&[&["input_schema"], path]),
                ["properties", name, rest @ ..] => {
                    let name = pointer::unescape(name);
                    let index = names.iter().position(|known| *known == name).unwrap_or_default();
                    join(&[&["parameters", &index.to_string()], rest])
                }
                _ => join(&[&["parameters"]]),
            });
            if let Some(schema) = &self.output_schema {
                vocabulary::compile(schema, written, |path| join(&[&[returned], path]));
            }
        }
        let schemas = (&self.input_schema, self.output_schema.as_ref());
        let members = written.value.as_object()?;
        self.definition = definition::define(members, schemas, takes_files, &self.hidden);
        Some(())
    }
}

/// Reads the files of a function.
fn read_files(fields: &mut Fields<'_>, is_plan: bool) -> Option<Vec<FileParameter>> {
    let Some(node) = fields.take("files") else { return Some(Vec::new()) };
    if is_plan {
        node.fault("a plan takes and returns no files");
    }
    vocabulary::files(&node)
}

/// Reads the parameters of a function, or the schema of its arguments. Those of a plan are its inputs.
fn read_arguments(fields: &mut Fields<'_>, plan: Option<&Plan>) -> Option<Arguments> {
    let (parameters, schema) = (fields.take("parameters"), fields.take("input_schema"));
    if let (Some(_), Some(schema)) = (&parameters, &schema) {
        schema.fault("a function has either 'parameters' or 'input_schema'");
    }
    if let (Some(_), Some(node)) = (&plan, parameters.as_ref().or(schema.as_ref())) {
        node.fault("the parameters of this function are the 'inputs' of its plan");
    }
    let is_listed = schema.is_none();
    let (schema, names) = match (plan, schema, parameters) {
        (Some(plan), ..) => plan_inputs(plan),
        (None, Some(schema), _) => read_schema(&schema)?,
        (None, None, Some(parameters)) => vocabulary::parameters(&parameters)?,
        (None, None, None) => {
            (object! {"type": "object", "additionalProperties": false}, Vec::new())
        }
    };
    Some(Arguments { schema, names, is_listed })
}

/// Reads what a function returns. The outputs of a plan are known.
fn read_returned(fields: &mut Fields<'_>, plan: Option<&Plan>) -> Returned {
    let (returns, output) = (fields.take("returns"), fields.take("output_schema"));
    if let (Some(_), Some(output)) = (&returns, &output) {
        output.fault("a function has either 'returns' or 'output_schema'");
    }
    let member = if output.is_some() { "output_schema" } else { "returns" };
    let schema = match (&returns, &output) {
        (_, Some(output)) => Some(output.value.clone()),
        (Some(returns), None) => Some(vocabulary::lower(returns, Unmarked::Required)),
        (None, None) => plan.map(plan_outputs),
    };
    Returned { schema, member }
}

/// Reads how a function is sent as an HTTP request.
fn read_binding(fields: &mut Fields<'_>, runtime: Option<&Runtime>) -> Option<Binding> {
    let node = fields.take("http")?;
    if runtime.is_some_and(|runtime| !matches!(runtime, Runtime::Http { .. })) {
        node.fault("only a function of an HTTP runtime has this member");
        return None;
    }
    binding::read(node)
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
    for error in errors {
        node.fault_at(&error.path, error.message);
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

/// Reads the examples of a function, and checks them with its schemas.
fn read_examples(
    node: &Node<'_>,
    function: &Function,
    checks_schemas: bool,
) -> Option<Vec<Example>> {
    let items = node.items()?;
    // A schema that does not compile is reported at its place.
    let compile = |schema: &Json| Check::compile(schema).ok();
    let is_checked = checks_schemas && !items.is_empty();
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
        node.fault_at(violation.path.as_str(), violation.message);
    }
}

fn join(parts: &[&[&str]]) -> String {
    parts.iter().copied().flatten().flat_map(|segment| ["/", *segment]).collect()
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
        if names.is_some_and(|names| !names.iter().any(|known| known == name)) {
            item.fault(format!("'{name}' is not {what}"));
        }
        if found.iter().any(|earlier| earlier == name) {
            item.fault(format!("'{name}' is repeated"));
        }
        found.push(name.to_owned());
    }
    Some(found)
}
