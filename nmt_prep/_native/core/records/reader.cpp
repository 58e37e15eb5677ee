#include "records/reader.h"

#include "records/crc32c.h"
#include "records/example.h"
#include "records/format.h"

namespace nmt_prep {

bool next_record(std::span<const std::uint8_t> data, std::span<const std::uint8_t>& record, std::string& error) {
    if (data.size() < kFrameHeader) return false;
    if (load<std::uint32_t>(data.data() + 8) != masked_crc32c(data.data(), 8)) {
        error = "the checksum of a record's length does not match";
        return false;
    }
    const auto length = load<std::uint64_t>(data.data());
    if (length > kMaxRecordBytes) {
        error = "a record claims more than 2 GiB";
        return false;
    }
    if (data.size() < kFrameBytes + length) return false;
    record = data.subspan(kFrameHeader, length);
    if (load<std::uint32_t>(record.data() + length) != masked_crc32c(record.data(), length)) {
        error = "the checksum of a record's data does not match";
        return false;
    }
    return true;
}

ParsedPairs parse_pairs(std::span<const std::uint8_t> data, std::size_t max_records) {
    ParsedPairs pairs;
    while (pairs.input_offsets.size() <= max_records) {
        std::span<const std::uint8_t> record;
        if (!next_record(data.subspan(pairs.consumed), record, pairs.error)) break;
        pairs.error = parse_example(record, pairs.inputs, pairs.targets);
        if (!pairs.error.empty()) break;
        pairs.input_offsets.push_back(static_cast<std::int64_t>(pairs.inputs.size()));
        pairs.target_offsets.push_back(static_cast<std::int64_t>(pairs.targets.size()));
        pairs.consumed += kFrameBytes + record.size();
    }
    return pairs;
}

}  // namespace nmt_prep
