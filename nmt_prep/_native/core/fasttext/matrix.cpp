#include "fasttext/matrix.h"

#include <algorithm>

namespace nmt_prep::fasttext {
namespace {

// Norm of a quantized matrix row; 1 if the matrix has no norms.
float norm_of(const MatrixData& data, std::size_t row) {
    if (data.norm_codes == nullptr) return 1;
    return data.norms.centroids.real(data.norms.centroid(0, data.norm_codes[row]));
}

// Calls use(i, value) for each value of a quantized matrix row, not scaled by its norm.
template <class Use>
void for_each_value(const MatrixData& data, std::size_t row, Use&& use) {
    const Quantizer& quantizer = data.quantizer;
    const std::uint8_t* const codes = data.codes + row * quantizer.parts;
    std::size_t i = 0;
    for (std::size_t part = 0; part < quantizer.parts; ++part) {
        const std::size_t first = quantizer.centroid(part, codes[part]);
        for (std::size_t at = first; at < first + quantizer.size(part); ++at) use(i++, quantizer.centroids.real(at));
    }
}

}  // namespace

InputMatrix::InputMatrix(const MatrixData& data) : data_(data) {
    if (data.rows > kMaxExpanded / sizeof(float) / data.dim) return;
    expanded_.resize(data.rows * data.dim);
    for (std::size_t row = 0; row < data.rows; ++row)
        add_row(static_cast<std::uint32_t>(row), &expanded_[row * data.dim]);
}

void InputMatrix::add_row(std::uint32_t row, float* sum) const {
    if (data_.quantized) {
        const float norm = norm_of(data_, row);
        for_each_value(data_, row, [&](std::size_t i, float value) { sum[i] += norm * value; });
    } else {
        for (std::size_t i = 0; i < data_.dim; ++i) sum[i] += data_.dense.real(row * data_.dim + i);
    }
}

OutputMatrix::OutputMatrix(const MatrixData& data, Layout layout)
    : rows_(data.rows), dim_(data.dim), values_(data.rows * data.dim) {
    for (std::size_t row = 0; row < rows_; ++row) {
        const auto put = [&](std::size_t i, float value) {
            values_[layout == Layout::kRows ? row * dim_ + i : i * rows_ + row] = value;
        };
        if (data.quantized)
            for_each_value(data, row, put);
        else
            for (std::size_t i = 0; i < dim_; ++i) put(i, data.dense.real(row * dim_ + i));
        if (data.norm_codes != nullptr) norms_.push_back(norm_of(data, row));
    }
}

float OutputMatrix::product(std::size_t row, const float* vector, bool in_order) const {
    const float* const values = values_.data() + row * dim_;
    float sum = 0;
    std::size_t i = 0;
    if (!in_order) {
        float lanes[4] = {};
        for (; i + 4 <= dim_; i += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += values[i + lane] * vector[i + lane];
        sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    }
    for (; i < dim_; ++i) sum += values[i] * vector[i];
    return norms_.empty() ? sum : sum * norms_[row];
}

void OutputMatrix::products(const float* __restrict vector, float* __restrict result) const {
    std::fill_n(result, rows_, 0.0F);
    for (std::size_t i = 0; i < dim_; ++i) {
        const float* const column = values_.data() + i * rows_;
        for (std::size_t row = 0; row < rows_; ++row) result[row] += column[row] * vector[i];
    }
    for (std::size_t row = 0; row < norms_.size(); ++row) result[row] *= norms_[row];
}

}  // namespace nmt_prep::fasttext
