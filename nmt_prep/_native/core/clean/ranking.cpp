#include "clean/ranking.h"

#include <algorithm>
#include <cstring>

#include "clean/records.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kRowMask = (std::uint64_t{1} << kRowBits) - 1;

bool is_count(std::uint64_t place) { return (place & kCount) != 0; }
std::uint64_t part_of(std::uint64_t place) { return (place & ~kCount) >> kRowBits; }

bool same_key(const std::uint64_t* a, const std::uint64_t* b) { return a[0] == b[0] && a[1] == b[1]; }

struct Records {
    const std::uint64_t* numbers;
    std::size_t rows;
    std::size_t width;

    const std::uint64_t* operator[](std::size_t row) const { return numbers + row * width; }
    std::uint64_t place(std::size_t row) const { return numbers[(row + 1) * width - 1]; }
};

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

// Calls each(group, rows) for each key's records, of which the first `rows` are not counts.
template <class Each>
void for_each_group(const Records& sorted, Each&& each) {
    for (std::size_t first = 0, last = 0; first < sorted.rows; first = last) {
        last = first + 1;
        while (last < sorted.rows && same_key(sorted[first], sorted[last])) ++last;
        const Records group{sorted[first], last - first, sorted.width};
        std::size_t rows = group.rows;
        while (rows > 0 && is_count(group.place(rows - 1))) --rows;
        each(group, rows);
    }
}

// Returns the first of sorted records whose key is not less.
std::size_t find_key(const Records& sorted, const std::uint64_t* key) {
    std::size_t first = 0;
    for (std::size_t rows = sorted.rows; rows > 0;) {
        const std::size_t half = rows / 2;
        const std::uint64_t* const middle = sorted[first + half];
        const bool less = middle[0] < key[0] || (middle[0] == key[0] && middle[1] < key[1]);
        first += less ? half + 1 : 0;
        rows = less ? rows - half - 1 : half;
    }
    return first;
}

}  // namespace

bool have_corpora(const std::uint64_t* records, std::size_t rows, std::size_t width, const Corpora& corpora) {
    for (std::size_t row = 0; row < rows; ++row) {
        const std::uint64_t place = records[row * width + width - 1];
        if (part_of(place) >= (is_count(place) ? corpora.count : corpora.of_part.size())) return false;
    }
    return true;
}

Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const Corpora& corpora) {
    Ranked ranked;
    ranked.overlap.resize(corpora.count * corpora.count);
    RowsOfCorpora rows_of(corpora);
    sort_records(records, rows, width);
    for_each_group({records, rows, width}, [&](const Records& group, std::size_t own) {
        for (std::size_t row = kept; row < own; ++row) ranked.drops.push_back({group.place(row), group.place(0)});
        for (std::size_t row = 0; row < group.rows; ++row) rows_of.add(group.place(row));
        for (const std::uint32_t a : rows_of.found())
            for (const std::uint32_t b : rows_of.found()) ranked.overlap[a * corpora.count + b] += rows_of.rows(a);
        rows_of.clear();
    });
    std::ranges::sort(ranked.drops, {}, &Drop::place);
    return ranked;
}

std::size_t reduce_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                           const Corpora& corpora) {
    RowsOfCorpora lost(corpora);
    std::uint64_t* left = records;  // never beyond the group that is read
    sort_records(records, rows, width);
    for_each_group({records, rows, width}, [&](const Records& group, std::size_t own) {
        const std::size_t best = std::min(own, kept);
        for (std::size_t row = best; row < group.rows; ++row) lost.add(group.place(row));
        const std::uint64_t high = group[0][0];
        const std::uint64_t low = group[0][1];
        std::memmove(left, group[0], best * width * sizeof(std::uint64_t));
        left += best * width;
        for (const std::uint32_t corpus : lost.found()) {
            *left++ = high;
            *left++ = low;
            left = std::fill_n(left, width - 3, ~std::uint64_t{0});
            *left++ = kCount | std::uint64_t{corpus} << kRowBits | static_cast<std::uint64_t>(lost.rows(corpus));
        }
        lost.clear();
    });
    return static_cast<std::size_t>(left - records) / width;
}

std::vector<Drop> drops_among(const std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                              const std::uint64_t* reduced, std::size_t reduced_rows) {
    const Records all{records, rows, width};
    const Records best{reduced, reduced_rows, width};
    std::vector<Drop> drops;
    std::size_t group = reduced_rows;
    for (std::size_t row = 0; row < rows; ++row) {
        if (group == reduced_rows || !same_key(best[group], all[row])) group = find_key(best, all[row]);
        const std::size_t left = reduced_rows - group;
        if (left < kept) continue;
        const std::size_t last = group + kept - 1;
        const std::uint64_t* const worst = best[last];
        if (same_key(worst, all[row]) && !is_count(best.place(last)) &&
            std::lexicographical_compare(worst, worst + width, all[row], all[row] + width))
            drops.push_back({all.place(row), best.place(group)});
    }
    return drops;
}

}  // namespace nmt_prep::clean
