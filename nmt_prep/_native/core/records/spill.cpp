#include "records/spill.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "records/crc32c.h"
#include "records/frame.h"
#include "text/protobuf.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kChecksum = 4;
constexpr std::size_t kNumbers = 6;  // number of varints before the content
// The maximum size of these numbers in bytes: a position below 2^63 and five numbers of 32 bits.
constexpr std::size_t kMaxNumbers = 40;

template <typename T>
RowParts<T> without_frame(std::span<const T> row) {
    return {std::span<const T>(), row, std::span<const T>()};
}

template <typename T>
std::size_t values_in(const RowParts<T>& row) {
    return row[0].size() + row[1].size() + row[2].size();
}

// Returns the bytes of a row's content.
template <typename T>
std::size_t content_size(const RowParts<T>& row, Payload payload) {
    if constexpr (std::is_same_v<T, std::int32_t>) {
        if (payload == Payload::kExample) return packed_size(row[0]) + packed_size(row[1]) + packed_size(row[2]);
    }
    return values_in(row) * sizeof(T);
}

// Writes a row's content, and returns its end.
template <typename T>
std::uint8_t* write_content(std::uint8_t* out, const RowParts<T>& row, Payload payload) {
    for (const std::span<const T> part : row) {
        if (part.empty()) continue;
        if constexpr (std::is_same_v<T, std::int32_t>) {
            if (payload == Payload::kExample) {
                out = write_packed(out, part);
                continue;
            }
        }
        std::memcpy(out, part.data(), part.size_bytes());
        out += part.size_bytes();
    }
    return out;
}

void check_size(std::int64_t row, std::size_t bytes) {
    if (bytes > kMaxRecordBytes) {
        throw std::invalid_argument("row " + std::to_string(row) + " makes a record above 2 GiB");
    }
}

// Throws std::invalid_argument for a record above 2 GiB.
template <typename T>
PairInfo pair_info(std::int64_t row, const RowParts<T>& source, const RowParts<T>& target, std::uint32_t corpus,
                   Payload payload) {
    const std::size_t source_bytes = content_size(source, payload), target_bytes = content_size(target, payload);
    check_size(row, source_bytes + target_bytes);
    const bool example = payload == Payload::kExample;
    const std::size_t bytes = example ? kFrameBytes + example_size(source_bytes, target_bytes) : 0;
    check_size(row, bytes);
    const auto narrow = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
    return {narrow(values_in(source)), narrow(values_in(target)), corpus,
            narrow(source_bytes),      narrow(target_bytes),      narrow(bytes)};
}

// Returns the bytes of memory that writing a spilled record may change.
std::size_t record_room(const PairInfo& pair) {
    return kMaxNumbers + pair.source_bytes + pair.target_bytes + kChecksum + kPackedSlack;
}

// Writes a spilled record, and returns its end.
template <typename T>
std::uint8_t* write_record(std::uint8_t* start, std::int64_t position, const PairInfo& pair, const RowParts<T>& source,
                           const RowParts<T>& target, Payload payload) {
    std::uint8_t* out = write_varint(start, static_cast<std::uint64_t>(position));
    for (const std::uint32_t number : {pair.source, pair.target, pair.corpus, pair.source_bytes, pair.target_bytes})
        out = write_varint(out, number);
    out = write_content(out, source, payload);
    out = write_content(out, target, payload);
    store(out, masked_crc32c(start, static_cast<std::size_t>(out - start)));
    return out + kChecksum;
}

template <typename T>
void check_rows(const Column<T>& inputs, const Column<T>& targets) {
    inputs.check();
    targets.check();
    if (targets.rows() != inputs.rows()) {
        throw std::invalid_argument(std::to_string(inputs.rows()) + " rows of inputs, " +
                                    std::to_string(targets.rows()) + " of targets");
    }
}

// Bytes of a value that the header of a record counts.
std::uint64_t width(Payload payload) { return payload == Payload::kRaw ? sizeof(std::int32_t) : 1; }

}  // namespace

ShardLayout::ShardLayout(std::int64_t rows, std::int64_t shards, std::int64_t buckets_per_shard)
    : rows_(rows),
      shards_(shards),
      buckets_per_shard_(buckets_per_shard),
      inverse_rows_(1.0 / static_cast<double>(std::max<std::int64_t>(rows, 1))) {
    if (shards < 1 || buckets_per_shard < 1 || shards > kMaxBuckets || buckets_per_shard > kMaxBuckets / shards) {
        throw std::invalid_argument("shards times buckets per shard must be in 1..2^20");
    }
}

std::int64_t ShardLayout::bucket_of(std::int64_t position) const {
    // The largest s with s * rows / shards <= position; products stay below 2^60. An integer division takes as long as
    // copying the record, so the quotient, which is below 2^20, is estimated and corrected.
    const std::int64_t product = (position + 1) * shards_ - 1;
    auto shard = static_cast<std::int64_t>(static_cast<double>(product) * inverse_rows_);
    while (shard * rows_ > product) --shard;
    while ((shard + 1) * rows_ <= product) ++shard;
    if (buckets_per_shard_ == 1) return shard;
    const std::int64_t first = shard * rows_ / shards_;
    const std::int64_t records = (shard + 1) * rows_ / shards_ - first;
    return shard * buckets_per_shard_ + ((position - first + 1) * buckets_per_shard_ - 1) / records;
}

void SpillBuffer::reserve(std::size_t more) {
    if (more <= capacity_ - size_) return;
    const std::size_t capacity = std::max({size_ + more, capacity_ + capacity_ / 2, expected_});
    auto grown = make_large_array<std::uint8_t>(capacity);
    if (size_) std::memcpy(grown.get(), data_.get(), size_);
    data_ = std::move(grown);
    capacity_ = capacity;
}

// Checks the rows to add, and sets their positions.
template <typename T>
void SpillBuffer::prepare(std::int64_t first_row, const Column<T>& inputs, const Column<T>& targets,
                          std::span<const std::int64_t> positions) {
    if ((payload_ == Payload::kText) != std::is_same_v<T, std::uint8_t>) {
        throw std::invalid_argument("a buffer holds either ids or text");
    }
    check_rows(inputs, targets);
    const auto rows = static_cast<std::int64_t>(inputs.rows());
    if (first_row < 0 || first_row > permutation_.rows() - rows) {
        throw std::invalid_argument("rows " + std::to_string(first_row) + " to " + std::to_string(first_row + rows) +
                                    " of a split of " + std::to_string(permutation_.rows()));
    }
    const auto outside = [this](std::int64_t position) { return position < 0 || position >= permutation_.rows(); };
    if (!positions.empty() && (positions.size() != inputs.rows() || std::ranges::any_of(positions, outside))) {
        throw std::invalid_argument("each row has one position in the split");
    }
    entries_.reserve(entries_.size() + inputs.rows());
    first_row_ = first_row;
    positions_.assign(positions.begin(), positions.end());
    if (!positions.empty()) return;
    positions_.resize(inputs.rows());
    permutation_.positions(first_row, positions_);
}

// Adds the record of a prepared row.
template <typename T>
void SpillBuffer::add_row(std::size_t index, const RowParts<T>& source, const RowParts<T>& target,
                          std::uint32_t corpus) {
    const std::int64_t row = first_row_ + static_cast<std::int64_t>(index);
    const PairInfo pair = pair_info(row, source, target, corpus, payload_);
    reserve(record_room(pair));
    const std::int64_t position = positions_[index];
    const std::uint8_t* const end = write_record(data_.get() + size_, position, pair, source, target, payload_);
    const std::size_t offset = std::exchange(size_, static_cast<std::size_t>(end - data_.get()));
    entries_.push_back({layout_.bucket_of(position), offset, size_ - offset});
}

void SpillBuffer::add(std::int64_t first_row, const IdColumn& inputs, const IdColumn& targets, std::uint32_t corpus,
                      std::span<const std::int64_t> positions) {
    prepare(first_row, inputs, targets, positions);
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        add_row(index, source_frame_.around(inputs.row(index)), target_frame_.around(targets.row(index)), corpus);
    }
}

void SpillBuffer::add(std::int64_t first_row, const TextColumn& inputs, const TextColumn& targets, std::uint32_t corpus,
                      std::span<const std::int64_t> positions) {
    prepare(first_row, inputs, targets, positions);
    for (std::size_t index = 0; index < inputs.rows(); ++index)
        add_row(index, without_frame(inputs.row(index)), without_frame(targets.row(index)), corpus);
}

OwnedBytes ordered_records(const IdColumn& inputs, const IdColumn& targets, std::span<const std::int32_t> corpora,
                           Payload payload) {
    if (payload == Payload::kText) throw std::invalid_argument("ids are no text");
    check_rows(inputs, targets);
    if (corpora.size() != inputs.rows()) throw std::invalid_argument("each pair has one corpus");
    std::vector<PairInfo> pairs;
    pairs.reserve(inputs.rows());
    std::size_t room = 0;
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        pairs.push_back(pair_info(static_cast<std::int64_t>(index), without_frame(inputs.row(index)),
                                  without_frame(targets.row(index)), static_cast<std::uint32_t>(corpora[index]),
                                  payload));
        room += record_room(pairs.back());
    }
    OwnedBytes records{std::make_unique_for_overwrite<std::uint8_t[]>(room)};
    std::uint8_t* at = records.data.get();
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        const auto position = static_cast<std::int64_t>(index);
        at = write_record(at, position, pairs[index], without_frame(inputs.row(index)),
                          without_frame(targets.row(index)), payload);
    }
    records.size = static_cast<std::size_t>(at - records.data.get());
    return records;
}

std::vector<Segment> SpillBuffer::drain(std::uint8_t* out) {
    std::vector<std::size_t> ends(static_cast<std::size_t>(layout_.buckets()) + 1, 0);
    for (const Entry& entry : entries_) ends[static_cast<std::size_t>(entry.bucket) + 1] += entry.bytes;
    std::vector<Segment> segments;
    for (std::size_t bucket = 0; bucket + 1 < ends.size(); ++bucket) {
        const std::size_t bytes = ends[bucket + 1];
        if (bytes) {
            segments.push_back({static_cast<std::int64_t>(bucket), static_cast<std::int64_t>(ends[bucket]),
                                static_cast<std::int64_t>(bytes)});
        }
        ends[bucket + 1] += ends[bucket];
    }
    for (const Entry& entry : entries_) {
        std::size_t& to = ends[static_cast<std::size_t>(entry.bucket)];
        std::memcpy(out + to, data_.get() + entry.offset, entry.bytes);
        to += entry.bytes;
    }
    entries_.clear();
    size_ = 0;
    return segments;
}

Bucket::Bucket(std::span<const std::uint8_t> data, std::int64_t first, std::int64_t last, Payload payload)
    : payload_(payload) {
    if (first < 0 || last < first) throw std::invalid_argument("a bucket's positions must be a range");
    if (static_cast<std::uint64_t>(last - first) > data.size() / (kNumbers + kChecksum)) {
        throw std::runtime_error("records are missing");
    }
    records_.resize(static_cast<std::size_t>(last - first));
    std::size_t found = 0;
    for (; !data.empty(); ++found) take(data, first);
    if (found != records_.size()) {
        throw std::runtime_error(std::to_string(records_.size() - found) + " of " + std::to_string(records_.size()) +
                                 " records are missing");
    }
}

// Reads and checks the record at the beginning of `data`, and removes it from `data`.
void Bucket::take(std::span<const std::uint8_t>& data, std::int64_t first) {
    std::array<std::uint64_t, kNumbers> numbers{};
    const std::uint8_t* at = data.data();
    for (std::uint64_t& number : numbers)
        if (read_varint(at, data.data() + data.size(), number)) throw std::runtime_error("a record is cut short");
    const auto [position, source, target, corpus, source_bytes, target_bytes] = numbers;
    const auto header = static_cast<std::size_t>(at - data.data());
    const std::size_t left = std::min(data.size() - header, kMaxRecordBytes);
    if (left < kChecksum || source_bytes > left - kChecksum || target_bytes > left - kChecksum - source_bytes) {
        throw std::runtime_error("a record is cut short");
    }
    const std::size_t checked = header + source_bytes + target_bytes;
    if (load<std::uint32_t>(data.data() + checked) != masked_crc32c(data.data(), checked)) {
        throw std::runtime_error("a record's checksum does not match");
    }
    const std::uint64_t index = position - static_cast<std::uint64_t>(first);
    if (index >= records_.size()) throw std::runtime_error("a record belongs to another bucket");
    if (records_[index].content) throw std::runtime_error("two records have position " + std::to_string(position));
    const bool example = payload_ == Payload::kExample;
    const auto fits = [&](std::uint64_t bytes, std::uint64_t length) {
        return example ? length <= bytes
                       : bytes == width(payload_) * length;  // of an Example, ids take a byte at least
    };
    if (source > kMaxRecordBytes || target > kMaxRecordBytes || !fits(source_bytes, source) ||
        !fits(target_bytes, target)) {
        throw std::runtime_error("a record's size differs from its header");
    }
    const std::size_t bytes = example ? kFrameBytes + example_size(source_bytes, target_bytes) : 0;
    const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    records_[index] = {
        at,
        {narrow(source), narrow(target), narrow(corpus), narrow(source_bytes), narrow(target_bytes), narrow(bytes)}};
    source_tokens_ += static_cast<std::int64_t>(source);
    target_tokens_ += static_cast<std::int64_t>(target);
    largest_ = std::max(largest_, bytes);
    data = data.subspan(checked + kChecksum);
}

std::size_t Bucket::copy(std::uint8_t* out, std::size_t capacity) {
    if (payload_ != Payload::kExample) throw std::invalid_argument("the bucket has no Examples");
    constexpr std::size_t kAhead = 8;
    std::size_t copied = 0;
    for (; next_ < records_.size(); ++next_) {
        if (next_ + kAhead < records_.size()) {
            const std::uint8_t* const soon = records_[next_ + kAhead].content;
            __builtin_prefetch(soon);
            __builtin_prefetch(soon + 64);
        }
        const auto& [content, pair] = records_[next_];
        if (pair.bytes > capacity - copied) break;
        std::uint8_t* const data = out + copied + kFrameHeader;
        close_frame(
            data, write_example(data, {content, pair.source_bytes}, {content + pair.source_bytes, pair.target_bytes}));
        copied += pair.bytes;
    }
    return copied;
}

}  // namespace nmt_prep
