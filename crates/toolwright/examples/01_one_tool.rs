//! One tool: a function with `#[tool]`, the schema that a model sees, and a call.
//!
//! ```text
//! get_weather: Current weather of a city.
//! {"type":"object","properties":{"city":{"type":"string","description":"The city, e.g. 北京"},"unit":{"type":"string","enum":["celsius","fahrenheit"],"description":"A unit of temperature","default":"celsius"}},"required":["city"],"additionalProperties":false}
//! {"city":"北京","degrees":22,"unit":"celsius"}
//! ```

#![allow(clippy::print_stdout)]

use toolwright::call::CallStatus;
use toolwright::prelude::*;

/// A unit of temperature
#[data]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[data]
struct Weather {
    city: String,
    degrees: i32,
    unit: Unit,
}

/// Current weather of a city.
#[tool(read_only)]
async fn get_weather(
    /// The city, e.g. 北京
    city: String,
    #[default(Unit::Celsius)] unit: Unit,
) -> Weather {
    let degrees = match unit {
        Unit::Celsius => 22,
        Unit::Fahrenheit => 72,
    };
    Weather { city, degrees, unit }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let toolbox = Toolbox::new([get_weather::handler()])?;

    for tool in toolbox.tools() {
        println!("{}: {}", tool.name, tool.description.as_deref().unwrap_or_default());
        println!("{}", tool.parameters().map(Json::compact).unwrap_or_default());
    }

    // A call as a model would send it. The default is filled in, the result is checked JSON.
    let call = Call::new("call_1", "get_weather", Arguments::from_text(r#"{"city": "北京"}"#));
    let session = Session::new("a run");
    if let CallStatus::Done(done) = toolbox.call(&session, &call).await {
        println!("{}", done.outcome.words());
    }
    Ok(())
}
