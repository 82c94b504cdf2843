//! Prints the functions of an OpenAPI document for `cargo xtask search-report`, which passes its file: a line of JSON
//! each, as the search sees them.

#![allow(clippy::print_stdout, reason = "the program prints functions")]

use std::error::Error;

use toolwright::Json;
use toolwright::catalog::Manifest;
use toolwright::catalog::openapi::{ImportOptions, import};
use toolwright_core::object;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("needs the file of an OpenAPI document")?;
    let imported = import(&Json::parse_bytes(&std::fs::read(file)?)?, &ImportOptions::new())?;
    let manifest = Manifest::parse(&imported.manifest).map_err(|faults| faults[0].to_string())?;
    for function in &manifest.functions {
        let parameters = function.definition.get("parameters").and_then(Json::as_array);
        let text = |parameter: &Json, key| {
            parameter.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let parameters = parameters.unwrap_or_default().iter().map(|parameter| {
            Json::from(format!("{}: {}", text(parameter, "name"), text(parameter, "description")))
        });
        let line = object! {
            "id": function.name.as_str(),
            "name": function.name.as_str(),
            "description": function.description.as_str(),
            "params": Json::Array(parameters.collect()),
        };
        println!("{}", Json::from(line).compact());
    }
    Ok(())
}
