//! A record of a stream.

/// One record of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The name column's entry; otherwise "line 7" for text, and the number from 0 for numbers.
    pub name: String,
    /// The label, if the stream has labels.
    pub label: Option<String>,
    /// What it holds.
    pub content: Content,
}

/// What a record holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A sample, before its preparation.
    Numbers(Vec<f64>),
    /// A document.
    Text(String),
}
