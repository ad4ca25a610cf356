//! Rounds by each engine.

use super::raw::Raw;
use super::{Kind, Wire};
use anyhow::{Context, Result};
use dictmesh_net::certificates::Authority;
use dictmesh_net::codec::Limits;
use dictmesh_net::grpc::{GrpcWire, Neighbour, Settings, Tls};
use dictmesh_net::{Exchange, Frame, Phase, Rounds, RoundsOptions, Tag};
use std::path::Path;

pub enum Engine {
    Raw {
        own: usize,
        raw: Raw,
    },
    Net {
        own: usize,
        exchange: Box<dyn Exchange>,
        frame: Frame,
        inbox: Vec<Frame>,
        /// Ends when the exchange has.
        #[cfg(feature = "mpi")]
        job: Option<dictmesh_net::mpi::Job>,
    },
}

impl Engine {
    pub fn start(wire: &Wire) -> Result<Self> {
        let (own, agents) = (wire.own, wire.agents);
        match wire.engine {
            Kind::Raw => {
                let topology = wire.topology(agents)?;
                let raw = Raw::start(own, topology.neighbours(own), wire.port, 8 * wire.numbers)?;
                Ok(Engine::Raw { own, raw })
            }
            Kind::Mpi => mpi(wire),
            Kind::Grpc | Kind::GrpcTls | Kind::GrpcFloat32 => {
                let limits = Limits::new(wire.numbers, 1);
                let grpc = GrpcWire::start(settings(wire, &limits)?)?;
                let topology = wire.topology(agents)?;
                let options = RoundsOptions {
                    float32: wire.engine == Kind::GrpcFloat32,
                    ..RoundsOptions::new(1 + own as u64, limits)
                };
                let neighbours = topology.neighbours(own);
                let mut rounds = Rounds::new(grpc, neighbours, options, Default::default());
                rounds.take_part(neighbours);
                Ok(Engine::net(own, Box::new(rounds), wire.numbers))
            }
        }
    }

    fn net(own: usize, exchange: Box<dyn Exchange>, numbers: usize) -> Self {
        Engine::Net {
            own,
            inbox: vec![Frame::default(); exchange.neighbours().len()],
            exchange,
            frame: Frame {
                tag: Tag {
                    epoch: 1,
                    sample: 0,
                    phase: Phase::Inference,
                    round: 0,
                },
                scalars: vec![0.0, 0.0],
                dual: (0..numbers).map(|i| (i as f64).sin()).collect(),
                bytes: Vec::new(),
            },
            #[cfg(feature = "mpi")]
            job: None,
        }
    }

    pub fn own(&self) -> usize {
        match self {
            Engine::Raw { own, .. } | Engine::Net { own, .. } => *own,
        }
    }

    pub fn round(&mut self) -> Result<()> {
        match self {
            Engine::Raw { raw, .. } => raw.round(),
            Engine::Net {
                exchange,
                frame,
                inbox,
                ..
            } => {
                exchange.round(frame, inbox, None)?;
                frame.tag.round += 1;
                Ok(())
            }
        }
    }

    /// Whoever is done stays until the others are.
    pub fn end(&mut self) -> Result<()> {
        self.round()?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        Ok(())
    }
}

fn settings(wire: &Wire, limits: &Limits) -> Result<Settings> {
    let at = |k: usize| format!("127.0.0.1:{}", wire.port + k as u16);
    let topology = wire.topology(wire.agents)?;
    let tls = match (wire.engine, &wire.certificates) {
        (Kind::GrpcTls, Some(place)) => {
            let file = |end: &str| place.join(format!("{}.{end}", wire.own));
            Some(Tls::load(
                &place.join("ca.pem"),
                &file("pem"),
                &file("key"),
                &name(wire.own),
            )?)
        }
        (Kind::GrpcTls, None) => anyhow::bail!("--engine grpc-tls needs --certificates"),
        _ => None,
    };
    let neighbours = topology.neighbours(wire.own).iter();
    Ok(Settings {
        own: wire.own,
        listen: at(wire.own).parse()?,
        neighbours: neighbours
            .map(|id| Neighbour {
                id: *id,
                name: name(*id),
                address: at(*id),
            })
            .collect(),
        run: "bench".into(),
        agreed: Vec::new(),
        incarnation: 1 + wire.own as u64,
        epoch: 1,
        largest_frame: limits.largest(),
        tls,
    })
}

fn name(id: usize) -> String {
    format!("agent-{id}")
}

pub fn write_certificates(directory: &Path, agents: usize) -> Result<()> {
    let authority = Authority::new("bench").context("an authority")?;
    let file = |name: &str| directory.join(name);
    authority
        .credentials()
        .write(&file("ca.pem"), &file("ca.key"))?;
    for id in 0..agents {
        let issued = authority.issue(&name(id))?;
        issued.write(&file(&format!("{id}.pem")), &file(&format!("{id}.key")))?;
    }
    Ok(())
}

#[cfg(feature = "mpi")]
fn mpi(wire: &Wire) -> Result<Engine> {
    let job = dictmesh_net::mpi::Job::begin()?;
    let (own, agents) = (job.rank(), job.size());
    let topology = wire.topology(agents)?;
    let exchange = job.exchange(topology.neighbours(own))?;
    let mut engine = Engine::net(own, Box::new(exchange), wire.numbers);
    if let Engine::Net { job: place, .. } = &mut engine {
        *place = Some(job);
    }
    Ok(engine)
}

#[cfg(not(feature = "mpi"))]
fn mpi(_: &Wire) -> Result<Engine> {
    anyhow::bail!("built without MPI: build dictmesh-bench with --features mpi")
}
