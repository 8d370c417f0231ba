//! The format is found from the content; gzip is unpacked.
#![no_main]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::read(data, None, None));
