#include "fasttext/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "text/parallel.h"

namespace nmt_prep::fasttext {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 16;
constexpr std::size_t kCachedRows = 32;  // words with more rows are not cached if their rows are added one by one
constexpr std::size_t kGroup = 32;       // number of words that are looked up together, after prefetching

// fastText's table of the logistic function for one-vs-all and negative sampling.
constexpr std::int32_t kLogisticSteps = 512;
constexpr float kLogisticRange = 8;

constexpr double kFloor = 1e-5;  // fastText adds it to probabilities before it takes their logarithm

float log_of(float probability) { return static_cast<float>(std::log(probability + kFloor)); }

constexpr std::array<bool, 256> kIsSpace = [] {
    std::array<bool, 256> spaces{};
    for (const char space : {' ', '\n', '\r', '\t', '\v', '\f', '\0'}) spaces[static_cast<std::uint8_t>(space)] = true;
    return spaces;
}();
bool is_space(char byte) { return kIsSpace[static_cast<std::uint8_t>(byte)]; }

std::vector<float> logistic_table() {
    std::vector<float> table;
    for (std::int32_t i = 0; i <= kLogisticSteps; ++i) {
        const float x =
            static_cast<float>(i * 2 * static_cast<std::int32_t>(kLogisticRange)) / kLogisticSteps - kLogisticRange;
        table.push_back(static_cast<float>(1.0 / (1.0 + std::exp(-x))));
    }
    return table;
}

float logistic(const std::vector<float>& table, float x) {
    if (x < -kLogisticRange) return 0;
    if (x > kLogisticRange) return 1;
    if (std::isnan(x)) return x;
    return table[static_cast<std::size_t>((x + kLogisticRange) * kLogisticSteps / kLogisticRange / 2)];
}

void softmax(std::vector<float>& values) {
    const float highest = *std::ranges::max_element(values);
    float sum = 0;
    for (float& value : values) {
        value = static_cast<float>(std::exp(static_cast<double>(value - highest)));
        sum += value;
    }
    for (float& value : values) value /= sum;
}

// A heap whose first element is the least probable. In fastText, the heap of its standard library decides which labels
// of equal probability are kept, and in which order. So this heap takes the steps of libstdc++'s heap, with which
// fastText's packages for Linux are built.
template <typename Heap>
void sift_up(Heap& heap, std::size_t place) {
    const auto moved = heap[place];
    for (std::size_t above; place > 0 && heap[above = (place - 1) / 2].first > moved.first; place = above)
        heap[place] = heap[above];
    heap[place] = moved;
}

// Moves the first element to `last`, and makes a heap of the elements before it.
template <typename Heap>
void move_first_to(Heap& heap, std::size_t last) {
    const auto moved = heap[last];
    heap[last] = heap[0];
    std::size_t hole = 0;
    for (std::size_t below = 2; below <= last; below = 2 * hole + 2) {
        if (below == last || heap[below].first > heap[below - 1].first) --below;  // the less probable child
        heap[hole] = heap[below];
        hole = below;
    }
    heap[hole] = moved;
    sift_up(heap, hole);
}

}  // namespace

Model::Scratch::Scratch(const Model& model) : hidden(model.dim()) {
    outputs.resize(model.tree_ ? model.tree_->size() : model.labels_.size());
    known.resize(outputs.size());
}

Model::Model(const std::uint8_t* data, std::size_t size) : Model(read_model(data, size)) {}

Model::Model(ModelFile file)
    : loss_(file.loss),
      dictionary_(file),
      input_(file.input),
      output_(file.output,
              loss_ == Loss::kHierarchicalSoftmax ? OutputMatrix::Layout::kRows : OutputMatrix::Layout::kColumns) {
    std::ranges::transform(file.labels, std::back_inserter(labels_), [](const Entry& label) { return label.text; });
    if (loss_ == Loss::kHierarchicalSoftmax) tree_ = std::make_unique<const LabelTree>(file.labels);
    if (loss_ == Loss::kOneVsAll || loss_ == Loss::kNegativeSampling) logistic_ = logistic_table();
}

// Adds the rows of a word to a sum.
template <std::size_t kDim>
Dictionary::Kind Model::add_uncached(std::string_view word, float* sum, Scratch& scratch) const {
    scratch.rows.clear();
    const Dictionary::Kind kind = dictionary_.append_rows(word, scratch.bracketed, scratch.rows);
    input_.add_rows<kDim>(scratch.rows, sum);
    scratch.count += scratch.rows.size();
    if (kind == Dictionary::Kind::kWord && dictionary_.has_word_ngrams()) scratch.hashes.push_back(hash_word(word));
    return kind;
}

// Adds a short word's row sum to the line's sum.
template <std::size_t kDim>
void Model::add_sum(const Word& word, Scratch& scratch) const {
    WordCache<float>& cache = *scratch.sums;
    auto* entry = cache.find(word.key);
    if (entry != nullptr) {
        scratch.count += entry->rows;
        if (dictionary_.has_word_ngrams()) scratch.hashes.push_back(entry->hash);
    } else {
        entry = cache.place(word.key);
        float* const sum = cache.values(entry);
        std::fill_n(sum, input_.dim(), 0.0F);
        if (add_uncached<kDim>(word.text, sum, scratch) == Dictionary::Kind::kLabel) {
            entry->key = {};
            return;
        }
        entry->rows = static_cast<std::uint32_t>(scratch.rows.size());
        entry->hash = dictionary_.has_word_ngrams() ? scratch.hashes.back() : 0;
    }
    add_values<kDim>(scratch.hidden.data(), cache.values(entry), input_.dim());
}

// Adds the rows of a short word to the line's sum, one by one.
template <std::size_t kDim>
void Model::add_rows_in_order(const Word& word, Scratch& scratch) const {
    WordCache<std::uint32_t>& cache = *scratch.word_rows;
    if (const auto* const entry = cache.find(word.key)) {
        input_.add_rows<kDim>({cache.values(entry), entry->rows}, scratch.hidden.data());
        scratch.count += entry->rows;
        if (dictionary_.has_word_ngrams()) scratch.hashes.push_back(entry->hash);
        return;
    }
    const Dictionary::Kind kind = add_uncached<kDim>(word.text, scratch.hidden.data(), scratch);
    if (kind == Dictionary::Kind::kLabel || scratch.rows.size() > cache.width()) return;
    auto* const entry = cache.place(word.key);
    std::ranges::copy(scratch.rows, cache.values(entry));
    entry->rows = static_cast<std::uint32_t>(scratch.rows.size());
    entry->hash = dictionary_.has_word_ngrams() ? scratch.hashes.back() : 0;
}

template <std::size_t kDim>
void Model::add_words(Scratch& scratch) const {
    for (const Word& word : scratch.words) {
        if (word.text.size() > WordKey::kMaxBytes)
            add_uncached<kDim>(word.text, scratch.hidden.data(), scratch);
        else if (scratch.in_order)
            add_rows_in_order<kDim>(word, scratch);
        else
            add_sum<kDim>(word, scratch);
    }
    scratch.words.clear();
}

// Writes the mean of a line's rows to `hidden`. Returns false if the line has none.
template <std::size_t kDim>
bool Model::read_line(std::string_view line, std::size_t readable, Scratch& scratch) const {
    std::ranges::fill(scratch.hidden, 0.0F);
    scratch.hashes.clear();
    scratch.count = 0;
    const auto add = [&](std::string_view word, std::size_t left) {
        Word& added = scratch.words.emplace_back(word, WordKey{});
        if (word.size() <= WordKey::kMaxBytes) {
            added.key = WordKey::of(word, left);
            scratch.in_order ? scratch.word_rows->prefetch(added.key) : scratch.sums->prefetch(added.key);
        }
        if (scratch.words.size() == kGroup) add_words<kDim>(scratch);
    };
    bool ended = false;
    for (std::size_t at = 0; at < line.size() && !ended;) {
        if (is_space(line[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < line.size() && !is_space(line[at])) ++at;
        const std::string_view word = line.substr(begin, at - begin);
        add(word, readable - begin);
        ended = word == kLineEnd;
    }
    if (!ended) add(kLineEnd, kLineEnd.size());
    add_words<kDim>(scratch);
    scratch.rows.clear();
    dictionary_.append_ngrams(scratch.hashes, scratch.rows);
    input_.add_rows<kDim>(scratch.rows, scratch.hidden.data());
    scratch.count += scratch.rows.size();
    if (scratch.count == 0) return false;
    const auto scale = static_cast<float>(1.0 / static_cast<double>(scratch.count));
    for (float& value : scratch.hidden) value *= scale;
    return true;
}

void Model::for_each_line(const TextView& text, std::size_t threads, bool in_order, const EachLine& use,
                          const Poll& poll) const {
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    std::vector<std::unique_ptr<Scratch>> scratches(std::clamp<std::size_t>(threads, 1, bounds.size()));
    for (auto& scratch : scratches) {
        scratch = scratch_.borrow([&] { return std::make_unique<Scratch>(*this); });
        // The table of logistic values is coarse: a sum that is rounded differently may fall into another step.
        scratch->in_order = in_order || is_logistic();
        if (scratch->in_order && scratch->word_rows == nullptr)
            scratch->word_rows = std::make_unique<WordCache<std::uint32_t>>(kCachedRows);
        if (!scratch->in_order && scratch->sums == nullptr)
            scratch->sums = std::make_unique<WordCache<float>>(input_.dim());
    }
    const auto end = static_cast<std::size_t>(text.offsets[text.lines]);
    parallel_for(bounds.size() - 1, scratches.size(), [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        Scratch& scratch = *scratches[thread];
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            const std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
            const std::size_t readable = end - static_cast<std::size_t>(text.offsets[i]);
            const bool known =
                input_.dim() == 16 ? read_line<16>(line, readable, scratch) : read_line<0>(line, readable, scratch);
            if (known && tree_)
                ++scratch.line;
            else if (known)
                compute_outputs(scratch);
            use(i, known, scratch);
        }
    });
    for (auto& scratch : scratches) scratch_.give_back(std::move(scratch));
}

// Computes the probabilities of all labels. Requires a model without a tree.
void Model::compute_outputs(Scratch& scratch) const {
    output_.products(scratch.hidden.data(), scratch.outputs.data());
    if (is_logistic())
        for (float& value : scratch.outputs) value = logistic(logistic_, value);
    else
        softmax(scratch.outputs);
}

// Probability of an inner node's right branch.
float Model::node_output(std::uint32_t node, Scratch& scratch) const {
    if (scratch.known[node] != scratch.line) {
        const float product = output_.product(node - tree_->labels(), scratch.hidden.data(), scratch.in_order);
        scratch.outputs[node] = static_cast<float>(1.0 / (1.0F + std::exp(-product)));
        scratch.known[node] = scratch.line;
    }
    return scratch.outputs[node];
}

double Model::tree_probability(std::uint32_t label, Scratch& scratch) const {
    double probability = 1;
    for (std::uint32_t node = label; node != tree_->root();) {
        const std::uint32_t parent = tree_->node(node).parent;
        const float right = node_output(parent, scratch);
        probability *= (tree_->node(parent).right == node ? right : 1 - right) + kFloor;
        node = parent;
    }
    return probability;
}

// fastText's probability of a label, which is slightly more than the true one because of kFloor.
float Model::label_probability(std::uint32_t label, Scratch& scratch) const {
    return static_cast<float>(tree_ ? tree_probability(label, scratch) : scratch.outputs[label] + kFloor);
}

void Model::keep_best(float score, std::uint32_t label, std::size_t most, Scratch& scratch) const {
    std::vector<Scored>& heap = scratch.heap;
    heap.emplace_back(score, label);
    sift_up(heap, heap.size() - 1);
    if (heap.size() <= most) return;
    move_first_to(heap, heap.size() - 1);
    heap.pop_back();
}

// Returns a bound below the score of the label to which the more probable branches lead. The margin is needed because
// kFloor and rounding let scores grow a little from a node to the next.
float Model::likely_bound(Scratch& scratch) const {
    float score = 0;
    for (std::uint32_t node = tree_->root(); !tree_->is_label(node);) {
        const float right = node_output(node, scratch);
        const bool turns_right = right > 0.5F;
        score += log_of(turns_right ? right : static_cast<float>(1.0 - right));
        node = turns_right ? tree_->node(node).right : tree_->node(node).left;
    }
    return score - static_cast<float>(3 * kFloor * tree_->labels());
}

// Collects the most probable labels. Like fastText, leaves out branches below a probability of kFloor. For one label,
// also leaves out branches below the probability of a likely best label, which changes no result.
void Model::tree_top(std::size_t most, Scratch& scratch) const {
    const float lowest = most == 1 ? std::max(log_of(0), likely_bound(scratch)) : log_of(0);
    scratch.open.assign(1, {0.0F, tree_->root()});
    while (!scratch.open.empty()) {
        const auto [score, node] = scratch.open.back();
        scratch.open.pop_back();
        if (score < lowest || (scratch.heap.size() == most && score < scratch.heap.front().first)) continue;
        if (tree_->is_label(node)) {
            keep_best(score, node, most, scratch);
            continue;
        }
        const float right = node_output(node, scratch);
        scratch.open.emplace_back(score + log_of(right), tree_->node(node).right);
        scratch.open.emplace_back(score + log_of(static_cast<float>(1.0 - right)), tree_->node(node).left);
    }
}

// Finds the most probable rival. Follows the more probable branch first, and skips branches that are less probable than
// `least` or the best rival so far.
void Model::tree_rival(const std::vector<std::uint8_t>& has_rival, Scratch& scratch, float least,
                       Contest& contest) const {
    if (has_rival[tree_->root()] == 0) return;
    scratch.open.assign(1, {1.0F, tree_->root()});
    while (!scratch.open.empty()) {
        const auto [probability, node] = scratch.open.back();
        scratch.open.pop_back();
        if (probability <= std::max(contest.rival, least)) continue;
        if (tree_->is_label(node)) {
            contest.rival = probability;
            contest.label = static_cast<std::int32_t>(node);
            continue;
        }
        const double right = node_output(node, scratch);
        const LabelTree::Node& children = tree_->node(node);
        Scored left_branch(static_cast<float>(probability * (1 - right + kFloor)), children.left);
        Scored right_branch(static_cast<float>(probability * (right + kFloor)), children.right);
        if (left_branch.first > right_branch.first) std::swap(left_branch, right_branch);
        if (has_rival[left_branch.second] != 0) scratch.open.push_back(left_branch);
        if (has_rival[right_branch.second] != 0) scratch.open.push_back(right_branch);
    }
}

void Model::probabilities(const TextView& text, const std::vector<std::uint32_t>& labels, float* result,
                          std::size_t threads, const Poll& poll) const {
    const auto write = [&](std::size_t line, bool known, Scratch& scratch) {
        float* const row = result + line * labels.size();
        for (std::size_t i = 0; i < labels.size(); ++i) row[i] = known ? label_probability(labels[i], scratch) : 0;
    };
    for_each_line(text, threads, true, write, poll);
}

void Model::top(const TextView& text, std::size_t most, std::int32_t* labels, float* result, std::size_t threads,
                const Poll& poll) const {
    const auto write = [&](std::size_t line, bool known, Scratch& scratch) {
        std::vector<Scored>& heap = scratch.heap;
        heap.clear();
        if (known && tree_) tree_top(most, scratch);
        for (std::uint32_t label = 0; known && !tree_ && label < labels_.size(); ++label) {
            const float score = log_of(scratch.outputs[label]);
            if (heap.size() < most || !(score < heap.front().first)) keep_best(score, label, most, scratch);
        }
        for (std::size_t last = heap.size(); last > 1; --last) move_first_to(heap, last - 1);
        for (std::size_t i = 0; i < most; ++i) {
            const bool found = i < heap.size();
            labels[line * most + i] = found ? static_cast<std::int32_t>(heap[i].second) : -1;
            result[line * most + i] = found ? std::exp(heap[i].first) : 0;
        }
    };
    for_each_line(text, threads, true, write, poll);
}

void Model::contest(const TextView& text, const std::vector<Role>& roles, float least, Contest* result,
                    std::size_t threads, const Poll& poll) const {
    std::vector<std::uint32_t> own;
    for (std::uint32_t label = 0; label < roles.size(); ++label)
        if (roles[label] == Role::kOwn) own.push_back(label);
    // For each node, true if a rival is below it. Children precede their parents.
    std::vector<std::uint8_t> has_rival(tree_ ? tree_->size() : roles.size());
    for (std::uint32_t node = 0; node < has_rival.size(); ++node)
        has_rival[node] = node < roles.size() ? roles[node] == Role::kRival
                                              : has_rival[tree_->node(node).left] | has_rival[tree_->node(node).right];
    const auto write = [&](std::size_t line, bool known, Scratch& scratch) {
        Contest contest;
        double sum = 0;
        for (std::size_t i = 0; known && i < own.size(); ++i) sum += label_probability(own[i], scratch);
        contest.own = static_cast<float>(sum);
        if (known && tree_) tree_rival(has_rival, scratch, least, contest);
        for (std::uint32_t label = 0; known && !tree_ && label < roles.size(); ++label) {
            if (roles[label] != Role::kRival) continue;
            const float probability = label_probability(label, scratch);
            if (probability <= std::max(contest.rival, least)) continue;
            contest.rival = probability;
            contest.label = static_cast<std::int32_t>(label);
        }
        result[line] = contest;
    };
    for_each_line(text, threads, false, write, poll);
}

}  // namespace nmt_prep::fasttext
