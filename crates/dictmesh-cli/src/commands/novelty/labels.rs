//! The labels of a stream, and whether there are enough documents and labels.

use super::super::{fail, say, Result};
use super::Args;
use dictmesh_apps::novelty::have_curve;
use dictmesh_data::{self as data, Blocks};

/// Why a stream of `total` documents is refused.
pub fn too_few(args: &Args, total: usize, first: usize) -> String {
    format!(
        "{}: it has {total} documents, and the first block takes {first} to learn from, so that none is left \
         to score; choose a smaller --block or --first",
        args.stream.display()
    )
}

/// The labels in a file of their own.
pub fn own_labels(args: &Args, input: &Blocks) -> Result<Option<Vec<String>>> {
    let Some(path) = &args.labels else {
        return Ok(None);
    };
    let Some(total) = input.total() else {
        return fail(format!(
            "--labels {}: a stream has no number of documents to compare with; put the labels into a column of \
             the stream (--label-column), or write the stream into a file",
            path.display()
        ));
    };
    let labels = data::read_labels(path, args.label_column.as_deref(), total);
    labels.map(Some).map_err(say)
}

/// Refuses labels that were asked for and give no ROC curve. Of a pipe, nothing is known yet.
pub fn check_labels(
    args: &Args,
    input: &Blocks,
    own: Option<&[String]>,
    (first, block): (usize, usize),
) -> Result<()> {
    let asked = args.labels.is_some() || args.label_column.is_some();
    if !asked || input.total().is_none() {
        return Ok(());
    }
    let of_stream = input.labels()?;
    let Some(labels) = own.or(of_stream.as_deref()) else {
        return fail(format!(
            "{}: --label-column needs a table with that column, or a file of labels (--labels)",
            args.stream.display()
        ));
    };
    if have_curve(labels, first, block) {
        return Ok(());
    }
    let from = args.labels.as_ref().unwrap_or(&args.stream);
    fail(format!(
        "{}: no block after the first has both documents with a label that is new and documents with \
         one seen before, so that there is no ROC curve; check the labels and --block, or leave them \
         out to score only",
        from.display()
    ))
}
