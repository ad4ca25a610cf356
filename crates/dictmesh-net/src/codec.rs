//! Frames as bytes: a fixed header, then the scalars, the dual vectors and the opaque bytes, all
//! little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 0-3 | `dmf2` |
//! | 4 | 1 if the dual vectors are in single precision, else 0 |
//! | 5 | the phase |
//! | 6 | 1 if the sender waits for the receiver and asks it to send its frames again, else 0 |
//! | 7 | 0 |
//! | 8-11 | epoch |
//! | 12-15 | round |
//! | 16-23 | sample |
//! | 24-31 | incarnation of the sender |
//! | 32-35 | number of scalars |
//! | 36-39 | number of entries of the dual vectors |
//! | 40-43 | number of opaque bytes |
//! | 44- | the scalars, 8 bytes each, the dual vectors, 8 or 4 bytes each, the opaque bytes |

use crate::exchange::{Frame, Phase, Tag};
use bytes::{Bytes, BytesMut};

const MAGIC: [u8; 4] = *b"dmf2";
/// Scalars for which there is room in every frame, beside one a sample: an agreement of the most agents has 16 of each.
pub const SCALARS: usize = 1 << 17;
/// Bytes before the scalars.
pub const HEADER: usize = 44;
/// Numbers of 8 bytes a sample for which opaque bytes have room beside one for each dual entry.
const WORDS_PER_SAMPLE: usize = 16;

/// The most that a frame may hold: what is beyond is refused before any memory is given to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Scalars.
    pub scalars: usize,
    /// Entries of dual vectors, M x B.
    pub dual: usize,
    /// Opaque bytes: of a sum, a broadcast, or the public keys of an agreement.
    pub bytes: usize,
}

impl Limits {
    /// For batches of so many samples of so many rows. The scalars are enough for an agreement of some thousand
    /// agents.
    pub fn new(rows: usize, batch: usize) -> Self {
        let dual = rows.saturating_mul(batch);
        let words = dual.saturating_add(batch.saturating_mul(WORDS_PER_SAMPLE));
        Limits {
            scalars: batch.saturating_add(SCALARS + 2),
            dual,
            bytes: words.saturating_add(SCALARS).saturating_mul(8),
        }
    }

    /// The bytes of the largest frame.
    pub fn largest(&self) -> usize {
        let numbers = self.scalars.saturating_add(self.dual).saturating_mul(8);
        // A frame has numbers or opaque bytes, never the most of both.
        numbers.max(self.bytes).saturating_add(HEADER)
    }
}

/// Why bytes are no frame that we take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not even a header.
    #[error("{0} bytes are too few for a frame, whose header alone has {HEADER}")]
    Short(usize),
    /// Not our format.
    #[error("it does not begin as a frame of this protocol does")]
    Magic,
    /// A field of the header is out of range.
    #[error("the header's {field} is {value}, which this protocol does not have")]
    Header {
        /// Which.
        field: &'static str,
        /// What it is.
        value: u8,
    },
    /// More than this run can have.
    #[error("it claims {given} {what}, but a frame of this run has at most {most}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// As the header claims.
        given: usize,
        /// What is allowed.
        most: usize,
    },
    /// The header and the number of bytes contradict each other.
    #[error("it has {given} bytes, but its header says {expected}")]
    Length {
        /// As they came.
        given: usize,
        /// As the header says.
        expected: usize,
    },
    /// Right as such, but not what this round is about.
    #[error("it has {given} {what}, but frames of this round have {expected}")]
    Dimension {
        /// Of what.
        what: &'static str,
        /// As it came.
        given: usize,
        /// As it must be.
        expected: usize,
    },
    /// NaN or an infinity.
    #[error("{what} {index} is {value}; only finite numbers are taken")]
    NotFinite {
        /// Scalar or dual entry.
        what: &'static str,
        /// Its number, from 0.
        index: usize,
        /// What it is.
        value: f64,
    },
}

/// What stands before the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The round.
    pub tag: Tag,
    /// Which start of the sender's process sent it.
    pub incarnation: u64,
    /// How many scalars follow.
    pub scalars: usize,
    /// How many dual entries follow.
    pub dual: usize,
    /// How many opaque bytes follow.
    pub bytes: usize,
    /// Whether these are in single precision.
    pub float32: bool,
    /// Whether the sender asks for what the receiver sent last.
    pub asks: bool,
}

impl Header {
    /// The bytes of the whole frame.
    fn length(&self) -> usize {
        HEADER + 8 * self.scalars + self.size_of_dual() + self.bytes
    }

    fn size_of_dual(&self) -> usize {
        self.dual * if self.float32 { 4 } else { 8 }
    }

    fn of(frame: &Frame, incarnation: u64, float32: bool) -> Self {
        Header {
            tag: frame.tag,
            incarnation,
            scalars: frame.scalars.len(),
            dual: frame.dual.len(),
            bytes: frame.bytes.len(),
            float32,
            asks: false,
        }
    }
}

/// How many bytes [`encode`] makes of this frame.
pub fn length(frame: &Frame, float32: bool) -> usize {
    Header::of(frame, 0, float32).length()
}

/// The frame as bytes, in the memory of `room`, which is emptied.
pub fn encode(frame: &Frame, incarnation: u64, float32: bool, mut room: BytesMut) -> Bytes {
    let header = Header::of(frame, incarnation, float32);
    room.clear();
    room.reserve(header.length());
    room.extend_from_slice(&MAGIC);
    room.extend_from_slice(&[u8::from(float32), frame.tag.phase as u8, 0, 0]);
    room.extend_from_slice(&frame.tag.epoch.to_le_bytes());
    room.extend_from_slice(&frame.tag.round.to_le_bytes());
    room.extend_from_slice(&frame.tag.sample.to_le_bytes());
    room.extend_from_slice(&incarnation.to_le_bytes());
    room.extend_from_slice(&(header.scalars as u32).to_le_bytes());
    room.extend_from_slice(&(header.dual as u32).to_le_bytes());
    room.extend_from_slice(&(header.bytes as u32).to_le_bytes());
    put(&frame.scalars, &mut room);
    if float32 {
        for v in &frame.dual {
            // What is beyond single precision must not become an infinity on the way.
            let v = v.clamp(f64::from(-f32::MAX), f64::from(f32::MAX)) as f32;
            room.extend_from_slice(&v.to_le_bytes());
        }
    } else {
        put(&frame.dual, &mut room);
    }
    room.extend_from_slice(&frame.bytes);
    room.freeze()
}

/// The same frame, asking the receiver for what it sent last.
pub fn asking(frame: &Bytes) -> Bytes {
    let mut asking = BytesMut::from(&frame[..]);
    if let Some(byte) = asking.get_mut(6) {
        *byte = 1;
    }
    asking.freeze()
}

fn put(numbers: &[f64], room: &mut BytesMut) {
    if cfg!(target_endian = "little") {
        room.extend_from_slice(bytemuck::cast_slice(numbers));
    } else {
        (numbers.iter()).for_each(|v| room.extend_from_slice(&v.to_le_bytes()));
    }
}

/// The header of what claims to be a frame, if it is one within the limits.
pub fn header(bytes: &[u8], limits: &Limits) -> Result<Header, Refusal> {
    if bytes.len() < HEADER {
        return Err(Refusal::Short(bytes.len()));
    }
    if bytes[..4] != MAGIC {
        return Err(Refusal::Magic);
    }
    let unknown = |field, at: usize| Refusal::Header {
        field,
        value: bytes[at],
    };
    let float32 = match bytes[4] {
        0 => false,
        1 => true,
        _ => return Err(unknown("precision", 4)),
    };
    let phase = Phase::from_number(bytes[5]).ok_or_else(|| unknown("phase", 5))?;
    if bytes[6] > 1 {
        return Err(unknown("request", 6));
    }
    if bytes[7] != 0 {
        return Err(unknown("reserved byte", 7));
    }
    let header = Header {
        tag: Tag {
            epoch: u32_at(bytes, 8),
            sample: u64_at(bytes, 16),
            phase,
            round: u32_at(bytes, 12),
        },
        incarnation: u64_at(bytes, 24),
        scalars: u32_at(bytes, 32) as usize,
        dual: u32_at(bytes, 36) as usize,
        bytes: u32_at(bytes, 40) as usize,
        float32,
        asks: bytes[6] == 1,
    };
    let within = |what, given: usize, most: usize| match given > most {
        true => Err(Refusal::TooLarge { what, given, most }),
        false => Ok(()),
    };
    within("scalars", header.scalars, limits.scalars)?;
    within("dual entries", header.dual, limits.dual)?;
    within("bytes", header.bytes, limits.bytes)?;
    if bytes.len() != header.length() {
        return Err(Refusal::Length {
            given: bytes.len(),
            expected: header.length(),
        });
    }
    Ok(header)
}

/// The numbers of the frame with this header, into memory that `frame` already has.
pub fn decode(bytes: &[u8], header: &Header, frame: &mut Frame) -> Result<(), Refusal> {
    let (scalars, rest) = bytes[HEADER..].split_at(8 * header.scalars);
    let (dual, opaque) = rest.split_at(header.size_of_dual());
    frame.tag = header.tag;
    frame.scalars.clear();
    frame.scalars.extend(eights(scalars));
    check_finite("scalar", &frame.scalars)?;
    frame.bytes.clear();
    frame.bytes.extend_from_slice(opaque);
    frame.dual.clear();
    if header.float32 {
        let fours = dual.as_chunks::<4>().0.iter();
        (frame.dual).extend(fours.map(|v| f64::from(f32::from_le_bytes(*v))));
    } else {
        frame.dual.extend(eights(dual));
    }
    check_finite("dual entry", &frame.dual)
}

fn eights(bytes: &[u8]) -> impl ExactSizeIterator<Item = f64> + '_ {
    bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|v| f64::from_le_bytes(*v))
}

fn check_finite(what: &'static str, numbers: &[f64]) -> Result<(), Refusal> {
    // First without a branch, many at a time: hardly ever is there one to be found.
    if !(numbers.iter()).fold(false, |found, v| found | !v.is_finite()) {
        return Ok(());
    }
    match numbers.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(Refusal::NotFinite {
            what,
            index,
            value: numbers[index],
        }),
        None => Ok(()),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
