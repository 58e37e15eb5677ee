#include "fasttext/file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace nmt_prep::fasttext {
namespace {

constexpr std::int32_t kMagic = 793712314;
constexpr std::int32_t kOldest = 11, kNewest = 12;
constexpr std::size_t kCentroids = 256;
constexpr std::int32_t kMaxBuckets = 500'000'000;

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }
[[noreturn]] void damaged(const std::string& what) { fail("is damaged: " + what); }

class Reader {
   public:
    Reader(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    bool flag() { return *take(1) != 0; }

    // Reads a number that is a count or a size.
    template <class T>
    std::size_t size(const char* what) {
        const T value = number<T>();
        if (value < 0) damaged(std::string(what) + " is " + std::to_string(value));
        return static_cast<std::size_t>(value);
    }

    std::string_view text() {
        const void* const end = left_ == 0 ? nullptr : std::memchr(at_, 0, left_);
        if (end == nullptr) fail("is cut short");
        const auto size = static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - at_);
        const auto* const start = reinterpret_cast<const char*>(take(size + 1));
        return {start, size};
    }

    const std::uint8_t* take(std::size_t size) {
        if (size > left_) fail("is cut short");
        left_ -= size;
        return std::exchange(at_, at_ + size);
    }

    // Takes `rows` times `width` items of `bytes` bytes.
    const std::uint8_t* table(std::size_t rows, std::size_t width, std::size_t bytes) {
        if (width != 0 && rows > left_ / bytes / width) fail("is cut short");
        return take(rows * width * bytes);
    }

    std::size_t left() const { return left_; }

   private:
    const std::uint8_t* at_;
    std::size_t left_;
};

void read_settings(Reader& reader, std::int32_t version, ModelFile& model, std::size_t& dim) {
    dim = reader.size<std::int32_t>("the size of its vectors");
    if (dim == 0) damaged("its vectors are empty");
    reader.take(4 * sizeof(std::int32_t));  // settings of training: window, epochs, minimum count, negative samples
    model.word_ngrams = reader.number<std::int32_t>();
    const auto loss = reader.number<std::int32_t>();
    const auto kind = reader.number<std::int32_t>();
    const auto buckets = reader.number<std::int32_t>();
    model.min_chars = reader.number<std::int32_t>();
    model.max_chars = reader.number<std::int32_t>();
    reader.take(sizeof(std::int32_t) + sizeof(double));  // training settings: update rate, sampling threshold
    if (kind == 1 || kind == 2)
        fail(std::string("is an unsupervised model (") + (kind == 1 ? "cbow" : "skipgram") +
             "), which has word vectors but no labels; use a supervised model");
    if (kind != 3) damaged("there is no kind of model " + std::to_string(kind));
    if (loss < 1 || loss > 4) damaged("there is no loss " + std::to_string(loss));
    if (buckets < 0 || buckets > kMaxBuckets) damaged("it has " + std::to_string(buckets) + " buckets");
    model.loss = static_cast<Loss>(loss);
    model.buckets = static_cast<std::uint32_t>(buckets);
    if (version == kOldest) model.max_chars = 0;  // supervised models of this version did not use n-grams of characters
}

void read_entries(Reader& reader, ModelFile& model) {
    const std::size_t size = reader.size<std::int32_t>("the size of its dictionary");
    const std::size_t words = reader.size<std::int32_t>("its number of words");
    const std::size_t labels = reader.size<std::int32_t>("its number of labels");
    reader.take(sizeof(std::int64_t));  // token count of the training text
    const auto kept = reader.number<std::int64_t>();
    if (size != words + labels) damaged("its words and labels are not as many as its dictionary's entries");
    if (labels == 0) damaged("it has no labels");
    constexpr std::size_t kSmallestEntry = 1 + sizeof(std::int64_t) + 1;
    if (size > reader.left() / kSmallestEntry) fail("is cut short");
    model.words.reserve(words);
    model.labels.reserve(labels);
    for (std::size_t i = 0; i < size; ++i) {
        const std::string_view text = reader.text();
        const auto count = reader.number<std::int64_t>();
        const bool is_label = reader.number<std::int8_t>() != 0;
        if (is_label != (i >= words)) damaged("its labels do not follow its words");
        if (count < 0) damaged("an entry of its dictionary has a negative count");
        (is_label ? model.labels : model.words).push_back({text, count});
    }
    model.pruned = kept >= 0;
    if (!model.pruned) return;
    if (std::cmp_greater(kept, reader.left() / (2 * sizeof(std::int32_t)))) fail("is cut short");
    model.kept.reserve(static_cast<std::size_t>(kept));
    for (std::int64_t i = 0; i < kept; ++i) {
        const auto bucket = reader.number<std::int32_t>();
        const auto row = reader.number<std::int32_t>();
        if (bucket < 0 || std::cmp_greater_equal(bucket, model.buckets) || row < 0 || row >= kept)
            damaged("it keeps a bucket of n-grams out of range");
        model.kept.push_back({static_cast<std::uint32_t>(bucket), static_cast<std::uint32_t>(row)});
    }
}

Quantizer read_quantizer(Reader& reader, std::size_t dim) {
    Quantizer quantizer;
    quantizer.dim = reader.size<std::int32_t>("the size of a quantiser's vectors");
    quantizer.parts = reader.size<std::int32_t>("a quantiser's number of parts");
    quantizer.part = reader.size<std::int32_t>("the size of a quantiser's parts");
    const std::size_t last = reader.size<std::int32_t>("the size of a quantiser's last part");
    if (quantizer.dim != dim || quantizer.parts == 0 || last == 0 || last > quantizer.part ||
        (quantizer.parts - 1) * quantizer.part + last != dim)
        damaged("the parts of a quantiser do not fit its vectors");
    quantizer.centroids = {reader.table(dim, kCentroids, sizeof(float)), dim * kCentroids};
    return quantizer;
}

void read_quantized(Reader& reader, MatrixData& matrix) {
    const bool has_norms = reader.flag();
    matrix.rows = reader.size<std::int64_t>("a number of rows");
    matrix.dim = reader.size<std::int64_t>("a number of columns");
    const std::size_t codes = reader.size<std::int32_t>("a number of codes");
    matrix.codes = reader.take(codes);
    matrix.quantizer = read_quantizer(reader, matrix.dim);
    if (codes / matrix.quantizer.parts != matrix.rows || codes % matrix.quantizer.parts != 0)
        damaged("a matrix has " + std::to_string(codes) + " codes, which do not fit its rows");
    if (!has_norms) return;
    matrix.norm_codes = reader.take(matrix.rows);
    matrix.norms = read_quantizer(reader, 1);
}

MatrixData read_matrix(Reader& reader, bool quantized) {
    MatrixData matrix;
    matrix.quantized = quantized;
    if (quantized) {
        read_quantized(reader, matrix);
    } else {
        matrix.rows = reader.size<std::int64_t>("a number of rows");
        matrix.dim = reader.size<std::int64_t>("a number of columns");
        matrix.dense.bytes = reader.table(matrix.rows, matrix.dim, sizeof(float));
        matrix.dense.size = matrix.rows * matrix.dim;
    }
    return matrix;
}

void check_shapes(const ModelFile& model, std::size_t dim) {
    std::size_t rows = model.words.size();
    if (model.has_ngrams()) {
        if (model.buckets == 0) damaged("it has n-grams but no buckets for them");
        rows += model.pruned ? model.kept.size() : model.buckets;
    }
    if (model.input.rows < rows || model.input.dim != dim) damaged("its input matrix does not fit its dictionary");
    if (model.output.rows != model.labels.size() || model.output.dim != dim)
        damaged("its output matrix does not fit its labels");
}

}  // namespace

float Values::real(std::size_t i) const {
    float value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
}

std::size_t Quantizer::size(std::size_t number) const { return number + 1 < parts ? part : dim - (parts - 1) * part; }

std::size_t Quantizer::centroid(std::size_t number, std::uint8_t code) const {
    return number * kCentroids * part + code * size(number);
}

ModelFile read_model(const std::uint8_t* data, std::size_t size) {
    Reader reader(data, size);
    if (size < sizeof kMagic || reader.number<std::int32_t>() != kMagic) fail("is not a fastText model");
    const auto version = reader.number<std::int32_t>();
    if (version < kOldest || version > kNewest)
        fail("is a fastText model of version " + std::to_string(version) + "; versions 11 and 12 are supported");
    ModelFile model;
    std::size_t dim = 0;
    read_settings(reader, version, model, dim);
    read_entries(reader, model);
    const bool quantized = reader.flag();
    if (model.pruned && !quantized) damaged("it is pruned but not quantised");
    model.input = read_matrix(reader, quantized);
    const bool quantized_output = reader.flag();
    model.output = read_matrix(reader, quantized && quantized_output);
    if (reader.left() != 0) damaged(std::to_string(reader.left()) + " bytes follow its end");
    check_shapes(model, dim);
    return model;
}

}  // namespace nmt_prep::fasttext
