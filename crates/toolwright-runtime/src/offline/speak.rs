//! The texts of responses, in English or Chinese. Each says that it is not from a language model.

use toolwright_core::part::Body;
use toolwright_core::{Outcome, Tool};

/// Maximum number of characters of an outcome that are repeated.
const EXCERPT: usize = 1200;
/// Maximum number of tools that are listed.
const NAMED: usize = 20;

/// The language of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

use Language::{Chinese, English};

impl Language {
    /// The prefix of every response.
    fn label(self) -> &'static str {
        match self {
            English => "[offline/rules: a rule-based stand-in, not a language model]",
            Chinese => "［offline/rules：按规则应答的替身，不是语言模型］",
        }
    }

    /// Joins sentences to a response.
    pub(super) fn answer(self, sentences: &[String]) -> String {
        let gap = if self == English { " " } else { "" };
        format!("{}{gap}{}", self.label(), sentences.join("\n"))
    }

    /// Reports the outcome of a call.
    pub(super) fn outcome(self, tool: &str, outcome: &Outcome) -> String {
        let mut text = gist(outcome);
        // The error already names the tool.
        if let Some(rest) = text.strip_prefix(&format!("{tool} failed: ")) {
            text = rest.to_owned();
        }
        let separator = if text.contains('\n') { "\n" } else { " " };
        match (self, outcome.is_error(), text.is_empty()) {
            (English, true, _) => format!("{tool} failed:{separator}{text}"),
            (English, false, true) => format!("{tool} ran and returned nothing."),
            (English, false, false) => format!("{tool} ran:{separator}{text}"),
            (Chinese, true, _) => format!("{tool} 失败：{}{text}", separator.trim_matches(' ')),
            (Chinese, false, true) => format!("{tool} 已执行，没有返回内容。"),
            (Chinese, false, false) => {
                format!("{tool} 已执行：{}{text}", separator.trim_matches(' '))
            }
        }
    }

    /// Asks for missing arguments of a tool.
    pub(super) fn ask(self, tool: &str, missing: &[(&str, Option<&str>)]) -> String {
        let each: Vec<String> = missing
            .iter()
            .map(|(name, about)| match (self, about) {
                (_, None) => format!("`{name}`"),
                (English, Some(about)) => format!("`{name}` ({about})"),
                (Chinese, Some(about)) => format!("`{name}`（{about}）"),
            })
            .collect();
        match self {
            English => format!("To call {tool} I need {}. Please say it.", each.join(" and ")),
            Chinese => format!("调用 {tool} 还需要{}，请补充。", each.join("、")),
        }
    }

    /// Asks which of several tools is meant.
    pub(super) fn which(self, tools: &[&Tool]) -> String {
        let names = names(tools, self);
        match self {
            English => format!("I cannot tell which tool you mean: {names}. Please name one."),
            Chinese => format!("无法判断要用哪个工具：{names}。请指明一个。"),
        }
    }

    /// Says that no tool matches.
    pub(super) fn nothing(self, tools: &[&Tool]) -> String {
        match (self, tools.is_empty()) {
            (English, true) => "There are no tools here, and without one I can do nothing.".into(),
            (Chinese, true) => "这里没有工具，我什么也做不了。".into(),
            (English, false) => format!(
                "No tool here clearly matches your words, so none was called. Tools: {}.",
                names(tools, self)
            ),
            (Chinese, false) => {
                format!(
                    "没有工具与您的话明确相符，因此没有调用。可用工具：{}。",
                    names(tools, self)
                )
            }
        }
    }

    /// Explains why a tool was chosen.
    pub(super) fn because(self, tool: &str, words: &[String]) -> String {
        let words = words.join(", ");
        match self {
            English => format!("Rules: {tool} matches the words {words}."),
            Chinese => format!("规则：{tool} 与以下词相符：{words}。"),
        }
    }
}

fn names(tools: &[&Tool], language: Language) -> String {
    let names: Vec<&str> = tools.iter().take(NAMED).map(|tool| tool.name.as_str()).collect();
    let more = if tools.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", names.join(if language == English { ", " } else { "、" }))
}

/// Returns the beginning of an outcome's text.
fn gist(outcome: &Outcome) -> String {
    let texts: Vec<String> = outcome
        .content
        .iter()
        .map(|part| match &part.body {
            // The instructions for passing a handle are for models.
            Body::Text(text) => {
                let lines = text.trim().lines().filter(|line| !line.contains("\"tw:"));
                lines.collect::<Vec<_>>().join("\n")
            }
            Body::Json(value) => value.compact(),
            _ => "…".to_owned(),
        })
        .filter(|text| !text.is_empty())
        .collect();
    let text = texts.join("\n");
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
