// Finds the names of added tokens in text, at each position the longest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nmt_prep::byte_bpe {

class NameFinder {
   public:
    using Names = std::vector<std::pair<std::string, std::int32_t>>;  // name and id

    // The names must not be empty. Of equal names, the one with the highest id counts.
    explicit NameFinder(const Names& names);

    bool empty() const { return nodes_.size() == 1; }

    // Calls on_text(text, size) and on_name(id) for the parts of a text, in order.
    template <class OnText, class OnName>
    void cut(const std::uint8_t* at, std::size_t size, OnText&& on_text, OnName&& on_name) const {
        const std::uint8_t* const end = at + size;
        const std::uint8_t* rest = at;
        while (at != end) {
            if (!begins_[*at]) {
                ++at;
                continue;
            }
            const auto [length, id] = longest(at, end);
            if (length == 0) {
                ++at;
                continue;
            }
            if (rest != at) on_text(rest, static_cast<std::size_t>(at - rest));
            on_name(id);
            rest = at += length;
        }
        if (rest != end) on_text(rest, static_cast<std::size_t>(end - rest));
    }

   private:
    // A node of the trie of all names; its edges are consecutive.
    struct Node {
        std::uint32_t first = 0, edges = 0;
        std::int32_t id = -1;  // id of the name that ends here
    };
    struct Edge {
        std::uint8_t byte;
        std::uint32_t node;
    };

    // Length in bytes and id of the longest name that begins at `at`; length 0 for no name.
    std::pair<std::size_t, std::int32_t> longest(const std::uint8_t* at, const std::uint8_t* end) const;

    std::array<bool, 256> begins_{};
    std::vector<Node> nodes_ = std::vector<Node>(1);
    std::vector<Edge> edges_;
};

}  // namespace nmt_prep::byte_bpe
