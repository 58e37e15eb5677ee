#include "adequacy/sides.h"

#include <algorithm>
#include <cmath>

#include "adequacy/links.h"
#include "align/table.h"
#include "text/exp_log.h"

namespace nmt_prep::adequacy {
namespace {

constexpr double kUsual = 2;  // pseudo count: occurrences of the mean word added to each word
constexpr double kLeastRate = 1e-3;
constexpr double kTolerated = 0.5;  // deficit below which a word does not lengthen a gap
constexpr double kVeryLow = -2;
constexpr std::size_t kFactors = 64;  // number of rates whose product does not underflow

std::size_t longest_run(const std::vector<std::int32_t>& links) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const std::int32_t link : links) {
        run = link == kUnlinked ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return longest;
}

}  // namespace

std::int64_t fixed(double value) { return static_cast<std::int64_t>(value * static_cast<double>(align::kOne)); }

double longer_by(std::size_t size) { return log(1.0 + static_cast<double>(size)); }

UsualWords::UsualWords(const WordSums& of, const float* shares) : sums(of), bits(of.words) {
    std::int64_t values = 0;
    std::int64_t links = 0;
    std::int64_t counts = 0;
    for (std::size_t word = 0; word < of.words; ++word) {
        values += of.values[word];
        links += of.links[word];
        counts += of.counts[word];
        bits[word] = -log(static_cast<double>(shares[word]));
    }
    const auto total = static_cast<double>(std::max<std::int64_t>(counts, 1));
    value = static_cast<double>(values) / static_cast<double>(align::kOne) / total;
    rate = static_cast<double>(links) / total;
}

void SideJudge::leave_out(const std::int32_t* words, const std::vector<double>& values,
                          const std::vector<std::int32_t>& links, std::int64_t copies) {
    for (std::size_t at = 0; at < values.size(); ++at) {
        const std::int64_t value = copies * fixed(values[at]);
        const std::int64_t link = links[at] == kUnlinked ? 0 : copies;
        for (std::size_t i = 0; i < own_.size(); ++i) {
            if (words_[i] != words[at]) continue;
            own_[i].value += value;
            own_[i].links += link;
            own_[i].count += copies;
        }
    }
}

Gap SideJudge::write(const std::vector<double>& values, const std::vector<std::int32_t>& links, double* out) {
    const std::size_t n = own_.size();
    deficit_.resize(n);
    double surprise = 0;
    double rates = 1;
    double sum = 0;
    double informed = 0;
    double deficits = 0;
    double squares = 0;
    double informed_deficits = 0;
    double information = 0;
    double unlinked = 0;
    double very_low = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto word = static_cast<std::size_t>(words_[i]);
        const WordSums& sums = usual_.sums;
        Own left{sums.values[word] - own_[i].value, sums.links[word] - own_[i].links,
                 sums.counts[word] - own_[i].count};
        if (left.count <= 0) left = {};  // the counts of the words are smaller than the pair's count
        const double count = static_cast<double>(left.count) + kUsual;
        const double usual = static_cast<double>(left.value) / static_cast<double>(align::kOne) + kUsual * usual_.value;
        const double rate = (static_cast<double>(left.links) + kUsual * usual_.rate) / count;
        const bool linked = links[i] != kUnlinked;
        const double d = values[i] - usual / count;
        const double bits = usual_.bits[word];
        deficit_[i] = d;
        rates *= std::max(linked ? rate : 1 - rate, kLeastRate);
        if ((i + 1) % kFactors == 0 || i + 1 == n) {
            surprise -= log(rates);
            rates = 1;
        }
        sum += values[i];
        informed += bits * values[i];
        deficits += d;
        squares += d * d;
        informed_deficits += bits * d;
        information += bits;
        if (!linked) unlinked += bits;
        if (d < kVeryLow) very_low += 1;
    }
    const auto size = static_cast<double>(n);
    information = std::max(information, 1e-9);
    const double mean = deficits / size;
    const Gap gap = widest_gap();
    const std::size_t run = longest_run(links);
    const std::size_t part = std::min(std::max<std::size_t>(2, n / 4), n);
    const double features[kSideFeatures] = {
        sum / size,
        informed / information,
        mean,
        informed_deficits / information,
        surprise / size,
        unlinked / information,
        *std::ranges::min_element(deficit_),
        longer_by(run),
        static_cast<double>(run) / size,
        gap.weight,
        gap.weight / size,
        mean_of(0, part),
        mean_of(n - part, n),
        very_low / size,
        std::sqrt(std::max(squares / size - mean * mean, 0.0)),
    };
    std::ranges::copy(features, out);
    return gap;
}

// The run of words whose deficits exceed the tolerance by the greatest sum.
Gap SideJudge::widest_gap() const {
    Gap widest;
    double weight = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < deficit_.size(); ++i) {
        if (weight <= 0) {
            weight = 0;
            begin = i;
        }
        weight -= deficit_[i] + kTolerated;
        if (weight > widest.weight) widest = {begin, i + 1, weight};
    }
    return widest;
}

double SideJudge::mean_of(std::size_t begin, std::size_t end) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += deficit_[i];
    return sum / static_cast<double>(end - begin);
}

}  // namespace nmt_prep::adequacy
