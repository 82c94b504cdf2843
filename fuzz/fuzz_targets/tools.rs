//! Any document as tools, a call or an outcome in each dialect, including MCP in both eras: no
//! panic, decoded values encode and decode to themselves, and tools can be encoded in every
//! dialect.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_core::{Json, Request, Tool};
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_dialects::dialect::{self, Dialect, Target, ToolCodec};
use toolwright_dialects::fit::fit;
use toolwright_dialects::translate::{self, Options};
use toolwright_fuzz::{input, law, vary};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([from, to], _, wire)) = input::document(data) else { return Corpus::Reject };
    let (from, to) = (codec(*from), codec(*to));
    let room = law::room(&wire);

    if let Ok(part) = from.decode_call(wire.clone()) {
        let again = from.encode_call(&part);
        law::is_sound(&again, room);
        assert_eq!(from.decode_call(again), Ok(part));
    }
    if let Ok(part) = from.decode_outcome(wire.clone()) {
        let again = from.encode_outcome(&part);
        law::is_sound(&again, room);
        assert_eq!(from.decode_outcome(again), Ok(part));
    }
    if let Json::Array(items) = &wire
        && let Ok(tools) = from.decode_tools(items.clone())
    {
        let profile = from.profile(&Target::default());
        let request = Request { tools, ..Request::default() };
        let fitted = fit(request, from.dialect(), &profile);
        let legal = fitted.request.tools;
        let again = round_trip(from, &legal, room);
        // A value that is not a schema may be taken for parameters in the simple form.
        if !fitted.losses.iter().any(|loss| loss.what == "left as it is") {
            law::are_same_tools(&again, &legal);
        }
        assert_eq!(round_trip(from, &again, room), again);
    }
    if let Ok(translated) = translate::tools(from, to, wire, &Options::default())
        && let Json::Array(items) = translated.value
    {
        to.decode_tools(items).expect("what was translated is decoded");
    }
    Corpus::Keep
});

fn round_trip(codec: &dyn ToolCodec, tools: &[Tool], room: usize) -> Vec<Tool> {
    let wire = codec.encode_tools(tools);
    law::is_sound(&Json::Array(wire.clone()), room);
    codec.decode_tools(wire).expect("what was encoded is decoded")
}

/// The codec that a selector names: that of a dialect, or MCP's of the earlier era.
fn codec(selector: u8) -> &'static dyn ToolCodec {
    match Dialect::ALL.get(input::number(selector) % (Dialect::ALL.len() + 1)) {
        Some(dialect) => dialect::tool_codec(*dialect),
        None => &Mcp { era: Era::Handshake },
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
