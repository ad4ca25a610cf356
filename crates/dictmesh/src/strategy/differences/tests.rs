//! Messages of differences: both ends agree, errors vanish, and wrong ones are refused.

use super::*;
use crate::random::{gaussian, stream};

const ROWS: usize = 7;

/// Samples of very different magnitudes; the last one is 0.
fn arrays(round: u64) -> Vec<f64> {
    let scales = [1e3, 1.0, 1e-9, 3e300, 0.0];
    let drawn = gaussian(ROWS, scales.len(), &mut stream(round, 0));
    let columns = drawn.columns().zip(scales);
    columns
        .flat_map(|(c, scale)| c.iter().map(move |v| v * scale))
        .collect()
}

#[test]
fn both_ends_hold_the_same_array_and_no_difference_clips() {
    for bits in 4..=16 {
        let mut sender = Differences::new(bits, ROWS, 5);
        let mut receiver = vec![0.0; sender.known().len()];
        for round in 0..20 {
            let array = arrays(round);
            let before = sender.known().to_vec();
            sender.set(&array);
            let mut message = Vec::new();
            sender.pack(&mut message);
            assert_eq!(message.len(), sender.bytes());
            sender.add_to(&mut receiver, &message).unwrap();
            assert_eq!(receiver, sender.known(), "{bits} bits");
            for j in 0..5 {
                let range = j * ROWS..(j + 1) * ROWS;
                let largest = |known: &[f64]| {
                    let each = array[range.clone()].iter().zip(&known[range.clone()]);
                    each.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
                };
                // Half a unit, and a unit is at most 2 in 2^(bits - 1) - 1 of the largest.
                let limit = f64::from((1 << (bits - 1)) - 1);
                let (was, left) = (largest(&before), largest(sender.known()));
                assert!(
                    left <= 1.001 * was / limit,
                    "{bits} bits: {left:e} of {was:e}"
                );
            }
        }
    }
}

#[test]
fn an_array_in_full_replaces_the_known_one() {
    let mut sender = Differences::new(5, ROWS, 5);
    let mut receiver = vec![1.0; sender.known().len()];
    sender.set(&arrays(0));
    for (array, is_full) in [(arrays(1), true), (arrays(2), false)] {
        match is_full {
            true => sender.set_in_full(&array),
            false => sender.set(&array),
        }
        let mut message = Vec::new();
        sender.pack(&mut message);
        assert_eq!(message.len(), sender.bytes());
        sender.add_to(&mut receiver, &message).unwrap();
        assert_eq!(receiver, sender.known());
        assert_eq!(sender.known() == array, is_full);
    }
    sender.set_in_full(&vec![f64::NAN; ROWS * 5]);
    assert!(!sender.is_finite());
    let mut message = Vec::new();
    sender.pack(&mut message);
    assert!(sender.add_to(&mut receiver, &message).is_err());
    assert!(sender.add_to(&mut receiver, &message[1..]).is_err());
}

#[test]
fn the_error_of_an_array_that_stays_vanishes() {
    let array = arrays(0);
    let mut sender = Differences::new(4, ROWS, 5);
    (0..40).for_each(|_| sender.set(&array));
    for (known, array) in sender.known().iter().zip(&array) {
        assert!(
            (known - array).abs() <= 1e-15 * array.abs(),
            "{known} {array}"
        );
    }
}

#[test]
fn an_array_that_is_not_finite_is_reported() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut sender = Differences::new(8, 2, 2);
        sender.set(&[1.0, 2.0, 3.0, bad]);
        assert!(!sender.is_finite());
        assert!((sender.known()[0] - 1.0).abs() < 0.1 && !sender.known()[3].is_finite());
    }
    for bits in [4, 16] {
        let mut sender = Differences::new(bits, 1, 1);
        let mut receiver = [0.0];
        for largest in [-LIMIT, LIMIT, -LIMIT] {
            sender.set(&[largest]);
            let mut message = Vec::new();
            sender.pack(&mut message);
            sender.add_to(&mut receiver, &message).unwrap();
        }
        assert!(sender.is_finite());
        sender.set(&[1.001 * LIMIT]);
        assert!(!sender.is_finite());
    }
    // Differences too small for a unit are left unsent.
    let mut sender = Differences::new(16, 1, 3);
    sender.set(&[5e-324, 2.3e-308, 1e-300]);
    assert!(sender.is_finite() && sender.known()[2] > 0.0);
}

#[test]
fn messages_that_are_wrong_are_refused() {
    let mut sender = Differences::new(5, 3, 2);
    sender.set(&[1.0, -2.0, 3.0, 0.0, 0.5, 0.25]);
    let mut message = Vec::new();
    sender.pack(&mut message);
    let refused = |message: &[u8]| {
        let mut known = vec![0.0; 6];
        sender.add_to(&mut known, message).unwrap_err()
    };
    for length in 0..message.len() {
        assert!(refused(&message[..length]).contains("have 8"));
    }
    for exponent in [i16::MIN, -1023, 1021, i16::MAX] {
        let mut wrong = message.clone();
        wrong[4..6].copy_from_slice(&exponent.to_le_bytes());
        assert!(refused(&wrong).contains(&format!("2^{exponent} as the unit of sample 1")));
    }
    let mut wrong = message.clone();
    wrong[3] |= 0x80;
    assert!(refused(&wrong).contains("behind the differences of sample 0"));
    let mut wrong = message.clone();
    wrong[..3].copy_from_slice(&[0xfc, 0x03, 0x10]); // -16 times 2^1020
    assert!(refused(&wrong).contains("infinity"));
    let other = Differences::new(6, 3, 2);
    let mut known = vec![0.0; 6];
    assert!(other
        .add_to(&mut known, &message)
        .unwrap_err()
        .contains("6 bits"));
}
