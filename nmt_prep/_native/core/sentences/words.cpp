#include "sentences/words.h"

#include <algorithm>

#include "text/exp_log.h"

namespace nmt_prep::sentences {
namespace {

constexpr std::size_t kFactors = 16;    // number of factors from 1e-3 to 1e9 whose product is a normal number
constexpr float kWithoutWords = -2.0F;  // the value of a span without words

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

SpanValues::SpanValues(const Side& predicted, const Side& given, const WordModel& model,
                       std::span<const std::int64_t> first, std::span<const std::int64_t> last, std::size_t most)
    : predicted_(predicted),
      given_(given),
      model_(model),
      first_(first),
      last_(last),
      most_(most),
      nearby_(predicted.words.size()),
      inverse_(given.words.size()),
      unknown_(given.size() + 1),
      weights_(model.rows.totals.size()),
      dense_(model.shares.size()) {
    for (std::size_t i = 0; i < given.size(); ++i) weigh(i);
    find_shares();
}

// Computes the share of each predicted word in the sentences around its own.
void SpanValues::find_shares() {
    const auto count = [&](std::size_t sentence, float by) {
        for (const std::int32_t word : predicted_.sentence(sentence)) dense_[size_of(word)] += by;
    };
    const std::size_t sentences = predicted_.size();
    std::size_t from = 0;
    std::size_t to = 0;
    const double background = model_.background;
    for (std::size_t j = 0; j < sentences; ++j) {
        for (const std::size_t end = std::min(j + model_.window + 1, sentences); to < end; ++to) count(to, 1);
        for (; from + model_.window < j; ++from) count(from, -1);
        const auto words = static_cast<double>(predicted_.offsets[to] - predicted_.offsets[from]);
        for (auto at = size_of(predicted_.offsets[j]); at < size_of(predicted_.offsets[j + 1]); ++at) {
            const auto word = size_of(predicted_.words[at]);
            const auto share = static_cast<double>(model_.shares[word]);
            nearby_[at] =
                static_cast<float>((static_cast<double>(dense_[word]) + background * share) / (words + background));
        }
    }
    for (; from < to; ++from) count(from, -1);
}

// Computes the inverse word counts of a given sentence, without its bead's counts.
void SpanValues::weigh(std::size_t sentence) {
    const OwnCounts& own = model_.own;
    for_own(sentence, [&](std::size_t at) { weights_[size_of(own.given[at])] += own.counts[at]; });
    double unknown = unknown_[sentence];
    for (auto at = size_of(given_.offsets[sentence]); at < size_of(given_.offsets[sentence + 1]); ++at) {
        const auto word = size_of(given_.words[at]);
        inverse_[at] = 1 / (std::max(model_.rows.totals[word] - weights_[word], 0.0F) + model_.pseudo);
        unknown += static_cast<double>(model_.pseudo * inverse_[at]);
    }
    unknown_[sentence + 1] = unknown;
    for_own(sentence, [&](std::size_t at) { weights_[size_of(own.given[at])] = 0; });
}

void SpanValues::compute(std::size_t sentences_begin, std::size_t sentences_end, std::size_t begin, std::size_t end) {
    sentences_begin_ = sentences_begin;
    ranges_.clear();
    std::size_t shares = 0;
    std::size_t values = 0;
    for (std::size_t j = sentences_begin; j < sentences_end; ++j) {
        const std::size_t from = std::max(size_of(first_[j]), begin);
        const std::size_t to = std::max(from, std::min(size_of(last_[j]), end));
        ranges_.push_back({from, to, shares, values});
        shares += predicted_.sentence(j).size() * (to - from);
        values += (to - from) * most_;
    }
    shares_.resize(shares);
    values_.assign(values, 0.0F);
    std::size_t earliest = 0;  // begins and ends of ranges never decrease
    for (std::size_t i = begin; i < end; ++i) {
        while (earliest < ranges_.size() && ranges_[earliest].end <= i) ++earliest;
        if (earliest == ranges_.size() || ranges_[earliest].begin > i) continue;
        spread(i);
        for (std::size_t at = earliest; at < ranges_.size() && ranges_[at].begin <= i; ++at) {
            const Range& range = ranges_[at];
            if (i >= range.end) continue;
            const std::size_t partners = range.end - range.begin;
            float* shares_at = shares_.data() + range.shares + (i - range.begin);
            const std::size_t sentence = sentences_begin + at;
            const std::size_t end = size_of(predicted_.offsets[sentence + 1]);
            for (std::size_t place = size_of(predicted_.offsets[sentence]); place < end; ++place) {
                *shares_at = std::max(dense_[size_of(predicted_.words[place])], 0.0F) / nearby_[place];
                shares_at += partners;
            }
        }
        clear(i);
    }
    for (std::size_t at = 0; at < ranges_.size(); ++at) sum_spans(at);
}

// Computes p(word | given sentence), times the word count of that sentence, for all predicted words that have
// links with it.
void SpanValues::spread(std::size_t sentence) {
    const LinkRows& rows = model_.rows;
    for (auto at = size_of(given_.offsets[sentence]); at < size_of(given_.offsets[sentence + 1]); ++at) {
        const auto word = size_of(given_.words[at]);
        weights_[word] += inverse_[at];
        for (auto cell = size_of(rows.first[word]); cell < size_of(rows.first[word + 1]); ++cell)
            dense_[size_of(rows.others[cell])] += rows.counts[cell] * inverse_[at];
    }
    for_own(sentence, [&](std::size_t at) {
        dense_[size_of(model_.own.predicted[at])] -= model_.own.counts[at] * weights_[size_of(model_.own.given[at])];
    });
}

// Undoes spread().
void SpanValues::clear(std::size_t sentence) {
    const LinkRows& rows = model_.rows;
    for (const std::int32_t given : given_.sentence(sentence)) {
        const auto word = size_of(given);
        weights_[word] = 0;
        for (auto cell = size_of(rows.first[word]); cell < size_of(rows.first[word + 1]); ++cell)
            dense_[size_of(rows.others[cell])] = 0;
    }
    for_own(sentence, [&](std::size_t at) { dense_[size_of(model_.own.predicted[at])] = 0; });
}

void SpanValues::sum_spans(std::size_t at) {
    const Range& range = ranges_[at];
    const std::size_t partners = range.end - range.begin;
    const std::size_t words = predicted_.sentence(sentences_begin_ + at).size();
    for (std::size_t partner = 0; partner < partners; ++partner) {
        const std::size_t start = range.begin + partner;
        sums_.assign(words, 0.0F);
        for (std::size_t size = 1; size <= most_ && start + size <= given_.size(); ++size) {
            const float* shares = shares_.data() + range.shares + partner + size - 1;
            if (partner + size <= partners)
                for (std::size_t word = 0; word < words; ++word) sums_[word] += shares[word * partners];
            const auto given = static_cast<double>(given_.offsets[start + size] - given_.offsets[start]);
            float& value = values_[range.values + partner * most_ + size - 1];
            if (given == 0) {
                value = kWithoutWords;
                continue;
            }
            const double rest = (unknown_[start + size] - unknown_[start]) / given * (1 - model_.mix) + model_.mix;
            const double factor = (1 - model_.mix) / given;
            double sum = 0;
            for (std::size_t word = 0; word < words;) {
                double product = 1;
                for (const std::size_t end = std::min(word + kFactors, words); word < end; ++word)
                    product *= factor * static_cast<double>(sums_[word]) + rest;
                sum += log(product);
            }
            value = static_cast<float>(sum);
        }
    }
}

}  // namespace nmt_prep::sentences
