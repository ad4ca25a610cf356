//! Joining the files of several agents.

use super::{Description, Model};
use crate::error::{Error, Result};
use serde_json::{Map, Value};

impl Model {
    /// Joins the blocks of all `parts`, in any order, into one model. Agents may still be missing.
    ///
    /// The first [`written_by`](Description::written_by) is kept.
    ///
    /// # Errors
    ///
    /// If the descriptions differ in any other field, which the error names, or if an agent appears
    /// twice.
    pub fn join(parts: Vec<Model>) -> Result<Model> {
        let mut parts = parts.into_iter();
        let Some(mut joined) = parts.next() else {
            return Err(Error::Empty {
                what: "the list of models to join",
                need: "give at least one",
            });
        };
        for part in parts {
            let differences = differences(&joined.description, &part.description)?;
            if !differences.is_empty() {
                return Err(Error::Unsupported {
                    what: format!("a model with {}", part.contents()),
                    with: format!("one with {}", joined.contents()),
                    why: format!(
                        "they are not of one mesh at one time; their descriptions differ in {}",
                        differences.join(", ")
                    ),
                });
            }
            joined.blocks.extend(part.blocks);
        }
        joined.blocks.sort_by_key(|block| block.agent);
        let twice = (joined.blocks.windows(2)).find(|pair| pair[0].agent == pair[1].agent);
        if let Some([block, _]) = twice {
            return Err(Error::parameter(
                "agent",
                block.agent,
                "its block is in two of the models to join; give it once",
            ));
        }
        joined.check_to_write()?;
        Ok(joined)
    }

    /// The agents whose blocks are present, for messages.
    fn contents(&self) -> String {
        let agents: Vec<_> = self.blocks.iter().map(|block| block.agent).collect();
        super::blocks_of(&agents)
    }
}

/// The fields that differ, with both values if they are short.
fn differences(a: &Description, b: &Description) -> Result<Vec<String>> {
    let (a, b) = (fields(a)?, fields(b)?);
    let missing = Value::Null;
    let names = a
        .keys()
        .chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differ = names.filter_map(|name| {
        let (a, b) = (
            a.get(name).unwrap_or(&missing),
            b.get(name).unwrap_or(&missing),
        );
        let texts = (a.to_string(), b.to_string());
        (a != b && name != "written_by").then(|| match texts {
            (a, b) if a.len() + b.len() <= 120 => format!("{name} ({a} and {b})"),
            _ => name.clone(),
        })
    });
    Ok(differ.collect())
}

fn fields(description: &Description) -> Result<Map<String, Value>> {
    match serde_json::to_value(description) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(Error::parameter(
            "description",
            "this one",
            format!("cannot be written as JSON: {error}"),
        )),
    }
}
