#include "records/packing.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <tuple>

namespace nmt_prep {
namespace {

// Rows by free space on both sides: a list of rows for every pair of free spaces; and for every free space of the
// source, a bit set of the target's free spaces that have rows.
class Rooms {
   public:
    explicit Rooms(std::int32_t length)
        : side_(static_cast<std::size_t>(length) + 1),
          words_((side_ + 63) / 64),
          rows_(side_ * side_),
          bits_(side_ * words_) {}

    void add(std::size_t source, std::size_t target, std::int32_t row) {
        std::vector<std::int32_t>& rows = rows_[source * side_ + target];
        rows.push_back(row);
        std::ranges::push_heap(rows, std::greater<>());
        bits_[source * words_ + target / 64] |= std::uint64_t{1} << (target % 64);
    }

    std::int32_t take(std::size_t source, std::size_t target) {
        std::vector<std::int32_t>& rows = rows_[source * side_ + target];
        std::ranges::pop_heap(rows, std::greater<>());
        const std::int32_t row = rows.back();
        rows.pop_back();
        if (rows.empty()) bits_[source * words_ + target / 64] &= ~(std::uint64_t{1} << (target % 64));
        return row;
    }

    // The smallest free space of the target, at least `target`, among rows with this free space of the source; side_ if
    // none.
    std::size_t next(std::size_t source, std::size_t target) const {
        const std::uint64_t* const words = &bits_[source * words_];
        std::size_t word = target / 64;
        std::uint64_t found = words[word] & (~std::uint64_t{0} << (target % 64));
        while (!found) {
            if (++word == words_) return side_;
            found = words[word];
        }
        return word * 64 + static_cast<std::size_t>(__builtin_ctzll(found));
    }

    std::size_t side() const { return side_; }

   private:
    std::size_t side_;
    std::size_t words_;
    std::vector<std::vector<std::int32_t>> rows_;
    std::vector<std::uint64_t> bits_;
};

struct Lengths {
    std::int32_t source = 0;
    std::int32_t target = 0;

    std::int32_t longer() const { return std::max(source, target); }
};

// Stable sort: indices of the items in ascending order of their keys, 0 to `largest`.
template <typename Key>
std::vector<std::int32_t> counting_sort(std::size_t items, std::int32_t largest, Key key) {
    std::vector<std::int32_t> next(static_cast<std::size_t>(largest) + 2);
    for (std::size_t item = 0; item < items; ++item) ++next[static_cast<std::size_t>(key(item)) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::int32_t> order(items);
    for (std::size_t item = 0; item < items; ++item) {
        order[static_cast<std::size_t>(next[static_cast<std::size_t>(key(item))]++)] = static_cast<std::int32_t>(item);
    }
    return order;
}

// Number of rows for pairs, from the tokens of their larger side; a few per thousand more than the tokens fill.
std::size_t rows_to_open(std::span<const Lengths> pairs, std::span<const std::int32_t> chosen, std::int64_t length) {
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (const std::int32_t pair : chosen) {
        source += pairs[static_cast<std::size_t>(pair)].source;
        target += pairs[static_cast<std::size_t>(pair)].target;
    }
    const std::int64_t scale = 1000 * length;
    return static_cast<std::size_t>(std::max<std::int64_t>((std::max(source, target) * 1003 + scale - 1) / scale, 1));
}

}  // namespace

std::vector<std::int32_t> pack_best_fit(std::span<const std::int32_t> source_lengths,
                                        std::span<const std::int32_t> target_lengths, std::int32_t length) {
    std::vector<std::size_t> order(source_lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const auto [short_a, long_a] = std::minmax(source_lengths[a], target_lengths[a]);
        const auto [short_b, long_b] = std::minmax(source_lengths[b], target_lengths[b]);
        return std::tie(long_a, short_a, b) > std::tie(long_b, short_b, a);
    });
    std::vector<std::int32_t> row_of(order.size());
    Rooms rooms(length);
    std::int32_t rows = 0;
    for (const std::size_t pair : order) {
        if (std::max(source_lengths[pair], target_lengths[pair]) > length) {
            row_of[pair] = rows++;
            continue;
        }
        const auto source = static_cast<std::size_t>(source_lengths[pair]);
        const auto target = static_cast<std::size_t>(target_lengths[pair]);
        // Remaining free space of the row: on the smaller side first, then on the larger.
        std::tuple best{rooms.side(), rooms.side()};
        std::size_t best_source = 0;
        std::size_t best_target = rooms.side();
        for (std::size_t room = source; room < rooms.side(); ++room) {
            // From here on, the source has more free space than the best row on either side.
            if (std::get<0>(best) == 0 && room - source >= std::get<1>(best)) break;
            const std::size_t other = rooms.next(room, target);
            if (other == rooms.side()) continue;
            const std::tuple left{std::min(room - source, other - target), std::max(room - source, other - target)};
            if (left < best) {
                best = left;
                best_source = room;
                best_target = other;
            }
        }
        std::int32_t row = rows;
        if (best_target == rooms.side()) {
            ++rows;
            best_source = best_target = static_cast<std::size_t>(length);
        } else {
            row = rooms.take(best_source, best_target);
        }
        row_of[pair] = row;
        rooms.add(best_source - source, best_target - target, row);
    }
    return row_of;
}

std::vector<std::int32_t> pack_rounds(std::span<const std::int32_t> source_lengths,
                                      std::span<const std::int32_t> target_lengths, std::int32_t length) {
    std::vector<Lengths> pairs(source_lengths.size());
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) pairs[pair] = {source_lengths[pair], target_lengths[pair]};
    std::vector<std::int32_t> put_off =
        counting_sort(pairs.size(), length, [&](std::size_t pair) { return length - pairs[pair].longer(); });
    std::vector<std::int32_t> waiting;
    std::vector<std::int32_t> row_of(pairs.size());
    std::vector<Lengths> filled;
    while (!waiting.empty() || !put_off.empty()) {
        if (waiting.empty()) {
            filled.resize(filled.size() + rows_to_open(pairs, put_off, length));
            waiting.swap(put_off);
        }
        const std::vector<std::int32_t> rows =
            counting_sort(filled.size(), length, [&](std::size_t row) { return filled[row].longer(); });
        const std::size_t tried = std::min(rows.size(), waiting.size());
        std::vector<std::int32_t> again;
        bool fitted = false;
        for (std::size_t i = 0; i < tried; ++i) {
            const Lengths pair = pairs[static_cast<std::size_t>(waiting[i])];
            Lengths& row = filled[static_cast<std::size_t>(rows[i])];
            if (row.source + pair.source <= length && row.target + pair.target <= length) {
                row = {row.source + pair.source, row.target + pair.target};
                row_of[static_cast<std::size_t>(waiting[i])] = rows[i];
                fitted = true;
            } else {
                (fitted ? again : put_off).push_back(waiting[i]);
            }
        }
        again.insert(again.end(), waiting.begin() + static_cast<std::ptrdiff_t>(tried), waiting.end());
        waiting.swap(again);
    }
    return row_of;
}

}  // namespace nmt_prep
