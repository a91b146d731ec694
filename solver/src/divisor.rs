//! The greatest number that divides two others: amounts and costs in units of it are the smallest whole numbers they can be.

/// The greatest common divisor; of zero and another number, the other.
pub(crate) fn common_divisor(one: u64, two: u64) -> u64 {
    if two == 0 {
        one
    } else {
        common_divisor(two, one % two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_any_divisor() {
        assert_eq!(common_divisor(0, 0), 0);
        assert_eq!(common_divisor(0, 12), 12);
        assert_eq!(common_divisor(18, 12), 6);
    }
}
