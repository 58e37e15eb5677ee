#include "records/chunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "records/frame.h"
#include "records/packing.h"
#include "records/reader.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kPackedTogether = 16384;
constexpr std::size_t kColumns = 3;  // values of each pair before the ids

std::uint16_t saturated(std::uint32_t value) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(value, 0xffff));
}

std::size_t bytes_of(std::uint32_t tokens) { return sizeof(std::int32_t) * std::size_t{tokens}; }

// Counts of a record's columns, or their error.
struct Counts {
    std::size_t pairs;
    std::size_t rows;
};

std::string_view check_header(std::span<const std::uint8_t> record, Counts& counts) {
    if (record.size() % 4 || record.size() / 4 < kChunkHeader || load<std::int32_t>(record.data()) != kChunkMagic) {
        return "it is not a chunk";
    }
    if (load<std::int32_t>(record.data() + 4) != kChunkVersion) return "it is a chunk of another version";
    const auto pairs = load<std::int32_t>(record.data() + 8);
    const auto rows = load<std::int32_t>(record.data() + 12);
    const std::size_t room = record.size() / 4 - kChunkHeader;
    if (pairs < 0 || rows < 0 || kColumns * static_cast<std::size_t>(pairs) + static_cast<std::size_t>(rows) > room) {
        return "its counts exceed its size";
    }
    counts = {static_cast<std::size_t>(pairs), static_cast<std::size_t>(rows)};
    return {};
}

// Appends lengths to offsets, and returns their sum; SIZE_MAX if a length is negative.
std::size_t append_offsets(const std::uint8_t* lengths, std::size_t count, std::vector<std::int64_t>& offsets) {
    const std::int64_t before = offsets.back();
    for (std::size_t i = 0; i < count; ++i) {
        const auto length = load<std::int32_t>(lengths + 4 * i);
        if (length < 0) return SIZE_MAX;
        offsets.push_back(offsets.back() + length);
    }
    return static_cast<std::size_t>(offsets.back() - before);
}

void append_values(const std::uint8_t* from, std::size_t count, std::vector<std::int32_t>& values) {
    if (!count) return;
    const std::size_t before = values.size();
    values.resize(before + count);
    std::memcpy(values.data() + before, from, 4 * count);
}

std::string parse_chunk(std::span<const std::uint8_t> record, ParsedChunks& chunks) {
    Counts counts{};
    if (const std::string_view error = check_header(record, counts); !error.empty()) return std::string(error);
    const std::uint8_t* at = record.data() + 4 * kChunkHeader;
    const std::size_t sources = append_offsets(at, counts.pairs, chunks.input_offsets);
    const std::size_t targets = append_offsets(at + 4 * counts.pairs, counts.pairs, chunks.target_offsets);
    const std::size_t values = record.size() / 4 - kChunkHeader - kColumns * counts.pairs - counts.rows;
    if (sources > values || targets > values || sources + targets != values)
        return "its lengths do not add up to its number of ids";
    append_values(at + 8 * counts.pairs, counts.pairs, chunks.corpora);
    at += 4 * kColumns * counts.pairs;
    append_values(at, counts.rows, chunks.row_pairs);
    at += 4 * counts.rows;
    append_values(at, sources, chunks.inputs);
    append_values(at + 4 * sources, targets, chunks.targets);
    const auto rows = std::span(chunks.row_pairs).last(counts.rows);
    if (std::ranges::any_of(rows, [](std::int32_t pairs) { return pairs < 1; })) return "it has a row without pairs";
    if (counts.rows && std::accumulate(rows.begin(), rows.end(), std::size_t{0}) != counts.pairs) {
        return "its rows do not add up to its number of pairs";
    }
    return {};
}

}  // namespace

IndexedPair indexed(const PairInfo& pair) {
    return {saturated(pair.source), saturated(pair.target), saturated(pair.corpus)};
}

void ChunkWriter::add(const Bucket& bucket) {
    if (bucket.payload() != Payload::kRaw) throw std::invalid_argument("the bucket has no raw ids");
    const std::size_t together = row_length_ ? kPackedTogether : pairs_;
    for (std::size_t index = 0; index < bucket.size(); ++index) {
        const PairInfo info = bucket.info(index);
        const std::uint8_t* const ids = bucket.content(index);
        infos_.push_back(info);
        starts_.push_back(ids_.size());
        ids_.insert(ids_.end(), ids, ids + bytes_of(info.source) + bytes_of(info.target));
        if (infos_.size() == together) emit_pending();
    }
}

void ChunkWriter::clear() {
    frames_.clear();
    blocks_.clear();
    written_.clear();
}

void ChunkWriter::emit_pending() {
    std::vector<std::size_t> order(infos_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!row_length_) {
        if (!order.empty()) emit(order, {});
    } else {
        std::vector<std::int32_t> sources, targets;
        for (const PairInfo& info : infos_) {
            sources.push_back(static_cast<std::int32_t>(info.source));
            targets.push_back(static_cast<std::int32_t>(info.target));
        }
        const std::vector<std::int32_t> row_of = pack_best_fit(sources, targets, row_length_);
        std::ranges::sort(order, {}, [&](std::size_t pair) { return std::pair(row_of[pair], pair); });
        std::vector<std::int32_t> row_pairs;
        std::size_t first = 0;
        for (std::size_t at = 0; at < order.size(); ++at) {
            if (at == first || row_of[order[at]] != row_of[order[at - 1]]) row_pairs.push_back(0);
            ++row_pairs.back();
            const bool row_ends = at + 1 == order.size() || row_of[order[at + 1]] != row_of[order[at]];
            if (row_ends && (at + 1 == order.size() || at + 1 - first >= pairs_)) {
                emit(std::span(order).subspan(first, at + 1 - first), row_pairs);
                row_pairs.clear();
                first = at + 1;
            }
        }
    }
    infos_.clear();
    starts_.clear();
    ids_.clear();
}

void ChunkWriter::emit(std::span<const std::size_t> order, std::span<const std::int32_t> row_pairs) {
    std::size_t size = 4 * (kChunkHeader + kColumns * order.size() + row_pairs.size());
    for (const std::size_t pair : order) size += bytes_of(infos_[pair].source) + bytes_of(infos_[pair].target);
    if (size > kMaxRecordBytes) throw std::runtime_error("a chunk of pairs is above 2 GiB");
    const std::size_t before = frames_.size();
    frames_.resize(before + kFrameBytes + size);
    std::uint8_t* const data = frames_.data() + before + kFrameHeader;
    std::uint8_t* at = data;
    const auto put = [&at](auto value) {
        store(at, static_cast<std::int32_t>(value));
        at += 4;
    };
    const auto copy = [&at](const std::uint8_t* from, std::size_t bytes) {
        if (bytes) std::memcpy(at, from, bytes);
        at += bytes;
    };
    put(kChunkMagic);
    put(kChunkVersion);
    put(order.size());
    put(row_pairs.size());
    for (const std::size_t pair : order) put(infos_[pair].source);
    for (const std::size_t pair : order) put(infos_[pair].target);
    for (const std::size_t pair : order) put(infos_[pair].corpus);
    for (const std::int32_t pairs : row_pairs) put(pairs);
    for (const std::size_t pair : order) copy(ids_.data() + starts_[pair], bytes_of(infos_[pair].source));
    for (const std::size_t pair : order) {
        copy(ids_.data() + starts_[pair] + bytes_of(infos_[pair].source), bytes_of(infos_[pair].target));
    }
    close_frame(data, at);
    auto rows = static_cast<std::int64_t>(row_pairs.size());
    for (const std::size_t pair : order) {
        const PairInfo& info = infos_[pair];
        if (row_length_ && std::cmp_greater(std::max(info.source, info.target), row_length_)) --rows;
        written_.push_back(indexed(info));
    }
    blocks_.push_back({static_cast<std::int64_t>(kFrameBytes + size), static_cast<std::int64_t>(order.size()), rows});
}

ParsedChunks parse_chunks(std::span<const std::uint8_t> data, std::size_t max_records) {
    ParsedChunks chunks;
    while (chunks.records < max_records) {
        std::span<const std::uint8_t> record;
        if (!next_record(data.subspan(chunks.consumed), record, chunks.error)) break;
        chunks.error = parse_chunk(record, chunks);
        if (!chunks.error.empty()) break;
        ++chunks.records;
        chunks.consumed += kFrameBytes + record.size();
    }
    return chunks;
}

}  // namespace nmt_prep
