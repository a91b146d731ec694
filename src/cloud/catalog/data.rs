//! The tables that are compiled in: shapes of instance types, and for each region where and at what price they are sold.
//!
//! `data/ORIGIN.md` says where they come from, `dev/catalog/convert.py` writes them. A region costs one pass over its own
//! table and over the shapes, of which only the wanted lines are taken apart: a plan waits for it. The tables are ours, so
//! a flaw in them is a broken build: the readers `expect` their form, and a test reads all of it.

use std::io::Read as _;

use dovetail_solver::model::money::Price;

use super::shape::Shape;

macro_rules! regions {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("data/regions/", $name, ".tsv.gz")))),*]
    };
}

/// Tab-separated, one line a type below a line of column names.
const SHAPES: &[u8] = include_bytes!("data/shapes.tsv.gz");
/// Tab-separated; a line of zones, then a line for each type sold there, in order of name.
const REGIONS: &[(&str, &[u8])] = regions![
    "af-south-1",
    "ap-east-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
];

/// Why reading can't fail.
const WHOLE: &str = "the compiled-in tables are whole (a test reads all of them)";

/// What is sold in a region.
pub(super) struct Region {
    /// Name and account-independent id.
    pub(super) zones: Vec<(String, String)>,
    /// In order of their type's name.
    pub(super) sales: Vec<Sale>,
}

/// A type's price and zones in one region.
pub(super) struct Sale {
    /// The instance type.
    pub(super) instance_type: String,
    /// The last letters of the zones that sell it.
    pub(super) zone_letters: String,
    /// Linux, shared tenancy, on demand.
    pub(super) on_demand: Price,
    /// How that price is known.
    pub(super) source: PriceSource,
    /// What spot was below it on average.
    pub(super) spot: Option<SpotAdvice>,
}

/// What EC2's spot advisor said of a type in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpotAdvice {
    /// Per cent off the on-demand price, as a mean over 30 days.
    pub savings_percent: u8,
    /// Interruptions in a month: 0 is below 5 %, 1 to 10 %, 2 to 15 %, 3 to 20 %, 4 more.
    pub interruption_class: u8,
}

impl SpotAdvice {
    /// Interruptions to expect in a million hours of a node: the middle of the class (the last counts as 25 %), spread
    /// over a month of 730 hours.
    #[must_use]
    pub fn interruptions_per_million_hours(self) -> u32 {
        match self.interruption_class {
            0 => 34,
            1 => 103,
            2 => 171,
            3 => 240,
            _ => 342,
        }
    }
}

/// How a built-in on-demand price is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceSource {
    /// From a table generated from AWS' price list.
    PriceList,
    /// From a general list of prices, checked against the family's ratio to us-east-1.
    Collected,
    /// The price in us-east-1 times the family's ratio in this region.
    Derived,
}

fn text(compressed: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(compressed)
        .read_to_string(&mut text)
        .expect(WHOLE);
    text
}

/// The shapes of the types that are `wanted`, in order of name.
pub(super) fn shapes(wanted: impl Fn(&str) -> bool) -> Vec<Shape> {
    text(SHAPES)
        .lines()
        .skip(1)
        .filter(|line| wanted(first_field(line)))
        .map(|line| Shape::parse(line).expect(WHOLE))
        .collect()
}

/// The names of all regions, sorted.
pub(super) fn regions() -> Vec<String> {
    REGIONS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// One region, if there is such a one.
pub(super) fn region(name: &str) -> Option<Region> {
    let (_, compressed) = REGIONS.iter().find(|(known, _)| *known == name)?;
    let text = text(compressed);
    let mut lines = text.lines();
    let zones = lines
        .next()
        .expect(WHOLE)
        .split('\t')
        .map(|zone| zone.split_once(' ').expect(WHOLE))
        .map(|(name, id)| (name.to_owned(), id.to_owned()))
        .collect();
    let sales = lines.map(|line| sale(line).expect(WHOLE)).collect();
    Some(Region { zones, sales })
}

fn first_field(line: &str) -> &str {
    line.split('\t').next().unwrap_or(line)
}

fn sale(line: &str) -> Option<Sale> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [instance_type, zone_letters, micros, source, savings, class] = fields.as_slice() else {
        return None;
    };
    let spot = match (*savings, *class) {
        ("", "") => None,
        (savings, class) => Some(SpotAdvice {
            savings_percent: savings.parse().ok().filter(|percent| *percent < 100)?,
            interruption_class: class.parse().ok()?,
        }),
    };
    Some(Sale {
        instance_type: (*instance_type).to_owned(),
        zone_letters: (*zone_letters).to_owned(),
        on_demand: Price::from_micros(micros.parse().ok()?),
        source: match *source {
            "k" => PriceSource::PriceList,
            "l" => PriceSource::Collected,
            "d" => PriceSource::Derived,
            _ => return None,
        },
        spot,
    })
}
