// BPE encoding of normalised text: of all neighbours whose join is a piece, the one with the highest score merges, the
// leftmost of equals first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe_merge.h"
#include "spm_random.h"
#include "spm_trie.h"
#include "spm_vocabulary.h"
#include "text_batch.h"

namespace nmt_prep::spm {

class Bpe {
   public:
    struct Scratch {
        bpe::Merger merger;
        std::vector<std::int32_t> symbols;
        std::unordered_map<std::int32_t, std::pair<std::int32_t, std::int32_t>> origins;
    };

    explicit Bpe(const Vocabulary& vocabulary);

    // Appends the ids of a stretch of text that no merge leaves; a whole line where there are unused pieces.
    void encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch,
                IdBuffer& ids) const;

    // The same with BPE-dropout.
    void sample(const std::uint8_t* text, std::size_t size, std::size_t line_start, double dropout, Random& random,
                Scratch& scratch, IdBuffer& ids) const;

   private:
    using Symbol = std::int32_t;  // a piece's id, or a number from pieces_ on for characters that only pieces' parts need
    static constexpr Symbol kStranger = -1;  // a character that no piece has

    struct Pair {
        std::uint64_t symbols = kFree;
        bpe::Merge merge = bpe::kNoMerge;
    };
    static constexpr std::uint64_t kFree = UINT64_MAX;  // the pair of two strangers, which never merges
    static constexpr int kMaxDepth = 100;               // the library splits unused pieces no deeper

    static std::uint64_t key(Symbol left, Symbol right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    std::size_t slot(std::uint64_t pair) const { return mix_bits(pair, 0x9E3779B97F4A7C15u) >> shift_; }
    bpe::Merge find(Symbol left, Symbol right) const {
        const std::uint64_t pair = key(left, right);
        for (std::size_t at = slot(pair);; at = (at + 1) & (pairs_.size() - 1))
            if (pairs_[at].symbols == pair || pairs_[at].symbols == kFree) return pairs_[at].merge;
    }

    void build_pairs(const Vocabulary& vocabulary);
    void spell(const std::uint8_t* text, std::size_t size, std::vector<Symbol>& symbols) const;
    void push(Symbol symbol, const std::uint8_t*& text, std::size_t line_start, int depth, const Scratch& scratch,
              IdBuffer& ids) const;
    template <class Merging>
    void run(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch, IdBuffer& ids,
             const Merging& merging) const;

    const Vocabulary& vocabulary_;
    CharacterTable symbols_;
    Trie frozen_;                       // user-defined symbols, which never merge
    std::vector<std::uint16_t> sizes_;  // of a symbol's text
    std::vector<bool> unused_;          // by symbol
    Symbol pieces_ = 0;
    std::vector<Pair> pairs_;  // hash table
    std::size_t shift_ = 0;
};

}  // namespace nmt_prep::spm
