// ID cache for longer text segments, like IdCache for short ones: bounded, for one thread at a time, and
// results never depend on its content.
//
// Phrases are stored one after another in order of insertion, each with its ids, without gaps; when the memory is full,
// all are dropped. Buckets of four slots, indexed by hash, point to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "text/huge_pages.h"

namespace nmt_prep {

class PhraseCache {
   public:
    static constexpr std::size_t kMaxBytes = 255;
    static constexpr std::size_t kMaxWords = 0xFFFF;
    static constexpr std::size_t kPadding = 3;  // ids that `find` may write beyond those it counts

    // 2^bits buckets, and `bytes` bytes for phrases and their ids, below 2^34.
    PhraseCache(unsigned bits, std::size_t bytes)
        : buckets_(std::size_t{1} << bits),
          shift_(64 - bits),
          capacity_(bytes / sizeof(std::uint32_t)),
          words_(allocate(capacity_ + kMaxPrefetched * kLine)) {}

    // Prefetches the bucket that `prefetch_phrase` reads.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&buckets_[hash >> shift_]); }

    // Prefetches the phrase that `find` reads: the first lines of it in the processor's cache. Returns true if the
    // phrase is cached, and rarely if it is not, since only parts of hashes are compared.
    template <std::size_t kLines = 2>
    bool prefetch_phrase(std::uint64_t hash) const {
        bool found = false;
        for (const Slot& slot : buckets_[hash >> shift_]) {
            if (slot.tag != tag_of(hash)) continue;
            for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(&words_[slot.at + i * kLine]);
            found = true;
        }
        return found;
    }

    // Writes the ids of a phrase and returns how many, 0 if it is not cached. `hash` is the hash of the bytes.
    std::size_t find(std::uint64_t hash, const std::uint8_t* data, std::size_t size, std::int32_t* ids) const {
        const std::span<const std::uint32_t> found = view(hash, data, size);
        for (std::size_t i = 0; i < found.size(); i += 4) std::memcpy(ids + i, found.data() + i, 4 * sizeof *ids);
        return found.size();
    }

    // Returns the words that a phrase was added with, to read or to change until the next `put`; none if it is not
    // cached.
    std::span<std::uint32_t> view(std::uint64_t hash, const std::uint8_t* data, std::size_t size) const {
        for (const Slot& slot : buckets_[hash >> shift_]) {
            if (slot.tag != tag_of(hash)) continue;
            std::uint32_t* const phrase = &words_[slot.at];
            const std::size_t count = *phrase >> 16;
            if ((*phrase & 0xFFFF) != size || !same_bytes(phrase + 1, data, size)) continue;
            return {phrase + 1 + words_of(size), count};
        }
        return {};
    }

    // Adds a phrase that is not cached, with its ids or other words of 32 bits; replaces the oldest of the four in its
    // bucket. Requires 1 <= size <= kMaxBytes, and 1 to kMaxWords words.
    template <class Word>
    void put(std::uint64_t hash, const std::uint8_t* data, std::size_t size, const Word* ids, std::size_t count) {
        static_assert(sizeof(Word) == sizeof(std::uint32_t));
        const std::size_t words = 1 + words_of(size) + count;
        if (used_ + words > capacity_) clear();
        Bucket& bucket = buckets_[hash >> shift_];
        std::copy_backward(bucket.begin(), bucket.end() - 1, bucket.end());
        bucket[0] = {tag_of(hash), static_cast<std::uint32_t>(used_)};
        std::uint32_t* const phrase = &words_[used_];
        *phrase = static_cast<std::uint32_t>(count << 16 | size);
        std::memcpy(phrase + 1, data, size);
        std::memcpy(phrase + 1 + words_of(size), ids, count * sizeof *ids);
        used_ += words;
    }

    // Adds words that a phrase refers to, which are dropped with the phrases, and returns where they are; 0 if the
    // memory is full.
    std::uint32_t append(const std::uint32_t* words, std::size_t count) {
        if (used_ + count > capacity_) return 0;
        const auto at = static_cast<std::uint32_t>(used_);
        std::memcpy(&words_[used_], words, count * sizeof *words);
        used_ += count;
        return at;
    }
    std::uint32_t* appended(std::uint32_t at) const { return &words_[at]; }

    // Drops all phrases.
    void clear() {
        std::ranges::fill(buckets_, Bucket{});
        used_ = 0;
    }

   private:
    static std::size_t words_of(std::size_t bytes) {
        return (bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    }

    // memcmp without a call for short phrases.
    static bool same_bytes(const std::uint32_t* words, const std::uint8_t* data, std::size_t size) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words);
        const auto differ_at = [&](auto word, std::size_t at) {
            auto own = word;
            std::memcpy(&own, bytes + at, sizeof own);
            std::memcpy(&word, data + at, sizeof word);
            return own ^ word;
        };
        if (size > 16) return std::memcmp(bytes, data, size) == 0;
        if (size >= 8) return (differ_at(std::uint64_t{}, 0) | differ_at(std::uint64_t{}, size - 8)) == 0;
        if (size >= 4) return (differ_at(std::uint32_t{}, 0) | differ_at(std::uint32_t{}, size - 4)) == 0;
        return std::equal(data, data + size, bytes);
    }

    static constexpr std::size_t kLine = 16;  // words of a cache line
    static constexpr std::size_t kMaxPrefetched = 8;

    struct Slot {
        std::uint32_t tag = 0;  // bits of the hash; 0 for a free slot
        std::uint32_t at = 0;   // the phrase's first word: ID count and byte count, then bytes and IDs
    };
    using Bucket = std::array<Slot, 4>;

    struct Free {
        std::size_t count = 0;
        void operator()(std::uint32_t* words) const { HugePageAllocator<std::uint32_t>().deallocate(words, count); }
    };
    using Words = std::unique_ptr<std::uint32_t[], Free>;

    static Words allocate(std::size_t count) {
        return Words(HugePageAllocator<std::uint32_t>().allocate(count), Free{count});
    }

    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash) | 1; }

    LargeVector<Bucket> buckets_;
    unsigned shift_;
    std::size_t capacity_;
    Words words_;
    std::size_t used_ = 0;
};

}  // namespace nmt_prep
