#include "text/simd.h"

namespace nmt_prep {

Simd simd_of_processor() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool sse42 =
        __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    if (!sse42) return Simd::kScalar;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (!avx2) return Simd::kSse42;
    // Older processors with AVX-512, which lack its BF16 instructions, gather slowly since they protect data from other
    // programs (CVE-2022-40982).
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                        __builtin_cpu_supports("avx512bf16");
    return avx512 ? Simd::kAvx512 : Simd::kAvx2;
#elif defined(__aarch64__)
    return Simd::kNeon;
#else
    return Simd::kScalar;
#endif
}

std::atomic<Simd> detail::simd_in_use = simd_of_processor();

void use_simd(Simd level) { detail::simd_in_use.store(level, std::memory_order_relaxed); }

}  // namespace nmt_prep
