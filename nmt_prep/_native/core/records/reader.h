// Reading framed records of pairs, checked.
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
    std::size_t consumed = 0;  // bytes of whole records; without an error, what follows is the beginning of a record
    std::string error;         // what is wrong with the record at `consumed`; empty if nothing
};

// Finds the framed record at the beginning of `data`, both checksums checked. False where it is not whole, or, with
// `error` set, where something is wrong with it.
bool next_record(std::span<const std::uint8_t> data, std::span<const std::uint8_t>& record, std::string& error);

// Parses the whole records at the beginning of `data`, at most `max_records`, with both checksums of each.
// Reads nothing outside `data`, whatever it holds.
ParsedPairs parse_pairs(std::span<const std::uint8_t> data, std::size_t max_records);

}  // namespace nmt_prep
