// subword-nmt's segmentation of words by merges, as text or as ids.
//
// A word begins as the symbols of its characters, the last one with kWordEnd. The pair with the lowest rank is merged
// at all its places, and so on. A separator marks all pieces but the last of a word. With a vocabulary, merges that
// made unknown pieces are undone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/dropout.h"
#include "bpe/merge.h"
#include "bpe/pairs.h"
#include "subword_nmt/learn.h"
#include "subword_nmt/words.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"

namespace nmt_prep::subword_nmt {

struct ModelOptions {
    bool word_end_apart;    // true if kWordEnd is a symbol of its own at first, as in version 0.1
    bool whole_words;       // true if each word is one piece
    std::string separator;  // not empty
    // Pieces that need not be undone; none to undo no pieces.
    std::optional<std::vector<std::string>> known;
    std::vector<std::string> tokens;  // pieces by id, empty for ids that text never gets
    std::int32_t unknown;             // id of other pieces
};

struct Dropout {
    double probability = 0;
    std::uint64_t seed = 0;
};

// A word that is cut before it is segmented, as glossaries require.
struct CutWord {
    struct Part {
        std::string text;  // not empty
        bool whole;        // true to leave it alone
    };
    std::string word;
    std::vector<Part> parts;
};

class Model {
   public:
    // `merges` in order of rank; of repeated ones the first counts. Requires at most bpe::PairTable::kMaxPairs merges.
    Model(const Merges& merges, ModelOptions options);

    // The ids of lines. Throws InvalidTextError.
    RaggedIds encode(const TextView& text, const std::vector<CutWord>& cut, std::size_t threads, const Dropout& dropout,
                     const Poll& poll) const;

    // The lines as pieces, separated by spaces. Throws InvalidTextError.
    Texts segment(const TextView& text, const std::vector<CutWord>& cut, std::size_t threads, const Dropout& dropout,
                  const Poll& poll) const;

   private:
    // A piece is an index of `pieces_`, or stands for an unknown character: kUnknown + 2 * code point, plus 1 for the
    // last piece of a word. A symbol may have such a number too. From kCut on, pieces are those of one call's
    // CutPieces.
    static constexpr std::int32_t kUnknown = 1 << 24, kCut = 1 << 26;
    static constexpr std::int32_t kSkipped = -1;  // id of an empty piece, which no trainer reads

    // Memory for segmentation, for one thread at a time.
    struct Scratch {
        explicit Scratch(std::size_t pieces)
            : words(IdCache::bits_for(pieces, 18)),
              phrases(static_cast<unsigned>(IdCache::bits_for(pieces, 16)), std::size_t{1} << 24) {}

        IdCache words;
        PhraseCache phrases;
        bpe::Merger merger;
        std::vector<std::int32_t> pieces;
    };
    // The pieces of words that glossaries cut.
    struct CutPieces {
        std::unordered_map<std::string_view, std::vector<std::int32_t>> words;
        std::vector<std::string> texts;  // pieces that are not in `pieces_`, by number from kCut
    };
    class Run;

    void add_words(Scratch& scratch) const;
    std::int32_t symbol(std::string text);
    std::int32_t piece(std::string text);
    void add_merges(const Merges& merges);
    void add_tokens();

    RaggedIds run(const TextView& text, const CutPieces& cut, bool as_ids, std::size_t threads, const Dropout& dropout,
                  const Poll& poll) const;
    CutPieces cut_pieces(const std::vector<CutWord>& words) const;
    std::int32_t id_of(std::int32_t piece) const {
        return std::cmp_less(piece, ids_.size()) ? ids_[static_cast<std::size_t>(piece)] : options_.unknown;
    }
    std::string text_of(std::int32_t piece, const CutPieces& cut) const;
    void append_pieces(std::span<const std::int32_t> pieces, const CutPieces& cut, std::string& out) const;

    // Writes the pieces of a word and returns their number. Requires room for kExtraPieces more pieces than bytes.
    static constexpr std::size_t kExtraPieces = 6;
    std::size_t segment_word(std::string_view word, bpe::Merger& merger, std::int32_t* out) const;
    template <class Drop>
    std::size_t segment_word_with_dropout(std::string_view word, bpe::Merger& merger, const Drop& drop,
                                          std::int32_t* out) const {
        if (is_one_piece(word, out)) return 1;
        const std::size_t size = spell(word, out);
        return pieces_of_symbols(out, merger.merge_with_dropout<bpe::Merger::Skips::kForStep>(out, size, pairs_, drop));
    }
    bool is_one_piece(std::string_view word, std::int32_t* out) const;
    std::size_t spell(std::string_view word, std::int32_t* out) const;
    std::size_t merge_in_rounds(std::int32_t* symbols, std::size_t size) const;
    std::size_t pieces_of_symbols(std::int32_t* symbols, std::size_t size) const;
    void undo(std::string_view text, bool last, std::vector<std::int32_t>& out) const;
    std::string with_mark(std::string_view text, bool last) const {
        return last ? std::string(text) : std::string(text) + options_.separator;
    }

    ModelOptions options_;
    std::vector<std::string> symbols_;
    std::unordered_map<std::string, std::int32_t> symbol_numbers_;
    CharacterSymbols characters_;
    std::int32_t word_end_ = 0;  // symbol
    bpe::PairTable pairs_;
    bool spells_word_end_ = false;  // true if a merge of characters spells kWordEnd
    bool in_rounds_ = false;        // true if a merge can lead to a pair of a lower rank
    std::unordered_map<std::string, std::pair<std::string, std::string>> made_from_;  // with `known` only

    std::vector<std::string> pieces_;
    std::unordered_map<std::string, std::int32_t> piece_numbers_;
    std::vector<std::int32_t> pieces_of_symbol_[2];  // by symbol: within a word, and at its end
    std::vector<bool> known_;                        // by piece
    std::vector<std::int32_t> ids_;                  // by piece
    // Each short piece with a space, in a place of its own.
    static constexpr std::size_t kShort = 16;
    std::vector<std::array<char, kShort>> short_texts_;
    std::vector<std::uint8_t> short_sizes_;  // 0 for a longer piece
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::subword_nmt
