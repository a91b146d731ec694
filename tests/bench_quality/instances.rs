//! Every committed instance can be read and agrees with what its tables say; the generators keep to their definitions.

use std::collections::BTreeSet;

use crate::quality::sets::karpenter_mix::{self, Role};
use crate::quality::sets::vector::{Bin, Problem};
use crate::quality::sets::{Case, all, caprara_toth, table, vectorpack, vpsolver};

fn of_set(cases: &[Case], set: &str) -> usize {
    cases.iter().filter(|case| case.set == set).count()
}

#[test]
fn every_set_is_there_whole_and_every_name_is_its_own() {
    let cases = all(false).unwrap();
    let counts =
        ["ec2", "vectorpack", "vpsolver", "caprara-toth", "karpenter-mix"].map(|set| of_set(&cases, set));
    assert_eq!(counts, [24, 451, 2, 400, 9]);
    let names: BTreeSet<String> = cases.iter().map(Case::path).collect();
    assert_eq!(names.len(), cases.len());
    // Without `--all`: something of every set and class, and no more than a few minutes.
    let sample: Vec<&Case> = cases.iter().filter(|case| case.in_sample).collect();
    let classes = |cases: &mut dyn Iterator<Item = &Case>| -> BTreeSet<String> {
        cases.flat_map(|case| case.classes.clone()).collect()
    };
    assert_eq!(classes(&mut sample.iter().copied()), classes(&mut cases.iter()));
    assert!(sample.len() <= 100, "{}", sample.len());
}

#[test]
fn what_is_known_does_not_contradict_itself() {
    for case in all(false).unwrap() {
        let known = case.known;
        let (bound, best) = (known.lower_bound.unwrap_or(0.0), known.best.unwrap_or(f64::MAX));
        assert!(bound <= best, "{}", case.path());
        assert!(
            !known.best_is_optimum || bound.total_cmp(&best).is_eq(),
            "{}",
            case.path()
        );
        assert!(known.rival.is_none_or(|rival| bound <= rival), "{}", case.path());
    }
}

#[test]
fn every_vectorpack_instance_agrees_with_the_table_of_optima() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instances/vectorpack");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let optima = read("optima.tsv");
    let rows = table(&optima);
    let files: BTreeSet<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{}_{}.vbps",
                row["set"],
                row["instance"].split('_').next().unwrap()
            )
        })
        .collect();
    let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
    let found: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| vectorpack::parts(text))
        .map(|part| part.0)
        .collect();
    // Names are unique within a family only, so that fewer names than rows are right.
    assert_eq!(
        texts.iter().flat_map(|text| vectorpack::parts(text)).count(),
        rows.len()
    );
    let cases = vectorpack::cases().unwrap();
    let mut by_volume = 0;
    for row in &rows {
        let name = row["instance"];
        assert!(found.contains(name), "{name}");
        let class = name.split('_').next().unwrap();
        let file = format!("{}_{class}", row["set"]);
        let problem = vectorpack::problem(&file, name).unwrap();
        assert_eq!(problem.bins[0].capacity.len().to_string(), row["dims"], "{name}");
        let case = cases
            .iter()
            .find(|case| case.name == format!("{}_{name}", row["set"]))
            .unwrap();
        assert_eq!(problem.copies(), case.pods, "{name}");
        let (volume, stated) = (
            problem.volume_bound().unwrap(),
            row["volume_lb"].parse::<u64>().unwrap(),
        );
        assert!(volume <= stated, "{name}");
        by_volume += usize::from(volume == stated);
        let fits = |sizes: &Vec<u64>| {
            sizes
                .iter()
                .zip(&problem.bins[0].capacity)
                .all(|(size, room)| size <= room)
        };
        assert!(problem.items.keys().all(fits), "{name}");
    }
    // The table has a better bound than the volume's for the other 90.
    assert_eq!(by_volume, 361);
}

#[test]
fn both_formats_of_vpsolver_are_read() {
    let wide = vpsolver::problem("instance.vbp").unwrap();
    assert_eq!((wide.bins[0].capacity.len(), wide.copies()), (20, 51));
    let sizes = vpsolver::problem("vsbpp_1d.mvp").unwrap();
    let prices: Vec<u64> = sizes.bins.iter().map(|bin| bin.price).collect();
    assert_eq!((prices, sizes.items.len()), (vec![100, 120, 150], 23));
    assert_eq!(sizes.volume_bound(), None);
}

#[test]
fn bins_of_limited_number_become_limited_offers_and_choices_are_refused() {
    let text = "2\n\n2\n25 50 10 -1\n150 25 2 3\n2\n1 2\n5 0\n1 1\n5 0\n";
    let problem = Problem::parse_mvp(text).unwrap();
    assert_eq!(
        problem.bins[1],
        Bin {
            capacity: vec![150, 25],
            price: 2,
            available: Some(3)
        }
    );
    assert_eq!(problem.items.len(), 1, "kinds of the same sizes are one");
    assert_eq!(problem.copies(), 3);
    let manifests = problem.manifests().unwrap();
    assert!(manifests.contains("price: 2, limit: 3}"), "{manifests}");
    assert!(manifests.contains("price: 10}"), "{manifests}");
    let choice = Problem::parse_mvp("1\n1\n5 1 -1\n1\n2 1\n3\n4\n")
        .unwrap_err()
        .to_string();
    assert!(choice.contains("2 options"), "{choice}");
}

#[test]
fn texts_that_are_cut_off_or_too_long_or_negative_are_refused() {
    let whole = "2\n10 10\n1\n3 4 1\n";
    assert!(Problem::parse_vbp(whole).is_ok());
    for wrong in [
        "",
        "2\n10 10\n1\n3 4\n",
        "2\n10 10\n1\n3 4 1 7\n",
        "2\n10 10\n1\n3 -4 1\n",
        "2\n10 x\n1\n3 4 1\n",
    ] {
        assert!(Problem::parse_vbp(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_ten_classes_keep_to_their_definitions() {
    let ranges = [
        (1, 100, 400),
        (2, 1, 1_000),
        (3, 200, 800),
        (4, 50, 200),
        (5, 25, 100),
        (6, 20, 100),
    ];
    for (class, least, most) in ranges {
        let problem = caprara_toth::problem(class, 200, 0);
        let sizes = || problem.items.keys().flatten().copied();
        assert!(
            sizes().all(|size| (least..=most).contains(&size)),
            "class {class}"
        );
        // Of 400 draws some come near both ends.
        let near = (most - least) / 20;
        assert!(
            sizes().min().unwrap() <= least + near && sizes().max().unwrap() + near >= most,
            "class {class}"
        );
    }
    for sizes in caprara_toth::problem(7, 200, 0).items.keys() {
        assert!(sizes[0].abs_diff(sizes[1]) <= 10, "{sizes:?}");
    }
    for sizes in caprara_toth::problem(8, 200, 0).items.keys() {
        assert!((110..=130).contains(&(sizes[0] + sizes[1])), "{sizes:?}");
    }
    assert!(
        caprara_toth::problem(9, 200, 0)
            .items
            .keys()
            .flatten()
            .all(|size| *size <= 100)
    );
    for draw in 0..10 {
        let triplets = caprara_toth::problem(10, 99, draw);
        assert_eq!((triplets.copies(), triplets.volume_bound()), (99, Some(33)));
        let volume = |at: usize| {
            triplets
                .items
                .iter()
                .map(|(sizes, copies)| sizes[at] * copies)
                .sum::<u64>()
        };
        assert_eq!((volume(0), volume(1)), (3_300, 3_300), "no room is left over");
    }
}

#[test]
fn draws_differ_from_each_other_and_repeat() {
    let problems: Vec<Problem> = (0..10).map(|draw| caprara_toth::problem(1, 100, draw)).collect();
    for (at, problem) in problems.iter().enumerate() {
        assert_eq!(problem.copies(), 100);
        assert!(!problems[..at].contains(problem));
        assert_eq!(*problem, caprara_toth::problem(1, 100, at as u64));
    }
}

#[test]
fn the_mix_has_five_equal_parts() {
    for (pods, generic) in [(1, 1), (50, 10), (20_000, 4_000), (1_003, 203)] {
        let kinds = karpenter_mix::kinds(pods);
        let of = |role: Role| {
            kinds
                .iter()
                .filter(|(kind, _)| kind.role == role)
                .map(|(_, count)| count)
                .sum::<u64>()
        };
        assert_eq!(kinds.values().sum::<u64>(), pods);
        assert_eq!(of(Role::Generic), generic, "{pods}");
        for role in [
            Role::ZoneSpread,
            Role::HostnameSpread,
            Role::ZoneAffinity,
            Role::HostnameAntiAffinity,
        ] {
            assert_eq!(of(role), pods / 5, "{pods}");
        }
    }
    let shapes: BTreeSet<(u64, u64)> = karpenter_mix::kinds(20_000)
        .keys()
        .map(|kind| (kind.milli, kind.mib))
        .collect();
    assert_eq!(shapes.len(), 30);
}

#[test]
fn the_rules_of_the_mix_are_written_where_asked_for() {
    let text = |rules: bool| {
        let cases = karpenter_mix::cases(rules);
        cases[1].text().unwrap()
    };
    for word in ["topologySpreadConstraints", "podAffinity", "podAntiAffinity"] {
        assert!(text(true).contains(word), "{word}");
        assert!(!text(false).contains(word), "{word}");
    }
}

#[test]
fn a_small_instance_of_every_set_goes_all_the_way() {
    for name in [
        "vpsolver/vsbpp_1d.mvp",
        "vpsolver/instance.vbp",
        "caprara-toth/class10_024_0",
        "vectorpack/triplet_classF_60_10_0",
        "karpenter-mix/mix_00050",
        "ec2/ec2_small_100_20_all",
    ] {
        // Read and sized as meant, whatever plan comes of it in next to no time.
        for rules in [false, true] {
            let cases = all(rules).unwrap();
            let case = cases.iter().find(|case| case.path() == name).unwrap();
            let outcome = crate::quality::measure::here(case, 0.001).unwrap();
            assert!(
                outcome.cost >= case.known.lower_bound.unwrap_or(0.0) - 1e-6,
                "{name}"
            );
            assert!(
                outcome.cost <= outcome.baseline && outcome.bound <= outcome.cost,
                "{name}"
            );
            assert!(!outcome.phases.is_empty(), "{name}");
        }
    }
}
