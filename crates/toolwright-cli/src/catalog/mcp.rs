//! An MCP server of the configuration as a prefab: each tool is a function.

use toolwright_catalog::{Access, Catalog};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::mcp::McpServers;
use toolwright_gateway::{Config, terminal};

use crate::exit::{Failure, Result};
use crate::tools;

/// The first version of a prefab.
const FIRST_VERSION: &str = "0.1.0";

/// Maximum number of characters of a function's description.
const MAX_DESCRIPTION: usize = 10_000;

/// Returns the manifest of a server without a version, and why tools are left out.
pub(super) fn manifest(
    config: &Config,
    name: &str,
    id: Option<&str>,
) -> Result<(Object, Vec<String>)> {
    let servers = McpServers::new(&config.mcp, &config.data, &McpServers::default())?;
    let (Some(client), Some(settings)) = (servers.client(name), config.mcp.get(name)) else {
        return Err(crate::mcp::unknown(config, name));
    };
    let listed = tools::block_on(async {
        let listed = client.list_tools().await;
        client.close().await;
        listed
    })?;
    let listed =
        listed.map_err(|error| Failure::failed(terminal::plain(&error.operator_text())))?;
    let (mut functions, mut left_out) = (Vec::new(), Vec::new());
    for tool in &listed {
        let text = |key: &str| tool.get(key).and_then(Json::as_str).unwrap_or_default();
        let own = text("name");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if own.is_empty() || own.len() > 128 || !own.chars().all(is_plain) {
            left_out.push(format!("the tool {own:?} is left out: no function can have this name"));
            continue;
        }
        let description: String = text("description").chars().take(MAX_DESCRIPTION).collect();
        let description = if description.trim().is_empty() { own.to_owned() } else { description };
        let mut function = object! {"name": own, "description": description};
        let schema = tool.get("inputSchema").cloned();
        function
            .insert("input_schema", schema.unwrap_or_else(|| object! {"type": "object"}.into()));
        function.insert_some("output_schema", tool.get("outputSchema").cloned());
        if let Some(hidden) = settings.hide.get(own) {
            let hidden: Vec<Json> = hidden.iter().map(|(name, _)| name.as_str().into()).collect();
            function.insert("hidden", hidden);
        }
        let hint = |key: &str| {
            let hint = tool.get("annotations").and_then(|own| own.get(key));
            settings.trust_annotations && hint.and_then(Json::as_bool) == Some(true)
        };
        if hint("readOnlyHint") {
            function.insert("effect", "read-only");
        } else if hint("idempotentHint") {
            function.insert("effect", "idempotent");
        }
        functions.push(Json::from(function));
    }
    let document = object! {
        "id": id.map_or_else(|| prefab_id(name), str::to_owned),
        "name": name,
        "description": format!("The tools of the MCP server {name}"),
        "tags": vec![Json::from("mcp")],
        "runtime": object! {"mcp": object! {"server": name}},
        "functions": functions,
    };
    Ok((document, left_out))
}

/// The id of a server's prefab: its name in the letters of ids.
fn prefab_id(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("mcp-{}", words.join("-"))
}

/// The version of a manifest: that of the latest one if nothing has changed since, and else the next minor version.
pub(super) fn next_version(catalog: &Catalog, document: &Object) -> String {
    let id = document.get("id").and_then(Json::as_str).unwrap_or_default();
    let Ok(latest) = catalog.version(&Access::everything(), id, None) else {
        return FIRST_VERSION.to_owned();
    };
    let version = latest.manifest.version.clone();
    let mut same = document.clone();
    same.insert("version", version.to_string());
    if latest.manifest.document == Json::from(same) {
        return version.to_string();
    }
    format!("{}.{}.0", version.major, version.minor + 1)
}
