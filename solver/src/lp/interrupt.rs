//! What a caller and HiGHS tell each other while a run goes on: "stop" one way, the best solution so far the other.
//!
//! HiGHS asks from inside its loops through a callback. Promises: nothing unwinds into C, and no lock is held for
//! longer than a copy takes. HiGHS doesn't ask inside presolve and sub-programs of its heuristics, so a run may go on
//! for a while after it was told; whoever can't wait for it goes with what is noted here.
//!
//! Paper: papers.md, 25.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use highs_sys as raw;

/// Shared by the thread that waits and the thread that runs.
#[derive(Debug, Default)]
pub(super) struct Signal {
    stop: AtomicBool,
    /// LP iterations after which a program with whole numbers stops; HiGHS has no option for it.
    iterations: AtomicU64,
    incumbent: Mutex<Option<Vec<f64>>>,
}

impl Signal {
    /// Before a run: nothing is told and nothing found yet.
    pub(super) fn reset(&self) {
        self.stop.store(false, Ordering::Relaxed);
        self.incumbent();
    }

    /// How many LP iterations a program with whole numbers may take.
    pub(super) fn allow(&self, iterations: u64) {
        self.iterations.store(iterations, Ordering::Relaxed);
    }

    /// Tells HiGHS to stop.
    pub(super) fn raise(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to stop.
    pub(super) fn is_raised(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the best solution in whole numbers that HiGHS has told of, by column.
    pub(super) fn incumbent(&self) -> Option<Vec<f64>> {
        let incumbent = self.incumbent.lock();
        incumbent.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes a solution that is better than those before.
    pub(super) fn found(&self, values: Vec<f64>) {
        let incumbent = self.incumbent.lock();
        *incumbent.unwrap_or_else(PoisonError::into_inner) = Some(values);
    }

    fn has_used(&self, iterations: i64) -> bool {
        u64::try_from(iterations).is_ok_and(|used| used >= self.iterations.load(Ordering::Relaxed))
    }
}

/// Moments at which HiGHS is to call.
const MOMENTS: [raw::HighsInt; 4] = [
    raw::kHighsCallbackSimplexInterrupt,
    raw::kHighsCallbackIpmInterrupt,
    raw::kHighsCallbackMipInterrupt,
    raw::kHighsCallbackMipImprovingSolution,
];

/// Makes HiGHS listen to a signal; whether it does.
///
/// # Safety
/// `highs` is a model that is alive and used by this thread alone, and the signal outlives it.
pub(super) unsafe fn listen(highs: *mut c_void, signal: &Arc<Signal>) -> bool {
    let shared = Arc::as_ptr(signal).cast_mut().cast::<c_void>();
    // SAFETY: the caller's promise; `answer` has the type that HiGHS calls, and takes the pointer for what it is.
    let set = unsafe { raw::Highs_setCallback(highs, Some(answer), shared) };
    let start = |moment: &raw::HighsInt| {
        // SAFETY: the caller's promise.
        unsafe { raw::Highs_startCallback(highs, *moment) == raw::kHighsStatusOk }
    };
    set == raw::kHighsStatusOk && MOMENTS.iter().all(start)
}

/// Called by HiGHS on the thread that runs it.
///
/// # Safety
/// HiGHS' own: `state` and `reply` are alive during the call or null, and `signal` is what [`listen`] gave it.
unsafe extern "C" fn answer(
    moment: c_int,
    _message: *const c_char,
    state: *const raw::HighsCallbackDataOut,
    reply: *mut raw::HighsCallbackDataIn,
    signal: *mut c_void,
) {
    // SAFETY: `listen` gave a signal that outlives the model; it is only ever shared.
    let Some(signal) = (unsafe { signal.cast::<Signal>().as_ref() }) else {
        return;
    };
    // SAFETY: alive during the call, or null; HiGHS doesn't change it meanwhile.
    let Some(state) = (unsafe { state.as_ref() }) else {
        return;
    };
    if moment == raw::kHighsCallbackMipImprovingSolution {
        let length = usize::try_from(state.mip_solution_size).unwrap_or(0);
        if !state.mip_solution.is_null() {
            // SAFETY: HiGHS says that so many values are there, and keeps them during the call.
            let values = unsafe { std::slice::from_raw_parts(state.mip_solution, length) };
            signal.found(values.to_vec());
        }
        return;
    }
    let whole = moment == raw::kHighsCallbackMipInterrupt;
    let stop = signal.is_raised() || (whole && signal.has_used(state.mip_total_lp_iterations));
    // SAFETY: alive during the call, or null; nothing else writes to it meanwhile.
    if let Some(reply) = unsafe { reply.as_mut() } {
        // Said either way: HiGHS keeps the answer to the last question.
        reply.user_interrupt = c_int::from(stop);
    }
}
