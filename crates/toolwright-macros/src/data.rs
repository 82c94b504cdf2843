//! `#[data]`: the derives of an argument or result type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Item, LitStr, Path};

/// Returns the type with its derives.
pub(crate) fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    let home = match home(options) {
        Ok(home) => home,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let (span, message) = match syn::parse2(item.clone()) {
        Ok(Item::Struct(_) | Item::Enum(_)) => return derive(&home, &item),
        Ok(other) => (quote!(#other), "#[data] goes on a struct or an enum"),
        Err(error) => return error.into_compile_error(),
    };
    let error = Error::new_spanned(span, message).into_compile_error();
    quote!(#error #item)
}

fn derive(home: &Path, item: &TokenStream) -> TokenStream {
    let path = |name: &str| {
        let home = quote!(#home).to_string().replace(' ', "");
        format!("{home}::{name}")
    };
    let (serde, schemars) = (path("serde"), path("schemars"));
    quote! {
        #[derive(
            #home::serde::Serialize,
            #home::serde::Deserialize,
            #home::schemars::JsonSchema,
        )]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        #item
    }
}

/// Returns the path of `toolwright`: the default, or that of `crate = "…"`.
fn home(options: TokenStream) -> Result<Path, Error> {
    let mut home = syn::parse_quote!(::toolwright);
    let parser = syn::meta::parser(|meta| {
        if !meta.path.is_ident("crate") {
            return Err(meta.error("#[data] has one option: crate = \"…\""));
        }
        home = meta.value()?.parse::<LitStr>()?.parse()?;
        Ok(())
    });
    syn::parse::Parser::parse2(parser, options)?;
    Ok(home)
}
