// Ids of longer stretches of text that come again, the way IdCache holds those of short ones: bounded, written by one
// thread at a time, and what it answers never depends on what it holds.
//
// Phrases lie one after another as they came, each with its ids, so that they take no more memory than they need; when
// that is full, all are forgotten. Buckets of four slots, found by hash, say where they lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nmt_prep {

class PhraseCache {
   public:
    static constexpr std::size_t kMaxBytes = 255;
    static constexpr std::size_t kPadding = 3;  // ids that `find` may write beyond those it counts

    // 2^bits buckets, and that many bytes for phrases and their ids, below 2^34.
    PhraseCache(unsigned bits, std::size_t bytes)
        : buckets_(std::size_t{1} << bits),
          shift_(64 - bits),
          capacity_(bytes / sizeof(std::uint32_t)),
          words_(allocate(capacity_ + kLine)) {}

    // Asks for the memory that says where a phrase is if it is here; what comes before `prefetch_phrase` hides the
    // wait.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&buckets_[hash >> shift_]); }

    // Asks for the memory of the phrase itself; what comes before `find` hides the wait.
    void prefetch_phrase(std::uint64_t hash) const {
        for (const Slot& slot : buckets_[hash >> shift_]) {
            if (slot.tag != tag_of(hash)) continue;
            __builtin_prefetch(&words_[slot.at]);
            __builtin_prefetch(&words_[slot.at + kLine]);
        }
    }

    // Writes the ids of a phrase and returns how many, 0 if it is not here. `hash` is that of the bytes.
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

    // Takes in a phrase that is not here; of the four in its bucket the one that came first goes. Requires
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
    static constexpr std::size_t kLine = 16;  // words that memory brings at a time
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;

    struct Slot {
        std::uint32_t tag = 0;  // of the hash, 0 is free
        std::uint32_t at = 0;   // word where the phrase begins: how many ids and bytes it has, then these
    };
    using Bucket = std::array<Slot, 4>;

    struct Free {
        void operator()(std::uint32_t* words) const { ::operator delete(words, std::align_val_t{kHugePage}); }
    };
    using Words = std::unique_ptr<std::uint32_t[], Free>;

    // In huge pages where the system has them: to touch ordinary ones for the first time takes longer than to fill
    // them.
    static Words allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(std::uint32_t);
        Words words(static_cast<std::uint32_t*>(::operator new(bytes, std::align_val_t{kHugePage})));
#if defined(__linux__)
        // Advice that may go unheeded; whole pages only, for none is to be brought in for a last few bytes.
        madvise(words.get(), bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
        return words;
    }

    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash) | 1; }

    std::vector<Bucket> buckets_;
    unsigned shift_;
    std::size_t capacity_;
    Words words_;
    std::size_t used_ = 0;
};

}  // namespace nmt_prep
