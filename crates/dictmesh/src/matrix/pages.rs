//! Large arrays on large pages. Systems that give them only to whoever asks (Linux by default) otherwise hand out an
//! array in pieces of 4 KB, with an interrupt for each, which is a tenth of the time in which codes are found.

#![allow(unsafe_code)] // one call that changes no number

/// What a large page holds, in bytes, where pages are of 4 KB.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

/// Asks for large pages, where there is room for some. It is a wish: nothing depends on what becomes of it.
#[cfg(target_os = "linux")]
pub(super) fn ask_for_large(numbers: &mut [f64]) {
    let bytes = numbers.as_mut_ptr_range();
    let (from, to) = (bytes.start as usize, bytes.end as usize);
    let (first, last) = (from.next_multiple_of(LARGE), to / LARGE * LARGE);
    if first >= last || last - first < 2 * LARGE {
        return;
    }
    let at = numbers.as_mut_ptr().wrapping_byte_add(first - from);
    // Sound: the range lies within `numbers`, and this advice leaves what is in memory as it is.
    let _ = unsafe { libc::madvise(at.cast(), last - first, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ask_for_large(_: &mut [f64]) {}
