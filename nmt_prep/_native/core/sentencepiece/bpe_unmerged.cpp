// The end of BPE training when no pair occurs any more: pairs that did occur become pieces.
//
// Which pairs those are is found by merging each word once more, in the order that was learnt.
#include <algorithm>
#include <utility>

#include "bpe/merge.h"
#include "sentencepiece/bpe_trainer.h"
#include "text/hash_table.h"

namespace nmt_prep::sentencepiece {

// Appends the characters of a symbol.
void BpeTrainer::spell(std::int32_t id, std::vector<std::int32_t>& characters) const {
    const auto start = spelling_.begin() + static_cast<std::ptrdiff_t>(symbol(id).start);
    characters.insert(characters.end(), start, start + static_cast<std::ptrdiff_t>(length(id)));
}

// Returns the pairs that occurred, make valid pieces and were not merged. Frees the words.
std::vector<std::uint64_t> BpeTrainer::unmerged_pairs() {
    // Pairs that were merged have the lowest numbers, in their order, from 1.
    HashTable<std::uint32_t> numbers(4 * merges());
    const auto merged = static_cast<std::uint32_t>(merges()), first = static_cast<std::uint32_t>(characters_.size());
    for (std::uint32_t i = 0; i < merged; ++i) numbers.add(mixed_key(symbols_[first + i].pair)) = i + 1;
    std::vector<std::uint64_t> found;
    const auto lookup = [&](std::int32_t left, std::int32_t right) {
        const std::uint64_t key = key_of(left, right);
        std::uint32_t& number = numbers.add(mixed_key(key));
        if (number == 0) {
            found.push_back(key);
            number = static_cast<std::uint32_t>(merged + found.size());
        }
        if (number > merged) return bpe::kNoMerge;
        return bpe::make_merge(number - 1, static_cast<std::int32_t>(first + number - 1));
    };
    bpe::Merger merger;
    std::vector<std::int32_t> word;
    const auto merge = [&] {
        merger.merge(word.data(), word.size(), lookup);
        word.clear();
    };
    for (const std::int32_t id : std::exchange(whole_, {})) {
        spell(id, word);
        merge();
    }
    for (std::size_t at = 0; at < text_.size();) {
        const std::int32_t id = text_[at];
        at += id < 0 ? 1 : width(id);
        if (id < 0)
            merge();
        else
            spell(id, word);
    }
    std::erase_if(found, [&](std::uint64_t key) { return !valid(key); });
    return found;
}

// Makes pieces of pairs that no longer occur, up to this number of merges in all.
void BpeTrainer::finish(std::size_t merges, const Progress& progress) {
    struct Unmerged {
        std::uint64_t rank, key;
    };
    std::vector<Unmerged> unmerged;
    for (const std::uint64_t key : unmerged_pairs()) unmerged.push_back({rank_of(key), key});
    const std::size_t size = std::min(merges - this->merges(), unmerged.size());
    const auto end = unmerged.begin() + static_cast<std::ptrdiff_t>(size);
    std::partial_sort(unmerged.begin(), end, unmerged.end(), [this](const Unmerged& a, const Unmerged& b) {
        return a.rank != b.rank ? a.rank < b.rank : spells_later(b.key, a.key);
    });
    for (auto each = unmerged.begin(); each != end; ++each) {
        add_symbol(each->key);
        if (this->merges() % kMergesPerReport == 0) progress(this->merges());
    }
}

}  // namespace nmt_prep::sentencepiece
