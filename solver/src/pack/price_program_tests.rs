//! Suggested prices against the program written out.

use super::*;
use crate::options::PlanOptions;
use crate::pack::random::Random;
use crate::quota::Unlimited;

fn random_program(random: &mut Random) -> PriceProgram {
    let columns = 1 + random.below(3);
    let mut blocks: Vec<Block> = Vec::new();
    for at in 0..2 + random.below(8) {
        // The first may be used by all, in any number.
        let supply = (at > 0 && random.below(4) == 0).then(|| random.below(2));
        blocks.push(Block {
            room: (0..columns).map(|_| 4.0 + 12.0 * random.unit()).collect(),
            cost: 0.1 + 0.9 * random.unit(),
            supply,
        });
    }
    let mut items = Vec::new();
    for _ in 0..1 + random.below(30) {
        let mut item = Item {
            request: (0..columns).map(|_| 4.0 * random.unit()).collect(),
            count: 1.0 + 9.0 * random.unit(),
            blocks: FixedBitSet::with_capacity(blocks.len()),
        };
        item.blocks.insert(0);
        item.blocks
            .extend((0..blocks.len()).filter(|_| random.below(2) == 0));
        items.push(item);
    }
    let mut covers = Vec::new();
    for _ in 0..random.below(4) {
        let mut cover = Cover {
            blocks: FixedBitSet::with_capacity(blocks.len()),
            least: 1.0 + 2.0 * random.unit(),
        };
        // With one in any number among them it can be met.
        cover.blocks.insert(0);
        cover
            .blocks
            .extend((0..blocks.len()).filter(|_| random.below(3) == 0));
        covers.push(cover);
    }
    PriceProgram {
        items,
        blocks,
        supplies: vec![1.0, 3.0],
        covers,
    }
}

#[test]
fn it_comes_close_to_the_program_written_out() {
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut random = Random::new(11);
    for case in 0..300 {
        let program = random_program(&mut random);
        let pairs = program.items.iter().enumerate();
        let pairs = pairs.flat_map(|(at, item)| item.blocks.ones().map(move |block| (block, at)));
        let optimum = program.solve(&pairs.collect()).unwrap().optimum;
        let Suggestion { prices, covers } = program.suggest(&mut effort);
        let shares = |(prices, block): (&Vec<f64>, &Block)| -> Vec<f64> {
            prices
                .iter()
                .zip(&block.room)
                .map(|(price, room)| price * room)
                .collect()
        };
        let shares = prices.iter().zip(&program.blocks).map(shares).collect();
        let value = program.value(&Worths { shares, covers });
        assert!(
            value <= optimum * (1.0 + 1e-6),
            "case {case}: {value} above {optimum}"
        );
        assert!(
            value >= optimum * (1.0 - 2.0 * CLOSE_ENOUGH),
            "case {case}: {value} against {optimum}"
        );
    }
}
