// A map by text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/byte_hash.h"

namespace nmt_prep::moses {

// Hashes strings and views alike, so that a view is found without a copy.
struct TextHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the standard library asks for
    std::size_t operator()(std::string_view text) const {
        return hash_bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace nmt_prep::moses
