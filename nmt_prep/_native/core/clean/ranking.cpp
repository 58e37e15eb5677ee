#include "clean/ranking.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace nmt_prep::clean {
namespace {

template <std::size_t kWidth>
class Ranking {
   public:
    using Record = std::array<std::uint64_t, kWidth>;
    static_assert(sizeof(Record) == kWidth * sizeof(std::uint64_t));

    Ranking(std::size_t kept, const std::vector<std::uint32_t>& corpora, std::size_t corpus_count)
        : kept_(kept), corpora_(corpora), corpus_count_(corpus_count), rows_of_(corpus_count) {
        ranked_.overlap.resize(corpus_count * corpus_count);
    }

    Ranked rank(std::span<Record> records) {
        std::ranges::sort(records);
        for (std::size_t first = 0, last = 0; first < records.size(); first = last) {
            last = first + 1;
            while (last < records.size() && same_key(records[first], records[last])) ++last;
            add(records.subspan(first, last - first));
        }
        std::ranges::sort(ranked_.drops, {}, &Drop::place);
        return std::move(ranked_);
    }

   private:
    static bool same_key(const Record& a, const Record& b) { return a[0] == b[0] && a[1] == b[1]; }

    void add(std::span<const Record> group) {
        for (const Record& record : group.subspan(std::min(kept_, group.size())))
            ranked_.drops.push_back({record.back(), group.front().back()});
        for (const Record& record : group) {
            const std::uint32_t corpus = corpora_[record.back() >> kRowBits];
            if (rows_of_[corpus]++ == 0) found_.push_back(corpus);
        }
        for (const std::uint32_t a : found_)
            for (const std::uint32_t b : found_) ranked_.overlap[a * corpus_count_ + b] += rows_of_[a];
        for (const std::uint32_t corpus : found_) rows_of_[corpus] = 0;
        found_.clear();
    }

    std::size_t kept_;
    const std::vector<std::uint32_t>& corpora_;
    std::size_t corpus_count_;
    std::vector<std::int64_t> rows_of_;  // rows of each corpus in the current group
    std::vector<std::uint32_t> found_;   // corpora in the current group
    Ranked ranked_;
};

template <std::size_t kWidth>
Ranked rank_if(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
               const std::vector<std::uint32_t>& corpora, std::size_t corpus_count) {
    if constexpr (kWidth < kLargestWidth) {
        if (width != kWidth) return rank_if<kWidth + 1>(records, rows, width, kept, corpora, corpus_count);
    }
    using Record = typename Ranking<kWidth>::Record;
    return Ranking<kWidth>(kept, corpora, corpus_count).rank({reinterpret_cast<Record*>(records), rows});
}

}  // namespace

Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const std::vector<std::uint32_t>& corpora, std::size_t corpus_count) {
    return rank_if<kSmallestWidth>(records, rows, width, kept, corpora, corpus_count);
}

}  // namespace nmt_prep::clean
