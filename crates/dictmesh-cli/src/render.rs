//! Results as text, JSON and HTML.

pub mod json;
pub mod text;

pub use json::Reply;
