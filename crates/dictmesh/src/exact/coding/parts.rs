//! Columns in parts that all threads share.

use dictmesh_kernels::products::SAMPLES_TOGETHER;
use std::ops::Range;

/// Samples up to which parts are split off one by one from the front. More are halved first, to
/// bound the depth of recursion.
const IN_ORDER: usize = 2048;

/// Calls `solve` for parts of the columns, with their slices of `y` and `v`, on all threads, and
/// combines the results with `join`. Parts and their order depend only on `all`, the number of
/// columns.
///
/// A thread takes the part in front and leaves the rest to be stolen. The smaller parts at the end
/// thus run last, and threads finish at about the same time.
pub(crate) fn in_parts<T: Send>(
    columns: Range<usize>,
    all: usize,
    y: &mut [f64],
    v: &mut [f64],
    solve: &(impl Fn(Range<usize>, &mut [f64], &mut [f64]) -> T + Sync),
    join: &(impl Fn(T, T) -> T + Sync),
) -> T {
    let (from, to) = (columns.start, columns.end);
    // Smaller parts at the end balance the load; among many columns, all parts are small.
    let width = if all > IN_ORDER || 4 * from < 3 * all {
        SAMPLES_TOGETHER
    } else if 8 * from < 7 * all {
        SAMPLES_TOGETHER / 2
    } else {
        SAMPLES_TOGETHER / 4
    };
    // No part of one column is left: its products round differently.
    if columns.len() <= width + 1 {
        return solve(columns, y, v);
    }
    let here = match columns.len() > IN_ORDER {
        true => columns.len().div_ceil(2).next_multiple_of(width),
        false => width,
    };
    let (n, m) = (y.len() / columns.len(), v.len() / columns.len());
    let ((y, y_right), (v, v_right)) = (y.split_at_mut(here * n), v.split_at_mut(here * m));
    let (left, right) = rayon::join(
        || in_parts(from..from + here, all, y, v, solve, join),
        || in_parts(from + here..to, all, y_right, v_right, solve, join),
    );
    join(left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every column is in one part, with its slices of `y` and `v`. Parts are joined in order, and
    /// are the same for any number of threads.
    #[test]
    fn parts_are_all_columns_once_and_in_order() {
        for all in [0, 1, 63, 65, 200, 512, IN_ORDER, IN_ORDER + 1, 20_000] {
            let parts = |threads: usize| {
                let each = |columns: Range<usize>, times| -> Vec<f64> {
                    columns.flat_map(|j| [j as f64].repeat(times)).collect()
                };
                let (mut y, mut v) = (each(0..all, 2), each(0..all, 3));
                let solve = |columns: Range<usize>, y: &mut [f64], v: &mut [f64]| {
                    assert_eq!(
                        (y, v),
                        (
                            &mut each(columns.clone(), 2)[..],
                            &mut each(columns.clone(), 3)[..]
                        )
                    );
                    vec![columns]
                };
                let join = |left: Vec<_>, right: Vec<_>| [left, right].concat();
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                (pool.build().unwrap())
                    .install(|| in_parts(0..all, all, &mut y, &mut v, &solve, &join))
            };
            let alone = parts(1);
            assert!(
                alone.iter().cloned().flatten().eq(0..all),
                "{all}: {alone:?}"
            );
            assert!(alone.iter().all(|part| part.len() <= SAMPLES_TOGETHER + 1));
            assert!(all == 1 || alone.iter().all(|part| part.len() != 1));
            assert_eq!(parts(3), alone);
        }
    }
}
