#include "pattern/boundaries.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep::pattern {
namespace {

using ClassList = std::vector<std::size_t>;
using StateSet = std::set<std::size_t>;

enum class Decision : std::uint8_t { kOpen, kEnds, kGoesOn };

bool has_instructions([[maybe_unused]] Simd level) {
#if defined(__x86_64__)
    return level >= Simd::kAvx512;
#else
    return false;
#endif
}

// The states of an automaton, and what is known of them.
class States {
   public:
    static constexpr std::size_t kStart = 1;

    explicit States(const Automaton& automaton) : steps_(automaton.steps), safe_(steps_.size(), true) {
        const auto is_safe = [&](const Automaton::Step& step) { return step.matched || safe_[step.state]; };
        safe_[0] = false;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t state = kStart; state < safe_.size(); ++state) {
                if (!safe_[state] || std::ranges::all_of(steps_[state], is_safe)) continue;
                safe_[state] = false;
                changed = true;
            }
        }
    }

    std::size_t next(std::size_t state, std::size_t symbol) const { return steps_[state][symbol].state; }

    // True if a match ends before the character.
    bool ends(std::size_t state, std::size_t symbol) const {
        return next(state, symbol) == 0 && steps_[state][symbol].matched && begins(symbol);
    }

    // True if no match ends before the character, whatever follows.
    bool goes_on(std::size_t state, std::size_t symbol) const { return safe_[next(state, symbol)]; }

    // True if a match can always begin with the character.
    bool begins(std::size_t symbol) const { return safe_[next(kStart, symbol)]; }

    // All states in texts that have only these classes.
    StateSet reached(const ClassList& classes) const {
        StateSet found{kStart};
        for (ClassList pending{kStart}; !pending.empty();) {
            const std::size_t state = pending.back();
            pending.pop_back();
            for (const std::size_t symbol : classes)
                if (const std::size_t then = next(state, symbol); then != 0 && found.insert(then).second)
                    pending.push_back(then);
        }
        return found;
    }

    // Whether a match ends before a character of a group, if that is so in all of these states.
    Decision decide(const StateSet& states, const ClassList& group) const {
        std::size_t ended = 0, gone_on = 0;
        for (const std::size_t state : states) {
            for (const std::size_t symbol : group) {
                ended += ends(state, symbol);
                gone_on += goes_on(state, symbol);
            }
        }
        const std::size_t all = states.size() * group.size();
        if (all == 0) return Decision::kOpen;
        return ended == all ? Decision::kEnds : gone_on == all ? Decision::kGoesOn : Decision::kOpen;
    }

    // The steps from some states by a character.
    std::vector<std::pair<std::size_t, bool>> steps(const StateSet& states, std::size_t symbol) const {
        std::vector<std::pair<std::size_t, bool>> found;
        for (const std::size_t state : states) found.emplace_back(next(state, symbol), steps_[state][symbol].matched);
        return found;
    }

   private:
    const std::vector<std::vector<Automaton::Step>>& steps_;
    std::vector<bool> safe_;
};

// Puts the common classes into groups that have the same steps in text of such classes; the most useful groups first.
std::vector<ClassList> group_classes(const Automaton& automaton, const States& states) {
    constexpr std::size_t kCommon = 100;  // code points
    std::vector<std::size_t> points(automaton.classes);
    for (std::size_t i = 0; i < automaton.ranges.size(); ++i) {
        const Range& range = automaton.ranges[i];
        const auto has = [&](char32_t first, char32_t last) { return range.first <= last && first <= range.last; };
        std::size_t& all = points[automaton.class_of[i]];
        all += range.last - range.first + 1;
        if (has('A', 'Z') || has('a', 'z')) all += kCommon;
        if (has(' ', ' ')) all += CodeSet::kLast;
    }
    ClassList common;
    for (std::size_t symbol = 0; symbol < automaton.classes; ++symbol)
        if (states.begins(symbol) && points[symbol] >= kCommon) common.push_back(symbol);
    const StateSet reached = states.reached(common);
    std::map<std::vector<std::pair<std::size_t, bool>>, ClassList> by_steps;
    for (const std::size_t symbol : common) by_steps[states.steps(reached, symbol)].push_back(symbol);
    std::vector<ClassList> groups;
    groups.reserve(by_steps.size());
    for (const auto& [steps, classes] : by_steps) groups.push_back(classes);
    const auto size = [&](const ClassList& group) {
        const auto add = [&](std::size_t sum, std::size_t symbol) { return sum + points[symbol]; };
        return std::accumulate(group.begin(), group.end(), std::size_t{0}, add);
    };
    std::ranges::stable_sort(groups, std::greater(), size);
    return groups;
}

// The states after each two groups, and, as the last one, the group of strange characters. In a match, these states are
// not after a strange character or an open boundary.
std::vector<StateSet> states_after_two(const States& states, const std::vector<ClassList>& groups) {
    const std::size_t strange = groups.size(), all = strange + 1;
    std::vector<StateSet> after(all * all);
    bool changed = true;
    const auto add = [&](std::size_t first, std::size_t second, std::size_t state) {
        for (const std::size_t symbol : groups[second])
            changed |= after[first * all + second].insert(states.next(state, symbol)).second;
    };
    for (std::size_t second = 0; second < strange; ++second) add(strange, second, States::kStart);
    while (std::exchange(changed, false)) {
        for (std::size_t row = 0; row < after.size(); ++row) {
            const std::size_t second = row % all;
            for (std::size_t third = 0; third < strange; ++third) {
                const Decision decision = states.decide(after[row], groups[third]);
                if (decision == Decision::kEnds) add(second, third, States::kStart);
                if (decision == Decision::kGoesOn)
                    for (const std::size_t state : StateSet(after[row])) add(second, third, state);
            }
        }
    }
    return after;
}

}  // namespace

Boundaries::Boundaries(const Automaton& automaton) {
    constexpr std::size_t kMaxSteps = 4096;  // published expressions have less than 2,000
    if (!has_instructions(simd_of_processor()) || automaton.steps.size() * automaton.classes > kMaxSteps) return;
    const States states(automaton);
    std::vector<ClassList> groups = group_classes(automaton, states);
    groups.resize(kStrange);
    std::vector<std::uint8_t> group_of(automaton.classes, kStrange);
    for (std::size_t group = 0; group < groups.size(); ++group)
        for (const std::size_t symbol : groups[group]) group_of[symbol] = static_cast<std::uint8_t>(group);
    place_points(automaton, group_of);
    const std::vector<StateSet> after = states_after_two(states, groups);
    for (std::size_t row = 0; row < after.size(); ++row) {
        for (std::size_t third = 0; third < kStrange; ++third) {
            const auto bit = static_cast<std::uint8_t>(1u << third);
            const Decision decision = states.decide(after[row], groups[third]);
            if (decision == Decision::kEnds) ends_[row] |= bit;
            if (decision == Decision::kOpen) open_[row] |= bit;
        }
    }
}

bool Boundaries::usable() const { return !groups_.empty() && has_instructions(simd()); }

void Boundaries::place_points(const Automaton& automaton, const std::vector<std::uint8_t>& group_of) {
    groups_.resize(kPoints);
    for (std::size_t i = 0; i < automaton.ranges.size() && automaton.ranges[i].first < kPoints; ++i)
        for (char32_t point = automaton.ranges[i].first; point <= automaton.ranges[i].last && point < kPoints; ++point)
            groups_[point] = group_of[automaton.class_of[i]];
    if (groups_['a'] == kStrange) return groups_.clear();  // as most of a text would be
    const auto common_group = [](const std::uint8_t* first, std::size_t size) {
        return std::all_of(first, first + size, [&](std::uint8_t group) { return group == *first; }) ? *first : kMixed;
    };
    for (std::size_t row = 0; row < of_row_.size(); ++row) of_row_[row] = common_group(&groups_[row * kRow], kRow);
    for (std::size_t lead = 0; lead < of_lead_.size(); ++lead)
        of_lead_[lead] = common_group(&of_row_[lead * kRow], kRow);
}

#if defined(__x86_64__)

struct Boundaries::Vectors {
    // Mask of that many lowest bits, at most 64.
    NMT_PREP_AVX512 static std::uint64_t low_bits(std::ptrdiff_t count) {
        return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(std::clamp<std::ptrdiff_t>(count, 0, kBytes)));
    }

    NMT_PREP_AVX512 static __m512i every(std::size_t byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

    // The groups of the characters of several bytes that begin in a block, and `groups` for the others.
    NMT_PREP_AVX512 static __m512i groups_of_long(const Boundaries& of, const std::uint8_t* at, const std::uint8_t* end,
                                                  __m512i bytes, __m512i groups) {
        // Each turn is for all characters with the same first byte, or the same two bytes. Few are different in a
        // block.
        const __m512i second = _mm512_maskz_loadu_epi8(low_bits(end - at - 1), at + 1);
        const auto look_up = [&](std::uint64_t left, const std::uint8_t* table, std::size_t bits) NMT_PREP_AVX512 {
            while (left != 0) {
                const std::uint8_t lead = at[std::countr_zero(left)];
                const std::uint64_t same = _mm512_cmpeq_epi8_mask(bytes, every(lead));
                const __m512i row = _mm512_loadu_si512(table + (lead & bits) * kRow);
                groups = _mm512_mask_permutexvar_epi8(groups, same, second, row);
                left &= ~same;
            }
        };
        look_up(_mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, every(0xE0)), every(0xC0)), of.groups_.data(), 0x1F);
        const std::uint64_t three = _mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, every(0xF0)), every(0xE0));
        const __m512i of_leads =
            _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(of.of_lead_.data())));
        groups = _mm512_mask_shuffle_epi8(groups, three, of_leads, _mm512_and_si512(bytes, every(0x0F)));
        look_up(_mm512_mask_cmpeq_epi8_mask(three, groups, every(kMixed)), of.of_row_.data(), 0x0F);
        std::uint64_t mixed = _mm512_mask_cmpeq_epi8_mask(three, groups, every(kMixed));
        if (mixed != 0) {
            const __m512i third = _mm512_maskz_loadu_epi8(low_bits(end - at - 2), at + 2);
            while (mixed != 0) {
                const std::uint8_t* const lead = at + std::countr_zero(mixed);
                const std::uint64_t same = _mm512_mask_cmpeq_epi8_mask(
                    _mm512_mask_cmpeq_epi8_mask(mixed, bytes, every(lead[0])), second, every(lead[1]));
                const std::size_t number = (lead[0] & 0x0Fu) * kRow + (lead[1] & 0x3Fu);
                const __m512i row = _mm512_loadu_si512(&of.groups_[number * kRow]);
                groups = _mm512_mask_permutexvar_epi8(groups, same, third, row);
                mixed &= ~same;
            }
        }
        return _mm512_mask_mov_epi8(groups, _mm512_cmpge_epu8_mask(bytes, every(0xF0)), every(kStrange));
    }

    NMT_PREP_AVX512 static void mark(const Boundaries& of, const std::uint8_t* at, const std::uint8_t* end,
                                     Before& before, Marks* marks) {
        static constexpr std::array<std::uint8_t, kBytes> kPlaces = [] {
            std::array<std::uint8_t, kBytes> places{};
            std::iota(places.begin(), places.end(), std::uint8_t{0});
            return places;
        }();
        const __m512i places = _mm512_loadu_si512(kPlaces.data());
        const __m512i bits = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201u));  // by group
        const __m512i low = _mm512_loadu_si512(of.groups_.data()), high = _mm512_loadu_si512(&of.groups_[kRow]);
        const __m512i ends = _mm512_loadu_si512(of.ends_.data()), open = _mm512_loadu_si512(of.open_.data());
        __m512i previous = _mm512_loadu_si512(before.groups.data());
        for (std::size_t i = 0; i < kBlocks && at < end; ++i, at += kBytes) {
            std::uint64_t leads = low_bits(end - at);
            const __m512i bytes = _mm512_maskz_loadu_epi8(leads, at);
            __m512i groups = _mm512_permutex2var_epi8(low, bytes, high);  // right for bytes below 0x80
            if (_mm512_movepi8_mask(bytes) != 0) {
                leads &= ~_mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, every(0xC0)), every(0x80));
                groups = _mm512_maskz_compress_epi8(leads, groups_of_long(of, at, end, bytes, groups));
            }
            // The groups of the characters before each one, from those before the block and in the block.
            const __m512i one = _mm512_permutex2var_epi8(previous, _mm512_add_epi8(places, every(kBytes - 1)), groups);
            const __m512i two = _mm512_permutex2var_epi8(previous, _mm512_add_epi8(places, every(kBytes - 2)), groups);
            const auto count = static_cast<std::size_t>(std::popcount(leads));
            previous = _mm512_permutex2var_epi8(previous, _mm512_add_epi8(places, every(count)), groups);
            const __m512i row = _mm512_or_si512(_mm512_slli_epi16(two, 3), one);
            const __m512i begun = _mm512_or_si512(every(kStrange * kGroups), one);
            const __m512i bit = _mm512_shuffle_epi8(bits, groups);
            const std::uint64_t strange = _mm512_cmpeq_epi8_mask(groups, every(kStrange));
            const auto marked = [&](__m512i table, __m512i rows) NMT_PREP_AVX512 {
                return _mm512_test_epi8_mask(_mm512_permutexvar_epi8(rows, table), bit);
            };
            marks[i] = {{_pdep_u64(marked(ends, row), leads), _pdep_u64(marked(open, row) | strange, leads)},
                        {_pdep_u64(marked(ends, begun), leads), _pdep_u64(marked(open, begun) | strange, leads)},
                        _pdep_u64(strange, leads),
                        leads};
        }
        _mm512_storeu_si512(before.groups.data(), previous);
    }
};

void Boundaries::mark(const std::uint8_t* at, const std::uint8_t* end, Before& before, Marks* marks) const {
    Vectors::mark(*this, at, end, before, marks);
}

#else

void Boundaries::mark(const std::uint8_t*, const std::uint8_t*, Before&, Marks*) const {}

#endif

}  // namespace nmt_prep::pattern
