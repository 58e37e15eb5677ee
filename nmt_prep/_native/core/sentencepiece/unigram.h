// Unigram encoding of normalised text: of all ways to spell it, the one with the highest sum of scores, by the Viterbi
// algorithm.
//
// The library adds scores as float from the beginning of the line, so rounding, which depends on what came before, may
// decide between ways that are nearly equal. Here text is encoded in stretches that no piece crosses. A short one,
// which will come again, is first solved by itself, in double, together with its margin: how far the next best choice
// was at each step of the best way. Where the margin is larger than any rounding, that solution is the library's too;
// elsewhere the stretch is solved again as the library does, in float and from the score that the line has so far. Runs
// of text without spaces are solved like that at once, many of them together (see lattice.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sentencepiece/lattice.h"
#include "sentencepiece/random.h"
#include "sentencepiece/trie.h"
#include "sentencepiece/vocabulary.h"
#include "text/batch.h"
#include "text/id_cache.h"
#include "text/phrase_cache.h"

namespace nmt_prep::sentencepiece {

class Unigram {
   public:
    // The best way to a place in the text: the piece that ends there and where it begins. Places count characters.
    struct Arrival {
        float score;
        std::int32_t id;
        std::uint32_t start;
    };
    // The same in double, with how far the next best choice was.
    struct WideArrival {
        double score, margin;
        std::int32_t id;
        std::uint32_t start;
    };
    // A piece that the text has, and where it ends there.
    struct Match {
        std::uint32_t end;
        std::int32_t id;
    };
    struct Edge {
        std::uint32_t start, end;
        std::int32_t id;
        double score;
    };

    // Texts as their characters' symbols; after each text comes one that matches nothing.
    struct Spelling {
        std::size_t size = 0;
        std::vector<std::uint32_t> symbols;
        std::vector<std::uint32_t> bounds;  // where a character begins in its text; after each text, where that ends
    };

    struct Scratch {
        const std::uint8_t* text;    // a stretch
        std::uint32_t characters;    // how many it has
        Spelling spelling;           // of it
        Spelling runs;               // of all runs in a group of lines
        std::vector<Match> matches;  // at one place
        std::vector<Arrival> arrivals;
        std::vector<WideArrival> wide;
        std::vector<std::uint32_t> path;  // where its pieces end, the last first
        std::vector<Edge> edges;          // by end
        std::vector<std::size_t> edge_bounds;
        std::vector<double> sums;
        Lattice together;  // of the runs
        Lattice alone;     // of a stretch
    };

    explicit Unigram(const Vocabulary& vocabulary);

    // Appends the ids of a stretch that no piece crosses and adds to the line's score. Says whether its ids would be
    // the same wherever in a line it stands, as long as the score is within kTrusted of zero, and spell it without
    // unknowns.
    bool encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, float& score, Scratch& scratch,
                IdBuffer& ids) const;

    // The same for runs, stretches that are long and seldom come again: take in those of a group of lines one after
    // another, find their pieces together, then encode them in this order.
    static void clear_runs(Scratch& scratch) { scratch.runs.size = 0; }
    Lattice::Run add_run(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    void find_in_runs(Scratch& scratch) const;
    void encode_run(const Lattice::Run& run, const std::uint8_t* text, std::size_t size, std::size_t line_start,
                    float& score, Scratch& scratch, IdBuffer& ids) const;

    // As far from zero as scores of lines may be where solutions are kept for reuse.
    static constexpr float kTrusted = 16384;

    // Adds a piece to the score of a line.
    void add(float& score, std::int32_t id) const {
        if (std::abs(score) > kResetBeyond) score = 0;
        score += score_of(id);
    }

    // Adds `count` pieces to the score of a line that is within kTrusted of zero. Most are few, which takes no branch:
    // `ids` has kFew ids of pieces, whatever the count.
    void add_few(float& score, const std::int32_t* ids, std::size_t count) const {
        for (std::size_t i = 0; i < kFew; ++i) {
            const float own = score_of(ids[i]);
            score += i < count ? own : 0.0f;
        }
        for (std::size_t i = kFew; i < count; ++i) score += score_of(ids[i]);
    }

    // Draws one way to spell the stretch, with probability in proportion to exp(alpha * score).
    void sample(const std::uint8_t* text, std::size_t size, std::size_t line_start, double alpha, Random& random,
                Scratch& scratch, IdBuffer& ids) const;

    // Draws one of the `most` best ways to spell the text, by the same probabilities among these.
    void sample_best(const std::uint8_t* text, std::size_t size, std::size_t line_start, std::size_t most, double alpha,
                     Random& random, Scratch& scratch, IdBuffer& ids) const;

   private:
    static constexpr std::size_t kFew = 4;
    static constexpr float kResetBeyond = 100000;                     // the library starts its sums anew from here on
    static constexpr std::size_t kMaxAlone = PhraseCache::kMaxBytes;  // longer stretches are not kept for reuse

    float score_of(std::int32_t id) const { return scores_[static_cast<std::size_t>(std::int64_t{id} + 1)]; }
    Trie build_trie();
    void append(const std::uint8_t* text, std::size_t size, Spelling& spelling) const;
    void spell(const std::uint8_t* text, std::size_t size, Scratch& scratch) const;
    template <class Begin, class Visit>
    void for_each_match(Scratch& scratch, const Begin& begin, const Visit& visit) const;
    double solve_alone(Scratch& scratch) const;
    void solve_in_line(float& score, Scratch& scratch) const;
    template <class Way>
    void push_path(const std::vector<Way>& ways, std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const;
    void list_edges(Scratch& scratch) const;
    void push_edges(std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const;
    void push_id(std::int32_t id, std::uint32_t start, std::uint32_t end, std::size_t line_start,
                 const Scratch& scratch, IdBuffer& ids) const;

    const Vocabulary& vocabulary_;
    CharacterTable symbols_;      // from 1 on, -1 for characters that no piece has
    std::uint32_t stranger_ = 0;  // the symbol of these
    std::uint32_t longest_ = 0;   // piece, in characters
    Trie trie_;
    std::vector<float> scores_;           // by id + 1, the first one minus infinity
    std::vector<Lattice::First> firsts_;  // by symbol
    float unk_score_;
    double largest_;  // of all scores, without sign
};

// Visits all pieces that the text has: begin(start) at each place from left to right, then visit(end, id, score) for
// each that begins there, the shortest first; at last for the unknown piece, where no piece is one character.
template <class Begin, class Visit>
void Unigram::for_each_match(Scratch& scratch, const Begin& begin, const Visit& visit) const {
    const std::uint32_t* const symbols = scratch.spelling.symbols.data();
    Match* const matches = scratch.matches.data();
    const std::uint32_t size = scratch.characters;
    for (std::uint32_t start = 0; start < size; ++start) {
        // Most time goes into waiting for the trie's memory; that a match is written whether it is one or not saves a
        // branch that nobody would guess.
        std::uint32_t count = 0, end = start;
        Trie::Node node = trie_.root();
        do {
            node = trie_.step(node, symbols[end++]);
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
