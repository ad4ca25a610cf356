//! `--report DIR`: one page with the plots of a run, and each plot as a file beside it.
