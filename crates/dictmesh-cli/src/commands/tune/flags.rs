//! The flags that make `learn` solve the problem that was tuned.

use super::Args;
use crate::commands::ReadArgs;
use crate::options::Options;
use clap::ValueEnum;

/// Those typed that `learn` needs too, with gamma and atoms as they are in `options` now. A model brings
/// its own.
pub fn given(args: &Args, options: &Options) -> Vec<String> {
    let mut flags = Flags(Vec::new());
    if args.model.is_some() {
        return flags.0;
    }
    let config = args.config.as_ref();
    flags.add("config", &config.map(|path| path.display()));
    let typed = &args.options;
    flags.add("task", &typed.task);
    flags.add("residual", &typed.residual);
    flags.add("regularizer", &typed.regularizer);
    flags.add("atoms-set", &typed.atoms_set);
    flags.add("gamma", &options.gamma);
    flags.add("delta", &typed.delta);
    flags.add("beta", &typed.beta);
    flags.add("eta", &typed.eta);
    flags.add("radius", &typed.radius);
    flags.add("lo", &typed.lo);
    flags.add("hi", &typed.hi);
    flags.add("atoms", &options.atoms);
    flags.add("agents", &typed.agents);
    flags.add("topology", &typed.topology);
    flags.add("weights", &typed.weights);
    flags.add("informed", &typed.informed);
    flags.add("seed", &typed.seed);
    flags.choice("centre", args.prepare.centre);
    flags.choice("norm", args.prepare.norm);
    flags.read(&args.read);
    flags.0
}

struct Flags(Vec<String>);

impl Flags {
    fn add(&mut self, name: &str, value: &Option<impl ToString>) {
        if let Some(value) = value {
            self.0.extend([format!("--{name}"), value.to_string()]);
        }
    }

    /// A name of a list, unless it is the one that stands for nothing being said.
    fn choice<T: ValueEnum + Default + PartialEq>(&mut self, name: &str, value: T) {
        let said = value.to_possible_value().filter(|_| value != T::default());
        self.add(name, &said.map(|value| value.get_name().to_string()));
    }

    fn read(&mut self, read: &ReadArgs) {
        let format = read.format.and_then(|format| format.to_possible_value());
        self.add(
            "format",
            &format.map(|format| format.get_name().to_string()),
        );
        if read.transpose {
            self.0.push("--transpose".into());
        }
        self.choice("nan", read.nan);
        self.add("label-column", &read.label_column);
        for column in &read.drop {
            self.add("drop", &Some(column));
        }
        let yes = |header| if header { "yes" } else { "no" };
        self.add("header", &read.header.map(yes));
        self.add("array", &read.array);
    }
}
