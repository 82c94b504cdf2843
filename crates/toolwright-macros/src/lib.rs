//! The attributes of toolwright: `#[tool]` makes a tool of a function, `#[data]` makes a type fit to
//! be an argument or a result.
//!
//! ```text
//! function → parse (options, parameters, docs) → expand → function + type with `handler()`
//! ```
//!
//! What an expansion does at run time is in `toolwright::macros`; here is only what must be known
//! when it is compiled. Every mistake of a function is reported at once, at its place.

mod data;
mod docs;
mod expand;
mod options;
mod parameter;
mod parse;
mod suggest;

use proc_macro::TokenStream;

/// Makes a tool of a function.
///
/// The function stays as it is. Beside it stands a type of the same name, whose `handler()` gives
/// the tool with what runs it; one `use` imports both. A function that is not `async` runs on a
/// thread of its own, where it may block.
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
/// The name and the doc comment of the function, and a schema with a property for each parameter: its
/// type by `schemars`, its doc comment as description. A parameter is required unless it has a
/// default or is an `Option`; for an `Option` the model may also say `null`. Of the doc comment the
/// sections `# Errors`, `# Panics`, `# Safety` and `# Examples` are left out: they are for programmers.
///
/// # Parameters
///
/// Each is a name with an owned type that `serde` can read and `schemars` can describe (see
/// `#[data]`), or a plain reference to one (`&str`, `&[T]`, `&Path`).
///
/// - `#[default(value)]`: what an absent argument means. It is in the schema too.
/// - `#[schemars(range(min = 1, max = 7))]`, `length`, `regex`, `extend`, … narrow the schema.
/// - `#[context]`, on the first parameter, a `&T` or `&mut T`: a value of the run's context, which
///   no model sees. Calls that take `&mut T` run one at a time, calls that take `&T` side by side.
/// - `#[scope]`, on the next, a `&Scope` or `Scope`: what the call knows of itself.
///
/// # Result
///
/// `()`, text, bytes (`Vec<u8>`), an `Output`, whatever becomes one by `From`, or anything that
/// `serde` can write; or a `Result` of these with an error of any kind: one that implements `Error`,
/// a `ToolError`, a boxed error, or text.
///
/// # Options
///
/// | option | means |
/// |---|---|
/// | `name = "…"` | the name, if not that of the function |
/// | `description = "…"` | the description, if not the doc comment |
/// | `title = "…"` | a name for people |
/// | `read_only` | a call changes nothing, so that it may be repeated |
/// | `keyed` | a call has its effect once for each idempotency key |
/// | `deadline = "5s"` | how long a call may take (`ms`, `s`, `m`, `h`) |
/// | `cache = "60s"` | how long a result may be given again; needs `read_only` |
/// | `retries = 3` | further attempts at what is retryable |
/// | `concurrency = 2` | how many calls may run at once |
/// | `budget = 4096` | how many bytes of a result the model may see |
/// | `envelope = "data"` | results as `{"success": true, "data": …}`, or with `"result"` |
/// | `hidden = "a, b"` | parameters that the model does not see; the host fills them |
/// | `crate = "…"` | where `toolwright` is, if not at `::toolwright` |
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(options.into(), item.into()).into()
}

/// Makes a type fit to be an argument or a result of a tool.
///
/// The same as deriving `Serialize`, `Deserialize` and `JsonSchema`, without a dependency on `serde`
/// or `schemars`. Their own attributes (`#[serde(rename_all = "…")]`, `#[schemars(range(…))]`) work
/// as always.
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
