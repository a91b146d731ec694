//! Laws of the model: quantities, amounts, requirements and taints do what Kubernetes and arithmetic say.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::plan::Gap;
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::{
    Labels, NodeSelectorTerm, NodeSelectorTerms, Operator, Requirement, Requirements, ValueSet,
};
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::taint::{Taint, TaintEffect, Toleration, TolerationOperator, first_untolerated};
use proptest::prelude::*;
use proptest::sample::select;

const UNITS: [(&str, i128); 12] = [
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("", 1_000_000_000),
    ("k", 1_000_000_000_000),
    ("M", 1_000_000_000_000_000),
    ("G", 1_000_000_000_000_000_000),
    ("Ki", 1_024_000_000_000),
    ("Mi", 1_048_576_000_000_000),
    ("Gi", 1_073_741_824_000_000_000),
    ("e3", 1_000_000_000_000),
    ("E-3", 1_000_000),
];

/// A quantity as text and what it is in nano-units, rounded away from zero.
fn quantity() -> impl Strategy<Value = (String, i128)> {
    (
        any::<bool>(),
        0_u32..100_000,
        0_usize..6,
        0_u32..100_000,
        select(&UNITS[..]),
    )
        .prop_map(|(negative, whole, digits, fraction, (suffix, nanos))| {
            let digits = u32::try_from(digits).unwrap();
            let scale = 10_i128.pow(digits);
            let fraction = i128::from(fraction) % scale;
            let exact = (i128::from(whole) * scale + fraction) * nanos;
            let rounded = exact / scale + i128::from(exact % scale != 0);
            let width = usize::try_from(digits).unwrap();
            let point = if digits == 0 {
                String::new()
            } else {
                format!(".{fraction:0width$}")
            };
            let sign = if negative { "-" } else { "" };
            (
                format!("{sign}{whole}{point}{suffix}"),
                if negative { -rounded } else { rounded },
            )
        })
}

fn ceil(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantities_are_read_exactly((text, nanos) in quantity()) {
        let read: Quantity = text.parse().unwrap();
        let whole = |value: Option<i64>| value.map(i128::from);
        let fits = |value: i128| i64::try_from(value).ok().map(i128::from);
        prop_assert_eq!(whole(read.units(Rounding::Up)), fits(ceil(nanos, 1_000_000_000)), "{}", text);
        prop_assert_eq!(whole(read.units(Rounding::Down)), fits(nanos.div_euclid(1_000_000_000)), "{}", text);
        prop_assert_eq!(whole(read.millis(Rounding::Up)), fits(ceil(nanos, 1_000_000)), "{}", text);
        prop_assert_eq!(whole(read.millis(Rounding::Down)), fits(nanos.div_euclid(1_000_000)), "{}", text);
        prop_assert_eq!(read.is_negative(), nanos < 0);
    }

    #[test]
    fn a_quantity_printed_reads_the_same((text, _) in quantity()) {
        let read: Quantity = text.parse().unwrap();
        prop_assert_eq!(read.to_string().parse::<Quantity>().unwrap(), read);
    }

    #[test]
    fn quantities_order_as_numbers_do((one, one_nanos) in quantity(), (two, two_nanos) in quantity()) {
        let (one, two): (Quantity, Quantity) = (one.parse().unwrap(), two.parse().unwrap());
        prop_assert_eq!(one.cmp(&two), one_nanos.cmp(&two_nanos));
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "[-+]?[0-9.]{0,40}[eEnumkKMGTPi]{0,3}[-+]?[0-9]{0,12}", noise in "\\PC{0,20}") {
        for text in [&text, &noise] {
            let quantity = text.parse::<Quantity>();
            if let Ok(quantity) = quantity {
                prop_assert_eq!(quantity.to_string().parse::<Quantity>(), Ok(quantity));
                for name in ["cpu", "memory", "example.com/thing"] {
                    let _ = Amount::from_quantity(&name.into(), quantity, Rounding::Up);
                }
            }
            let _ = Price::parse(text);
        }
    }

    #[test]
    fn prices_survive_json(micros in 0_u64..=1_000_000_000_000, sign in any::<bool>()) {
        let price = Price::from_micros(micros);
        prop_assert_eq!(Price::parse(&price.to_string()).unwrap(), price);
        let json = serde_json::to_string(&price).unwrap();
        prop_assert_eq!(serde_json::from_str::<Price>(&json).unwrap(), price);
        let cost = if sign { price.cost() } else { Cost::ZERO - price.cost() };
        let json = serde_json::to_string(&cost).unwrap();
        prop_assert_eq!(serde_json::from_str::<Cost>(&json).unwrap(), cost);
    }

    #[test]
    fn a_gap_is_never_understated(bound in 1_i64..1_000_000_000, above in 0_i64..1_000_000_000) {
        let gap = Gap::between(Cost::from_micros(bound + above), Cost::from_micros(bound));
        // objective ≤ bound × (1 + gap), and no smaller gap of whole millionths does.
        let reaches = |gap: u64| i128::from(bound) * (1_000_000 + i128::from(gap)) >= i128::from(bound + above) * 1_000_000;
        prop_assert!(reaches(gap.0));
        prop_assert!(gap.0 == 0 || !reaches(gap.0 - 1));
    }
}

#[test]
fn the_base_units_hold_what_kubernetes_does_and_refuse_more() {
    for (name, text, rounding, expected) in [
        ("cpu", "100n", Rounding::Up, Some(1)),
        ("cpu", "100n", Rounding::Down, Some(0)),
        ("memory", "1500m", Rounding::Up, Some(2)),
        (
            "memory",
            "9223372036854775807",
            Rounding::Up,
            Some(9_223_372_036_854_775_807),
        ),
        ("cpu", "9223372036854775807", Rounding::Up, None),
        (
            "cpu",
            "9223372036854775",
            Rounding::Up,
            Some(9_223_372_036_854_775_000),
        ),
        ("pods", "-1", Rounding::Up, None),
    ] {
        let name = ResourceName::from(name);
        let amount = Amount::from_quantity(&name, text.parse().unwrap(), rounding);
        assert_eq!(amount.ok().map(Amount::get), expected, "{text} of {name}");
    }
}

fn resources() -> impl Strategy<Value = Resources> {
    let name = select(vec!["cpu", "memory", "pods", "nvidia.com/gpu"]);
    let amount = prop_oneof![0_u64..5, Just(u64::MAX), Just(u64::MAX - 1)];
    prop::collection::vec((name, amount), 0..5).prop_map(|list| {
        list.into_iter()
            .map(|(name, amount)| (name.into(), Amount::new(amount)))
            .collect()
    })
}

fn same(one: &Resources, two: &Resources) -> bool {
    let names = || one.iter().chain(two.iter()).map(|(name, _)| name);
    names().all(|name| one.get(name) == two.get(name))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_resources_commutes_and_never_wraps(one in resources(), two in resources()) {
        let (mut forth, mut back) = (one.clone(), two.clone());
        forth.add_all(&two);
        back.add_all(&one);
        prop_assert!(same(&forth, &back));
        prop_assert!(one.fits(&forth) && two.fits(&forth));
    }

    #[test]
    fn what_fits_leaves_exactly_the_rest(asked in resources(), there in resources()) {
        let mut rest = there.clone();
        rest.subtract_all(&asked);
        let mut again = rest.clone();
        again.add_all(&asked);
        // Only what is really there comes back; a shortage shows.
        let shows = same(&again, &there) || asked.iter().any(|(_, amount)| amount.get() == 0);
        prop_assert!(!asked.fits(&there) || shows);
        prop_assert!(asked.fits(&there) || asked.first_lacking(&there).is_some());
        prop_assert!(rest.fits(&there));
    }

    #[test]
    fn the_larger_of_two_holds_both_and_nothing_less_does(one in resources(), two in resources()) {
        let larger = Resources::larger(&one, &two);
        prop_assert!(one.fits(&larger) && two.fits(&larger));
        prop_assert!(larger.iter().all(|(name, amount)| amount == one.get(name) || amount == two.get(name)));
    }

    #[test]
    fn times_is_repeated_addition(one in resources(), count in 0_u64..6) {
        let mut sum = Resources::new();
        for _ in 0..count {
            sum.add_all(&one);
        }
        prop_assert!(same(&sum, &one.times(count)));
    }

    #[test]
    fn resources_printed_read_the_same(one in resources()) {
        for (name, amount) in one.iter() {
            let text = amount.display(name.unit()).to_string();
            let Ok(quantity) = text.parse::<Quantity>() else {
                prop_assert!(amount.get() > i64::MAX as u64, "{}", text);
                continue;
            };
            let read = Amount::from_quantity(name, quantity, Rounding::Up).ok();
            prop_assert!(read.is_none_or(|read| read == amount) && (read.is_some() || amount.get() > i64::MAX as u64));
        }
    }
}

/// Values that bring out every difference: canonical and odd integers, words, the ends of the range.
const SAMPLE: [&str; 14] = [
    "",
    "a",
    "b",
    "c",
    "0",
    "1",
    "2",
    "3",
    "4",
    "05",
    "-1",
    "+2",
    "9223372036854775807",
    "-9223372036854775808",
];

fn sample() -> impl Iterator<Item = Option<&'static str>> {
    std::iter::once(None).chain(SAMPLE.into_iter().map(Some))
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let values = || prop::collection::vec(select(&SAMPLE[..]), 1..4);
    let integer = || {
        select(vec![
            "-9223372036854775808",
            "0",
            "1",
            "2",
            "3",
            "9223372036854775807",
        ])
        .prop_map(|value| vec![value])
    };
    let line = prop_oneof![
        (Just(Operator::In), values()),
        (Just(Operator::NotIn), values()),
        (
            select(vec![Operator::Exists, Operator::DoesNotExist]),
            Just(Vec::new())
        ),
        (
            select(vec![Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte]),
            integer()
        ),
    ];
    line.prop_map(|(operator, values)| Requirement {
        key: "k".to_owned(),
        operator,
        values: values.into_iter().map(str::to_owned).collect(),
        min_values: None,
    })
}

/// No value counts that writes an integer otherwise than everybody does (`05`, `+2`).
fn is_plain(value: &str) -> bool {
    value
        .parse::<i64>()
        .map_or(true, |number| number.to_string() == value)
}

/// Any set that requirements can make: up to three of them together.
fn set() -> impl Strategy<Value = ValueSet> {
    prop::collection::vec(requirement(), 0..4).prop_map(|list| {
        let sets = list.iter().map(|line| ValueSet::of(line).unwrap());
        sets.fold(ValueSet::anything(), |all, one| all.intersect(&one))
    })
}

/// What a requirement admits, said once more without the algebra.
fn admitted(line: &Requirement, value: Option<&str>) -> bool {
    let Requirement { operator, values, .. } = line;
    let compare = |holds: fn(i64, i64) -> bool| {
        let bound: i64 = values[0].parse().unwrap();
        value.is_some_and(|value| value.parse().is_ok_and(|value| holds(value, bound)))
    };
    let listed = value.is_some_and(|value| values.iter().any(|other| other == value));
    match operator {
        Operator::In => listed,
        Operator::NotIn => !listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(|value, bound| value > bound),
        Operator::Lt => compare(|value, bound| value < bound),
        Operator::Gte => compare(|value, bound| value >= bound),
        Operator::Lte => compare(|value, bound| value <= bound),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_admits_what_its_requirement_says(line in requirement()) {
        let set = ValueSet::of(&line).unwrap();
        for value in sample() {
            prop_assert_eq!(set.admits(value), admitted(&line, value), "{:?} on {:?}", line, value);
        }
    }

    #[test]
    fn an_intersection_admits_what_both_do(one in set(), two in set()) {
        let both = one.intersect(&two);
        for value in sample() {
            prop_assert_eq!(both.admits(value), one.admits(value) && two.admits(value), "{} and {} on {:?}", one, two, value);
        }
    }

    #[test]
    fn intersecting_is_commutative_associative_and_idempotent(one in set(), two in set(), three in set()) {
        prop_assert_eq!(one.intersect(&two), two.intersect(&one));
        prop_assert_eq!(one.intersect(&two).intersect(&three), one.intersect(&two.intersect(&three)));
        prop_assert_eq!(one.intersect(&one), one.clone());
        prop_assert_eq!(one.intersect(&ValueSet::anything()), one);
    }

    #[test]
    fn an_empty_set_admits_nothing_and_no_other_does(one in set()) {
        let integers: Vec<String> = (-3..8).map(|value: i64| value.to_string()).collect();
        let (lower, upper) = one.bounds();
        let ends: Vec<String> = lower.into_iter().chain(upper).map(|end| end.to_string()).collect();
        let fresh = ["zzz".to_owned()];
        let finite = one.named_values().iter().cloned().collect::<Vec<_>>();
        let values = integers.iter().chain(&ends).chain(&fresh).chain(&finite);
        let mut values = values.map(String::as_str).chain(SAMPLE).filter(|value| !one.is_complement() || is_plain(value));
        let some = values.any(|value| one.admits(Some(value))) || one.admits(None);
        // The values hold every one that could be the last one left, so both directions hold.
        prop_assert_eq!(one.is_empty(), !some, "{}", one);
    }

    #[test]
    fn single_and_finite_agree_with_admission(one in set()) {
        if let Some(finite) = one.finite() {
            prop_assert!(finite.iter().all(|value| one.admits(Some(value))) && !one.admits(None));
            prop_assert!(SAMPLE.iter().all(|value| one.admits(Some(value)) == finite.contains(*value)));
        }
        if let Some(single) = one.single() {
            prop_assert!(SAMPLE.iter().all(|value| one.admits(Some(value)) == (*value == single)));
        }
        prop_assert_eq!(one.admits_absence(), one.admits(None));
        prop_assert!(!one.to_string().is_empty());
    }

    #[test]
    fn requirements_hold_key_by_key(lines in prop::collection::vec(requirement(), 0..4), value in select(&SAMPLE[..]), present in any::<bool>()) {
        let requirements = Requirements::of(&lines).unwrap();
        let labels: Labels = present.then(|| ("k".to_owned(), value.to_owned())).into_iter().collect();
        let all = lines.iter().all(|line| admitted(line, present.then_some(value)));
        prop_assert_eq!(requirements.admits(&labels), all);
        prop_assert_eq!(requirements.first_unmet(&labels).is_none(), all);
        let mut twice = requirements.clone();
        twice.add_all(&requirements);
        prop_assert_eq!(&twice, &requirements);
        let json = serde_json::to_string(&requirements).unwrap();
        prop_assert_eq!(serde_json::from_str::<Requirements>(&json).unwrap(), requirements);
    }

    #[test]
    fn terms_are_alternatives(lists in prop::collection::vec(prop::collection::vec(requirement(), 0..3), 0..4), value in select(&SAMPLE[..])) {
        let term = |list: &Vec<Requirement>| NodeSelectorTerm { expressions: Requirements::of(list).unwrap(), node_name: None };
        let terms = NodeSelectorTerms(lists.iter().map(term).collect());
        let labels = Labels::from([("k".to_owned(), value.to_owned())]);
        let any = lists.iter().any(|list| !list.is_empty() && list.iter().all(|line| admitted(line, Some(value))));
        prop_assert_eq!(terms.admits(&labels, None), any);
    }

    #[test]
    fn a_taint_stands_until_a_toleration_matches_key_value_and_effect(taint in taint(), list in prop::collection::vec(toleration(), 0..4)) {
        let matches = |toleration: &Toleration| {
            toleration.effect.is_none_or(|effect| effect == taint.effect)
                && toleration.key.as_deref().is_none_or(|key| key == taint.key)
                && (toleration.operator == TolerationOperator::Exists || toleration.operator == TolerationOperator::Equal(taint.value.clone()))
        };
        let stands = taint.effect != TaintEffect::PreferNoSchedule && !list.iter().any(matches);
        prop_assert_eq!(first_untolerated(std::slice::from_ref(&taint), &list).is_some(), stands);
        // One more toleration never keeps a pod away; one more taint never lets it in.
        let more: Vec<Toleration> = list.iter().cloned().chain([Toleration { key: None, operator: TolerationOperator::Exists, effect: None }]).collect();
        prop_assert!(first_untolerated(std::slice::from_ref(&taint), &more).is_none());
        let soft = Taint { effect: TaintEffect::PreferNoSchedule, ..taint.clone() };
        prop_assert_eq!(first_untolerated(&[soft, taint], &list).is_some(), stands);
    }
}

fn effect() -> impl Strategy<Value = TaintEffect> {
    select(vec![
        TaintEffect::NoSchedule,
        TaintEffect::NoExecute,
        TaintEffect::PreferNoSchedule,
    ])
}

fn taint() -> impl Strategy<Value = Taint> {
    (select(vec!["a", "b"]), select(vec!["", "x"]), effect()).prop_map(|(key, value, effect)| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    })
}

fn toleration() -> impl Strategy<Value = Toleration> {
    let key = prop::option::of(select(vec!["a", "b"]));
    let value = prop::option::of(select(vec!["", "x"]));
    (key, value, prop::option::of(effect())).prop_map(|(key, value, effect)| Toleration {
        key: key.map(str::to_owned),
        operator: value.map_or(TolerationOperator::Exists, |value| {
            TolerationOperator::Equal(value.to_owned())
        }),
        effect,
    })
}
