//! The steps of a call.

mod approve;
mod batch;
mod cache;
mod effect;
mod exact;
mod execute;
mod fill;
mod find;
mod limit;
mod nested;
mod note;
mod outcome;
mod output;
mod policy;
mod retry;
mod settle;
mod slot;
mod version;
