#include "records/varints.h"

#include <algorithm>
#include <array>

#include "records/format.h"
#include "text/protobuf.h"
#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep {
namespace {

constexpr std::uint32_t kFourByteLimit = 1U << 28;
constexpr std::size_t kNegativeBytes = 10;

std::size_t packed_size_portable(Ids ids) {
    std::size_t size = ids.size();
    for (const std::int32_t id : ids) {
        const auto value = static_cast<std::uint32_t>(id);
        size += static_cast<std::size_t>(value > 0x7f) + (value > 0x3fff) + (value > 0x1fffff) +
                (value >= kFourByteLimit) + (id < 0 ? kNegativeBytes - 5 : 0);
    }
    return size;
}

// Writes ids of up to four bytes without a branch, since their lengths are not predictable.
std::uint8_t* write_packed_portable(std::uint8_t* out, Ids ids) {
    for (const std::int32_t id : ids) {
        const auto value = static_cast<std::uint32_t>(id);
        if (value >= kFourByteLimit) {
            out = write_varint(out, static_cast<std::uint64_t>(static_cast<std::int64_t>(id)));
            continue;
        }
        const unsigned more = static_cast<unsigned>(value > 0x7f) + (value > 0x3fff) + (value > 0x1fffff);
        const std::uint32_t groups =
            (value & 0x7fU) | (value & 0x3f80U) << 1 | (value & 0x1fc000U) << 2 | (value & 0xfe00000U) << 3;
        store(out, groups | (0x00808080U & ((1U << (8 * more)) - 1)));
        out += more + 1;
    }
    return out;
}

#if defined(__x86_64__)

constexpr std::size_t kLanes = 4;

// Shuffles that move together four ids of up to three bytes in four lanes of four bytes. Bits 0 to 3 of the index mark
// ids of more than one byte, bits 4 to 7 ids of more than two bytes.
struct Packing {
    std::array<std::array<std::uint8_t, 16>, 256> places{};
    std::array<std::uint8_t, 256> sizes{};
};

constexpr Packing make_packing() {
    Packing packing;
    for (std::size_t index = 0; index < 256; ++index) {
        std::size_t size = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::size_t bytes = 1 + (index >> lane & 1) + (index >> (kLanes + lane) & 1);
            for (std::size_t byte = 0; byte < bytes; ++byte)
                packing.places[index][size++] = static_cast<std::uint8_t>(4 * lane + byte);
        }
        packing.sizes[index] = static_cast<std::uint8_t>(size);
        for (; size < 16; ++size) packing.places[index][size] = 0x80;
    }
    return packing;
}

constexpr Packing kPacking = make_packing();

// Shuffles that move the last `n` of four lanes to the front, with zeros after them.
constexpr std::array<std::array<std::uint8_t, 16>, kLanes> kLastLanes = [] {
    std::array<std::array<std::uint8_t, 16>, kLanes> places{};
    for (std::size_t n = 0; n < kLanes; ++n)
        for (std::size_t byte = 0; byte < 16; ++byte)
            places[n][byte] = static_cast<std::uint8_t>(byte < 4 * n ? byte + 4 * (kLanes - n) : 0x80);
    return places;
}();

NMT_PREP_SSE42 __m128i read_lanes(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

NMT_PREP_SSE42 __m128i above(__m128i values, int limit) { return _mm_cmpgt_epi32(values, _mm_set1_epi32(limit)); }

// Returns four ids from number `i` on, or all remaining ids followed by zeros. Requires at least four ids.
NMT_PREP_SSE42 __m128i next_lanes(Ids ids, std::size_t i) {
    const std::size_t left = ids.size() - i;
    if (left >= kLanes) return read_lanes(ids.data() + i);
    return _mm_shuffle_epi8(read_lanes(ids.data() + ids.size() - kLanes), read_lanes(kLastLanes[left].data()));
}

NMT_PREP_SSE42 std::size_t packed_size_sse42(Ids ids) {
    if (ids.size() < kLanes) return packed_size_portable(ids);
    __m128i more = _mm_setzero_si128();  // minus the number of bytes beyond the first of each id
    __m128i any = _mm_setzero_si128();
    for (std::size_t i = 0; i < ids.size(); i += kLanes) {
        const __m128i values = next_lanes(ids, i);
        any = _mm_or_si128(any, values);
        more = _mm_add_epi32(more, _mm_add_epi32(above(values, 0x7f), above(values, 0x3fff)));
        more = _mm_add_epi32(more, above(values, 0x1fffff));
    }
    if (!_mm_testz_si128(any, _mm_set1_epi32(static_cast<int>(~(kFourByteLimit - 1))))) {
        return packed_size_portable(ids);
    }
    more = _mm_add_epi32(more, _mm_shuffle_epi32(more, 0x4e));
    more = _mm_add_epi32(more, _mm_shuffle_epi32(more, 0xb1));
    return ids.size() + static_cast<std::uint32_t>(-_mm_cvtsi128_si32(more));
}

NMT_PREP_SSE42 std::uint8_t* write_packed_sse42(std::uint8_t* out, Ids ids) {
    if (ids.size() < kLanes) return write_packed_portable(out, ids);
    for (std::size_t i = 0; i < ids.size(); i += kLanes) {
        const __m128i values = next_lanes(ids, i);
        const std::size_t count = std::min(kLanes, ids.size() - i);
        if (!_mm_testz_si128(values, _mm_set1_epi32(~0x1fffff))) {
            out = write_packed_portable(out, ids.subspan(i, count));
            continue;
        }
        const __m128i second = above(values, 0x7f), third = above(values, 0x3fff);
        const __m128i low = _mm_and_si128(values, _mm_set1_epi32(0x7f));
        const __m128i middle = _mm_slli_epi32(_mm_and_si128(values, _mm_set1_epi32(0x3f80)), 1);
        const __m128i high = _mm_slli_epi32(_mm_and_si128(values, _mm_set1_epi32(0x1fc000)), 2);
        const __m128i flags =
            _mm_or_si128(_mm_and_si128(second, _mm_set1_epi32(0x80)), _mm_and_si128(third, _mm_set1_epi32(0x8000)));
        const __m128i bytes = _mm_or_si128(_mm_or_si128(low, middle), _mm_or_si128(high, flags));
        const auto index = static_cast<std::size_t>(_mm_movemask_ps(_mm_castsi128_ps(second)) |
                                                    _mm_movemask_ps(_mm_castsi128_ps(third)) << kLanes);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                         _mm_shuffle_epi8(bytes, read_lanes(kPacking.places[index].data())));
        out += kPacking.sizes[index] - (kLanes - count);  // without the zeros after the last id
    }
    return out;
}

#endif

}  // namespace

std::size_t packed_size(Ids ids) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return packed_size_sse42(ids);
#endif
    return packed_size_portable(ids);
}

std::uint8_t* write_packed(std::uint8_t* out, Ids ids) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return write_packed_sse42(out, ids);
#endif
    return write_packed_portable(out, ids);
}

}  // namespace nmt_prep
