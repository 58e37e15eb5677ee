// The tree of hierarchical softmax: a Huffman tree over the counts of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fasttext/file.h"

namespace nmt_prep::fasttext {

class LabelTree {
   public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    struct Node {
        std::uint32_t parent = kNone, left = kNone, right = kNone;
    };

    // The first nodes are the labels; the last one is the root.
    explicit LabelTree(const std::vector<Entry>& labels);

    const Node& node(std::uint32_t number) const { return nodes_[number]; }
    std::uint32_t root() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
    std::uint32_t labels() const { return labels_; }
    bool is_label(std::uint32_t number) const { return number < labels_; }
    std::size_t size() const { return nodes_.size(); }

   private:
    std::uint32_t labels_;
    std::vector<Node> nodes_;
};

}  // namespace nmt_prep::fasttext
