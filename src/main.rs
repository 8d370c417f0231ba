//! The binary: everything happens in the library.

#[global_allocator]
static ALLOCATOR: pomdp_fs::num::CacheLines = pomdp_fs::num::CacheLines;

fn main() -> std::process::ExitCode {
    pomdp_fs::cli::main()
}
