//! The hand-shake: what both ends of an edge must agree on before a frame passes.

use super::message::{Hello, Setting};
use dictmesh::AgentId;
use std::sync::atomic::{AtomicU32, Ordering};

/// The version of what is said on a stream. Agents of another version are refused.
pub const PROTOCOL: u32 = 3;

/// What this agent says of itself in every hand-shake.
#[derive(Debug)]
pub struct Terms {
    pub own: AgentId,
    pub run: String,
    pub agreed: Vec<(String, String)>,
    pub incarnation: u64,
    pub epoch: AtomicU32,
}

impl Terms {
    /// The hello to a neighbour.
    pub fn hello(&self, to: AgentId) -> Hello {
        let setting = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
        };
        Hello {
            protocol: PROTOCOL,
            run: self.run.clone(),
            from: self.own as u64,
            to: to as u64,
            incarnation: self.incarnation,
            epoch: self.epoch.load(Ordering::Relaxed),
            agreed: self.agreed.iter().map(setting).collect(),
        }
    }

    /// Whether the neighbour `from` may go on after this hello. What is wrong is said in words that mean the same on
    /// both sides, as both log them.
    pub fn check(&self, from: AgentId, hello: &Hello) -> Result<(), String> {
        let own = self.own;
        if hello.protocol != PROTOCOL {
            return Err(format!(
                "agent {own} speaks version {PROTOCOL} of the protocol and agent {from} version {}; install the same \
                 dictmesh at both",
                hello.protocol
            ));
        }
        if hello.from != from as u64 || hello.to != own as u64 {
            return Err(format!(
                "the hello is from agent {} to agent {}, but this edge joins agents {from} and {own}; correct the ids \
                 and addresses of the two configurations",
                hello.from, hello.to
            ));
        }
        if hello.run != self.run {
            return Err(format!(
                "agent {own} belongs to the run \"{}\" and agent {from} to the run \"{}\"; start both with the \
                 configurations of one run",
                self.run,
                shown(&hello.run)
            ));
        }
        self.check_agreed(from, &hello.agreed)
    }

    fn check_agreed(&self, from: AgentId, theirs: &[Setting]) -> Result<(), String> {
        let own = self.own;
        let absent = "(nothing)";
        let value_of = |name: &str| theirs.iter().find(|s| s.name == name);
        let mut differences: Vec<String> = Vec::new();
        for (name, ours) in &self.agreed {
            let theirs = value_of(name).map_or(absent, |s| &s.value);
            if theirs != ours {
                let (ours, theirs) = (short(ours), short(theirs));
                differences.push(format!(
                    "{name} is {ours} at agent {own} and {theirs} at agent {from}"
                ));
            }
        }
        let unknown = |s: &&Setting| !self.agreed.iter().any(|(name, _)| *name == s.name);
        for setting in theirs.iter().filter(unknown).take(MOST_UNKNOWN) {
            let (name, theirs) = (short(&setting.name), short(&setting.value));
            differences.push(format!(
                "{name} is {absent} at agent {own} and {theirs} at agent {from}"
            ));
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{}; make it the same in both configurations",
                in_a_line(&differences)
            )),
        }
    }
}

/// As many differences as a line of the other side's log takes, which is what [`shown`] leaves of it, and how many more.
fn in_a_line(differences: &[String]) -> String {
    let mut line = String::new();
    for (named, difference) in differences.iter().enumerate() {
        if named > 0 && line.len() + difference.len() > MOST_NAMED {
            return format!("{line}, and {} more settings", differences.len() - named);
        }
        if named > 0 {
            line += ", ";
        }
        line += difference;
    }
    line
}

/// Bytes of differences that are named.
const MOST_NAMED: usize = 300;

/// Settings of the other side that are named, of those this one does not know.
const MOST_UNKNOWN: usize = 4;

/// What a peer wrote, fit for a line of a log: no control characters, and not too long.
pub fn shown(text: &str) -> String {
    cut(text, 400)
}

/// A single name or value of it.
fn short(text: &str) -> String {
    cut(text, 60)
}

fn cut(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let mut out: String = text.chars().take(most).map(plain).collect();
    if text.chars().nth(most).is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(own: AgentId, run: &str, batch: &str) -> Terms {
        Terms {
            own,
            run: run.into(),
            agreed: vec![
                ("task".into(), "nmf".into()),
                ("batch".into(), batch.into()),
            ],
            incarnation: 7,
            epoch: AtomicU32::new(3),
        }
    }

    #[test]
    fn agents_of_one_run_agree() {
        let (a, b) = (terms(0, "r", "16"), terms(1, "r", "16"));
        b.check(0, &a.hello(1)).unwrap();
        a.check(1, &b.hello(0)).unwrap();
        assert_eq!((a.hello(1).incarnation, a.hello(1).epoch), (7, 3));
    }

    #[test]
    fn every_difference_is_named_with_both_values() {
        let (a, b) = (terms(0, "r", "16"), terms(1, "r", "32"));
        let said = b.check(0, &a.hello(1)).unwrap_err();
        assert!(
            said.contains("batch is 32 at agent 1 and 16 at agent 0"),
            "{said}"
        );
        let said = terms(1, "other", "16").check(0, &a.hello(1)).unwrap_err();
        assert!(
            said.contains("\"other\"") && said.contains("\"r\""),
            "{said}"
        );
        let said = terms(1, "r", "16").check(0, &a.hello(2)).unwrap_err();
        assert!(said.contains("to agent 2"), "{said}");
        let old = Hello {
            protocol: 9,
            ..a.hello(1)
        };
        assert!(terms(1, "r", "16")
            .check(0, &old)
            .unwrap_err()
            .contains("version 9"));
        let mut more = a.hello(1);
        more.agreed.push(Setting {
            name: "eta\n".into(),
            value: "1".into(),
        });
        let said = terms(1, "r", "16").check(0, &more).unwrap_err();
        assert!(said.contains("eta? is (nothing) at agent 1"), "{said}");
    }
}
