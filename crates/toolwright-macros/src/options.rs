//! The options of `#[tool(…)]`.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Error, Expr, LitInt, LitStr, Path, Token};

use crate::suggest::suggest;

/// All options.
const NAMES: [&str; 14] = [
    "name",
    "description",
    "title",
    "version",
    "read_only",
    "keyed",
    "deadline",
    "cache",
    "retries",
    "concurrency",
    "budget",
    "envelope",
    "hidden",
    "crate",
];

/// The parsed options of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) effect: Option<Effect>,
    pub(crate) deadline: Option<Duration>,
    /// The duration, and its position
    pub(crate) cache: Option<(Duration, Span)>,
    pub(crate) retries: Option<u32>,
    pub(crate) concurrency: Option<usize>,
    pub(crate) budget: Option<usize>,
    pub(crate) envelope: Option<Envelope>,
    /// The names, and their positions
    pub(crate) hidden: Vec<(String, Span)>,
    /// The path of `toolwright`, if it is another
    home: Option<Path>,
    given: Vec<String>,
}

/// The effect of a call, if it is not the default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    ReadOnly,
    Keyed,
}

/// The key of a result in its envelope.
#[derive(Clone, Copy)]
pub(crate) enum Envelope {
    Data,
    Result,
}

impl Options {
    /// Returns the path of `toolwright`.
    pub(crate) fn home(&self) -> Path {
        self.home.clone().unwrap_or_else(|| syn::parse_quote!(::toolwright))
    }

    /// Parses the options; problems are added to `errors`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Vec<Error>) -> Options {
        let mut options = Options::default();
        let parser = syn::meta::parser(|meta| {
            if let Err(error) = options.set(&meta) {
                errors.push(error);
                skip_value(&meta)?;
            }
            Ok(())
        });
        if let Err(error) = parser.parse2(tokens) {
            errors.push(error);
        }
        options
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        if self.given.contains(&name) {
            return Err(meta.error(format!("`{name}` is given twice")));
        }
        match name.as_str() {
            "name" => self.name = Some(tool_name(meta)?),
            "description" => self.description = Some(words(meta)?.value()),
            "title" => self.title = Some(words(meta)?.value()),
            "version" => self.version = Some(words(meta)?.value()),
            "read_only" => self.set_effect(meta, Effect::ReadOnly)?,
            "keyed" => self.set_effect(meta, Effect::Keyed)?,
            "deadline" => self.deadline = Some(duration(meta)?),
            "cache" => self.cache = Some((duration(meta)?, meta.path.span())),
            "retries" => self.retries = Some(number(meta)?),
            "concurrency" => self.concurrency = Some(positive(meta)?),
            "budget" => self.budget = Some(positive(meta)?),
            "envelope" => self.envelope = Some(envelope(meta)?),
            "hidden" => {
                let list = words(meta)?;
                let names = list.value();
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                self.hidden = names.map(|name| (name.to_owned(), list.span())).collect();
            }
            "crate" => self.home = Some(words(meta)?.parse()?),
            _ => return Err(meta.error(unknown(&name))),
        }
        self.given.push(name);
        Ok(())
    }

    fn set_effect(&mut self, meta: &ParseNestedMeta<'_>, effect: Effect) -> Result<(), Error> {
        if meta.input.peek(Token![=]) {
            return Err(meta.error("this option has no value: say it or leave it out"));
        }
        if self.effect.is_some() {
            return Err(meta.error("a tool is `read_only` or `keyed`, not both"));
        }
        self.effect = Some(effect);
        Ok(())
    }

    /// Checks combinations of options.
    pub(crate) fn check(&self, errors: &mut Vec<Error>) {
        if let (Some((_, span)), false) = (self.cache, self.effect == Some(Effect::ReadOnly)) {
            let message = "`cache` needs `read_only`: a result may be given again only if a call \
                           changes nothing";
            errors.push(Error::new(span, message));
        }
    }
}

fn unknown(name: &str) -> String {
    match suggest(name, NAMES) {
        Some(near) => format!("`{name}` is no option of #[tool]; did you mean `{near}`?"),
        None => format!("`{name}` is no option of #[tool]; the options are {}", NAMES.join(", ")),
    }
}

/// Skips the value of an invalid option, to check the next.
fn skip_value(meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    }
    Ok(())
}

fn words(meta: &ParseNestedMeta<'_>) -> Result<LitStr, Error> {
    meta.value()?.parse()
}

fn tool_name(meta: &ParseNestedMeta<'_>) -> Result<String, Error> {
    let name = words(meta)?;
    if name.value().trim().is_empty() {
        return Err(Error::new(name.span(), "a tool needs a name"));
    }
    Ok(name.value())
}

fn number<N: std::str::FromStr>(meta: &ParseNestedMeta<'_>) -> Result<N, Error>
where
    N::Err: std::fmt::Display,
{
    meta.value()?.parse::<LitInt>()?.base10_parse()
}

fn positive(meta: &ParseNestedMeta<'_>) -> Result<usize, Error> {
    let literal: LitInt = meta.value()?.parse()?;
    match literal.base10_parse()? {
        0 => Err(Error::new(literal.span(), "expected a number above 0")),
        number => Ok(number),
    }
}

fn envelope(meta: &ParseNestedMeta<'_>) -> Result<Envelope, Error> {
    let word = words(meta)?;
    match word.value().as_str() {
        "data" => Ok(Envelope::Data),
        "result" => Ok(Envelope::Result),
        _ => Err(Error::new(word.span(), "an envelope is \"data\" or \"result\"")),
    }
}

fn duration(meta: &ParseNestedMeta<'_>) -> Result<Duration, Error> {
    let text = words(meta)?;
    read_duration(&text.value()).ok_or_else(|| {
        let message = "expected a time above 0, such as \"500ms\", \"5s\", \"2m\" or \"1h\"";
        Error::new(text.span(), message)
    })
}

fn read_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = (text[..digits].parse::<u64>().ok()?, text[digits..].trim());
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    let duration = match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" | "min" => seconds(60),
        "h" => seconds(3600),
        _ => None,
    };
    duration.filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quote::quote;

    use super::{Options, read_duration};

    fn messages(tokens: proc_macro2::TokenStream) -> Vec<String> {
        let mut errors = Vec::new();
        Options::parse(tokens, &mut errors).check(&mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn times_have_units() {
        assert_eq!(read_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(read_duration("5s"), Some(Duration::from_secs(5)));
        assert_eq!(read_duration("2 m"), Some(Duration::from_mins(2)));
        assert_eq!(read_duration("1h"), Some(Duration::from_hours(1)));
        for wrong in ["5", "s", "", "0s", "-1s", "1.5s", "5 days", "99999999999999999999s"] {
            assert_eq!(read_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_option_suggests_a_known_one() {
        let messages = messages(quote!(dedline = "5s", colour = 3, read_only));
        assert_eq!(messages[0], "`dedline` is no option of #[tool]; did you mean `deadline`?");
        assert!(messages[1].starts_with("`colour` is no option of #[tool]; the options are name,"));
        assert_eq!(messages.len(), 2);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert_eq!(messages(quote!(read_only, keyed)).len(), 1);
        assert_eq!(messages(quote!(cache = "60s")).len(), 1);
        assert_eq!(messages(quote!(name = "a", name = "b")).len(), 1);
        assert!(messages(quote!(cache = "60s", read_only)).is_empty());
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for tokens in [
            quote!(budget = 0),
            quote!(concurrency = 0),
            quote!(retries = -1),
            quote!(envelope = "box"),
            quote!(read_only = true),
            quote!(name = " "),
        ] {
            assert_eq!(messages(tokens.clone()).len(), 1, "{tokens}");
        }
    }
}
