//! Integration tests of the core, in one binary.

#![allow(clippy::unwrap_used, clippy::panic, clippy::case_sensitive_file_extension_comparisons)]

mod anthropic;
mod args;
mod bedrock;
mod cases;
mod check;
mod client_tools;
mod cohere;
mod embed;
mod families;
mod fixtures;
mod frame;
mod fuzzed;
mod gemini;
mod generate;
mod golden;
mod growing;
mod hosted;
mod json;
mod keep;
mod law_1;
mod law_2;
mod law_3;
mod law_5;
mod law_7;
mod leaves;
mod losses;
mod mcp;
mod mistral;
mod no_reply;
mod ollama;
mod openai_chat;
mod openai_responses;
mod peek;
mod repair;
mod results;
mod schema;
mod shapes;
mod speak;
mod spelling;
mod system;
mod trouble;
mod usage;
mod vendors;
mod vertex;
