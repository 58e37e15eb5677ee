// Chooses the rows to keep among rows with the same key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::clean {

// A record has `width` numbers: the two halves of the key, the ranks of the row (smaller is better, the first rank
// counts most), and the place of the row. The place is the number of the part, times 2^kRowBits, plus the row.
//
// Records that reduce_records made may also be counts: the key, the largest number as every rank, and a place with the
// bit kCount, the number of the corpus in the bits of the part, and the number of rows in the row's bits. A count
// gives a corpus's number of further rows with the key.
inline constexpr std::size_t kSmallestKeyedWidth = 3;
inline constexpr unsigned kRowBits = 40;
inline constexpr std::uint64_t kCount = std::uint64_t{1} << 63;

// Each part's corpus. The numbers of corpora are less than `count`.
struct Corpora {
    const std::vector<std::uint32_t>& of_part;
    std::size_t count;
};

// Returns false if a record has an unknown part, or a count an unknown corpus.
bool have_corpora(const std::uint64_t* records, std::size_t rows, std::size_t width, const Corpora& corpora);

// A dropped row, and the best row with its key.
struct Drop {
    std::uint64_t place;
    std::uint64_t survivor;
};

struct Ranked {
    std::vector<Drop> drops;  // by place
    // Corpus matrix: entry (a, b) is the number of rows in `a` whose key is also in `b`; (a, a) counts all rows of
    // `a`.
    std::vector<std::int64_t> overlap;
};

// Sorts records in place and drops all but the best `kept` of each key. Requires that they have corpora.
Ranked rank_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                    const Corpora& corpora);

// Sorts records in place and removes all but the best `kept` of each key; a count replaces the removed records of a
// corpus. Returns the number of records left. Reducing them again together with further records gives the same as
// reducing all at once. Requires that they have corpora.
std::size_t reduce_records(std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                           const Corpora& corpora);

// Returns the drops among some records, in their order, given the result of reduce_records for all records with their
// keys.
std::vector<Drop> drops_among(const std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t kept,
                              const std::uint64_t* reduced, std::size_t reduced_rows);

}  // namespace nmt_prep::clean
