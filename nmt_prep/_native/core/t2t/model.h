// A Tensor2Tensor vocabulary: encodes text by greedy longest match over escaped tokens, and decodes ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "t2t/longest.h"
#include "t2t/tokens.h"
#include "t2t/trie.h"
#include "text/batch.h"
#include "text/id_cache.h"

namespace nmt_prep::t2t {

class Model {
   public:
    // Pieces in the order of ids, well-formed UTF-8. Of equal pieces the last one counts; empty ones match nothing.
    explicit Model(std::vector<std::string> pieces);

    std::size_t size() const { return pieces_.size(); }

    // Throws InvalidTextError, or EncodeError if the vocabulary has no piece for a character of its alphabet.
    RaggedIds encode(const TextView& text, std::size_t threads, const Poll& poll) const;

    // Ids outside the vocabulary are ignored. Surrogates, which only occur in escapes, are written as three bytes each.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

   private:
    struct Token {
        const std::uint8_t* text;
        std::size_t size;
        IdCache::Key key;   // of tokens up to IdCache::kMaxBytes
        std::int64_t* end;  // place for the number of ids up to the end of the token's line
    };

    // Tokens that were found but not encoded yet, while their cache entries are prefetched.
    static constexpr std::size_t kAhead = 32;

    // 260,000 tokens in 8 MiB: those of a large corpus that occur often, with names and numbers.
    static constexpr std::size_t kCacheBits = 17;

    struct Scratch {
        explicit Scratch(bool small_ids) : cache(kCacheBits, small_ids) {}

        IdCache cache;
        ChangeBits bits;
        Token ahead[kAhead];
        Symbols symbols;
    };

    struct SpelledPieces {
        std::vector<Symbols> pieces;
        std::vector<std::int32_t> ids;
    };

    void read_alphabet();
    SpelledPieces spelled_pieces() const;
    std::uint32_t symbol_of(char32_t point) const;
    std::uint32_t text_symbol(char32_t point) const;
    void spell(const std::uint8_t* token, std::size_t size, Symbols& symbols, const Poll& poll) const;
    void encode_run(const TextView& text, std::size_t first, std::size_t last, Scratch& scratch, IdBuffer& ids,
                    std::int64_t* ends, const Poll& poll) const;
    void encode_tokens(std::span<const Token> tokens, Scratch& scratch, IdBuffer& ids, const Poll& poll) const;
    void encode_new_token(const Token& token, Scratch& scratch, IdBuffer& ids, const Poll& poll) const;
    std::int32_t* match(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids,
                        const Poll& poll) const;
    std::int32_t* match_linearly(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids,
                                 const Poll& poll) const;
    void decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const;

    std::vector<std::string> pieces_;
    std::vector<char32_t> alphabet_;             // symbol - 1 -> character, ascending
    std::vector<std::uint32_t> basic_symbols_;   // character below U+10000 -> symbol; 0 is escaped in text
    std::vector<std::uint32_t> escape_symbols_;  // ASCII character of an escape -> symbol
    Trie trie_;
    mutable std::once_flag longest_made_;
    mutable std::unique_ptr<const LongestPieces> longest_;  // built when a text first needs it
    mutable std::vector<std::uint32_t> piece_sizes_;        // symbols of each piece, needed to build it
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::t2t
