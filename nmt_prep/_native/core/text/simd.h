// Vector instructions, chosen when the program runs: a build for any x86-64 processor uses the instructions of the
// processor at hand. Every aarch64 processor has NEON.
//
// A function with vector instructions is compiled for a level with one of the attributes below, and its caller chooses
// it if `simd()` is at least that level. Next to it there is always a scalar twin with the same results, which is the
// only one on other processors.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#define NMT_PREP_SSE42 __attribute__((target("ssse3,sse4.1,sse4.2,popcnt")))
#define NMT_PREP_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define NMT_PREP_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
#endif

namespace nmt_prep {

// Each level includes the lower levels.
#if defined(__aarch64__)
enum class Simd : std::uint8_t { kScalar, kNeon };
#else
enum class Simd : std::uint8_t { kScalar, kSse42, kAvx2, kAvx512 };
#endif

// Returns the highest level of this processor.
Simd simd_of_processor() noexcept;

namespace detail {
extern std::atomic<Simd> simd_in_use;
}

// Returns the level to use: the processor's level, unless a test has lowered it.
inline Simd simd() noexcept { return detail::simd_in_use.load(std::memory_order_relaxed); }

// Lowers the level for the whole process, so that tests can compare levels. Requires one that the processor has.
void use_simd(Simd level);

}  // namespace nmt_prep
