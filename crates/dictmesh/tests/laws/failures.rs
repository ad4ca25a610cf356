//! Pieces with one fault each. The laws reject every one of them with words that name the fault.

use dictmesh::accel::{Accel, Combiner};
use dictmesh::laws;
use dictmesh::problem::regularizer::{ElasticNet, Piece, ScalarPenalty};
use dictmesh::problem::residual::{Envelope, SquaredL2};
use dictmesh::problem::{AtomSet, Regularizer, Residual};
use dictmesh::random::Rng;
use dictmesh::strategy::{self, AgentStrategy, SharedConstants, Strategy};
use dictmesh::{Result, Spec};
use faer::MatMut;
use std::sync::Arc;

/// The method that is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Conjugate,
    Hessian,
    Quadratic,
    Panic,
    Piece,
    Zone,
    Support,
    Scalar,
    Bias,
    Alone,
    None,
}
use Fault::{Alone, Bias, Conjugate, Hessian, Panic, Quadratic, Scalar, Support, Zone};

/// A correct piece with one wrong method.
#[derive(Debug)]
struct Wrong<T: ?Sized>(Fault, Arc<T>);

fn squared(fault: Fault) -> Wrong<SquaredL2> {
    Wrong(fault, Arc::new(SquaredL2))
}

impl Residual for Wrong<SquaredL2> {
    fn spec(&self) -> Spec {
        Spec::new("wrong")
    }

    fn value(&self, u: &[f64]) -> f64 {
        self.1.value(u)
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        let shift = if self.0 == Conjugate && !nu.is_empty() {
            0.1
        } else {
            0.0
        };
        self.1.conjugate(nu) + shift
    }

    fn project_dual(&self, nu: &mut [f64]) {
        assert!(
            self.0 != Panic || nu.iter().all(|v| !v.is_nan()),
            "not a number"
        );
        self.1.project_dual(nu);
    }

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        self.1.conjugate_prox(tau, nu);
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        self.1.recover(nu, u);
    }

    fn envelope(&self) -> Option<&dyn Envelope> {
        Some(self)
    }
}

impl Envelope for Wrong<SquaredL2> {
    fn gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        v.iter_mut().zip(u).for_each(|(v, u)| *v = u / (s + q));
    }

    fn hessian(&self, s: f64, q: f64, _u: &[f64], diagonal: &mut [f64]) -> f64 {
        let factor = if self.0 == Hessian { 0.9 } else { 1.0 };
        diagonal.fill(factor / (s + q));
        0.0
    }

    fn quadratic(&self, s: f64, q: f64) -> Option<f64> {
        // Without it, the Hessian is compared with differences alone.
        let factor = if self.0 == Quadratic { 2.0 } else { 1.0 };
        (self.0 != Hessian).then_some(s + factor * q)
    }
}

/// f(u) = |u|_1, which is not a function of the norm.
#[derive(Debug)]
struct Turned;

impl Residual for Turned {
    fn spec(&self) -> Spec {
        Spec::new("turned")
    }

    fn value(&self, u: &[f64]) -> f64 {
        u.iter().map(|u| u.abs()).sum()
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        match nu.iter().all(|v| v.abs() <= 1.0) {
            true => 0.0,
            false => f64::INFINITY,
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        nu.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0));
    }

    fn conjugate_prox(&self, _tau: f64, nu: &mut [f64]) {
        self.project_dual(nu);
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        let entry = |nu: &f64| if nu.abs() < 1.0 { 0.0 } else { f64::NAN };
        u.iter_mut().zip(nu).for_each(|(u, nu)| *u = entry(nu));
    }

    fn is_rotation_invariant(&self) -> bool {
        true
    }
}

impl Regularizer for Wrong<ElasticNet> {
    fn spec(&self) -> Spec {
        Spec::new("wrong")
    }

    fn value(&self, y: &[f64]) -> f64 {
        self.1.value(y)
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        self.1.argmax(kappa, s);
    }

    fn strong_convexity(&self) -> f64 {
        Regularizer::strong_convexity(&*self.1)
    }

    fn domain_support(&self, s: &[f64], reach: &[f64]) -> f64 {
        let factor = if self.0 == Support { 1.5 } else { 1.0 };
        factor * self.1.domain_support(s, reach)
    }

    fn scalar(&self, _q: usize) -> Option<&dyn ScalarPenalty> {
        Some(self)
    }
}

impl ScalarPenalty for Wrong<ElasticNet> {
    fn value_at(&self, y: f64) -> f64 {
        self.1.value_at(y)
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        let factor = if self.0 == Scalar { 0.9 } else { 1.0 };
        factor * self.1.coordinate_argmax(s, kappa)
    }

    fn strong_convexity(&self) -> f64 {
        Regularizer::strong_convexity(&*self.1)
    }

    fn quadratic_piece(&self, y: f64) -> Option<Piece> {
        let mut piece = self.1.quadratic_piece(y)?;
        piece.slope += if self.0 == Fault::Piece { 0.05 } else { 0.0 };
        Some(piece)
    }

    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        let (lo, hi) = self.1.subgradient_at_zero()?;
        Some((lo, if self.0 == Zone { 1.1 * hi } else { hi }))
    }
}

impl Strategy for Wrong<dyn Strategy> {
    fn spec(&self) -> Spec {
        self.1.spec()
    }

    fn check(&self, residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        self.1.check(residual, symmetric_weights)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        Ok(Arc::new(Wrong(self.0, self.1.resolve(shared)?)))
    }

    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>> {
        self.1.agent(own)
    }

    fn is_biased(&self) -> bool {
        self.0 != Bias && self.1.is_biased()
    }

    fn solves_alone(&self) -> bool {
        self.0 == Alone || self.1.solves_alone()
    }
}

/// Sums over neighbours without their weights.
#[derive(Debug)]
struct Unweighted(Vec<Vec<usize>>);

impl Accel for Unweighted {
    fn name(&self) -> &'static str {
        "unweighted"
    }

    fn combiner(&self, weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        let senders = |column: &Vec<(usize, f64)>| column.iter().map(|(l, _)| *l).collect();
        Some(Box::new(Unweighted(weights.iter().map(senders).collect())))
    }
}

impl Combiner for Unweighted {
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        mut out: MatMut<'_, f64>,
    ) {
        for (k, senders) in self.0.iter().enumerate() {
            for i in 0..out.nrows() {
                let sum: f64 = senders.iter().map(|l| sent(*l)[from + i]).sum();
                out[(i, k)] = sum / senders.len().max(1) as f64;
            }
        }
    }
}

/// { w : |w_i| <= 1/2 }, whose projection fails on NaN or hides it.
#[derive(Debug)]
struct Cube {
    hides: bool,
}

impl AtomSet for Cube {
    fn spec(&self) -> Spec {
        Spec::new("cube")
    }

    fn project(&self, w: &mut [f64]) {
        assert!(self.hides || w.iter().all(|w| !w.is_nan()), "not a number");
        let inside = |w: f64| if w.is_nan() { 0.0 } else { w.clamp(-0.5, 0.5) };
        w.iter_mut().for_each(|w| *w = inside(*w));
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        w.iter().all(|w| w.abs() <= 0.5 + tolerance)
    }
}

#[track_caller]
fn rejected(law: laws::Law, word: &str) {
    let error = law.unwrap_err();
    assert!(error.contains(word), "{word}: {error}");
}

#[test]
fn wrong_residuals_are_rejected() {
    rejected(laws::residual(&squared(Conjugate)), "f*");
    rejected(laws::residual(&squared(Hessian)), "hessian");
    rejected(laws::residual(&squared(Quadratic)), "quadratic");
    rejected(laws::residual(&squared(Panic)), "panics: not a number");
    rejected(laws::residual(&Turned), "is_rotation_invariant");
    assert_eq!(laws::residual(&squared(Fault::None)), Ok(()));
}

#[test]
fn wrong_regularizers_are_rejected() {
    let net = |fault| Wrong(fault, Arc::new(ElasticNet::new(0.1, 0.3).unwrap()));
    for (fault, word) in [
        (Fault::Piece, "Piece"),
        (Zone, "subgradient_at_zero"),
        (Support, "domain_support"),
        (Scalar, "scalar"),
    ] {
        rejected(laws::regularizer(&net(fault), 3), word);
    }
    assert_eq!(laws::regularizer(&net(Fault::None), 3), Ok(()));
}

#[test]
fn wrong_sets_are_rejected() {
    rejected(
        laws::atom_set(&Cube { hides: false }),
        "panics: not a number",
    );
    rejected(laws::atom_set(&Cube { hides: true }), "hides");
}

#[test]
fn wrong_strategies_are_rejected() {
    for (fault, name) in [(Bias, "diffusion"), (Alone, "exact-diffusion")] {
        let wrong = Wrong(fault, strategy::named(name).unwrap());
        rejected(laws::strategy(Arc::new(wrong)), "from that of exact");
    }
}

#[test]
fn wrong_speed_ups_are_rejected() {
    rejected(
        laws::accel(Arc::new(Unweighted(Vec::new())), 1e-9),
        "unweighted",
    );
}
