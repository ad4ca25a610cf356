//! Names for residuals, regularizers, atom sets, strategies and speed-ups ("pieces"), as used in
//! files, flags and messages to peers.
//!
//! A [`Spec`] is plain data: a name with parameters. A [`Names`] maps names to constructors. Both
//! are optional: the library takes pieces as values.

use crate::error::{Error, Result};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The name and the parameters of a piece, in JSON `{"kind": "huber", "eta": 0.2}`.
///
/// A piece without parameters may be written as its name alone: `"unit-ball"`.
///
/// ```
/// use dictmesh::Spec;
/// let spec = Spec::new("huber").with("eta", 0.2);
/// assert_eq!(serde_json::to_string(&spec).unwrap(), r#"{"kind":"huber","eta":0.2}"#);
/// assert_eq!(spec.number("eta")?, Some(0.2));
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Spec {
    kind: String,
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

impl Spec {
    /// A spec with this name and no parameters.
    pub fn new(kind: impl Into<String>) -> Self {
        Spec {
            kind: kind.into(),
            parameters: Map::new(),
        }
    }

    /// Adds a parameter. A value that JSON cannot represent (NaN, infinity) becomes null.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_string(), value.into());
        self
    }

    /// Adds a numeric parameter. NaN and infinities are stored as strings, since JSON has no such
    /// numbers.
    pub fn with_number(self, name: &str, value: f64) -> Self {
        match value.is_finite() {
            true => self.with(name, value),
            false => self.with(name, value.to_string()),
        }
    }

    /// Adds a numeric parameter if `value` is `Some`. NaN and infinities stay, and are refused
    /// where the piece is built.
    pub fn with_some_number(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with_number(name, value),
            None => self,
        }
    }

    /// The same spec without this parameter.
    pub fn without(&self, name: &str) -> Self {
        let mut spec = self.clone();
        spec.parameters.remove(name);
        spec
    }

    /// Adds a parameter if `value` is `Some`.
    pub fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The name.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The parameters, in order of their names.
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// A numeric parameter; `None` if it is missing or null.
    pub fn number(&self, name: &'static str) -> Result<Option<f64>> {
        match self.parameters.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().or_else(|| not_finite(value)) {
                Some(number) => Ok(Some(number)),
                None => Err(Error::parameter(name, value, "must be a number")),
            },
        }
    }

    /// A required numeric parameter; an error if it is missing.
    pub fn required(&self, name: &'static str) -> Result<f64> {
        self.number(name)?.ok_or_else(|| {
            Error::parameter(
                name,
                "nothing",
                format!("\"{}\" needs this number", self.kind),
            )
        })
    }

    /// A parameter of any deserialisable type; `None` if it is missing or null.
    pub fn get<T: de::DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>> {
        match self.parameters.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|why| Error::parameter(name, value, why.to_string())),
        }
    }

    /// `Ok` if every parameter name is in `names`; otherwise the error gives one that is not.
    pub fn allow(&self, names: &[&str]) -> Result<()> {
        match self
            .parameters
            .keys()
            .find(|name| !names.contains(&name.as_str()))
        {
            None => Ok(()),
            Some(name) => Err(Error::UnknownName {
                kind: "parameter",
                given: format!("{}.{name}", self.kind),
                known: match names {
                    [] => "none".to_string(),
                    names => names.join(", "),
                },
            }),
        }
    }
}

impl From<&str> for Spec {
    fn from(kind: &str) -> Self {
        Spec::new(kind)
    }
}

/// Compares numbers by value, so that 1 in a file equals 1.0 in a program.
impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.parameters, &other.parameters);
        self.kind == other.kind
            && own.len() == others.len()
            && (own.iter())
                .all(|(name, value)| others.get(name).is_some_and(|other| same(value, other)))
    }
}

/// Parses "NaN", "inf" and "-inf".
fn not_finite(value: &Value) -> Option<f64> {
    let number: f64 = value.as_str()?.parse().ok()?;
    (!number.is_finite()).then_some(number)
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let mut separator = " (";
        for (name, value) in &self.parameters {
            write!(f, "{separator}{name} = {value}")?;
            separator = ", ";
        }
        f.write_str(if separator == ", " { ")" } else { "" })
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(kind) => Ok(Spec::new(kind)),
            Value::Object(mut parameters) => match parameters.remove("kind") {
                Some(Value::String(kind)) => Ok(Spec { kind, parameters }),
                _ => Err(de::Error::custom("a piece needs its name under \"kind\"")),
            },
            other => Err(de::Error::custom(format!(
                "a piece is its name or a table with its name under \"kind\"; got {other}"
            ))),
        }
    }
}

/// A constructor of a piece of type `T` from its [`Spec`].
pub type Maker<T> = Arc<dyn Fn(&Spec) -> Result<Arc<T>> + Send + Sync>;

/// The constructors of one type of piece, by name.
pub struct Names<T: ?Sized> {
    /// The type of piece for error messages, such as "residual".
    what: &'static str,
    makers: BTreeMap<String, Maker<T>>,
}

impl<T: ?Sized> Names<T> {
    /// An empty map; `what` is the type of piece in error messages.
    pub fn new(what: &'static str) -> Self {
        Names {
            what,
            makers: BTreeMap::new(),
        }
    }

    /// Registers a constructor. An existing name is replaced.
    pub fn with(
        mut self,
        kind: &str,
        make: impl Fn(&Spec) -> Result<Arc<T>> + Send + Sync + 'static,
    ) -> Self {
        self.makers.insert(kind.to_string(), Arc::new(make));
        self
    }

    /// The registered names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.makers.keys().map(String::as_str)
    }

    /// Constructs a piece from its spec. An unregistered name is [`Error::UnknownName`].
    pub fn build(&self, spec: &Spec) -> Result<Arc<T>> {
        match self.makers.get(spec.kind()) {
            Some(make) => make(spec),
            None => Err(Error::UnknownName {
                kind: self.what,
                given: spec.kind().to_string(),
                known: self.names().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

impl<T: ?Sized> Clone for Names<T> {
    fn clone(&self) -> Self {
        Names {
            what: self.what,
            makers: self.makers.clone(),
        }
    }
}

impl<T: ?Sized> fmt::Debug for Names<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_comes_back_from_json_by_name_alone_and_with_parameters() {
        let spec = Spec::new("boxed")
            .with("gamma", 0.25)
            .with_some("lo", None::<f64>);
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec);
        assert_eq!(
            serde_json::from_str::<Spec>("\"ring\"").unwrap(),
            Spec::new("ring")
        );
        for bad in ["3", "{}", "{\"kind\": 3}", "[]"] {
            assert!(serde_json::from_str::<Spec>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        let read = |text| serde_json::from_str::<Spec>(text).unwrap();
        let spec = Spec::new("a").with("x", 1.0).with("y", vec![2.0, 3.0]);
        assert_eq!(read(r#"{"kind": "a", "x": 1, "y": [2, 3]}"#), spec);
        for other in [
            r#"{"kind": "a", "x": 1, "y": [2]}"#,
            r#"{"kind": "b", "x": 1, "y": [2, 3]}"#,
            r#"{"kind": "a", "x": 1}"#,
        ] {
            assert_ne!(read(other), spec);
        }
    }

    #[test]
    fn unknown_names_and_parameters_are_named() {
        let names =
            Names::<dyn fmt::Debug + Send + Sync>::new("residual").with("one", |_| Ok(Arc::new(1)));
        assert!(names.build(&Spec::new("one")).is_ok());
        let error = names.build(&Spec::new("two")).unwrap_err().to_string();
        assert!(error.contains("two") && error.contains("one") && error.contains("residual"));
        let infinite = Spec::new("one").with_number("eta", f64::NEG_INFINITY);
        assert_eq!(infinite.number("eta").unwrap(), Some(f64::NEG_INFINITY));
        let spec = Spec::new("one").with("eta", "a");
        assert!(spec.allow(&["eta"]).is_ok());
        assert!(spec.allow(&[]).unwrap_err().to_string().contains("eta"));
        assert!(spec.number("eta").is_err() && spec.required("mu").is_err());
    }
}
