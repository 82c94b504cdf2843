//! A gateway with the tools, prompts and resources that the official conformance suite of MCP calls, for
//! `cargo xtask mcp`: `serve_mcp_fixtures --listen ADDRESS --data DIR`.

use std::error::Error;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use toolwright_core::json::Object;
use toolwright_core::{Json, Tool, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_gateway::http::address;
use toolwright_gateway::telemetry::Telemetry;
use toolwright_gateway::{Additions, Config, Gateway, GatewayServer};
use toolwright_mcp::server::{Exchange, Features, FeaturesFuture, ObserveFuture, Peer};
use toolwright_mcp::{InputRequest, Interaction, Request, ResourceUpdates, RpcError, read_result};
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::toolbox::{SourceError, SourceFuture, ToolPage, ToolSource};
use toolwright_runtime::{Effect, Handler, Output, Scope, ToolError};

/// A red pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A sound without samples.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";
const LIST_ROOTS: &str = "roots/list";

/// The form that asks for a name.
const NAME_FORM: &str =
    r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#;

/// Fields of each type with defaults.
const DEFAULTS_FORM: &str = r#"{"type": "object", "properties": {
    "name": {"type": "string", "description": "Name", "default": "John Doe"},
    "age": {"type": "integer", "description": "Age", "default": 30},
    "score": {"type": "number", "description": "Score", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verified", "default": true}}, "required": []}"#;

/// Choices in each of their forms.
const CHOICES_FORM: &str = r#"{"type": "object", "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3,
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": [
        {"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"},
        {"const": "value3", "title": "Third Choice"}]}}}, "required": []}"#;

/// A schema with keywords that must survive.
const SCHEMA_2020_12: &str = r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}"##;

/// A parameter that is repeated in a header.
const HEADER_SCHEMA: &str = r#"{"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--listen", Some(address)) => config.listen = address::parse(&address)?,
            ("--data", Some(folder)) => config.data = folder.into(),
            _ => return Err("usage: serve_mcp_fixtures --listen ADDRESS --data DIR".into()),
        }
    }
    std::fs::create_dir_all(&config.data)?;
    let running = Arc::new(OnceLock::new());
    let additions = Additions {
        handlers: handlers(&running),
        sources: vec![Arc::new(ChangingSource::default())],
        features: Some(Arc::new(FixtureFeatures)),
    };
    let telemetry = Telemetry::default();
    let gateway = Gateway::with_additions(&config, &|_| None, telemetry, additions)?;
    let gateway = Arc::new(gateway.with_data(&config)?);
    let _ = running.set(Arc::downgrade(&gateway));
    GatewayServer::bind(gateway, &config).await?.run(pending()).await?;
    Ok(())
}

/// The tools. One of them needs the gateway, once it runs.
fn handlers(gateway: &Arc<OnceLock<Weak<Gateway>>>) -> Vec<Handler> {
    let gateway = Arc::clone(gateway);
    let text = |text: &str| object! {"type": "text", "text": text};
    let image = || object! {"type": "image", "data": IMAGE, "mimeType": "image/png"};
    let embedded = |uri: &str, kind: &str, text: &str| {
        object! {"type": "resource", "resource": object! {"uri": uri, "mimeType": kind, "text": text}}
    };
    vec![
        fixed("test_simple_text", [text("This is a simple text response for testing.")]),
        fixed("test_image_content", [image()]),
        fixed(
            "test_audio_content",
            [object! {"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}],
        ),
        fixed(
            "test_embedded_resource",
            [embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )],
        ),
        fixed(
            "test_multiple_content_types",
            [
                text("Multiple content types test:"),
                image(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ],
        ),
        tool("test_tool_with_logging", "{}", |_, interaction, _| async move {
            for message in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                interaction.log(object! {"level": "info", "data": message});
                pause().await;
            }
            Ok(Output::text("Tool with logging executed successfully"))
        }),
        tool("test_logging_tool", "{}", |_, interaction, _| async move {
            interaction.log(object! {"level": "info", "data": "The log is on"});
            Ok(Output::text("Logging evaluated"))
        }),
        tool("test_tool_with_progress", "{}", |_, interaction, _| async move {
            for done in [0_u64, 50, 100] {
                let message = format!("Completed step {done} of 100");
                interaction
                    .progress(object! {"progress": done, "total": 100_u64, "message": message});
                pause().await;
            }
            Ok(Output::text("Progress complete"))
        }),
        tool("test_streaming_elicitation", "{}", |_, interaction, _| async move {
            interaction.progress(object! {"progress": 50_u64, "total": 100_u64});
            Ok(Output::text("Streaming complete"))
        }),
        tool("test_error_handling", "{}", |_, _, _| async {
            Err(ToolError::new("This tool intentionally returns an error for testing"))
        }),
        tool("test_reconnection", "{}", move |scope, _, _| {
            let gateway = gateway.get().and_then(Weak::upgrade);
            async move {
                if let Some(gateway) = gateway {
                    gateway.mcp.close_streams(&scope.session.owner().conversation);
                }
                pause().await;
                pause().await;
                Ok(Output::text("Reconnection test completed successfully."))
            }
        }),
        tool(
            "test_sampling",
            r#"{"properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}"#,
            |_, interaction, arguments| async move {
                let prompt = arguments.get("prompt").and_then(Json::as_str).unwrap_or_default();
                let answer = ask(&interaction, SAMPLE, sampling(prompt), "sample").await?;
                Ok(Output::text(format!("LLM response: {}", said(&answer))))
            },
        ),
        tool(
            "test_elicitation",
            r#"{"properties": {"message": {"type": "string"}}, "required": ["message"]}"#,
            |_, interaction, arguments| async move {
                let message = arguments.get("message").and_then(Json::as_str).unwrap_or_default();
                let form = r#"{"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}"#;
                let answer =
                    ask(&interaction, ELICIT, form_params(message, form), "answer").await?;
                Ok(Output::text(format!("User response: {}", filled(&answer))))
            },
        ),
        form_tool("test_elicitation_sep1034_defaults", DEFAULTS_FORM),
        form_tool("test_elicitation_sep1330_enums", CHOICES_FORM),
        tool("json_schema_2020_12_tool", SCHEMA_2020_12, |_, _, arguments| async move {
            Ok(Output::text(format!("Called with: {}", arguments.compact())))
        }),
        tool("test_custom_header", HEADER_SCHEMA, |_, _, arguments| async move {
            Ok(Output::text(arguments.compact()))
        }),
        tool("test_missing_capability", "{}", |_, interaction, _| async move {
            interaction.require(SAMPLE)?;
            Ok(Output::text("The client can sample"))
        }),
        input_tool("test_input_required_result_elicitation", &[("user_name", ELICIT)]),
        input_tool("test_input_required_result_sampling", &[("capital_of_france", SAMPLE)]),
        input_tool("test_input_required_result_list_roots", &[("client_roots", LIST_ROOTS)]),
        input_tool("test_input_required_result_request_state", &[("confirm", ELICIT)]),
        input_tool("test_input_required_result_tampered_state", &[("confirm", ELICIT)]),
        input_tool(
            "test_input_required_result_multiple_inputs",
            &[("user_name", ELICIT), ("greeting", SAMPLE), ("client_roots", LIST_ROOTS)],
        ),
        input_tool(
            "test_input_required_result_capabilities",
            &[("elicit_input", ELICIT), ("sample_input", SAMPLE)],
        ),
        tool("test_input_required_result_multi_round", "{}", |_, interaction, _| async move {
            let first = form_params("Step 1: What is your name?", NAME_FORM);
            ask(&interaction, ELICIT, first, "step1").await?;
            let second = form_params("Step 2: What is your favorite color?", NAME_FORM);
            ask(&interaction, ELICIT, second, "step2").await?;
            Ok(Output::text("Multi-round complete"))
        }),
    ]
}

/// A tool with a fixed result.
fn fixed<const N: usize>(name: &str, content: [Object; N]) -> Handler {
    let content: Vec<Json> = content.into_iter().map(Json::from).collect();
    let result = object! {"content": content};
    tool(name, "{}", move |_, _, _| {
        let result = result.clone();
        async move { read_result(result, Era::Stateless) }
    })
}

fn tool<F, R>(name: &str, schema: &str, run: F) -> Handler
where
    F: Fn(Scope, Interaction, Object) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ToolResult> + Send + 'static,
{
    let mut schema = match Json::parse(schema) {
        Ok(Json::Object(schema)) => schema,
        _ => Object::new(),
    };
    if !schema.contains_key("type") {
        schema.insert("type", "object");
    }
    let tool = Tool::function(name, schema.into()).with_description("For the conformance suite.");
    let handler = Handler::new(tool, move |scope, arguments| {
        let run = run.clone();
        async move {
            let interaction = Interaction::of_call(&scope).await;
            run(scope, interaction, arguments).await
        }
    });
    handler.with_effect(Effect::None)
}

/// A tool that shows a form and returns what was filled in.
fn form_tool(name: &str, form: &'static str) -> Handler {
    tool(name, "{}", move |_, interaction, _| async move {
        let params = form_params("Please review the form", form);
        let answer = ask(&interaction, ELICIT, params, "form").await?;
        Ok(Output::text(format!("Elicitation completed: {}", filled(&answer))))
    })
}

/// A tool that asks for several inputs at once, as far as the client gives them.
fn input_tool(name: &str, inputs: &'static [(&'static str, &'static str)]) -> Handler {
    tool(name, "{}", move |_, interaction, _| async move {
        let offered = inputs.iter().filter(|(_, method)| interaction.offers(method));
        let answers = offered.map(|(key, method)| {
            let params = match *method {
                ELICIT => form_params("What is your name?", NAME_FORM),
                SAMPLE => sampling("What is the capital of France?"),
                _ => Object::new(),
            };
            ask(&interaction, method, params, key)
        });
        let answers = futures_util::future::try_join_all(answers).await?;
        let texts: Vec<String> = answers.iter().map(Object::compact).collect();
        Ok(Output::text(format!("state-ok integrity-ok {}", texts.join(" "))))
    })
}

async fn ask(
    interaction: &Interaction,
    method: &str,
    params: Object,
    key: &str,
) -> Result<Object, ToolError> {
    let request = InputRequest::new("fixtures", method, params).with_key(key);
    interaction.ask(request).await.map_err(|error| ToolError::new(error.to_string()))
}

fn form_params(message: &str, form: &str) -> Object {
    let form = Json::parse(form).unwrap_or_default();
    object! {"mode": "form", "message": message, "requestedSchema": form}
}

fn sampling(prompt: &str) -> Object {
    let content = object! {"type": "text", "text": prompt};
    let message = object! {"role": "user", "content": content};
    object! {"messages": vec![Json::from(message)], "maxTokens": 100_u64}
}

/// The text of a sampled message.
fn said(answer: &Object) -> String {
    let text = answer.get("content").and_then(|own| own.get("text")).and_then(Json::as_str);
    text.unwrap_or("no text").to_owned()
}

/// What a user did with a form.
fn filled(answer: &Object) -> String {
    let action = answer.get("action").and_then(Json::as_str).unwrap_or_default();
    let content = answer.get("content").map_or_else(|| "{}".to_owned(), Json::compact);
    format!("action={action}, content={content}")
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// A source whose tools change when `test_trigger_tool_change` is called.
#[derive(Default)]
struct ChangingSource {
    has_second: Arc<AtomicBool>,
    changed: Arc<Notify>,
}

impl ChangingSource {
    fn tool(name: &str) -> Tool {
        Tool::function(name, object! {"type": "object"}.into())
            .with_description("For the conformance suite.")
    }
}

impl ToolSource for ChangingSource {
    fn name(&self) -> &'static str {
        "mcp-fixtures"
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        Box::pin(async {
            let mut names = vec!["test_trigger_tool_change"];
            if self.has_second.load(Ordering::Relaxed) {
                names.push("test_changing_tool");
            }
            Ok(ToolPage::new(names.into_iter().map(ChangingSource::tool)))
        })
    }

    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        let (has_second, changed) = (self.has_second.clone(), self.changed.clone());
        Box::pin(async move {
            if !name.starts_with("test_trigger_tool_change") {
                return Ok(None);
            }
            Ok(Some(Handler::new(ChangingSource::tool(name), move |_, _| {
                has_second.fetch_xor(true, Ordering::Relaxed);
                changed.notify_one();
                async { Ok(Output::text("Mutation triggered")) }
            })))
        })
    }

    fn changed(&self) -> SourceFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }
}

/// The prompts and resources.
#[derive(Debug, Clone, Copy)]
struct FixtureFeatures;

impl Features for FixtureFeatures {
    fn capabilities(&self, era: Era) -> Object {
        let mut capabilities = object! {"prompts": Object::new(), "completions": Object::new()};
        match era {
            Era::Handshake => capabilities.insert("resources", object! {"subscribe": true}),
            Era::Stateless => capabilities.insert("resources", Object::new()),
        }
        capabilities
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request,
        peer: &'a Arc<Peer>,
        exchange: &'a Exchange,
    ) -> FeaturesFuture<'a> {
        Box::pin(async move {
            let params = &request.params;
            let text = |key| params.get(key).and_then(Json::as_str).unwrap_or_default();
            Some(match request.method.as_str() {
                "resources/list" => Ok(object! {"resources": resources()}),
                "resources/templates/list" => {
                    let template = object! {
                        "uriTemplate": "test://template/{id}/data",
                        "name": "template",
                        "mimeType": "application/json",
                    };
                    Ok(object! {"resourceTemplates": vec![Json::from(template)]})
                }
                "resources/read" => read(text("uri"), peer.era()),
                "prompts/list" => Ok(object! {"prompts": prompts()}),
                "prompts/get" => get(text("name"), params, exchange).await,
                "completion/complete" => Ok(object! {"completion": object! {
                    "values": Vec::<Json>::new(), "total": 0_u64, "hasMore": false,
                }}),
                _ => return None,
            })
        })
    }

    /// The resources do not change.
    fn observe<'a>(&'a self, _: &'a str) -> ObserveFuture<'a> {
        Box::pin(async { Ok(ResourceUpdates::new(watch::channel(0).1)) })
    }
}

fn resources() -> Vec<Json> {
    let resource = |name: &str, kind: &str| {
        let uri = format!("test://{name}");
        Json::from(object! {"uri": uri, "name": name, "mimeType": kind})
    };
    vec![
        resource("static-text", "text/plain"),
        resource("static-binary", "image/png"),
        resource("watched-resource", "text/plain"),
    ]
}

fn read(uri: &str, era: Era) -> Result<Object, RpcError> {
    let text = |kind: &str, text: String| object! {"uri": uri, "mimeType": kind, "text": text};
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => {
            text("text/plain", "This is the content of the static text resource.".to_owned())
        }
        ("test://watched-resource", _) => text("text/plain", "Watched".to_owned()),
        ("test://static-binary", _) => {
            object! {"uri": uri, "mimeType": "image/png", "blob": IMAGE}
        }
        (_, Some(id)) => {
            let data =
                object! {"id": id, "templateTest": true, "data": format!("Data for ID: {id}")};
            text("application/json", data.compact())
        }
        _ => return Err(RpcError::resource_not_found(uri, era)),
    };
    Ok(object! {"contents": vec![Json::from(content)]})
}

fn prompts() -> Vec<Json> {
    let prompt = |name: &str, arguments: &[&str]| {
        let argument = |name: &&str| Json::from(object! {"name": *name, "required": true});
        let arguments: Vec<Json> = arguments.iter().map(argument).collect();
        Json::from(
            object! {"name": name, "description": "For the conformance suite.", "arguments": arguments},
        )
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

async fn get(name: &str, params: &Object, exchange: &Exchange) -> Result<Object, RpcError> {
    let argument = |name: &str| {
        let value = params.get("arguments").and_then(|own| own.get(name)).and_then(Json::as_str);
        value.unwrap_or_default().to_owned()
    };
    let text = |text: String| object! {"type": "text", "text": text};
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = object! {
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            };
            vec![
                object! {"type": "resource", "resource": resource},
                text("Please process the embedded resource above.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            object! {"type": "image", "data": IMAGE, "mimeType": "image/png"},
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let interaction = Interaction::of(&exchange.session).await;
            let form = r#"{"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}"#;
            let params = form_params("What context should the prompt use?", form);
            let request = InputRequest::new("fixtures", ELICIT, params).with_key("user_context");
            let answer = interaction.ask(request).await?;
            vec![text(format!("Prompt with context: {}", filled(&answer)))]
        }
        _ => return Err(RpcError::invalid_params(format!("Unknown prompt: {name}"))),
    };
    let message = |content| Json::from(object! {"role": "user", "content": content});
    Ok(object! {"messages": contents.into_iter().map(message).collect::<Vec<Json>>()})
}
