#include "batches/pair_batches.h"

#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "batches/distinct_words.h"
#include "one_at_a_time.h"
#include "records.h"
#include "text.h"

namespace nmt_prep {
namespace {

auto split(const nb::bytes& text, const Int32Array& sizes, std::int64_t longest) {
    DistinctWords found;
    {
        const std::string_view content(text.c_str(), text.size());
        GilRelease unlocked;
        found = distinct_words(content, {sizes.data(), sizes.size()}, longest);
    }
    return std::tuple(nb::bytes(found.words.data(), found.words.size()), own_by_numpy(std::move(found.numbers)),
                      own_by_numpy(std::move(found.lengths)));
}

auto aligned(AlignedIds ids) {
    const std::size_t size = ids.size();
    return own_by_numpy(ids.release(), size);
}

auto arrays(PaddedBatches batches) {
    return std::tuple(aligned(std::move(batches.source)), aligned(std::move(batches.target_input)),
                      aligned(std::move(batches.target_output)), aligned(std::move(batches.source_lengths)),
                      aligned(std::move(batches.target_lengths)), own_by_numpy(std::move(batches.places)));
}

auto add(OneAtATime<PairBatches>& self, const Int32Array& source, const Int64Array& source_lengths,
         const Int32Array& target, const Int64Array& target_lengths, const Int64Array& random) {
    PaddedBatches batches;
    {
        GilRelease unlocked;
        batches = self.use()->add({{source.data(), source.size()}, {source_lengths.data(), source_lengths.size()}},
                                  {{target.data(), target.size()}, {target_lengths.data(), target_lengths.size()}},
                                  {random.data(), random.size()});
    }
    return arrays(std::move(batches));
}

auto drain(OneAtATime<PairBatches>& self) {
    PaddedBatches batches;
    {
        GilRelease unlocked;
        batches = self.use()->drain();
    }
    return arrays(std::move(batches));
}

}  // namespace

void bind_pair_batches(nb::module_& module) {
    module.def("distinct_words", &split, nb::arg("text"), nb::arg("sizes"), nb::arg("longest"));
    nb::class_<OneAtATime<PairBatches>>(module, "PairBatches")
        .def(
            "__init__",
            [](OneAtATime<PairBatches>* self, std::int64_t buffer_size, std::int64_t batch_size, std::int64_t buckets,
               std::int64_t bucket_width, std::int64_t source_width, std::int64_t drains, std::int32_t source_padding,
               std::int32_t sos, std::int32_t eos) {
                new (self) OneAtATime<PairBatches>(PairBatchOptions{buffer_size, batch_size, buckets, bucket_width,
                                                                    source_width, drains, source_padding, sos, eos});
            },
            nb::arg("buffer_size"), nb::arg("batch_size"), nb::arg("buckets"), nb::arg("bucket_width"),
            nb::arg("source_width"), nb::arg("drains"), nb::arg("source_padding"), nb::arg("sos"), nb::arg("eos"))
        .def("add", &add, nb::arg("source"), nb::arg("source_lengths"), nb::arg("target"), nb::arg("target_lengths"),
             nb::arg("random"))
        .def("drain", &drain);
}

}  // namespace nmt_prep
