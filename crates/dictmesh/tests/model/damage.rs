//! Bytes of any kind, and numbers of any size.

use super::refusals::sealed;
use super::*;
use proptest::strategy::Strategy;

/// The peak virtual memory of this process in kilobytes, if the system reports it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// One way of damaging a file.
#[derive(Clone, Debug)]
enum Damage {
    Set(usize, u8),
    Flip(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Double(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || any::<prop::sample::Index>().prop_map(|i| i.index(1 << 20));
    prop_oneof![
        3 => (at(), prop::sample::select(b"0123456789-e.,:[]{}\" \\ntx".to_vec()))
            .prop_map(|(i, b)| Damage::Set(i, b)),
        3 => (at(), 0..8u8).prop_map(|(i, b)| Damage::Flip(i, b)),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), 1..9usize).prop_map(|(i, n)| Damage::Remove(i, n)),
        1 => (at(), 1..9usize).prop_map(|(i, n)| Damage::Double(i, n)),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    let len = bytes.len().max(1);
    let within = |i: usize, n: usize| i % len..(i % len + n).min(len);
    match *damage {
        _ if bytes.is_empty() => {}
        Damage::Set(i, b) => bytes[i % len] = b,
        Damage::Flip(i, b) => bytes[i % len] ^= 1 << b,
        Damage::Cut(i) => bytes.truncate(i % len),
        Damage::Remove(i, n) => drop(bytes.drain(within(i, n))),
        Damage::Double(i, n) => {
            let again = bytes[within(i, n)].to_vec();
            bytes.splice(i % len..i % len, again);
        }
    }
}

/// Reads the bytes and, if they are a model, uses it: whatever comes of it, no panic.
fn survive(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        assert!(model.check().is_ok());
        assert!(model.to_bytes().is_ok());
        let _ = Mesh::from_model(&model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn damaged_bytes_never_panic_nor_fill_the_memory(
        damages in prop::collection::vec(damage(), 1..4),
        length_too in any::<bool>(),
        sum_too in any::<bool>(),
    ) {
        let before = peak();
        let mut bytes = small();
        let old = bytes.len();
        for damage in &damages {
            apply(damage, &mut bytes);
        }
        // A header that grew or shrank is only looked into if its length says so.
        if length_too && bytes.len() > 8 {
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            let length = length.wrapping_add(bytes.len() as u64).wrapping_sub(old as u64);
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        // What is behind the checksum must stand damage as well.
        survive(&match sum_too && has_header(&bytes) {
            true => sealed(&bytes),
            false => bytes,
        });
        if let (Some(before), Some(after)) = (before, peak()) {
            prop_assert!(after - before < 1_000_000, "{before} kB -> {after} kB");
        }
    }

    #[test]
    fn every_number_is_read_back_bit_identically(
        gamma in prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
        delta in prop::num::f64::POSITIVE,
        mu_w in prop::num::f64::NORMAL,
        seed in any::<u64>(),
        atoms in prop::collection::vec(-0.3..0.3f64, 2 * ROWS),
        energy in prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL,
        count in 0..1u64 << 53,
    ) {
        let mut model = Model::from_bytes(&small()).unwrap();
        let d: &mut Description = &mut model.description;
        d.task = TaskSpec::sparse_svd(gamma.abs(), delta.max(1e-300)); // the least one allowed
        d.update = Update::Constant { mu_w: mu_w.abs() };
        d.seed = seed;
        d.progress.draws = count;
        model.blocks[0].atoms = Matrix::from_vec(ROWS, 2, atoms).unwrap().into();
        model.blocks[0].energy[1] = energy.abs();
        model.blocks[0].samples[0] = count;
        let back = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        prop_assert_eq!(bits(&back.blocks[0].atoms), bits(&model.blocks[0].atoms));
        prop_assert_eq!(&back, &model);
    }
}

/// Whether there is something that a checksum can be put into.
fn has_header(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let length = u64::from_le_bytes(*length);
    let text = usize::try_from(length).ok().and_then(|n| rest.get(..n));
    let header = text.and_then(|text| serde_json::from_slice::<Value>(text).ok());
    header.is_some_and(|header| header["__metadata__"].is_object())
}

/// Of 420 flipped bits in a file without a checksum 124 had passed for a model.
#[test]
fn no_flipped_bit_goes_unnoticed() {
    let (good, mut refused) = (small(), 0);
    let model = Model::from_bytes(&good).unwrap();
    for at in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        match Model::from_bytes(&bytes) {
            Err(_) => refused += 1,
            // The header may be written in more than one way; what it says is the same.
            Ok(same) => assert_eq!(same.to_bytes().unwrap(), good, "bit {at}"),
        }
    }
    assert!(
        refused > good.len() * 8 - 10,
        "{refused} of {}",
        good.len() * 8
    );
    // Every number is under the checksum, whatever else would have refused it.
    let data = good.len() - 8 * (2 * ROWS + 2 + 2);
    for at in data * 8..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let error = Model::from_bytes(&bytes).unwrap_err().to_string();
        assert!(
            error.contains("checksum") && error.contains("copy"),
            "{error}"
        );
    }
    assert_eq!(model.to_bytes().unwrap(), good);
}

/// A small file, so that damage hits every part of it.
fn small() -> Vec<u8> {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let make = || {
        let task = TaskSpec::sparse_svd(0.1, 0.1).build().unwrap();
        let mesh = Mesh::builder(task, Topology::path(2).unwrap())
            .build(ROWS, &[2, 0], AtomInit::Random)
            .unwrap();
        mesh.to_model().to_bytes().unwrap()
    };
    BYTES.get_or_init(make).clone()
}
