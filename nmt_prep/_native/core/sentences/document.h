// Documents of two sides, with the lengths and words for the alignment of their sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nmt_prep::sentences {

// The sentences of a side: sentence i has words[offsets[i], offsets[i + 1]), numbers below the size of its vocabulary.
struct Side {
    std::span<const std::int32_t> words;
    std::span<const std::int64_t> offsets;
    std::span<const double> lengths;  // characters of each sentence, at least 1

    std::size_t size() const { return lengths.size(); }
    std::span<const std::int32_t> sentence(std::size_t i) const {
        return words.subspan(static_cast<std::size_t>(offsets[i]),
                             static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
    }
};

struct Document {
    Side source, target;
};

// Sentence counts in a bead.
struct Kind {
    std::int32_t sources, targets;
};

// The cells (i, j) that a path may pass: after i source sentences, low[i] to high[i] target sentences. Both bounds
// never decrease.
struct Band {
    std::span<const std::int64_t> low, high;
};

// Sentences [source, source_end) and [target, target_end).
struct Bead {
    std::int64_t source, source_end, target, target_end;
};

}  // namespace nmt_prep::sentences
