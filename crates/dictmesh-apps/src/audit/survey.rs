//! The audit of several strategies on one mesh, side by side.

use super::{audit, audit_masked, chance, Audit, Recovered, RECOVERED, SUMS};
use crate::learning_curve::Target;
use crate::progress::{report, Observer, Progress};
use dictmesh::strategy::{self, Strategy};
use dictmesh::{Error, Mesh, Result, Samples, Spec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveySettings {
    /// Number of recorded rounds, at least 4.
    pub rounds: usize,
    /// Maximum number of samples whose messages are recorded, at least 1.
    pub samples: usize,
    /// Number of neighbours of an agent that collude, at least 1.
    pub colluding: usize,
    /// Sizes of the random start of `relaxed-admm`, each audited besides the zero start.
    pub random_start: Vec<f64>,
}

impl Default for SurveySettings {
    /// 400 rounds of 40 samples, one neighbour, a random start of size 1.
    fn default() -> Self {
        SurveySettings {
            rounds: 400,
            samples: 40,
            colluding: 1,
            random_start: vec![1.0],
        }
    }
}

/// A strategy to audit.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name in the results, such as "tree, masked".
    pub name: String,
    /// The strategy.
    pub strategy: Arc<dyn Strategy>,
    /// Whether masks hide the parts of its sums.
    pub masked: bool,
}

/// What attackers recover of the private atoms.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovery {
    /// Mean |cosine| between the atoms that fired and the directions found; null without any.
    pub mean_cosine: Option<f64>,
    /// The largest of these cosines.
    pub max_cosine: Option<f64>,
    /// Number of atoms with a cosine of at least .99.
    pub recovered: usize,
    /// Number of atoms that fired.
    pub atoms: usize,
    /// The result for each agent under attack.
    pub agents: Vec<Recovered>,
}

/// The leakage of one strategy.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategyAudit {
    /// The name, such as "relaxed-admm, random start 1".
    pub name: String,
    /// The strategy's own name.
    pub strategy: String,
    /// Its resolved constants.
    pub constants: BTreeMap<String, f64>,
    /// Whether masks hide the parts of its sums.
    pub masked: bool,
    /// Rounds until nu of every agent and y stay within a relative error of 1e-3; null if more than
    /// were recorded.
    pub rounds_to_60_db: Option<usize>,
    /// Whether half of the atoms or more are recovered, with or without x.
    pub broken: bool,
    /// What attackers recover that know x.
    pub x_known: Recovery,
    /// What attackers recover that do not know x.
    pub x_unknown: Recovery,
    /// Mean |cosine| for the atoms of agents whose messages the attackers never receive.
    pub out_of_sight: Option<f64>,
    /// Number of atoms that are recovered without x and attributed to their agent; null for
    /// strategies without sums.
    pub attributed: Option<usize>,
    /// Mean |cosine| between x and its best estimate by attackers without x.
    pub x_cosine: Option<f64>,
    /// Mean |cosine| between x and nu, which every agent receives.
    pub nu_cosine: f64,
}

/// The leakage of several strategies on one mesh.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survey {
    /// Number of agents.
    pub agents: usize,
    /// Number of links.
    pub links: usize,
    /// Number of atoms.
    pub atoms: usize,
    /// Length of a sample.
    pub features: usize,
    /// Number of samples.
    pub samples: usize,
    /// Number of recorded rounds.
    pub rounds: usize,
    /// Number of neighbours that collude.
    pub colluding: usize,
    /// Number of agents all of whose messages the attackers receive, for gossip.
    pub seen_in_full: usize,
    /// Expected |cosine| of an atom with the nearest of as many random directions as an attacker
    /// finds at most.
    pub chance: f64,
    /// Expected |cosine| of x with one random direction.
    pub chance_of_x: f64,
    /// The strategies.
    pub strategies: Vec<StrategyAudit>,
    /// Why strategies were left out: they do not support the problem, or they diverge.
    pub left_out: Vec<String>,
}

impl SurveySettings {
    /// The strategies to audit: `given` alone, or all with `bits` bits per number in a message.
    /// `relaxed-admm` is audited with each random start too, and `tree` with masks too.
    pub fn candidates(
        &self,
        given: Option<&Arc<dyn Strategy>>,
        bits: Option<i64>,
    ) -> Result<Vec<Candidate>> {
        let plain: Vec<Arc<dyn Strategy>> = match given {
            Some(given) => vec![given.clone()],
            None => strategy::NAMES
                .iter()
                .map(|name| strategy::build(&Spec::new(*name).with_some("bits", bits)))
                .collect::<Result<_>>()?,
        };
        let mut candidates = Vec::new();
        for strategy in plain {
            let name = strategy.name();
            let mut add = |name: String, strategy: &Arc<dyn Strategy>, masked| {
                candidates.push(Candidate {
                    name,
                    strategy: strategy.clone(),
                    masked,
                });
            };
            add(name.clone(), &strategy, false);
            if name == SUMS {
                add(format!("{name}, masked"), &strategy, true);
            }
            if name == "relaxed-admm" {
                for size in &self.random_start {
                    let hidden = strategy.spec().with_number("random_start", *size);
                    let hidden = strategy::build(&hidden)?;
                    add(format!("{name}, random start {size}"), &hidden, false);
                }
            }
        }
        Ok(candidates)
    }

    /// Audits the candidates on the first samples of `x`. With `skip`, candidates that do not
    /// support the problem or diverge are left out of the result; otherwise they are an error.
    ///
    /// Errors: those of [`audit`], and no candidate that can be audited.
    pub fn run(
        &self,
        mesh: &Mesh,
        x: &Samples,
        candidates: &[Candidate],
        skip: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Survey> {
        if self.samples == 0 {
            return Err(Error::parameter("samples", 0, "must be at least 1"));
        }
        let x = &x.range(0..x.len().min(self.samples));
        let target = Target::new(mesh, x)?;
        let (mut strategies, mut left_out) = (Vec::new(), Vec::new());
        let (mut seen_in_full, mut last) = (0, None);
        for (done, candidate) in candidates.iter().enumerate() {
            let progress = Progress::steps("attacks", done, candidates.len());
            report(observer, progress)?;
            let attack = match candidate.masked {
                true => audit_masked,
                false => audit,
            };
            let audited = attack(mesh, x, &candidate.strategy, self.rounds, self.colluding);
            let audit = match audited {
                Ok(audit) => audit,
                Err(why @ (Error::Unsupported { .. } | Error::Diverged { .. })) if skip => {
                    left_out.push(why.to_string());
                    last = Some(why);
                    continue;
                }
                Err(why) => return Err(why),
            };
            let watch = &mut || report(observer, progress);
            let curve = target.curve_while(mesh, &candidate.strategy, self.rounds, watch)?;
            if strategies.is_empty() {
                let all = audit.knowing.iter().filter(|r| r.unseen == 0);
                seen_in_full = all.count();
            }
            strategies.push(StrategyAudit::new(candidate, audit, curve.both()[2]));
        }
        if let (true, Some(why)) = (strategies.is_empty(), last) {
            return Err(why);
        }
        let fewest = (0..mesh.agents()).map(|k| mesh.block(k).len()).min();
        let directions = mesh.atoms() - fewest.unwrap_or(0);
        Ok(Survey {
            agents: mesh.agents(),
            links: mesh.topology().edges().len(),
            atoms: mesh.atoms(),
            features: mesh.rows(),
            samples: x.len(),
            rounds: self.rounds,
            colluding: self.colluding,
            seen_in_full,
            chance: chance(mesh.rows(), directions),
            chance_of_x: chance(mesh.rows(), 1),
            strategies,
            left_out,
        })
    }
}

impl StrategyAudit {
    fn new(candidate: &Candidate, audit: Audit, rounds_to_60_db: Option<usize>) -> Self {
        let spec = audit.strategy.spec();
        let constants = spec.parameters().iter();
        let constants = constants.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
        let recovery = |knows_x: bool, agents: &[Recovered]| {
            let cosines = audit.cosines(knows_x);
            Recovery {
                mean_cosine: mean(&cosines),
                max_cosine: cosines.iter().copied().reduce(f64::max),
                recovered: cosines.iter().filter(|c| **c >= RECOVERED).count(),
                atoms: cosines.len(),
                agents: agents.to_vec(),
            }
        };
        let x_known = recovery(true, &audit.knowing);
        let x_unknown = recovery(false, &audit.not_knowing);
        StrategyAudit {
            name: candidate.name.clone(),
            strategy: audit.strategy.name(),
            constants: constants.collect(),
            masked: candidate.masked,
            rounds_to_60_db,
            broken: [&x_known, &x_unknown].iter().any(|r| r.is_half()),
            attributed: (audit.strategy.name() == SUMS).then(|| audit.attributed()),
            out_of_sight: mean(&audit.beyond),
            x_cosine: audit.x(),
            nu_cosine: audit.nu_and_x,
            x_known,
            x_unknown,
        }
    }

    /// The size of the random start, if it has one.
    pub fn random_start(&self) -> Option<f64> {
        self.constants.get("random_start").copied()
    }
}

impl Recovery {
    /// Whether half of the atoms or more are recovered.
    fn is_half(&self) -> bool {
        self.atoms > 0 && 2 * self.recovered >= self.atoms
    }

    /// |cosine| of every atom that fired, in ascending order.
    pub fn cosines(&self) -> Vec<f64> {
        let atoms = self.agents.iter().flat_map(|r| &r.atoms);
        let mut cosines: Vec<f64> = atoms.filter(|a| a.fired).map(|a| a.cosine).collect();
        cosines.sort_by(f64::total_cmp);
        cosines
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
