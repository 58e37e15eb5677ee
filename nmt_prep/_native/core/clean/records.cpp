#include "clean/records.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace nmt_prep::clean {
namespace {

// Only code that moves records is compiled for a fixed width.
template <std::size_t kWidth>
using Record = std::array<std::uint64_t, kWidth>;

// For few records.
template <std::size_t kWidth>
void sort_by_insertion(std::span<Record<kWidth>> records) {
    for (std::size_t row = 1; row < records.size(); ++row) {
        const Record<kWidth> moved = records[row];
        std::size_t to = row;
        for (; to > 0 && moved < records[to - 1]; --to) records[to] = records[to - 1];
        records[to] = moved;
    }
}

// Sorts records by their numbers from `place` on, before which they are the same. First numbers are mostly hashes, so
// most of the work is to move each record to a bucket by the leading bits in which these differ.
template <std::size_t kWidth>
void sort(std::span<Record<kWidth>> records, std::size_t place) {
    constexpr std::size_t kBucketRows = 8;
    constexpr int kMostBits = 10;
    if (records.size() < 4 * kBucketRows) return sort_by_insertion(records);
    std::uint64_t differing = 0;
    for (; place < kWidth; ++place) {
        for (const Record<kWidth>& record : records) differing |= record[place] ^ records.front()[place];
        if (differing != 0) break;
    }
    if (differing == 0) return;
    const int width = static_cast<int>(std::bit_width(differing));
    const int bits = std::min({static_cast<int>(std::bit_width(records.size() / kBucketRows)), kMostBits, width});
    const int shift = width - bits;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    const auto bucket_of = [=](const Record<kWidth>& record) { return record[place] >> shift & mask; };
    std::vector<std::size_t> ends(mask + 1);
    for (const Record<kWidth>& record : records) ++ends[bucket_of(record)];
    std::vector<std::size_t> next(mask + 1);
    for (std::size_t bucket = 1; bucket <= mask; ++bucket) {
        next[bucket] = ends[bucket - 1];
        ends[bucket] += ends[bucket - 1];
    }
    for (std::size_t bucket = 0; bucket <= mask; ++bucket) {
        while (next[bucket] < ends[bucket]) {
            Record<kWidth> moved = records[next[bucket]];
            for (std::size_t own = bucket_of(moved); own != bucket; own = bucket_of(moved))
                std::swap(moved, records[next[own]++]);
            records[next[bucket]++] = moved;
        }
    }
    for (std::size_t bucket = 0, first = 0; bucket <= mask; first = ends[bucket++])
        sort(records.subspan(first, ends[bucket] - first), place);
}

template <std::size_t kWidth>
void partition(std::span<const Record<kWidth>> records, unsigned bits, Record<kWidth>* sorted, std::uint64_t* starts) {
    const std::size_t ranges = std::size_t{1} << bits;
    const auto range_of = [bits](const Record<kWidth>& record) { return bits == 0 ? 0 : record[0] >> (64 - bits); };
    std::vector<std::uint64_t> next(ranges + 1);
    for (const Record<kWidth>& record : records) ++next[range_of(record) + 1];
    for (std::size_t range = 0; range < ranges; ++range) next[range + 1] += next[range];
    std::ranges::copy(next, starts);
    for (const Record<kWidth>& record : records) sorted[next[range_of(record)]++] = record;
}

// Calls work with a record of this width, of which only the type counts.
template <std::size_t kWidth = kSmallestWidth, class Work>
void with_width(std::size_t width, Work&& work) {
    if constexpr (kWidth < kLargestWidth) {
        if (width != kWidth) return with_width<kWidth + 1>(width, std::forward<Work>(work));
    }
    static_assert(sizeof(Record<kWidth>) == kWidth * sizeof(std::uint64_t));
    work(Record<kWidth>());
}

}  // namespace

void sort_records(std::uint64_t* records, std::size_t rows, std::size_t width) {
    with_width(width, [&]<class Row>(Row) { sort(std::span(reinterpret_cast<Row*>(records), rows), 0); });
}

void partition_records(const std::uint64_t* records, std::size_t rows, std::size_t width, unsigned bits,
                       std::uint64_t* sorted, std::uint64_t* starts) {
    with_width(width, [&]<class Row>(Row) {
        partition(std::span(reinterpret_cast<const Row*>(records), rows), bits, reinterpret_cast<Row*>(sorted), starts);
    });
}

}  // namespace nmt_prep::clean
