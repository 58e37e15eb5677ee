// Content of a fastText model file (.bin or .ftz), versions 11 and 12: the parts that prediction needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nmt_prep::fasttext {

enum class Loss : std::uint8_t { kHierarchicalSoftmax = 1, kNegativeSampling = 2, kSoftmax = 3, kOneVsAll = 4 };

// A list of float32 values in the file. Addresses may be unaligned, so values are read by copying.
struct Values {
    const std::uint8_t* bytes = nullptr;
    std::size_t size = 0;

    float real(std::size_t i) const;
};

// Product quantizer: divides a vector into parts of `part` values (the last may be shorter), and replaces each part by
// the nearest of 256 centroids.
struct Quantizer {
    std::size_t dim = 0, parts = 0, part = 0;
    Values centroids;  // 256 vectors for each part, part by part

    // Index of a centroid's first value, which has the part's size.
    std::size_t centroid(std::size_t number, std::uint8_t code) const;
    std::size_t size(std::size_t number) const;
};

// Matrix with one vector of `dim` values per row, either dense or as codes of a quantizer. With `norms`, rows are
// scaled by norms, which have their own quantizer.
struct MatrixData {
    std::size_t rows = 0, dim = 0;
    bool quantized = false;
    Values dense;
    const std::uint8_t* codes = nullptr;  // [rows, quantizer.parts]
    Quantizer quantizer;
    const std::uint8_t* norm_codes = nullptr;  // [rows], or null
    Quantizer norms;
};

struct Entry {
    std::string_view text;
    std::int64_t count;
};

// A bucket of n-grams that pruning kept, and its row, counted after the rows of words.
struct KeptBucket {
    std::uint32_t bucket, row;
};

// A model. Texts and matrices are views of the file's bytes.
struct ModelFile {
    Loss loss = Loss::kSoftmax;
    std::int32_t word_ngrams = 1, min_chars = 0, max_chars = 0;
    std::uint32_t buckets = 0;
    std::vector<Entry> words, labels;
    bool pruned = false;
    std::vector<KeptBucket> kept;  // empty if not pruned
    MatrixData input, output;

    bool has_ngrams() const { return (max_chars > 0 || word_ngrams > 1) && !(pruned && kept.empty()); }
};

// Throws std::invalid_argument, whose message completes "the file …", unless the bytes are a supervised model.
ModelFile read_model(const std::uint8_t* data, std::size_t size);

}  // namespace nmt_prep::fasttext
