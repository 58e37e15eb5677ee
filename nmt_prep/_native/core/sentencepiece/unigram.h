// Unigram encoding of normalized text: finds the segmentation with the highest sum of scores by the Viterbi algorithm.
//
// The library adds scores as float from the beginning of the line. Rounding, which depends on the preceding text, may
// therefore decide between nearly equal segmentations. Here text is encoded in segments that no piece crosses. A short
// segment, which is likely to repeat, is first solved by itself, in double, with the upper limits of the sums that the
// library can have: each addition may be off by half a unit in the last place. If at each step of the best segmentation
// the lower limit of its sum exceeds all other upper limits, the library has the same solution. Otherwise the segment
// is solved again like in the library, in float, starting from the line's score so far. Runs of text without spaces are
// solved like that at once, many of them together (see lattice.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sentencepiece/alphabet.h"
#include "sentencepiece/lattice.h"
#include "sentencepiece/lattice_sampler.h"
#include "sentencepiece/random.h"
#include "sentencepiece/trie.h"
#include "sentencepiece/vocabulary.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

class Unigram {
   public:
    // The best segmentation up to a position in the text: its last piece, and where that piece begins. Positions count
    // characters.
    struct Arrival {
        float score;
        std::int32_t id;
        std::uint32_t start;
    };
    // A piece that occurs in the text, and its end.
    struct Match {
        std::uint32_t end;
        std::int32_t id;
    };
    struct Edge {
        std::uint32_t start, end;
        std::int32_t id;
        double score;
    };

    struct Scratch {
        const std::uint8_t* text;    // a segment
        std::uint32_t characters;    // how many characters the segment has
        Spelling spelling;           // spelling of the segment
        Runs words;                  // several segments that are solved by themselves
        std::vector<Match> matches;  // at one place
        std::vector<Arrival> arrivals;
        std::vector<std::uint32_t> path;  // where the pieces of a segment end, the last piece first
        std::vector<Edge> edges;          // by end
        std::vector<std::size_t> edge_bounds;
        Lattice alone;  // of a segment
        LatticeSampler sampler;
    };

    // `exact_scores`: the score of each id in double for a model of tokenizers, empty for a model of the library.
    // The vocabulary and the alphabet must outlive it.
    Unigram(const Vocabulary& vocabulary, const Alphabet& alphabet, const std::vector<double>& exact_scores);

    // Appends the ids of a segment that no piece crosses and adds to the line's score.
    void encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, float& score, Scratch& scratch,
                IdBuffer& ids) const;

    // Solve several segments of up to PhraseCache::kMaxBytes bytes: they are added, then their pieces are found
    // together.
    static void clear_words(Scratch& scratch) { scratch.words.spelling.size = 0; }
    Lattice::Run add_word(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
        return alphabet_.append(text, size, scratch.words.spelling);
    }
    void find_in_words(Scratch& scratch) const { alphabet_.find_pieces(scratch.words.spelling, scratch.words.lattice); }

    // Appends the ids of an added segment if none of them is unknown, and if the segment has the same ids anywhere in a
    // line where the library does not restart its sums. Else appends nothing and returns false.
    bool encode_anywhere(const Lattice::Run& word, Scratch& scratch, IdBuffer& ids) const;

    // Appends the ids of a pretoken as tokenizers does: adds scores in double from the beginning of the pretoken.
    void encode_pretoken(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch,
                         IdBuffer& ids) const;

    // Returns true if no sum of scores in a pretoken of `size` bytes is rounded. Then a segment that no piece crosses
    // has the same solution wherever it occurs, and can be encoded by itself.
    bool sums_are_exact(std::size_t size) const { return static_cast<double>(size) * largest_ <= largest_exact_; }

    // Appends the ids of a run, whose pieces are found, and adds to the line's score. Runs are long and rarely repeat.
    void encode_run(const Lattice::Run& run, std::size_t line_start, float& score, Runs& runs, Scratch& scratch,
                    IdBuffer& ids) const;

    // Adds `count` unknown characters to the score of a line.
    void add_unknown(float& score, std::size_t count) const {
        if (std::abs(score) + static_cast<float>(count) * static_cast<float>(largest_) < kResetBeyond / 2) {
            for (std::size_t i = 0; i < count; ++i) score += unk_score_;
        } else {
            for (std::size_t i = 0; i < count; ++i) add(score, vocabulary_.unk_id);
        }
    }

    // Adds a piece to the score of a line.
    void add(float& score, std::int32_t id) const {
        if (std::abs(score) > kResetBeyond) score = 0;
        score += score_of(id);
    }

    // Returns how many more bytes a line of this score can have before the library may restart its sums.
    std::size_t trusted_bytes(float score) const {
        const double left = static_cast<double>(kResetBeyond - std::abs(score)) / largest_;
        return left > 0 ? static_cast<std::size_t>(std::min(left, 0x1p52)) : 0;
    }

    // Prepares for samples with probabilities proportional to exp(alpha * score).
    void set_alpha(double alpha, Scratch& scratch) const {
        scratch.sampler.set_scores(scores_, largest_, alphabet_.longest(), alpha);
    }

    // Samples a segmentation of a segment that no piece crosses. It has at most PhraseCache::kMaxBytes bytes; `hash` is
    // their hash.
    void sample_word(const std::uint8_t* text, std::size_t size, std::uint64_t hash, std::size_t line_start,
                     Random& random, Scratch& scratch, IdBuffer& ids) const;
    // Samples a segmentation for a segment of any size, which is not cached.
    void sample_segment(const std::uint8_t* text, std::size_t size, std::size_t line_start, Random& random,
                        Scratch& scratch, IdBuffer& ids) const;
    // Samples a segmentation of a run.
    void sample_run(const Lattice::Run& run, const std::uint8_t* text, std::size_t line_start, Random& random,
                    const Runs& runs, Scratch& scratch, IdBuffer& ids) const;

    // Samples one of the `most` best segmentations, with the same relative probabilities as among all.
    void sample_best(const std::uint8_t* text, std::size_t size, std::size_t line_start, std::size_t most, double alpha,
                     Random& random, Scratch& scratch, IdBuffer& ids) const;

   private:
    static constexpr float kResetBeyond = 100000;                     // limit at which the library restarts its sums
    static constexpr std::size_t kMaxAlone = PhraseCache::kMaxBytes;  // longer segments are not cached

    float score_of(std::int32_t id) const { return scores_[static_cast<std::size_t>(std::int64_t{id} + 1)]; }
    void use_exact_scores(const std::vector<double>& scores);
    void spell(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    template <class Begin, class Visit>
    void for_each_match(Scratch& scratch, const Begin& begin, const Visit& visit) const;
    Lattice::Path solve_alone(double error, Scratch& scratch) const;
    void solve_in_line(float& score, Scratch& scratch) const;
    LatticeSampler::Sums sum_segment(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    void push_pieces(const Lattice::Path& path, const std::uint32_t* bounds, std::size_t end, const std::uint8_t* text,
                     std::size_t line_start, IdBuffer& ids) const;
    template <class PushUnknown>
    void push_ids(const Lattice::Path& path, IdBuffer& ids, const PushUnknown& push_unknown) const;
    void push_path(std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const;
    void list_edges(Scratch& scratch) const;
    void push_edges(std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const;
    void push_id(std::int32_t id, std::uint32_t start, std::uint32_t end, std::size_t line_start,
                 const Scratch& scratch, IdBuffer& ids) const;

    const Vocabulary& vocabulary_;
    const Alphabet& alphabet_;
    std::vector<float> scores_;         // by id + 1, the first one minus infinity
    std::vector<double> exact_scores_;  // likewise
    double largest_exact_ = 0;          // sums that are not larger are not rounded
    float unk_score_;
    double largest_;  // largest score of all, without sign
};

// Visits all pieces in the text. At each position, from left to right, it calls begin(start), then visit(end, id,
// score) for each piece that begins there, shortest first; if none of them is a single character, visit is last called
// for the unknown piece.
template <class Begin, class Visit>
void Unigram::for_each_match(Scratch& scratch, const Begin& begin, const Visit& visit) const {
    const Trie& trie = alphabet_.trie();
    const std::uint32_t* const symbols = scratch.spelling.symbols.data();
    Match* const matches = scratch.matches.data();
    const std::uint32_t size = scratch.characters;
    for (std::uint32_t start = 0; start < size; ++start) {
        // Most time is spent waiting for the trie's memory. A candidate is always written, to avoid an unpredictable
        // branch.
        std::uint32_t count = 0, end = start;
        Trie::Node node = trie.root();
        do {
            node = trie.step(node, symbols[end++]);
            const std::int32_t id = Trie::value(node);
            matches[count] = {end, id};
            count += id >= 0;
        } while (!Trie::is_leaf(node));
        begin(start);
        for (std::uint32_t i = 0; i < count; ++i) visit(matches[i].end, matches[i].id, score_of(matches[i].id));
        if (count == 0 || matches[0].end != start + 1) visit(start + 1, vocabulary_.unk_id, unk_score_);
    }
}

}  // namespace nmt_prep::sentencepiece
