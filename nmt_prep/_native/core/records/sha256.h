// SHA-256 (FIPS 180-4) of several messages at once, one in each lane of vector registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

using Sha256Digest = std::array<std::uint8_t, 32>;

// True if `sha256_each` of eight messages is faster than a good library on this processor: with AVX2, but without
// instructions for SHA-256, which libraries use.
bool sha256_lanes_pay() noexcept;

// Returns the digest of each message. Fastest for eight messages of similar size, or for many messages.
std::vector<Sha256Digest> sha256_each(std::span<const std::span<const std::uint8_t>> messages);

}  // namespace nmt_prep
