//! Tool definitions from Rust types.
//!
//! A [`Parameter`] is a name with a type; a [`Definition`] combines parameters into a [`Tool`]. The
//! schemas come from `schemars` and are then simplified for models and vendors (`tidy`). `#[tool]`
//! generates calls of this module.

mod missing;
mod tidy;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolwright_core::{Tool, ToolKind};
use toolwright_json::{Json, Object, SerdeError};

/// Returns the schema of a type that is used in arguments.
pub fn schema_of<T: JsonSchema>() -> Json {
    schema(SchemaSettings::draft2020_12().for_deserialize(), |generator| {
        generator.subschema_for::<T>()
    })
}

/// Returns the schema of a result type, if it is an object: other types are not valid output
/// schemas everywhere.
pub(crate) fn output_of<T: JsonSchema>() -> Option<Json> {
    let schema = schema(SchemaSettings::draft2020_12().for_serialize(), |generator| {
        generator.subschema_for::<T>()
    });
    let is_object = schema.get("type").and_then(Json::as_str) == Some("object");
    is_object.then_some(schema)
}

fn schema(settings: SchemaSettings, make: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Json {
    let mut generator = settings.into_generator();
    let schema = make(&mut generator);
    finish(Value::from(schema), generator)
}

/// Adds the generator's definitions to a schema and tidies the result.
fn finish(mut schema: Value, mut generator: SchemaGenerator) -> Json {
    let definitions = generator.take_definitions(true);
    if let (Value::Object(members), false) = (&mut schema, definitions.is_empty()) {
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Json::from(&tidy::tidy(schema))
}

/// A parameter of a tool: name, type, description, default.
pub struct Parameter<T> {
    name: &'static str,
    description: Option<&'static str>,
    default: Option<(Maker<T>, Writer<T>)>,
    // Function pointer, so that only [`Parameter::new`] needs the trait bounds
    schema: fn(&mut SchemaGenerator) -> Schema,
    read: fn(&Json) -> Result<T, SerdeError>,
    absent: fn() -> Option<T>,
}

/// Creates a default value.
pub type Maker<T> = fn() -> T;

/// Writes a value as JSON, if its type can be serialized.
pub type Writer<T> = fn(&T) -> Option<Json>;

impl<T> Clone for Parameter<T> {
    fn clone(&self) -> Parameter<T> {
        *self
    }
}

impl<T> Copy for Parameter<T> {}

/// A type that can be an argument of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "a model cannot fill this",
    note = "put `#[data]` on the type, or derive `Deserialize` and `JsonSchema` for it",
    note = "a value that comes from the run and not from the model is marked `#[context]`"
)]
pub trait Argument: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Argument for T {}

impl<T> Parameter<T> {
    /// Creates a parameter with a name.
    pub fn new(name: &'static str) -> Parameter<T>
    where
        T: Argument,
    {
        Parameter {
            name,
            description: None,
            default: None,
            schema: |generator| generator.subschema_for::<T>(),
            read: |json| json.to(),
            absent: missing::absent,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: &'static str) -> Parameter<T> {
        self.description = Some(description);
        self
    }

    /// Sets the default, and the function that writes it into the schema.
    #[must_use]
    pub fn with_default(mut self, default: Maker<T>, writer: Writer<T>) -> Parameter<T> {
        self.default = Some((default, writer));
        self
    }

    /// Replaces the schema that the type has.
    #[must_use]
    pub fn with_schema(mut self, schema: fn(&mut SchemaGenerator) -> Schema) -> Parameter<T> {
        self.schema = schema;
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Reads the value of this parameter from JSON.
    pub fn read(&self, json: &Json) -> Result<T, SerdeError> {
        (self.read)(json)
    }

    /// Returns the value of an absent parameter; `None` if the parameter is required.
    pub fn absent(&self) -> Option<T> {
        self.default.map_or_else(self.absent, |(default, _)| Some(default()))
    }

    /// Returns the default as JSON, if it can be serialized.
    fn written_default(&self) -> Option<Json> {
        let (default, write) = self.default?;
        write(&default())
    }
}

/// Builds a tool definition from parameters.
#[must_use]
pub struct Definition {
    tool: Tool,
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// Kept separately, because `schemars` would lose digits of numbers
    defaults: Vec<(&'static str, Json)>,
    hints: Object,
}

impl Definition {
    /// Creates a definition without parameters.
    pub fn new(name: impl Into<String>) -> Definition {
        Definition {
            tool: Tool { name: name.into(), ..Tool::default() },
            generator: SchemaSettings::draft2020_12().for_deserialize().into_generator(),
            properties: Map::new(),
            required: Vec::new(),
            defaults: Vec::new(),
            hints: Object::new(),
        }
    }

    /// Sets the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Definition {
        self.tool.description = Some(description.into());
        self
    }

    /// Sets the display name.
    pub fn with_title(mut self, title: impl Into<String>) -> Definition {
        self.tool.title = Some(title.into());
        self
    }

    /// Sets a boolean hint, named as in MCP, to true.
    pub fn with_hint(mut self, hint: &'static str) -> Definition {
        self.hints.insert(hint, true);
        self
    }

    /// Sets the schema of the results.
    pub fn with_output(mut self, schema: Option<Json>) -> Definition {
        self.tool.output = schema;
        self
    }

    /// Adds a parameter.
    pub fn with<T>(mut self, parameter: &Parameter<T>) -> Definition {
        let mut schema = (parameter.schema)(&mut self.generator);
        if let Some(description) = parameter.description {
            schema.insert("description".to_owned(), description.into());
        }
        if let Some(default) = parameter.written_default() {
            self.defaults.push((parameter.name, default));
        }
        if parameter.absent().is_none() {
            self.required.push(parameter.name.into());
        }
        self.properties.insert(parameter.name.to_owned(), Value::from(schema));
        self
    }

    /// Builds the tool.
    pub fn finish(self) -> Tool {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), self.required.into());
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        let mut parameters = finish(schema.into(), self.generator);
        for (name, default) in self.defaults {
            let properties = parameters.as_object_mut().and_then(|own| own.get_mut("properties"));
            let property =
                properties.and_then(Json::as_object_mut).and_then(|own| own.get_mut(name));
            if let Some(Json::Object(property)) = property {
                property.insert("default", default);
            }
        }
        Tool {
            kind: ToolKind::Function(Some(parameters)),
            annotations: (!self.hints.is_empty()).then_some(self.hints),
            ..self.tool
        }
    }
}
