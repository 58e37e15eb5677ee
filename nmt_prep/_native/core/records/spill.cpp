#include "records/spill.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "records/crc32c.h"
#include "records/frame.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kSpillHeader = 20;

std::size_t frame_size(const std::uint8_t* frame) {
    return static_cast<std::size_t>(load<std::uint64_t>(frame)) + kFrameBytes;
}

template <typename T>
std::uint8_t* write_raw(std::uint8_t* out, std::span<const T> inputs, std::span<const T> targets) {
    for (const std::span<const T> values : {inputs, targets}) {
        if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
        out += values.size_bytes();
    }
    return out;
}

ExampleSize content_size(Ids source, Ids target, Payload payload) {
    if (payload == Payload::kExample) return example_size(source, target);
    return {source.size_bytes(), target.size_bytes(), source.size_bytes() + target.size_bytes()};
}

// Writes the ids of a pair and the frame around them; returns the end.
std::uint8_t* write_ids(std::uint8_t* data, Ids source, Ids target, const ExampleSize& size, Payload payload) {
    return close_frame(data, payload == Payload::kExample ? write_example(data, source, target, size)
                                                          : write_raw(data, source, target));
}

// Writes the header of a spilled record; returns the place of its content.
std::uint8_t* write_header(std::uint8_t* header, std::int64_t position, std::size_t source, std::size_t target,
                           std::uint32_t corpus) {
    store(header, position);
    store(header + 8, static_cast<std::uint32_t>(source));
    store(header + 12, static_cast<std::uint32_t>(target));
    store(header + 16, corpus);
    return header + kSpillHeader + kFrameHeader;
}

void check_size(std::int64_t row, std::size_t bytes) {
    if (bytes > kMaxRecordBytes) {
        throw std::invalid_argument("row " + std::to_string(row) + " makes a record above 2 GiB");
    }
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

// Bytes of each value that a record's header counts.
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
    // The largest s with s * rows / shards <= position; products stay below 2^60. Dividing integers takes as long as
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

template <typename T>
void Column<T>::check() const {
    if (offsets.empty()) throw std::invalid_argument("offsets must have one element more than there are rows");
    if (offsets.front() < 0 || std::cmp_greater(offsets.back(), values.size()) || !std::ranges::is_sorted(offsets)) {
        throw std::invalid_argument("offsets must ascend within the values");
    }
}

template struct Column<std::int32_t>;
template struct Column<std::uint8_t>;

Ids RowFrame::around(Ids row, std::vector<std::int32_t>& space) const {
    if (size() == 0) return row;
    if (space.size() < size() + row.size()) space.resize(size() + row.size());
    const auto row_at = std::ranges::copy(before, space.begin()).out;
    const auto after_at = std::ranges::copy(row, row_at).out;
    std::ranges::copy(after, after_at);
    return {space.data(), size() + row.size()};
}

void SpillBuffer::reserve(std::size_t more) {
    if (more <= capacity_ - size_) return;
    const std::size_t capacity = std::max({size_ + more, capacity_ + capacity_ / 2, expected_});
    auto grown = make_large_array<std::uint8_t>(capacity);
    if (size_) std::memcpy(grown.get(), data_.get(), size_);
    data_ = std::move(grown);
    capacity_ = capacity;
}

template <typename T>
void SpillBuffer::check(std::int64_t first_row, const Column<T>& inputs, const Column<T>& targets) const {
    if ((payload_ == Payload::kText) != std::is_same_v<T, std::uint8_t>) {
        throw std::invalid_argument("a buffer holds either ids or text");
    }
    check_rows(inputs, targets);
    const auto rows = static_cast<std::int64_t>(inputs.rows());
    if (first_row < 0 || first_row > permutation_.rows() - rows) {
        throw std::invalid_argument("rows " + std::to_string(first_row) + " to " + std::to_string(first_row + rows) +
                                    " of a split of " + std::to_string(permutation_.rows()));
    }
}

void SpillBuffer::prepare(std::int64_t first_row, std::size_t rows) {
    entries_.reserve(entries_.size() + rows);
    first_row_ = first_row;
    positions_.resize(rows);
    permutation_.positions(first_row, positions_);
}

// Adds a record with room for `bytes` of content, of a row that is prepared; returns the place of the content.
std::uint8_t* SpillBuffer::begin(std::size_t index, std::size_t source, std::size_t target, std::uint32_t corpus,
                                 std::size_t bytes) {
    check_size(first_row_ + static_cast<std::int64_t>(index), bytes);
    const std::size_t whole = kSpillHeader + kFrameBytes + bytes;
    reserve(whole + kExampleSlack);
    const std::int64_t position = positions_[index];
    std::uint8_t* const data = write_header(data_.get() + size_, position, source, target, corpus);
    entries_.push_back({layout_.bucket_of(position), size_, whole});
    size_ += whole;
    return data;
}

void SpillBuffer::add(std::int64_t first_row, const IdColumn& inputs, const IdColumn& targets, std::uint32_t corpus) {
    check(first_row, inputs, targets);
    prepare(first_row, inputs.rows());
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        const Ids source = source_frame_.around(inputs.row(index), source_space_);
        const Ids target = target_frame_.around(targets.row(index), target_space_);
        const ExampleSize size = content_size(source, target, payload_);
        write_ids(begin(index, source.size(), target.size(), corpus, size.total), source, target, size, payload_);
    }
}

void SpillBuffer::add(std::int64_t first_row, const TextColumn& inputs, const TextColumn& targets,
                      std::uint32_t corpus) {
    check(first_row, inputs, targets);
    prepare(first_row, inputs.rows());
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        const std::span<const std::uint8_t> source = inputs.row(index);
        const std::span<const std::uint8_t> target = targets.row(index);
        std::uint8_t* const data = begin(index, source.size(), target.size(), corpus, source.size() + target.size());
        close_frame(data, write_raw(data, source, target));
    }
}

OwnedBytes ordered_records(const IdColumn& inputs, const IdColumn& targets, std::span<const std::int32_t> corpora,
                           Payload payload) {
    if (payload == Payload::kText) throw std::invalid_argument("ids are no text");
    check_rows(inputs, targets);
    if (corpora.size() != inputs.rows()) throw std::invalid_argument("each pair has one corpus");
    std::vector<ExampleSize> sizes;
    sizes.reserve(inputs.rows());
    std::size_t total = 0;
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        sizes.push_back(content_size(inputs.row(index), targets.row(index), payload));
        check_size(static_cast<std::int64_t>(index), sizes.back().total);
        total += kSpillHeader + kFrameBytes + sizes.back().total;
    }
    OwnedBytes records{std::make_unique_for_overwrite<std::uint8_t[]>(total + kExampleSlack), total};
    std::uint8_t* at = records.data.get();
    for (std::size_t index = 0; index < inputs.rows(); ++index) {
        const Ids source = inputs.row(index);
        const Ids target = targets.row(index);
        std::uint8_t* const data = write_header(at, static_cast<std::int64_t>(index), source.size(), target.size(),
                                                static_cast<std::uint32_t>(corpora[index]));
        at = write_ids(data, source, target, sizes[index], payload);
    }
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

const std::uint8_t* Bucket::content(std::size_t index) const { return records_[index].frame + kFrameHeader; }

Bucket::Bucket(std::span<const std::uint8_t> data, std::int64_t first, std::int64_t last, Payload payload)
    : payload_(payload) {
    if (first < 0 || last < first) throw std::invalid_argument("a bucket's positions must be a range");
    if (static_cast<std::uint64_t>(last - first) > data.size() / (kSpillHeader + kFrameBytes)) {
        throw std::runtime_error("records are missing");
    }
    records_.resize(static_cast<std::size_t>(last - first));
    std::size_t found = 0;
    while (!data.empty()) {
        if (data.size() < kSpillHeader + kFrameBytes) throw std::runtime_error("a record is cut short");
        const std::uint8_t* const frame = data.data() + kSpillHeader;
        const auto length = load<std::uint64_t>(frame);
        if (length > std::min(data.size() - kSpillHeader - kFrameBytes, kMaxRecordBytes)) {
            throw std::runtime_error("a record is cut short");
        }
        if (load<std::uint32_t>(frame + kFrameHeader + length) != masked_crc32c(frame + kFrameHeader, length)) {
            throw std::runtime_error("a record's checksum does not match");
        }
        const auto position = load<std::int64_t>(data.data());
        if (position < first || position >= last) throw std::runtime_error("a record belongs to another bucket");
        Record& record = records_[static_cast<std::size_t>(position - first)];
        if (record.frame) throw std::runtime_error("two records have position " + std::to_string(position));
        record = {frame,
                  {load<std::uint32_t>(data.data() + 8), load<std::uint32_t>(data.data() + 12),
                   load<std::uint32_t>(data.data() + 16), static_cast<std::uint32_t>(frame_size(frame))}};
        ++found;
        const PairInfo& info = record.info;
        if (payload != Payload::kExample && length != width(payload) * (std::uint64_t{info.source} + info.target)) {
            throw std::runtime_error("a record's size differs from its header");
        }
        source_tokens_ += info.source;
        target_tokens_ += info.target;
        largest_ = std::max(largest_, frame_size(frame));
        data = data.subspan(kSpillHeader + frame_size(frame));
    }
    if (found != records_.size()) {
        throw std::runtime_error(std::to_string(records_.size() - found) + " of " + std::to_string(records_.size()) +
                                 " records are missing");
    }
}

std::size_t Bucket::copy(std::uint8_t* out, std::size_t capacity) {
    constexpr std::size_t kAhead = 8;
    std::size_t copied = 0;
    for (; next_ < records_.size(); ++next_) {
        if (next_ + kAhead < records_.size()) {
            const std::uint8_t* const soon = records_[next_ + kAhead].frame;
            __builtin_prefetch(soon);
            __builtin_prefetch(soon + 64);
        }
        const std::size_t bytes = records_[next_].info.bytes;
        if (bytes > capacity - copied) break;
        std::memcpy(out + copied, records_[next_].frame, bytes);
        copied += bytes;
    }
    return copied;
}

}  // namespace nmt_prep
