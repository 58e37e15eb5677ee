// Character n-grams of lines, and line similarity by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clean/key_text.h"
#include "text/batch.h"
#include "text/hash_table.h"

namespace nmt_prep::clean {

// Finds the n-grams of the text that normalized keys are computed from. N-grams of two characters begin at characters
// in Han, kana or Thai, n-grams of four at other characters. A text that is too short for any is one n-gram.
class CharacterGrams {
   public:
    // Returns hashes of a line's n-grams, in order, with repetitions. They are valid until the next call. Throws
    // InvalidTextError naming a line that is not UTF-8.
    std::span<const std::uint64_t> of(const TextView& text, std::size_t line);

   private:
    void add_equal(std::span<const char32_t> points);
    void add_mixed(std::span<const char32_t> points);

    KeyText normal_;
    std::vector<char32_t> points_;
    std::vector<std::uint64_t> grams_;
};

// A set of n-grams that other n-grams are compared with.
class GramSet {
   public:
    // Replaces the content. Requires a gram.
    void assign(std::span<const std::uint64_t> grams);

    std::size_t size() const { return seen_.size(); }

    // Returns the number of different grams that are also in the set.
    std::size_t common(std::span<const std::uint64_t> grams);

   private:
    HashTable<std::uint32_t> seen_;  // by n-gram: the number of the last call that found it
    std::uint32_t calls_ = 0;
};

// Returns the number of different grams.
std::size_t count_different(std::span<const std::uint64_t> grams);

// Returns true if a share of a whole is at least `least`.
inline bool is_enough(std::size_t part, std::size_t whole, double least) {
    return static_cast<double>(part) / static_cast<double>(whole) >= least;
}

}  // namespace nmt_prep::clean
