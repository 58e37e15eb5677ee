#include "records/example.h"

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "records/varints.h"
#include "text/protobuf.h"

namespace nmt_prep {
namespace {

constexpr std::string_view kInputs = "inputs";
constexpr std::string_view kTargets = "targets";

// Tags of the fields in use: field number and wire type. All but kInt64Value are length-delimited.
constexpr std::uint64_t kExampleFeatures = 0x0a;
constexpr std::uint64_t kFeaturesEntry = 0x0a;
constexpr std::uint64_t kEntryKey = 0x0a;
constexpr std::uint64_t kEntryFeature = 0x12;
constexpr std::uint64_t kFeatureBytesList = 0x0a;
constexpr std::uint64_t kFeatureFloatList = 0x12;
constexpr std::uint64_t kFeatureInt64List = 0x1a;
constexpr std::uint64_t kInt64Packed = 0x0a;
constexpr std::uint64_t kInt64Value = 0x08;

// Sizes of the nested messages around `packed` bytes of ids, from the inside out.
struct EntrySize {
    std::size_t list;     // Int64List; without ids empty, as protocol buffers write it
    std::size_t feature;  // Feature
    std::size_t entry;    // entry of the feature map

    EntrySize(std::string_view key, std::size_t packed)
        : list(packed ? 1 + varint_size(packed) + packed : 0),
          feature(1 + varint_size(list) + list),
          entry(2 + key.size() + 1 + varint_size(feature) + feature) {}

    std::size_t with_header() const { return 1 + varint_size(entry) + entry; }
};

using Bytes = std::span<const std::uint8_t>;

std::uint8_t* write_entry(std::uint8_t* out, std::string_view key, Bytes ids) {
    const EntrySize size(key, ids.size());
    *out++ = kFeaturesEntry;
    out = write_varint(out, size.entry);
    *out++ = kEntryKey;
    *out++ = static_cast<std::uint8_t>(key.size());
    std::memcpy(out, key.data(), key.size());
    out += key.size();
    *out++ = kEntryFeature;
    out = write_varint(out, size.feature);
    *out++ = kFeatureInt64List;
    out = write_varint(out, size.list);
    if (ids.empty()) return out;
    *out++ = kInt64Packed;
    out = write_varint(out, ids.size());
    std::memcpy(out, ids.data(), ids.size());
    return out + ids.size();
}

std::size_t features_size(std::size_t inputs, std::size_t targets) {
    return EntrySize(kInputs, inputs).with_header() + EntrySize(kTargets, targets).with_header();
}

constexpr const char* kNotInt32 = "an id does not fit 32 bits";

const char* append_id(std::uint64_t number, std::vector<std::int32_t>& ids) {
    const auto value = static_cast<std::int64_t>(number);
    if (value != static_cast<std::int32_t>(value)) return kNotInt32;
    ids.push_back(static_cast<std::int32_t>(value));
    return nullptr;
}

const char* append_packed(Bytes data, std::vector<std::int32_t>& ids) {
    const std::size_t before = ids.size();
    ids.resize(before + data.size());
    std::int32_t* out = ids.data() + before;
    const std::uint8_t* at = data.data();
    const std::uint8_t* const end = at + data.size();
    while (at != end) {
        std::uint64_t value = *at++;
        if (value > 0x7f) {
            value &= 0x7f;
            int shift = 7;
            for (;; shift += 7) {
                if (shift == 70) return "a number is longer than ten bytes";
                if (at == end) return "a number is cut off";
                const std::uint8_t byte = *at++;
                value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
                if (byte < 0x80) break;
            }
        }
        const auto id = static_cast<std::int64_t>(value);
        if (id != static_cast<std::int32_t>(id)) return kNotInt32;
        *out++ = static_cast<std::int32_t>(id);
    }
    ids.resize(static_cast<std::size_t>(out - ids.data()));
    return nullptr;
}

// One side of a pair while its Example is read: the beginning of its row, and whether the last value of its key is an
// int64 list.
struct Side {
    std::vector<std::int32_t>& ids;
    std::size_t start;
    bool found = false;

    explicit Side(std::vector<std::int32_t>& column) : ids(column), start(column.size()) {}

    void clear() {
        ids.resize(start);
        found = false;
    }
};

const char* parse_int64_list(Bytes data, Side& side) {
    MessageFields fields(data);
    while (fields.next()) {
        const char* error = nullptr;
        if (fields.tag == kInt64Packed) error = append_packed(fields.bytes, side.ids);
        if (fields.tag == kInt64Value) error = append_id(fields.number, side.ids);
        if (error) return error;
    }
    return fields.error;
}

const char* parse_feature(Bytes data, Side& side) {
    MessageFields fields(data);
    while (fields.next()) {
        if (fields.tag == kFeatureBytesList || fields.tag == kFeatureFloatList) {
            side.clear();
        } else if (fields.tag == kFeatureInt64List) {
            side.found = true;
            if (const char* error = parse_int64_list(fields.bytes, side)) return error;
        }
    }
    return fields.error;
}

const char* parse_entry(Bytes data, Side& inputs, Side& targets) {
    Bytes key;
    MessageFields keys(data);
    while (keys.next()) {
        if (keys.tag == kEntryKey) key = keys.bytes;
    }
    if (keys.error) return keys.error;
    const std::string_view name(reinterpret_cast<const char*>(key.data()), key.size());
    if (name != kInputs && name != kTargets) return nullptr;
    Side& side = name == kInputs ? inputs : targets;
    side.clear();
    MessageFields values(data);
    while (values.next()) {
        if (values.tag != kEntryFeature) continue;
        if (const char* error = parse_feature(values.bytes, side)) return error;
    }
    return nullptr;
}

const char* parse_features(Bytes data, Side& inputs, Side& targets) {
    MessageFields fields(data);
    while (fields.next()) {
        if (fields.tag != kFeaturesEntry) continue;
        if (const char* error = parse_entry(fields.bytes, inputs, targets)) return error;
    }
    return fields.error;
}

}  // namespace

std::size_t example_size(std::size_t inputs, std::size_t targets) {
    const std::size_t features = features_size(inputs, targets);
    return 1 + varint_size(features) + features;
}

std::uint8_t* write_example(std::uint8_t* out, Bytes inputs, Bytes targets) {
    *out++ = kExampleFeatures;
    out = write_varint(out, features_size(inputs.size(), targets.size()));
    out = write_entry(out, kInputs, inputs);
    return write_entry(out, kTargets, targets);
}

std::string parse_example(Bytes data, std::vector<std::int32_t>& inputs, std::vector<std::int32_t>& targets) {
    Side source(inputs);
    Side target(targets);
    MessageFields fields(data);
    while (fields.next()) {
        if (fields.tag != kExampleFeatures) continue;
        if (const char* error = parse_features(fields.bytes, source, target)) return error;
    }
    if (fields.error) return fields.error;
    if (!source.found) return "the Example has no int64 feature 'inputs'";
    if (!target.found) return "the Example has no int64 feature 'targets'";
    return {};
}

}  // namespace nmt_prep
