//! Patches of an image: extraction and reassembly.

use dictmesh::{Error, Matrix, Result, Samples};

/// The overlapping patches of an image, with their means removed.
///
/// ```
/// use dictmesh::Matrix;
/// use dictmesh_data::patches::Patches;
/// let image = Matrix::from_fn(5, 7, |i, j| (i * j) as f64);
/// let patches = Patches::cut(&image, 3, 2)?;
/// assert_eq!(patches.samples().len(), 2 * 3);
/// // Put together unchanged, they are the image.
/// let same = patches.assemble(&patches.samples().to_dense())?;
/// assert!((0..35).all(|i| (same.as_slice()[i] - image.as_slice()[i]).abs() < 1e-12));
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    rows: usize,
    cols: usize,
    side: usize,
    /// The upper left corner of each patch.
    corners: Vec<(usize, usize)>,
    means: Vec<f64>,
    samples: Samples,
}

impl Patches {
    /// Cuts an image (rows x columns of grey values) into `side` x `side` patches, `stride` pixels
    /// apart. The last ones are shifted inwards so that every pixel is covered. Each patch is one
    /// sample, stored column by column.
    pub fn cut(image: &Matrix, side: usize, stride: usize) -> Result<Self> {
        let corners = corners((image.rows(), image.cols()), side, stride)?;
        Error::check_finite("image", image)?;
        let (samples, means) = cut_at(side, corners.iter().map(|at| (image, *at)))?;
        Ok(Patches {
            rows: image.rows(),
            cols: image.cols(),
            side,
            corners,
            means,
            samples,
        })
    }

    /// The patches without their means, M x B.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The mean removed from each patch.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Reassembles an image from patches (M x B, without means, in the order of
    /// [`samples`](Patches::samples)). Each pixel is the mean over all patches that cover it, with
    /// their means added back.
    pub fn assemble(&self, patches: &Matrix) -> Result<Matrix> {
        Error::check_dimension("pixels of a patch", patches.rows(), self.side * self.side)?;
        Error::check_dimension("number of patches", patches.cols(), self.corners.len())?;
        let mut image = Matrix::zeros(self.rows, self.cols);
        let mut count = Matrix::zeros(self.rows, self.cols);
        for (n, &(i, j)) in self.corners.iter().enumerate() {
            for c in 0..self.side {
                let pixels = &patches.column(n)[c * self.side..(c + 1) * self.side];
                let out = &mut image.column_mut(j + c)[i..i + self.side];
                for (out, pixel) in out.iter_mut().zip(pixels) {
                    *out = *out + pixel + self.means[n];
                }
                let count = &mut count.column_mut(j + c)[i..i + self.side];
                count.iter_mut().for_each(|count| *count += 1.0);
            }
        }
        for (v, n) in image.as_mut_slice().iter_mut().zip(count.as_slice()) {
            *v /= n;
        }
        Ok(image)
    }
}

/// The upper left corners (row, column) of the patches of a rows x columns image, in the order of
/// [`Patches::samples`].
pub fn corners(
    (rows, cols): (usize, usize),
    side: usize,
    stride: usize,
) -> Result<Vec<(usize, usize)>> {
    if side < 2 || side > rows || side > cols {
        return Err(Error::parameter(
            "patch",
            side,
            format!("must be at least 2 and fit into the image of {rows} x {cols}"),
        ));
    }
    if stride == 0 || stride > side {
        return Err(Error::parameter(
            "stride",
            stride,
            format!("must be from 1 to the side of a patch, {side}, or pixels are left out"),
        ));
    }
    let across = places(cols, side, stride);
    Ok(across
        .flat_map(|j| places(rows, side, stride).map(move |i| (i, j)))
        .collect())
}

/// The `side` x `side` patches at the given corners of the given images with their means removed,
/// and the means.
///
/// Panics if a patch extends beyond its image.
pub fn cut_at<'a>(
    side: usize,
    patches: impl Iterator<Item = (&'a Matrix, (usize, usize))>,
) -> Result<(Samples, Vec<f64>)> {
    let (mut columns, mut means) = (Vec::new(), Vec::new());
    for (image, (i, j)) in patches {
        let at = columns.len();
        for c in j..j + side {
            columns.extend_from_slice(&image.column(c)[i..i + side]);
        }
        let patch = &mut columns[at..];
        let flat = patch.windows(2).all(|pair| pair[0] == pair[1]);
        let mean = match flat {
            // Exact, so that rounding leaves no residue of a constant patch.
            true => patch[0],
            false => patch.iter().sum::<f64>() / (side * side) as f64,
        };
        patch.iter_mut().for_each(|v| *v -= mean);
        means.push(mean);
    }
    let samples = Matrix::from_vec(side * side, means.len(), columns)?;
    Ok((Samples::dense(samples)?, means))
}

/// 0, stride, 2 stride, ..., and finally `length - side`.
fn places(length: usize, side: usize, stride: usize) -> impl Iterator<Item = usize> {
    let last = length - side;
    (0..last).step_by(stride).chain([last])
}
