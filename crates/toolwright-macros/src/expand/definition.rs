//! Expands the definition of the tool: its parameters, and the whole.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, Path, ReturnType};

use super::{located, own_parameter};
use crate::options::Effect;
use crate::parameter::{Argument, refuse_impl};
use crate::parse::Function;

/// Declares an argument in a variable: name, description and type.
pub(super) fn declare(home: &Path, index: usize, argument: &Argument) -> TokenStream {
    let (name, owned, variable) = (&argument.name, owned(argument), own_parameter(index));
    let there = located(home, argument.span);
    let new = quote_spanned!(argument.span=> #there::macros::Parameter::<#owned>::new(#name));
    let description = argument.description.iter().map(|text| quote!(.with_description(#text)));
    let default = argument.default.iter().map(|value| {
        let value = default(&owned, value);
        quote!(.with_default(
            || -> #owned { #value },
            {
                use #home::macros::returned::{Unwritable as _, Writable as _};
                (&&#home::macros::Probe::<#owned>::new()).writer()
            },
        ))
    });
    let narrowed = (!argument.schemars.is_empty()).then(|| {
        let attributes = &argument.schemars;
        let schemars = quote!(#home::schemars).to_string().replace(' ', "");
        quote!(.with_schema({
            #[derive(#home::schemars::JsonSchema)]
            #[schemars(crate = #schemars)]
            #[allow(dead_code)]
            struct Narrowed { #(#attributes)* value: #owned }
            #home::macros::narrowed::<Narrowed>
        }))
    });
    quote!(let #variable = #new #(#description)* #(#default)* #narrowed;)
}

/// Expands a default. A string literal may be used for any type that is made from a string.
fn default(owned: &TokenStream, value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            quote_spanned!(value.span()=> ::std::convert::Into::<#owned>::into(#value))
        }
        _ => value.to_token_stream(),
    }
}

/// Returns the owned type of an argument.
fn owned(argument: &Argument) -> TokenStream {
    let inner = &argument.inner;
    if argument.borrowed {
        quote_spanned!(argument.span=> <#inner as ::std::borrow::ToOwned>::Owned)
    } else {
        inner.to_token_stream()
    }
}

/// Expands the definition of the tool.
pub(super) fn definition(function: &Function) -> TokenStream {
    let (options, home) = (&function.options, &function.options.home());
    let name = function.name();
    let description = function.description().map(|text| quote!(.with_description(#text)));
    let title = options.title.iter().map(|text| quote!(.with_title(#text)));
    let parameters = function.arguments().enumerate().map(|(index, _)| {
        let variable = own_parameter(index);
        quote!(.with(&#variable))
    });
    let hint = options.effect.map(|effect| {
        let hint = match effect {
            Effect::ReadOnly => "readOnlyHint",
            Effect::Keyed => "idempotentHint",
        };
        quote!(.with_hint(#hint))
    });
    let output = output(function);
    quote! {
        #home::macros::Definition::new(#name)
            #description #(#title)* #(#parameters)* #hint #output
            .finish()
    }
}

/// Expands the schema of the result, if its type has one and a name. An envelope has none.
fn output(function: &Function) -> Option<TokenStream> {
    let home = &function.options.home();
    let ReturnType::Type(_, declared) = &function.item.sig.output else { return None };
    if function.options.envelope.is_some() || refuse_impl(declared).is_err() {
        return None;
    }
    Some(quote!(.with_output({
        use #home::macros::returned::{Described as _, DescribedResult as _, Undescribed as _};
        (&&&#home::macros::Probe::<#declared>::new()).describe()
    })))
}
