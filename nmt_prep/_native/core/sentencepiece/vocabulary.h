// The pieces of a model for the encoders: spelled as in normalized text, with a table for single characters and a test
// for boundaries that no piece crosses.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "sentencepiece/file.h"
#include "text/batch.h"
#include "text/byte_hash.h"

namespace nmt_prep::sentencepiece {

// A number for each character, -1 where none was set.
class CharacterTable {
   public:
    CharacterTable() : basic_(kBasicEnd, none_) {}

    // Sets the number of all characters that have none so far.
    void set_others(std::int32_t value) {
        std::ranges::replace(basic_, none_, value);
        none_ = value;
    }

    void set(char32_t point, std::int32_t value) {
        if (point < kBasicEnd)
            basic_[point] = value;
        else
            astral_[point] = value;
    }
    std::int32_t operator[](char32_t point) const {
        if (point < kBasicEnd) return basic_[point];
        const auto found = astral_.find(point);
        return found == astral_.end() ? none_ : found->second;
    }

   private:
    static constexpr char32_t kBasicEnd = 0x10000;

    std::int32_t none_ = -1;
    std::vector<std::int32_t> basic_;
    std::unordered_map<char32_t, std::int32_t> astral_;
};

// Filter of the character pairs that are adjacent in some piece; may have false positives, never false negatives.
class Joints {
   public:
    // Properties of one kind of ASCII letters, as masks in which all bits are set, or none.
    struct Letters {
        std::uint64_t cut_before_space = 0;                          // no letter and a space are joined
        std::uint64_t lower_after_space = 0, upper_after_space = 0;  // a space and each letter are joined
    };

    explicit Joints(const std::vector<std::string>& texts);

    const Letters& letters() const { return letters_; }

    bool joined(char32_t left, char32_t right) const {
        if (left < 0x80 && right < 0x80) return ascii_[left][right >> 6] >> (right & 63) & 1;
        const std::uint64_t bit = mix_bits(std::uint64_t{left} << 32 | right, 0x9E3779B97F4A7C15u) >> shift_;
        return others_[bit >> 6] >> (bit & 63) & 1;
    }

   private:
    void summarize_letters();

    std::array<std::array<std::uint64_t, 2>, 0x80> ascii_{};
    Letters letters_;
    std::vector<std::uint64_t> others_;
    int shift_;
};

struct Vocabulary {
    // A piece that text can match. `bytes` is the size of its text in the file.
    struct Entry {
        std::string text;
        std::int32_t id;
        float score;
        PieceType type;
        std::size_t bytes;
    };

    Vocabulary(const ModelFile& file, bool spaces_escaped);

    // Appends the ids of a text that no piece covers: its bytes, or the unknown piece. Consecutive unknowns of a line,
    // which begins at `line_start`, become one. For a model of tokenizers, unknowns of different pretokens are not
    // joined, or no unknowns are.
    void push_unknown(const std::uint8_t* text, std::size_t size, std::size_t line_start, IdBuffer& ids) const;

    // Returns true if one of the ids from `first` on, or the one before them in the line, is the unknown piece. Since
    // an unknown piece is joined with preceding ones, these ids are then not valid elsewhere.
    bool has_unknown(const IdBuffer& ids, std::size_t first, std::size_t line_start) const {
        if (byte_fallback) return false;
        const std::int32_t* const begin = ids.data() + first - (first > line_start ? 1 : 0);
        return std::find(begin, ids.data() + ids.size(), unk_id) != ids.data() + ids.size();
    }

    std::vector<Entry> entries;                              // contains unused pieces only in BPE models
    CharacterTable characters;                               // id of the piece that is this single character
    float lowest_score = std::numeric_limits<float>::max();  // of normal pieces, even ones that no text can match
    bool has_unused = false;
    bool byte_fallback;
    bool spaces_escaped;
    bool fuses_unknown = true;
    bool splits_at_spaces = false;  // a space begins a pretoken
    std::int32_t unk_id = 0;
    std::array<std::int32_t, 256> byte_ids{};
};

}  // namespace nmt_prep::sentencepiece
