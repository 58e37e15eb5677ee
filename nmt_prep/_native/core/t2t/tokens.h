// Tensor2Tensor's tokenizer: splits a line into runs of alphanumeric characters and of others, and drops runs that
// are a single space between two others.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::t2t {

// Bytes that are looked at together: a bit of a word for each.
inline constexpr std::size_t kBlock = 64;

// One bit per byte of a text, lowest first: set where the class of characters changes.
using ChangeBits = std::vector<std::uint64_t>;

// Fills `bits`: a bit is set if its byte is alphanumeric and the byte before is not, or the other way round. The bit of
// the first byte is not set. Requires well-formed UTF-8.
void find_changes(const std::uint8_t* text, std::size_t size, ChangeBits& bits);

// Calls visit(i, token, size) for every token of each line i in [first, last), in order. `bits` is scratch space.
template <class Visit>
void for_each_token(const TextView& text, std::size_t first, std::size_t last, ChangeBits& bits, Visit&& visit) {
    const std::uint8_t* const run = text.line(first);
    const auto place = [&](std::size_t i) { return static_cast<std::size_t>(text.offsets[i] - text.offsets[first]); };
    find_changes(run, place(last), bits);
    for (std::size_t i = first; i < last; ++i) {
        const std::size_t begin = place(i), end = place(i + 1);
        if (begin == end) continue;
        std::size_t start = begin;
        const std::size_t last_word = (end - 1) / 64;
        for (std::size_t word = begin / 64; word <= last_word; ++word) {
            std::uint64_t changes = bits[word];
            if (word == begin / 64) changes &= ~std::uint64_t{1} << begin % 64;  // no token ends before the first byte
            if (word == last_word) changes &= ~std::uint64_t{0} >> (63 - (end - 1) % 64);
            for (; changes != 0; changes &= changes - 1) {
                const std::size_t next = 64 * word + static_cast<std::size_t>(std::countr_zero(changes));
                if (next - start != 1 || run[start] != ' ' || start == begin) visit(i, run + start, next - start);
                start = next;
            }
        }
        visit(i, run + start, end - start);
    }
}

}  // namespace nmt_prep::t2t
