#!/usr/bin/env python3
"""Makes the data files of the built-in EC2 catalogue (src/cloud/catalog/data/; ORIGIN.md there says from what).

usage: dev/catalog/convert.py --types instance-types.jsonl.gz --describe instance_types.json.gz
           --advisor spot-advisor.csv.gz --zones zones.json --out src/cloud/catalog/data

--types     one JSON object a line and type: shape, limits of interfaces, prices on demand and zones by region
--describe  EC2's DescribeInstanceTypes answers as PyPI's moto keeps them (moto/ec2/resources/instance_types.json.gz):
            interfaces of each network card, enclaves, nested virtualisation
--advisor   type, region, savings_pct, interruption_class
--zones     {region: {zone_names, zone_ids}}

The output is the same for the same input, byte by byte. A new region has to be named in src/cloud/catalog/data.rs too.
"""

import argparse
import csv
import decimal
import gzip
import io
import json
import pathlib

# Regions whose zones no list names; each has three, and every priced type is taken to be sold in all of them.
UNLISTED = {
    "ap-southeast-7": "apse7",
    "mx-central-1": "mxc1",
    "us-gov-east-1": "usge1",
    "us-gov-west-1": "usgw1",
}
SHAPE_COLUMNS = [
    "type", "vcpu", "memory_mib", "arch", "cpu_manufacturer", "cpu_mhz", "hypervisor", "encryption_in_transit",
    "ebs_mbps", "network_mbps", "local_gb", "local_nvme", "ipv4_per_interface", "card_interfaces", "ena", "efa",
    "branch_interfaces", "enclaves", "nested_virtualization", "accelerators",
    "ebs_attachments",
]


def kebab(text):
    return text.lower().replace(" ", "-")


def flag(value):
    return "1" if value else "0"


def runs(numbers):
    """Interfaces by card, equal neighbours together: 2x32, or 8 7."""
    parts = []
    for number in numbers:
        if parts and parts[-1][0] == number:
            parts[-1][1] += 1
        else:
            parts.append([number, 1])
    return " ".join(f"{number}x{count}" if count > 1 else str(number) for number, count in parts)


def accelerators(entries):
    """kind:manufacturer:name:count:detail; detail is memory in MiB of a GPU, cores of a Neuron device."""
    parts = []
    for entry in entries:
        if entry["kind"] not in ("gpu", "neuron", "inference"):
            continue
        detail = entry["cores_per_device"] if entry["kind"] == "neuron" else entry["memory_mib"]
        parts.append(":".join(
            [entry["kind"], kebab(entry["manufacturer"]), kebab(entry["name"]), str(entry["count"]), str(detail or 0)]
        ))
    return " ".join(parts)


def attachments(ebs):
    dedicated = " dedicated" if ebs.get("attachment_limit") == "dedicated" else ""
    return f"{ebs['max_attachments']}{dedicated}" if ebs.get("max_attachments") else ""


def architecture(entry):
    """As Karpenter counts: the first architecture it knows; a Mac has none."""
    return next((word for word in entry["arch"] if word in ("x86_64", "arm64")), None)


def shape_row(entry, described):
    network = described["NetworkInfo"]
    cards = [card["MaximumNetworkInterfaces"] for card in network["NetworkCards"]]
    default = network.get("DefaultNetworkCardIndex", 0)
    assert default == 0, entry["type"]
    limits = entry["vpc_limits"] or {}
    ebs = entry["ebs"] or {}
    local = entry["local_storage"] or {}
    features = described["ProcessorInfo"].get("SupportedFeatures", [])
    return [
        entry["type"],
        entry["vcpu"],
        entry["memory_mib"],
        "arm64" if architecture(entry) == "arm64" else "amd64",
        kebab(entry["cpu_manufacturer"]),
        round((entry["cpu_ghz"] or 0) * 1000),
        entry["hypervisor"] or "",
        flag(entry["encryption_in_transit"]),
        ebs["max_mbps"] if ebs.get("optimized") == "default" else "",
        entry["karpenter_bandwidth_mbps"] or "",
        local.get("total_gb", ""),
        flag(local and local["nvme"] != "unsupported"),
        entry["ipv4_per_eni"],
        runs(cards),
        flag(entry["ena"] != "unsupported"),
        entry["efa_max"] or 0,
        limits.get("branch_enis") or 0 if limits.get("trunking") else 0,
        flag(described.get("NitroEnclavesSupport") == "supported"),
        flag("nested-virtualization" in features),
        accelerators(entry["accelerators"]),
        attachments(ebs),
    ]


def micros(dollars):
    return int((decimal.Decimal(str(dollars)) * 1_000_000).to_integral_value(decimal.ROUND_HALF_UP))


def write(path, text):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0, filename="") as stream:
        stream.write(text.encode())
    path.write_bytes(buffer.getvalue())
    print(f"{path}: {len(text)} bytes, {len(buffer.getvalue())} compressed")


def main():
    parser = argparse.ArgumentParser()
    for name in ("types", "describe", "advisor", "zones", "out"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    options = parser.parse_args()

    with gzip.open(options.types, "rt") as stream:
        entries = [json.loads(line) for line in stream]
    with gzip.open(options.describe, "rt") as stream:
        described = json.load(stream)
    with gzip.open(options.advisor, "rt") as stream:
        advice = {(row["type"], row["region"]): row for row in csv.DictReader(stream)}
    zones = {region: list(zip(found["zone_names"], found["zone_ids"], strict=True))
             for region, found in json.loads(options.zones.read_text()).items()}
    for region, short in UNLISTED.items():
        zones.setdefault(region, [(f"{region}{'abc'[i]}", f"{short}-az{i + 1}") for i in range(3)])

    entries = [entry for entry in sorted(entries, key=lambda entry: entry["type"])
               if entry["shape_known"] and architecture(entry) and "hvm" in entry["virtualization"]]
    shapes = ["\t".join(SHAPE_COLUMNS)]
    shapes += ["\t".join(str(value) for value in shape_row(entry, described[entry["type"]])) for entry in entries]
    write(options.out / "shapes.tsv.gz", "\n".join(shapes) + "\n")

    (options.out / "regions").mkdir(exist_ok=True)
    for region in sorted(zones):
        letters = "".join(name.removeprefix(region) for name, _ in zones[region])
        assert len(letters) == len(zones[region]), region
        lines = ["\t".join(f"{name} {zone_id}" for name, zone_id in zones[region])]
        for entry in entries:
            price = entry["on_demand_usd_h"].get(region)
            sold = letters if region in UNLISTED else entry["zones"].get(region, "")
            if not price or not sold:
                continue
            assert set(sold) <= set(letters), (entry["type"], region)
            advised = advice.get((entry["type"], region)) if "spot" in entry["usage_classes"] else None
            spot = [advised["savings_pct"], advised["interruption_class"]] if advised else ["", ""]
            lines.append("\t".join(
                [entry["type"], sold, str(micros(price)), entry["on_demand_src"][region], *spot]
            ))
        write(options.out / "regions" / f"{region}.tsv.gz", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
