// Lines of pieces for text files: a row's pieces, separated by spaces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/column.h"

namespace nmt_prep {

// The pieces of a vocabulary. Short pieces are in slots of one size, which are copied without a function call.
class PieceTable {
   public:
    // Throws std::invalid_argument for bad offsets.
    explicit PieceTable(const TextColumn& pieces);

    std::size_t longest() const { return longest_; }

    // Writes the pieces of a row, with spaces between them, and returns their end. Needs room for `longest` + 1 bytes
    // for each id, and kSlack bytes. Throws std::out_of_range for an id without a piece.
    std::uint8_t* write(Ids row, std::uint8_t* to) const;

    static constexpr std::size_t kSlack = 16;

   private:
    struct Slot {
        std::array<std::uint8_t, kSlack - 1> text;
        std::uint8_t size;  // kLong for a piece that does not fit into a slot
    };
    static constexpr std::uint8_t kLong = 0xFF;

    std::vector<Slot> slots_;
    std::vector<std::uint8_t> text_;
    std::vector<std::int64_t> offsets_;
    std::size_t longest_ = 0;
};

// ID rows as a column of lines. A row's last ID is left out if it equals `last`; -1 keeps all ids.
struct PieceColumn {
    const PieceTable& table;
    IdColumn rows;
    std::int32_t last;
};

// Returns the rows of columns as lines, with tabs between columns. A line ends in '\n', unless `bounds` is given; it
// then receives the bounds of the lines. Throws std::invalid_argument for bad offsets or columns of different lengths,
// and std::out_of_range for an id without a piece.
OwnedBytes piece_lines(std::span<const PieceColumn> columns, std::vector<std::int64_t>* bounds = nullptr);

}  // namespace nmt_prep
