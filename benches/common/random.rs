//! Chance that is the same on every machine and every day.

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// Numbers of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to less than `end`. The bias of the remainder is far below what a bench can see.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
