// The lexical table: for pairs of words that occur together, the probability of each word given the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/huge_pages.h"

namespace nmt_prep::align {

// Expected counts are whole multiples of 1 / kOne, so that sums do not depend on the order of their terms.
inline constexpr std::int64_t kOne = std::int64_t{1} << 20;

// A pair of words. `forward` is p(target word | source word), `backward` is p(source word | target word).
struct Cell {
    std::int32_t target;  // kFree in a slot without a cell
    float forward;
    float backward;
};
inline constexpr std::int32_t kFree = -1;

// Borrowed counts of cells or slots. No count is negative, and no sum of counts overflows.
class Counts {
   public:
    // Throws std::invalid_argument for a negative count, and for counts whose sum could overflow.
    explicit Counts(std::span<const std::int64_t> counts);

    std::size_t size() const { return counts_.size(); }
    const std::int64_t* data() const { return counts_.data(); }
    std::int64_t operator[](std::size_t i) const { return counts_[i]; }

   private:
    std::span<const std::int64_t> counts_;
};

// Borrowed rows of cells: row i has the ascending targets [offsets[i], offsets[i + 1]) and their counts.
struct CellRows {
    // Throws std::invalid_argument for offsets or targets that are not in this order.
    CellRows(std::span<const std::int64_t> offsets, std::span<const std::int32_t> targets, Counts counts);

    std::size_t rows() const { return offsets.size() - 1; }

    const std::span<const std::int64_t> offsets;
    const std::span<const std::int32_t> targets;
    const Counts counts;
};

struct CellCounts {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> targets;
    std::vector<std::int64_t> counts;
};

// A row for each source word. A row is a table with open addressing and a power of two of slots; a cell's slot
// depends on the cells of the row alone. A table is checked when it is made, and never changes.
class Table {
   public:
    static constexpr std::int64_t kNone = -1;

    // Lays out the cells of rows, with probabilities computed from their counts. Throws std::invalid_argument unless
    // target words are below `columns`.
    Table(const CellRows& rows, std::size_t columns, std::size_t threads = 1);
    // Takes over a layout: the slots of row i are [first[i], first[i + 1]). Throws std::invalid_argument unless rows
    // have a power of two of slots, free ones among them, cells have target words below `columns`, and probabilities
    // are from 0 to 1.
    Table(std::vector<std::int64_t> first, LargeVector<Cell> slots, std::size_t columns);

    std::size_t rows() const { return first_.size() - 1; }
    std::size_t columns() const { return columns_; }
    const std::vector<std::int64_t>& first() const { return first_; }
    const LargeVector<Cell>& slots() const { return slots_; }

    // Returns counts of cells in the slots' order, without cells that the table lacks. Requires the number of
    // rows of the table.
    std::vector<std::int64_t> placed(const CellRows& rows, std::size_t threads = 1) const;

    // Returns the cells whose counts reach a limit; counts are in the order of the slots.
    CellCounts rows_of(Counts counts, std::int64_t least) const;

    // Returns a table of the same cells, with probabilities computed from other counts.
    Table reestimated(Counts counts, std::size_t threads) const;

    // Keeps the cells whose counts reach a limit. Returns their table, with probabilities computed from these counts,
    // and the values of `others` for the same cells.
    struct Reduced;
    Reduced reduced(Counts counts, std::int64_t least, Counts others, std::size_t threads) const;

    // The slots of a source word, prepared for searches.
    struct Row {
        std::int64_t first;
        std::uint32_t mask;
    };
    Row row(std::int32_t source) const {
        const auto at = static_cast<std::size_t>(source);
        return {first_[at], static_cast<std::uint32_t>(first_[at + 1] - first_[at]) - 1};
    }
    // The slot of a cell, or kNone. Requires a row with slots.
    std::int64_t find(Row row, std::int32_t target) const {
        for (std::uint32_t at = start(target) & row.mask;; at = (at + 1) & row.mask) {
            const std::int32_t found = slots_[static_cast<std::size_t>(row.first + at)].target;
            if (found == target) return row.first + at;
            if (found == kFree) return kNone;
        }
    }
    // Starts to load the slot where a search begins.
    void prefetch(Row row, std::int32_t target) const {
        __builtin_prefetch(&slots_[static_cast<std::size_t>(row.first + (start(target) & row.mask))]);
    }
    static bool empty(Row row) { return row.mask == 0xFFFFFFFF; }

   private:
    // Lays out empty slots for rows with these numbers of cells.
    Table(const std::vector<std::int64_t>& cells, std::size_t columns, std::size_t threads);

    void estimate(const std::int64_t* counts, std::size_t threads);

    // Puts a cell that is not in a row into it; returns its slot.
    std::int64_t insert(Row row, std::int32_t target) {
        std::uint32_t at = start(target) & row.mask;
        while (slots_[static_cast<std::size_t>(row.first + at)].target != kFree) at = (at + 1) & row.mask;
        slots_[static_cast<std::size_t>(row.first + at)].target = target;
        return row.first + at;
    }
    static std::uint32_t start(std::int32_t target) {
        const std::uint32_t mixed = static_cast<std::uint32_t>(target) * 2654435769u;
        return mixed ^ mixed >> 15;
    }

    std::vector<std::int64_t> first_;
    LargeVector<Cell> slots_;
    std::size_t columns_;
};

struct Table::Reduced {
    Table table;
    std::vector<std::int64_t> others;  // other counts, in the order of the table's slots
};

// Count totals for a table's rows and columns.
struct Totals {
    std::vector<std::int64_t> rows, columns;
};
Totals totals_of(const Table& table, const std::int64_t* counts, std::size_t threads = 1);

}  // namespace nmt_prep::align
