#![no_main]

#[path = "../../tests/it/properties/search.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| property::holds(data));
