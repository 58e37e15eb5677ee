// Shared by the bindings of all dialects: text columns, rows of ids, exceptions, interrupts.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "text/batch.h"
#include "text/count_table.h"
#include "text/errors.h"

namespace nmt_prep {

// Returns (values, offsets) as in columns.Ragged.
inline auto ragged_arrays(RaggedIds rows) {
    const auto size = static_cast<std::size_t>(rows.offsets[rows.rows]);
    return std::pair(own_by_numpy(std::move(rows.values), size), own_by_numpy(std::move(rows.offsets), rows.rows + 1));
}

// Views the two arrays of a columns.TextColumn; throws InvalidTextError if they do not fit together.
inline TextView text_view(const ByteArray& data, const Int64Array& offsets) {
    if (offsets.size() == 0)
        throw InvalidTextError("a text column has no offsets; it needs one more than it has lines");
    const TextView text{data.data(), offsets.data(), offsets.size() - 1};
    check_offsets(text, data.size());
    return text;
}

// Lets Ctrl-C interrupt long work: checks for pending signals, at most every few milliseconds.
class SignalPoll {
   public:
    void operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(20)) return;
        last_ = now;
        const GilAcquire locked;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }

   private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Returns distinct texts as in columns.TextColumn, and the count of each.
inline auto count_columns(const CountTable& table) {
    const std::vector<TokenCount>& entries = table.entries();
    const auto size = static_cast<std::size_t>(table.bytes());
    auto bytes = std::make_unique_for_overwrite<std::uint8_t[]>(size);
    auto offsets = std::make_unique_for_overwrite<std::int64_t[]>(entries.size() + 1);
    auto counts = std::make_unique_for_overwrite<std::int64_t[]>(entries.size());
    std::int64_t at = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        offsets[i] = at;
        std::copy(entries[i].token().begin(), entries[i].token().end(), bytes.get() + at);
        at += static_cast<std::int64_t>(entries[i].token().size());
        counts[i] = entries[i].count;
    }
    offsets[entries.size()] = at;
    return std::tuple(own_by_numpy(std::move(bytes), size), own_by_numpy(std::move(offsets), entries.size() + 1),
                      own_by_numpy(std::move(counts), entries.size()));
}

// Calls add(text, count) for each row of such columns; throws InvalidTextError if a text is not UTF-8.
template <class Add>
void for_each_count(const ByteArray& data, const Int64Array& offsets, const Int64Array& counts, Add&& add) {
    const TextView text = text_view(data, offsets);
    if (counts.size() != text.lines) throw nanobind::value_error("there must be a count for each text");
    SignalPoll poll;
    const GilRelease unlocked;
    for (std::size_t i = 0; i < text.lines; ++i) {
        if (i % 65536 == 0) poll();
        check_utf8(text, i);
        if (text.size(i) == 0 || counts.data()[i] < 1)
            throw nanobind::value_error("texts must not be empty, and counts must be 1 or more");
        add(std::string_view(reinterpret_cast<const char*>(text.line(i)), text.size(i)), counts.data()[i]);
    }
}

// Throws EncodeError unless `size` offsets (one more than rows) ascend within the values.
void check_rows(const std::int64_t* offsets, std::size_t size, std::size_t values);

// Returns code points; throws ValueError unless they are those of characters.
inline std::vector<char32_t> checked_points(const std::vector<std::uint32_t>& points) {
    for (const std::uint32_t point : points)
        if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
            throw nanobind::value_error("a code point is no character");
    return {points.begin(), points.end()};
}

// Maps the core's exceptions to exceptions of nmt_prep.base.errors.
void translate_text_errors();

}  // namespace nmt_prep
