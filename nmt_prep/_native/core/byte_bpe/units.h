// Encodes long pretokens in units, the parts between boundaries that no token crosses. Clauses of Chinese rarely
// repeat, but most of their units do, so the cache of words has units. The cache entries for all units in a block of
// pretokens are fetched from memory together, and missing units are merged together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "byte_bpe/model.h"

namespace nmt_prep::byte_bpe {

// Copies ids and returns their end. Copies in steps of four, since most sequences are short, and so reads and writes up
// to three ids more.
inline constexpr std::size_t kCopyStep = 4;
inline std::int32_t* copy_ids(const std::int32_t* from, std::size_t count, std::int32_t* out) {
    for (std::size_t i = 0; i < count; i += kCopyStep) std::memcpy(out + i, from + i, kCopyStep * sizeof *out);
    return out + count;
}

class Model::Units {
   public:
    Units(const Model& model, Scratch& scratch) : model_(model), scratch_(scratch) {}

    // Adds a word, which must stay valid until `encode`; words are numbered from 0. `readable`: number of readable
    // bytes from `word`, at least `size`. Requires size >= 1.
    void add(const std::uint8_t* word, std::size_t size, std::size_t readable);

    // Finds the ids of all words. Requires that the merger of words is empty.
    void encode();

    // Number of words.
    std::size_t size() const { return ends_.size(); }

    // Writes the ids of a word and returns their end. May write up to three ids more.
    std::int32_t* write(std::size_t word, std::int32_t* out) const;

    void clear();

   private:
    struct Unit {
        const std::uint8_t* text;
        std::size_t size;
        bool is_cached;  // true if the unit is in the cache, or will be
        IdCache::Key key;
        std::size_t start, count;  // its ids are ids_[start, start + count); none yet if `count` is 0
    };

    void add_unit(const std::uint8_t* unit, std::size_t size, std::size_t readable);
    void add_character(const bpe::CharacterTable::Entry& entry);
    void encode(Unit& unit);
    void merge_waiting();
    void set(Unit& unit, std::size_t count);

    const Model& model_;
    Scratch& scratch_;
    std::vector<Unit> units_;
    std::vector<std::size_t> ends_;  // end of each word, among the units
    std::vector<std::int32_t> ids_;  // its first `used_` are in use
    std::size_t used_ = 0;
    std::size_t bytes_ = 0;                                  // bytes of all words, an upper limit of the ID count
    std::array<Unit*, bpe::WordMerger::kMaxWords> waiting_;  // units in the merger of words
};

}  // namespace nmt_prep::byte_bpe
