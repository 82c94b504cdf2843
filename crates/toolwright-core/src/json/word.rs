//! Common keys of wire formats and schemas, which are parsed without a copy.
//!
//! A key that is not listed costs an allocation.

/// The keys, by their origin.
const WORDS: &str = concat!(
    // JSON Schema
    "type description properties required additionalProperties items enum anyOf oneOf allOf $ref ",
    "$defs $schema format pattern minimum maximum minItems maxItems minLength maxLength default ",
    "title const not nullable ",
    // Requests
    "model messages system role content text name id input output tools tool tool_choice ",
    "function parameters strict arguments stream temperature top_p max_tokens stop instructions ",
    "input_schema cache_control source data media_type image_url url detail tool_calls ",
    "tool_call_id tool_use_id tool_name call_id is_error thinking signature reasoning effort ",
    "reasoning_content parallel_tool_calls metadata options inputSchema toolSpec json toolConfig ",
    "toolUse toolResult toolUseId toolChoice reasoningContent reasoningText cachePoint status ",
    "inferenceConfig maxTokens topP stopSequences contents parts functionDeclarations ",
    "functionCall functionResponse args response generationConfig systemInstruction ",
    "parametersJsonSchema inlineData mimeType thought thoughtSignature encrypted_content summary ",
    "tool_plan document image ",
    // Responses and streams
    "object created created_at choices index message delta finish_reason logprobs refusal usage ",
    "annotations service_tier system_fingerprint prompt_tokens completion_tokens total_tokens ",
    "prompt_tokens_details completion_tokens_details cached_tokens reasoning_tokens audio_tokens ",
    "accepted_prediction_tokens rejected_prediction_tokens cache_write_tokens ",
    "input_tokens output_tokens input_tokens_details output_tokens_details stop_reason ",
    "stop_sequence cache_creation_input_tokens cache_read_input_tokens cache_creation ",
    "ephemeral_5m_input_tokens ephemeral_1h_input_tokens content_block partial_json error code ",
    "param item item_id part output_index content_index summary_index sequence_number ",
    "incomplete_details obfuscation phase store background truncation user ",
    "previous_response_id max_output_tokens contentBlockIndex stopReason metrics latencyMs ",
    "inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens start p ",
    "candidates finishReason modelVersion responseId usageMetadata promptTokenCount ",
    "candidatesTokenCount totalTokenCount thoughtsTokenCount cachedContentTokenCount modality ",
    "promptTokensDetails tokenCount done done_reason total_duration load_duration ",
    "prompt_eval_count prompt_eval_duration eval_count eval_duration billed_units tokens ",
    "citations sources",
);

const SLOTS: usize = 1024;

/// The keys by their hash; an empty slot ends a search.
static TABLE: [&str; SLOTS] = table();

/// Returns the constant that equals a key.
#[inline]
pub(super) fn known(key: &str) -> Option<&'static str> {
    let mut slot = slot(key.as_bytes());
    loop {
        match TABLE[slot] {
            "" => return None,
            word if word == key => return Some(word),
            _ => slot = (slot + 1) % SLOTS,
        }
    }
}

const fn slot(word: &[u8]) -> usize {
    let (Some(first), Some(last)) = (word.first(), word.last()) else { return 0 };
    let middle = word[word.len() / 2];
    let mix = word.len() + 5 * *first as usize + 37 * middle as usize + 211 * *last as usize;
    mix % SLOTS
}

const fn table() -> [&'static str; SLOTS] {
    let mut table = [""; SLOTS];
    let mut rest = WORDS;
    while !rest.is_empty() {
        let mut length = 0;
        while length < rest.len() && rest.as_bytes()[length] != b' ' {
            length += 1;
        }
        let (word, after) = rest.split_at(length);
        let mut slot = slot(word.as_bytes());
        while !table[slot].is_empty() {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = word;
        rest = if after.is_empty() { after } else { after.split_at(1).1 };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{WORDS, known};

    #[test]
    fn words_are_known_and_others_are_not() {
        for word in WORDS.split(' ') {
            assert_eq!(known(word), Some(word));
        }
        for other in ["", "city", "typ", "types", "Type", "天气"] {
            assert_eq!(known(other), None);
        }
    }

    #[test]
    fn no_word_is_said_twice() {
        let mut words: Vec<&str> = WORDS.split(' ').collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
