#include "records/shuffle.h"

#include <algorithm>
#include <stdexcept>

namespace nmt_prep {
namespace {

__extension__ using Wide = unsigned __int128;

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every input bit flips every output bit half of the time.
std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

// Returns a hash of `value`, below `bound`.
std::uint64_t round_value(std::uint64_t value, std::uint64_t key, std::uint64_t bound) {
    const std::uint64_t hash = mix(mix(value + key) ^ key);
    return static_cast<std::uint64_t>((static_cast<Wide>(hash) * bound) >> 64);
}

std::uint64_t ceil_sqrt(std::uint64_t n) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 21; bit; bit >>= 1) {
        const std::uint64_t next = root | bit;
        if (next * next < n) root = next;
    }
    return n ? root + 1 : 0;
}

}  // namespace

Permutation::Permutation(const Keys& keys, std::int64_t rows) : keys_(keys), rows_(static_cast<std::uint64_t>(rows)) {
    if (rows < 0 || rows > kShuffleMaxRows) throw std::invalid_argument("rows must be in 0..2^40");
    // The height must be even: only then are some rounds odd permutations, without which half of all orders could not
    // occur.
    height_ = (ceil_sqrt(rows_) + 1) & ~std::uint64_t{1};
    width_ = height_ ? (rows_ + height_ - 1) / height_ : 0;
}

void Permutation::move(std::span<std::uint64_t> x, std::span<std::uint64_t> y) const {
    // Computes each round for all cells, since the steps of a single cell depend on each other.
    for (std::size_t round = 0; round < kShuffleRounds; round += 2) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[i] += round_value(x[i], keys_[round], height_);
            y[i] -= y[i] >= height_ ? height_ : 0;
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] += round_value(y[i], keys_[round + 1], width_);
            x[i] -= x[i] >= width_ ? width_ : 0;
        }
    }
}

std::int64_t Permutation::position(std::int64_t row) const {
    auto cell = static_cast<std::uint64_t>(row);
    do {
        std::uint64_t x = cell % width_, y = cell / width_;
        move({&x, 1}, {&y, 1});
        cell = y * width_ + x;
    } while (cell >= rows_);
    return static_cast<std::int64_t>(cell);
}

void Permutation::positions(std::int64_t first, std::span<std::int64_t> out) const {
    constexpr std::size_t kTogether = 16;
    if (out.empty()) return;
    std::array<std::uint64_t, kTogether> x{}, y{};
    std::uint64_t next_x = static_cast<std::uint64_t>(first) % width_;
    std::uint64_t next_y = static_cast<std::uint64_t>(first) / width_;
    for (std::size_t done = 0; done < out.size(); done += kTogether) {
        const std::size_t count = std::min(kTogether, out.size() - done);
        for (std::size_t i = 0; i < count; ++i) {
            x[i] = next_x;
            y[i] = next_y;
            const bool wrapped = ++next_x == width_;
            next_x = wrapped ? 0 : next_x;
            next_y += wrapped ? 1 : 0;
        }
        move(std::span(x).first(count), std::span(y).first(count));
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t cell = y[i] * width_ + x[i];
            // A cell beyond the rows is moved on until it is a row.
            out[done + i] = cell < rows_ ? static_cast<std::int64_t>(cell) : position(static_cast<std::int64_t>(cell));
        }
    }
}

std::int64_t Permutation::row_at(std::int64_t position) const {
    auto cell = static_cast<std::uint64_t>(position);
    do {
        std::uint64_t y = cell / width_;
        std::uint64_t x = cell % width_;
        for (std::size_t round = kShuffleRounds; round > 0; round -= 2) {
            x += width_ - round_value(y, keys_[round - 1], width_);
            x -= x >= width_ ? width_ : 0;
            y += height_ - round_value(x, keys_[round - 2], height_);
            y -= y >= height_ ? height_ : 0;
        }
        cell = y * width_ + x;
    } while (cell >= rows_);
    return static_cast<std::int64_t>(cell);
}

}  // namespace nmt_prep
