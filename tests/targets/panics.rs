// Rust's panics, caught, through recursion and destructors, in threads, and passed on from one to another.
use std::io::Write;
use std::panic;

struct Noisy<'a>(&'a std::cell::Cell<u64>);
impl Drop for Noisy<'_> {
    fn drop(&mut self) { self.0.set(noisy_drop(self.0.get())); }
}

#[no_mangle] #[inline(never)]
pub extern "Rust" fn noisy_drop(n: u64) -> u64 { std::hint::black_box(n + 1) }

#[no_mangle] #[inline(never)]
pub extern "Rust" fn dive(n: u64, dropped: &std::cell::Cell<u64>) -> u64 {
    let _noisy = Noisy(dropped);
    if n == 0 { panic!("the bottom"); }
    std::hint::black_box(dive(std::hint::black_box(n - 1), dropped)) + 1
}

#[no_mangle] #[inline(never)]
pub extern "Rust" fn caught(n: u64) -> u64 {
    let dropped = std::cell::Cell::new(0);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| dive(n, &dropped)));
    assert!(result.is_err());
    dropped.get()
}

#[no_mangle] #[inline(never)]
pub extern "Rust" fn passed_on(n: u64) -> u64 {
    let thread = std::thread::spawn(move || dive(n, &std::cell::Cell::new(0)));
    let payload = thread.join().unwrap_err();
    match panic::catch_unwind(panic::AssertUnwindSafe(|| panic::resume_unwind(payload))) {
        Err(p) => p.downcast_ref::<&str>().unwrap().len() as u64,
        Ok(()) => 0,
    }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut sum = 0u64;
    for i in 0..200 { sum = sum.wrapping_mul(7) + caught(i % 20); }
    for i in 0..10 { sum = sum.wrapping_mul(7) + passed_on(i); }
    println!("{}", sum);
    if let Ok(path) = std::env::var("TRUTH") {
        let mut f = std::fs::File::create(path).unwrap();
        writeln!(f, "caught 200\npassed_on 10\ndive {}\nnoisy_drop {}", 2100 + 55, 2100 + 55).unwrap();
    }
}
