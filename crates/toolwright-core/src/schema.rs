//! JSON Schemas of parameters: walking them and lowering them to what a vendor accepts.
