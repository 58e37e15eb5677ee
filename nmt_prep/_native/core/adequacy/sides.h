// Features of a side of a pair: how well its words are translated on the other side, compared with the usual values of
// these words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::adequacy {

inline constexpr std::size_t kSideFeatures = 15;

// Indexes of some side features.
inline constexpr std::size_t kValue = 0;
inline constexpr std::size_t kDeficit = 2;
inline constexpr std::size_t kWorstWord = 6;
inline constexpr std::size_t kUnlinkedRun = 7;
inline constexpr std::size_t kGap = 9;

// Sums over the occurrences of a side's words in a text.
struct WordSums {
    std::int64_t* values;  // in units of 1 / kOne
    std::int64_t* links;   // occurrences with a link
    std::int64_t* counts;  // occurrences
    std::size_t words;
};

// A value in the units of sums.
std::int64_t fixed(double value);

// Usual values and links of a side's words.
struct UsualWords {
    // shares: the share of each word in the text.
    UsualWords(const WordSums& sums, const float* shares);

    WordSums sums;
    double value, rate;        // means over the text, which are added to the sums of each word
    std::vector<double> bits;  // information of each word
};

// A run of words with a weaker counterpart on the other side than usual.
struct Gap {
    std::size_t begin = 0;
    std::size_t end = 0;
    double weight = 0;
};

double longer_by(std::size_t size);

// Computes the features; reuses its memory from side to side.
class SideJudge {
   public:
    explicit SideJudge(const UsualWords& usual) : usual_(usual) {}

    void begin(const std::int32_t* words, std::size_t size) {
        words_ = words;
        own_.assign(size, {});
    }

    // Subtracts the contribution of a counted pair from the sums of its words.
    void leave_out(const std::int32_t* words, const std::vector<double>& values, const std::vector<std::int32_t>& links,
                   std::int64_t copies);

    // Writes the features; returns the widest gap.
    Gap write(const std::vector<double>& values, const std::vector<std::int32_t>& links, double* out);

   private:
    struct Own {
        std::int64_t value = 0;
        std::int64_t links = 0;
        std::int64_t count = 0;
    };

    Gap widest_gap() const;
    double mean_of(std::size_t begin, std::size_t end) const;

    const UsualWords& usual_;
    const std::int32_t* words_ = nullptr;
    std::vector<Own> own_;
    std::vector<double> deficit_;
};

}  // namespace nmt_prep::adequacy
