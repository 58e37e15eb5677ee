// Records that hold many pairs, of layouts `chunk` and `packed`. A record is little-endian int32 values:
//
//   magic ("NMTC"), version (1), pairs n, rows r (0 if pairs are not packed),
//   tokens of each source (n), tokens of each target (n), number of each corpus (n), pairs in each row (r),
//   ids of all sources, ids of all targets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "records/spill.h"

namespace nmt_prep {

inline constexpr std::int32_t kChunkMagic = 0x43544d4e;
inline constexpr std::int32_t kChunkVersion = 1;
inline constexpr std::size_t kChunkHeader = 4;  // int32 values

// A pair's index entry: source tokens, target tokens, corpus; 65,535 stands for itself and all larger
// values.
using IndexedPair = std::array<std::uint16_t, 3>;
IndexedPair indexed(const PairInfo& pair);

// Writes pairs in order of position as framed chunks. Chunks are the same for any division of the pairs into calls.
class ChunkWriter {
   public:
    // row_length 0 keeps the pairs in order, `pairs` per chunk. Otherwise pairs are packed into rows of that length,
    // 16,384 at a time, and a chunk ends with the row in which it reaches `pairs`.
    ChunkWriter(std::size_t pairs, std::int32_t row_length) : pairs_(pairs), row_length_(row_length) {}

    // Throws std::invalid_argument for a bucket without raw ids, std::runtime_error for a chunk above 2 GiB.
    void add(const Bucket& bucket);
    void finish() { emit_pending(); }

    // Complete framed chunks since the last call of clear().
    const std::vector<std::uint8_t>& frames() const { return frames_; }
    // For each of these chunks: bytes, pairs, and rows, without pairs longer than a row.
    const std::vector<std::array<std::int64_t, 3>>& blocks() const { return blocks_; }
    // The pairs of these chunks, in order.
    const std::vector<IndexedPair>& pairs() const { return written_; }
    void clear();

   private:
    void emit_pending();
    void emit(std::span<const std::size_t> order, std::span<const std::int32_t> row_pairs);

    std::size_t pairs_;
    std::int32_t row_length_;

    // Pairs that no chunk contains yet.
    std::vector<PairInfo> infos_;
    std::vector<std::size_t> starts_;  // start of the source's ids in ids_; the target's ids follow
    std::vector<std::uint8_t> ids_;

    std::vector<std::uint8_t> frames_;
    std::vector<std::array<std::int64_t, 3>> blocks_;
    std::vector<IndexedPair> written_;
};

struct ParsedChunks {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    std::vector<std::int64_t> input_offsets{0};
    std::vector<std::int64_t> target_offsets{0};
    std::vector<std::int32_t> corpora;
    std::vector<std::int32_t> row_pairs;
    std::size_t records = 0;
    std::size_t consumed = 0;
    std::string error;
};

// Parses the complete framed chunks at the beginning of `data`, at most `max_records`, and verifies checksums and
// counts, like parse_pairs for Examples.
ParsedChunks parse_chunks(std::span<const std::uint8_t> data, std::size_t max_records);

}  // namespace nmt_prep
