//! What the dictionary is for: the paper's applications, and the methods they are compared with.

pub mod l1_admm;
pub mod ssvd;
