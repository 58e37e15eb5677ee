#include "adequacy/trees.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "text/exp_log.h"
#include "text/parallel.h"

namespace nmt_prep::adequacy {
namespace {

constexpr double kUnit = 1 << 20;  // gradients are multiples of 1 / kUnit
constexpr std::size_t kRunRows = 4096;

struct Sums {
    std::int64_t gradient = 0;
    std::int64_t curvature = 0;
    std::int64_t rows = 0;

    Sums& operator+=(const Sums& other) {
        gradient += other.gradient;
        curvature += other.curvature;
        rows += other.rows;
        return *this;
    }
    friend Sums operator-(Sums left, const Sums& right) {
        left.gradient -= right.gradient;
        left.curvature -= right.curvature;
        left.rows -= right.rows;
        return left;
    }
};

struct Split {
    double gain = 0;
    std::size_t feature = 0;
    std::size_t bin = 0;  // rows up to this bin go to the first child
    double first = 0;     // values of the children
    double second = 0;
};

// A leaf of a tree that grows. Its value is between `low` and `high`.
struct Leaf {
    std::size_t node;
    std::size_t begin, end;  // range of its rows
    double low, high, value;
    std::vector<Sums> bins;  // kBins sums for each feature
    Split best;
};

class Trainer {
   public:
    Trainer(const Rows& rows, const Boosting& boosting, std::size_t threads)
        : rows_(rows),
          boosting_(boosting),
          threads_(threads),
          size_(rows.classes.size()),
          scores_(size_, 0.0),
          gradients_(size_),
          order_(size_),
          moved_(size_) {}

    Nodes train(const Poll& poll) {
        for (std::size_t tree = 0; tree < boosting_.trees; ++tree) {
            poll();
            grow();
        }
        return std::move(nodes_);
    }

   private:
    struct Gradient {
        std::int32_t gradient;
        std::int32_t curvature;
    };

    void grow() {
        for (std::size_t row = 0; row < size_; ++row) {
            const double probability = 1 / (1 + exp(-scores_[row]));
            gradients_[row] = {static_cast<std::int32_t>((probability - rows_.classes[row]) * kUnit),
                               static_cast<std::int32_t>(probability * (1 - probability) * kUnit)};
        }
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        nodes_.roots.push_back(static_cast<std::int32_t>(nodes_.features.size()));
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        std::vector<Leaf> leaves;
        leaves.push_back({add_node(), 0, size_, -kInfinity, kInfinity, 0, {}, {}});
        count(leaves[0]);
        search(leaves[0]);
        while (leaves.size() < boosting_.leaves) {
            const auto best = std::ranges::max_element(leaves, {}, [](const Leaf& leaf) { return leaf.best.gain; });
            if (best->best.gain <= 0) break;
            Leaf second = divide(*best);
            leaves.push_back(std::move(second));
        }
        for (const Leaf& leaf : leaves) {
            const double value = boosting_.rate * leaf.value;
            nodes_.values[leaf.node] = value;
            for (std::size_t at = leaf.begin; at < leaf.end; ++at) scores_[order_[at]] += value;
        }
    }

    std::size_t add_node() {
        nodes_.features.push_back(-1);
        nodes_.bounds.push_back(0);
        nodes_.children.push_back(0);
        nodes_.values.push_back(0);
        return nodes_.features.size() - 1;
    }

    void count(Leaf& leaf) {
        leaf.bins.assign(rows_.directions.size() * kBins, {});
        parallel_for(rows_.directions.size(), threads_, [&](std::size_t feature, std::size_t) {
            const std::uint8_t* const bins = rows_.bins.data() + feature * size_;
            Sums* const sums = leaf.bins.data() + feature * kBins;
            for (std::size_t at = leaf.begin; at < leaf.end; ++at) {
                const std::uint32_t row = order_[at];
                sums[bins[row]] += {gradients_[row].gradient, gradients_[row].curvature, 1};
            }
        });
    }

    double value_of(const Sums& sums, const Leaf& leaf) const {
        const double value =
            -static_cast<double>(sums.gradient) / (static_cast<double>(sums.curvature) + boosting_.penalty * kUnit);
        return std::clamp(value, leaf.low, leaf.high);
    }
    // The decrease of the loss if a leaf has this value.
    double gain_of(const Sums& sums, double value) const {
        const double curvature = static_cast<double>(sums.curvature) / kUnit + boosting_.penalty;
        return -(static_cast<double>(sums.gradient) / kUnit * value + 0.5 * curvature * value * value);
    }

    // Finds the best split of a leaf.
    void search(Leaf& leaf) const {
        Sums all;
        for (std::size_t bin = 0; bin < kBins; ++bin) all += leaf.bins[bin];
        leaf.value = value_of(all, leaf);
        leaf.best = {};
        const double before = gain_of(all, leaf.value) + 1e-6;
        for (std::size_t feature = 0; feature < rows_.directions.size(); ++feature) {
            Sums first;
            for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
                const Sums& here = leaf.bins[feature * kBins + bin];
                if (here.rows == 0) continue;
                first += here;
                const Sums second = all - first;
                if (first.rows < boosting_.smallest) continue;
                if (second.rows < boosting_.smallest) break;
                const double left = value_of(first, leaf);
                const double right = value_of(second, leaf);
                if (rows_.directions[feature] * (right - left) < 0) continue;
                const double gain = gain_of(first, left) + gain_of(second, right) - before;
                if (gain > leaf.best.gain) leaf.best = {gain, feature, bin, left, right};
            }
        }
    }

    // Divides a leaf; returns its second part.
    Leaf divide(Leaf& leaf) {
        const Split split = leaf.best;
        const std::size_t node = leaf.node;
        const std::size_t child = add_node();
        add_node();
        nodes_.features[node] = static_cast<std::int32_t>(split.feature);
        nodes_.bounds[node] = static_cast<double>(split.bin);
        nodes_.children[node] = static_cast<std::int32_t>(child);
        const std::uint8_t* const bins = rows_.bins.data() + split.feature * size_;
        std::size_t kept = leaf.begin;
        std::size_t moved = 0;
        for (std::size_t at = leaf.begin; at < leaf.end; ++at) {
            const std::uint32_t row = order_[at];
            if (bins[row] <= split.bin)
                order_[kept++] = row;
            else
                moved_[moved++] = row;
        }
        std::copy_n(moved_.begin(), moved, order_.begin() + static_cast<std::ptrdiff_t>(kept));
        Leaf second{child + 1, kept, leaf.end, leaf.low, leaf.high, 0, {}, {}};
        leaf.node = child;
        leaf.end = kept;
        const double middle = (split.first + split.second) / 2;
        const std::int8_t direction = rows_.directions[split.feature];
        if (direction > 0) leaf.high = second.low = middle;
        if (direction < 0) leaf.low = second.high = middle;
        count_parts(leaf, second);
        search(leaf);
        search(second);
        return second;
    }

    // Sums the smaller part of a leaf, and subtracts its sums from those of the whole leaf for the other part.
    void count_parts(Leaf& leaf, Leaf& second) {
        std::vector<Sums> whole = std::move(leaf.bins);
        const bool first_smaller = leaf.end - leaf.begin < second.end - second.begin;
        Leaf& smaller = first_smaller ? leaf : second;
        Leaf& larger = first_smaller ? second : leaf;
        count(smaller);
        for (std::size_t at = 0; at < whole.size(); ++at) whole[at] = whole[at] - smaller.bins[at];
        larger.bins = std::move(whole);
    }

    const Rows& rows_;
    const Boosting& boosting_;
    std::size_t threads_, size_;
    std::vector<double> scores_;
    std::vector<Gradient> gradients_;
    std::vector<std::uint32_t> order_, moved_;
    Nodes nodes_;
};

}  // namespace

Nodes train(const Rows& rows, const Boosting& boosting, std::size_t threads, const Poll& poll) {
    return Trainer(rows, boosting, threads).train(poll);
}

Trees::Trees(Nodes nodes, std::size_t features) : nodes_(std::move(nodes)), features_(features) {
    const std::size_t size = nodes_.features.size();
    const auto require = [](bool good, const char* message) {
        if (!good) throw std::invalid_argument(message);
    };
    require(nodes_.bounds.size() == size && nodes_.children.size() == size && nodes_.values.size() == size,
            "the trees have different numbers of features, bounds, children and values");
    for (std::size_t at = 0; at < size; ++at) {
        require(nodes_.features[at] >= -1 && std::cmp_less(nodes_.features[at], features), "a feature is not known");
        require(std::isfinite(nodes_.values[at]) && !std::isnan(nodes_.bounds[at]), "a value is not finite");
        const bool leaf = nodes_.features[at] < 0;
        require(leaf || (std::cmp_greater(nodes_.children[at], at) && std::cmp_less(nodes_.children[at], size - 1)),
                "a child does not come after its parent");
    }
    for (const std::int32_t root : nodes_.roots)
        require(root >= 0 && std::cmp_less(root, size), "a root is not a node");
}

void predict(const Trees& trees, std::span<const double> rows, double* out, std::size_t threads, const Poll& poll) {
    const std::size_t size = rows.size() / trees.features();
    parallel_for((size + kRunRows - 1) / kRunRows, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t row = run * kRunRows; row < std::min((run + 1) * kRunRows, size); ++row)
            out[row] = trees.log_odds(rows.data() + row * trees.features());
    });
}

}  // namespace nmt_prep::adequacy
