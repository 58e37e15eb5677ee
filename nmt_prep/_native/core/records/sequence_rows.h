// Rows for causal language models: packs sequences into rows of one length, and fills the matrices of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/column.h"

namespace nmt_prep {

// Returns the row of each sequence, by best fit decreasing: sequences are sorted stably by length, longest first. Each
// goes into the row with the least free space that is enough; among several, into the one that got this free space
// last. If there is none, it opens a new row. So the number of rows depends on the lengths alone, not on their order.
// Throws std::invalid_argument unless `row_length` is from 1 to 2**24 and lengths are from 0 to `row_length`.
std::vector<std::int32_t> pack_sequences(std::span<const std::int32_t> lengths, std::int32_t row_length);

// Matrices of `width` cells per row.
struct SequenceMatrices {
    std::size_t width;
    std::int64_t padding;  // id after the last sequence of a row
    std::int64_t ignored;  // label of ids that do not count for the loss
    std::span<std::int64_t> ids;
    std::span<std::int64_t> labels;
    std::span<std::int64_t> third;  // packed: position in its sequence; else 1 for ids and 0 for padding
};

// Fills the matrices. `bounds` has begin and end of each span in a sequence that counts for the loss; spans are cut
// where their sequence ends. `row_sizes` has the number of sequences in each row, or is empty if each row has one.
// Returns the cells at which sequences begin, and the number of cells; empty if rows are not packed. The padding of a
// packed row counts as a sequence. The first id of a packed sequence does not count for the loss, since the id before
// it belongs to another sequence. Throws std::invalid_argument for bad offsets, sizes or spans, or a row longer than
// `width`.
std::vector<std::int32_t> fill_rows(const IdColumn& sequences, const IdColumn& bounds,
                                    std::span<const std::int64_t> row_sizes, const SequenceMatrices& out);

}  // namespace nmt_prep
