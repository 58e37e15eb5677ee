#include "t2t/longest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nmt_prep::t2t {

LongestPieces::LongestPieces(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids) {
    states_.push_back({kNone, 0, kNone, -1});
    std::vector<std::uint32_t> depths{0};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].empty()) continue;
        std::uint32_t state = 0;
        for (auto symbol = pieces[i].rbegin(); symbol != pieces[i].rend(); ++symbol) {
            std::uint32_t& next = edges_.add(edge(state, *symbol));
            if (next == 0) {
                next = static_cast<std::uint32_t>(states_.size());
                states_.push_back({state, *symbol, 0, -1});
                depths.push_back(depths[state] + 1);
            }
            state = next;
        }
        states_[state].id = ids[i];
    }

    // Shorter states come first, since a state is built from a shorter one.
    std::vector<std::uint32_t> order(states_.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::ranges::sort(order, {}, [&](std::uint32_t state) { return std::pair(depths[state], state); });
    for (const std::uint32_t each : order) {
        State& state = states_[each];
        if (each == 0) continue;
        if (state.parent != 0) state.shorter = follow(states_[state.parent].shorter, state.symbol);
        if (state.id < 0) state.id = states_[state.shorter].id;
    }
}

// Returns the next state: the longest state that is a suffix of the symbols that were read and this one.
std::uint32_t LongestPieces::follow(std::uint32_t state, std::uint32_t symbol) const {
    for (; state != kNone; state = states_[state].shorter)
        if (const std::uint32_t next = edges_.value(edge(state, symbol)); next != 0) return next;
    return 0;
}

void LongestPieces::find(const std::uint32_t* begin, const std::uint32_t* end, std::int32_t* ids,
                         const Poll& poll) const {
    std::uint32_t state = 0;
    for (auto i = static_cast<std::size_t>(end - begin); i-- > 0;) {
        if (i % kPollEvery == 0) poll();
        state = follow(state, begin[i]);
        ids[i] = states_[state].id;
    }
}

}  // namespace nmt_prep::t2t
