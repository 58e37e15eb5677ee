// Boosted decision trees for two classes. Gradient sums are integer sums, so the same rows give the same trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::adequacy {

// Bins per feature.
inline constexpr std::size_t kBins = 64;

// Nodes of trees: an inner node has a feature, and children `child` (feature <= bound) and `child` + 1; a leaf has
// feature -1.
struct Nodes {
    std::vector<std::int32_t> features;
    std::vector<double> bounds;  // upper bounds of inner nodes; in training, bins
    std::vector<std::int32_t> children;
    std::vector<double> values;  // values of leaves
    std::vector<std::int32_t> roots;
};

struct Boosting {
    std::size_t trees;
    std::size_t leaves;     // maximum leaves per tree
    double rate;            // learning rate: factor for leaf values
    double penalty;         // regularization: added to the curvature of a leaf
    std::int64_t smallest;  // minimum row count of a leaf
};

// Binned rows: bins[feature * rows + row].
struct Rows {
    std::span<const std::uint8_t> bins;
    std::span<const std::uint8_t> classes;    // 1 for the class whose log-odds the trees predict
    std::span<const std::int8_t> directions;  // by feature: 1 if the log-odds never fall with it, -1 if they never
                                              // rise, 0 if they may do both
};

// Trains trees. The number of threads does not change them.
Nodes train(const Rows& rows, const Boosting& boosting, std::size_t threads, const Poll& poll);

// Trees that are checked, with bounds as values of features.
class Trees {
   public:
    // Throws std::invalid_argument unless every child comes after its parent, features are below `features`, and values
    // are finite.
    Trees(Nodes nodes, std::size_t features);

    std::size_t features() const { return features_; }
    double log_odds(const double* row) const {
        double sum = 0;
        for (const std::int32_t root : nodes_.roots) {
            auto at = static_cast<std::size_t>(root);
            while (nodes_.features[at] >= 0) {
                const bool above = row[nodes_.features[at]] > nodes_.bounds[at];
                at = static_cast<std::size_t>(nodes_.children[at]) + (above ? 1 : 0);
            }
            sum += nodes_.values[at];
        }
        return sum;
    }

   private:
    Nodes nodes_;
    std::size_t features_;
};

// Writes the log-odds of feature rows.
void predict(const Trees& trees, std::span<const double> rows, double* out, std::size_t threads, const Poll& poll);

}  // namespace nmt_prep::adequacy
