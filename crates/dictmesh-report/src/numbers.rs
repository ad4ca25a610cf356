//! Numbers as text, for messages, tables, charts and files.

/// A count with commas: "12,345".
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: "1 atom", "2 atoms".
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Bytes with two or three digits and a decimal unit: "1.5 kB", "84 MB".
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB"] {
        // 999.5 would be printed as 1000.
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    match unit {
        "B" => format!("{n} B"),
        _ if value < 9.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// A value with the decimals that a step of this size needs.
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

/// Scientific notation, as 2e5, with at most `decimals` decimals.
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

/// A value with three or four digits, in any magnitude.
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

/// A value with `decimals` decimals, for columns of numbers; in scientific notation from 1e15 on.
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

/// A value with all its digits, for files; in scientific notation from 1e15 on and below 1e-15.
pub fn exact(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if (1.0 / MOST_DIGITS..MOST_DIGITS).contains(&a) => v.to_string(),
        _ => format!("{v:e}"),
    }
}

/// Above it, f64 does not hold every integer with its decimals.
const MOST_DIGITS: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_bytes_are_short() {
        assert_eq!((thousands(0), thousands(999)), ("0".into(), "999".into()));
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1536), "1.5 kB");
        assert_eq!(bytes(999_700), "1.0 MB");
        assert_eq!(bytes(84_000_000), "84 MB");
    }

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
