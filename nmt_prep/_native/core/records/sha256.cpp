#include "records/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "text/simd.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kLanes = 8;

constexpr std::array<std::uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The hash of a message after its first blocks.
struct State {
    std::array<std::uint32_t, 8> words = kStart;
};

// A message and its unhashed rest: whole blocks, then one or two blocks with its end and its size.
struct Lane {
    std::size_t message = 0;
    const std::uint8_t* at = nullptr;
    std::size_t blocks = 0;  // whole blocks left at `at`
    std::size_t ending = 0;  // blocks blocks in `end` that are not hashed
    State state;
    std::uint8_t end[2 * kBlock] = {};

    void begin(std::size_t number, std::span<const std::uint8_t> data) {
        *this = Lane{};
        message = number;
        at = data.data();
        blocks = data.size() / kBlock;
        const std::size_t rest = data.size() % kBlock;
        if (rest != 0) std::memcpy(end, data.data() + data.size() - rest, rest);
        end[rest] = 0x80;
        ending = rest + 9 <= kBlock ? 1 : 2;
        const std::uint64_t bits = std::uint64_t{data.size()} * 8;
        for (std::size_t i = 0; i < 8; ++i) end[ending * kBlock - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
        advance(0);
    }

    // Advances by `count` blocks; returns false after the last block.
    bool advance(std::size_t count) {
        at += count * kBlock;
        blocks -= count;
        if (blocks != 0) return true;
        if (ending == 0) return false;
        at = end;
        blocks = ending;
        ending = 0;
        return true;
    }

    // Copies another lane, with its ending if the lane contains it.
    void take(const Lane& other) {
        const bool at_end = other.at >= other.end && other.at < other.end + sizeof other.end;
        *this = other;
        if (at_end) at = end + (other.at - other.end);
    }

    Sha256Digest digest() const {
        Sha256Digest bytes;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::uint8_t>(state.words[i / 4] >> (24 - 8 * (i % 4)));
        return bytes;
    }
};

void hash_blocks(Lane& lane, std::size_t count) {
    const std::uint8_t* at = lane.at;
    for (; count != 0; --count, at += kBlock) {
        std::uint32_t words[64];
        for (std::size_t i = 0; i < 16; ++i)
            words[i] = std::uint32_t{at[4 * i]} << 24 | std::uint32_t{at[4 * i + 1]} << 16 |
                       std::uint32_t{at[4 * i + 2]} << 8 | std::uint32_t{at[4 * i + 3]};
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t early = words[i - 15], late = words[i - 2];
            words[i] = words[i - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) + words[i - 7] +
                       (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = lane.state.words;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                        (g ^ (e & (f ^ g))) + kRounds[i] + words[i];
            const std::uint32_t second =
                (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        const std::uint32_t added[] = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) lane.state.words[i] += added[i];
    }
}

#if defined(__x86_64__)

NMT_PREP_AVX2 inline __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }

template <int kBits>
NMT_PREP_AVX2 inline __m256i rotated(__m256i words) {
    return _mm256_or_si256(_mm256_srli_epi32(words, kBits), _mm256_slli_epi32(words, 32 - kBits));
}

template <int kFirst, int kSecond, int kThird>
NMT_PREP_AVX2 inline __m256i rotations(__m256i words) {
    return _mm256_xor_si256(_mm256_xor_si256(rotated<kFirst>(words), rotated<kSecond>(words)), rotated<kThird>(words));
}

template <int kFirst, int kSecond, int kShift>
NMT_PREP_AVX2 inline __m256i mixed(__m256i words) {
    return _mm256_xor_si256(_mm256_xor_si256(rotated<kFirst>(words), rotated<kSecond>(words)),
                            _mm256_srli_epi32(words, kShift));
}

// Reads 32 bytes of each lane: out[i] holds word i of all lanes.
NMT_PREP_AVX2 inline void read_words(const std::uint8_t* const (&at)[kLanes], std::size_t offset, __m256i* out) {
    const __m256i swap = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0, 7, 6, 5, 4,
                                          11, 10, 9, 8, 15, 14, 13, 12);
    __m256i rows[8], pairs[8], fours[8];
    for (std::size_t i = 0; i < 8; ++i)
        rows[i] = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at[i] + offset)), swap);
    for (std::size_t i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (std::size_t i = 0; i < 8; i += 4) {
        fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
        out[i] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
        out[i + 4] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    }
}

// Hashes the same number of blocks of every lane.
NMT_PREP_AVX2 void hash_blocks_avx2(Lane (&lanes)[kLanes], std::size_t count) {
    alignas(32) std::uint32_t words[8][kLanes];
    const std::uint8_t* at[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        at[lane] = lanes[lane].at;
        for (std::size_t i = 0; i < 8; ++i) words[i][lane] = lanes[lane].state.words[i];
    }
    __m256i state[8];
    for (std::size_t i = 0; i < 8; ++i) state[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(words[i]));
    for (; count != 0; --count) {
        __m256i w[16];
        read_words(at, 0, w);
        read_words(at, kBlock / 2, w + 8);
        __m256i a = state[0], b = state[1], c = state[2], d = state[3];
        __m256i e = state[4], f = state[5], g = state[6], h = state[7];
        for (std::size_t begin = 0; begin < 64; begin += 16) {
#pragma GCC unroll 16
            for (std::size_t i = 0; i < 16; ++i) {
                if (begin != 0)
                    w[i] = add(add(w[i], mixed<7, 18, 3>(w[(i + 1) % 16])),
                               add(w[(i + 9) % 16], mixed<17, 19, 10>(w[(i + 14) % 16])));
                const __m256i round = _mm256_set1_epi32(static_cast<int>(kRounds[begin + i]));
                const __m256i choice = _mm256_xor_si256(g, _mm256_and_si256(e, _mm256_xor_si256(f, g)));
                const __m256i first = add(add(add(h, rotations<6, 11, 25>(e)), add(choice, round)), w[i]);
                const __m256i most =
                    _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, _mm256_or_si256(a, b)));
                const __m256i second = add(rotations<2, 13, 22>(a), most);
                h = g, g = f, f = e, e = add(d, first), d = c, c = b, b = a, a = add(first, second);
            }
        }
        const __m256i added[] = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state[i] = add(state[i], added[i]);
        for (const std::uint8_t*& place : at) place += kBlock;
    }
    for (std::size_t i = 0; i < 8; ++i) _mm256_store_si256(reinterpret_cast<__m256i*>(words[i]), state[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        for (std::size_t i = 0; i < 8; ++i) lanes[lane].state.words[i] = words[i][lane];
}

#endif

void hash_lanes([[maybe_unused]] Lane (&lanes)[kLanes], std::size_t used, std::size_t count) {
#if defined(__x86_64__)
    if (used > 1 && simd() >= Simd::kAvx2) {
        for (std::size_t lane = used; lane < kLanes; ++lane) lanes[lane].at = lanes[0].at;  // idle lanes hash this too
        hash_blocks_avx2(lanes, count);
        return;
    }
#endif
    for (std::size_t lane = 0; lane < used; ++lane) hash_blocks(lanes[lane], count);
}

}  // namespace

bool sha256_lanes_pay() noexcept {
#if defined(__x86_64__)
    constexpr unsigned kSha = 1u << 29;
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_own = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
    return simd() >= Simd::kAvx2 && !has_own;
#else
    return false;
#endif
}

std::vector<Sha256Digest> sha256_each(std::span<const std::span<const std::uint8_t>> messages) {
    std::vector<Sha256Digest> digests(messages.size());
    Lane lanes[kLanes];
    std::size_t used = 0, next = 0;
    for (; used < kLanes && next < messages.size(); ++used, ++next) lanes[used].begin(next, messages[next]);
    while (used != 0) {
        std::size_t count = lanes[0].blocks;
        for (std::size_t lane = 1; lane < used; ++lane) count = std::min(count, lanes[lane].blocks);
        hash_lanes(lanes, used, count);
        for (std::size_t lane = 0; lane < used;) {
            if (lanes[lane].advance(count)) {
                ++lane;
                continue;
            }
            digests[lanes[lane].message] = lanes[lane].digest();
            if (next < messages.size()) {
                lanes[lane].begin(next, messages[next]);
                ++next, ++lane;
            } else if (lane != --used) {
                lanes[lane].take(lanes[used]);
            }
        }
    }
    return digests;
}

}  // namespace nmt_prep
