// A Tensor2Tensor vocabulary at work: text to ids by greedy longest match over escaped tokens, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "id_cache.h"
#include "text_batch.h"

namespace nmt_prep::t2t {

class Model {
   public:
    // Pieces in the order of ids, well-formed UTF-8. Of equal pieces the last has the id; empty ones match nothing.
    explicit Model(std::vector<std::string> pieces);

    std::size_t size() const { return pieces_.size(); }

    // Throws InvalidTextError, or EncodeError where the vocabulary has no piece for a character it knows.
    RaggedIds encode(const TextView& text, std::size_t threads, const Poll& poll) const;

    // Ids outside the vocabulary stand for nothing. Surrogates, which only escapes can hold, come as three bytes each.
    Texts decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                 const Poll& poll) const;

   private:
    // Where a symbol leads from a node.
    struct Edge {
        std::uint32_t node = kFree;  // node it leaves
        std::uint32_t symbol = 0;
        std::uint32_t next = 0;  // node it reaches, 0 where that has no edges
        std::int32_t id = -1;    // of the piece that ends there, -1 for none
    };

    struct Scratch {
        IdCache cache{14};
        std::vector<std::uint32_t> symbols;
    };

    static constexpr std::uint32_t kFree = UINT32_MAX;

    void read_alphabet();
    void build_trie();
    const Edge* find(std::uint32_t node, std::uint32_t symbol) const;
    std::uint32_t text_symbol(char32_t point) const;
    void spell(const std::uint8_t* token, std::size_t size, std::vector<std::uint32_t>& symbols) const;
    std::size_t match(const std::vector<std::uint32_t>& symbols, std::int32_t* ids, std::size_t& matched) const;
    void encode_token(const std::uint8_t* token, std::size_t size, std::size_t readable, Scratch& scratch,
                      IdBuffer& ids) const;
    void decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const;

    std::vector<std::string> pieces_;
    std::vector<char32_t> alphabet_;              // symbol - 1 -> character, ascending
    std::vector<std::uint32_t> basic_symbols_;    // character below U+10000 -> symbol; 0 is escaped in text
    std::vector<std::uint32_t> escape_symbols_;   // ASCII character of an escape -> symbol
    std::vector<Edge> roots_;                     // by symbol
    std::vector<Edge> edges_;                     // hash table
    std::size_t edge_shift_ = 0;
    mutable ScratchPool<Scratch> scratch_;
};

}  // namespace nmt_prep::t2t
