// A fastText classifier: label probabilities for text lines, as fastText's `predict` gives them. `probabilities`
// and `top` add floats in fastText's order, so that results are equal to the last bit; results of `contest` differ by
// rounding, and take a fraction of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fasttext/dictionary.h"
#include "fasttext/file.h"
#include "fasttext/matrix.h"
#include "fasttext/tree.h"
#include "fasttext/word_cache.h"
#include "text/batch.h"
#include "text/id_cache.h"

namespace nmt_prep::fasttext {

// Part of a label in a contest.
enum class Role : std::uint8_t { kNone, kOwn, kRival };

// Result of a contest: the summed probability of labels with role kOwn, and the most probable rival.
struct Contest {
    float own = 0;
    float rival = 0;
    std::int32_t label = -1;  // label of the rival; -1 if none is probable enough
};

class Model {
   public:
    // Throws std::invalid_argument, whose message completes "the file …". The bytes must outlive the model.
    Model(const std::uint8_t* data, std::size_t size);
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const std::vector<std::string_view>& labels() const { return labels_; }
    std::size_t dim() const { return input_.dim(); }

    // The probabilities of the given labels, [lines, labels]; 0 for a line without a known word. Requires
    // labels in range.
    void probabilities(const TextView& text, const std::vector<std::uint32_t>& labels, float* result,
                       std::size_t threads, const Poll& poll) const;

    // Writes the most probable labels in descending order, [lines, most]; label -1 and probability 0 if there are
    // fewer.
    void top(const TextView& text, std::size_t most, std::int32_t* labels, float* result, std::size_t threads,
             const Poll& poll) const;

    // Requires a role for each label. Does not search for rivals with a probability of `least` or below; the lower
    // `least`, the longer the search.
    void contest(const TextView& text, const std::vector<Role>& roles, float least, Contest* result,
                 std::size_t threads, const Poll& poll) const;

   private:
    using Scored = std::pair<float, std::uint32_t>;  // logarithm of a probability, label

    struct Word {
        std::string_view text;
        WordKey key;  // set if the word is short enough
    };

    struct Scratch {
        explicit Scratch(const Model& model);

        std::unique_ptr<WordCache<float>> sums;               // without `in_order`
        std::unique_ptr<WordCache<std::uint32_t>> word_rows;  // with `in_order`
        std::vector<Word> words;
        std::string bracketed;              // a word between < and >
        std::vector<std::uint32_t> rows;    // rows of a word
        std::vector<std::uint32_t> hashes;  // hashes of the line's words, if the model has n-grams of words
        std::vector<float> hidden;          // sum, then mean, of the line's rows
        std::size_t count = 0;              // number of the line's rows
        bool in_order = false;              // true for sums equal to fastText's to the last bit
        std::vector<float> outputs;         // outputs of all labels, or tree nodes
        std::vector<std::uint64_t> known;   // by node: number of the line that its output was computed for
        std::uint64_t line = 0;
        std::vector<Scored> heap;
        std::vector<Scored> open;
    };

    using EachLine = std::function<void(std::size_t line, bool known, Scratch& scratch)>;
    void for_each_line(const TextView& text, std::size_t threads, bool in_order, const EachLine& use,
                       const Poll& poll) const;
    bool is_logistic() const { return !logistic_.empty(); }

    template <std::size_t kDim>
    bool read_line(std::string_view line, std::size_t readable, Scratch& scratch) const;
    template <std::size_t kDim>
    void add_words(Scratch& scratch) const;
    template <std::size_t kDim>
    void add_sum(const Word& word, Scratch& scratch) const;
    template <std::size_t kDim>
    void add_rows_in_order(const Word& word, Scratch& scratch) const;
    template <std::size_t kDim>
    Dictionary::Kind add_uncached(std::string_view word, float* sum, Scratch& scratch) const;
    void compute_outputs(Scratch& scratch) const;

    float node_output(std::uint32_t node, Scratch& scratch) const;
    double tree_probability(std::uint32_t label, Scratch& scratch) const;
    float likely_bound(Scratch& scratch) const;
    void tree_top(std::size_t most, Scratch& scratch) const;
    void tree_rival(const std::vector<std::uint8_t>& has_rival, Scratch& scratch, float least, Contest& contest) const;
    void keep_best(float score, std::uint32_t label, std::size_t most, Scratch& scratch) const;
    float label_probability(std::uint32_t label, Scratch& scratch) const;

    Loss loss_;
    std::vector<std::string_view> labels_;
    Dictionary dictionary_;
    InputMatrix input_;
    OutputMatrix output_;
    std::unique_ptr<const LabelTree> tree_;  // null without hierarchical softmax
    std::vector<float> logistic_;            // table for one-vs-all and negative sampling
    mutable ScratchPool<Scratch> scratch_;

    explicit Model(ModelFile file);
};

}  // namespace nmt_prep::fasttext
