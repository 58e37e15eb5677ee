// The last merge on the way to each text of a BPE vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "bpe/merge.h"
#include "bpe/pairs.h"
#include "bpe/splits.h"
#include "text/batch.h"

namespace nmt_prep::bpe {

// Texts as the symbols that merging begins with. The symbols of text i, whose id is i, begin at `offsets[i]`. A text
// with a negative symbol is not made by merges.
struct SpelledTexts {
    std::span<const std::int32_t> symbols;
    std::span<const std::int64_t> offsets;  // one more than texts

    std::size_t size() const { return offsets.size() - 1; }
    std::span<const std::int32_t> operator[](std::size_t i) const {
        const auto begin = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
        return symbols.subspan(begin, end - begin);
    }
};

// Returns the last merge on the way to each text that merges make, in order of ids.
// `merge_of(left, right, id)`: the merge of two symbols if it makes the text `id`, else kNoMerge.
//
// A merge within a text makes a shorter text, from the same two symbols as in the shorter text alone. So the merges of
// all shorter texts leave the two halves of a text.
template <class MergeOf>
std::vector<PairRule> last_merges(const SpelledTexts& texts, const MergeOf& merge_of, const Poll& poll) {
    std::vector<std::size_t> by_size(texts.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::ranges::stable_sort(by_size, {}, [&](std::size_t id) { return texts[id].size(); });
    PairTable shorter(texts.size());
    std::vector<PairRule> merges;
    std::vector<std::int32_t> symbols;
    Merger merger;
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        const std::span<const std::int32_t> text = texts[by_size[i]];
        if (text.size() < 2) continue;
        if (i % 1024 == 0) poll();
        symbols.assign(text.begin(), text.end());
        if (std::ranges::any_of(symbols, [](std::int32_t symbol) { return symbol < 0; })) continue;
        if (merger.merge(symbols.data(), symbols.size(), shorter) != 2) continue;
        const auto id = static_cast<std::int32_t>(by_size[i]);
        const Merge merge = merge_of(symbols[0], symbols[1], id);
        if (merge == kNoMerge || merge_symbol(merge) != id) continue;
        shorter.set(symbols[0], symbols[1], merge);
        merges.push_back({symbols[0], symbols[1], id});
    }
    std::ranges::sort(merges, {}, &PairRule::merged);
    return merges;
}

}  // namespace nmt_prep::bpe
