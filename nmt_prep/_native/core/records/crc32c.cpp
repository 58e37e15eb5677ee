#include "records/crc32c.h"

#include <array>

#include "records/format.h"
#include "text/simd.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace nmt_prep {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b] is the checksum's change by byte b followed by k zero bytes.
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) ? 0x82f63b78U : 0U);
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t crc = tables[k - 1][byte];
            tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xffU];
        }
    }
    return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
NMT_PREP_SSE42 std::uint32_t crc32c_sse42(const std::uint8_t* data, std::size_t size) {
    std::uint64_t crc = 0xffffffffU;
    for (; size >= 8; data += 8, size -= 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(data));
    auto tail = static_cast<std::uint32_t>(crc);
    for (; size > 0; ++data, --size) tail = _mm_crc32_u8(tail, *data);
    return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = 0xffffffffU;
    for (; size >= 8; data += 8, size -= 8) {
        const std::uint64_t word = load<std::uint64_t>(data) ^ crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xffU];
    }
    for (; size > 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *data) & 0xffU];
    return ~crc;
}

std::uint32_t crc32c(const std::uint8_t* data, std::size_t size) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return crc32c_sse42(data, size);
#endif
    return crc32c_portable(data, size);
}

}  // namespace nmt_prep
