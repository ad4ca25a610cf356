//! The report: the picture before and after, and the atoms.

use super::super::command_line;
use super::super::prepare::turned;
use super::{shown, sigma_shown, Args, Restoration};
use dictmesh::Mesh;
use dictmesh_apps::quality::Quality;
use dictmesh_data::Image;
use dictmesh_report::canvas::{colour, grey};
use dictmesh_report::{DynamicImage, Figure, Gallery, Picture, Report, Section, Shades};

pub fn report(
    args: &Args,
    reply: &Restoration,
    [clean, noisy, denoised]: [Option<&Image>; 3],
    mesh: Option<&Mesh>,
    side: usize,
) -> Report {
    let note = |q: &Option<Quality>| q.as_ref().map_or(String::new(), shown);
    let pictures = [
        ("clean", clean, String::new()),
        ("noisy", noisy, note(&reply.before)),
        ("denoised", denoised, note(&reply.after)),
    ];
    let pictures = pictures.into_iter();
    let pictures = pictures.filter_map(|(title, image, note)| Some((title, image?, note)));
    let mut sections = vec![before_and_after(pictures)];
    if let Some(mesh) = mesh {
        let which = match reply.planes {
            1 => "The atoms of the patches.",
            _ => "The atoms of the patches of luminance.",
        };
        sections.push(atoms(mesh, side, which));
    }
    let mut facts = vec![("sigma".to_string(), sigma_shown(&reply.sigma))];
    if let (Some(before), Some(after)) = (&reply.before, &reply.after) {
        facts.push(("noisy".into(), shown(before)));
        facts.push(("denoised".into(), shown(after)));
    }
    Report {
        title: "A denoised picture".into(),
        subtitle: args.image.display().to_string(),
        facts,
        sections,
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), args.seed.to_string()),
        ],
    }
}

/// Pictures beside each other: name, picture, note.
pub fn before_and_after<'a>(
    pictures: impl Iterator<Item = (&'a str, &'a Image, String)>,
) -> Section {
    let panels = pictures.map(|(title, image, note)| {
        let picture = Picture {
            title: title.into(),
            note,
            image: pixels(image),
        };
        picture.draw()
    });
    Section {
        heading: "Before and after".into(),
        figures: vec![Figure::panels(
            "before-after",
            "The picture before and after.",
            panels.collect(),
        )],
        ..Section::default()
    }
}

/// The atoms of a mesh, patches of `side` x `side`, as pictures.
pub fn atoms(mesh: &Mesh, side: usize, which: &str) -> Section {
    let w = mesh.dictionary();
    let gallery = Gallery {
        title: "The atoms".into(),
        height: side,
        width: side,
        shades: Shades::Grey,
        atoms: w.columns().map(|w| turned(w, side)).collect(),
        labels: Vec::new(),
        owners: (Vec::new(), 0),
    };
    Section {
        heading: "Atoms".into(),
        figures: vec![Figure::new("atoms", which, gallery.draw())],
        ..Section::default()
    }
}

fn pixels(image: &Image) -> DynamicImage {
    let (h, w) = (image.height(), image.width());
    let pixels = (0..h).flat_map(|i| (0..w).map(move |j| (i, j)));
    let bytes = pixels.flat_map(|(i, j)| image.planes.iter().map(move |p| p.get(i, j) as u8));
    match image.is_grey() {
        true => grey(w, h, bytes.collect()),
        false => colour(w, h, bytes.collect()),
    }
}
