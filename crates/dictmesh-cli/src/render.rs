//! Results as text, JSON and HTML.

pub mod json;

pub use json::Reply;
