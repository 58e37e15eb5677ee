// The end of BPE training when no pair occurs any more: pairs that did occur become pieces.
//
// A symbol was made in the same way wherever it occurs. So the pairs that occurred are those that met at the boundary
// between the halves of a symbol, or between two symbols that are left, while both sides grew.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentencepiece/bpe_trainer.h"
#include "text/hash_table.h"

namespace nmt_prep::sentencepiece {

class BpeTrainer::UnmergedPairs {
   public:
    explicit UnmergedPairs(const BpeTrainer& trainer) : trainer_(trainer), known_(4 * trainer.merges()) {
        const auto first = static_cast<std::ptrdiff_t>(trainer.characters_.size());
        const std::span merged(trainer.symbols_.begin() + first, trainer.symbols_.end());
        for (const Symbol& symbol : merged) known_.add(mixed_key(symbol.pair)) = true;
        for (const Symbol& symbol : merged) add_between(left_of(symbol.pair), right_of(symbol.pair));
        const std::vector<std::int32_t>& text = trainer.text_;
        for (std::size_t at = 0; at < text.size();) {
            const std::int32_t id = text[at];
            at += id < 0 ? 1 : trainer.width(id);
            if (id >= 0 && text[at] >= 0) add_between(id, text[at]);
        }
    }

    // The pairs that make valid pieces.
    const std::vector<std::uint64_t>& keys() const { return keys_; }

   private:
    // Adds the pairs that met at the boundary between two symbols before these themselves, which were merged or make no
    // valid piece.
    void add_between(std::int32_t left, std::int32_t right) {
        spell_edge(left, right_of, lefts_);
        spell_edge(right, left_of, rights_);
        while (lefts_.size() > 1 || rights_.size() > 1) {
            add(key_of(lefts_.back(), rights_.back()));
            // The numbers of symbols are in the merges' order; of two places of a merge, the left one is first.
            const bool left_grows =
                rights_.size() == 1 || (lefts_.size() > 1 && *(lefts_.end() - 2) <= *(rights_.end() - 2));
            (left_grows ? lefts_ : rights_).pop_back();
        }
    }

    // Lists the symbols at one edge of a symbol, each of which became a part of the one before, down to a character.
    template <class Half>
    void spell_edge(std::int32_t id, const Half& half, std::vector<std::int32_t>& edge) const {
        edge.assign(1, id);
        while (static_cast<std::size_t>(edge.back()) >= trainer_.characters_.size())
            edge.push_back(half(trainer_.symbol(edge.back()).pair));
    }

    void add(std::uint64_t key) {
        bool& is_known = known_.add(mixed_key(key));
        if (!is_known && trainer_.valid(key)) keys_.push_back(key);
        is_known = true;
    }

    const BpeTrainer& trainer_;
    HashTable<bool> known_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::int32_t> lefts_, rights_;  // the edges of two symbols at the boundary between them
};

// Makes pieces of pairs that no longer occur, up to this number of merges in all.
void BpeTrainer::finish(std::size_t merges, const Progress& progress) {
    struct Unmerged {
        std::uint64_t rank, key;
    };
    std::vector<Unmerged> unmerged;
    const UnmergedPairs pairs(*this);
    for (const std::uint64_t key : pairs.keys()) unmerged.push_back({rank_of(key), key});
    const std::size_t size = std::min(merges - this->merges(), unmerged.size());
    const auto end = unmerged.begin() + static_cast<std::ptrdiff_t>(size);
    const auto before = [this](const Unmerged& a, const Unmerged& b) {
        return a.rank != b.rank ? a.rank < b.rank : spells_later(b.key, a.key);
    };
    std::ranges::nth_element(unmerged, end, before);
    std::sort(unmerged.begin(), end, before);
    for (auto each = unmerged.begin(); each != end; ++each) {
        add_symbol(each->key);
        if (this->merges() % kMergesPerReport == 0) progress(this->merges());
    }
}

}  // namespace nmt_prep::sentencepiece
