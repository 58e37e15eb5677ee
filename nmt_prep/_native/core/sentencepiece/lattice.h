// The best segmentation for a long text run by its pieces' scores, computed like the library: in float,
// starting from the line's score so far, and with the longest of equally good last pieces. Used for text without spaces
// between words, whose segments are long and rarely repeat.
//
// The walks down the trie from all characters advance together, one step at a time, so that their memory accesses
// overlap and no branch depends on where a walk ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentencepiece/trie.h"

namespace nmt_prep::sentencepiece {

class Lattice {
   public:
    // The best segmentation: pieces and their offsets in characters.
    struct Path {
        const std::int32_t* ids;
        const std::uint32_t* starts;
        std::size_t size;
    };

    // A character with which pieces begin: the base of its node, and the piece of this single character, or the unknown
    // piece.
    struct First {
        std::uint32_t base;
        std::int32_t id;
    };

    // A run of text, as offsets in the spelling.
    struct Run {
        std::uint32_t begin, end;
    };

    // Vector code reads symbols, and writes entries, up to kSlack places behind the last one.
    static constexpr std::size_t kSlack = 16;

    // Finds all pieces in a spelling of `size` symbols, which is followed by `kSlack` readable symbols of any value.
    // `firsts` are by symbol. After each run comes the same symbol, which occurs in no piece.
    void find_pieces(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                     std::size_t size);

    // A piece of several characters in a list: from the top, its id + 1 (24 bits), its length (8), its start (32).
    using Listed = std::uint64_t;
    static constexpr int kListedId = 40, kListedLength = 32;  // lowest bits of these parts
    static constexpr std::uint32_t kMaxListed = UINT8_MAX;    // longest piece

    // Lists the pieces of several characters, up to kMaxListed, instead. Those with the same id are in the order of the
    // text.
    void list_pieces(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                     std::size_t size);
    std::span<Listed> listed() { return {listed_.data(), listed_size_}; }
    // The pieces of single characters, by position.
    std::int32_t* singles() { return last_.data(); }
    const std::int32_t* singles() const { return last_.data(); }

    // Visits the pieces that end at a position and begin in the spelling: visit(start, id), longest first.
    template <class Visit>
    void for_each_ending(std::uint32_t end, const Visit& visit) const;

    // Visits these pieces with id + 1 in place of the ID. For lengths up to kShort that no piece has, it visits 0;
    // `start` may then be negative, before the spelling.
    template <class Visit>
    void for_each_length(std::uint32_t end, const Visit& visit) const;

    // Pieces of up to kShort characters have array entries, longer ones are in lists.
    static constexpr std::size_t kShort = 4;

    // Returns the best segmentation of a run, valid until the next call, and adds to the score of the line. `scores`
    // are by id + 1, the first one is minus infinity, and the others are finite. If a sum before the end is farther
    // from zero than `limit`, returns an empty segmentation and leaves the score.
    Path find_best(const Run& run, const std::vector<float>& scores, float& score);
    Path find_best_within(float limit, const Run& run, const std::vector<float>& scores, float& score);

    // Returns the best segmentation of a segment by itself, in double. `error` is added
    // to each of them.
    Path find_best_alone(const Run& run, const std::vector<double>& scores, double error);
    // Returns true if each sum of that segmentation exceeds the sums with any other last piece by more than twice the
    // error of all additions so far.
    bool is_certain(const Path& path, const Run& run, const std::vector<double>& scores, double error) const;

   private:
    // A walk down the trie: its start and its next node, which may be kNowhere.
    struct Walk {
        std::uint32_t start, place;
    };
    // A longer piece. Pieces that end at the same position are linked.
    struct Long {
        std::uint32_t start;
        std::int32_t id;
        std::int32_t next;  // index in longs_, -1 for none
    };

    template <class Visit>
    void for_each_long(std::uint32_t end, const Visit& visit) const;
    void reserve(std::size_t size);
    template <bool kLists>
    void find(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols, std::size_t size);
    template <bool kLists>
    void find_scalar(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                     std::size_t size);
    // The same in AVX-512, and its parts.
    template <bool kLists>
    void find_avx512(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                     std::size_t size);
    template <bool kLists>
    std::size_t begin_walks(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                            std::size_t size);
    template <bool kLists>
    std::size_t advance_walks(const Trie& trie, const std::uint32_t* symbols, std::size_t size, std::size_t length,
                              std::size_t count);
    void add_long(std::size_t size, std::size_t end, std::uint32_t start, std::int32_t id);
    void reserve_listed(std::size_t more);
    using Equals = std::int32_t (*)(float, float, float, float, float);
    template <bool kKeepsSums, Equals kEquals>
    float score_places_by(const Run& run, const float* scores, float score);
    template <bool kKeepsSums>
    float score_places(const Run& run, const float* scores, float score);
    Path trace(const Run& run);

    // By the position at which a piece begins, shifted by kShort. Entries before the first run are ignored.
    std::vector<std::array<std::int32_t, kShort>> ids_;  // ID + 1 of a piece with one character, two, …; 0 for none
    std::vector<float> best_;                            // by position: sum of the best segmentation, if it is kept
    std::vector<double> sums_;                           // by position: sums of find_best_alone
    std::vector<std::int32_t> last_;  // by position: the last piece of the best segmentation; or singles()
    std::vector<Walk> walks_;
    std::vector<Long> longs_;
    std::vector<std::int32_t> long_ends_;  // by position: index of the first longer piece in longs_, -1 for none
    std::vector<Listed> listed_;
    std::size_t listed_size_ = 0;
    std::vector<std::int32_t> path_ids_;
    std::vector<std::uint32_t> path_starts_;
};

template <class Visit>
void Lattice::for_each_long(std::uint32_t end, const Visit& visit) const {
    // Longer pieces come first in the list.
    for (std::int32_t i = longs_.empty() ? -1 : long_ends_[end]; i >= 0;) {
        const Long& piece = longs_[static_cast<std::size_t>(i)];
        visit(piece.start, piece.id);
        i = piece.next;
    }
}

template <class Visit>
void Lattice::for_each_ending(std::uint32_t end, const Visit& visit) const {
    for_each_long(end, visit);
    for (std::uint32_t length = std::min<std::uint32_t>(kShort, end); length > 0; --length)
        if (const std::int32_t id = ids_[end - length + kShort][length - 1]) visit(end - length, id - 1);
}

template <class Visit>
void Lattice::for_each_length(std::uint32_t end, const Visit& visit) const {
    for_each_long(end, [&](std::uint32_t start, std::int32_t id) { visit(static_cast<std::int32_t>(start), id + 1); });
    const std::array<std::int32_t, kShort>* const row = ids_.data() + end;
    for (std::size_t length = kShort; length > 0; --length)
        visit(static_cast<std::int32_t>(end) - static_cast<std::int32_t>(length), row[kShort - length][length - 1]);
}

}  // namespace nmt_prep::sentencepiece
