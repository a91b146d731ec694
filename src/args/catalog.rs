//! Grammar and help texts of `dovetail catalog`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::api::AmiFamily;

/// Which instance types there are, and what one of them is.
#[derive(Clone, Debug, Args)]
pub struct CatalogArgs {
    /// Which.
    #[command(subcommand)]
    pub command: CatalogCommand,
}

/// The subcommands of `catalog`.
#[derive(Clone, Debug, Subcommand)]
pub enum CatalogCommand {
    /// List instance types with their size and price
    List(ListArgs),
    /// Show one instance type: labels, capacity, allocatable, offerings
    Show(ShowArgs),
}

/// Where the instance types come from.
#[derive(Clone, Debug, Args)]
pub struct Source {
    /// Region of the built-in catalogue
    #[arg(long, default_value = "us-east-1", conflicts_with = "file")]
    pub region: String,
    /// File with a Catalog document, in place of the built-in catalogue
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Family of images, which decides what pods may use
    #[arg(long, value_name = "FAMILY", default_value = "AL2023", value_parser = ami_family)]
    pub ami_family: AmiFamily,
}

/// Of `dovetail catalog list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Where the instance types come from.
    #[command(flatten)]
    pub source: Source,
    /// Only this processor architecture
    #[arg(long, value_parser = ["amd64", "arm64"])]
    pub arch: Option<String>,
    /// Only these families, such as m7i,c7i
    #[arg(long, value_delimiter = ',')]
    pub family: Vec<String>,
    /// Only these categories, such as c,m,r
    #[arg(long, value_delimiter = ',')]
    pub category: Vec<String>,
    /// In which order
    #[arg(long, value_enum, default_value_t = Sort::Name)]
    pub sort: Sort,
    /// In which form
    #[arg(short, long, value_enum, default_value_t = ListOutput::Table)]
    pub output: ListOutput,
}

/// Of `dovetail catalog show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Name of the instance type, such as m7i.large
    #[arg(value_name = "TYPE")]
    pub instance_type: String,
    /// Where the instance types come from.
    #[command(flatten)]
    pub source: Source,
    /// In which form
    #[arg(short, long, value_enum, default_value_t = ShowOutput::Table)]
    pub output: ShowOutput,
}

/// In which order types are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// By name
    Name,
    /// By price on demand, the cheapest first
    Price,
}

/// How types are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListOutput {
    /// What fits a terminal
    Table,
    /// More columns
    Wide,
    /// For programs
    Json,
}

/// How one type is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowOutput {
    /// For people
    Table,
    /// For programs
    Json,
}

/// As in a node class, in any case.
fn ami_family(text: &str) -> Result<AmiFamily, String> {
    const FAMILIES: [AmiFamily; 7] = [
        AmiFamily::AL2,
        AmiFamily::AL2023,
        AmiFamily::Bottlerocket,
        AmiFamily::Custom,
        AmiFamily::Windows2019,
        AmiFamily::Windows2022,
        AmiFamily::Windows2025,
    ];
    let name = |family: &AmiFamily| format!("{family:?}");
    FAMILIES
        .into_iter()
        .find(|family| name(family).eq_ignore_ascii_case(text))
        .ok_or_else(|| format!("expected one of {}", FAMILIES.each_ref().map(name).join(", ")))
}
