#include "sentencepiece/lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "text/simd.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nmt_prep::sentencepiece {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// The last piece of the best segmentation up to a position: a bit for each short piece with the best sum, the lowest
// bit for the longest piece; or, for a long piece, this flag and its index.
constexpr std::int32_t kLongPiece = 16;

// A bit for each number that equals `most`.
template <class Number>
std::int32_t equals(Number a, Number b, Number c, Number d, Number most) {
    return (a == most) | (b == most) << 1 | (c == most) << 2 | (d == most) << 3;
}

#if defined(__SSE2__)
std::int32_t equals_by_vectors(float a, float b, float c, float d, float most) {
    return _mm_movemask_ps(_mm_cmpeq_ps(_mm_setr_ps(a, b, c, d), _mm_set1_ps(most)));
}
#endif

}  // namespace

// Of equal sums the piece that begins first wins. The last sums are kept in registers, so that a step only waits for an
// addition and a maximum.
template <bool kKeepsSums, Lattice::Equals kEquals>
float Lattice::score_places_by(const Run& run, const float* scores, float score) {
    static_assert(kShort == 4);
    const std::array<std::int32_t, kShort>* row = ids_.data() + run.begin + 1;  // by length of piece
    // The best sums up to one position before, two positions before, …
    float before1 = score, before2 = kNever, before3 = kNever, before4 = kNever;
    best_[run.begin] = score;
    for (std::size_t end = run.begin + 1; end <= run.end; ++end, ++row) {
        const auto sum = [&](float before, std::size_t length) {
            return before + scores[row[kShort - length][length - 1]];
        };
        const float sum4 = sum(before4, 4), sum3 = sum(before3, 3), sum2 = sum(before2, 2), sum1 = sum(before1, 1);
        float most = std::max({sum4, sum3, sum2, sum1});
        std::int32_t last = kEquals(sum4, sum3, sum2, sum1, most);
        if constexpr (kKeepsSums) {
            // Longer pieces come first in the list.
            for (std::int32_t i = long_ends_[end]; i >= 0; i = longs_[static_cast<std::size_t>(i)].next) {
                const Long& piece = longs_[static_cast<std::size_t>(i)];
                const float long_sum = best_[piece.start] + scores[piece.id + 1];
                if (long_sum < most || (long_sum == most && last >= kLongPiece)) continue;
                most = long_sum;
                last = kLongPiece + i;
            }
            best_[end] = most;
        }
        last_[end] = last;
        before4 = before3;
        before3 = before2;
        before2 = before1;
        before1 = most;
    }
    return before1;
}

template <bool kKeepsSums>
float Lattice::score_places(const Run& run, const float* scores, float score) {
#if defined(__SSE2__)
    if (simd() > Simd::kScalar) return score_places_by<kKeepsSums, equals_by_vectors>(run, scores, score);
#endif
    return score_places_by<kKeepsSums, equals<float>>(run, scores, score);
}

Lattice::Path Lattice::trace(const Run& run) {
    std::size_t at = run.end;
    for (std::size_t end = run.end; end > run.begin;) {
        const std::int32_t last = last_[end];
        --at;
        if (last >= kLongPiece) {
            const Long& piece = longs_[static_cast<std::size_t>(last - kLongPiece)];
            path_ids_[at] = piece.id;
            end = piece.start;
        } else {
            const auto length = kShort - static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(last)));
            end -= length;
            path_ids_[at] = ids_[end + kShort][length - 1] - 1;
        }
        path_starts_[at] = static_cast<std::uint32_t>(end);
    }
    return {path_ids_.data() + at, path_starts_.data() + at, run.end - at};
}

Lattice::Path Lattice::find_best(const Run& run, const std::vector<float>& scores, float& score) {
    const float* const by_id = scores.data();
    score = longs_.empty() ? score_places<false>(run, by_id, score) : score_places<true>(run, by_id, score);
    return trace(run);
}

Lattice::Path Lattice::find_best_within(float limit, const Run& run, const std::vector<float>& scores, float& score) {
    if (longs_.empty()) long_ends_.assign(last_.size(), -1);
    const float sum = score_places<true>(run, scores.data(), score);
    const auto is_beyond = [&](float each) { return std::abs(each) > limit; };
    if (std::any_of(&best_[run.begin], &best_[run.end], is_beyond)) return {nullptr, nullptr, 0};
    score = sum;
    return trace(run);
}

Lattice::Path Lattice::find_best_alone(const Run& run, const std::vector<double>& scores, double error) {
    static_assert(kShort == 4);
    constexpr auto kNone = static_cast<double>(kNever);
    const double* const by_id = scores.data();
    const std::array<std::int32_t, kShort>* row = ids_.data() + run.begin + 1;
    double before1 = 0, before2 = kNone, before3 = kNone, before4 = kNone;
    sums_[run.begin] = 0;
    for (std::size_t end = run.begin + 1; end <= run.end; ++end, ++row) {
        const auto sum = [&](double before, std::size_t length) {
            return before + (by_id[row[kShort - length][length - 1]] + error);
        };
        const double sum4 = sum(before4, 4), sum3 = sum(before3, 3), sum2 = sum(before2, 2), sum1 = sum(before1, 1);
        double most = std::max({sum4, sum3, sum2, sum1});
        std::int32_t last = equals(sum4, sum3, sum2, sum1, most);
        for (std::int32_t i = longs_.empty() ? -1 : long_ends_[end]; i >= 0;) {
            const Long& piece = longs_[static_cast<std::size_t>(i)];
            const double long_sum = sums_[piece.start] + (by_id[piece.id + 1] + error);
            if (long_sum > most || (long_sum == most && last < kLongPiece)) {
                most = long_sum;
                last = kLongPiece + i;
            }
            i = piece.next;
        }
        sums_[end] = most;
        last_[end] = last;
        before4 = before3;
        before3 = before2;
        before2 = before1;
        before1 = most;
    }
    return trace(run);
}

bool Lattice::is_certain(const Path& path, const Run& run, const std::vector<double>& scores, double error) const {
    double errors = 0;
    bool certain = true;
    for (std::size_t i = 0; i < path.size; ++i) {
        const std::uint32_t end = i + 1 < path.size ? path.starts[i + 1] : run.end;
        auto other = static_cast<double>(kNever);
        for_each_ending(end, [&](std::uint32_t start, std::int32_t id) {
            const double sum = sums_[start] + (scores[static_cast<std::size_t>(id) + 1] + error);
            other = start == path.starts[i] ? other : std::max(other, sum);
        });
        errors += 2 * error;
        certain &= sums_[end] - other > errors;
    }
    return certain;
}

}  // namespace nmt_prep::sentencepiece
