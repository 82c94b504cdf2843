//! A deterministic pseudorandom generator.

/// A generator (xorshift).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Creates generator `number` of a run with a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Dice {
        // Spreads neighbouring seeds.
        let mixed = (seed ^ number.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice((mixed ^ (mixed >> 29)) | 1)
    }

    /// Returns the next number, below 2⁴⁴.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 20
    }

    /// Returns one of the items.
    pub(crate) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[(self.roll() % items.len() as u64) as usize]
    }

    /// Shuffles the items.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.roll() % (last as u64 + 1)) as usize);
        }
    }
}
