// Tensor2Tensor's tokenizer: splits a line into runs of alphanumeric characters and runs of others, and drops runs that
// are a single space between two others.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::t2t {

// One bit per byte of a line, lowest first: set if the byte's character is alphanumeric.
using ClassBits = std::vector<std::uint64_t>;

// Fills `bits` for a line and clears those past its end. Requires well-formed UTF-8.
void classify(const std::uint8_t* line, std::size_t size, ClassBits& bits);

// Calls visit(token, size) for every token of a line, in order. `bits` is scratch space.
template <class Visit>
void for_each_token(const std::uint8_t* line, std::size_t size, ClassBits& bits, Visit&& visit) {
    if (size == 0) return;
    classify(line, size, bits);
    std::size_t start = 0;
    std::uint64_t last = bits[0] & 1;  // class of the byte before the word; no token ends before the first byte
    for (std::size_t base = 0; base < size; base += 64) {
        const std::uint64_t word = bits[base / 64];
        std::uint64_t ends = word ^ (word << 1 | last);
        if (size - base < 64) ends &= (std::uint64_t{1} << (size - base)) - 1;
        last = word >> 63;
        for (; ends != 0; ends &= ends - 1) {
            const std::size_t end = base + static_cast<std::size_t>(std::countr_zero(ends));
            if (end - start != 1 || line[start] != ' ' || start == 0) visit(line + start, end - start);
            start = end;
        }
    }
    visit(line + start, size - start);
}

}  // namespace nmt_prep::t2t
