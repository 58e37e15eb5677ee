#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "one_at_a_time.h"
#include "records.h"
#include "records/chunk.h"
#include "records/packing.h"

namespace nmt_prep {
namespace {

constexpr std::int32_t kLongestRow = 1024;
constexpr std::int32_t kLongestRound = 1 << 24;  // sums of two lengths stay far below the limit of int32

void check_row_length(std::int32_t length) {
    if (length < 1 || length > kLongestRow) throw std::invalid_argument("rows are 1 to 1024 ids long");
}

using Packing = std::vector<std::int32_t> (*)(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                              std::int32_t);

NumpyArray pack(Packing packing, const Int32Array& sources, const Int32Array& targets, std::int32_t length,
                std::int32_t longest) {
    if (sources.size() != targets.size()) throw std::invalid_argument("the sides have different numbers of pairs");
    std::vector<std::int32_t> rows;
    {
        GilRelease unlocked;
        for (const Int32Array* side : {&sources, &targets}) {
            for (std::size_t i = 0; i < side->size(); ++i) {
                if (side->data()[i] < 0) throw std::invalid_argument("a length is negative");
                if (side->data()[i] > longest) throw std::invalid_argument("a length is above that of the rows");
            }
        }
        rows = packing({sources.data(), sources.size()}, {targets.data(), targets.size()}, length);
    }
    return own_by_numpy(std::move(rows));
}

NumpyArray pack_best_fit_of(const Int32Array& sources, const Int32Array& targets, std::int32_t length) {
    check_row_length(length);
    return pack(&pack_best_fit, sources, targets, length, std::numeric_limits<std::int32_t>::max());
}

NumpyArray pack_rounds_of(const Int32Array& sources, const Int32Array& targets, std::int32_t length) {
    if (length < 1 || length > kLongestRound) throw std::invalid_argument("rows are 1 to 2**24 ids long");
    return pack(&pack_rounds, sources, targets, length, length);
}

// Takes the complete records out of a writer: framed records, three values per record, three values per pair.
auto take(OneAtATime<ChunkWriter>& held) {
    const auto writer = held.use();
    auto frames = writer->frames();
    std::vector<std::int64_t> blocks;
    std::vector<std::uint16_t> pairs;
    for (const auto& block : writer->blocks()) blocks.insert(blocks.end(), block.begin(), block.end());
    for (const IndexedPair& pair : writer->pairs()) pairs.insert(pairs.end(), pair.begin(), pair.end());
    writer->clear();
    return std::tuple(own_by_numpy(std::move(frames)), own_by_numpy(std::move(blocks)), own_by_numpy(std::move(pairs)));
}

auto parse(const ByteArray& data, std::size_t max_records) {
    ParsedChunks chunks;
    {
        GilRelease unlocked;
        chunks = parse_chunks({data.data(), data.size()}, max_records);
    }
    return std::tuple(own_by_numpy(std::move(chunks.inputs)), own_by_numpy(std::move(chunks.input_offsets)),
                      own_by_numpy(std::move(chunks.targets)), own_by_numpy(std::move(chunks.target_offsets)),
                      own_by_numpy(std::move(chunks.corpora)), own_by_numpy(std::move(chunks.row_pairs)),
                      chunks.records, chunks.consumed, chunks.error);
}

}  // namespace

void bind_chunks(nb::module_& module) {
    module.def("pack_best_fit", &pack_best_fit_of, nb::arg("source_lengths"), nb::arg("target_lengths"),
               nb::arg("length"));
    module.def("pack_rounds", &pack_rounds_of, nb::arg("source_lengths"), nb::arg("target_lengths"), nb::arg("length"));
    module.def("parse_chunks", &parse, nb::arg("data"), nb::arg("max_records"));
    nb::class_<OneAtATime<ChunkWriter>>(module, "ChunkWriter")
        .def(
            "__init__",
            [](OneAtATime<ChunkWriter>* self, std::size_t pairs, std::int32_t row_length) {
                if (!pairs) throw std::invalid_argument("a chunk has at least one pair");
                if (row_length) check_row_length(row_length);
                new (self) OneAtATime<ChunkWriter>(pairs, row_length);
            },
            nb::arg("pairs"), nb::arg("row_length"))
        .def(
            "add",
            [](OneAtATime<ChunkWriter>& writer, OneAtATime<HeldBucket>& held) {
                writer.use()->add(held.use()->bucket);
            },
            nb::arg("bucket"), nb::call_guard<GilRelease>())
        .def("finish", one_call(&ChunkWriter::finish), nb::call_guard<GilRelease>())
        .def("take", &take);
}

}  // namespace nmt_prep
