//! Feeds [`targets::quantities`] with what the engine makes up.
#![no_main]

#[path = "../src/targets.rs"]
#[expect(dead_code, reason = "every target uses one function of it")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::quantities(data));
