// External shuffle: pairs are written grouped by bucket, and sorted one bucket at a time. A bucket is a range of
// positions in one shard.
//
// A spilled record is as short as possible, since copying a record to and from the file takes longer than encoding it:
// position, tokens (of text, bytes) of the source and of the target, number of the corpus, bytes of the content of the
// source and of the target, all as varints; the content of the source; the content of the target; masked CRC-32C of
// everything before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "records/column.h"
#include "records/example.h"
#include "records/shuffle.h"
#include "text/huge_pages.h"

namespace nmt_prep {

inline constexpr std::int64_t kMaxBuckets = std::int64_t{1} << 20;

// Shard s owns the positions [s * rows / shards, (s + 1) * rows / shards), which its buckets divide in the same way.
class ShardLayout {
   public:
    // Throws std::invalid_argument unless there are 1 to kMaxBuckets buckets in all.
    ShardLayout(std::int64_t rows, std::int64_t shards, std::int64_t buckets_per_shard);

    std::int64_t buckets() const { return shards_ * buckets_per_shard_; }
    std::int64_t bucket_of(std::int64_t position) const;

   private:
    std::int64_t rows_;
    std::int64_t shards_;
    std::int64_t buckets_per_shard_;
    double inverse_rows_;
};

// A side's content in a spilled record: ids as packed varints for an Example, raw ids for a chunk, or text as UTF-8.
enum class Payload : std::uint8_t { kExample, kRaw, kText };

// Facts about a pair, without its content.
struct PairInfo {
    std::uint32_t source;  // tokens, or bytes of text
    std::uint32_t target;  // likewise
    std::uint32_t corpus;
    std::uint32_t source_bytes;  // bytes of the source's content in a spilled record
    std::uint32_t target_bytes;  // likewise
    std::uint32_t bytes;         // bytes of the framed record, for an Example
};

// Consecutive spilled records of one bucket.
struct Segment {
    std::int64_t bucket;
    std::int64_t offset;
    std::int64_t bytes;
};

// The values of a row as they are spilled: those before it, its own, and those after it.
template <typename T>
using RowParts = std::array<std::span<const T>, 3>;

// IDs added before and after the IDs of every row on a side.
struct RowFrame {
    std::vector<std::int32_t> before, after;

    RowParts<std::int32_t> around(Ids row) const { return {Ids(before), row, Ids(after)}; }
};

// Collects pairs as spilled records, which are drained grouped by bucket.
class SpillBuffer {
   public:
    // `expected`: expected bytes of the buffer; more bytes are moved to larger memory. `source_frame`, `target_frame`:
    // the frames of a side's rows.
    SpillBuffer(const Permutation& permutation, const ShardLayout& layout, Payload payload, std::size_t expected,
                RowFrame source_frame, RowFrame target_frame)
        : permutation_(permutation),
          layout_(layout),
          payload_(payload),
          expected_(expected),
          source_frame_(std::move(source_frame)),
          target_frame_(std::move(target_frame)) {}

    // Adds pairs of one corpus, with the rows first_row, first_row + 1, ... in the whole split. `positions` are their
    // positions; if it is empty, the permutation gives the positions. Throws std::invalid_argument for columns of
    // different length, rows or positions outside the split, a record above 2 GiB, or a buffer of text.
    void add(std::int64_t first_row, const IdColumn& inputs, const IdColumn& targets, std::uint32_t corpus,
             std::span<const std::int64_t> positions = {});

    // The same for pairs of text and a buffer of text.
    void add(std::int64_t first_row, const TextColumn& inputs, const TextColumn& targets, std::uint32_t corpus,
             std::span<const std::int64_t> positions = {});

    std::size_t bytes() const { return size_; }

    // Bytes of memory in use: the records and their metadata.
    std::size_t held() const { return size_ + entries_.size() * sizeof(Entry); }

    // Writes bytes() bytes to `out`, empties the buffer, and returns the segments in order of bucket.
    std::vector<Segment> drain(std::uint8_t* out);

   private:
    struct Entry {
        std::int64_t bucket;
        std::size_t offset;
        std::size_t bytes;
    };

    template <typename T>
    void prepare(std::int64_t first_row, const Column<T>& inputs, const Column<T>& targets,
                 std::span<const std::int64_t> positions);
    void reserve(std::size_t more);
    template <typename T>
    void add_row(std::size_t index, const RowParts<T>& source, const RowParts<T>& target, std::uint32_t corpus);

    Permutation permutation_;
    ShardLayout layout_;
    Payload payload_;
    std::size_t expected_;
    RowFrame source_frame_, target_frame_;
    std::vector<Entry> entries_;
    std::vector<std::int64_t> positions_;  // positions of the rows that are being added
    std::int64_t first_row_ = 0;           // number of the first of these rows
    LargeArray<std::uint8_t> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Returns shuffled pairs of ids as the spilled records of a bucket with the positions 0, 1, ... in the given order.
// Throws std::invalid_argument as SpillBuffer::add.
OwnedBytes ordered_records(const IdColumn& inputs, const IdColumn& targets, std::span<const std::int32_t> corpora,
                           Payload payload);

// The spilled records of one bucket, gathered from all spill files in any order; `data` must outlive it.
class Bucket {
   public:
    // Throws std::runtime_error unless the data has each of the positions [first, last) once, with valid checksums.
    Bucket(std::span<const std::uint8_t> data, std::int64_t first, std::int64_t last, Payload payload);

    Payload payload() const { return payload_; }

    // Pairs, in order of position.
    std::size_t size() const { return records_.size(); }
    PairInfo info(std::size_t index) const { return records_[index].info; }

    // A pair's content: the source, then the target. Raw ids are not aligned.
    const std::uint8_t* content(std::size_t index) const { return records_[index].content; }

    std::int64_t source_tokens() const { return source_tokens_; }
    std::int64_t target_tokens() const { return target_tokens_; }
    std::size_t largest() const { return largest_; }

    // Writes as many of the next framed Examples as fit, in order of position; returns their bytes, 0 at the end.
    // `capacity` must be at least largest(). Throws std::invalid_argument if the bucket has no Examples.
    std::size_t copy(std::uint8_t* out, std::size_t capacity);

   private:
    // Keeps facts about records, since reading them again in order of position would miss the processor's cache.
    struct Record {
        const std::uint8_t* content = nullptr;
        PairInfo info{};
    };

    void take(std::span<const std::uint8_t>& data, std::int64_t first);

    Payload payload_;
    std::vector<Record> records_;
    std::size_t next_ = 0;
    std::size_t largest_ = 0;
    std::int64_t source_tokens_ = 0;
    std::int64_t target_tokens_ = 0;
};

}  // namespace nmt_prep
