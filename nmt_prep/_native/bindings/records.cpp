#include "records.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "one_at_a_time.h"
#include "records/chunk.h"
#include "records/crc32c.h"
#include "records/framed_rows.h"
#include "records/id_counts.h"
#include "records/reader.h"
#include "records/shuffle.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

using WritableBytes = ArrayView<std::uint8_t>;
Permutation permutation(const UInt64Array& keys, std::int64_t rows) {
    Permutation::Keys fixed;
    if (keys.size() != fixed.size()) throw std::invalid_argument("a shuffle has 12 round keys");
    std::copy_n(keys.data(), fixed.size(), fixed.begin());
    return {fixed, rows};
}

std::uint32_t checksum(const ByteArray& data, bool portable) {
    return (portable ? crc32c_portable : crc32c)(data.data(), data.size());
}

NumpyArray shuffle_positions(const UInt64Array& keys, std::int64_t rows, std::int64_t first, std::int64_t count) {
    const Permutation shuffle = permutation(keys, rows);
    if (first < 0 || count < 0 || first > rows - count) throw std::invalid_argument("rows outside the split");
    auto positions = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(count));
    {
        GilRelease unlocked;
        shuffle.positions(first, {positions.get(), static_cast<std::size_t>(count)});
    }
    return own_by_numpy(std::move(positions), static_cast<std::size_t>(count));
}

NumpyArray shuffle_rows_at(const UInt64Array& keys, std::int64_t rows, const Int64Array& positions) {
    const Permutation shuffle = permutation(keys, rows);
    auto found = std::make_unique_for_overwrite<std::int64_t[]>(positions.size());
    {
        GilRelease unlocked;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const std::int64_t position = positions.data()[i];
            if (position < 0 || position >= rows) throw std::invalid_argument("positions outside the split");
            found[i] = shuffle.row_at(position);
        }
    }
    return own_by_numpy(std::move(found), positions.size());
}

auto framed(const Int32Array& values, const Int64Array& offsets, const Int32Array& before, const Int32Array& after) {
    FramedRows rows;
    {
        GilRelease unlocked;
        rows = frame_rows(column(values, offsets), {before.data(), before.size()}, {after.data(), after.size()});
    }
    return std::tuple(own_by_numpy(std::move(rows.values), rows.size), own_by_numpy(std::move(rows.offsets)));
}

using WritableCounts = ArrayView<std::int64_t>;

void add_ids(const WritableCounts& counts, const Int32Array& ids) {
    GilRelease unlocked;
    if (!count_ids({ids.data(), ids.size()}, {counts.data(), counts.size()}))
        throw std::invalid_argument("an id is outside the vocabulary");
}

auto parse(const ByteArray& data, std::size_t max_records) {
    ParsedPairs pairs;
    {
        GilRelease unlocked;
        pairs = parse_pairs({data.data(), data.size()}, max_records);
    }
    return std::tuple(own_by_numpy(std::move(pairs.inputs)), own_by_numpy(std::move(pairs.input_offsets)),
                      own_by_numpy(std::move(pairs.targets)), own_by_numpy(std::move(pairs.target_offsets)),
                      pairs.consumed, pairs.error);
}

std::span<const std::int64_t> span_of(const std::optional<Int64Array>& positions) {
    if (!positions) return {};
    return {positions->data(), positions->size()};
}

void add_pairs(OneAtATime<SpillBuffer>& buffer, std::int64_t first_row, const Int32Array& inputs,
               const Int64Array& input_offsets, const Int32Array& targets, const Int64Array& target_offsets,
               std::uint32_t corpus, const std::optional<Int64Array>& positions) {
    GilRelease unlocked;
    buffer.use()->add(first_row, column(inputs, input_offsets), column(targets, target_offsets), corpus,
                      span_of(positions));
}

void add_text(OneAtATime<SpillBuffer>& buffer, std::int64_t first_row, const ByteArray& inputs,
              const Int64Array& input_offsets, const ByteArray& targets, const Int64Array& target_offsets,
              std::uint32_t corpus, const std::optional<Int64Array>& positions) {
    const auto view = [](const ByteArray& data, const Int64Array& offsets) {
        return TextColumn{{data.data(), data.size()}, {offsets.data(), offsets.size()}};
    };
    GilRelease unlocked;
    buffer.use()->add(first_row, view(inputs, input_offsets), view(targets, target_offsets), corpus,
                      span_of(positions));
}

NumpyArray drain(OneAtATime<SpillBuffer>& held, const WritableBytes& out) {
    const auto buffer = held.use();
    if (out.size() < buffer->bytes()) throw std::invalid_argument("the output is smaller than the buffer's content");
    std::vector<std::int64_t> flat;
    {
        GilRelease unlocked;
        for (const Segment& segment : buffer->drain(out.data())) {
            flat.insert(flat.end(), {segment.bucket, segment.offset, segment.bytes});
        }
    }
    return own_by_numpy(std::move(flat));
}

std::size_t copy_frames(OneAtATime<HeldBucket>& used, const WritableBytes& out) {
    const auto held = used.use();
    if (out.size() < held->bucket.largest())
        throw std::invalid_argument("the chunk is smaller than the largest record");
    GilRelease unlocked;
    return held->bucket.copy(out.data(), out.size());
}

Payload payload(std::string_view name) {
    if (name == "example") return Payload::kExample;
    if (name == "ids") return Payload::kRaw;
    if (name == "text") return Payload::kText;
    throw std::invalid_argument("a payload is example, ids or text");
}

NumpyArray ordered(const Int32Array& inputs, const Int64Array& input_offsets, const Int32Array& targets,
                   const Int64Array& target_offsets, const Int32Array& corpora, std::string_view name) {
    OwnedBytes records;
    {
        GilRelease unlocked;
        records = ordered_records(column(inputs, input_offsets), column(targets, target_offsets),
                                  {corpora.data(), corpora.size()}, payload(name));
    }
    return own_by_numpy(std::move(records.data), records.size);
}

// Returns the text of the pairs from `first` on, up to the pair at which the two sides together reach `bytes`: the
// UTF-8 of each side and its offsets, and the number of each pair's corpus.
auto text(OneAtATime<HeldBucket>& used, std::size_t first, std::size_t bytes) {
    const auto held = used.use();
    const Bucket& bucket = held->bucket;
    if (bucket.payload() != Payload::kText) throw std::invalid_argument("the bucket has no text");
    std::array<std::vector<std::int64_t>, 2> offsets{{{0}, {0}}};
    std::array<std::unique_ptr<std::uint8_t[]>, 2> data;
    std::vector<std::int32_t> corpora;
    {
        GilRelease unlocked;
        std::size_t last = first;
        for (; last < bucket.size() && std::cmp_less(offsets[0].back() + offsets[1].back(), bytes); ++last) {
            const PairInfo pair = bucket.info(last);
            offsets[0].push_back(offsets[0].back() + pair.source);
            offsets[1].push_back(offsets[1].back() + pair.target);
            corpora.push_back(static_cast<std::int32_t>(pair.corpus));
        }
        std::array<std::uint8_t*, 2> to{};
        for (std::size_t side = 0; side < 2; ++side) {
            data[side] = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(offsets[side].back()));
            to[side] = data[side].get();
        }
        for (std::size_t index = first; index < last; ++index) {
            const PairInfo pair = bucket.info(index);
            const std::uint8_t* const content = bucket.content(index);
            to[0] = std::copy_n(content, pair.source, to[0]);
            to[1] = std::copy_n(content + pair.source, pair.target, to[1]);
        }
    }
    const auto size = [&](std::size_t side) { return static_cast<std::size_t>(offsets[side].back()); };
    auto sources = own_by_numpy(std::move(data[0]), size(0));
    auto targets = own_by_numpy(std::move(data[1]), size(1));
    return std::tuple(std::move(sources), own_by_numpy(std::move(offsets[0])), std::move(targets),
                      own_by_numpy(std::move(offsets[1])), own_by_numpy(std::move(corpora)));
}

// Returns the bytes of each framed record, and the three index values of each pair.
auto index(OneAtATime<HeldBucket>& used) {
    const auto held = used.use();
    const Bucket& bucket = held->bucket;
    std::vector<std::int64_t> bytes;
    std::vector<std::uint16_t> pairs;
    {
        GilRelease unlocked;
        bytes.reserve(bucket.size());
        pairs.reserve(3 * bucket.size());
        for (std::size_t i = 0; i < bucket.size(); ++i) {
            const PairInfo info = bucket.info(i);
            bytes.push_back(static_cast<std::int64_t>(info.bytes));
            for (const std::uint16_t value : indexed(info)) pairs.push_back(value);
        }
    }
    return std::tuple(own_by_numpy(std::move(bytes)), own_by_numpy(std::move(pairs)));
}

void bind_spill(nb::module_& module) {
    using FrameIds = std::array<std::vector<std::int32_t>, 2>;
    const FrameIds no_frame;  // before and after the ids of a row
    nb::class_<OneAtATime<SpillBuffer>>(module, "SpillBuffer")
        .def(
            "__init__",
            [](OneAtATime<SpillBuffer>* self, const UInt64Array& keys, std::int64_t rows, std::int64_t shards,
               std::int64_t buckets, std::string_view name, std::size_t expected, FrameIds source_frame,
               FrameIds target_frame) {
                auto& [source_before, source_after] = source_frame;
                auto& [target_before, target_after] = target_frame;
                new (self)
                    OneAtATime<SpillBuffer>(permutation(keys, rows), ShardLayout(rows, shards, buckets), payload(name),
                                            expected, RowFrame{std::move(source_before), std::move(source_after)},
                                            RowFrame{std::move(target_before), std::move(target_after)});
            },
            nb::arg("keys"), nb::arg("rows"), nb::arg("shards"), nb::arg("buckets_per_shard"), nb::arg("payload"),
            nb::arg("expected") = 0, nb::arg("source_frame") = no_frame, nb::arg("target_frame") = no_frame)
        .def("add", &add_pairs, nb::arg("first_row"), nb::arg("inputs"), nb::arg("input_offsets"), nb::arg("targets"),
             nb::arg("target_offsets"), nb::arg("corpus"), nb::arg("positions") = nb::none())
        .def("add_text", &add_text, nb::arg("first_row"), nb::arg("inputs"), nb::arg("input_offsets"),
             nb::arg("targets"), nb::arg("target_offsets"), nb::arg("corpus"), nb::arg("positions") = nb::none())
        .def_prop_ro("bytes", one_call(&SpillBuffer::bytes))
        .def_prop_ro("held", one_call(&SpillBuffer::held))
        .def("drain", &drain, nb::arg("out"));
    nb::class_<OneAtATime<HeldBucket>>(module, "Bucket")
        .def(
            "__init__",
            [](OneAtATime<HeldBucket>* self, ByteArray data, std::int64_t first, std::int64_t last,
               std::string_view name) {
                GilRelease unlocked;
                Bucket bucket({data.data(), data.size()}, first, last, payload(name));
                new (self) OneAtATime<HeldBucket>(std::move(data), std::move(bucket));
            },
            nb::arg("data"), nb::arg("first"), nb::arg("last"), nb::arg("payload"))
        .def("__len__", [](OneAtATime<HeldBucket>& self) { return self.use()->bucket.size(); })
        .def_prop_ro("largest", [](OneAtATime<HeldBucket>& self) { return self.use()->bucket.largest(); })
        .def_prop_ro("source_tokens", [](OneAtATime<HeldBucket>& self) { return self.use()->bucket.source_tokens(); })
        .def_prop_ro("target_tokens", [](OneAtATime<HeldBucket>& self) { return self.use()->bucket.target_tokens(); })
        .def("copy", &copy_frames, nb::arg("out"))
        .def("index", &index)
        .def("text", &text, nb::arg("first"), nb::arg("size"));
}

}  // namespace

void bind_records(nb::module_& module) {
    module.def("crc32c", &checksum, nb::arg("data"), nb::arg("portable") = false);
    module.def("shuffle_positions", &shuffle_positions, nb::arg("keys"), nb::arg("rows"), nb::arg("first"),
               nb::arg("count"));
    module.def("shuffle_rows_at", &shuffle_rows_at, nb::arg("keys"), nb::arg("rows"), nb::arg("positions"));
    module.def("frame_rows", &framed, nb::arg("values"), nb::arg("offsets"), nb::arg("before"), nb::arg("after"));
    module.def("count_ids", &add_ids, nb::arg("counts"), nb::arg("ids"));
    module.def("parse_pairs", &parse, nb::arg("data"), nb::arg("max_records"));
    module.def("ordered_records", &ordered, nb::arg("inputs"), nb::arg("input_offsets"), nb::arg("targets"),
               nb::arg("target_offsets"), nb::arg("corpora"), nb::arg("payload"));
    bind_spill(module);
    bind_chunks(module);
}

}  // namespace nmt_prep
