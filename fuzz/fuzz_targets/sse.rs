#![no_main]

#[path = "../../tests/it/properties/sse.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| property::holds(data));
