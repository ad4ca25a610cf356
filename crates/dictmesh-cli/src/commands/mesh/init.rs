//! `dictmesh mesh init`.

use super::super::prepare::{How, Kind, Raw, Reading};
use super::super::{say, Result, Speech};
use super::masks::Switch;
use crate::options::{dealt, Options, BATCH};
use crate::render::json::{Object, Reply};
use clap::{ArgGroup, ValueEnum};
use dictmesh_data::output::Folder;
use dictmesh_data::preparation::DataOptions;
use dictmesh_net::config::{AgentEntry, Agreed, MeshConfig, Policy, SourceConfig};
use dictmesh_net::host::exposure;
use dictmesh_net::host::placement::{self, Placement};
use dictmesh_net::words::plain;
use dictmesh_report::numbers::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("samples").args(["data", "watch", "stdin"]).required(true).multiple(true)))]
pub struct Args {
    /// The directory to write; it must not exist
    pub directory: PathBuf,
    /// The samples of the informed agents, as learn takes numbers; each agent opens them under this name
    #[arg(long, value_name = "DATA", conflicts_with_all = ["watch", "stdin"])]
    pub data: Option<PathBuf>,
    /// Samples come as files in a directory that the informed agents watch
    #[arg(long, value_name = "DIR", conflicts_with = "stdin", requires = "rows")]
    pub watch: Option<PathBuf>,
    /// Samples come from the informed agents' standard input
    #[arg(long, requires = "rows")]
    pub stdin: bool,
    /// The dimension of a sample, if --data is not given
    #[arg(long, value_name = "M")]
    pub rows: Option<usize>,
    /// The run's name; agents of other runs are refused [default: the directory's]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Where agents listen: one host for all, or one for each, separated by commas
    #[arg(long, value_name = "HOSTS", default_value = "127.0.0.1")]
    pub hosts: String,
    /// The port; agents on one host take this one and the next ones
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    pub port: u16,
    /// Serve metrics for Prometheus at 127.0.0.1, on this port and the next ones
    #[arg(long, value_name = "PORT")]
    pub metrics: Option<u16>,
    /// Make an authority and a certificate for each agent
    #[arg(long)]
    pub tls: bool,
    /// Allow links to other machines without TLS
    #[arg(long, conflicts_with = "tls")]
    pub plain_text: bool,
    /// What happens when an agent is lost
    #[arg(long, value_name = "POLICY", default_value = "wait")]
    pub policy: Lost,
    /// Seconds after which a silent agent is lost, with --policy go-on
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub deadline: f64,
    /// Send dual vectors in single precision: half the bytes, seven digits; --tolerance must be at
    /// least 1e-5
    #[arg(long)]
    pub float32: bool,
    /// Whether masks hide each agent's part of a sum from the others (--strategy tree has sums)
    #[arg(long, value_name = "SWITCH", default_value = "on")]
    pub masks: Switch,
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    pub speech: Speech,
}

/// What happens when an agent is lost.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Lost {
    /// The others wait for it
    Wait,
    /// The others continue without its atoms after a deadline, and take it back when it returns
    GoOn,
}

/// A mesh whose files were written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WrittenMesh {
    /// The directory of the mesh.
    directory: String,
    /// The run's name.
    run: String,
    /// The number of agents.
    agents: usize,
    /// The number of links between agents.
    edges: usize,
    /// The seed of the graph's draw, if it is random.
    graph_seed: Option<u64>,
    /// The number of entries of a sample.
    features: usize,
    /// The inference strategy, with its constants.
    #[schemars(with = "Object")]
    strategy: dictmesh::Spec,
    /// Whether agents use TLS.
    tls: bool,
    /// Whether masks hide each agent's part of a sum.
    masks: bool,
    /// What these settings do not protect.
    warnings: Vec<String>,
}

impl Reply for WrittenMesh {
    const COMMAND: &'static str = "mesh-init";
}

pub fn run(args: Args) -> Result<()> {
    let shown = args.directory.display().to_string();
    if args.directory.exists() {
        return Err(format!(
            "{shown}: it is there already; a mesh gets a directory of its own, so choose another name"
        ).into());
    }
    Folder::check_for("the mesh", &args.directory)?;
    let (mesh, drawn) = describe(&args)?;
    placement::create(&mesh, &args.directory)?;
    tell(&args, &mesh, drawn)
}

/// The mesh that the flags describe, and the seed of its graph's draw if that is random.
fn describe(args: &Args) -> Result<(MeshConfig, Option<u64>)> {
    let options = &args.options;
    let (n, k) = options.sizes()?;
    let (topology, drawn) = options.topology(n)?;
    let batch = options.batch.unwrap_or(BATCH);
    let source = source(args)?;
    let rows = rows(args)?;
    let informed = options.informed()?;
    if let Some(unknown) = informed.iter().flatten().find(|k| **k >= n) {
        return Err(format!(
            "--informed {unknown}: agents are numbered from 0 to {}",
            n - 1
        )
        .into());
    }
    let agents = Placement {
        hosts: &args.hosts,
        port: args.port,
        metrics: args.metrics,
        atoms: dealt(n, k),
        informed: informed.as_deref(),
    };
    let agents = agents.entries()?;
    if !args.tls && !args.plain_text {
        placement::check_secrecy(&agents)?;
    }
    let name = args
        .directory
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mesh = MeshConfig {
        run: args.run.clone().unwrap_or(name.into_owned()),
        seed: options.seed.unwrap_or(0),
        policy: match args.policy {
            Lost::Wait => Policy::Wait,
            Lost::GoOn => Policy::GoOn,
        },
        deadline: args.deadline,
        tls: args.tls,
        plain_text: args.plain_text,
        edges: topology.edges(),
        source,
        agreed: Agreed {
            rows,
            batch,
            block: None,
            weights: options.weight_rule()?,
            score: true,
            float32: args.float32,
            masks: args.masks.is_on(),
            task: options.task("sparse-svd")?,
            strategy: options.strategy()?.spec(),
            stopping: options.stopping(),
            update: options.update(batch)?,
        },
        agents,
    };
    Ok((mesh.completed().map_err(say)?, drawn))
}

fn source(args: &Args) -> Result<Option<SourceConfig>> {
    let place =
        |path: &PathBuf| std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()));
    let passes = args.options.passes()? as u64;
    Ok(match (&args.data, &args.watch, args.stdin) {
        (Some(path), _, _) => Some(SourceConfig::File {
            path: place(path)?,
            passes,
        }),
        (_, Some(path), _) => Some(SourceConfig::Directory { path: place(path)? }),
        (_, _, true) => Some(SourceConfig::Stdin),
        _ => {
            return Err(
                "where do the samples come from? Say --data FILE, --watch DIR or --stdin".into(),
            )
        }
    })
}

/// M.
fn rows(args: &Args) -> Result<usize> {
    let Some(data) = &args.data else {
        return args.rows.ok_or_else(|| {
            "the dimension of a sample is not known before there are data; give --rows M".into()
        });
    };
    let (reading, shown) = (DataOptions::default(), data.display());
    let kind = Kind::of(data, &reading);
    if kind != Kind::Numbers {
        return Err(format!(
            "{shown}: {}; agents take numbers as they are (.npy, .npz, .mtx, .csv, .tsv). For anything that has to be \
             prepared first there is dictmesh learn --over processes",
            kind.words()
        ).into());
    }
    let raw = Raw::open(data, kind, &reading, &Reading::default(), None).map_err(say)?;
    let found = raw.rows(&How::default());
    match args.rows {
        Some(rows) if rows != found => Err(format!(
            "--rows {rows}: the samples of {shown} have {found}; leave --rows out"
        )
        .into()),
        _ => Ok(found),
    }
}

fn tell(args: &Args, mesh: &MeshConfig, drawn: Option<u64>) -> Result<()> {
    let place = args.directory.display().to_string();
    let agents = mesh.agents.len();
    let warnings = exposure::warnings(mesh);
    let written = WrittenMesh {
        directory: place.to_string(),
        run: mesh.run.clone(),
        agents,
        edges: mesh.edges.len(),
        graph_seed: drawn,
        features: mesh.agreed.rows,
        strategy: mesh.agreed.strategy.clone(),
        tls: mesh.tls,
        masks: mesh.agreed.masks,
        warnings: warnings.clone(),
    };
    args.speech.reply(&written, || {
        let mut text = format!(
            "{place}: {} and {}, samples of {}\n",
            counted(agents, "agent"),
            counted(mesh.edges.len(), "edge"),
            counted(mesh.agreed.rows, "row"),
        );
        if let Some(seed) = drawn {
            text += &format!("graph: drawn with seed {seed}\n");
        }
        text += &format!("strategy: {}\n", plain(&mesh.agreed.strategy));
        if mesh.tls {
            text += "certificates: valid for 825 days; keep authority.key away from the agents' hosts, it admits agents to this run\n";
        }
        for warning in &warnings {
            text += &format!("warning: {warning}\n");
        }
        if let Some(met) = placement::doubtful_tolerance(mesh) {
            text += &format!(
                "with --float32 and this graph a tolerance below {met:.0e} may not be met; launch says at its end where it \
                 was not\n"
            );
        }
        if let Some(doubt) = mesh.doubtful_step() {
            text += &format!("{doubt}\n");
        }
        if let Some(missing) = args.watch.as_ref().filter(|path| !path.is_dir()) {
            let missing = missing.display();
            text += &format!("{missing}: this directory is not there yet; make it before the agents are started\n");
        }
        text + &what_to_do(&place, mesh)
    })
}

/// How the mesh is started: by one command where all agents are at one host, each by itself where they are not.
fn what_to_do(place: &str, mesh: &MeshConfig) -> String {
    /// Agents that are named one by one.
    const NAMED: usize = 8;
    let host = |agent: &AgentEntry| agent.address.rsplit_once(':').map(|at| at.0.to_string());
    let first = mesh.agents.first().and_then(host);
    if mesh.agents.iter().all(|agent| host(agent) == first) {
        let readers = placement::readers(mesh);
        if readers > 1 {
            return format!(
                "{readers} agents read the same samples, each from its own standard input; start them one by one:\n  \
                 dictmesh agent {place}/agent-0/agent.toml < SAMPLES\n\
                 dictmesh launch has one standard input: for it, make a mesh where one agent reads (--informed 0)\n"
            );
        }
        return format!(
            "all of it at one host:   dictmesh launch {place}/mesh.toml\n\
             or one by one:           dictmesh agent {place}/agent-0/agent.toml\n"
        );
    }
    let mut text =
        format!("copy each agent's directory out of {place} to its host, and start it there:\n");
    for agent in mesh.agents.iter().take(NAMED) {
        let (name, host) = (&agent.name, host(agent).unwrap_or_default());
        text += &format!("  at {host}:   dictmesh agent {name}/agent.toml\n");
    }
    if mesh.agents.len() > NAMED {
        text += &format!("  and so on for {} more\n", mesh.agents.len() - NAMED);
    }
    text
}
