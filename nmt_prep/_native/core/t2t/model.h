// A Tensor2Tensor vocabulary: encodes text by greedy longest match over escaped tokens, and decodes ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "t2t/longest.h"
#include "t2t/token_list.h"
#include "t2t/trie.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"

namespace nmt_prep::t2t {

class Model {
   public:
    // The pieces are in the order of ids, and well-formed UTF-8. Of equal pieces the last one is used; empty pieces
    // match nothing.
    explicit Model(std::vector<std::string> pieces);

    std::size_t size() const { return pieces_.size(); }

    // Throws InvalidTextError, or EncodeError if the vocabulary has no piece for a character of its alphabet.
    RaggedIds encode(const TextView& text, std::size_t threads, const Poll& poll) const;

    // Ids outside the vocabulary are ignored. Surrogates, which only occur in escapes, are written as three bytes each.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

   private:
    // Tokens whose cache entries are prefetched together.
    static constexpr std::size_t kTogether = 64;

    // The cache of a large vocabulary has room for 260,000 tokens in 8 MiB: the frequent tokens of a large corpus, with
    // names and numbers.
    static constexpr std::size_t kCacheBits = 17;

    // The second cache has room for about 65,000 of the tokens that the first one does not hold.
    static constexpr unsigned kLongBits = 14;
    static constexpr std::size_t kLongBytes = std::size_t{1} << 21;

    struct Scratch {
        explicit Scratch(std::size_t pieces)
            : cache(IdCache::bits_for(pieces, kCacheBits), pieces <= std::size_t{1} << 16),
              long_tokens(kLongBits, kLongBytes) {}

        IdCache cache;
        PhraseCache long_tokens;  // long tokens, tokens with many ids, and tokens that `cache` has dropped
        TokenList tokens;
        IdCache::Key keys[kTogether];
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
    void encode_rare_token(const std::uint8_t* token, std::size_t size, const IdCache::Key& key, Scratch& scratch,
                           IdBuffer& ids, const Poll& poll) const;
    void encode_new_token(const std::uint8_t* token, std::size_t size, Scratch& scratch, IdBuffer& ids,
                          const Poll& poll) const;
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
    mutable std::unique_ptr<const LongestPieces> longest_;  // built when the first text needs it
    mutable std::vector<std::uint32_t> piece_sizes_;        // symbols of each piece, needed to build it
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::t2t
