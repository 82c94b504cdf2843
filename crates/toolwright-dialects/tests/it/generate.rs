//! Strategies for canonical values, for the laws that hold for all values.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use toolwright_core::json::{Number, Object};
use toolwright_core::part::{
    CacheMark, Media, MediaKind, MediaSource, Part, Reasoning, Section, SectionKind, Signature,
};
use toolwright_core::request::{Format, Sampling, SchemaFormat, Thinking};
use toolwright_core::{
    Arguments, Body, Call, Dialect, Json, Message, Outcome, Request, Response, Role, Stop,
    StopReason, Tool, ToolChoice, ToolKind, Usage,
};
use toolwright_testing::generate::{json, members, name, text};

/// Arguments that are an object.
pub fn arguments() -> impl Strategy<Value = Arguments> {
    prop_oneof![
        4 => members(json()).prop_map(|object| Arguments::from_json(&Json::Object(object))),
        1 => Just(Arguments::Malformed("{\"city\": \"Par".to_owned())),
    ]
}

/// A schema of parameters that every vendor supports.
fn schema() -> impl Strategy<Value = Json> {
    let kind = prop_oneof![Just("string"), Just("integer"), Just("number"), Just("boolean")];
    vec(("[a-z]{1,8}", kind, option::of(text())), 0..4).prop_map(|properties| {
        let mut object = Object::new();
        let mut required = Vec::new();
        for (name, kind, description) in properties {
            let mut property = Object::new();
            property.insert("type", kind);
            property.insert_some("description", description);
            if kind == "string" {
                required.push(Json::from(name.as_str()));
            }
            object.insert(name, property);
        }
        required.dedup();
        let mut schema = Object::new();
        schema.insert("type", "object");
        schema.insert("properties", object);
        schema.insert("required", Json::Array(required));
        Json::Object(schema)
    })
}

fn mark() -> impl Strategy<Value = Option<CacheMark>> {
    let ttl = option::of(prop_oneof![Just("5m".to_owned()), Just("1h".to_owned())]);
    option::weighted(0.2, ttl.prop_map(|ttl| CacheMark { ttl, ..CacheMark::default() }))
}

/// A function tool.
pub fn tool() -> impl Strategy<Value = Tool> {
    (name(), option::of(text()), option::weighted(0.8, schema()), option::of(any::<bool>()), mark())
        .prop_map(|(name, description, parameters, strict, cache)| Tool {
            name,
            description,
            kind: ToolKind::Function(parameters),
            strict: strict.filter(|strict| !strict),
            cache,
            ..Tool::default()
        })
}

fn image() -> impl Strategy<Value = Media> {
    let source = prop_oneof![
        Just(MediaSource::Base64("iVBORw0KGgo=".to_owned())),
        Just(MediaSource::Url("https://example.com/a.png".to_owned())),
    ];
    source.prop_map(|source| {
        let mime = matches!(source, MediaSource::Base64(_)).then(|| "image/png".to_owned());
        Media { kind: MediaKind::Image, mime, source, name: None }
    })
}

fn reasoning(dialect: Dialect) -> impl Strategy<Value = Part> {
    let kind = prop_oneof![Just(SectionKind::Full), Just(SectionKind::Summary)];
    let sections = vec((kind, text()), 0..3);
    (sections, any::<bool>()).prop_map(move |(sections, signed)| {
        let sections = sections.into_iter().map(|(kind, text)| Section { kind, text }).collect();
        let mut part = Part::new(Body::Reasoning(Reasoning { sections, redacted: false }));
        part.signature = signed.then(|| Signature { dialect, value: "c2lnbmF0dXJl".to_owned() });
        part
    })
}

fn words() -> impl Strategy<Value = Part> {
    (text(), mark()).prop_map(|(text, cache)| Part { cache, ..Part::text(text) })
}

fn content() -> impl Strategy<Value = Vec<Part>> {
    let piece = prop_oneof![
        3 => text().prop_map(Part::text),
        1 => json().prop_map(|value| Part::new(Body::Json(value))),
        1 => image().prop_map(|media| Part::new(Body::Media(media))),
    ];
    vec(piece, 0..3)
}

/// A turn: a user message, the model's text and calls, and their outcomes.
fn turn(dialect: Dialect) -> impl Strategy<Value = Vec<Message>> {
    let user = vec(
        prop_oneof![3 => words(), 1 => image().prop_map(|media| Part::new(Body::Media(media)))],
        1..3,
    );
    let calls = vec((name(), arguments(), content(), option::of(any::<bool>())), 0..3);
    (user, option::of(reasoning(dialect)), vec(words(), 0..2), calls, any::<u16>()).prop_map(
        |(user, reasoning, words, calls, salt)| {
            let mut messages = vec![Message::new(Role::User, user)];
            let mut parts: Vec<Part> = reasoning.into_iter().chain(words).collect();
            let mut outcomes = Vec::new();
            for (index, (name, arguments, content, error)) in calls.into_iter().enumerate() {
                let id = format!("call_{salt}_{index}");
                parts.push(Part::call(Call::new(id.clone(), name, arguments)));
                outcomes.push(Message::tool(Outcome {
                    call_id: Some(id),
                    name: None,
                    content,
                    error,
                }));
            }
            if !parts.is_empty() {
                messages.push(Message::new(Role::Assistant, parts));
            }
            messages.extend(outcomes);
            messages
        },
    )
}

fn choice() -> impl Strategy<Value = Option<ToolChoice>> {
    prop_oneof![
        Just(None),
        Just(Some(ToolChoice::Auto)),
        Just(Some(ToolChoice::None)),
        Just(Some(ToolChoice::Required)),
        Just(Some(ToolChoice::Tool("t0".to_owned()))),
        any::<bool>().prop_map(|required| Some(ToolChoice::Allowed {
            names: vec!["t0".to_owned(), "t1".to_owned()],
            required
        })),
    ]
}

fn sampling() -> impl Strategy<Value = Sampling> {
    let decimal = || option::of("0\\.[1-9]".prop_map(|digits| Number::parse(&digits).unwrap()));
    let whole = || option::of((1_u64..10_000).prop_map(Number::from));
    (whole(), decimal(), decimal(), whole(), vec(text(), 0..2), whole()).prop_map(
        |(max_tokens, temperature, top_p, top_k, stop, seed)| Sampling {
            max_tokens,
            temperature,
            top_p,
            top_k,
            stop,
            seed,
            ..Sampling::default()
        },
    )
}

fn thinking() -> impl Strategy<Value = Option<Thinking>> {
    let effort = prop_oneof![Just("low".to_owned()), Just("high".to_owned())];
    let own =
        (option::of(any::<bool>()), option::of(effort)).prop_map(|(enabled, effort)| Thinking {
            enabled,
            effort: effort.filter(|_| enabled != Some(false)),
            ..Thinking::default()
        });
    option::weighted(
        0.3,
        own.prop_filter("says something", |own| own.enabled.is_some() || own.effort.is_some()),
    )
}

fn format() -> impl Strategy<Value = Option<Format>> {
    let by_schema = schema().prop_map(|schema| {
        let name = Some("travel_plan".to_owned());
        Format::Schema(SchemaFormat { name, description: None, schema, strict: None })
    });
    option::weighted(0.3, prop_oneof![Just(Format::Json), Just(Format::Text), by_schema])
}

/// A request with signatures of one dialect.
pub fn request(dialect: Dialect) -> impl Strategy<Value = Request> {
    let tools = vec(tool(), 2..4).prop_map(|mut tools| {
        for (index, tool) in tools.iter_mut().enumerate().take(2) {
            tool.name = format!("t{index}");
        }
        let mut seen = std::collections::BTreeSet::new();
        tools.retain(|tool| seen.insert(tool.name.clone()));
        tools
    });
    let conversation = vec(turn(dialect), 1..4);
    let settings =
        (choice(), option::of(any::<bool>()), sampling(), thinking(), format(), any::<bool>());
    (option::of(vec(words(), 1..3)), conversation, tools, settings).prop_map(
        |(
            instructions,
            turns,
            tools,
            (tool_choice, parallel, sampling, thinking, format, stream),
        )| {
            Request {
                model: Some("model-1".to_owned()),
                instructions: instructions.map(|parts| Message::new(Role::System, parts)),
                messages: turns.into_iter().flatten().collect(),
                tools,
                tool_choice,
                parallel,
                sampling,
                thinking,
                format,
                stream: Some(stream),
                ..Request::default()
            }
        },
    )
}

fn reason() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        Just(StopReason::End),
        Just(StopReason::MaxTokens),
        Just(StopReason::ContextWindow),
        Just(StopReason::StopSequence),
        Just(StopReason::Refusal),
        Just(StopReason::Filtered),
        Just(StopReason::MalformedCall),
        Just(StopReason::Pause),
    ]
}

/// A response with signatures of one dialect.
pub fn response(dialect: Dialect) -> impl Strategy<Value = Response> {
    let calls = vec((name(), arguments()), 0..3);
    let count = || option::of(0_u64..100_000);
    let usage = (0_u64..100_000, count(), count(), 0_u64..100_000, count()).prop_map(
        |(input, cache_read, cache_write, output, reasoning)| Usage {
            input: Some(input),
            cache_read,
            cache_write,
            output: Some(output),
            reasoning: reasoning.map(|reasoning| reasoning.min(output)),
            ..Usage::default()
        },
    );
    (option::of(reasoning(dialect)), option::of(text()), calls, reason(), usage).prop_map(
        |(reasoning, words, calls, reason, usage)| {
            let mut parts: Vec<Part> = reasoning.into_iter().collect();
            parts.extend(words.map(Part::text));
            for (index, (name, arguments)) in calls.into_iter().enumerate() {
                parts.push(Part::call(Call::new(format!("call_{index}"), name, arguments)));
            }
            let stop = Stop::new(reason).reconciled(&parts);
            Response {
                id: Some("reply_1".to_owned()),
                model: Some("model-1".to_owned()),
                parts,
                stop,
                usage: Some(usage),
                ..Response::default()
            }
        },
    )
}
