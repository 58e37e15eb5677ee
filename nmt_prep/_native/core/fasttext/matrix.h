// Matrices of a fastText model: row sums of the input matrix, row products of the output matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fasttext/file.h"
#include "text/huge_pages.h"

namespace nmt_prep::fasttext {

// Adds `dim` values. Compilers make vector instructions of it, fully unrolled for a constant number.
template <std::size_t kDim>
inline void add_values(float* __restrict sum, const float* __restrict values, std::size_t dim) {
    const std::size_t size = kDim != 0 ? kDim : dim;
    for (std::size_t i = 0; i < size; ++i) sum[i] += values[i];
}

// Input matrix. A small one is expanded to floats in memory; otherwise rows are read from the file's bytes.
class InputMatrix {
   public:
    explicit InputMatrix(const MatrixData& data);

    std::size_t dim() const { return data_.dim; }

    // Adds rows to a sum of `dim` values, in order.
    template <std::size_t kDim>
    void add_rows(std::span<const std::uint32_t> rows, float* sum) const {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i + kAhead < rows.size()) prefetch(rows[i + kAhead]);
            if (!expanded_.empty())
                add_values<kDim>(sum, expanded_.data() + rows[i] * data_.dim, data_.dim);
            else
                add_row(rows[i], sum);
        }
    }

   private:
    static constexpr std::size_t kMaxExpanded = std::size_t{1} << 26;  // bytes

    static constexpr std::size_t kAhead = 8;  // rows that are prefetched

    void prefetch(std::uint32_t row) const {
        if (!expanded_.empty()) __builtin_prefetch(expanded_.data() + row * data_.dim);
    }
    void add_row(std::uint32_t row, float* sum) const;

    MatrixData data_;
    LargeVector<float> expanded_;  // all rows, or empty
};

// Output matrix, one row for each label, or for each inner node of the tree.
class OutputMatrix {
   public:
    // `products` requires kColumns, `product` requires kRows.
    enum class Layout : std::uint8_t { kRows, kColumns };

    OutputMatrix(const MatrixData& data, Layout layout);

    // Product of a row and a vector. With `in_order`, terms are added one by one as in fastText, otherwise in a faster
    // order.
    float product(std::size_t row, const float* vector, bool in_order) const;

    // Products of all rows and a vector, each with its terms added one by one.
    void products(const float* vector, float* result) const;

   private:
    std::size_t rows_, dim_;
    std::vector<float> values_;  // without norms
    std::vector<float> norms_;   // empty if there are none
};

}  // namespace nmt_prep::fasttext
