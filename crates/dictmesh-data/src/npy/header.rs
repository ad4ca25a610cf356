//! The header of a .npy file, checked before use, and the numbers after it.

use crate::dense::Scalars;
use npyz::{DType, Deserialize, NpyFile, NpyHeader, NpyReader, Order};
use std::io::{self, Read, Seek};

/// Numpy itself refuses longer headers (`max_header_size`), some bytes earlier.
const LONGEST_HEADER: usize = 1 << 16;
/// A header is a dictionary with a tuple in it; its parser recurses, so that depth is stack.
const DEEPEST_HEADER: usize = 8;

/// The first number type that fits the array, as `$make` of its reader and its way to `f64`.
macro_rules! try_types {
    (@one $npy:ident, $data:ident, $convert:ident, $make:expr, $t:ty, $way:expr) => {
        let $npy = match $npy.try_data::<$t>() {
            Ok($data) => {
                let $convert: fn($t) -> f64 = $way;
                return Some(Box::new($make));
            }
            Err(npy) => npy,
        };
    };
    ($npy:ident, $data:ident, $convert:ident => $make:expr) => {{
        try_types!(@one $npy, $data, $convert, $make, f64, |v| v);
        try_types!(@one $npy, $data, $convert, $make, f32, f64::from);
        try_types!(@one $npy, $data, $convert, $make, i64, |v| v as f64);
        try_types!(@one $npy, $data, $convert, $make, i32, f64::from);
        try_types!(@one $npy, $data, $convert, $make, i16, f64::from);
        try_types!(@one $npy, $data, $convert, $make, i8, f64::from);
        try_types!(@one $npy, $data, $convert, $make, u64, |v| v as f64);
        try_types!(@one $npy, $data, $convert, $make, u32, f64::from);
        try_types!(@one $npy, $data, $convert, $make, u16, f64::from);
        try_types!(@one $npy, $data, $convert, $make, u8, f64::from);
        try_types!(@one $npy, $data, $convert, $make, bool, f64::from);
        drop($npy);
        None
    }};
}

/// The content of a header.
pub struct Header {
    npy: NpyHeader,
    /// Bytes before the numbers.
    pub bytes: u64,
    /// The number of numbers.
    pub len: u64,
}

impl Header {
    /// Reads the header and leaves `reader` at the first number. `Err` is what was found.
    pub fn read(reader: &mut dyn Read) -> std::result::Result<Header, String> {
        let text = header_bytes(reader).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => "the file ends inside its header".to_string(),
            _ => e.to_string(),
        })?;
        let npy = NpyHeader::from_reader(&text[..]).map_err(|e| {
            let reason = e.to_string();
            format!(
                "a header that makes no sense ({})",
                reason.lines().next().unwrap_or_default()
            )
        })?;
        let shape = npy.shape();
        let len = shape.iter().try_fold(1_u64, |n, &d| n.checked_mul(d));
        let len = len.filter(|&n| n <= i64::MAX as u64 / 16);
        let len =
            len.ok_or_else(|| format!("an array of shape {shape:?}, too large for any file"))?;
        Ok(Header {
            npy,
            bytes: text.len() as u64,
            len,
        })
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[u64] {
        self.npy.shape()
    }

    /// The number type as numpy writes it.
    pub fn type_name(&self) -> String {
        self.npy.dtype().descr().replace('\'', "")
    }

    /// Whether rows are contiguous.
    pub fn row_major(&self) -> bool {
        self.npy.order() == Order::C
    }

    /// Bytes of one number.
    pub fn item_bytes(&self) -> Option<u64> {
        match self.npy.dtype() {
            DType::Plain(t) => t.num_bytes().map(|n| n as u64),
            _ => None,
        }
    }

    /// The numbers that follow in `reader`; `None` if they are not real numbers.
    pub fn values<R: Read + Send + 'static>(&self, reader: R) -> Option<Box<dyn Numbers>> {
        let npy = NpyFile::with_header(self.npy.clone(), reader);
        try_types!(npy, data, convert => data.map(move |v| v.map(convert)))
    }

    /// As [`values`](Self::values), for a reader that can seek.
    pub fn scalars<R: Read + Seek + Send + 'static>(&self, reader: R) -> Option<Box<dyn Scalars>> {
        let npy = NpyFile::with_header(self.npy.clone(), reader);
        try_types!(npy, data, convert => Seeking { data, convert })
    }

    /// The strings that follow in `reader` (numpy's `S` and `U`); `None` if they are none, or more
    /// than `most` bytes.
    pub fn strings<R: Read>(&self, reader: R, most: u64) -> Option<io::Result<Vec<String>>> {
        let item = self.item_bytes().filter(|&n| n > 0)?;
        if item.saturating_mul(self.len) > most {
            return None;
        }
        let npy = NpyFile::with_header(self.npy.clone(), reader);
        match npy.try_data::<String>() {
            Ok(data) => Some(data.collect()),
            Err(npy) => {
                let bytes = npy.try_data::<Vec<u8>>().ok()?;
                let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
                Some(bytes.map(|b| b.map(text)).collect())
            }
        }
    }

    /// The two dimensions of a matrix. `Err` is what was found.
    pub fn matrix_shape(&self) -> std::result::Result<(usize, usize), String> {
        let found = || format!("an array of shape {:?}", self.shape());
        let &[rows, cols] = self.shape() else {
            return Err(found());
        };
        match (usize::try_from(rows), usize::try_from(cols)) {
            (Ok(rows), Ok(cols)) if rows > 0 && cols > 0 => Ok((rows, cols)),
            _ => Err(found()),
        }
    }
}

/// Numbers one after the other.
pub trait Numbers: Iterator<Item = io::Result<f64>> + Send {}
impl<T: Iterator<Item = io::Result<f64>> + Send> Numbers for T {}

struct Seeking<T: Deserialize, R: Read> {
    data: NpyReader<T, R>,
    convert: fn(T) -> f64,
}

impl<T: Deserialize, R: Read + Seek + Send> Scalars for Seeking<T, R>
where
    NpyReader<T, R>: Send,
{
    fn read_from(&mut self, index: u64, out: &mut [f64]) -> io::Result<()> {
        // npyz panics past its end; the caller's arithmetic must not become that.
        if self.data.total_len().saturating_sub(index) < out.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.data.seek_to(index)?;
        for slot in out {
            let next = self.data.next();
            let value = next.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))??;
            *slot = (self.convert)(value);
        }
        Ok(())
    }
}

/// The header with its magic and length, checked to be short and shallow.
fn header_bytes(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
    let mut bytes = vec![0; 10];
    reader.read_exact(&mut bytes)?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(invalid("no numpy array begins here"));
    }
    let mut len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    if bytes[6] >= 2 {
        let mut more = [0; 2];
        reader.read_exact(&mut more)?;
        bytes.extend_from_slice(&more);
        len |= usize::from(u16::from_le_bytes(more)) << 16;
    }
    if len > LONGEST_HEADER {
        return Err(invalid("a header longer than numpy allows"));
    }
    let start = bytes.len();
    bytes.resize(start + len, 0);
    reader.read_exact(&mut bytes[start..])?;
    let mut depth = 0_usize;
    for b in &bytes[start..] {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_HEADER {
            return Err(invalid("a header nested deeper than numpy writes"));
        }
    }
    Ok(bytes)
}
