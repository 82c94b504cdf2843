//! What a function with `#[tool]` becomes: itself, and a type of the same name with `handler()`.
//!
//! Names of our own are hygienic, so that a parameter may be called whatever it likes, and paths
//! begin at the crate, so that a module may shadow whatever it likes.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Lit, ReturnType, Type};

use crate::options::{Effect, Envelope, Options};
use crate::parameter::{Argument, Parameter, refuse_impl};
use crate::parse::{self, Function};

/// The function and its tool, or its mistakes.
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
    // The function stays, so that its callers are not said to be wrong as well.
    let errors = errors.into_iter().map(Error::into_compile_error);
    let item = &function.item;
    quote!(#(#errors)* #item)
}

fn expand(function: &Function) -> TokenStream {
    let (item, home) = (&function.item, &function.options.home);
    let (ident, visibility) = (&item.sig.ident, &item.vis);
    let conditions: Vec<&Attribute> =
        item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    let title = format!("The tool of the function `{ident}`.");
    let (definition, body) = (definition(function), body(function));
    let arguments = function.arguments().enumerate().map(|(index, one)| declare(home, index, one));
    let how = format_ident!("{}", if item.sig.asyncness.is_some() { "new" } else { "blocking" });
    let (scope, arguments_in) = (own("scope"), own("arguments"));
    let settings = settings(function);
    // Arguments are owned, and `async` says where a tool runs, whether it waits or not.
    quote! {
        #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
        #item

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

/// A name of our own that no user's name can meet.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The path to `toolwright` as if it were written at a place, so that errors are shown there.
fn located(home: &syn::Path, span: Span) -> TokenStream {
    let tokens = home.to_token_stream().into_iter();
    tokens
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

fn own_parameter(index: usize) -> Ident {
    own(&format!("parameter_{index}"))
}

/// The type that an argument is read as.
fn owned(argument: &Argument) -> TokenStream {
    let inner = &argument.inner;
    if argument.borrowed {
        quote_spanned!(argument.span=> <#inner as ::std::borrow::ToOwned>::Owned)
    } else {
        inner.to_token_stream()
    }
}

/// The description of an argument in a variable: how it is called, described and read.
fn declare(home: &syn::Path, index: usize, argument: &Argument) -> TokenStream {
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

/// The value of a default. Text may stand for any type that is made of text.
fn default(owned: &TokenStream, value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            quote_spanned!(value.span()=> ::std::convert::Into::<#owned>::into(#value))
        }
        _ => value.to_token_stream(),
    }
}

/// The tool as the model sees it.
fn definition(function: &Function) -> TokenStream {
    let (options, home) = (&function.options, &function.options.home);
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

/// The schema of the result, if its type has one and a name. An envelope has none.
fn output(function: &Function) -> Option<TokenStream> {
    let home = &function.options.home;
    let ReturnType::Type(_, declared) = &function.item.sig.output else { return None };
    if function.options.envelope.is_some() || refuse_impl(declared).is_err() {
        return None;
    }
    Some(quote!(.with_output({
        use #home::macros::returned::{Described as _, DescribedResult as _, Undescribed as _};
        (&&&#home::macros::Probe::<#declared>::new()).describe()
    })))
}

/// What a call does: read the arguments, bind what is hidden, run the function, take its result.
fn body(function: &Function) -> TokenStream {
    let (item, home) = (&function.item, &function.options.home);
    let (scope, arguments, returned) = (own("scope"), own("arguments"), own("returned"));
    let read = read(function, &arguments);
    let bind = function.parameters.iter().find_map(|parameter| match parameter {
        Parameter::Context { inner, mutable } => {
            Some(bind(home, inner, *mutable, item.sig.asyncness.is_some()))
        }
        _ => None,
    });
    let mut index = 0;
    let passed: Vec<TokenStream> =
        function.parameters.iter().map(|parameter| pass(parameter, &mut index)).collect();
    let ident = &item.sig.ident;
    let wait = item.sig.asyncness.map(|_| quote!(.await));
    let run = quote!(let #returned = #ident(#(#passed),*) #wait;);
    let end = end(home, &item.sig.output, &returned);
    let asyncness = item.sig.asyncness.map(|_| quote!(async move));
    quote!(#asyncness { let _ = &#scope; #read #bind #run #end })
}

/// Reads all arguments, so that all mistakes are told at once.
fn read(function: &Function, arguments: &Ident) -> TokenStream {
    let home = &function.options.home;
    let count = function.arguments().count();
    if count == 0 {
        return quote!(let _ = #arguments;);
    }
    let variables: Vec<Ident> = (0..count).map(|index| own(&format!("argument_{index}"))).collect();
    let parameters: Vec<Ident> = (0..count).map(own_parameter).collect();
    quote! {
        let mut #arguments = #home::macros::Arguments::new(#arguments);
        let (#(::std::option::Option::Some(#variables),)*) = (#(#arguments.take(&#parameters),)*)
        else {
            return ::std::result::Result::Err(#arguments.refused());
        };
    }
}

/// Binds the context: alone to change it, beside others to read it.
fn bind(home: &syn::Path, inner: &Type, mutable: bool, asynchronous: bool) -> TokenStream {
    let (scope, guard) = (own("scope"), own("guard"));
    let (verb, mutability) = if mutable { ("write", Some(quote!(mut))) } else { ("read", None) };
    let (verb, wait) = if asynchronous {
        (format_ident!("{verb}"), Some(quote!(.await)))
    } else {
        (format_ident!("blocking_{verb}"), None)
    };
    let there = located(home, inner.span());
    quote_spanned! {inner.span()=>
        let #mutability #guard = #there::macros::context::#verb::<#inner>(&#scope) #wait?;
    }
}

/// A parameter as it is passed to the function.
fn pass(parameter: &Parameter, index: &mut usize) -> TokenStream {
    let (scope, guard) = (own("scope"), own("guard"));
    match parameter {
        Parameter::Context { mutable: true, .. } => quote!(&mut *#guard),
        Parameter::Context { mutable: false, .. } => quote!(&*#guard),
        Parameter::Scope { borrowed: true } => quote!(&#scope),
        Parameter::Scope { borrowed: false } => quote!(#scope),
        Parameter::Argument(argument) => {
            let variable = own(&format!("argument_{index}"));
            *index += 1;
            let inner = &argument.inner;
            if argument.borrowed {
                quote!(::std::borrow::Borrow::<#inner>::borrow(&#variable))
            } else {
                quote!(#variable)
            }
        }
    }
}

/// Makes an end of what the function returned, whatever its type is called.
fn end(home: &syn::Path, output: &ReturnType, returned: &Ident) -> TokenStream {
    let span = match output {
        ReturnType::Default => Span::mixed_site(),
        ReturnType::Type(_, declared) => declared.span(),
    };
    // Errors are shown where a name stands, and a hygienic one stands at the attribute.
    let (value, error) = (Ident::new("__value", span), Ident::new("__error", span));
    let there = located(home, span);
    let written =
        quote_spanned!(span=> (&&#there::macros::Probe::of(&#value)).way().output(#value));
    let failed =
        quote_spanned!(span=> (&&&#there::macros::Probe::of(&#error)).cause().error(#error));
    quote! {
        #[allow(unused_imports)]
        use #home::macros::returned::{
            Boxed as _, Converted as _, Direct as _, Plain as _, Serialized as _, Shown as _,
            Splittable as _,
        };
        match (&&#home::macros::Probe::of(&#returned)).shape().split(#returned) {
            ::std::result::Result::Ok(#value) => #written,
            ::std::result::Result::Err(#error) => ::std::result::Result::Err(#failed),
        }
    }
}

/// How the tool is to be called.
fn settings(function: &Function) -> TokenStream {
    let options = &function.options;
    let home = &options.home;
    let need = function.parameters.iter().find_map(|parameter| match parameter {
        Parameter::Context { inner, mutable, .. } => {
            let exclusive = mutable.then(|| quote!(.exclusive()));
            Some(quote!(.with_need(#home::context::Need::of::<#inner>() #exclusive)))
        }
        _ => None,
    });
    let effect = options.effect.map(|effect| {
        let effect = match effect {
            Effect::ReadOnly => quote!(None),
            Effect::Keyed => quote!(Keyed),
        };
        quote!(.with_effect(#home::Effect::#effect))
    });
    let envelope = options.envelope.map(|envelope| {
        let envelope = match envelope {
            Envelope::Data => quote!(Data),
            Envelope::Result => quote!(Result),
        };
        quote!(.with_envelope(#home::Envelope::#envelope))
    });
    let numbers = numbers(options);
    quote!(#need #effect #envelope #numbers)
}

fn numbers(options: &Options) -> TokenStream {
    let home = &options.home;
    let deadline = options.deadline.map(time).map(|time| quote!(.with_deadline(#time)));
    let cache =
        options.cache.map(|(lifetime, _)| time(lifetime)).map(|time| quote!(.with_cache(#time)));
    let retries = options.retries.map(|max| quote!(.with_retry(#home::Retry::new(#max))));
    let concurrency = options.concurrency.map(|calls| quote!(.with_concurrency(#calls)));
    let budget = options.budget.map(|bytes| quote!(.with_budget(#bytes)));
    let hidden = options.hidden.iter().map(|(name, _)| name);
    let hidden = (!options.hidden.is_empty()).then(|| quote!(.with_hidden([#(#hidden),*])));
    quote!(#deadline #cache #retries #concurrency #budget #hidden)
}

fn time(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::std::time::Duration::new(#seconds, #nanos))
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
            ) -> Result<u64, Broken> { todo!() }
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
