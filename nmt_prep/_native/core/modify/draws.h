// The draws of a row, one after another, as nmt_prep.training.modifiers.draws makes them: SplitMix64 (Steele et al.,
// 2014).
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::modify {

class Draws {
   public:
    // Skips the first `taken` draws of the key.
    Draws(std::uint64_t key, std::uint64_t taken) : state_(key + taken * kStep) {}

    // A number from 0 to 1, without 1.
    double random() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // An integer below `size`, which is below 2**32.
    std::size_t below(std::size_t size) {
        const std::uint64_t bits = next();
        const std::uint64_t low = (bits & 0xFFFFFFFFu) * size;
        return static_cast<std::size_t>(((bits >> 32) * size + (low >> 32)) >> 32);
    }

   private:
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;

    std::uint64_t next() {
        std::uint64_t x = state_ += kStep;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }

    std::uint64_t state_;
};

}  // namespace nmt_prep::modify
