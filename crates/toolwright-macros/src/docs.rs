//! Converts doc comments to descriptions for a model.
//!
//! Lines of a paragraph are joined, paragraphs, lists and code stay separate, and sections for
//! programmers are left out.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Sections that are not for the model.
const PROGRAMMERS: [&str; 6] =
    ["errors", "panics", "safety", "example", "examples", "cancel safety"];

/// Returns the description of a doc comment; none if it is empty.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let lines: Vec<&str> = lines.iter().flat_map(|text| text.split('\n')).collect();
    let text = join(&without_sections(&unindented(&lines)));
    (!text.is_empty()).then_some(text)
}

/// Whether an attribute is a doc comment.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// The text of one line (or of a whole `/** … */`).
fn line(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if is_doc(attribute) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Removes the common indentation.
fn unindented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min();
    lines.iter().map(|line| line.get(common.unwrap_or(0)..).unwrap_or_default()).collect()
}

/// Removes the sections for programmers, each with its subsections.
fn without_sections<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let (mut dropping, mut fenced) = (None, false);
    for line in lines {
        fenced ^= is_fence(line);
        if let (false, Some((level, title))) = (fenced, heading(line))
            && dropping.is_none_or(|dropped| level <= dropped)
        {
            let drop = PROGRAMMERS.contains(&title.to_lowercase().as_str());
            dropping = drop.then_some(level);
        }
        if dropping.is_none() {
            kept.push(*line);
        }
    }
    kept
}

/// Returns the level and title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (level > 0 && title.starts_with(' ')).then(|| (level, title.trim()))
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Whether a line begins a block, and does not continue the previous line.
fn begins(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    ["- ", "* ", "+ ", "|", ">"].iter().any(|mark| text.starts_with(mark))
        || (number.len() < text.len() && (number.starts_with(". ") || number.starts_with(") ")))
        || heading(line).is_some()
}

/// Joins the lines of each paragraph.
fn join(lines: &[&str]) -> String {
    let mut text = String::new();
    let (mut fenced, mut open) = (false, false);
    for line in lines {
        let fence = is_fence(line);
        if fenced || fence {
            fenced ^= fence;
            push(&mut text, '\n', line.trim_end());
            open = false;
        } else if line.trim().is_empty() {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            open = false;
        } else if open && !begins(line) {
            match seam(&text, line.trim()) {
                Some(space) => push(&mut text, space, line.trim()),
                None => text.push_str(line.trim()),
            }
        } else {
            push(&mut text, '\n', line.trim_end());
            open = heading(line).is_none();
        }
    }
    text.trim().to_owned()
}

fn push(text: &mut String, seam: char, line: &str) {
    if !text.is_empty() {
        text.push(seam);
    }
    text.push_str(line);
}

/// Returns the separator of two joined lines: none within Chinese or Japanese text.
fn seam(text: &str, line: &str) -> Option<char> {
    let wide = |letter: Option<char>| letter.is_some_and(is_wide);
    (!wide(text.chars().next_back()) || !wide(line.chars().next())).then_some(' ')
}

fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}')
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::description;

    #[test]
    fn broken_lines_are_joined_and_paragraphs_kept() {
        let attributes: [_; 5] = [
            parse_quote!(#[doc = " Weather of a city, for so"]),
            parse_quote!(#[doc = " many days."]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = " Ask for"]),
            parse_quote!(#[doc = " few."]),
        ];
        let text = description(&attributes);
        assert_eq!(text.as_deref(), Some("Weather of a city, for so many days.\n\nAsk for few."));
    }

    #[test]
    fn chinese_lines_are_joined_without_a_space() {
        let attributes: [_; 3] = [
            parse_quote!(#[doc = " 读取指定路径的数据，"]),
            parse_quote!(#[doc = " 并保存在上下文中。格式为"]),
            parse_quote!(#[doc = " CSV"]),
        ];
        let text = description(&attributes);
        assert_eq!(text.as_deref(), Some("读取指定路径的数据，并保存在上下文中。格式为 CSV"));
    }

    #[test]
    fn lists_and_code_keep_their_lines() {
        let attributes: [_; 1] = [parse_quote!(
            #[doc = " One of:\n - first\n   choice\n - second\n\n ```text\n a\n   b\n ```"]
        )];
        let text = description(&attributes);
        assert_eq!(
            text.as_deref(),
            Some("One of:\n- first choice\n- second\n\n```text\na\n  b\n```")
        );
    }

    #[test]
    fn sections_for_programmers_are_left_out() {
        let attributes: [_; 1] = [parse_quote!(
            #[doc = " Adds.\n\n # Errors\n If not.\n ## More\n of it\n\n # Units\n Metres.\n # Panics\n Never."]
        )];
        assert_eq!(description(&attributes).as_deref(), Some("Adds.\n\n# Units\nMetres."));
    }

    #[test]
    fn no_words_are_no_description() {
        let attributes: [_; 2] = [parse_quote!(#[doc = "  "]), parse_quote!(#[doc(hidden)])];
        assert_eq!(description(&attributes), None);
    }
}
