//! Chance that can be had again: a seeded generator, its seed printed.

/// SplitMix64.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// From `PERENNIAL_SEED`, or another one each time; the test's output names it.
    pub fn seeded() -> Chance {
        let given = std::env::var("PERENNIAL_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("a time after 1970").as_nanos() as u64
        });
        println!("PERENNIAL_SEED={seed}");
        Chance(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// `count` different numbers below `limit`.
    pub fn pick(&mut self, count: usize, limit: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..limit).collect();
        (0..count).map(|_| all.swap_remove(self.below(all.len()))).collect()
    }
}
