//! Each agent saves its own block.

use super::*;

#[test]
fn each_agent_saves_its_own_and_all_are_joined() {
    let directory = tempfile::tempdir().unwrap();
    let mesh = learned();
    let model = mesh.to_model();
    let paths: Vec<_> = (0..4)
        .map(|k| directory.path().join(k.to_string()))
        .collect();
    for (k, path) in paths.iter().enumerate() {
        model.save_agent(k, path).unwrap();
    }
    let load = |k: usize| Model::load(&paths[k]).unwrap();
    assert_eq!(load(2).description, model.description);
    assert_eq!(load(2).blocks, [model.blocks[2].clone()]);
    // Only that agent's atoms are in its file.
    let file = fs::read(&paths[2]).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&file).unwrap();
    assert!(header
        .offset_keys()
        .iter()
        .all(|name| name.starts_with("agent.2.")));

    let refused = Mesh::from_model(&load(2)).unwrap_err().to_string();
    assert!(
        refused.contains("the blocks of agents 0, 1 and 3 are missing"),
        "{refused}"
    );
    let three = Model::join(vec![load(3), load(0), load(2)]).unwrap();
    let refused = Mesh::from_model(&three).unwrap_err().to_string();
    assert!(
        refused.contains("the block of agent 1 is missing"),
        "{refused}"
    );
    let joined = Model::join(vec![load(1), three]).unwrap();
    assert_eq!(joined, model);
    assert_same(&Mesh::from_model(&joined).unwrap(), &mesh);

    let twice = Model::join(vec![load(1), load(2), load(1)]).unwrap_err();
    assert!(twice.to_string().contains("agent = 1: "), "{twice}");
    let nobody = load(1).save_agent(0, &paths[0]).unwrap_err();
    assert!(
        nobody.to_string().contains("the block of agent 1"),
        "{nobody}"
    );
    assert!(Model::join(Vec::new()).is_err());
}

#[test]
fn joining_names_what_differs() {
    let model = learned().to_model();
    let part = |k: usize| Model {
        description: model.description.clone(),
        blocks: vec![model.blocks[k].clone()],
    };
    let mut other = part(1);
    other.description.written_by = "dictmesh 0.0.1".to_string();
    assert!(Model::join(vec![part(0), other.clone()]).is_ok());
    other.description.seed = 8;
    other.description.progress.blocks_learned = 7;
    let why = Model::join(vec![part(0), other]).unwrap_err().to_string();
    assert!(why.contains("seed (18446744073709551610 and 8)"), "{why}");
    assert!(why.contains("progress"), "{why}");
    assert!(
        !why.contains("task") && !why.contains("written_by"),
        "{why}"
    );
}
