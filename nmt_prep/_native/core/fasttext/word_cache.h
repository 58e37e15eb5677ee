// Bounded cache for one thread at a time: the sum of each word's rows, or the rows' numbers. A new word
// replaces an old word of its bucket. Cached sums change results at most by rounding, since the rows of a word are
// summed before they are added to the line's sum; cached numbers change nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/byte_hash.h"
#include "text/huge_pages.h"

namespace nmt_prep::fasttext {

// A word of at most kMaxBytes bytes; its size is in the last byte.
struct WordKey {
    static constexpr std::size_t kMaxBytes = 23;

    std::uint64_t words[3];

    bool operator==(const WordKey& other) const {
        return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) | (words[2] ^ other.words[2])) == 0;
    }

    // `readable` is the number of bytes from the beginning of the word that may be read; at least the size of the word.
    static WordKey of(std::string_view word, std::size_t readable) {
        WordKey key = {};
        if (readable >= sizeof key) {
            std::memcpy(&key, word.data(), sizeof key);
            const Mask& mask = kMasks[word.size()];
            for (std::size_t i = 0; i < 3; ++i) key.words[i] &= mask[i];
        } else {
            std::memcpy(&key, word.data(), word.size());
        }
        key.words[2] |= static_cast<std::uint64_t>(word.size()) << 56;
        return key;
    }

   private:
    using Mask = std::array<std::uint64_t, 3>;

    static constexpr std::array<Mask, kMaxBytes + 1> kMasks = [] {
        std::array<Mask, kMaxBytes + 1> masks{};
        for (std::size_t size = 0; size <= kMaxBytes; ++size)
            for (std::size_t byte = 0; byte < size; ++byte)
                masks[size][byte / 8] |= std::uint64_t{0xFF} << (8 * (byte % 8));
        return masks;
    }();
};

template <class Value>
class WordCache {
   public:
    using Key = WordKey;

    struct Entry {
        Key key = {};  // key of size 0 in a free entry
        std::uint32_t rows = 0;
        std::uint32_t hash = 0;
    };

    // `width` is the number of values of a word.
    explicit WordCache(std::size_t width) : width_(width) {
        std::size_t buckets = 1;
        for (; 4 * buckets * width * sizeof(Value) <= kBytes && shift_ > 64 - kMaxBits; buckets *= 2) --shift_;
        entries_.resize(kWays * buckets);
        values_.resize(kWays * buckets * width);
    }

    std::size_t width() const { return width_; }

    // Prefetches the memory that `find` reads, and the values of the entries there.
    void prefetch(const Key& key) const {
        const std::size_t first = bucket(key);
        __builtin_prefetch(&entries_[first]);
        __builtin_prefetch(&values_[first * width_]);
        __builtin_prefetch(&values_[(first + 1) * width_]);
    }

    // Returns the entry of a word, or null.
    Entry* find(const Key& key) {
        const std::size_t first = bucket(key);
        for (std::size_t i = first; i < first + kWays; ++i)
            if (entries_[i].key == key) return &entries_[i];
        return nullptr;
    }

    // Returns the entry for a new word, which the caller must write completely. Words of a bucket are replaced in turn.
    Entry* place(const Key& key) {
        const std::size_t first = bucket(key);
        turn_ = (turn_ + 1) % kWays;
        std::size_t i = first;
        while (i < first + kWays && entries_[i].key.words[2] != 0) ++i;
        if (i == first + kWays) i = first + turn_;
        entries_[i].key = key;
        return &entries_[i];
    }

    Value* values(const Entry* entry) {
        return values_.data() + static_cast<std::size_t>(entry - entries_.data()) * width_;
    }

   private:
    static constexpr std::size_t kWays = 2, kMaxBits = 15;
    static constexpr std::size_t kBytes = std::size_t{1} << 23;

    std::size_t bucket(const Key& key) const {
        if (shift_ == 64) return 0;
        const std::uint64_t low = mix_bits(key.words[0] ^ 0x9E3779B97F4A7C15U, key.words[1] ^ 0xD1B54A32D192ED03U);
        return kWays * (((low ^ key.words[2]) * 0x9E3779B97F4A7C15U) >> shift_);
    }

    std::size_t width_;
    std::size_t shift_ = 64;
    std::size_t turn_ = 0;
    LargeVector<Entry> entries_;
    LargeVector<Value> values_;
};

}  // namespace nmt_prep::fasttext
