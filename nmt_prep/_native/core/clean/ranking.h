// Chooses the rows to keep among rows with the same key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::clean {

// A record is `width` numbers: the two halves of the key, what ranks the row (the smaller the better, the first number
// counts most), and, as the last one, the row's place: the number of its part, times 2^kRowBits, plus its row.
inline constexpr std::size_t kSmallestWidth = 3;
inline constexpr std::size_t kLargestWidth = 8;
inline constexpr unsigned kRowBits = 40;

// A row that is dropped, and the best one with its key.
struct Drop {
    std::uint64_t place;
    std::uint64_t survivor;
};

struct Ranked {
    std::vector<Drop> drops;  // by place
    // Matrix of corpora: entry (a, b) counts the rows of `a` whose key a row of `b` has; (a, a) all rows of `a`.
    std::vector<std::int64_t> overlap;
};

// Sorts records in place and drops all but the best `kept` of each key. `corpora` holds the corpus of each part; the
// numbers of corpora are less than `corpus_count`. Requires parts that `corpora` knows, and a width within the limits.
Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const std::vector<std::uint32_t>& corpora, std::size_t corpus_count);

}  // namespace nmt_prep::clean
