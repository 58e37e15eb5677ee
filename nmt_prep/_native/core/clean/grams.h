// N-grams of normalized lines, for finding lines that contain most of another line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clean/key_text.h"

namespace nmt_prep::clean {

// A unit is a word, or a character of a script without spaces between words. Marks belong to the previous unit. The
// number of consecutive units in an n-gram depends on its first unit.
inline constexpr std::size_t kWordGram = 2;
inline constexpr std::size_t kCharacterGram = 3;

// Finds the n-grams of lines; reuses its memory from line to line.
class Grams {
   public:
    // Finds the n-grams of a line that KeyText::normalize_words() has normalized.
    void find(const KeyText& normal);

    // Hashes of the n-grams, in the order of the line. Equal n-grams have equal hashes.
    const std::vector<std::uint64_t>& hashes() const { return hashes_; }

    // Number of letters of the line; a character of a script without spaces between words counts as two.
    std::size_t letters() const { return letters_; }

   private:
    struct Unit {
        std::uint64_t hash;
        std::size_t gram;
    };

    void add_word(const std::uint8_t* begin, const std::uint8_t* end);
    void add_characters(const std::uint8_t* begin, const std::uint8_t* end);
    void add_unit(const std::uint8_t* begin, const std::uint8_t* end, bool character);

    std::vector<Unit> units_;
    std::vector<std::uint64_t> hashes_;
    std::size_t letters_ = 0;
};

}  // namespace nmt_prep::clean
