// Values of a sentence's words, given consecutive sentences of the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentences/document.h"

namespace nmt_prep::sentences {

// Expected link counts for a side's words: word e has [first[e], first[e + 1]) of `others` and `counts`.
struct LinkRows {
    std::span<const std::int64_t> first;
    std::span<const std::int32_t> others;
    std::span<const float> counts;
    std::span<const float> totals;  // total count of each word
};

// The counts that each bead of an earlier path added to a model, by word of the given side. The counts of bead b are
// [offsets[b], offsets[b + 1]).
struct OwnCounts {
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> given, predicted;
    std::span<const float> counts;
    std::span<const std::int32_t> bead_of;  // bead of each sentence on the given side; -1 if there is none
};

struct WordModel {
    LinkRows rows;                  // link counts for words on the given side
    std::span<const float> shares;  // word shares on the predicted side in all documents
    OwnCounts own;
    float pseudo;        // pseudo link count for each word with all words on the other side
    double mix;          // weight of a word's share in its probability
    std::size_t window;  // number of sentences before and after a sentence that count for the shares around it
    double background;   // weight of the shares in all documents in these shares, as a number of words
};

// For each sentence on a side and sentence spans on the other: the sum over its words of
// log(((1 - mix) p(word | span) + mix p(word)) / p(word)). p(word) is its share around the sentence.
class SpanValues {
   public:
    // The partners of sentence j on the predicted side are sentences [first[j], last[j]) on the given side.
    SpanValues(const Side& predicted, const Side& given, const WordModel& model, std::span<const std::int64_t> first,
               std::span<const std::int64_t> last, std::size_t most);

    // Computes the values of some sentences with spans that begin in [begin, end) of the given side.
    void compute(std::size_t sentences_begin, std::size_t sentences_end, std::size_t begin, std::size_t end);

    // The value of a computed sentence with `size` sentences from `start` on; 0 if sentence `start` is not a partner.
    float of(std::size_t sentence, std::size_t start, std::size_t size) const {
        const Range& range = ranges_[sentence - sentences_begin_];
        if (start < range.begin || start >= range.end) return 0.0F;
        return values_[range.values + (start - range.begin) * most_ + size - 1];
    }

   private:
    struct Range {
        std::size_t begin, end;  // range of partners
        std::size_t shares;      // index of the first word in shares_
        std::size_t values;      // index of the first partner in values_
    };
    void weigh(std::size_t sentence);
    void find_shares();
    void spread(std::size_t sentence);
    void clear(std::size_t sentence);
    void sum_spans(std::size_t at);
    // Calls body(index in the own counts) for the counts of a given sentence's bead.
    template <class Body>
    void for_own(std::size_t sentence, Body&& body) const {
        const OwnCounts& own = model_.own;
        if (own.bead_of.empty() || own.bead_of[sentence] < 0) return;
        const auto bead = static_cast<std::size_t>(own.bead_of[sentence]);
        for (std::int64_t at = own.offsets[bead]; at < own.offsets[bead + 1]; ++at) body(static_cast<std::size_t>(at));
    }

    const Side& predicted_;
    const Side& given_;
    const WordModel& model_;
    std::span<const std::int64_t> first_, last_;
    std::size_t most_;
    std::vector<float> nearby_;    // by predicted word: its share around its sentence
    std::vector<float> inverse_;   // by given word: 1 / (its count without its bead's count + pseudo)
    std::vector<double> unknown_;  // by given sentence: sum of pseudo * inverse over the previous words
    std::vector<float> weights_;   // by given word of the current sentence, see spread()
    std::vector<float> dense_;     // by predicted word, given the current sentence
    std::size_t sentences_begin_ = 0;
    std::vector<Range> ranges_;  // ranges of the computed sentences
    std::vector<float> sums_;    // by word of a sentence, over the partners of a span
    std::vector<float> shares_;  // for each word and partner: p(word | partner) / p(word)
    std::vector<float> values_;  // for each partner and size of a span
};

}  // namespace nmt_prep::sentences
