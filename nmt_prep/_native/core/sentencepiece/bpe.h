// BPE encoding of normalized text: repeatedly merges the neighbors whose concatenation is the piece with the highest
// score, the leftmost of equals first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/merge.h"
#include "bpe/outcome_cache.h"
#include "bpe/pairs.h"
#include "bpe/word_merger.h"
#include "sentencepiece/gaps.h"
#include "sentencepiece/random.h"
#include "sentencepiece/trie.h"
#include "sentencepiece/vocabulary.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {

class Bpe {
   public:
    using Word = bpe::OutcomeCache::Word;

    // Words that are merged together, and how many symbols each begins with.
    struct Unseen {
        bpe::WordMerger merger;
        std::array<Word, bpe::WordMerger::kMaxWords> words;
        std::array<std::size_t, bpe::WordMerger::kMaxWords> sizes;
    };

    struct Scratch {
        bpe::Merger merger;
        std::vector<std::int32_t> symbols;
        std::unordered_map<std::int32_t, std::pair<std::int32_t, std::int32_t>> origins;
        std::unique_ptr<bpe::OutcomeCache> outcomes;  // for sampling
        std::unique_ptr<Unseen> unseen;               // likewise
        Gaps gaps;                                    // likewise
    };

    // BPE-dropout in a line, as in the library: two neighbors whose merge is skipped stay apart until one of them
    // merges. Draws how many merges come before the next one to skip, rather than a number for each merge.
    class Dropout {
       public:
        Dropout(const Gaps& gaps, std::uint64_t seed, std::uint64_t line)
            : gaps_(&gaps), random_(seed, line), left_(gap()) {}

        // Decides about the next merges, at most `merges`, up to the first one to skip. Returns how many come before
        // that one.
        std::size_t keep(std::size_t merges) {
            const std::uint64_t left = left_;
            if (left >= merges) {
                left_ = left - merges;
                return merges;
            }
            left_ = gap();
            return static_cast<std::size_t>(left);
        }

        // Decides about the next merge. Returns true if it is skipped.
        bool operator()() {
            if (left_-- > 0) return false;
            left_ = gap();
            return true;
        }

       private:
        std::uint64_t gap() { return (*gaps_)(random_.uniform()); }

        const Gaps* gaps_;
        Random random_;
        std::uint64_t left_;  // merges before the next one to skip
    };

    // `merges`: the merges of a model of tokenizers, in order. Null for a model of the library, in which two neighbors
    // merge if their concatenation is a piece.
    Bpe(const Vocabulary& vocabulary, const std::vector<TokenizersRules::Merge>* merges);

    // Appends the IDs for a text segment that no merge crosses. If there are unused pieces, the segment must be a
    // whole line.
    void encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch,
                IdBuffer& ids) const;

    // Encodes with dropout. Sampling begins with prepare_sampling(), which sets Scratch::gaps.
    static void prepare_sampling(double dropout, Scratch& scratch);
    void sample(const std::uint8_t* text, std::size_t size, std::size_t line_start, Dropout& dropout, Scratch& scratch,
                IdBuffer& ids) const;

    // Encodes a word with dropout, with a cache of words that were learned. Requires that there are no unused pieces.
    void sample_word(const Word& word, std::size_t line_start, Dropout& dropout, Scratch& scratch, IdBuffer& ids) const;

    // Learns words that are not known, many at a time. learn_rest() learns those that still wait.
    void learn(const Word& word, Scratch& scratch) const;
    void learn_rest(Scratch& scratch) const;

   private:
    using Symbol = std::int32_t;             // a piece's id; from pieces_ on, a character within pieces
    static constexpr Symbol kStranger = -1;  // a character that occurs in no piece

    static constexpr int kMaxDepth = 100;  // the library splits unused pieces no deeper

    struct Pair {
        Symbol left, right;
        bpe::Merge merge;
    };

    std::vector<Pair> pairs_of_pieces(const Vocabulary& vocabulary);
    std::vector<Pair> pairs_of_merges(const Vocabulary& vocabulary, const std::vector<TokenizersRules::Merge>& merges);
    void spell(const std::uint8_t* text, std::size_t size, std::vector<Symbol>& symbols) const;
    void push(Symbol symbol, const std::uint8_t*& text, std::size_t line_start, int depth, const Scratch& scratch,
              IdBuffer& ids) const;
    template <class Merging>
    void run(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch, IdBuffer& ids,
             const Merging& merging) const;

    const Vocabulary& vocabulary_;
    CharacterTable symbols_;
    Trie frozen_;                       // user-defined symbols, which never merge
    std::vector<std::uint16_t> sizes_;  // size of a symbol's text
    std::vector<bool> unused_;          // by symbol
    Symbol pieces_ = 0;
    bpe::PairTable pairs_{0};
};

}  // namespace nmt_prep::sentencepiece
