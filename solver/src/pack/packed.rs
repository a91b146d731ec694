//! Amounts of several resources in one number, so that comparing and subtracting all of them is one operation.
//!
//! Each resource is counted in the greatest amount that all requests are multiples of, and gets a field of bits with a
//! bit to spare: that bit is set before a subtraction, and what doesn't fit clears it. Resources that can't run out
//! before another one does have no field.
//!
//! Promises: exactly what fits in whole amounts fits here. Rooms whose fields don't go into one number are declined.

use super::knapsack::Item;
use crate::divisor::common_divisor;

/// Bits of the number.
const BITS: u32 = u128::BITS;

/// A room and what items ask for of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// All of the room.
    pub room: u128,
    /// By item: what one of them asks for.
    pub requests: Vec<u128>,
    /// The spare bits.
    guards: u128,
    /// The bits of the last field.
    last: u128,
    /// How many fields there are.
    pub fields: usize,
}

impl Packed {
    /// `None` where there are too many bits.
    #[must_use]
    pub fn new(room: &[u64], items: &[Item<'_>]) -> Option<Self> {
        let mut packed = Self {
            room: 0,
            requests: vec![0; items.len()],
            guards: 0,
            last: 0,
            fields: 0,
        };
        let mut used = 0;
        for resource in scarce(room, items) {
            let requests = items.iter().map(|item| item.request[resource]);
            let unit = requests.fold(0, common_divisor).max(1);
            let whole = room[resource] / unit;
            let width = u64::BITS - whole.leading_zeros();
            if used + width + 1 > BITS {
                return None;
            }
            if packed.fields == 0 {
                packed.last = (1 << width) - 1;
            }
            packed.room |= u128::from(whole) << used;
            packed.guards |= 1 << (used + width);
            for (request, item) in packed.requests.iter_mut().zip(items) {
                *request |= u128::from(item.request[resource] / unit) << used;
            }
            used += width + 1;
            packed.fields += 1;
        }
        Some(packed)
    }

    /// What is left of an amount after taking another from it, if it has as much of each resource.
    #[must_use]
    pub fn less(&self, amount: u128, taken: u128) -> Option<u128> {
        let left = (amount | self.guards) - taken;
        (left & self.guards == self.guards).then_some(left & !self.guards)
    }

    /// Whether an amount has as much of each resource as another.
    #[must_use]
    pub fn covers(&self, amount: u128, other: u128) -> bool {
        ((amount | self.guards) - other) & self.guards == self.guards
    }

    /// What an amount has of the resource in the lowest bits.
    #[must_use]
    pub fn last(&self, amount: u128) -> u128 {
        amount & self.last
    }

    /// The lesser of two amounts, resource by resource.
    #[must_use]
    pub fn least(&self, one: u128, two: u128) -> u128 {
        let mut least = 0;
        let mut from = 0;
        let mut guards = self.guards;
        while guards != 0 {
            let guard = guards.trailing_zeros();
            let field = ((1_u128 << guard) - 1) & !((1_u128 << from) - 1);
            least |= (one & field).min(two & field);
            guards &= guards - 1;
            from = guard + 1;
        }
        least
    }
}

/// The resources that may run out first.
fn scarce(room: &[u64], items: &[Item<'_>]) -> Vec<usize> {
    let product = |one: u64, two: u64| u128::from(one) * u128::from(two);
    let can_run_out = |resource: &usize| {
        let all = items.iter().try_fold(0_u128, |sum, item| {
            sum.checked_add(product(item.request[*resource], item.most))
        });
        all.is_none_or(|all| all > u128::from(room[*resource]))
    };
    let mut scarce: Vec<usize> = (0..room.len()).filter(can_run_out).collect();
    // Whose share of the room is never above the share of another one is never used up before it.
    let mut at = 0;
    while at < scarce.len() {
        let here = scarce[at];
        let is_below = |other: usize| {
            let mut items = items.iter();
            items.all(|item| {
                product(item.request[here], room[other]) <= product(item.request[other], room[here])
            })
        };
        if scarce.iter().any(|other| *other != here && is_below(*other)) {
            scarce.remove(at);
        } else {
            at += 1;
        }
    }
    scarce
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::rules::resources;
    use crate::pack::random::Random;

    fn item(request: &[u64], most: u64) -> Item<'_> {
        Item {
            group: 0,
            value: 1.0,
            request,
            most,
        }
    }

    #[test]
    fn what_fits_in_amounts_fits_packed() {
        let mut random = Random::new(17);
        let mut amount = |below| u64::try_from(random.below(below)).unwrap();
        let (mut fitting, mut left_out) = (0, 0);
        for _ in 0..2_000 {
            let columns = 1 + usize::try_from(amount(5)).unwrap();
            let unit = 1 + amount(40);
            let room: Vec<u64> = (0..columns).map(|_| 1 + amount(400)).collect();
            let requests: Vec<Vec<u64>> = (0..3)
                .map(|_| room.iter().map(|most| (amount(90) * unit).min(*most)).collect())
                .collect();
            let items: Vec<Item<'_>> = requests.iter().map(|request| item(request, 3)).collect();
            let packed = Packed::new(&room, &items).unwrap();
            left_out += columns - packed.fields;
            let (mut rest, mut short) = (room.clone(), Some(packed.room));
            for at in [0, 1, 2, 0, 2, 1, 1] {
                let fits = resources::fits(&requests[at], &rest);
                fitting += usize::from(fits);
                let left = short.and_then(|short| packed.less(short, packed.requests[at]));
                assert_eq!(fits, left.is_some(), "{room:?} {requests:?}");
                assert_eq!(fits, packed.covers(short.unwrap(), packed.requests[at]));
                if fits {
                    resources::take(&mut rest, &requests[at], 1);
                    short = left;
                }
            }
            let least = packed.least(packed.requests[0], packed.requests[1]);
            for at in 0..2 {
                assert!(packed.covers(packed.requests[at], least));
            }
        }
        assert!(fitting > 2_000 && left_out > 500, "{fitting} {left_out}");
    }

    #[test]
    fn resources_that_others_run_out_before_have_no_field() {
        let requests = [vec![2, 4, 1], vec![4, 6, 1]];
        let items = [item(&requests[0], 9), item(&requests[1], 9)];
        // Ten pods at most by the first resource, twenty slots.
        let packed = Packed::new(&[20, 30, 20], &items).unwrap();
        assert_eq!(packed.fields, 1);
        assert_eq!(packed.room, 15);
        assert_eq!(packed.requests, [2, 3]);
        assert_eq!(Packed::new(&[20, 30, 7], &items).unwrap().fields, 2);
    }

    #[test]
    fn too_many_bits_are_declined() {
        let requests = [vec![u64::MAX / 3, 1, 5], vec![1, u64::MAX / 3, 7]];
        let items = [item(&requests[0], 9), item(&requests[1], 9)];
        assert!(Packed::new(&[u64::MAX, u64::MAX, 60], &items).is_none());
    }
}
