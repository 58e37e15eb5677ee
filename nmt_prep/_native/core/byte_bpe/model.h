// A byte-level BPE model, which encodes text by merges in order of rank, and decodes ids.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/characters.h"
#include "bpe/cuts.h"
#include "bpe/dropout.h"
#include "bpe/merge.h"
#include "bpe/outcome_cache.h"
#include "bpe/pairs.h"
#include "bpe/splits.h"
#include "bpe/word_merger.h"
#include "byte_bpe/splitter.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"

namespace nmt_prep::byte_bpe {

struct EncodeOptions {
    double dropout = 0;
    std::uint64_t seed = 0;
};

class Model {
   public:
    // `tokens`: bytes by id, empty for ids that merges cannot produce. `specials`: id and text. `merges`: in order of
    // rank; of repeated pairs the last counts. `whole_words`: true to encode a pretoken that equals a token as this
    // token, whatever the merges.
    Model(std::vector<std::string> tokens, const std::vector<std::pair<std::int32_t, std::string>>& specials,
          const std::vector<bpe::PairRule>& merges, bool whole_words);

    // Throws InvalidTextError, or EncodeError if the vocabulary lacks a byte.
    RaggedIds encode(const TextView& text, const Splitter& splitter, std::size_t threads, const EncodeOptions& options,
                     const Poll& poll) const;

    // Decodes ids to bytes. Throws EncodeError for an id that is not in the vocabulary.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

    // By id, true if merges alone produce the token from its bytes; also true for ids without a token.
    std::vector<bool> reachable() const;

   private:
    // Memory for encoding, for one thread at a time.
    struct Scratch {
        explicit Scratch(std::size_t tokens)
            : words(IdCache::bits_for(tokens, 18), tokens <= std::size_t{1} << 16),
              phrases(static_cast<unsigned>(IdCache::bits_for(tokens, 16)), std::size_t{1} << 24) {}

        IdCache words;
        PhraseCache phrases;
        bpe::Merger merger;
        bpe::WordMerger word_merger;
        std::unique_ptr<bpe::OutcomeCache> outcomes;  // outcomes of dropout
        Splitter::Scratch split;
        std::vector<std::int32_t> ids;
    };
    class Run;
    class Units;

    std::unique_ptr<Scratch> make_scratch() const;
    void add_tokens(IdCache& words) const;
    void find_unreachable();
    // Writes the initial symbols of a word, and returns their number; 0 if WordMerger cannot take the word. Requires
    // room for kMaxStart symbols.
    static constexpr std::size_t kMaxStart = 2 * bpe::WordMerger::kMaxSymbols;
    std::size_t start_of_word(const std::uint8_t* word, std::size_t size, std::int32_t* symbols) const;
    // Writes a word's initial symbols, for any size. Requires room for two symbols more than bytes.
    std::size_t start(const std::uint8_t* word, std::size_t size, std::int32_t* symbols) const;
    // Writes the initial symbols of a character, and returns their end.
    std::int32_t* start_of_character(const std::uint8_t* at, const bpe::Character& character, bool after_space,
                                     std::int32_t* symbols) const;
    // Writes the ids of a word and returns their number. Requires room for two ids more than bytes.
    std::size_t merge(const std::uint8_t* word, std::size_t size, bpe::Merger& merger, std::int32_t* out) const;
    std::int32_t* encode_with_dropout(const std::uint8_t* word, std::size_t size, const bpe::Chance& chance,
                                      std::uint64_t key, Scratch& scratch, std::int32_t* out) const;
    void encode_line_with_dropout(const Splitter& splitter, const Splitter::Part& line, const EncodeOptions& options,
                                  Scratch& scratch, IdBuffer& ids) const;
    static std::size_t ends_of(const std::uint8_t* word, std::size_t size) {
        return std::size_t{word[0]} << 8 | word[size - 1];
    }
    void spell(const std::uint8_t* word, std::size_t size, std::int32_t* out) const;
    const std::int32_t* whole_word(const std::uint8_t* word, std::size_t size) const;

    std::vector<std::string> tokens_;
    std::vector<std::string> texts_;  // bytes of each id: tokens and specials
    std::array<std::int32_t, 256> byte_ids_;
    bpe::PairTable pairs_;
    bpe::SplitTable splits_;
    bpe::CutTable cuts_;
    bpe::CharacterTable characters_;
    std::unordered_map<std::string_view, std::int32_t> unreachable_;  // whole words that merges alone do not produce
    std::bitset<std::size_t{1} << 16> unreachable_ends_;              // the first and last bytes of these words
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::byte_bpe
