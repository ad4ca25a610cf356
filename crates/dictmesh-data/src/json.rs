//! One JSON value a line. A key that comes twice in an object is refused: serde_json keeps the last.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// Whether a first line is an array or an object.
pub fn begins(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let open = matches!(line.trim_ascii_start().first(), Some(b'[' | b'{'));
    open && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// The value in a line; the error is what was found instead.
pub fn parse(line: &str) -> Result<Value, String> {
    parse_with_keys(line).map(|(value, _)| value)
}

/// The same, and the keys of an object in their order, which the object itself does not keep.
pub fn parse_with_keys(line: &str) -> Result<(Value, Vec<String>), String> {
    let trimmed = line.trim_start();
    let parsed = match trimmed.starts_with('{') {
        true => serde_json::from_str::<Unique>(trimmed)
            .map(|object| (Value::Object(object.values), object.keys)),
        false => serde_json::from_str(trimmed).map(|value| (value, Vec::new())),
    };
    parsed.map_err(|e| {
        // The parser counts lines within the line.
        let reason = e.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        match e.is_data() {
            true => reason.to_string(),
            false => format!("no JSON at column {} ({reason})", e.column()),
        }
    })
}

/// An object whose keys differ.
struct Unique {
    values: Map<String, Value>,
    keys: Vec<String>,
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Unique;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let (mut object, mut keys) = (Map::new(), Vec::new());
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} twice")));
            }
            keys.push(key.clone());
            object.insert(key, value);
        }
        Ok(Unique {
            values: object,
            keys,
        })
    }
}
