#include "record_reader.h"

#include "crc32c.h"
#include "example.h"
#include "record_format.h"

namespace nmt_prep {

ParsedPairs parse_pairs(std::span<const std::uint8_t> data, std::size_t max_records) {
    ParsedPairs pairs;
    while (pairs.input_offsets.size() <= max_records) {
        const auto rest = data.subspan(pairs.consumed);
        if (rest.size() < FRAME_HEADER) break;
        if (load<std::uint32_t>(rest.data() + 8) != masked_crc32c(rest.data(), 8)) {
            pairs.error = "the checksum of a record's length does not match";
            break;
        }
        const auto length = load<std::uint64_t>(rest.data());
        if (length > MAX_RECORD_BYTES) {
            pairs.error = "a record claims more than 2 GiB";
            break;
        }
        if (rest.size() < FRAME_BYTES + length) break;
        const auto record = rest.subspan(FRAME_HEADER, length);
        if (load<std::uint32_t>(record.data() + length) != masked_crc32c(record.data(), length)) {
            pairs.error = "the checksum of a record's data does not match";
            break;
        }
        pairs.error = parse_example(record, pairs.inputs, pairs.targets);
        if (!pairs.error.empty()) break;
        pairs.input_offsets.push_back(static_cast<std::int64_t>(pairs.inputs.size()));
        pairs.target_offsets.push_back(static_cast<std::int64_t>(pairs.targets.size()));
        pairs.consumed += FRAME_BYTES + length;
    }
    return pairs;
}

}  // namespace nmt_prep
