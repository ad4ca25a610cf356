//! The JSON of every command: `{"schema": "dictmesh.<command>/1", ...}`, and its JSON Schema.
//!
//! A command's result is a struct that derives `Serialize` and `JsonSchema` and implements [`Reply`].
//! Its schema is listed in [`schemas`] and published in `docs/reference/schemas`.
//! The version in the name rises when a key is removed or changes its meaning.

use crate::commands;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{json, Map, Value};

/// The result of a command with `--json`.
pub trait Reply: Serialize + JsonSchema {
    /// The command's name, with hyphens for spaces.
    const COMMAND: &'static str;
}

/// A JSON object of keys that the library defines, such as the description of a task.
pub type Object = Map<String, Value>;

/// The schemas of all replies. To add a reply: one line.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        of::<commands::Failure>(),
        of::<commands::audit::Audit>(),
        of::<commands::bicluster::Biclusters>(),
        of::<commands::denoise::Restoration>(),
        of::<commands::examples::Examples>(),
        of::<commands::infer::CodeLine>(),
        of::<commands::infer::InferReply>(),
        of::<commands::inspect::Inspection>(),
        of::<commands::join::Joined>(),
        of::<commands::novelty::BlockReply<'static>>(),
        of::<commands::novelty::NoveltyReply>(),
        of::<commands::reproduce::Curves>(),
        of::<commands::reproduce::Denoised>(),
        of::<commands::reproduce::Documents>(),
        of::<commands::reproduce::Patients>(),
        of::<commands::score::ScoreLine<'static>>(),
        of::<commands::tune::Tuning>(),
        of::<commands::launch::Launched>(),
        of::<commands::learn::reply::LearnReply>(),
        of::<commands::learn::reply::DryRun>(),
        of::<commands::learn::reply::RanksReply>(),
        of::<commands::mesh::Addition>(),
        of::<commands::mesh::Leaving>(),
        of::<commands::mesh::WrittenMesh>(),
    ]
}

/// A reply as one line of JSON, without the line's end.
pub fn line<R: Reply>(reply: &R) -> String {
    #[derive(Serialize)]
    struct Named<'a, R> {
        schema: String,
        #[serde(flatten)]
        reply: &'a R,
    }
    let schema = name(R::COMMAND);
    // A struct with string keys always serializes.
    serde_json::to_string(&Named { schema, reply }).unwrap_or_default()
}

fn name(command: &str) -> String {
    format!("dictmesh.{command}/1")
}

/// A reply's command and JSON Schema (draft 2020-12).
fn of<R: Reply>() -> (&'static str, Schema) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    let properties = schema.ensure_object().entry("properties");
    if let Value::Object(properties) = properties.or_insert_with(|| json!({})) {
        let command = json!({"const": name(R::COMMAND), "description": "The name and version of this schema."});
        properties.insert("schema".into(), command);
    }
    let required = schema.ensure_object().entry("required");
    if let Value::Array(required) = required.or_insert_with(|| json!([])) {
        required.insert(0, "schema".into());
    }
    schema.insert("title".into(), name(R::COMMAND).into());
    (R::COMMAND, schema)
}
