#include "clean/near.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "clean/character_grams.h"
#include "clean/records.h"
#include "text/byte_hash.h"
#include "text/simd.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;

// Sequence of pseudorandom numbers (SplitMix64).
std::uint64_t next_random(std::uint64_t& state) {
    state += kOdd;
    std::uint64_t value = state;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

constexpr std::size_t kBlock = 32;  // hash functions whose minima fit into the vector registers

// Hash functions of 32 bits, x -> factor x + term, in blocks.
struct Functions {
    Functions(std::size_t size, std::uint64_t seed) : factors((size + kBlock - 1) / kBlock * kBlock), terms(factors) {
        for (std::size_t i = 0; i < factors.size(); ++i) {
            factors[i] = static_cast<std::uint32_t>(next_random(seed) >> 32) | 1;
            terms[i] = static_cast<std::uint32_t>(next_random(seed) >> 32);
        }
    }
    std::vector<std::uint32_t> factors;
    std::vector<std::uint32_t> terms;
};

// Writes the minimum of each function over all grams. Compilers turn loops of this form into vector operations.
[[gnu::always_inline]] inline void find_minima(const Functions& functions, const std::vector<std::uint32_t>& grams,
                                               std::uint32_t* minima) {
    for (std::size_t first = 0; first < functions.factors.size(); first += kBlock) {
        std::array<std::uint32_t, kBlock> least;
        least.fill(std::numeric_limits<std::uint32_t>::max());
        const std::uint32_t* const factors = &functions.factors[first];
        const std::uint32_t* const terms = &functions.terms[first];
        for (const std::uint32_t gram : grams)
            for (std::size_t i = 0; i < kBlock; ++i) least[i] = std::min(least[i], factors[i] * gram + terms[i]);
        std::ranges::copy(least, minima + first);
    }
}

#if defined(__x86_64__)
NMT_PREP_AVX2 void find_minima_avx2(const Functions& functions, const std::vector<std::uint32_t>& grams,
                                    std::uint32_t* minima) {
    find_minima(functions, grams, minima);
}
#endif

// Computes the MinHash values of lines.
class Signer {
   public:
    Signer(std::size_t size, std::uint64_t seed) : functions_(size, seed), minima_(functions_.factors.size()) {}

    // Returns the values of a line, valid until the next call.
    const std::uint32_t* sign(const TextView& text, std::size_t line) {
        hashes_.clear();
        for (const std::uint64_t gram : grams_.of(text, line))
            hashes_.push_back(static_cast<std::uint32_t>(gram >> 32));
#if defined(__x86_64__)
        if (simd() >= Simd::kAvx2) {
            find_minima_avx2(functions_, hashes_, minima_.data());
            return minima_.data();
        }
#endif
        find_minima(functions_, hashes_, minima_.data());
        return minima_.data();
    }

   private:
    Functions functions_;
    CharacterGrams grams_;
    std::vector<std::uint32_t> hashes_;
    std::vector<std::uint32_t> minima_;
};

// The n-grams of one side of a pair.
struct LineGrams {
    std::vector<std::uint64_t> grams;  // with repetitions
    std::size_t different = 0;         // number of different ones; 0 if they were not counted yet
};

// The n-grams of a pair; each side is computed when first needed.
struct PairGrams {
    std::int64_t pair = -1;
    bool has_target = false;
    LineGrams source;
    LineGrams target;
};

// Computes the n-grams of pairs, and caches the n-grams of some pairs.
class GramCache {
   public:
    // Requires at least two slots.
    GramCache(const PairView& pairs, std::size_t slots) : pairs_(pairs), held_(slots) {}

    // The results are valid until the next call with another pair.
    LineGrams& source(std::int64_t pair) {
        PairGrams& held = slot(pair);
        if (held.pair != pair) {
            held.pair = -1;  // so that the slot is empty after an error
            held.has_target = false;
            fill(held.source, pairs_.source, pair);
            held.pair = pair;
        }
        return held.source;
    }
    // Requires that source() was called last for this pair.
    LineGrams& target(std::int64_t pair) {
        PairGrams& held = slot(pair);
        if (!held.has_target) fill(held.target, pairs_.target, pair);
        held.has_target = true;
        return held.target;
    }

   private:
    static constexpr std::size_t kLong = 2048;

    // Long pairs share one slot, so that the memory is bounded.
    PairGrams& slot(std::int64_t pair) {
        const auto line = static_cast<std::size_t>(pair);
        const bool long_pair = pairs_.source.size(line) + pairs_.target.size(line) > kLong;
        return held_[long_pair ? 0 : 1 + line % (held_.size() - 1)];
    }

    void fill(LineGrams& line, const TextView& text, std::int64_t pair) {
        const std::span<const std::uint64_t> grams = grams_.of(text, static_cast<std::size_t>(pair));
        line.grams.assign(grams.begin(), grams.end());
        line.different = 0;
    }

    const PairView& pairs_;
    CharacterGrams grams_;
    std::vector<PairGrams> held_;
};

}  // namespace

void band_hashes(const PairView& pairs, std::size_t bands, std::size_t rows, std::uint64_t* hashes) {
    const std::size_t size = bands * rows;
    Signer source(size, 1);
    Signer target(size, 2);
    for (std::size_t pair = 0; pair < pairs.source.lines; ++pair) {
        const std::uint32_t* const left = source.sign(pairs.source, pair);
        const std::uint32_t* const right = target.sign(pairs.target, pair);
        for (std::size_t band = 0; band < bands; ++band) {
            std::uint64_t hash = band;
            for (std::size_t row = band * rows; row < (band + 1) * rows; ++row)
                hash = mix_bits(hash ^ (std::uint64_t{left[row]} << 32 | right[row]) ^ kOdd, 0xD1B54A32D192ED03u);
            *hashes++ = mix_bits(hash ^ kOdd, kOdd);
        }
    }
}

Edges bucket_edges(const std::uint64_t* records, std::size_t rows, std::size_t width, std::size_t cap,
                   std::size_t first, std::size_t limit) {
    const auto same_hash = [=](std::size_t a, std::size_t b) { return records[a * width] == records[b * width]; };
    Edges found{};
    std::vector<std::uint64_t>& numbers = found.numbers;
    std::size_t bucket = first;
    while (bucket > 0 && same_hash(bucket - 1, first)) --bucket;
    std::size_t row = first;
    for (; row < rows && (row == first || numbers.size() / width < limit); ++row) {
        if (!same_hash(row, bucket)) bucket = row;
        const std::size_t better = row - bucket;
        for (std::size_t i = bucket; i < bucket + std::min(better, cap); ++i) {
            numbers.push_back(records[row * width + width - 1]);
            numbers.insert(numbers.end(), records + i * width + 1, records + (i + 1) * width);
        }
        const bool last = row + 1 == rows || !same_hash(row + 1, row);
        found.full_buckets += last && better > cap;
    }
    found.next = row;
    sort_records(numbers.data(), numbers.size() / width, width);
    std::size_t kept = 0;
    for (std::size_t edge = 0; edge < numbers.size(); edge += width) {
        if (kept > 0 && std::equal(&numbers[kept - width], &numbers[kept], &numbers[edge])) continue;
        std::memmove(&numbers[kept], &numbers[edge], width * sizeof(std::uint64_t));
        kept += width;
    }
    numbers.resize(kept);
    return found;
}

void group_rows(const std::uint64_t* numbers, std::span<const std::uint32_t> groups, std::size_t width,
                std::size_t count, std::uint64_t* grouped, std::uint64_t* starts) {
    std::fill_n(starts, count + 1, 0);
    for (const std::uint32_t group : groups) ++starts[group + 1];
    for (std::size_t group = 0; group < count; ++group) starts[group + 1] += starts[group];
    std::vector<std::uint64_t> next(starts, starts + count);
    for (const std::uint32_t group : groups) {
        std::copy_n(numbers, width, grouped + next[group]++ * width);
        numbers += width;
    }
}

void verify(const PairView& own, const PairView& other, std::span<const Candidate> candidates, double similarity,
            bool* verified) {
    constexpr std::size_t kSlots = 4096;
    GramCache owns(own, 2);
    GramCache others(other, kSlots);
    GramSet source;
    GramSet target;
    std::int64_t source_of = -1;  // the pair whose n-grams are in the set
    std::int64_t target_of = -1;
    std::int64_t found = -1;  // the last pair that has a verified candidate
    const auto similar = [similarity](GramSet& set, LineGrams& line) {
        const std::size_t common = set.common(line.grams);
        // The union of both sides is at least as large as the set, so most candidates are refused without counting the
        // other side.
        if (!is_enough(common, set.size(), similarity)) return false;
        if (line.different == 0) line.different = count_different(line.grams);
        return is_enough(common, set.size() + line.different - common, similarity);
    };
    for (const Candidate& candidate : candidates) {
        if (candidate.own == found) {
            *verified++ = false;
            continue;
        }
        if (source_of != candidate.own) source.assign(owns.source(candidate.own).grams);
        source_of = candidate.own;
        *verified = similar(source, others.source(candidate.other));
        if (*verified) {
            if (target_of != candidate.own) target.assign(owns.target(candidate.own).grams);
            target_of = candidate.own;
            *verified = similar(target, others.target(candidate.other));
        }
        if (*verified) found = candidate.own;
        ++verified;
    }
}

}  // namespace nmt_prep::clean
