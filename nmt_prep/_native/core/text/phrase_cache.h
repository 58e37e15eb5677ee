// Cache of the ids of longer segments of text, like IdCache for short ones: bounded, for one thread at a time, and
// results never depend on its content.
//
// Phrases are stored one after another in order of insertion, each with its ids, so that they waste no memory; when the
// memory is full, all are dropped. Buckets of four slots, indexed by hash, point to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "text/huge_pages.h"

namespace nmt_prep {

class PhraseCache {
   public:
    static constexpr std::size_t kMaxBytes = 255;
    static constexpr std::size_t kPadding = 3;  // ids that `find` may write beyond those it counts

    // 2^bits buckets, and `bytes` bytes for phrases and their ids, below 2^34.
    PhraseCache(unsigned bits, std::size_t bytes)
        : buckets_(std::size_t{1} << bits),
          shift_(64 - bits),
          capacity_(bytes / sizeof(std::uint32_t)),
          words_(allocate(capacity_ + kLine)) {}

    // Prefetches the bucket that `prefetch_phrase` reads.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&buckets_[hash >> shift_]); }

    // Prefetches the phrase that `find` reads.
    void prefetch_phrase(std::uint64_t hash) const {
        for (const Slot& slot : buckets_[hash >> shift_]) {
            if (slot.tag != tag_of(hash)) continue;
            __builtin_prefetch(&words_[slot.at]);
            __builtin_prefetch(&words_[slot.at + kLine]);
        }
    }

    // Writes the ids of a phrase and returns how many, 0 if it is not cached. `hash` is that of the bytes.
    std::size_t find(std::uint64_t hash, const std::uint8_t* data, std::size_t size, std::int32_t* ids) const {
        for (const Slot& slot : buckets_[hash >> shift_]) {
            if (slot.tag != tag_of(hash)) continue;
            const std::uint32_t* const phrase = &words_[slot.at];
            const std::size_t count = *phrase >> 16;
            if ((*phrase & 0xFFFF) != size || std::memcmp(phrase + 1 + count, data, size) != 0) continue;
            for (std::size_t i = 0; i < count; i += 4) std::memcpy(ids + i, phrase + 1 + i, 4 * sizeof *ids);
            return count;
        }
        return 0;
    }

    // Adds a phrase that is not cached; replaces the oldest of the four in its bucket. Requires
    // 1 <= count <= size <= kMaxBytes.
    void put(std::uint64_t hash, const std::uint8_t* data, std::size_t size, const std::int32_t* ids,
             std::size_t count) {
        const std::size_t words = 1 + count + (size + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
        if (used_ + words > capacity_) {
            std::ranges::fill(buckets_, Bucket{});
            used_ = 0;
        }
        Bucket& bucket = buckets_[hash >> shift_];
        std::copy_backward(bucket.begin(), bucket.end() - 1, bucket.end());
        bucket[0] = {tag_of(hash), static_cast<std::uint32_t>(used_)};
        std::uint32_t* const phrase = &words_[used_];
        *phrase = static_cast<std::uint32_t>(count << 16 | size);
        std::memcpy(phrase + 1, ids, count * sizeof *ids);
        std::memcpy(phrase + 1 + count, data, size);
        used_ += words;
    }

   private:
    static constexpr std::size_t kLine = 16;  // words of a cache line

    struct Slot {
        std::uint32_t tag = 0;  // of the hash, 0 is free
        std::uint32_t at = 0;   // first word of the phrase: number of ids and of bytes, then both
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

    std::vector<Bucket> buckets_;
    unsigned shift_;
    std::size_t capacity_;
    Words words_;
    std::size_t used_ = 0;
};

}  // namespace nmt_prep
