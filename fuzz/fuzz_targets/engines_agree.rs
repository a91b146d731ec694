//! Feeds [`engines::engines_agree`] with what the engine makes up.
#![no_main]

#[path = "../src/engines.rs"]
mod engines;

libfuzzer_sys::fuzz_target!(|data: &[u8]| engines::engines_agree(data));
