// SHA-256 (FIPS 180-4) of several messages at once, one in each lane of vector registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

using Sha256Digest = std::array<std::uint8_t, 32>;

// True if `sha256_each` of eight messages is faster here than one after another with a good library: with AVX2, but
// without the instructions for SHA-256 itself, which libraries use.
bool sha256_lanes_pay() noexcept;

// Returns the digest of each message. Fastest if there are eight of about the same size, or many.
std::vector<Sha256Digest> sha256_each(std::span<const std::span<const std::uint8_t>> messages);

}  // namespace nmt_prep
