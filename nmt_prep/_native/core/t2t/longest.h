// Finds the longest piece at every position of a text in time linear in the text, for any pieces. Used for adversarial
// texts, on which a trie repeatedly looks ahead in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "t2t/trie.h"
#include "text/batch.h"
#include "text/hash_table.h"

namespace nmt_prep::t2t {

// The Aho-Corasick automaton (1975) of the reversed pieces: while reading a text from its end, the state is the longest
// prefix of a reversed piece that ends here, and it gives the longest whole piece that begins here in the text.
class LongestPieces {
   public:
    // Takes the same arguments as Trie's constructor.
    LongestPieces(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids);

    // For each symbol in [begin, end), writes the id of the longest piece that begins at it and does not go beyond
    // `end`; -1 if there is none.
    void find(const std::uint32_t* begin, const std::uint32_t* end, std::int32_t* ids, const Poll& poll) const;

   private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    struct State {
        std::uint32_t parent;
        std::uint32_t symbol;   // symbol that was read last
        std::uint32_t shorter;  // state of the next shorter prefix, kNone for the empty one
        std::int32_t id;        // longest piece that ends with this state, -1 for none
    };

    static std::uint64_t edge(std::uint32_t state, std::uint32_t symbol) {
        return mixed_key(std::uint64_t{state} << 32 | symbol);
    }
    std::uint32_t follow(std::uint32_t state, std::uint32_t symbol) const;

    std::vector<State> states_;
    HashTable<std::uint32_t> edges_;  // by edge(): the state that the edge leads to
};

}  // namespace nmt_prep::t2t
