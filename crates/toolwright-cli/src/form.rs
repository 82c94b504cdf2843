//! Forms of MCP servers on the terminal.

use std::io::{self, BufRead, Write};

use toolwright_core::Json;
use toolwright_core::json::{Number, Object};
use toolwright_mcp::{InputAnswer, InputFuture, InputHandler, InputRequest};

use toolwright_gateway::terminal;

/// Asks the user of the terminal. Questions are on stderr, answers on stdin.
pub(super) struct TerminalForm;

impl InputHandler for TerminalForm {
    fn answer(&self, request: InputRequest) -> InputFuture<'_> {
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                ask(&request, &mut io::stdin().lock(), &mut io::stderr().lock())
            });
            let answer = asked.await.ok().and_then(Result::ok).unwrap_or(InputAnswer::Cancel);
            Ok(answer.into_result())
        })
    }
}

/// Asks for each field of a form, or for the consent to visit a page.
fn ask(
    request: &InputRequest,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<InputAnswer> {
    let text = |key: &str| request.params.get(key).and_then(Json::as_str).unwrap_or_default();
    writeln!(output, "{} asks: {}", request.from, terminal::plain(text("message")))?;
    if !text("url").is_empty() {
        writeln!(output, "  {}", terminal::plain(text("url")))?;
    }
    if !confirm("Answer? [y/N] ", input, output)? {
        return Ok(InputAnswer::Decline);
    }
    let schema = request.params.get("requestedSchema");
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let required = schema.and_then(|schema| schema.get("required")).and_then(Json::as_array);
    let is_required =
        |name: &str| required.is_some_and(|own| own.iter().any(|own| own.as_str() == Some(name)));
    let mut content = Object::new();
    for (name, field) in fields.map(Object::iter).into_iter().flatten() {
        loop {
            let Some(line) = read(&prompt(name, field), input, output)? else {
                return Ok(InputAnswer::Cancel);
            };
            if line.is_empty() {
                if field.get("default").is_none() && is_required(name) {
                    writeln!(output, "  this is required")?;
                    continue;
                }
                break;
            }
            if let Some(value) = value(field, &line) {
                content.insert(name.to_owned(), value);
                break;
            }
            writeln!(output, "  this is not {}", kind(field))?;
        }
    }
    Ok(InputAnswer::Accept(content))
}

fn confirm(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<bool> {
    let answer = read(question, input, output)?.unwrap_or_default();
    Ok(matches!(answer.as_str(), "y" | "Y" | "yes"))
}

/// Reads a line; `None` at the end of the input.
fn read(
    question: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<String>> {
    write!(output, "{question}")?;
    output.flush()?;
    let mut line = String::new();
    let count = input.read_line(&mut line)?;
    Ok((count > 0).then(|| line.trim().to_owned()))
}

fn prompt(name: &str, field: &Json) -> String {
    let text = |key: &str| field.get(key).and_then(Json::as_str);
    let about = match (text("title"), text("description")) {
        (Some(title), Some(description)) => format!("{title} – {description}"),
        (title, description) => title.or(description).unwrap_or(name).to_owned(),
    };
    let choices = field.get("enum").and_then(Json::as_array).map(|choices| {
        let choices: Vec<&str> = choices.iter().filter_map(Json::as_str).collect();
        format!(" ({})", choices.join(", "))
    });
    let default = field.get("default").map(|default| format!(" [{}]", default.compact()));
    let line = format!("{about}{}{}: ", choices.unwrap_or_default(), default.unwrap_or_default());
    terminal::plain(&line)
}

fn kind(field: &Json) -> &str {
    match field.get("type").and_then(Json::as_str) {
        Some("integer") => "an integer",
        Some("number") => "a number",
        Some("boolean") => "yes or no",
        _ => "one of the choices",
    }
}

/// Reads the value of a field.
fn value(field: &Json, line: &str) -> Option<Json> {
    let number = || Number::parse(line).map(Json::Number);
    match field.get("type").and_then(Json::as_str) {
        Some("integer") => {
            number().filter(|own| matches!(own, Json::Number(own) if own.is_integer()))
        }
        Some("number") => number(),
        Some("boolean") => match line {
            "y" | "yes" | "true" => Some(true.into()),
            "n" | "no" | "false" => Some(false.into()),
            _ => None,
        },
        Some("array") => {
            let items = line.split(',').map(|item| Json::from(item.trim())).collect();
            Some(Json::Array(items))
        }
        _ => {
            let choices = field.get("enum").and_then(Json::as_array);
            let is_choice = |choices: &[Json]| choices.iter().any(|own| own.as_str() == Some(line));
            choices.is_none_or(is_choice).then(|| line.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::object;

    use super::*;

    fn asked(answers: &str) -> InputAnswer {
        let schema = r#"{"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"},
            "status": {"type": "string", "enum": ["on", "off"], "default": "on"}}}"#;
        let params = object! {"message": "Who?", "requestedSchema": Json::parse(schema).unwrap()};
        let request = InputRequest::new("server", "elicitation/create", params);
        ask(&request, &mut answers.as_bytes(), &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_form_is_asked_field_by_field_until_it_is_valid() {
        let filled = asked("y\n\nAda\nmany\n36\nup\n\n");
        let expected = object! {"name": "Ada", "age": 36_u64};
        assert_eq!(filled, InputAnswer::Accept(expected));
    }

    #[test]
    fn a_user_may_decline_or_leave() {
        assert_eq!(asked("n\n"), InputAnswer::Decline);
        assert_eq!(asked("y\nAda\n"), InputAnswer::Cancel);
    }
}
