// Character n-grams of lines, and the similarity of lines by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clean/key_text.h"
#include "text/batch.h"

namespace nmt_prep::clean {

// Finds the n-grams of the text that normalized keys are computed from. An n-gram of two characters begins at each
// character in Han, kana or Thai, one of four characters at each other character. A text without any is one n-gram.
class CharacterGrams {
   public:
    // Returns hashes of the n-grams of a line, in order, with repetitions. They are valid until the next call. Throws
    // InvalidTextError naming a line that is not UTF-8.
    std::span<const std::uint64_t> of(const TextView& text, std::size_t line);

   private:
    void add_equal(std::span<const char32_t> points);
    void add_mixed(std::span<const char32_t> points);

    KeyText normal_;
    std::vector<char32_t> points_;
    std::vector<std::uint64_t> grams_;
};

// Sorts hashes and removes repetitions.
void make_set(std::vector<std::uint64_t>& grams);

// Returns true if the Jaccard similarity of two sets is at least `similarity`. Requires sets that are not empty.
bool similar(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second, double similarity);

}  // namespace nmt_prep::clean
