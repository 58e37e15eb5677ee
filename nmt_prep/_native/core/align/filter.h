// A filter of a table's cells, which excludes most missing cells without a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/table.h"

namespace nmt_prep::align {

// A few bits for each row; every cell sets one of them.
class CellFilter {
   public:
    explicit CellFilter(const Table& table, std::size_t threads = 1);

    // Writes the indexes of the words that may have a cell in a row, in ascending order; returns their number.
    // `mixed` are the words, from mix(). Both arrays have room for kTogether more.
    std::size_t select(std::int32_t row, const std::uint32_t* mixed, std::size_t size, std::uint32_t* places) const {
        const Row& of = rows_[static_cast<std::size_t>(row)];
        return of.shift == 0 ? 0 : select(bits_.data() + of.first, of.shift, mixed, size, places);
    }
    static constexpr std::size_t kTogether = 8;
    static std::uint32_t mix(std::int32_t target) { return static_cast<std::uint32_t>(target) * 2654435769u; }

   private:
    static std::size_t select(const std::uint32_t* bits, std::uint32_t shift, const std::uint32_t* mixed,
                              std::size_t size, std::uint32_t* places);

    struct Row {
        std::size_t first;    // its first word of bits
        std::uint32_t shift;  // ignored bit count of a mixed word; 0 in a row without cells
    };
    std::vector<Row> rows_;
    LargeVector<std::uint32_t> bits_;
};

// Finds the cells of pairs; reuses its memory.
class CellFinder {
   public:
    // Calls found(i, j, slot) for the words of a pair that have a cell, by ascending i and j.
    template <class Found>
    void find(const Table& table, const CellFilter& filter, const std::int32_t* source, std::size_t sources,
              const std::int32_t* target, std::size_t targets, Found&& found) {
        mixed_.resize(targets + CellFilter::kTogether);
        places_.resize(targets + CellFilter::kTogether);
        for (std::size_t j = 0; j < targets; ++j) mixed_[j] = CellFilter::mix(target[j]);
        for (std::size_t i = 0; i < sources; ++i) {
            const std::size_t some = filter.select(source[i], mixed_.data(), targets, places_.data());
            if (some == 0) continue;
            const Table::Row row = table.row(source[i]);
            for (std::size_t k = 0; k < some; ++k) table.prefetch(row, target[places_[k]]);
            for (std::size_t k = 0; k < some; ++k) {
                const std::int64_t slot = table.find(row, target[places_[k]]);
                if (slot != Table::kNone) found(static_cast<std::uint32_t>(i), places_[k], slot);
            }
        }
    }

   private:
    std::vector<std::uint32_t> mixed_, places_;
};

}  // namespace nmt_prep::align
