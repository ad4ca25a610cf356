//! What the pages and words of several commands share: the objective, the atoms, the mesh, the settings.

use super::prepare::{turned, How, Preparation};
use dictmesh::model::Description;
use dictmesh::Mesh;
use dictmesh_apps::roc::Roc;
use dictmesh_apps::terms::{atom_terms, Terms};
use dictmesh_report::numbers::counted;
use dictmesh_report::{
    Figure, Gallery, HeatMap, MeshPlot, RocCurve, Section, Shades, Table, TopTerms,
};
use serde_json::Value;

/// More atoms than these make a page nobody reads.
const ATOMS: usize = 60;
/// Terms shown of each atom.
const TERMS: usize = 8;

/// Terms in a row, the heaviest first.
pub fn words(terms: &Terms) -> String {
    list(terms).join(", ")
}

/// The terms without their weights.
pub fn list(terms: &Terms) -> Vec<&str> {
    terms.iter().map(|t| t.0.as_str()).collect()
}

/// "12 atoms at 3 agents".
pub fn atoms_at_agents(mesh: &Mesh) -> String {
    let (atoms, agents) = (mesh.atoms(), mesh.agents());
    format!("{} at {}", counted(atoms, "atom"), counted(agents, "agent"))
}

/// How many samples each atom took part in, over all agents.
pub fn atom_samples(mesh: &Mesh) -> Vec<u64> {
    let agents = 0..mesh.agents();
    agents
        .flat_map(|k| mesh.atom_stats(k).samples.clone())
        .collect()
}

/// The atoms as panels of their top terms, the first [`ATOMS`] of them.
pub fn terms_section(mesh: &Mesh, term: &dyn Fn(usize) -> String) -> Section {
    let all = atom_terms(&mesh.dictionary(), TERMS, term);
    let total = all.len();
    let panels = all.into_iter().take(ATOMS).enumerate().map(|(q, terms)| {
        TopTerms {
            title: format!("atom {q}"),
            note: String::new(),
            terms,
        }
        .draw()
    });
    let caption = match total > ATOMS {
        true => format!("The heaviest terms of the first {ATOMS} of {total} atoms."),
        false => "The heaviest terms of each atom.".into(),
    };
    Section {
        heading: "What was learned".into(),
        figures: vec![Figure::panels("atoms", &caption, panels.collect())],
        ..Section::default()
    }
}

/// The atoms as what they are: patches, words, or numbers.
pub fn atoms_section(mesh: &Mesh, how: &How, names: Option<&[String]>) -> Section {
    let figure = match how {
        How::Patches(cut) => Figure::new(
            "atoms",
            "The atoms: red is lighter than the patch's mean, blue darker. A frame has the colour of the agent \
             that keeps the atom.",
            Gallery {
                title: "The atoms".into(),
                height: cut.side,
                width: cut.side,
                shades: Shades::Signed,
                atoms: mesh.dictionary().columns().map(|w| turned(w, cut.side)).collect(),
                labels: Vec::new(),
                owners: owners(mesh),
            }
            .draw(),
        ),
        How::Numbers(_) => Figure::new(
            "atoms",
            "The atoms, one a row: how much of each feature they hold.",
            atoms_map(mesh, names).draw(),
        ),
        _ => {
            let term = |row| how.row_name(row, names).unwrap_or_else(|| format!("#{row}"));
            return terms_section(mesh, &term);
        }
    };
    Section {
        heading: "What was learned".into(),
        figures: vec![figure],
        ..Section::default()
    }
}

fn owners(mesh: &Mesh) -> (Vec<usize>, usize) {
    if mesh.agents() < 2 {
        return (Vec::new(), 0);
    }
    let agents = 0..mesh.agents();
    let each = agents.flat_map(|k| std::iter::repeat_n(k, mesh.block(k).len()));
    (each.collect(), mesh.agents())
}

fn atoms_map(mesh: &Mesh, names: Option<&[String]>) -> HeatMap {
    let w = mesh.dictionary();
    let features = match names {
        // Few enough to be read.
        Some(names) if names.len() <= 12 => format!("features ({})", names.join(", ")),
        _ => "features".into(),
    };
    HeatMap {
        title: "The atoms".into(),
        rows: w.cols(),
        columns: w.rows(),
        values: w.as_slice().to_vec(),
        names: ("atoms".into(), features),
        row_labels: (0..w.cols()).map(|q| format!("atom {q}")).collect(),
        ..HeatMap::default()
    }
}

/// The mesh with what each agent carries; an agent alone is no mesh.
pub fn mesh_section(mesh: &Mesh) -> Option<Section> {
    if mesh.agents() < 2 {
        return None;
    }
    let agents = 0..mesh.agents();
    let plot = MeshPlot {
        informed: agents.clone().map(|k| mesh.is_informed(k)).collect(),
        edges: mesh.topology().edges(),
        load: agents.map(|k| mesh.block(k).len() as f64).collect(),
        load_label: "atoms kept".into(),
    };
    Some(Section {
        heading: "The mesh".into(),
        figures: vec![Figure::new(
            "mesh",
            "Who talks to whom. Neighbours exchange dual vectors only; atoms stay where they are.",
            plot.draw(),
        )],
        ..Section::default()
    })
}

/// The choices a model was learned with.
pub fn settings_section(about: &Description, preparation: &Preparation) -> Section {
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let rows = vec![
        row("minimises", about.task.objective()),
        row("samples", preparation.how.describe()),
        row("strategy", line(&about.strategy)),
        row("rounds end", line(&about.stopping)),
        row("update", line(&about.update)),
        row("samples per update", about.batch.to_string()),
        row("weights", line(&about.weights)),
        row("agents", about.agents.to_string()),
        row(
            "agents that see the samples",
            about.informed.len().to_string(),
        ),
        row(
            "samples learned",
            about.progress.samples_learned.to_string(),
        ),
    ];
    Section {
        heading: "Settings".into(),
        tables: vec![Table {
            caption: String::new(),
            head: ["setting", "value"].map(String::from).to_vec(),
            rows,
        }],
        ..Section::default()
    }
}

/// A description on one line: its kind, then what else it says.
pub fn line(value: &impl serde::Serialize) -> String {
    let plain = |value: &Value| value.as_str().map_or(value.to_string(), String::from);
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => {
            let kind = fields.get("kind").map(plain);
            let rest = fields
                .iter()
                .filter(|(name, v)| *name != "kind" && !v.is_null());
            let rest = rest.map(|(name, v)| format!("{name} {}", plain(v)));
            let all: Vec<String> = kind.into_iter().chain(rest).collect();
            all.join(", ")
        }
        Ok(value) => plain(&value),
        Err(_) => String::new(),
    }
}

/// A curve of a name.
pub fn roc_curve(name: &str, roc: &Roc) -> RocCurve {
    let points = roc.points.iter().map(|p| (p.false_alarm, p.detection));
    RocCurve {
        name: name.into(),
        points: points.collect(),
        auc: roc.auc(),
    }
}

/// What it takes to make a page again.
pub fn versions(seed: u64) -> Vec<(String, String)> {
    vec![
        ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
        ("seed".into(), seed.to_string()),
    ]
}
