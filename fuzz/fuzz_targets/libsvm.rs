#![no_main]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::read(data, None, Some(pomdp_fs::data::Format::Libsvm)));
