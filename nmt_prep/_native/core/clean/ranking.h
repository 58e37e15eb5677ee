// Chooses the rows to keep among rows with the same key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::clean {

// A record has `width` numbers: the two halves of the key, the ranks of the row (smaller is better, the first rank
// counts most), and the place of the row. The place is the number of the part, times 2^kRowBits, plus the row.
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
    // Matrix of corpora: entry (a, b) is the number of rows of `a` whose key is also in `b`; (a, a) counts all rows of
    // `a`.
    std::vector<std::int64_t> overlap;
};

// Sorts records in place and drops all but the best `kept` of each key. `corpora` holds the corpus of each part; the
// numbers of corpora are less than `corpus_count`. Requires parts that `corpora` knows, and a width within the limits.
Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const std::vector<std::uint32_t>& corpora, std::size_t corpus_count);

}  // namespace nmt_prep::clean
