// Reads and verifies framed records of pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nmt_prep {

struct ParsedPairs {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    std::vector<std::int64_t> input_offsets{0};
    std::vector<std::int64_t> target_offsets{0};
    std::size_t consumed = 0;  // bytes of complete records; without an error, an incomplete record may follow
    std::string error;         // error in the record at `consumed`; empty if there is none
};

// Finds the framed record at the beginning of `data` and verifies both checksums. Returns false for an incomplete
// record, and for a damaged one, with `error` set.
bool next_record(std::span<const std::uint8_t> data, std::span<const std::uint8_t>& record, std::string& error);

// Parses the complete records at the beginning of `data`, at most `max_records`, and verifies both checksums of each.
// Never reads outside `data`.
ParsedPairs parse_pairs(std::span<const std::uint8_t> data, std::size_t max_records);

}  // namespace nmt_prep
