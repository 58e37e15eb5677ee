#include "text/batch.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "text/errors.h"
#include "text/parallel.h"
#include "text/utf8.h"

namespace nmt_prep {
namespace {

// Large enough for negligible overhead per run, small enough that ids stay in cache and threads end together.
constexpr std::size_t kRunBytes = std::size_t{1} << 17;

// Expected ID count of a run; few texts have more.
constexpr std::size_t kRunIds = std::size_t{1} << 15;

// Room to reserve if all ids are in one row: one id per byte, which takes no memory until it is touched.
constexpr std::size_t kMaxRoom = std::size_t{1} << 24;

// Asks for huge pages for a large piece of memory: page faults on ordinary pages take as long as finding the ids.
void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    void* start = memory;
    std::size_t room = bytes;
    if (bytes >= 4 * kHugePage && std::align(kHugePage, 2 * kHugePage, start, room) != nullptr)
        madvise(start, room / kHugePage * kHugePage, MADV_HUGEPAGE);  // only a hint
#endif
}

}  // namespace

void IdBuffer::reserve(std::size_t extra) { resize(std::max(size_ + extra, capacity_ + capacity_ / 2)); }

void IdBuffer::resize(std::size_t capacity) {
    void* const ids = std::realloc(ids_.get(), capacity * sizeof(std::int32_t));
    if (ids == nullptr) throw std::bad_alloc();
    static_cast<void>(ids_.release());
    ids_.reset(static_cast<std::int32_t*>(ids));
    capacity_ = capacity;
    advise_huge_pages(ids, capacity * sizeof(std::int32_t));
}

IdArray IdBuffer::release() {
    resize(std::max<std::size_t>(size_, 1));
    size_ = capacity_ = 0;
    return std::move(ids_);
}

void check_offsets(const TextView& text, std::size_t data_size) {
    std::int64_t last = text.offsets[0];
    bool ascending = last >= 0;
    for (std::size_t i = 1; i <= text.lines; ++i) {
        ascending &= text.offsets[i] >= last;
        last = text.offsets[i];
    }
    if (!ascending || std::cmp_greater(last, data_size))
        throw InvalidTextError("the offsets of a text column must ascend from 0 or more and stay within its " +
                               std::to_string(data_size) + " bytes; the column is damaged");
}

void check_utf8(const TextView& text, std::size_t i) {
    const std::size_t size = text.size(i);
    const std::size_t at = find_invalid_utf8(text.line(i), size);
    if (at != size)
        throw InvalidTextError("line " + std::to_string(i) + ": byte " + std::to_string(at) + " (value " +
                               std::to_string(text.line(i)[at]) +
                               ") is not UTF-8; convert the text to UTF-8 or drop the line");
}

void check_lines(const TextView& text, std::size_t first, std::size_t last) {
    const std::int64_t end = text.offsets[last];
    const std::uint8_t* const start = text.line(first);
    const auto size = static_cast<std::size_t>(text.data + end - start);
    const bool valid = find_invalid_utf8(start, size) == size;
    for (std::size_t i = first; i < last; ++i) {
        // If a run as a whole is well formed, only a line that ends within a character can be invalid.
        const std::int64_t next = text.offsets[i + 1];
        if (!valid || (next < end && (text.data[next] & 0xC0) == 0x80)) check_utf8(text, i);
    }
}

std::vector<std::size_t> cut_lines(const TextView& text, std::size_t bytes) {
    std::vector<std::size_t> bounds{0};
    for (std::size_t i = 0; i < text.lines; ++i) {
        const auto run = static_cast<std::size_t>(text.offsets[i + 1] - text.offsets[bounds.back()]);
        // Each line counts for 16 bytes more, since even empty lines are work.
        if (run + 16 * (i + 1 - bounds.back()) >= bytes) bounds.push_back(i + 1);
    }
    if (bounds.back() != text.lines) bounds.push_back(text.lines);
    return bounds;
}

RaggedIds encode_lines(const TextView& text, std::size_t threads, const EncodeLine& encode, const Poll& poll) {
    const auto encode_run = [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids,
                                std::int64_t* ends) {
        for (std::size_t i = first; i < last; ++i) {
            encode(i, thread, ids);
            ends[i] = static_cast<std::int64_t>(ids.size());
        }
    };
    return encode_runs(text, threads, encode_run, poll);
}

RaggedIds encode_runs(const TextView& text, std::size_t threads, const EncodeRun& encode, const Poll& poll) {
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    const std::size_t runs = bounds.size() - 1;
    RaggedIds rows{nullptr, std::make_unique_for_overwrite<std::int64_t[]>(text.lines + 1), text.lines};
    rows.offsets[0] = 0;

    // The ids of a single thread are in order; with several threads, each run's ids are moved into place afterwards.
    const bool in_order = threads <= 1 || runs <= 1;
    std::vector<IdBuffer> parts(in_order ? 1 : runs);
    const auto bytes = static_cast<std::size_t>(text.offsets[text.lines] - text.offsets[0]);
    if (in_order) parts[0].room(std::min(kMaxRoom, bytes));
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        IdBuffer& ids = parts[in_order ? 0 : run];
        if (!in_order) ids.room(kRunIds);
        check_lines(text, bounds[run], bounds[run + 1]);
        encode(bounds[run], bounds[run + 1], thread, ids, rows.offsets.get() + 1);  // relative to the part, for now
    });
    if (in_order) {
        rows.values = parts[0].release();
        return rows;
    }

    std::vector<std::size_t> starts(runs + 1, 0);
    for (std::size_t run = 0; run < runs; ++run) starts[run + 1] = starts[run] + parts[run].size();
    IdBuffer values;
    values.room(starts[runs]);
    values.grow(starts[runs]);
    rows.values = values.release();
    parallel_for(runs, threads, [&](std::size_t run, std::size_t) {
        std::copy_n(parts[run].data(), parts[run].size(), rows.values.get() + starts[run]);
        parts[run] = IdBuffer();
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i)
            rows.offsets[i + 1] += static_cast<std::int64_t>(starts[run]);
    });
    return rows;
}

Texts write_rows(std::size_t rows, std::size_t threads, const WriteRow& write, const Poll& poll) {
    constexpr std::size_t kRows = 1024;
    const std::size_t runs = (rows + kRows - 1) / kRows;
    std::vector<std::string> parts(runs);
    Texts texts{{}, std::vector<std::int64_t>(rows + 1, 0)};
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t row = run * kRows; row < std::min(rows, (run + 1) * kRows); ++row) {
            write(row, parts[run]);
            texts.offsets[row + 1] = static_cast<std::int64_t>(parts[run].size());
        }
    });
    std::size_t size = 0;
    for (const std::string& part : parts) size += part.size();
    texts.bytes.reserve(size);
    for (std::size_t run = 0; run < runs; ++run) {
        const auto start = static_cast<std::int64_t>(texts.bytes.size());
        for (std::size_t row = run * kRows; row < std::min(rows, (run + 1) * kRows); ++row)
            texts.offsets[row + 1] += start;
        texts.bytes += parts[run];
        std::string().swap(parts[run]);
    }
    return texts;
}

Texts decode_rows(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                  const DecodeRow& decode, const Poll& poll) {
    const auto write = [&](std::size_t row, std::string& text) {
        decode(values + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row]), text);
    };
    return write_rows(rows, threads, write, poll);
}

}  // namespace nmt_prep
