//! The client that MCP's conformance suite judges, which `cargo xtask mcp` runs: it lists what the server at the
//! address of the last argument has, and calls its tools.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed check ends the program"
)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::LOCATION;
use toolwright_core::{Arguments, Call, Json, Tool, object};
use toolwright_json::Object;
use toolwright_mcp::client::{
    Authorization, LoginFuture, LoginHandler, RegisteredClient, ServerUrl,
};
use toolwright_mcp::{
    Client, InputAnswer, InputFuture, InputHandler, InputRequest, Interaction, McpSource,
};
use toolwright_runtime::toolbox::ToolSource;
use toolwright_runtime::{Context, Session, Toolbox};
use toolwright_transport::HttpClient;
use toolwright_transport::oauth::{MemoryTokens, PendingLogin};

const DEADLINE: Duration = Duration::from_secs(10);

/// The tool whose schema must arrive as it was sent.
const FOCAL: &str = "json_schema_2020_12_tool";

/// The metadata of the client, at the address that the suite expects.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Accepts every form as it is.
struct AcceptDefaults;

impl InputHandler for AcceptDefaults {
    fn answer(&self, _: InputRequest) -> InputFuture<'_> {
        Box::pin(async {
            let content = object! {"confirmed": true};
            Ok(InputAnswer::Accept(content).into_result())
        })
    }
}

/// Logs in as a browser does whose user agrees to everything.
struct Browser(HttpClient);

impl LoginHandler for Browser {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn log_in<'l>(&'l self, login: &'l PendingLogin) -> LoginFuture<'l> {
        Box::pin(async {
            let request = Request::get(login.url()).body(Bytes::new()).unwrap();
            let reply = self.0.send(request).await.unwrap();
            Ok(reply.headers[LOCATION].to_str().unwrap().to_owned())
        })
    }
}

/// What the suite tells the client besides the address.
fn scenario_context() -> Json {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    Json::parse(&context).unwrap_or_default()
}

/// The access to the server of a scenario.
fn authorization(url: &http::Uri, http: &HttpClient) -> Authorization {
    let authorization = Authorization::new(url, http, Arc::new(MemoryTokens::new()), "suite");
    let context = scenario_context();
    let text = |name: &str| context.get(name).and_then(Json::as_str);
    let authorization = match (text("client_id"), text("client_secret")) {
        (Some(id), Some(secret)) => {
            let client = RegisteredClient::new(id).with_secret(secret.into());
            let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
            let is_own_user = scenario.contains("client-credentials");
            let client = if is_own_user { client.with_client_credentials() } else { client };
            authorization.with_client(client)
        }
        _ => authorization.with_client_metadata(CLIENT_METADATA),
    };
    authorization.with_handler(Arc::new(Browser(http.clone())))
}

/// The calls of a scenario: those of its context, or one of each tool.
fn calls(toolbox: &Toolbox) -> Vec<(String, Json)> {
    let context = scenario_context();
    if let Some(calls) = context.get("toolCalls").and_then(Json::as_array) {
        let text = |call: &Json| call.get("name").and_then(Json::as_str).unwrap().to_owned();
        let arguments = |call: &Json| call.get("arguments").cloned().unwrap_or_default();
        return calls.iter().map(|call| (text(call), arguments(call))).collect();
    }
    let tools = toolbox.tools();
    let focal = tools.iter().find(|tool| tool.name == FOCAL).and_then(|tool| tool.parameters());
    let called = tools.iter().filter(|tool| tool.name != FOCAL);
    let arguments = |tool: &Tool| match (tool.name.as_str(), focal) {
        ("json_schema_echo", Some(schema)) => object! {"schema": schema.clone()},
        _ => tool.parameters().map(required).unwrap_or_default(),
    };
    called.map(|tool| (tool.name.clone(), arguments(tool).into())).collect()
}

/// Values of the required parameters of a schema.
fn required(schema: &Json) -> Object {
    let names = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    let mut arguments = Object::new();
    for name in names.iter().filter_map(Json::as_str) {
        let property = schema.get("properties").and_then(|own| own.get(name));
        let value: Json = match property.and_then(|own| own.get("type")).and_then(Json::as_str) {
            Some("integer" | "number") => 2_u64.into(),
            Some("boolean") => true.into(),
            _ => "text".into(),
        };
        arguments.insert(name.to_owned(), value);
    }
    arguments
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().next_back().unwrap().parse().expect("the last argument is a URL");
    let http = HttpClient::new("the server of the suite").unwrap();
    let authorization = authorization(&url, &http);
    let url = ServerUrl::new(url, http).with_authorization(authorization);
    let client = Client::new("suite", url);
    let info = client.info().await.unwrap();
    let source: Arc<dyn ToolSource> = Arc::new(McpSource::new(client.clone()).with_prefix(""));
    let toolbox = Toolbox::default().with_sources([source]);
    toolbox.refresh().await;
    let context = Context::new().with(Interaction::new().with_input(AcceptDefaults));
    let session = Session::new("suite").with_context(context);
    for (index, (name, arguments)) in calls(&toolbox).into_iter().enumerate() {
        let call = Call::new(format!("call_{index}"), name, Arguments::from_json(&arguments));
        // The suite judges what the server receives.
        drop(toolbox.call(&session, &call).await);
    }
    for (capability, list, key, read, by) in [
        ("resources", "resources/list", "resources", "resources/read", "uri"),
        ("prompts", "prompts/list", "prompts", "prompts/get", "name"),
    ] {
        if !info.has(capability) {
            continue;
        }
        let entries = client.list(list, key).await.unwrap();
        for entry in &entries {
            let mut params = Object::new();
            params.insert(by, entry.get(by).cloned().unwrap_or_default());
            client.request(read, params, DEADLINE).await.unwrap();
        }
    }
    client.close().await;
}
