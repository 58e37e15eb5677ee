// The global shuffle: a keyed bijection of [0, rows) that can be computed for any row by itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace nmt_prep {

inline constexpr std::size_t kShuffleRounds = 12;
inline constexpr std::int64_t kShuffleMaxRows = std::int64_t{1} << 40;

// For fixed keys and rows, position() is a bijection of [0, rows) and row_at() its inverse. A Feistel network on the
// grid of height x width >= rows cells, whose rounds add a hash of one coordinate to the other; cells beyond the rows
// are skipped by cycle walking (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
class Permutation {
   public:
    using Keys = std::array<std::uint64_t, kShuffleRounds>;

    // Throws std::invalid_argument unless 0 <= rows <= kShuffleMaxRows.
    Permutation(const Keys& keys, std::int64_t rows);

    std::int64_t rows() const { return static_cast<std::int64_t>(rows_); }
    std::int64_t position(std::int64_t row) const;
    // Writes the positions of consecutive rows from `first` on; faster than position() for each row.
    void positions(std::int64_t first, std::span<std::int64_t> out) const;
    std::int64_t row_at(std::int64_t position) const;

   private:
    // Moves cells, given by their columns and rows, by all rounds.
    void move(std::span<std::uint64_t> x, std::span<std::uint64_t> y) const;

    Keys keys_;
    std::uint64_t rows_;
    std::uint64_t height_;
    std::uint64_t width_;
};

}  // namespace nmt_prep
