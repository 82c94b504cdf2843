//! JSON as the vendors write it: parses with the keys of their wire formats, and keeps what most translations pass on
//! unchanged, which are schemas, arguments and contents.

use toolwright_json::{Hints, Json, JsonError, Key, KnownKeys, Member, SchemaCache};

static HINTS: Hints = Hints {
    keys: &KEYS,
    outlines: &["parameters", "input_schema", "parametersJsonSchema", "json"],
    rarely_read: &["input", "args", "arguments"],
    long_texts: &["content", "text", "output"],
    repeated: &["tools", "toolConfig"],
};

static KEYS: KnownKeys = KnownKeys::new(WORDS);

/// Parses a document of a wire format.
pub fn parse(text: &str) -> Result<Json, JsonError> {
    Json::parse_with(text, &HINTS)
}

/// Parses a document of a wire format from bytes that may not be UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Json, JsonError> {
    Json::parse_bytes_with(bytes, &HINTS)
}

/// Combines [`peek`](toolwright_json::peek) and [`parse_bytes`] in one pass. Schemas of tools that are in the cache are not
/// parsed again.
pub fn peek_and_parse<'b, const N: usize>(
    bytes: &'b [u8],
    keys: &[&str; N],
    schema_cache: &'b SchemaCache,
) -> Result<([Option<Member<'b>>; N], Json), JsonError> {
    toolwright_json::peek_and_parse(bytes, keys, &HINTS, schema_cache)
}

/// Returns the key of a text, which is copied only if no dialect is known to use it.
pub fn key(text: &str) -> Key {
    KEYS.key(text)
}

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

#[cfg(test)]
mod tests {
    use super::{WORDS, key};
    use toolwright_json::Key;

    #[test]
    fn known_keys_are_not_copied() {
        for word in WORDS.split(' ') {
            assert!(matches!(key(word), Key::Borrowed(known) if known == word), "{word}");
        }
    }

    #[test]
    fn no_word_is_said_twice() {
        let mut words: Vec<&str> = WORDS.split(' ').collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
