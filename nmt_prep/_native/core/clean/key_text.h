// The normalized text of lines, from which keys are computed: letters, marks and numbers after compatibility
// decomposition and case folding, with 0 for each decimal digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// Normalizes lines; reuses its memory from line to line.
class KeyText {
   public:
    // Normalizes a line; throws InvalidTextError naming a line that is not UTF-8.
    void normalize(const TextView& text, std::size_t line) { normalize_line<false>(text, line); }

    // The same, and also finds the words: the normalized runs of characters that are not dropped.
    void normalize_words(const TextView& text, std::size_t line) { normalize_line<true>(text, line); }

    // Readable bytes from each word's start.
    static constexpr std::size_t kReadable = 8;

    // The normalized line in UTF-8.
    std::span<const std::uint8_t> text() const { return {bytes_.data(), size_}; }

    // Where each word ends in text(); the next one begins there. Only after normalize_words().
    std::span<const std::uint32_t> word_ends() const { return {ends_.data(), words_}; }

   private:
    template <bool kWords>
    void normalize_line(const TextView& text, std::size_t line);
    template <bool kWords>
    void normalize_points(const std::uint8_t* at, const std::uint8_t* end);
    std::span<const char32_t> replacement(char32_t point);
    void end_word(std::size_t size);

    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;
    std::vector<std::uint32_t> ends_;
    std::size_t words_ = 0;
    std::vector<char32_t> points_;
    std::vector<char32_t> syllable_;
};

}  // namespace nmt_prep::clean
