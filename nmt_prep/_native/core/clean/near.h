// Near duplicates: MinHash bands that find candidates, and their verification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// The lines on both sides of pairs.
struct PairView {
    TextView source;
    TextView target;
};

// Writes a hash for each band of each pair, shape [pairs, bands]. The hash of a band is made from `rows` MinHash values
// of the n-grams of each side, so two pairs with similarities s and t of the sides have the same hash with probability
// (s t)^rows. Throws InvalidTextError naming a line that is not UTF-8.
void band_hashes(const PairView& pairs, std::size_t bands, std::size_t rows, std::uint64_t* hashes);

// A record of a band has `width` numbers: the band's hash, the ranks of the pair (smaller is better, the first
// rank counts most), and its place (ranking.h). An edge from a pair to a better pair with the same hash also has
// `width` numbers: the place of the worse pair, then the ranks and the place of the better pair.
struct Edges {
    std::vector<std::uint64_t> numbers;  // numbers of the edges, ascending, without repetitions
    std::size_t next;                    // the first record whose edges are missing
    std::size_t full_buckets;            // buckets, among those that end here, in which some edges were left out
};

// Returns the edges of sorted records from the record `first` on: about `limit` edges, and at least the edges of one
// record. A record has edges to the better records among the best `cap` records of its bucket (the records with the
// same hash). Requires first < rows.
Edges bucket_edges(const std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t cap,
                   std::size_t first, std::size_t limit);

// Sorts rows of `width` numbers by their groups, and otherwise leaves them in order. Writes the start of each group,
// and the end of the last group. Requires groups less than `count`.
void group_rows(const std::uint64_t* numbers, std::span<const std::uint32_t> groups, std::size_t width,
                std::size_t count, std::uint64_t* grouped, std::uint64_t* starts);

// Two pairs to compare: an index into each pair list.
struct Candidate {
    std::int64_t own;
    std::int64_t other;
};

// Writes true for the first of successive candidates with the same `own` whose sources and whose targets have at least
// this similarity, and false for all others. Throws InvalidTextError naming a line that is not UTF-8.
void verify(const PairView& own, const PairView& other, std::span<const Candidate> candidates, double similarity,
            bool* verified);

}  // namespace nmt_prep::clean
