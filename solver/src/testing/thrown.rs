//! Packings at random that keep every rule: something to improve on.

use crate::lower::Problem;
use crate::pack::random::Random;
use crate::pack::side::verdict::broken;
use crate::pack::{Filling, Launched, Packing};

/// Tries at a packing for each problem.
const TRIES: usize = 300;

/// Pods at random on rooms, nodes and kinds, until some have places and all rules are kept; `None` where that takes too long.
#[must_use]
pub fn packed(problem: &Problem<'_>, random: &mut Random) -> Option<Packing> {
    (0..TRIES).map(|_| thrown(problem, random)).find(|packing| {
        let placed: u64 = packing.placed(problem).iter().sum();
        placed > 0 && broken(problem, packing).is_empty()
    })
}

fn thrown(problem: &Problem<'_>, random: &mut Random) -> Packing {
    let (rooms, kinds) = (problem.rooms.len(), problem.kinds.len());
    let mut packing = Packing::nothing(problem);
    for (group, count) in problem.counts().into_iter().enumerate() {
        for _ in 0..count {
            let place = random.below(1 + rooms + packing.launched.len() + 2 * kinds);
            let filling = if place == 0 {
                continue;
            } else if place <= rooms {
                &mut packing.rooms[place - 1]
            } else if place <= rooms + packing.launched.len() {
                &mut packing.launched[place - 1 - rooms].filling
            } else {
                packing.launched.push(Launched {
                    kind: random.below(kinds),
                    filling: Filling::new(),
                    count: 1,
                });
                &mut packing.launched.last_mut().unwrap().filling
            };
            match filling.last_mut() {
                Some((last, count)) if *last == group => *count += 1,
                _ => filling.push((group, 1)),
            }
            packing.left[group] -= 1;
        }
    }
    packing.normalise();
    packing
}
