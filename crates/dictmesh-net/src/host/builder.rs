//! From an agent's settings to its parts: its first atoms, its wire, its rounds.

use super::Result;
use crate::agent::{Agent, AgentSettings, Neighbour, Policy, Weighting};
use crate::codec::Limits;
use crate::config::{self, AgentConfig};
use crate::grpc::{self, GrpcWire, Tls};
use dictmesh::model::{BlockData, Description};
use dictmesh::problem::TaskSpec;
use dictmesh::random::stream;
use dictmesh::{AtomInit, Matrix, Model, WeightRule};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Whose atoms they are, among what a model of them has besides.
pub const OWNER: &str = "agent";

/// The streams of a seed from which agents draw their first atoms ("atoms" in ASCII, above any other).
const ATOMS_STREAM: u64 = 0x61_74_6f_6d_73 << 20;

/// What the agent's loop must know.
pub fn settings(config: &AgentConfig) -> Result<AgentSettings> {
    let agreed = &config.agreed;
    let (task, strategy) = (agreed.task.clone(), agreed.strategy.clone());
    let mut settings = AgentSettings::new(config.id, task, strategy, agreed.rows);
    settings.run = config.run.clone();
    settings.neighbours = (config.neighbours.iter())
        .map(|n| Neighbour {
            id: n.id,
            joins: n.joins,
        })
        .collect();
    settings.stopping = agreed.stopping;
    settings.update = Some(agreed.update);
    settings.batch = agreed.batch;
    settings.block = agreed.block;
    settings.weighting = match &agreed.weights {
        WeightRule::Metropolis => Weighting::Metropolis,
        WeightRule::Uniform => Weighting::Uniform,
        WeightRule::Given(a) => {
            let ids = config.neighbours.iter().map(|n| n.id);
            let mut ids: Vec<usize> = ids.chain([config.id]).collect();
            ids.sort_unstable();
            let weight = |l: usize| match l < a.rows() && config.id < a.cols() {
                true => Ok((l, a.column(config.id)[l])),
                false => Err(format!("weights: there is none for agent {l}").into()),
            };
            Weighting::Given(ids.into_iter().map(weight).collect::<Result<_>>()?)
        }
    };
    settings.policy = match config.policy {
        config::Policy::Wait => Policy::Wait,
        config::Policy::GoOn => Policy::GoOn {
            deadline: Duration::from_secs_f64(config.deadline),
        },
    };
    settings.score = agreed.score;
    settings.float32 = agreed.float32;
    settings.masks = agreed.masks;
    settings.joins = config.joins;
    Ok(settings)
}

/// The model with its first atoms, if the settings name one.
pub fn start(config: &AgentConfig) -> Result<Option<Model>> {
    Ok(config.start.as_deref().map(Model::load).transpose()?)
}

/// Its first atoms: those of the model, or drawn.
pub fn first_atoms(config: &AgentConfig, start: Option<&Model>) -> Result<Matrix> {
    let Some(model) = start else {
        let task = config.agreed.task.build()?;
        let mut rng = stream(config.seed, ATOMS_STREAM + config.id as u64);
        let set = task.local(config.id).set();
        let drawn = AtomInit::Random.draw(config.agreed.rows, config.atoms, set, &mut rng);
        return Ok(drawn?);
    };
    let own = model.blocks.iter().find(|block| block.agent == config.id);
    match own {
        Some(block) if block.atoms.cols() == config.atoms => Ok(Matrix::clone(&block.atoms)),
        Some(block) => Err(format!(
            "start: the model has {} atoms of agent {}, and the settings say {}",
            block.atoms.cols(),
            config.id,
            config.atoms
        )
        .into()),
        None => Err(format!("start: the model has no block of agent {}", config.id).into()),
    }
}

/// Its links.
pub fn wire(config: &AgentConfig, settings: &AgentSettings, incarnation: u64) -> Result<GrpcWire> {
    let tls = match &config.tls {
        Some(tls) => {
            let (authority, certificate) = (&tls.authority, &tls.certificate);
            Some(Tls::load(authority, certificate, &tls.key, &config.name)?)
        }
        None => None,
    };
    let neighbour = |n: &config::NeighbourConfig| grpc::Neighbour {
        id: n.id,
        name: n.name.clone(),
        address: n.address.clone(),
    };
    let gone = settings.gone(&config.state);
    let there = config.neighbours.iter().filter(|n| !gone.contains(&n.id));
    let wire = GrpcWire::start(grpc::Settings {
        own: config.id,
        listen: listen(config)?,
        neighbours: there.map(neighbour).collect(),
        run: config.run.clone(),
        agreed: settings.agreed(),
        incarnation,
        epoch: 0,
        largest_frame: limits(config).largest(),
        tls,
    })?;
    Ok(wire)
}

/// Where it listens. One that nobody dials does not, and need not know its own name.
fn listen(config: &AgentConfig) -> Result<SocketAddr> {
    match config.neighbours.iter().any(|n| n.id < config.id) {
        true => resolve("listen", &config.listen),
        false => Ok((Ipv4Addr::UNSPECIFIED, 0).into()),
    }
}

/// What a frame of this run can hold.
pub fn limits(config: &AgentConfig) -> Limits {
    Limits::new(config.agreed.rows, config.agreed.batch)
}

/// An address as the system knows it.
pub fn resolve(what: &str, address: &str) -> Result<SocketAddr> {
    let found = address.to_socket_addrs().map(|mut all| all.next());
    match found {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(format!("{what} = \"{address}\": this name has no address").into()),
        Err(e) => Err(format!(
            "{what} = \"{address}\": {e}; give an address of this machine by number, as in 192.0.2.7:7400, or 0.0.0.0:7400 for \
             all that it has"
        ).into()),
    }
}

/// The agent's own little dictionary, as a model of one agent: what it has to show of the whole is its own atoms.
pub fn own_model(config: &AgentConfig, start: Option<&Model>, agent: &Agent) -> Model {
    let agreed = &config.agreed;
    let own = agreed.task.own.get(&config.id);
    let mut description = Description {
        task: TaskSpec {
            residual: agreed.task.residual.clone(),
            common: own.unwrap_or(&agreed.task.common).clone(),
            own: Default::default(),
        },
        agents: 1,
        edges: Vec::new(),
        weights: WeightRule::Metropolis,
        strategy: agreed.strategy.clone(),
        stopping: agreed.stopping,
        update: agreed.update,
        batch: agreed.batch,
        warm_start: false,
        accel: "all".to_string(),
        seed: config.seed,
        informed: vec![0],
        rows: agreed.rows,
        feature_names: start.and_then(|model| model.description.feature_names.clone()),
        progress: dictmesh::model::Progress {
            blocks_learned: 1,
            samples_learned: agent.position(),
            draws: 1,
            penalty: agent.penalty(),
        },
        written_by: String::new(),
        extra: start.map_or_else(Default::default, |model| model.description.extra.clone()),
    };
    let owner = json!({ "run": config.run, "id": config.id });
    description.extra.insert(OWNER.into(), owner);
    let used = agent.atom_stats();
    Model {
        description,
        blocks: vec![BlockData {
            agent: 0,
            atoms: agent.block().shared_atoms(),
            energy: used.energy.clone(),
            samples: used.samples.clone(),
        }],
    }
}
