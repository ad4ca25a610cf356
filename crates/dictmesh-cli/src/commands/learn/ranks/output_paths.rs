//! Where a rank keeps what it learns.

use super::super::super::{check_apart, check_place, command_line_with, refusal, Result};
use super::super::{checkpoint, Args};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a rank.
pub struct OutputPaths {
    /// Its block, in the end.
    pub block: PathBuf,
    /// The checkpoints of all ranks.
    checkpoint: PathBuf,
    /// Its own.
    pub state: PathBuf,
}

impl OutputPaths {
    pub fn new(args: &Args, rank: usize, resume: Option<&Path>) -> Result<Self> {
        let mut block = args.output.as_os_str().to_os_string();
        block.push(format!(".{rank}"));
        let block = PathBuf::from(block);
        check_place(&block)?;
        let checkpoint = resume.map_or_else(|| checkpoint(&args.output), Path::to_path_buf);
        check_apart(
            [&block, &checkpoint],
            std::iter::once(&args.data).chain(&args.choices.config),
        )?;
        let state = checkpoint.join(format!("agent-{rank}"));
        if checkpoint.exists() && !checkpoint.is_dir() {
            return Err(format!(
                "{}: this is a file; the ranks keep a directory of checkpoints there. Go on from it without --over, \
                 or choose another -o",
                checkpoint.display()
            ).into());
        }
        if resume.is_some() && !state.is_dir() && !block.exists() {
            return Err(format!(
                "--resume {}: there is no {} in it; name the directory of checkpoints that a job of as many ranks left",
                checkpoint.display(),
                state.display()
            ).into());
        }
        Ok(OutputPaths {
            block,
            checkpoint,
            state,
        })
    }

    fn told(&self) -> PathBuf {
        self.checkpoint.join("told")
    }

    /// Without what an earlier job left, unless it is gone on with.
    pub fn prepare(&self, resumed: bool, rank: usize) -> Result<()> {
        let failed = |path: &Path, e| format!("{}: {}", path.display(), refusal(&e));
        if self.state.exists() && !resumed {
            fs::remove_dir_all(&self.state).map_err(|e| failed(&self.state, e))?;
        }
        if rank == 0 {
            let _ = fs::remove_file(self.told());
        }
        Ok(fs::create_dir_all(&self.checkpoint).map_err(|e| failed(&self.checkpoint, e))?)
    }

    /// What the first rank to hear of it says when the job is ended before its time.
    pub fn last_words(&self, size: usize, kept: bool) -> impl Fn() + Send + Sync + Clone + 'static {
        let resume = self.checkpoint.to_string_lossy().into_owned();
        let again = command_line_with(&[("--resume", true)], &["--resume", &resume]);
        let told = self.told();
        move || {
            let first = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&told);
            match (first.is_ok(), kept) {
                (false, _) => {}
                (true, true) => eprintln!(
                    "dictmesh: a rank failed, and the job ends. What was learned is in the checkpoint {resume}; to go \
                     on from it:\n  mpirun -np {size} {again}"
                ),
                (true, false) => eprintln!(
                    "dictmesh: a rank failed, and the job ends. There is no checkpoint, as --checkpoint-every 0 was given"
                ),
            }
        }
    }

    /// Takes the checkpoints away; if they cannot go, that harms nobody.
    pub fn clear(&self) {
        let _ = fs::remove_dir_all(&self.state);
        let _ = fs::remove_dir(&self.checkpoint);
    }
}
