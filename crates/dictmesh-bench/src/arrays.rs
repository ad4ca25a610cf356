//! .npy in and out: rows are samples or atoms, as numpy writes them.

use anyhow::{ensure, Context, Result};
use dictmesh::Matrix;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// The columns of the result are the rows of the file.
pub fn read(path: &Path) -> Result<Matrix> {
    let context = || format!("cannot read {}", path.display());
    let file = npyz::NpyFile::new(BufReader::new(File::open(path).with_context(context)?))?;
    let shape = file.shape().to_vec();
    ensure!(
        shape.len() == 2 && file.order() == npyz::Order::C,
        "{}: two dimensions in C order",
        path.display()
    );
    let data = file.into_vec::<f64>().with_context(context)?;
    Ok(Matrix::from_vec(
        shape[1] as usize,
        shape[0] as usize,
        data,
    )?)
}

/// The rows of the file are the columns of `matrix`.
pub fn write(path: &Path, matrix: &Matrix) -> Result<()> {
    use npyz::WriterBuilder;
    let file = BufWriter::new(File::create(path)?);
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[matrix.cols() as u64, matrix.rows() as u64])
        .writer(file)
        .begin_nd()?;
    writer.extend(matrix.as_slice())?;
    Ok(writer.finish()?)
}
