// Line tables for evaluation segments: by the key of their text, and by their n-grams.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clean/keys.h"
#include "text/huge_pages.h"

namespace nmt_prep::clean {

// A side of a segment is a line: number 2 * segment, or 2 * segment + 1.
using LineNumber = std::uint32_t;

// Numbers by key; several may have the same key.
class KeyTable {
   public:
    struct Entry {
        Key key;
        std::uint32_t number;
    };

    void add(const Key& key, std::uint32_t number) { entries_.push_back({key, number}); }

    // Ends the additions.
    void build() {
        std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
            return a.key < b.key || (a.key == b.key && a.number < b.number);
        });
        slots_.assign(std::bit_ceil(2 * entries_.size() + 1), 0);
        for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
            if (entry > 0 && entries_[entry - 1].key == entries_[entry].key) continue;
            std::size_t slot = slot_of(entries_[entry].key);
            while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<std::uint32_t>(entry + 1);
        }
    }

    // Fetch the memory that find() reads, one after the other.
    void prefetch_slot(const Key& key) const { __builtin_prefetch(&slots_[slot_of(key)]); }
    void prefetch_entry(const Key& key) const {
        if (const std::uint32_t entry = slots_[slot_of(key)]; entry != 0) __builtin_prefetch(&entries_[entry - 1]);
    }

    // Returns the entries with a key, by number.
    std::span<const Entry> find(const Key& key) const {
        for (std::size_t slot = slot_of(key); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
            const std::size_t first = slots_[slot] - 1;
            if (entries_[first].key != key) continue;
            std::size_t last = first + 1;
            while (last < entries_.size() && entries_[last].key == key) ++last;
            return {entries_.data() + first, last - first};
        }
        return {};
    }

   private:
    std::size_t slot_of(const Key& key) const { return key.low & (slots_.size() - 1); }

    LargeVector<Entry> entries_;
    LargeVector<std::uint32_t> slots_;  // index of a key's first entry, plus 1
};

// A set of n-grams, reduced to 64 bits: each n-gram sets one.
inline std::uint64_t signature(std::uint64_t gram) { return std::uint64_t{1} << (gram >> 24 & 63); }

inline std::uint64_t signature(std::span<const std::uint64_t> grams) {
    std::uint64_t bits = 0;
    for (const std::uint64_t gram : grams) bits |= signature(gram);
    return bits;
}

// Lines by n-gram.
class GramTable {
   public:
    // Adds a line that has the n-gram. `bits` is the signature over all its n-grams, which a line that covers it may
    // lack `lacking`.
    void add(std::uint64_t gram, LineNumber line, std::uint64_t bits, std::size_t lacking) {
        entries_.push_back({gram, bits, line, static_cast<std::uint32_t>(lacking)});
    }

    // Ends the additions.
    void build() {
        std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
            return a.gram < b.gram || (a.gram == b.gram && a.line < b.line);
        });
        const std::size_t buckets = std::bit_ceil(entries_.size() + 1);
        shift_ = 64 - static_cast<unsigned>(std::bit_width(buckets - 1));
        starts_.assign(buckets + 1, 0);
        bits_.assign(buckets / 8 + 1, 0);  // 8 to 16 bits an entry
        for (const Entry& entry : entries_) {
            ++starts_[bucket(entry.gram) + 1];
            bits_[place(entry.gram) >> 6] |= std::uint64_t{1} << (place(entry.gram) & 63);
        }
        for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    }

    // The steps of a search. Each fetches the memory that the next one reads, so that a step for many lines waits less
    // than a search for each.
    void prefetch(std::span<const std::uint64_t> grams) const {
        for (const std::uint64_t gram : grams) __builtin_prefetch(&bits_[place(gram) >> 6]);
    }
    // Appends the n-grams that some line may have.
    void add_present(std::span<const std::uint64_t> grams, std::vector<std::uint64_t>& present) const {
        for (const std::uint64_t gram : grams) {
            if ((bits_[place(gram) >> 6] >> (place(gram) & 63) & 1) == 0) continue;
            __builtin_prefetch(&starts_[bucket(gram)]);
            present.push_back(gram);
        }
    }
    void prefetch_entries(std::span<const std::uint64_t> present) const {
        for (const std::uint64_t gram : present) __builtin_prefetch(entries_.data() + starts_[bucket(gram)]);
    }
    // Appends the lines with one of the n-grams that a line with this signature may cover.
    void find(std::span<const std::uint64_t> present, std::uint64_t bits, std::vector<LineNumber>& lines) const {
        for (const std::uint64_t gram : present) {
            const std::size_t end = starts_[bucket(gram) + 1];
            for (std::size_t entry = starts_[bucket(gram)]; entry < end; ++entry) {
                const Entry& found = entries_[entry];
                if (found.gram != gram) continue;
                const auto lacking = static_cast<std::uint32_t>(std::popcount(found.bits & ~bits));
                if (lacking <= found.lacking) lines.push_back(found.line);
            }
        }
    }

   private:
    struct Entry {
        std::uint64_t gram;
        std::uint64_t bits;
        LineNumber line;
        std::uint32_t lacking;
    };

    std::size_t bucket(std::uint64_t gram) const { return shift_ == 64 ? 0 : gram >> shift_; }
    std::size_t place(std::uint64_t gram) const { return gram & (8 * (starts_.size() - 1) - 1); }

    LargeVector<Entry> entries_;
    LargeVector<std::uint32_t> starts_;
    LargeVector<std::uint64_t> bits_;  // zero for n-grams that no line has
    unsigned shift_ = 64;
};

}  // namespace nmt_prep::clean
