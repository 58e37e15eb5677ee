// Shared by the bindings for word alignment and for values computed from alignments: numbered pairs, and models.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "align/pairs.h"
#include "align/parameters.h"
#include "align/score.h"
#include "bindings.h"
#include "text.h"

namespace nmt_prep {

inline void require(bool good, const char* message) {
    if (!good) throw nanobind::value_error(message);
}

// The four arrays of line pairs, checked.
struct HeldPairs {
    HeldPairs(Int32Array source_words, Int64Array source_bounds, Int32Array target_words, Int64Array target_bounds)
        : source(std::move(source_words)),
          source_offsets(std::move(source_bounds)),
          target(std::move(target_words)),
          target_offsets(std::move(target_bounds)) {
        require(source_offsets.size() == target_offsets.size() && source_offsets.size() > 0,
                "the sides have different numbers of lines");
        check_rows(source_offsets.data(), source_offsets.size(), source.size());
        check_rows(target_offsets.data(), target_offsets.size(), target.size());
    }

    align::Pairs view() const {
        return {source.data(), source_offsets.data(), target.data(), target_offsets.data(), source_offsets.size() - 1};
    }
    // Throws ValueError unless words are below the sizes of the vocabularies.
    void check_words(std::size_t sources, std::size_t targets) const {
        const auto check = [](const Int32Array& words, std::size_t size) {
            for (std::size_t i = 0; i < words.size(); ++i)
                require(static_cast<std::uint32_t>(words.data()[i]) < size, "a word is not in the vocabulary");
        };
        check(source, sources);
        check(target, targets);
    }

    Int32Array source;
    Int64Array source_offsets;
    Int32Array target;
    Int64Array target_offsets;
};

inline align::Counts counts_of(const Int64Array& counts) {
    return align::Counts(std::span(counts.data(), counts.size()));
}

// Counts of a table's slots.
inline align::Counts slot_counts(const align::Table& table, const Int64Array& counts) {
    require(counts.size() == table.slots().size(), "there must be a count for each slot");
    return counts_of(counts);
}

// A table with all parameters of posteriors.
class Aligner {
   public:
    Aligner(const align::Table& table, const FloatArray& source_shares, const FloatArray& target_shares,
            const FloatArray& forward, const FloatArray& backward, float null, float floor, double steepness)
        : source_shares_(source_shares), target_shares_(target_shares) {
        require(source_shares.size() == table.rows() && target_shares.size() == table.columns(),
                "there must be a share for each word");
        check_weights(source_shares);
        check_weights(target_shares);
        parameters_ = {
            &table, nullptr,  source_shares_.data(), target_shares_.data(), jumps(forward), jumps(backward), null,
            floor,  steepness};
    }

    // Makes the filter of the cells when it is first called, without the GIL.
    const align::Parameters& parameters(std::size_t threads) const {
        std::call_once(filtered_, [&] {
            filter_ = std::make_unique<const align::CellFilter>(*parameters_.table, threads);
            parameters_.filter = filter_.get();
        });
        return parameters_;
    }
    void check(const HeldPairs& pairs) const { pairs.check_words(source_shares_.size(), target_shares_.size()); }
    std::size_t slots() const { return parameters_.table->slots().size(); }
    std::size_t rows() const { return source_shares_.size(); }
    std::size_t columns() const { return target_shares_.size(); }

   private:
    // Other weights could make posteriors negative or NaN.
    static void check_weights(const FloatArray& weights) {
        constexpr float kLeast = 0x1p-64F;
        for (std::size_t i = 0; i < weights.size(); ++i)
            require(weights.data()[i] >= kLeast && weights.data()[i] <= 1, "a weight is not from 0 to 1");
    }

    static align::Jumps jumps(const FloatArray& weights) {
        require(weights.size() == align::kJumps + 1, "there must be a weight for each jump");
        check_weights(weights);
        align::Jumps jumps{};
        std::copy_n(weights.data(), align::kJumps, jumps.near);
        jumps.far = weights.data()[align::kJumps];
        return jumps;
    }

    FloatArray source_shares_, target_shares_;
    mutable std::once_flag filtered_;
    mutable std::unique_ptr<const align::CellFilter> filter_;
    mutable align::Parameters parameters_{};
};

// The cells of a table that have counts, close together in memory, and the totals of the counts.
class HeldEvidence {
   public:
    HeldEvidence(const align::Table& table, const Int64Array& counts) : slots_(counts.size()) {
        const align::Counts checked = slot_counts(table, counts);
        const GilRelease unlocked;
        counted_ = std::make_unique<const align::Table::Reduced>(table.reduced(checked, 1, checked, 1));
        totals_ = align::totals_of(counted_->table, counted_->others.data());
        filter_ = std::make_unique<const align::CellFilter>(counted_->table);
    }
    void check(const Aligner& aligner) const {
        require(slots_ == aligner.slots() && totals_.columns.size() == aligner.columns(),
                "the counts are those of another table");
    }
    align::Evidence evidence(float pseudo, double mix, double floor) const {
        return {&counted_->table, counted_->others.data(), filter_.get(), &totals_, pseudo, mix, floor};
    }

   private:
    std::size_t slots_;  // of the table
    std::unique_ptr<const align::Table::Reduced> counted_;
    std::unique_ptr<const align::CellFilter> filter_;
    align::Totals totals_;
};

// Maximum number of pairs that equal a scored pair, so that sums of their counts stay below 2^63.
inline constexpr std::int64_t kMostOwn = std::int64_t{1} << 31;

// Throws ValueError unless numbers of equal pairs are in this range.
inline void check_own(const Int64Array& own) {
    for (std::size_t i = 0; i < own.size(); ++i)
        require(own.data()[i] >= 0 && own.data()[i] <= kMostOwn, "equal pairs are negative or too many");
}

}  // namespace nmt_prep
