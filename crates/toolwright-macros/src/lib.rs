//! The attributes of toolwright: `#[tool]` turns a function into a tool, `#[data]` prepares a type
//! as an argument or a result.
//!
//! ```text
//! function → parse (options, parameters, docs) → expand → function + type with `handler()`
//! ```
//!
//! The functions that the expansion calls are in `toolwright::macros`; this crate has only what
//! must be known at compile time. All errors of a function are reported at once, with their
//! positions.
//!
//! Examples that run are beside what an expansion needs: the prelude of `toolwright`, and its example
//! `01_one_tool`.
//!
//! The crate promises no stability of its own: depend on `toolwright`, which exports it.

mod data;
mod docs;
mod expand;
mod options;
mod parameter;
mod parse;
mod suggest;

use proc_macro::TokenStream;

/// Turns a function into a tool.
///
/// The function stays unchanged. The macro adds a type of the same name, whose `handler()` returns
/// the tool; one `use` imports both. A function that is not `async` runs on a blocking thread.
///
/// ```text
/// use toolwright::prelude::*;
///
/// /// Current weather of a city.
/// #[tool(read_only, deadline = "5s")]
/// async fn get_weather(
///     /// The city, e.g. 北京
///     city: String,
///     #[default(Unit::Celsius)] unit: Unit,
///     days: Option<u8>,
/// ) -> Result<Weather, WeatherError> { … }
///
/// let handler: Handler = get_weather::handler();
/// ```
///
/// # What the model sees
///
/// The name and the doc comment of the function, and a schema with a property for each parameter:
/// its type by `schemars`, its doc comment as description. A parameter is required unless it has a
/// default or is an `Option`; for an `Option` the model may also send `null`. The sections `#
/// Errors`, `# Panics`, `# Safety` and `# Examples` of the doc comment are left out.
///
/// # Parameters
///
/// Each has a name and an owned type that `serde` can deserialize and `schemars` can describe (see
/// `#[data]`), or is a plain reference to one (`&str`, `&[T]`, `&Path`).
///
/// - `#[default(value)]`: the value of an absent argument. It is in the schema too.
/// - `#[schemars(range(min = 1, max = 7))]`, `length`, `regex`, `extend`, … restrict the schema.
/// - `#[context]`, on the first parameter, a `&T` or `&mut T`: a value of the run's context, which
///   models do not see. Calls that take `&mut T` run one at a time, calls that take `&T`
///   concurrently.
/// - `#[scope]`, on the next, a `&Scope` or `Scope`: the scope of the call.
///
/// # Result
///
/// `()`, text, bytes (`Vec<u8>`), an `Output`, anything that converts to one with `From`, or
/// anything that implements `Serialize`; or a `Result` of these with an error type that implements
/// `Error`, a `ToolError`, a boxed error, or text.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the name, if not that of the function |
/// | `description = "…"` | the description, if not the doc comment |
/// | `title = "…"` | a display name |
/// | `version = "…"` | the version of the function; part of the tool's digest |
/// | `read_only` | the tool has no effects, so that calls may be repeated |
/// | `keyed` | the effect happens once per idempotency key |
/// | `deadline = "5s"` | maximum duration of a call (`ms`, `s`, `m`, `h`) |
/// | `cache = "60s"` | how long a result is cached; requires `read_only` |
/// | `retries = 3` | maximum number of retries of retryable errors |
/// | `concurrency = 2` | maximum number of concurrent calls |
/// | `budget = 4096` | number of bytes of a result that the model receives |
/// | `envelope = "data"` | results as `{"success": true, "data": …}`, or with `"result"` |
/// | `hidden = "a, b"` | parameters that are hidden from the model and filled by the host |
/// | `crate = "…"` | the path of `toolwright`, if not `::toolwright` |
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(options.into(), item.into()).into()
}

/// Prepares a type as an argument or a result of a tool.
///
/// Derives `Serialize`, `Deserialize` and `JsonSchema`, without a dependency on `serde` or
/// `schemars`. Their attributes (`#[serde(rename_all = "…")]`, `#[schemars(range(…))]`) work as
/// usual.
///
/// ```text
/// use toolwright::prelude::*;
///
/// #[data]
/// #[serde(rename_all = "lowercase")]
/// enum Unit { Celsius, Fahrenheit }
/// ```
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    data::data(options.into(), item.into()).into()
}
