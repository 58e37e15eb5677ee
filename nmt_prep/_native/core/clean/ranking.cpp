#include "clean/ranking.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <type_traits>
#include <utility>

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kRowMask = (std::uint64_t{1} << kRowBits) - 1;

bool is_count(std::uint64_t place) { return (place & kCount) != 0; }
std::uint64_t part_of(std::uint64_t place) { return (place & ~kCount) >> kRowBits; }

template <std::size_t kWidth>
using Record = std::array<std::uint64_t, kWidth>;

template <std::size_t kWidth>
bool same_key(const Record<kWidth>& a, const Record<kWidth>& b) {
    return a[0] == b[0] && a[1] == b[1];
}

// Sorts records. Keys are hashes, so most of the work is to move each record to a bucket by the leading bits of its key
// in which they differ; a bucket that many records share, because they have the same key, is sorted like any other.
template <std::size_t kWidth>
void sort_records(std::span<Record<kWidth>> records) {
    constexpr std::size_t kBucketRows = 8;
    constexpr int kMostBits = 10;
    if (records.size() < 4 * kBucketRows) {
        std::ranges::sort(records);
        return;
    }
    std::uint64_t differing = 0;
    for (const Record<kWidth>& record : records) differing |= record[0] ^ records.front()[0];
    const int width = static_cast<int>(std::bit_width(differing));
    const int bits = std::min({static_cast<int>(std::bit_width(records.size() / kBucketRows)), kMostBits, width});
    const int shift = width - bits;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    const auto bucket_of = [=](const Record<kWidth>& record) { return record[0] >> shift & mask; };
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
    for (std::size_t bucket = 0, first = 0; bucket <= mask; first = ends[bucket++]) {
        const std::span<Record<kWidth>> own = records.subspan(first, ends[bucket] - first);
        if (shift > 0 && own.size() < records.size())
            sort_records(own);
        else
            std::ranges::sort(own);
    }
}

// The rows of each corpus in a group of records with the same key.
class RowsOfCorpora {
   public:
    explicit RowsOfCorpora(const Corpora& corpora) : corpora_(corpora), rows_(corpora.count) {}

    void add(std::uint64_t place) {
        const bool count = is_count(place);
        const auto corpus = count ? static_cast<std::uint32_t>(part_of(place)) : corpora_.of_part[part_of(place)];
        if (rows_[corpus] == 0) found_.push_back(corpus);
        rows_[corpus] += count ? static_cast<std::int64_t>(place & kRowMask) : 1;
    }
    const std::vector<std::uint32_t>& found() const { return found_; }
    std::int64_t rows(std::uint32_t corpus) const { return rows_[corpus]; }
    void clear() {
        for (const std::uint32_t corpus : found_) rows_[corpus] = 0;
        found_.clear();
    }

   private:
    const Corpora& corpora_;
    std::vector<std::int64_t> rows_;
    std::vector<std::uint32_t> found_;
};

// Calls each(group, rows) for the records of each key, of which the first `rows` are not counts.
template <std::size_t kWidth, class Each>
void for_each_group(std::span<Record<kWidth>> sorted, Each&& each) {
    for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
        last = first + 1;
        while (last < sorted.size() && same_key(sorted[first], sorted[last])) ++last;
        std::size_t rows = last - first;
        while (rows > 0 && is_count(sorted[first + rows - 1].back())) --rows;
        each(sorted.subspan(first, last - first), rows);
    }
}

template <std::size_t kWidth>
Ranked rank(std::span<Record<kWidth>> records, std::size_t kept, const Corpora& corpora) {
    Ranked ranked;
    ranked.overlap.resize(corpora.count * corpora.count);
    RowsOfCorpora rows_of(corpora);
    sort_records(records);
    for_each_group(records, [&](std::span<const Record<kWidth>> group, std::size_t rows) {
        for (std::size_t row = kept; row < rows; ++row)
            ranked.drops.push_back({group[row].back(), group.front().back()});
        for (const Record<kWidth>& record : group) rows_of.add(record.back());
        for (const std::uint32_t a : rows_of.found())
            for (const std::uint32_t b : rows_of.found()) ranked.overlap[a * corpora.count + b] += rows_of.rows(a);
        rows_of.clear();
    });
    std::ranges::sort(ranked.drops, {}, &Drop::place);
    return ranked;
}

template <std::size_t kWidth>
std::size_t reduce(std::span<Record<kWidth>> records, std::size_t kept, const Corpora& corpora) {
    RowsOfCorpora lost(corpora);
    std::size_t left = 0;  // never beyond the group that is read
    sort_records(records);
    for_each_group(records, [&](std::span<const Record<kWidth>> group, std::size_t rows) {
        const std::size_t best = std::min(rows, kept);
        for (const Record<kWidth>& record : group.subspan(best)) lost.add(record.back());
        Record<kWidth> count;
        count.fill(~std::uint64_t{0});
        std::copy_n(group.front().begin(), 2, count.begin());
        for (std::size_t row = 0; row < best; ++row) records[left++] = group[row];
        for (const std::uint32_t corpus : lost.found()) {
            count.back() = kCount | std::uint64_t{corpus} << kRowBits | static_cast<std::uint64_t>(lost.rows(corpus));
            records[left++] = count;
        }
        lost.clear();
    });
    return left;
}

template <std::size_t kWidth>
std::vector<Drop> find_drops(std::span<const Record<kWidth>> records, std::size_t kept,
                             std::span<const Record<kWidth>> reduced) {
    const auto key_less = [](const Record<kWidth>& a, const Record<kWidth>& b) {
        return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]);
    };
    std::vector<Drop> drops;
    auto group = reduced.end();
    for (const Record<kWidth>& record : records) {
        if (group == reduced.end() || !same_key(*group, record))
            group = std::lower_bound(reduced.begin(), reduced.end(), record, key_less);
        const auto left = static_cast<std::size_t>(reduced.end() - group);
        if (left == 0) continue;
        const Record<kWidth>& worst = group[static_cast<std::ptrdiff_t>(std::min(kept, left) - 1)];
        if (left >= kept && same_key(worst, record) && !is_count(worst.back()) && worst < record)
            drops.push_back({record.back(), group->back()});
    }
    return drops;
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

// Calls work with a span of records of this width.
template <std::size_t kWidth, class Number, class Work>
auto with_width(Number* records, std::size_t rows, std::size_t width, Work&& work) {
    if constexpr (kWidth < kLargestWidth) {
        if (width != kWidth) return with_width<kWidth + 1>(records, rows, width, std::forward<Work>(work));
    }
    using Held = std::conditional_t<std::is_const_v<Number>, const Record<kWidth>, Record<kWidth>>;
    static_assert(sizeof(Held) == kWidth * sizeof(std::uint64_t));
    return work(std::span<Held>(reinterpret_cast<Held*>(records), rows));
}

}  // namespace

void partition_records(const std::uint64_t* records, std::size_t rows, std::size_t width, unsigned bits,
                       std::uint64_t* sorted, std::uint64_t* starts) {
    with_width<kSmallestWidth>(records, rows, width, [&]<class Held, std::size_t kAny>(std::span<Held, kAny> held) {
        partition(held, bits, reinterpret_cast<std::remove_const_t<Held>*>(sorted), starts);
    });
}

bool have_corpora(const std::uint64_t* records, std::size_t rows, std::size_t width, const Corpora& corpora) {
    for (std::size_t row = 0; row < rows; ++row) {
        const std::uint64_t place = records[row * width + width - 1];
        if (part_of(place) >= (is_count(place) ? corpora.count : corpora.of_part.size())) return false;
    }
    return true;
}

Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const Corpora& corpora) {
    return with_width<kSmallestWidth>(records, rows, width, [&](auto held) { return rank(held, kept, corpora); });
}

std::size_t reduce_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                           const Corpora& corpora) {
    return with_width<kSmallestWidth>(records, rows, width, [&](auto held) { return reduce(held, kept, corpora); });
}

std::vector<Drop> drops_among(const std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                              const std::uint64_t* reduced, std::size_t reduced_rows) {
    return with_width<kSmallestWidth>(records, rows, width, [&](auto held) {
        return find_drops(held, kept, decltype(held)(reinterpret_cast<decltype(held.data())>(reduced), reduced_rows));
    });
}

}  // namespace nmt_prep::clean
