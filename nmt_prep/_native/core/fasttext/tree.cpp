#include "fasttext/tree.h"

#include <algorithm>
#include <initializer_list>

namespace nmt_prep::fasttext {

LabelTree::LabelTree(const std::vector<Entry>& labels)
    : labels_(static_cast<std::uint32_t>(labels.size())), nodes_(2 * labels.size() - 1) {
    // As in fastText: repeatedly joins the two lightest of the remaining labels and nodes; labels are taken from the
    // last one on. Of equal weights, nodes come before labels. Nodes that do not exist yet count as heavier than all
    // labels.
    constexpr std::int64_t kHeaviest = 1'000'000'000'000'000;
    std::vector<std::int64_t> counts(nodes_.size(), kHeaviest);
    for (std::size_t i = 0; i < labels.size(); ++i) counts[i] = std::min(labels[i].count, kHeaviest - 1);
    std::uint32_t left_labels = labels_;
    std::uint32_t next_node = labels_;
    const auto lightest = [&] {
        if (left_labels > 0 && counts[left_labels - 1] < counts[next_node]) return --left_labels;
        return next_node++;
    };
    for (std::uint32_t made = labels_; made < nodes_.size(); ++made) {
        Node& node = nodes_[made];
        node.left = lightest();
        node.right = lightest();
        counts[made] = std::min(counts[node.left] + counts[node.right], kHeaviest - 1);
        nodes_[node.left].parent = nodes_[node.right].parent = made;
    }
}

}  // namespace nmt_prep::fasttext
