//! Estimates tokens without a tokenizer: one token for four ASCII characters, one for every other
//! character.

use toolwright_core::{Body, Message, Part, Request, Response, Usage};

/// Estimates the usage of a response without a tokenizer: one token for four ASCII characters, one for every other
/// character. Media do not count.
pub fn usage(request: &Request, response: &Response) -> Usage {
    let messages = request.instructions.iter().chain(&request.messages);
    let mut input: u64 = messages.map(message).sum();
    for tool in &request.tools {
        input += text(&tool.name) + text(tool.description.as_deref().unwrap_or_default());
        input += tool.parameters().map_or(0, |schema| text(&schema.compact()));
    }
    let output = response.parts.iter().map(part).sum();
    Usage { input: Some(input), output: Some(output), ..Usage::default() }
}

fn message(message: &Message) -> u64 {
    message.parts.iter().map(part).sum()
}

fn part(part: &Part) -> u64 {
    match &part.body {
        Body::Text(own) | Body::Refusal(own) => text(own),
        Body::Json(value) => text(&value.compact()),
        Body::Reasoning(reasoning) => text(&reasoning.joined()),
        Body::Call(call) => text(&call.name) + text(call.arguments.as_str()),
        Body::Outcome(outcome) => outcome.content.iter().map(self::part).sum(),
        Body::Media(_) | Body::Opaque(_) => 0,
    }
}

fn text(text: &str) -> u64 {
    let (ascii, other) = text.chars().fold((0u64, 0u64), |(ascii, other), letter| {
        if letter.is_ascii() { (ascii + 1, other) } else { (ascii, other + 1) }
    });
    ascii.div_ceil(4) + other
}
