// Random numbers for subword sampling: SplitMix64, one stream for each line of each seed.
#pragma once

#include <cstdint>

#include "text/byte_hash.h"

namespace nmt_prep::sentencepiece {

class Random {
   public:
    Random(std::uint64_t seed, std::uint64_t line)
        : state_(mix_bits(seed ^ 0xD1B54A32D192ED03u, 0x9E3779B97F4A7C15u) + mix_bits(line + 1, 0xBF58476D1CE4E5B9u)) {}

    // Uniform in [0, 1).
    double uniform() {
        std::uint64_t bits = state_ += 0x9E3779B97F4A7C15u;
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
        bits ^= bits >> 31;
        return static_cast<double>(bits >> 11) * 0x1p-53;
    }

   private:
    std::uint64_t state_;
};

}  // namespace nmt_prep::sentencepiece
