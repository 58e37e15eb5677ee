// Finds the names of added tokens in text, at each position the longest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nmt_prep::byte_bpe {

// The automaton of Aho and Corasick (1975) for the reversed names. It reads text from the end, so that its state at a
// position tells the longest name that begins there. The time is linear in the text, however long the names are.
class NameFinder {
   public:
    using Names = std::vector<std::pair<std::string, std::int32_t>>;  // name and id

    // The names must not be empty. Of equal names, the one with the highest id counts.
    explicit NameFinder(const Names& names);

    bool empty() const { return nodes_.size() == 1; }

    // Calls on_text(text, size) and on_name(id) for the parts of a text, in order.
    template <class OnText, class OnName>
    void cut(const std::uint8_t* text, std::size_t size, OnText&& on_text, OnName&& on_name) const {
        const std::vector<Match> matches = backwards(text, size);
        std::size_t at = 0;
        for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
            if (match->begin < at) continue;  // within the previous name
            if (match->begin > at) on_text(text + at, match->begin - at);
            on_name(match->id);
            at = match->begin + match->length;
        }
        if (at != size) on_text(text + at, size - at);
    }

   private:
    // A trie node over all reversed names; its edges are consecutive.
    struct Node {
        std::uint32_t first = 0, edges = 0;
        std::uint32_t shorter = 0;  // node for this path's longest suffix that is a path, too
        // The longest name that is a suffix of this path, reversed; length 0 for none.
        std::uint32_t length = 0;
        std::int32_t id = -1;
    };
    struct Edge {
        std::uint8_t byte;
        std::uint32_t node;
    };
    struct Match {
        std::size_t begin;
        std::uint32_t length;
        std::int32_t id;
    };

    // The longest name at each position at which one begins, from the end of the text.
    std::vector<Match> backwards(const std::uint8_t* text, std::size_t size) const;

    // The node after a byte.
    std::uint32_t step(std::uint32_t node, std::uint8_t byte) const;

    std::array<bool, 256> ends_{};  // whether a name ends in a byte
    std::vector<Node> nodes_ = std::vector<Node>(1);
    std::vector<Edge> edges_;
};

}  // namespace nmt_prep::byte_bpe
