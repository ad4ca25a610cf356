//! Arrow arrays as numbers and texts.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, OffsetSizeTrait, StringArrayType};
use arrow_schema::DataType;

/// What a column holds for a reader of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holds {
    Numbers,
    Texts,
    /// Lists of numbers of one length, if the type says which.
    Vectors(Option<usize>),
    /// Something else, such as times.
    Other,
}

impl Holds {
    /// By the type of a column.
    pub fn of(data_type: &DataType) -> Holds {
        use DataType::*;
        match data_type {
            Null | Boolean | Float16 | Decimal32(..) | Decimal64(..) | Decimal128(..)
            | Decimal256(..) => Holds::Numbers,
            other if other.is_integer() || other.is_floating() => Holds::Numbers,
            Utf8 | LargeUtf8 | Utf8View => Holds::Texts,
            Dictionary(_, values) => match Holds::of(values) {
                Holds::Vectors(_) => Holds::Other,
                holds => holds,
            },
            FixedSizeList(item, width) if Holds::of(item.data_type()) == Holds::Numbers => {
                Holds::Vectors(usize::try_from(*width).ok())
            }
            List(item) | LargeList(item) if Holds::of(item.data_type()) == Holds::Numbers => {
                Holds::Vectors(None)
            }
            _ => Holds::Other,
        }
    }
}

/// The numbers of an array, `width` to a row; missing ones are NaN. An error gives the row of a list
/// of another length, and that length.
pub fn numbers(array: &dyn Array, width: usize) -> Result<Vec<f64>, (usize, usize)> {
    macro_rules! primitive {
        ($($kind:ident => $type:ty),*; $($decimal:ident => $of:ty),*) => {
            match array.data_type() {
                $(DataType::$kind => array
                    .as_primitive::<$type>()
                    .values()
                    .iter()
                    .map(|v| f64::from(*v))
                    .collect(),)*
                DataType::Int64 => converted(array.as_primitive::<Int64Type>().values(), |v| v as f64),
                DataType::UInt64 => converted(array.as_primitive::<UInt64Type>().values(), |v| v as f64),
                $(DataType::$decimal(_, scale) => {
                    let scale = 10_f64.powi(i32::from(*scale));
                    converted(array.as_primitive::<$of>().values(), |v| v as f64 / scale)
                })*
                DataType::Decimal256(_, scale) => {
                    let scale = 10_f64.powi(i32::from(*scale));
                    converted(array.as_primitive::<Decimal256Type>().values(), |v| {
                        let (low, high) = v.to_parts();
                        (high as f64 * 2_f64.powi(128) + low as f64) / scale
                    })
                }
                DataType::Boolean => {
                    let values = array.as_boolean().values();
                    values.iter().map(|v| f64::from(u8::from(v))).collect()
                }
                DataType::Dictionary(..) => return dictionary(array),
                DataType::FixedSizeList(..) => return fixed_lists(array, width),
                DataType::List(_) => return lists::<i32>(array, width),
                DataType::LargeList(_) => return lists::<i64>(array, width),
                _ => vec![f64::NAN; array.len()],
            }
        };
    }
    let mut values: Vec<f64> = primitive!(
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, UInt8 => UInt8Type,
        UInt16 => UInt16Type, UInt32 => UInt32Type, Float16 => Float16Type,
        Float32 => Float32Type, Float64 => Float64Type;
        Decimal32 => Decimal32Type, Decimal64 => Decimal64Type, Decimal128 => Decimal128Type
    );
    missing(array, 1, &mut values);
    Ok(values)
}

fn converted<T: Copy>(values: &[T], to: impl Fn(T) -> f64) -> Vec<f64> {
    values.iter().map(|v| to(*v)).collect()
}

/// Puts NaN where the array has nulls.
fn missing(array: &dyn Array, width: usize, values: &mut [f64]) {
    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        for (row, values) in values.chunks_mut(width.max(1)).enumerate() {
            if nulls.is_null(row) {
                values.fill(f64::NAN);
            }
        }
    }
}

fn dictionary(array: &dyn Array) -> Result<Vec<f64>, (usize, usize)> {
    let dictionary = array.as_any_dictionary();
    let of = numbers(dictionary.values(), 1)?;
    if of.is_empty() {
        return Ok(vec![f64::NAN; array.len()]);
    }
    let keys = dictionary.normalized_keys();
    let mut values: Vec<f64> = keys.into_iter().map(|key| of[key]).collect();
    missing(array, 1, &mut values);
    Ok(values)
}

fn fixed_lists(array: &dyn Array, width: usize) -> Result<Vec<f64>, (usize, usize)> {
    let lists = array.as_fixed_size_list();
    let length = usize::try_from(lists.value_length()).unwrap_or(0);
    if length != width {
        return Err((0, length));
    }
    let first = lists.value_offset_at(0);
    let items = lists.values().slice(first, width * array.len());
    let mut values = numbers(&items, 1)?;
    missing(array, width, &mut values);
    Ok(values)
}

fn lists<O: OffsetSizeTrait>(array: &dyn Array, width: usize) -> Result<Vec<f64>, (usize, usize)> {
    let lists = array.as_list::<O>();
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    let items = numbers(&lists.values().slice(first, last - first), 1)?;
    let mut values = Vec::with_capacity(width * array.len());
    for (row, pair) in offsets.windows(2).enumerate() {
        let (from, to) = (pair[0].as_usize() - first, pair[1].as_usize() - first);
        match (lists.is_null(row), to - from == width) {
            (true, _) => values.extend(std::iter::repeat_n(f64::NAN, width)),
            (false, true) => values.extend(&items[from..to]),
            (false, false) => return Err((row, to - from)),
        }
    }
    Ok(values)
}

/// The length of the first list that is not null.
pub fn list_length(array: &dyn Array) -> Option<usize> {
    let first = (0..array.len()).find(|row| !array.is_null(*row))?;
    Some(match array.data_type() {
        DataType::FixedSizeList(..) => {
            usize::try_from(array.as_fixed_size_list().value_length()).unwrap_or(0)
        }
        DataType::LargeList(_) => array.as_list::<i64>().value(first).len(),
        _ => array.as_list::<i32>().value(first).len(),
    })
}

/// The entries of an array as text; `None` where one is missing.
pub fn texts(array: &dyn Array) -> Vec<Option<String>> {
    fn of<'a>(array: impl StringArrayType<'a>) -> Vec<Option<String>> {
        array.iter().map(|v| v.map(String::from)).collect()
    }
    macro_rules! shown {
        ($($kind:pat => $type:ty),*) => {
            match array.data_type() {
                DataType::Utf8 => of(array.as_string::<i32>()),
                DataType::LargeUtf8 => of(array.as_string::<i64>()),
                DataType::Utf8View => of(array.as_string_view()),
                DataType::Boolean => {
                    let values = array.as_boolean().iter();
                    values.map(|v| v.map(|v| v.to_string())).collect()
                }
                DataType::Dictionary(..) => {
                    let dictionary = array.as_any_dictionary();
                    let of = texts(dictionary.values());
                    if of.is_empty() {
                        return vec![None; array.len()];
                    }
                    let keys = dictionary.normalized_keys().into_iter().enumerate();
                    keys.map(|(row, key)| of[key].clone().filter(|_| !array.is_null(row))).collect()
                }
                $($kind => {
                    let values = array.as_primitive::<$type>().iter();
                    values.map(|v| v.map(|v| v.to_string())).collect()
                })*
                _ => {
                    let values = numbers(array, 1).unwrap_or_default().into_iter();
                    values.map(|v| (!v.is_nan()).then(|| v.to_string())).collect()
                }
            }
        };
    }
    shown!(
        DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type,
        DataType::Int64 => Int64Type, DataType::UInt8 => UInt8Type,
        DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
        DataType::UInt64 => UInt64Type, DataType::Float32 => Float32Type
    )
}
