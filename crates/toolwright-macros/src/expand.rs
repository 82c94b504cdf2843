//! Expands a function with `#[tool]`: the function itself, and a type of the same name with
//! `handler()`.
//!
//! Generated names are hygienic, so that parameters may have any name, and paths begin at the
//! crate, so that modules may shadow any name.

mod body;
mod definition;
mod settings;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Error, Path};

use crate::parse::{self, Function};
use body::body;
use definition::{declare, definition};
use settings::settings;

/// Expands a function, or reports its errors.
pub(crate) fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match parse::function(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let mut errors = Vec::new();
    let function = Function::parse(options, function, &mut errors);
    if errors.is_empty() {
        return expand(&function);
    }
    // The function is kept, so that its callers do not cause further errors.
    let errors = errors.into_iter().map(Error::into_compile_error);
    let item = &function.item;
    quote!(#(#errors)* #item)
}

fn expand(function: &Function) -> TokenStream {
    let (item, home) = (&function.item, &function.options.home());
    let (ident, visibility) = (&item.sig.ident, &item.vis);
    let conditions: Vec<&Attribute> =
        item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    let title = format!("The tool of the function `{ident}`.");
    let (definition, body) = (definition(function), body(function));
    let arguments = function.arguments().enumerate().map(|(index, one)| declare(home, index, one));
    let how = format_ident!("{}", if item.sig.asyncness.is_some() { "new" } else { "blocking" });
    let (scope, arguments_in) = (own("scope"), own("arguments"));
    let settings = settings(function);
    let warning = function.description().is_none().then(|| no_description(ident));
    // Arguments are owned, and `async` decides where a tool runs, whether it awaits or not.
    quote! {
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
        #item

        #warning

        #(#conditions)*
        #[doc = #title]
        #[allow(non_camel_case_types, dead_code, unreachable_pub)]
        #visibility struct #ident {}

        #(#conditions)*
        #[allow(
            deprecated,
            non_snake_case,
            unreachable_code,
            unreachable_pub,
            unused_qualifications,
            clippy::all,
            clippy::pedantic,
            clippy::nursery,
            clippy::restriction
        )]
        impl #ident {
            /// The tool with what runs it.
            #[must_use]
            pub fn handler() -> #home::Handler {
                #(#arguments)*
                #home::Handler::#how(#definition, move |#scope, #arguments_in| #body) #settings
            }
        }
    }
}

/// Warns that a model would have only the name of the tool. A use of a deprecated item is the only warning that a macro can
/// give.
fn no_description(ident: &Ident) -> TokenStream {
    let note = format!(
        "the tool `{ident}` has no description, so that a model knows only its name: add a doc comment, or \
         `description = \"…\"`"
    );
    quote_spanned! {ident.span()=>
        const _: () = {
            #[deprecated(note = #note)]
            const NO_DESCRIPTION: () = ();
            NO_DESCRIPTION
        };
    }
}

/// Creates a hygienic identifier.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn own_parameter(index: usize) -> Ident {
    own(&format!("parameter_{index}"))
}

/// Returns the path to `toolwright` with a span, so that errors are reported there.
fn located(home: &Path, span: Span) -> TokenStream {
    let tokens = home.to_token_stream().into_iter();
    tokens
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::tool;

    #[test]
    fn expansions_name_nothing_that_a_crate_need_not_have() {
        let item = quote! {
            async fn add(
                #[context] total: &mut u64,
                #[schemars(range(min = 1))] #[default(2)] a: u8,
                b: &str,
            ) -> Result<u64, Broken> { Ok(*total) }
        };
        let text = tool(quote!(crate = "::home"), item).to_string();
        for name in ["serde", "schemars"] {
            let bare = text.replace(&format!(":: home :: {name} ::"), "");
            assert!(!bare.contains(&format!("{name} ::")), "{name} in {bare}");
        }
        assert!(!text.contains("toolwright"), "{text}");
        assert!(!text.replace(":: std ::", "").contains("std ::"), "{text}");
    }
}
