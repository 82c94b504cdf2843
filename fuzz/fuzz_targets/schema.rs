//! Any document as a schema, lowered to each subset: no panic, a bounded result, and lowering is
//! idempotent.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_core::profile::{SchemaRule, Subset};
use toolwright_core::schema::{lower, undo_nulls};
use toolwright_fuzz::{input, law, vary};

const SUBSETS: [Subset; 6] = [
    Subset::Full,
    Subset::OpenaiStrict,
    Subset::DeepseekStrict,
    Subset::AnthropicStrict,
    Subset::Ollama,
    Subset::GeminiOpenapi,
];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([which], _, schema)) = input::document(data) else { return Corpus::Reject };
    let number = input::number(*which);
    let subset = SUBSETS[number % SUBSETS.len()];
    let rule = SchemaRule {
        subset,
        strict: subset,
        root_union: number / SUBSETS.len() % 2 == 1,
        integer_as_number: number / SUBSETS.len() / 2 % 2 == 1,
    };
    let lowered = lower(&schema, &rule, true);
    law::is_sound(&lowered.schema, law::room(&schema));
    undo_nulls(&mut schema.clone(), &lowered.nulls);
    // A root that is not an object stays unchanged, and is reported each time.
    if !lowered.changes.iter().any(|change| change.what == "left as it is") {
        let again = lower(&lowered.schema, &rule, true);
        assert_eq!(again.schema, lowered.schema);
        assert_eq!(again.changes, []);
    }
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
