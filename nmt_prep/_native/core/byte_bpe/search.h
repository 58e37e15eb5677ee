// Finds the tokens of a word without merging: repeatedly takes the longest token that does not merge with the previous
// one, with backtracking. Dead ends are memoised. SplitTable explains why the result is that of merging.
//
// The segmentation up to each position is unique, so a dead end is one for every way to reach it. No position is tried
// twice, and a word of n bytes takes at most n^2 steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bpe/characters.h"
#include "bpe/cuts.h"
#include "bpe/splits.h"
#include "bpe/tokens.h"

namespace nmt_prep::byte_bpe {

class TokenSearch {
   public:
    static constexpr std::size_t kMaxBytes = 255;

    struct Tables {
        const bpe::PairTable& pairs;
        const bpe::SplitTable& splits;
        const bpe::CutTable& cuts;
        const bpe::CharacterTable& characters;
        const bpe::TokenTable& tokens;
    };

    // Requires 1 <= size <= kMaxBytes.
    TokenSearch(const Tables& tables, const std::uint8_t* word, std::size_t size) : tables_(tables) {
        const std::uint8_t* at = word;
        for (; at != word + size; at += places_[end_++].character.size) {
            places_[end_].at = at;
            places_[end_].is_dead = false;
            places_[end_].character = bpe::read_character(at);
        }
        places_[end_].at = at;
        places_[end_].is_dead = false;
    }

    // Writes the ids and returns their end. A part between two possible cuts that tokens of whole characters cannot
    // cover is passed to merge(text, size, out), which does the same for it.
    template <class Merge>
    std::int32_t* run(std::int32_t* out, const Merge& merge) {
        cut(0, out);
        for (std::size_t at = 0; at != end_;) {
            const std::size_t end = tables_.tokens.begins(places_[at].character) ? take_token(at) : 0;
            if (end != 0) {
                at = end;
            } else if (take_character(at)) {
                ++at;
            } else if (places_[at].from != at) {
                places_[at].is_dead = true;
                at = places_[at].from;
            } else {
                std::size_t next = at + 1;
                while (next != end_ && crossing(next) != bpe::CutTable::kNone) ++next;
                const auto size = static_cast<std::size_t>(places_[next].at - places_[at].at);
                cut(next, merge(places_[at].at, size, places_[at].out));
                at = next;
            }
        }
        return places_[end_].out;
    }

   private:
    // Before a character, or at the end.
    struct Place {
        const std::uint8_t* at;
        bpe::Character character;
        std::int32_t* out;  // where the following ids are written
        std::int32_t last;  // the previous token, -1 at a possible cut
        std::uint8_t from;  // where that begins; at a possible cut, the position itself
        bool whole_only;    // argument of SplitTable
        bool is_dead;       // dead end
    };

    bpe::CutTable::Crossing crossing(std::size_t place) const {
        return tables_.cuts.crossing(places_[place - 1].character, places_[place].character);
    }
    void cut(std::size_t place, std::int32_t* out) {
        places_[place].out = out;
        places_[place].last = -1;
        places_[place].from = static_cast<std::uint8_t>(place);
    }
    void reach(std::size_t place, std::size_t from, std::int32_t last, std::int32_t* out) {
        const bpe::CutTable::Crossing crossed = place == end_ ? bpe::CutTable::kNone : crossing(place);
        if (crossed == bpe::CutTable::kNone) return cut(place, out);
        places_[place].out = out;
        places_[place].last = last;
        places_[place].from = static_cast<std::uint8_t>(from);
        places_[place].whole_only = crossed == bpe::CutTable::kWholeOnly;
    }
    bool follows(std::int32_t token, const Place& place) const {
        return place.last < 0 || tables_.splits.stay_apart(tables_.pairs, place.last, token, place.whole_only);
    }

    // Takes the longest possible token of two or more characters and returns its end; 0 if there is none.
    std::size_t take_token(std::size_t from) {
        const Place& start = places_[from];
        std::size_t count = 0;
        bpe::TokenTable::Key key = bpe::TokenTable::extend(0, start.character);
        bool longer = true;
        for (std::size_t at = from + 1; longer && at != end_; ++at) {
            key = bpe::TokenTable::extend(key, places_[at].character);
            const bpe::TokenTable::Hint hint = tables_.tokens.hint(key);
            tables_.tokens.prefetch(key);
            candidates_[count] = {key, at + 1};  // without a branch, which would be mispredicted often
            count += hint.token;
            longer = hint.longer;
        }
        while (count > 0) {
            const auto& [candidate, end] = candidates_[--count];
            const Place& next = places_[end];
            if (next.is_dead) continue;
            const auto size = static_cast<std::size_t>(next.at - start.at);
            const std::int32_t token = tables_.tokens.find(candidate, start.at, size);
            if (token < 0 || !follows(token, start)) continue;
            *start.out = token;
            reach(end, from, token, start.out + 1);
            return end;
        }
        return 0;
    }

    // Takes a single character as the symbols that it merges into by itself, if possible.
    bool take_character(std::size_t from) {
        const Place& start = places_[from];
        if (places_[from + 1].is_dead || start.character.size == 4) return false;
        const bpe::CharacterTable::Entry& entry = tables_.characters[start.character.point];
        if (!entry.is_made || !follows(entry.symbols[0], start)) return false;
        std::copy_n(entry.symbols, 3, start.out);
        reach(from + 1, from, entry.symbols[entry.size - 1], start.out + entry.size);
        return true;
    }

    struct Candidate {
        bpe::TokenTable::Key key;
        std::size_t end;
    };

    const Tables tables_;
    std::size_t end_ = 0;
    Place places_[kMaxBytes + 1];
    Candidate candidates_[kMaxBytes];
};

}  // namespace nmt_prep::byte_bpe
