//! A fitted request does not change when it is fitted again.

use proptest::prelude::*;
use proptest::sample::select;
use toolwright_core::loss::Loss;
use toolwright_core::{Dialect, Json, Request, ToolKind};
use toolwright_dialects::dialect::{ChatCodec, Target};
use toolwright_dialects::fit::fit;

use toolwright_testing::generate::schema;
use toolwright_testing::seeds;

use crate::{fixtures, generate};

/// Models of families with rules of their own.
const MODELS: [&str; 6] =
    ["model-1", "claude-sonnet-4-5", "gpt-4o", "gpt-5", "gemini-3-pro-preview", "deepseek-chat"];

/// A request of any dialect for any model, its first tool with any schema.
fn request() -> impl Strategy<Value = (Dialect, Request)> {
    let dialects: Vec<Dialect> = fixtures::codecs().iter().map(|codec| codec.dialect()).collect();
    let request = select(dialects).prop_flat_map(|own| (Just(own), generate::request(own)));
    (request, schema::document(), any::<bool>(), select(MODELS.to_vec())).prop_map(
        |((dialect, mut request), schema, strict, model): (
            (Dialect, Request),
            String,
            bool,
            &str,
        )| {
            request.model = Some(model.to_owned());
            if let Some(tool) = request.tools.first_mut() {
                tool.kind = ToolKind::Function(Json::parse(&schema).ok());
                tool.strict = Some(strict);
            }
            (dialect, request)
        },
    )
}

/// Fits a request to a target, encodes it, and fits the decoded request again.
fn check(from: Dialect, to: &dyn ChatCodec, request: Request) -> Result<(), TestCaseError> {
    let model = request.model.clone();
    let profile = to.profile(&Target { model: model.as_deref(), version: None });
    let fitted = fit(request, from, &profile);
    if fitted.refusal.is_some() {
        return Ok(());
    }
    let wire = to.encode_request(fitted.request);
    let body = wire.body.to_string();
    let read = to.decode_request(wire).unwrap();
    let mut again = fit(read.clone(), to.dialect(), &profile);
    // Parameters whose schema is not an object stay unchanged, and are reported each time.
    again.losses.retain(|loss: &Loss| loss.what != "left as it is");
    prop_assert_eq!(again.losses, vec![], "{}", body);
    prop_assert_eq!(again.request, read, "{}", body);
    Ok(())
}

#[test]
fn fit_is_idempotent() {
    for to in fixtures::codecs() {
        let name = format!("→ {}", to.dialect());
        seeds::check_values(name, 128, &request(), |(from, request)| check(from, to, request));
    }
}
