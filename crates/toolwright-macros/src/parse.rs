//! Parses a function with `#[tool]`: name, parameters, errors.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, FnArg, Item, ItemFn, Signature};

use crate::docs;
use crate::options::Options;
use crate::parameter::{Argument, Parameter};
use crate::suggest::suggest;

/// A function that becomes a tool.
pub(crate) struct Function {
    /// The function without the attributes of this crate
    pub(crate) item: ItemFn,
    pub(crate) options: Options,
    pub(crate) parameters: Vec<Parameter>,
}

impl Function {
    /// Parses a function; problems are added to `errors`.
    pub(crate) fn parse(options: TokenStream, mut item: ItemFn, errors: &mut Vec<Error>) -> Self {
        let options = Options::parse(options, errors);
        options.check(errors);
        refuse_signature(&item.sig, errors);
        let mut parameters = Vec::new();
        for input in &mut item.sig.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    let message = "a tool is a free function: move it out of the impl, and take what \
                                   it needs of `self` as #[context]";
                    errors.push(Error::new_spanned(receiver, message));
                }
                FnArg::Typed(typed) => {
                    let place = typed.pat.span();
                    match Parameter::take(typed) {
                        Ok(parameter) => {
                            if let Err(message) = in_order(&parameter, &parameters) {
                                errors.push(Error::new(place, message));
                            }
                            parameters.push(parameter);
                        }
                        Err(error) => errors.push(error),
                    }
                }
            }
        }
        let function = Function { item, options, parameters };
        function.check_hidden(errors);
        function
    }

    /// Returns the name of the tool.
    pub(crate) fn name(&self) -> String {
        let own = || self.item.sig.ident.unraw().to_string();
        self.options.name.clone().unwrap_or_else(own)
    }

    /// Returns the description for the model.
    pub(crate) fn description(&self) -> Option<String> {
        let docs = || docs::description(&self.item.attrs);
        self.options.description.clone().or_else(docs)
    }

    /// Returns the arguments of the model, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&**argument),
            _ => None,
        })
    }

    fn check_hidden(&self, errors: &mut Vec<Error>) {
        let names: Vec<&str> = self.arguments().map(|argument| argument.name.as_str()).collect();
        for (hidden, span) in &self.options.hidden {
            if !names.contains(&hidden.as_str()) {
                let message = match suggest(hidden, names.iter().copied()) {
                    Some(near) => {
                        format!("no parameter is called `{hidden}`; did you mean `{near}`?")
                    }
                    None => format!("no parameter is called `{hidden}`"),
                };
                errors.push(Error::new(*span, message));
            }
        }
    }
}

/// Returns the function of an item with `#[tool]`.
pub(crate) fn function(item: TokenStream) -> Result<ItemFn, Error> {
    let message = "#[tool] goes on a free function with a body";
    match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) => Ok(function),
        Ok(Item::Impl(block)) => {
            Err(Error::new_spanned(block.self_ty, format!("{message}, not on an impl block")))
        }
        Ok(Item::Struct(item)) => {
            Err(Error::new_spanned(item.ident, format!("{message}, not on a struct")))
        }
        Ok(other) => Err(Error::new_spanned(other, message)),
        Err(error) if syn::parse2::<Signature>(item).is_ok() => {
            Err(Error::new(error.span(), message))
        }
        Err(error) => Err(error),
    }
}

/// Refuses unsupported signatures.
fn refuse_signature(signature: &Signature, errors: &mut Vec<Error>) {
    let mut refuse = |wrong: &dyn quote::ToTokens, message: &str| {
        errors.push(Error::new_spanned(wrong.to_token_stream(), message));
    };
    if let Some(word) = &signature.constness {
        refuse(word, "a tool cannot be `const`: it runs when a model calls it");
    }
    if let Some(word) = &signature.unsafety {
        refuse(word, "a tool cannot be `unsafe`: a model can promise nothing");
    }
    if let Some(abi) = &signature.abi {
        refuse(abi, "a tool is an ordinary Rust function, not an `extern` one");
    }
    if let Some(dots) = &signature.variadic {
        refuse(dots, "a tool has a fixed list of parameters");
    }
    if let Some(first) = signature.generics.params.first() {
        let message = match first {
            syn::GenericParam::Lifetime(_) => {
                "a tool needs no lifetimes of its own: leave them out, or take owned types"
            }
            _ => {
                "a tool has one schema, so it cannot be generic: name the types, and call a generic \
                 function from it"
            }
        };
        refuse(&signature.generics.params, message);
    }
}

/// Checks the order: the context, then the scope, then arguments.
fn in_order(parameter: &Parameter, before: &[Parameter]) -> Result<(), &'static str> {
    let has_context = before.iter().any(|one| matches!(one, Parameter::Context { .. }));
    let has_scope = before.iter().any(|one| matches!(one, Parameter::Scope { .. }));
    let has_argument = before.iter().any(|one| matches!(one, Parameter::Argument(_)));
    match parameter {
        Parameter::Context { .. } if has_context => {
            Err("a tool has one #[context]: put the values \
                                                         that it needs together into one type")
        }
        Parameter::Context { .. } if !before.is_empty() => {
            Err("#[context] must come first: move this parameter to the front")
        }
        Parameter::Scope { .. } if has_scope => Err("a tool has one #[scope]"),
        Parameter::Scope { .. } if has_argument => Err(
            "#[scope] must come before the arguments of the model, after #[context] if there is \
                 one",
        ),
        _ => Ok(()),
    }
}
