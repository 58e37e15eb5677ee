// Validated lines on one side of a batch: the input of rule kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// One line of well-formed UTF-8.
struct Line {
    const std::uint8_t* begin;
    const std::uint8_t* end;
    bool ascii;

    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// Lines whose UTF-8 was checked once, with bitmaps of white space and continuation bytes.
class Lines {
   public:
    // Throws InvalidTextError naming the line that is not well-formed UTF-8. The text must outlive the object.
    explicit Lines(const TextView& text);

    std::size_t size() const { return text_.lines; }
    Line operator[](std::size_t i) const { return {text_.line(i), text_.line(i + 1), ascii_[i] != 0}; }

    // Bits of the 64 bytes from `at` on: 1 for every byte of a white space character (as in Python's str.isspace), or
    // for every continuation byte. Bits after the end of the line are unspecified.
    std::uint64_t spaces(const std::uint8_t* at) const { return bits(spaces_, at); }
    std::uint64_t continuations(const std::uint8_t* at) const { return bits(continuations_, at); }

    // A line's code points.
    std::size_t characters(const Line& line) const;
    // Code points in [begin, end), which is part of a line.
    std::size_t characters(const std::uint8_t* begin, const std::uint8_t* end) const;
    // A line's white space characters.
    std::size_t space_characters(const Line& line) const;
    // Parts of str.split().
    std::size_t tokens(const Line& line) const;

    // Calls token(begin, end) for every part of str.split().
    template <class Token>
    void for_each_token(const Line& line, Token&& token) const;

   private:
    std::uint64_t bits(const std::vector<std::uint64_t>& of, const std::uint8_t* at) const {
        const auto position = static_cast<std::size_t>(at - first_);
        const std::size_t word = position / 64;
        const std::size_t shift = position % 64;
        return shift == 0 ? of[word] : of[word] >> shift | of[word + 1] << (64 - shift);
    }

    TextView text_;
    const std::uint8_t* first_;
    std::vector<std::uint8_t> ascii_;
    std::vector<std::uint64_t> spaces_;
    std::vector<std::uint64_t> continuations_;
};

// The lowest `size` bits.
inline std::uint64_t low_bits(std::size_t size) {
    return size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
}

template <class Token>
void Lines::for_each_token(const Line& line, Token&& token) const {
    const std::uint8_t* open = nullptr;  // begin of the token that reaches into these 64 bytes
    std::uint64_t before = 1;            // the byte before is white space
    for (const std::uint8_t* at = line.begin; at < line.end; at += 64) {
        const std::uint64_t space = spaces(at);
        const std::uint64_t edges = (space ^ (space << 1 | before)) & low_bits(static_cast<std::size_t>(line.end - at));
        std::uint64_t begins = edges & ~space;
        std::uint64_t ends = edges & space;
        if (open != nullptr && ends != 0) {
            token(open, at + __builtin_ctzll(ends));
            ends &= ends - 1;
            open = nullptr;
        }
        for (; ends != 0; ends &= ends - 1, begins &= begins - 1)
            token(at + __builtin_ctzll(begins), at + __builtin_ctzll(ends));
        if (begins != 0) open = at + __builtin_ctzll(begins);
        before = space >> 63;
    }
    if (open != nullptr) token(open, line.end);
}

// Number of bytes, or other positions i in [0, size), for which test(i) is 1. The test must not branch, so that the
// compiler can use vectors.
template <class Test>
std::size_t count_where(std::size_t size, Test&& test) {
    std::size_t total = 0;
    for (std::size_t first = 0; first < size;) {
        const std::size_t last = size - first < 240 ? size : first + 240;
        std::uint8_t count = 0;
        for (std::size_t i = first; i < last; ++i) count = static_cast<std::uint8_t>(count + test(i));
        total += count;
        first = last;
    }
    return total;
}

}  // namespace nmt_prep::clean
