//! The bench's command line.

use crate::quality::options::Options;
use crate::quality::sets::all;

fn parse(line: &str) -> Result<Options, String> {
    Options::parse(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
}

#[test]
fn budgets_are_sorted_and_each_runs_once() {
    assert_eq!(
        parse("--budgets 5,0.05,1,5 --bench").unwrap().budgets,
        [0.05, 1.0, 5.0]
    );
    assert_eq!(parse("--budget 10").unwrap().budgets, [10.0]);
    assert_eq!(parse("").unwrap(), Options::default());
}

#[test]
fn save_takes_a_name_or_none() {
    let saved = |line: &str| parse(line).unwrap().save;
    assert_eq!(saved("--save"), Some("default".to_owned()));
    assert_eq!(saved("--save before --all"), Some("before".to_owned()));
    assert_eq!(saved("--save --all"), Some("default".to_owned()));
    assert_eq!(saved("--all"), None);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_name() {
    for (line, word) in [
        ("--fast", "--fast"),
        ("--budgets x", "x"),
        ("--budgets 0", "0"),
        ("--budgets nan", "nan"),
        ("--set ec3", "ec3"),
        ("--save ../x", "../x"),
        ("--jobs 0", "--jobs"),
        ("--every x", "--every"),
        ("--only", "--only"),
    ] {
        let message = parse(line).unwrap_err();
        assert!(message.contains(word), "{line}: {message}");
    }
}

#[test]
fn instances_are_chosen_by_set_name_and_sample() {
    let cases = all(false).unwrap();
    let chosen = |line: &str| parse(line).unwrap().choose(&cases).len();
    assert_eq!(chosen("--all"), cases.len());
    assert_eq!(chosen("--set ec2,vpsolver"), 26);
    assert_eq!(chosen("--set vectorpack --all"), 451);
    assert!(chosen("--set vectorpack") < 40);
    assert_eq!(chosen("--set vectorpack --all --every 4"), 113);
    assert_eq!(chosen("--only triplet"), 91);
    assert_eq!(chosen("--only triplet --set ec2"), 0);
    assert_eq!(chosen(""), cases.iter().filter(|case| case.in_sample).count());
}
