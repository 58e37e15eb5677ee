// A Bloom filter of the texts that merges make, as sequences of initial symbols. The hash of any part of a word is
// known after one pass.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::bpe {

class SpanFilter {
   public:
    static constexpr std::size_t kMaxSpan = 32;

    // Requires the maximum number of texts.
    explicit SpanFilter(std::size_t texts)
        : shift_(64 - static_cast<unsigned>(std::max(6, static_cast<int>(std::bit_width(kBits * texts))))),
          bits_((std::size_t{1} << (64 - shift_)) / 64, 0) {}

    // Returns the hash of a sequence that is one symbol longer; that of none is 0.
    static std::uint64_t extended(std::uint64_t hash, std::int32_t symbol) {
        return hash * kFactor + static_cast<std::uint32_t>(symbol) + 1;
    }

    // Returns the hash of the end of a sequence, without a beginning. Requires size <= kMaxSpan, that of the end.
    static std::uint64_t end_of(std::uint64_t whole, std::uint64_t beginning, std::size_t size) {
        return whole - beginning * kPowers[size];
    }

    void add(std::uint64_t hash) { bits_[bit(hash) >> 6] |= std::uint64_t{1} << (bit(hash) & 63); }

    // False for most texts that were not added.
    bool may_have(std::uint64_t hash) const { return (bits_[bit(hash) >> 6] >> (bit(hash) & 63) & 1) != 0; }

   private:
    static constexpr std::size_t kBits = 8;  // a text, at least
    static constexpr std::uint64_t kFactor = 0xD1B54A32D192ED03u;
    static constexpr std::array<std::uint64_t, kMaxSpan + 1> kPowers = [] {
        std::array<std::uint64_t, kMaxSpan + 1> powers{1};
        for (std::size_t i = 1; i <= kMaxSpan; ++i) powers[i] = powers[i - 1] * kFactor;
        return powers;
    }();

    std::uint64_t bit(std::uint64_t hash) const { return (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> shift_; }

    unsigned shift_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace nmt_prep::bpe
