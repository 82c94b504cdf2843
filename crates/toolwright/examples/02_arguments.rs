//! From a model's text to a tool's arguments: repair, coerce, complete, check. Every change is
//! reported; text that cannot be understood is refused with a message that the model can act on.
//!
//! ```text
//! > {"name": "O'Brien", "people": 4}
//! {"name":"O'Brien","people":4,"outside":false}
//! > {'name': 'Li, Wei', 'people': '4', 'outside': True,}
//! {"name":"Li, Wei","people":4,"outside":true}
//!   {"path":"/name","op":"quote","from":"'"}
//!   {"path":"/name","op":"quote","from":"'"}
//!   {"path":"/people","op":"quote","from":"'"}
//!   {"path":"/people","op":"quote","from":"'"}
//!   {"path":"/outside","op":"quote","from":"'"}
//!   {"path":"/outside","op":"literal","from":"True","to":true}
//!   {"path":"","op":"comma"}
//!   {"path":"/people","op":"number","from":"4","to":4}
//! > Sure! ```json {"name": "Ada", "people": 2, // two of us  "note": null} ```
//! {"name":"Ada","people":2,"note":null,"outside":false}
//!   {"path":"","op":"unfence"}
//!   {"path":"","op":"comment","from":"// two of us"}
//! > {"name": "Ada", "people": "a few", "outsid": true}
//! The arguments for tool book_table were not accepted.
//! - the arguments (additionalProperties): has no place for 'outsid' (did you mean 'outside'?); accepted: 'name', 'people', 'outside', 'note'
//! - /people (type): must be an integer, not a string; got "a few"; accepted: "integer"
//! Not given, optional: note.
//! Call the tool again. Correct only what is named here and keep the other arguments as they were.
//! > {"name": "Ada", "people": 1
//! {"name":"Ada","people":1,"outside":false}
//!   {"path":"/people","op":"close"}
//!   cut off: runs only if the model is known to have been done
//! > I would rather not.
//! Invalid JSON input for tool book_table: the arguments must be one JSON object.
//! Missing, required: name, people.
//! Not given, optional: note.
//! Call the tool again with all arguments as one JSON object.
//! ```

#![allow(clippy::print_stdout)]

use toolwright::args::{CoercionOptions, Parameters, parse};
use toolwright::prelude::*;

/// Book a table.
#[tool]
fn book_table(
    /// Who it is for
    name: String,
    /// How many people
    #[schemars(range(min = 1, max = 12))]
    people: u8,
    #[default(false)] outside: bool,
    /// Anything to know
    note: Option<String>,
) -> String {
    format!("{name}: {people} people, outside: {outside}, {note:?}")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let handler = book_table::handler();
    let parameters = Parameters::compile(handler.tool(), &[])?;
    for text in [
        r#"{"name": "O'Brien", "people": 4}"#,
        "{'name': 'Li, Wei', 'people': '4', 'outside': True,}",
        "Sure! ```json\n{\"name\": \"Ada\", \"people\": 2, // two of us\n \"note\": null}\n```",
        r#"{"name": "Ada", "people": "a few", "outsid": true}"#,
        r#"{"name": "Ada", "people": 1"#,
        "I would rather not.",
    ] {
        println!("> {}", text.replace('\n', " "));
        let arguments = Arguments::from_text(text);
        let resolved = parameters.resolve(parse(&arguments), &CoercionOptions::default());
        match resolved.feedback() {
            Some(words) => println!("{words}"),
            None => println!("{}", resolved.arguments().compact()),
        }
        for change in resolved.changes() {
            println!("  {}", change.to_json().compact());
        }
        if resolved.is_closed() {
            println!("  cut off: runs only if the model is known to have been done");
        }
    }
    Ok(())
}
