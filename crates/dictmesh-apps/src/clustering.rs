//! k-means clustering and its agreement with known classes, by which the paper judges biclusters.
//!
//! [`KMeans`] minimises over the centres c_1..c_k
//!
//! ```text
//! inertia = sum_i min_c |p_i - c|^2
//! ```
//!
//! by Lloyd's iterations, and returns the restart with the lowest inertia. Clusters have no names,
//! so [`misclassified`] counts the points outside their class under the best matching of clusters
//! to classes ([`assignment`]).

use dictmesh::random::{stream, Rng};
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{distance_squared, Matrix};
use rand::RngExt;

/// Random stream of the initial centres ("kmns" in ASCII).
const START_STREAM: u64 = 0x6b_6d_6e_73;

/// Settings of k-means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KMeans {
    /// Number of clusters, from 1 to the number of points.
    pub clusters: usize,
    /// Number of restarts, at least 1; the lowest inertia is returned.
    pub restarts: usize,
    /// Maximum iterations per restart, at least 1. A restart ends when no point changes its
    /// cluster.
    pub iterations: usize,
    /// Seed of the restarts.
    pub seed: u64,
}

impl Default for KMeans {
    /// Two clusters, the best of 10 restarts.
    fn default() -> Self {
        KMeans {
            clusters: 2,
            restarts: 10,
            iterations: 300,
            seed: 0,
        }
    }
}

/// The result of k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster index of each point.
    pub of: Vec<usize>,
    /// The centres, one per column.
    pub centres: Matrix,
    /// The sum of squared distances to the centres.
    pub inertia: f64,
}

impl KMeans {
    /// Clusters `points`, one per column.
    ///
    /// ```
    /// use dictmesh::Matrix;
    /// use dictmesh_apps::clustering::KMeans;
    /// let points = Matrix::from_columns(1, &[[0.0], [9.0], [0.2], [9.2]])?;
    /// let found = KMeans { clusters: 2, ..KMeans::default() }.run(&points)?;
    /// assert_eq!(found.of[0], found.of[2]);
    /// assert!((found.inertia - 0.04).abs() < 1e-12);
    /// # Ok::<(), dictmesh::Error>(())
    /// ```
    ///
    /// Errors: `clusters` outside 1 to the number of points, zero restarts or iterations, points
    /// that are not finite.
    pub fn run(&self, points: &Matrix) -> Result<Clusters> {
        if self.clusters == 0 || self.clusters > points.cols() {
            return Err(Error::parameter(
                "clusters",
                self.clusters,
                format!("must be from 1 to the number of points, {}", points.cols()),
            ));
        }
        for (name, given) in [("restarts", self.restarts), ("iterations", self.iterations)] {
            if given == 0 {
                return Err(Error::parameter(name, given, "must be at least 1"));
            }
        }
        Error::check_finite("points to cluster", points)?;
        let mut rng = stream(self.seed, START_STREAM);
        let mut best = self.once(points, &mut rng);
        for _ in 1..self.restarts {
            let found = self.once(points, &mut rng);
            if found.inertia < best.inertia {
                best = found;
            }
        }
        Ok(best)
    }

    fn once(&self, points: &Matrix, rng: &mut Rng) -> Clusters {
        let mut centres = spread(points, self.clusters, rng);
        let mut of = vec![usize::MAX; points.cols()];
        for _ in 0..self.iterations {
            let (now, far) = nearest(points, &centres);
            if now == of {
                break;
            }
            of = now;
            centres = means(points, &of, &centres, far);
        }
        let (of, far) = nearest(points, &centres);
        Clusters {
            of,
            centres,
            inertia: far.iter().sum(),
        }
    }
}

/// Initial centres by k-means++: points drawn with probability proportional to the squared distance
/// to the nearest centre already drawn.
fn spread(points: &Matrix, count: usize, rng: &mut Rng) -> Matrix {
    let mut centres = Matrix::zeros(points.rows(), count);
    let mut far = vec![1.0; points.cols()];
    for c in 0..count {
        let mut at = rng.random::<f64>() * far.iter().sum::<f64>();
        let drawn = far.iter().position(|d| {
            at -= d;
            at < 0.0
        });
        let drawn = drawn.unwrap_or(c);
        centres.column_mut(c).copy_from_slice(points.column(drawn));
        for (j, d) in far.iter_mut().enumerate() {
            let new = distance_squared(points.column(j), centres.column(c));
            *d = if c == 0 { new } else { d.min(new) };
        }
    }
    centres
}

/// The index of the nearest centre of each point (the first on a tie), and the squared distance to
/// it.
fn nearest(points: &Matrix, centres: &Matrix) -> (Vec<usize>, Vec<f64>) {
    let one = |p: &[f64]| {
        let distances = centres.columns().map(|c| distance_squared(p, c));
        let first = (0, f64::INFINITY);
        distances
            .enumerate()
            .fold(first, |best, d| if d.1 < best.1 { d } else { best })
    };
    points.columns().map(one).unzip()
}

/// The mean of each cluster. An empty cluster takes the point farthest from its own centre.
fn means(points: &Matrix, of: &[usize], old: &Matrix, mut far: Vec<f64>) -> Matrix {
    let mut centres = Matrix::zeros(old.rows(), old.cols());
    let mut counts = vec![0_usize; old.cols()];
    for (j, &c) in of.iter().enumerate() {
        counts[c] += 1;
        let sum = centres.column_mut(c).iter_mut();
        sum.zip(points.column(j)).for_each(|(s, p)| *s += p);
    }
    for (c, &count) in counts.iter().enumerate() {
        if count > 0 {
            let sum = centres.column_mut(c).iter_mut();
            sum.for_each(|s| *s /= count as f64);
            continue;
        }
        let farthest = (0..far.len()).max_by(|a, b| far[*a].total_cmp(&far[*b]));
        if let Some(j) = farthest {
            centres.column_mut(c).copy_from_slice(points.column(j));
            far[j] = 0.0;
        }
    }
    centres
}

/// Agreement of clusters with classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The class matched to each cluster; `None` if there are more clusters than classes.
    pub class_of: Vec<Option<usize>>,
    /// Indices of the points outside the class of their cluster, ascending.
    pub wrong: Vec<usize>,
}

/// Matches clusters to classes (indices from 0, one per point) with the fewest points outside their
/// class. Each class is matched at most once. Memory grows with the square of the largest index,
/// time with the cube.
///
/// Errors: different lengths, or indices whose table does not fit into memory.
///
/// ```
/// use dictmesh_apps::clustering::misclassified;
/// let found = misclassified(&[1, 1, 0, 0, 0], &[0, 0, 1, 1, 0])?;
/// assert_eq!(found.class_of, [Some(1), Some(0)]);
/// assert_eq!(found.wrong, [4]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
pub fn misclassified(clusters: &[usize], classes: &[usize]) -> Result<Agreement> {
    Error::check_dimension(
        "number of classes (one per point)",
        classes.len(),
        clusters.len(),
    )?;
    let (k, n) = (count(clusters)?, count(classes)?);
    let size = k.max(n);
    let mut together = Matrix::zeros(size, size);
    for (&cluster, &class) in clusters.iter().zip(classes) {
        together.column_mut(class)[cluster] -= 1.0;
    }
    let pairs = assignment(&together)?;
    let class_of: Vec<_> = (0..k).map(|c| Some(pairs[c]).filter(|p| *p < n)).collect();
    let wrong = (0..clusters.len())
        .filter(|&i| class_of[clusters[i]] != Some(classes[i]))
        .collect();
    Ok(Agreement { class_of, wrong })
}

/// The largest index plus one.
///
/// Errors: a square table of this side does not fit into memory.
fn count(numbers: &[usize]) -> Result<usize> {
    let Some(&largest) = numbers.iter().max() else {
        return Ok(0);
    };
    let side = largest.checked_add(1);
    let table = side.and_then(|side| side.checked_mul(side));
    Error::check_room("number of a cluster or class", largest, table)?;
    Ok(side.unwrap_or(0))
}

/// The column assigned to each row at minimum total cost: the Hungarian algorithm in O(n^3). Row
/// potentials u and column potentials v satisfy `u_i + v_j <= c_ij`, with equality on every
/// assigned pair.
///
/// Errors: a matrix that is not square or not finite.
pub fn assignment(cost: &Matrix) -> Result<Vec<usize>> {
    Error::check_dimension("columns of the costs", cost.cols(), cost.rows())?;
    Error::check_finite("costs of an assignment", cost)?;
    let n = cost.rows();
    // Column n is a dummy that holds the row being inserted.
    let (mut u, mut v) = (vec![0.0; n], vec![0.0; n + 1]);
    let mut row_of: Vec<Option<usize>> = vec![None; n + 1];
    for row in 0..n {
        row_of[n] = Some(row);
        let mut at = n;
        let (mut slack, mut came) = (vec![f64::INFINITY; n], vec![n; n]);
        let mut seen = vec![false; n + 1];
        while let Some(i) = row_of[at] {
            seen[at] = true;
            let (mut least, mut next) = (f64::INFINITY, at);
            for j in (0..n).filter(|j| !seen[*j]) {
                let reduced = cost.get(i, j) - u[i] - v[j];
                if reduced < slack[j] {
                    (slack[j], came[j]) = (reduced, at);
                }
                if slack[j] < least || next == at {
                    (least, next) = (slack[j], j);
                }
            }
            for j in 0..=n {
                match (seen[j], row_of[j]) {
                    (true, Some(i)) => {
                        u[i] += least;
                        v[j] -= least;
                    }
                    (false, _) if j < n => slack[j] -= least,
                    _ => {}
                }
            }
            at = next;
        }
        // Augment along the path.
        while at != n {
            row_of[at] = row_of[came[at]];
            at = came[at];
        }
    }
    let mut column_of = vec![0; n];
    for (j, row) in row_of.iter().take(n).enumerate() {
        if let Some(i) = row {
            column_of[*i] = j;
        }
    }
    Ok(column_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::random::gaussian;

    /// The minimum cost over all permutations.
    fn by_trying(cost: &Matrix, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == cost.rows() {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for j in 0..cost.cols() {
            if !used[j] {
                used[j] = true;
                best = best.min(cost.get(row, j) + by_trying(cost, row + 1, used));
                used[j] = false;
            }
        }
        best
    }

    #[test]
    fn an_assignment_is_as_cheap_as_the_best_permutation() {
        for n in 0..7 {
            for seed in 0..20 {
                let mut cost = gaussian(n, n, &mut stream(seed, n as u64));
                if seed % 2 == 0 {
                    // Many ties.
                    let round = |v: &mut f64| *v = v.round();
                    cost.as_mut_slice().iter_mut().for_each(round);
                }
                let found = assignment(&cost).unwrap();
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..n));
                let total: f64 = (0..n).map(|i| cost.get(i, found[i])).sum();
                let best = by_trying(&cost, 0, &mut vec![false; n]);
                assert!((total - best).abs() < 1e-9, "{total} {best}");
            }
        }
        assert!(assignment(&Matrix::zeros(2, 3)).is_err());
    }

    #[test]
    fn separated_groups_are_found_whatever_their_order() {
        let noise = gaussian(3, 60, &mut stream(4, 0));
        let points = Matrix::from_fn(3, 60, |i, j| {
            noise.get(i, j) + if j % 4 == i { 30.0 } else { 0.0 }
        });
        let classes: Vec<usize> = (0..60).map(|j| (j + 1) % 4).collect();
        for seed in 0..5 {
            let kmeans = KMeans {
                clusters: 4,
                seed,
                ..KMeans::default()
            };
            let found = kmeans.run(&points).unwrap();
            assert_eq!(found, kmeans.run(&points).unwrap());
            let (of, far) = nearest(&points, &found.centres);
            assert_eq!(of, found.of);
            assert_eq!(far.iter().sum::<f64>(), found.inertia);
            assert!(misclassified(&found.of, &classes).unwrap().wrong.is_empty());
        }
    }

    #[test]
    fn more_clusters_than_classes_leave_one_without_a_class() {
        let found = misclassified(&[0, 0, 1, 2, 2, 2], &[0, 0, 0, 1, 1, 1]).unwrap();
        assert_eq!(found.class_of, [Some(0), None, Some(1)]);
        assert_eq!(found.wrong, [2]);
        // With fewer clusters, one class has no cluster.
        let found = misclassified(&[0, 0, 0, 0], &[0, 1, 1, 2]).unwrap();
        assert_eq!((found.class_of, found.wrong), (vec![Some(1)], vec![0, 3]));
        assert!(misclassified(&[0], &[0, 1]).is_err());
        assert!(misclassified(&[], &[]).unwrap().wrong.is_empty());
    }

    #[test]
    fn numbers_that_no_matrix_can_hold_are_refused() {
        for huge in [usize::MAX, usize::MAX - 1, 1 << 40] {
            let message = misclassified(&[0, huge], &[0, 1]).unwrap_err().to_string();
            assert!(message.contains(&huge.to_string()), "{message}");
            assert!(misclassified(&[0, 1], &[huge, 0]).is_err());
        }
    }

    #[test]
    fn equal_points_and_bad_settings_do_no_harm() {
        let points = Matrix::zeros(2, 3);
        let run = |clusters, restarts| {
            KMeans {
                clusters,
                restarts,
                ..KMeans::default()
            }
            .run(&points)
        };
        assert_eq!(run(3, 1).unwrap().inertia, 0.0);
        assert!(run(0, 1).is_err() && run(4, 1).is_err() && run(1, 0).is_err());
        let bad = Matrix::from_fn(1, 2, |_, _| f64::NAN);
        assert!(KMeans::default().run(&bad).is_err());
    }
}
