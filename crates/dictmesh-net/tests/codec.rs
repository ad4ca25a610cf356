//! Frames survive the way; anything else is refused, whatever it is, without more memory than it has bytes.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

use bytes::{Bytes, BytesMut};
use dictmesh_net::codec::{asking, decode, encode, header, Limits, Refusal, HEADER};
use dictmesh_net::{Frame, Phase, Tag};
use proptest::collection::vec;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    scalars: 40,
    dual: 60,
    bytes: 80,
};

/// How many of each: DICTMESH_FUZZ, 3,000 if it is not set.
fn cases() -> u32 {
    std::env::var("DICTMESH_FUZZ").map_or(3000, |n| n.parse().unwrap())
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |v| v.is_finite())
}

fn frames() -> impl Strategy<Value = Frame> {
    let tag = (any::<u32>(), any::<u64>(), 0..5_u8, any::<u32>());
    let content = (
        vec(finite(), 0..40),
        vec(finite(), 0..60),
        vec(any::<u8>(), 0..80),
    );
    (tag, content).prop_map(|(tag, (scalars, dual, bytes))| Frame {
        tag: Tag {
            epoch: tag.0,
            sample: tag.1,
            phase: Phase::from_number(tag.2).unwrap(),
            round: tag.3,
        },
        scalars,
        dual,
        bytes,
    })
}

fn read(bytes: &[u8]) -> Result<Frame, Refusal> {
    let header = header(bytes, &LIMITS)?;
    let mut frame = Frame::default();
    decode(bytes, &header, &mut frame)?;
    // What is taken holds no more than the bytes that came.
    assert!(8 * frame.scalars.len() + 4 * frame.dual.len() + frame.bytes.len() <= bytes.len());
    assert!(frame
        .scalars
        .iter()
        .chain(&frame.dual)
        .all(|v| v.is_finite()));
    Ok(frame)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_back_to_the_bit(frame in frames(), incarnation: u64) {
        let bytes = encode(&frame, incarnation, false, BytesMut::from(&b"left over"[..]));
        let numbers = frame.scalars.len() + frame.dual.len();
        prop_assert_eq!(bytes.len(), HEADER + 8 * numbers + frame.bytes.len());
        prop_assert_eq!(header(&bytes, &LIMITS).unwrap().incarnation, incarnation);
        prop_assert_eq!(read(&bytes).unwrap(), frame);
    }

    #[test]
    fn single_precision_rounds_and_never_overflows(frame in frames()) {
        let bytes = encode(&frame, 0, true, BytesMut::new());
        let numbers = 8 * frame.scalars.len() + 4 * frame.dual.len();
        prop_assert_eq!(bytes.len(), HEADER + numbers + frame.bytes.len());
        let back = read(&bytes).unwrap();
        prop_assert_eq!(&back.scalars, &frame.scalars);
        for (a, b) in back.dual.iter().zip(&frame.dual) {
            let most = f64::from(f32::MAX);
            prop_assert!((a - b.clamp(-most, most)).abs() <= 6e-8 * b.abs() + 1e-45);
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..2000)) {
        prop_assert!(read(&bytes).is_err());
    }

    /// Any bytes after a right beginning: what is taken is a frame within the limits.
    #[test]
    fn bytes_that_begin_as_a_frame_are_taken_whole_or_refused(mut bytes in vec(any::<u8>(), HEADER..900), counts in (0..41_u32, 0..61_u32), fits: bool) {
        bytes[..8].copy_from_slice(&[b'd', b'm', b'f', b'2', 0, 2, 0, 0]);
        bytes[32..36].copy_from_slice(&counts.0.to_le_bytes());
        bytes[36..40].copy_from_slice(&counts.1.to_le_bytes());
        let numbers = 8 * (counts.0 + counts.1) as usize;
        if fits {
            let opaque = bytes.len().saturating_sub(HEADER + numbers).min(80) as u32;
            bytes[40..44].copy_from_slice(&opaque.to_le_bytes());
        }
        if let Ok(frame) = read(&bytes) {
            let numbers = frame.scalars.len() + frame.dual.len();
            prop_assert_eq!(bytes.len(), HEADER + 8 * numbers + frame.bytes.len());
        }
    }

    #[test]
    fn mutated_frames_are_taken_as_what_they_say_or_refused(frame in frames(), at in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), cuts: bool) {
        let mut bytes = encode(&frame, 1, false, BytesMut::new()).to_vec();
        for (at, value) in at {
            let at = at.index(bytes.len());
            bytes[at] ^= value;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(taken) = read(&bytes) {
            let header = header(&bytes, &LIMITS).unwrap();
            let again = encode(&taken, header.incarnation, header.float32, BytesMut::new());
            let again = if header.asks { asking(&again) } else { again };
            prop_assert_eq!(again, Bytes::from(bytes));
        }
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let frame = Frame {
        tag: Tag::agreement(1),
        scalars: vec![1.0; 3],
        dual: vec![2.0; 5],
        bytes: vec![3; 7],
    };
    let right = encode(&frame, 9, false, BytesMut::new());
    let words = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = right.to_vec();
        change(&mut bytes);
        read(&bytes).unwrap_err().to_string()
    };
    assert!(words(&|b| b.truncate(10)).contains("10 bytes are too few"));
    assert!(words(&|b| b[0] = 0).contains("does not begin as a frame"));
    assert!(words(&|b| b[5] = 9).contains("phase is 9"));
    assert!(words(&|b| b[4] = 2).contains("precision is 2"));
    assert!(
        words(&|b| b[36] = 61).contains("61 dual entries, but a frame of this run has at most 60")
    );
    assert!(words(&|b| b[40] = 81).contains("81 bytes, but a frame of this run has at most 80"));
    assert!(words(&|b| b[43] = 255).contains("at most 80"));
    assert!(words(&|b| b[39] = 255).contains("at most 60"));
    assert!(words(&|b| b.push(0)).contains("its header says 115"));
    assert!(
        words(&|b| b[44..52].copy_from_slice(&f64::NAN.to_le_bytes())).contains("scalar 0 is NaN")
    );
    assert!(
        words(&|b| b[76..84].copy_from_slice(&f64::INFINITY.to_le_bytes()))
            .contains("dual entry 1 is inf")
    );
}
