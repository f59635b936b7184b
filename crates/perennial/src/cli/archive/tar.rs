//! The headers of a tar archive (ustar), as far as an archive of ours has them: regular files only.
//!
//! A header is compared, not interpreted: what is read has to be what we would have written.

pub const BLOCK: usize = 512;
/// What follows the last entry.
pub const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];
const NAME_BYTES_MAX: usize = 100;
/// As much as eleven octal digits can say.
pub const SIZE_MAX: u64 = (1 << 33) - 1;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// The header of a regular file that only its owner can read; nothing where tar can't say it.
pub fn header(name: &str, size: u64) -> Option<[u8; BLOCK]> {
    if name.len() > NAME_BYTES_MAX || size > SIZE_MAX {
        return None;
    }
    let mut block = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000600\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(SIZE.start, &format!("{size:011o}\0"));
    put(136, "00000000000\0");
    put(CHECKSUM.start, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

/// The size that a header claims; whether all of it is ours shows when it is compared.
pub fn claimed_size(block: &[u8; BLOCK]) -> Option<u64> {
    let digits = std::str::from_utf8(&block[SIZE]).ok()?.strip_suffix('\0')?;
    u64::from_str_radix(digits, 8).ok()
}

/// How many bytes follow an entry of this size, up to a whole block.
pub fn padding(size: u64) -> usize {
    let over = (size % BLOCK as u64) as usize;
    if over == 0 { 0 } else { BLOCK - over }
}

/// What an entry of this size takes, with its header.
pub fn length(size: u64) -> u64 {
    BLOCK as u64 + size + padding(size) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_its_size_and_has_limits() {
        for size in [0, 1, 511, 512, 513, SIZE_MAX] {
            let block = header("journal.db", size).expect("a header");
            assert_eq!(claimed_size(&block), Some(size));
            assert_eq!(length(size) % BLOCK as u64, 0);
        }
        assert_eq!(header("journal.db", SIZE_MAX + 1), None);
        assert_eq!(header(&"x".repeat(101), 1), None);
        assert_eq!(claimed_size(&[0xff; BLOCK]), None);
    }
}
