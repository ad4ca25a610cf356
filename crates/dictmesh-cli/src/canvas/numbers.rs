//! Numbers as people write them.

use crate::picture::thousands;

/// With as many decimals as a step of this size needs.
pub fn decimal(v: f64, step: f64) -> String {
    let decimals = (-(step.abs().log10() + 1e-9).floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{:.decimals$}", v.abs());
    let text = match text.split_once('.') {
        None => thousands(text.parse().unwrap_or(0)),
        Some(_) => text,
    };
    match v < 0.0 {
        _ if text.chars().all(|c| matches!(c, '0' | '.')) => "0".into(),
        true => format!("−{text}"),
        false => text,
    }
}

/// As 2e5, with at most so many decimals.
pub fn power_of_ten(v: f64, decimals: usize) -> String {
    if v == 0.0 {
        return "0".into();
    }
    let text = format!("{:.*e}", decimals.min(3), v.abs());
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    let sign = if v < 0.0 { "−" } else { "" };
    format!("{sign}{mantissa}e{power}")
}

/// A number for people: three digits or four, in any size.
pub fn number(v: f64) -> String {
    match v.abs() {
        _ if v.is_nan() => "none".into(),
        a if a.is_infinite() => if v > 0.0 { "∞" } else { "−∞" }.into(),
        0.0 => "0".into(),
        a if !(1e-3..1e7).contains(&a) => power_of_ten(v, 2),
        a if a >= 999.5 || v.fract() == 0.0 => decimal(v.round(), 1.0),
        a => decimal(v, 10f64.powf((a.log10() + 1e-9).floor() - 2.0)),
    }
}

/// With so many decimals, as columns of numbers have it; beyond any use of digits as a power of ten.
pub fn fixed(v: f64, decimals: usize) -> String {
    if v.abs() >= MOST_DIGITS {
        return format!("{v:.decimals$e}");
    }
    let text = format!("{v:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.into(),
        _ => text,
    }
}

/// All its digits, for a file; beyond any use of them as a power of ten.
pub fn exact(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if (1.0 / MOST_DIGITS..MOST_DIGITS).contains(&a) => v.to_string(),
        _ => format!("{v:e}"),
    }
}

/// From here on not every whole number is one of ours.
const MOST_DIGITS: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_end_where_they_say_nothing() {
        assert_eq!(fixed(-1e-9, 6), "0.000000");
        assert_eq!(fixed(-1.25, 1), "-1.2");
        assert_eq!(fixed(1.5e299, 4), "1.5000e299");
        assert_eq!((exact(-0.0), exact(0.1)), ("0".into(), "0.1".into()));
        for v in [1e300, -2.5e-200, 123456.789] {
            assert_eq!(exact(v).parse(), Ok(v));
            assert!(exact(v).len() < 12);
        }
    }

    #[test]
    fn numbers_are_short_in_any_size() {
        for (v, text) in [
            (0.0, "0"),
            (0.95, "0.950"),
            (-12.345, "−12.3"),
            (1234.2, "1,234"),
            (7.0, "7"),
            (1.5e-7, "1.5e-7"),
            (f64::NAN, "none"),
        ] {
            assert_eq!(number(v), text);
        }
    }
}
