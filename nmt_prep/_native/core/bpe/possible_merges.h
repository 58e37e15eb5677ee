// All merges that BPE-dropout may make in a word, found once and stored in a few words of memory. A sample then needs
// no lookups, only random decisions and operations on bits.
//
// A symbol is a span of the word's initial symbols, between two positions. A merge makes a span of two neighbours, and
// has the number of its place in the order of all: by priority, then from left to right. The state of merging is a set
// of positions where symbols begin, and a set of the merges whose two symbols are there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bpe/merge.h"
#include "bpe/span_filter.h"

namespace nmt_prep::bpe {

class PossibleMerges {
   public:
    static constexpr std::size_t kMaxSymbols = 31;
    static constexpr std::size_t kMaxMerges = 63;

    // `words`: of a finder, or a copy of them.
    explicit PossibleMerges(const std::uint32_t* words)
        : size_(words[0] & 0xFF), merges_(words[0] >> 8 & 0xFF), steps_(words[0] >> 16), words_(words) {}

    // Of the initial symbols.
    std::size_t size() const { return size_; }

    // The merges without dropout: how many, where their left symbols begin, and the resulting symbols.
    std::size_t steps() const { return steps_; }
    const std::uint8_t* places() const {
        return reinterpret_cast<const std::uint8_t*>(words_ + kHeader + size_ - steps_);
    }
    std::span<const std::int32_t> merged() const {
        return {reinterpret_cast<const std::int32_t*>(words_ + kHeader), size_ - steps_};
    }

    // Writes the resulting symbols with dropout and returns how many: the next merge is skipped if drop(step, place),
    // with the number of merges made before it and where its left symbol begins, returns true. Requires room for as
    // many symbols as there are initial ones.
    template <Merger::Skips kSkips, class Drop>
    std::size_t sample(const Drop& drop, std::int32_t* symbols) const;

   private:
    friend class MergeFinder;

    // A merge. The same span may have several, with different priorities, by the place where the right symbol begins.
    struct Span {
        std::uint8_t begin, end;
        std::uint16_t next;     // the number of another merge of this span, 0 for none
        std::uint32_t middles;  // where its right symbol may begin, as bits
    };
    static constexpr std::size_t kSpanWords = sizeof(Span) / sizeof(std::uint32_t);

    // The words: this header; as many words as there are initial symbols, for the symbols that result without dropout
    // and, as bytes, the places of merges without it; the spans of merges by number, none for 0; symbols, by the number
    // of the merge that makes them, then the initial ones; for positions from 1 on, the set of merges that need a
    // symbol to begin or end there; and for each begin and end of a span, as a byte, the place of its symbol, which is
    // the number of the first merge that makes it.
    static constexpr std::size_t kHeader = 3;  // sizes, and the set of merges that are possible at first

    static std::uint64_t read_set(const std::uint32_t* words) {
        std::uint64_t set;
        std::memcpy(&set, words, sizeof set);
        return set;
    }
    static std::uint32_t positions_up_to(std::size_t last) { return (std::uint32_t{2} << last) - 1; }

    std::size_t size_, merges_, steps_;
    const std::uint32_t* words_;
};

// Which symbols merge.
enum class Merging : std::uint8_t {
    kByPair,  // some pairs
    kByText,  // any two neighbours whose text is one that merges make; then equal texts have equal merges
};

// Finds the possible merges of words, for one thread at a time.
class MergeFinder {
   public:
    // Returns the merges for PossibleMerges, valid until the next call; none if there are too many. Requires
    // 1 <= size. `made`: all texts that merges make. Lookup: Merge lookup(std::int32_t left, std::int32_t right), and
    // lookup.prefetch(left, right) for the memory that it reads.
    template <class Lookup>
    std::span<const std::uint32_t> find(const std::int32_t* symbols, std::size_t size, Merging merging,
                                        const SpanFilter& made, const Lookup& lookup) {
        if (size > PossibleMerges::kMaxSymbols || !find_spans(symbols, size, merging, made, lookup)) return {};
        return store(symbols, size);
    }

   private:
    static constexpr std::size_t kMaxSymbols = PossibleMerges::kMaxSymbols;
    static constexpr std::size_t kMaxMerges = PossibleMerges::kMaxMerges;

    struct Found {
        Merge merge;
        std::uint8_t begin, end;
        std::uint32_t middles;
    };

    template <class Lookup>
    bool find_spans(const std::int32_t* symbols, std::size_t size, Merging merging, const SpanFilter& made,
                    const Lookup& lookup);
    bool add(Merge merge, std::size_t begin, std::size_t end, std::uint32_t middles);
    std::span<const std::uint32_t> store(const std::int32_t* symbols, std::size_t size);
    void add_outcome();

    std::array<Found, kMaxMerges> found_;
    std::size_t count_ = 0;
    std::vector<std::uint32_t> words_;
};

template <Merger::Skips kSkips, class Drop>
std::size_t PossibleMerges::sample(const Drop& drop, std::int32_t* symbols) const {
    const std::uint32_t* const spans = words_ + kHeader + size_;
    const std::uint32_t* const made = spans + (merges_ + 1) * kSpanWords;
    const std::uint32_t* const touching = made + merges_ + 1 + size_ - 2;
    const auto* const numbers = reinterpret_cast<const std::uint8_t*>(touching + 2 * size_);
    const auto span_at = [&](std::size_t number) {
        Span span;
        std::memcpy(&span, spans + number * kSpanWords, sizeof span);
        return span;
    };
    const auto number_of = [&](std::size_t begin, std::size_t end) { return numbers[begin * size_ + end - 1]; };
    // The merge that makes a span of two symbols, as a set; `middle` is the begin or end of the span where there is no
    // second symbol.
    const auto offered = [&](std::size_t begin, std::size_t middle, std::size_t end) {
        std::size_t number = number_of(begin, end);
        Span span = span_at(number);
        std::uint64_t set = std::uint64_t{span.middles >> middle & 1} << number;
        while (span.next != 0) {
            number = span.next;
            span = span_at(number);
            set |= std::uint64_t{span.middles >> middle & 1} << number;
        }
        return set;
    };
    std::uint64_t possible = read_set(words_ + 1), skipped = 0;
    std::uint32_t begins = positions_up_to(size_);
    std::size_t step = 0;
    while ((possible & ~skipped) != 0) {
        const auto number = static_cast<std::size_t>(std::countr_zero(possible & ~skipped));
        const std::uint64_t own = std::uint64_t{1} << number;
        const Span span = span_at(number);
        const std::size_t begin = span.begin, end = span.end;
        if (drop(step, begin)) {
            if (kSkips == Merger::Skips::kForStep)
                skipped |= own;
            else
                possible ^= own;
            continue;
        }
        ++step;
        skipped = 0;
        const auto first_after = [&](std::size_t place, std::uint32_t others) {
            return static_cast<std::size_t>(std::countr_zero((begins & ~positions_up_to(place)) | others));
        };
        const std::size_t middle = first_after(begin, 0), next = first_after(end, std::uint32_t{1} << size_);
        const auto before = (begins & ((std::uint32_t{1} << begin) - 1)) | 1;
        const auto previous = static_cast<std::size_t>(std::bit_width(before) - 1);
        begins ^= std::uint32_t{1} << middle;
        possible &= ~(own | read_set(touching + 2 * middle));
        possible |= offered(previous, begin, end) | offered(begin, end, next);
    }
    const std::size_t count = size_ - step;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
        begins &= begins - 1;
        const auto end = static_cast<std::size_t>(std::countr_zero(begins));
        symbols[i] = static_cast<std::int32_t>(made[number_of(begin, end)]);
        begin = end;
    }
    return count;
}

template <class Lookup>
bool MergeFinder::find_spans(const std::int32_t* symbols, std::size_t size, Merging merging, const SpanFilter& made,
                             const Lookup& lookup) {
    static_assert(kMaxSymbols <= SpanFilter::kMaxSpan);
    std::int32_t symbol_of[kMaxSymbols][kMaxSymbols + 1];  // by begin and end
    // By position: the hash of the text before it, and as bits, where symbols that begin here may end, and where those
    // that end here may begin.
    std::uint64_t hashes[kMaxSymbols + 1] = {};
    std::uint32_t ends[kMaxSymbols + 1], begins[kMaxSymbols + 1];
    count_ = 0;
    for (std::size_t end = 1; end <= size; ++end) hashes[end] = SpanFilter::extended(hashes[end - 1], symbols[end - 1]);
    const auto may_make = [&](std::size_t begin, std::size_t end) {
        return made.may_have(SpanFilter::end_of(hashes[end], hashes[begin], end - begin));
    };
    const auto prefetch_longer = [&](std::size_t begin, std::size_t end) {
        if (end < size && may_make(begin, end + 1)) lookup.prefetch(symbol_of[begin][end], symbols[end]);
    };
    for (std::size_t end = 1; end <= size; ++end) {
        symbol_of[end - 1][end] = symbols[end - 1];
        prefetch_longer(end - 1, end);
    }
    for (std::size_t end = 1; end <= size; ++end) {
        ends[end - 1] = std::uint32_t{1} << end;
        begins[end] = std::uint32_t{1} << (end - 1);
        for (std::size_t begin = end - 1; begin-- > 0;) {
            std::uint32_t middles = ends[begin] & begins[end];
            if (middles == 0 || !may_make(begin, end)) continue;
            bool found = false;
            while (middles != 0) {
                const auto middle = static_cast<std::size_t>(std::bit_width(middles) - 1);
                const std::uint32_t own = std::uint32_t{1} << middle;
                middles ^= own;
                const Merge merge = lookup(symbol_of[begin][middle], symbol_of[middle][end]);
                if (merge == kNoMerge) continue;
                if (found && merge_symbol(merge) != symbol_of[begin][end]) return false;
                const bool all = merging == Merging::kByText;
                if (!add(merge, begin, end, all ? ~std::uint32_t{0} : own)) return false;
                symbol_of[begin][end] = merge_symbol(merge);
                found = true;
                if (all) break;
            }
            if (!found) continue;
            ends[begin] |= std::uint32_t{1} << end;
            begins[end] |= std::uint32_t{1} << begin;
            prefetch_longer(begin, end);
        }
    }
    return true;
}

}  // namespace nmt_prep::bpe
