#include "text/line_ends.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "one_at_a_time.h"
#include "text.h"
#include "text/split_lines.h"
#include "text/utf8.h"

namespace nb = nanobind;

namespace nmt_prep {
namespace {

std::size_t newlines(const ByteArray& data) {
    const GilRelease unlocked;
    return count_newlines(data.data(), data.size());
}

// Returns the positions of all newlines, whether the data are UTF-8, and whether "\r\n" occurs.
auto scan(const ByteArray& data) {
    std::unique_ptr<std::int64_t[]> ends;
    std::size_t count;
    bool valid;
    bool returns;
    {
        const GilRelease unlocked;
        count = count_newlines(data.data(), data.size());
        ends = std::make_unique_for_overwrite<std::int64_t[]>(count);
        find_newlines(data.data(), data.size(), count, ends.get());
        valid = find_invalid_utf8(data.data(), data.size()) == data.size();
        returns = has_carriage_returns(data.data(), data.size());
    }
    return std::tuple(own_by_numpy(std::move(ends), count), valid, returns);
}

// Returns the newline count of a block of a file, and its hash.
auto facts(const ByteArray& data) {
    const GilRelease unlocked;
    return std::pair(count_newlines(data.data(), data.size()), hash_block(data.data(), data.size()));
}

// Returns the text and the offsets of a block's lines, as in an Arrow array of strings.
auto split(const ByteArray& data, std::size_t lines, const Int64Array& left_out, bool strip_returns) {
    if (left_out.size() % 2 != 0) throw nb::value_error("left_out must have a first line and a number for each range");
    std::vector<LineRange> ranges(left_out.size() / 2);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        ranges[i] = {left_out.data()[2 * i], left_out.data()[2 * i + 1]};
        if (ranges[i].first < 0) throw nb::value_error("a range of left_out begins before line 0");
    }
    std::unique_ptr<std::uint8_t[]> text;
    std::unique_ptr<std::int32_t[]> offsets;
    bool fits = false;
    if (lines <= data.size()) {
        const GilRelease unlocked;
        text = std::make_unique_for_overwrite<std::uint8_t[]>(data.size());
        offsets = std::make_unique_for_overwrite<std::int32_t[]>(lines + 1);
        fits = split_lines(data.data(), data.size(), ranges.data(), ranges.size(), strip_returns, lines, text.get(),
                           offsets.get());
    }
    if (!fits) throw nb::value_error("the block has other lines than expected");
    const auto size = static_cast<std::size_t>(offsets[lines]);
    return std::pair(own_by_numpy(std::move(text), size), own_by_numpy(std::move(offsets), lines + 1));
}

// Returns the text and the offsets of spans of a block, as in an Arrow array of large strings.
auto spans(const ByteArray& data, const Int64Array& starts, const Int64Array& ends) {
    if (starts.size() != ends.size()) throw nb::value_error("there must be as many starts as ends");
    const std::size_t count = starts.size();
    auto offsets = std::make_unique_for_overwrite<std::int64_t[]>(count + 1);
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t start = starts.data()[i];
        const std::int64_t end = ends.data()[i];
        if (start < 0 || end < start || std::cmp_greater(end, data.size()))
            throw nb::value_error("a span is not in the block");
        offsets[i + 1] = offsets[i] + (end - start);
    }
    const auto size = static_cast<std::size_t>(offsets[count]);
    std::unique_ptr<std::uint8_t[]> text;
    {
        const GilRelease unlocked;
        text = std::make_unique_for_overwrite<std::uint8_t[]>(size);
        copy_spans(data.data(), starts.data(), count, offsets.get(), text.get());
    }
    return std::pair(own_by_numpy(std::move(text), size), own_by_numpy(std::move(offsets), count + 1));
}

std::uint64_t block_hash(const ByteArray& data) {
    const GilRelease unlocked;
    return hash_block(data.data(), data.size());
}

// Returns which strings of a column are blank.
auto blank(const ByteArray& data, const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    auto found = std::make_unique_for_overwrite<bool[]>(text.lines);
    {
        const GilRelease unlocked;
        find_blank(text.data, text.offsets, text.lines, found.get());
    }
    return own_by_numpy(std::move(found), text.lines);
}

bool outer_space(const ByteArray& data, const Int64Array& offsets) {
    const TextView text = text_view(data, offsets);
    const GilRelease unlocked;
    return has_outer_space(text.data, text.offsets, text.lines);
}

void new_sampler(OneAtATime<LineSampler>* place, std::int64_t stride, std::int64_t budget) {
    if (stride < 1 || budget < 1) throw nb::value_error("stride and budget must be 1 or more");
    new (place) OneAtATime<LineSampler>(stride, budget);
}

NumpyArray feed(OneAtATime<LineSampler>& sampler, const ByteArray& data, bool last) {
    LineSampler::Taken taken;
    {
        const GilRelease unlocked;
        taken = sampler.use()->feed(data.data(), data.size(), last);
    }
    return own_by_numpy(std::move(taken.bytes), taken.size);
}

}  // namespace

void bind_line_ends(nb::module_& module) {
    module.def("count_newlines", newlines, nb::arg("data"));
    module.def("scan_lines", scan, nb::arg("data"));
    module.def("block_facts", facts, nb::arg("data"));
    module.def("block_hash", block_hash, nb::arg("data"));
    module.def("join_spans", spans, nb::arg("data"), nb::arg("starts"), nb::arg("ends"));
    module.def("find_blank", blank, nb::arg("data"), nb::arg("offsets"));
    module.def("has_outer_space", outer_space, nb::arg("data"), nb::arg("offsets"));
    module.def("split_lines", split, nb::arg("data"), nb::arg("lines"), nb::arg("left_out"), nb::arg("strip_returns"));
    nb::class_<OneAtATime<LineSampler>>(module, "LineSampler")
        .def("__init__", new_sampler, nb::arg("stride"), nb::arg("budget"))
        .def("feed", feed, nb::arg("data"), nb::arg("last"))
        .def_prop_ro("done", one_call(&LineSampler::done))
        .def_prop_ro("lines", one_call(&LineSampler::lines));
}

}  // namespace nmt_prep
