// Pairs of symbols as keys.
#pragma once

#include <cstdint>

namespace nmt_prep::sentencepiece {

inline constexpr std::uint64_t kPairFactor = 0x9E3779B97F4A7C15u;  // factor of the pair hashes

inline std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
inline std::int32_t left_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
inline std::int32_t right_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xFFFFFFFFu); }

}  // namespace nmt_prep::sentencepiece
