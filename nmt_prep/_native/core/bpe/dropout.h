// Random numbers for BPE-dropout (Provilkov et al. 2020).
#pragma once

#include <cstdint>

#include "text/byte_hash.h"

namespace nmt_prep::bpe {

// A random number for dropout: a keyed hash of the merge's place, so that the order of draws does not matter.
inline std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

// A probability to compare with random numbers. Comparisons are exact; 0 means never, and 1 always.
class Chance {
   public:
    explicit Chance(double probability) : limit_(static_cast<std::uint64_t>(probability * 0x1p53)) {}
    bool operator()(std::uint64_t number) const { return number >> 11 < limit_; }

   private:
    std::uint64_t limit_;
};

}  // namespace nmt_prep::bpe
