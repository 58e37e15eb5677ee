#include "pattern/automaton.h"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace nmt_prep::pattern {
namespace {

constexpr std::size_t kMaxInstructions = 4000;
constexpr std::size_t kMaxClasses = 250;
constexpr std::size_t kMaxStates = 1000;
constexpr std::size_t kMaxWork = 2'000'000;  // published expressions need less than 20,000

// Thrown inside this file only.
struct TooLarge : std::exception {};

// The cost of the compilation so far, in visits of instructions and parts.
class Work {
   public:
    void visit() {
        if (++visits_ > kMaxWork) throw TooLarge{};
    }

   private:
    std::size_t visits_ = 0;
};

// An instruction of the nondeterministic automaton. Numbers of instructions are positions in the program.
struct Instruction {
    enum Kind : std::uint8_t { kSet, kAhead, kFork, kMatch };
    Kind kind;
    std::size_t set = 0;    // for kSet and kAhead
    bool at_end = false;    // of kAhead
    std::size_t next = 0;   // for all kinds but kMatch; for kFork the preferred instruction
    std::size_t other = 0;  // for kFork
};

// Translates an expression from its end to its beginning: each part knows what follows it.
class Program {
   public:
    Program(const Node& expression, Work& work) : work_(work) {
        const std::size_t match = add({.kind = Instruction::kMatch});
        start = place(expression, match);
    }

    std::vector<Instruction> instructions;
    std::vector<CodeSet> sets;
    std::size_t start;

   private:
    std::size_t add(Instruction instruction) {
        if (instructions.size() >= kMaxInstructions) throw TooLarge{};
        instructions.push_back(instruction);
        return instructions.size() - 1;
    }

    std::size_t number_of(const CodeSet& set) {
        const auto [place, is_new] = numbers_.emplace(set, sets.size());
        if (is_new) sets.push_back(set);
        return place->second;
    }

    // Places a part before the instruction `next` and returns its first instruction.
    std::size_t place(const Node& node, std::size_t next) {
        work_.visit();
        switch (node.kind) {
            case Node::kSet: return add({.kind = Instruction::kSet, .set = number_of(node.set), .next = next});
            case Node::kAhead:
                return add(
                    {.kind = Instruction::kAhead, .set = number_of(node.set), .at_end = node.at_end, .next = next});
            case Node::kSequence:
                for (std::size_t i = node.parts.size(); i-- > 0;) next = place(node.parts[i], next);
                return next;
            case Node::kChoice: {
                std::size_t last = place(node.parts.back(), next);
                for (std::size_t i = node.parts.size() - 1; i-- > 0;)
                    last = add({.kind = Instruction::kFork, .next = place(node.parts[i], next), .other = last});
                return last;
            }
            case Node::kRepeat: return place_repeat(node, next);
        }
        return next;
    }

    std::size_t place_repeat(const Node& node, std::size_t next) {
        const Node& part = node.parts[0];
        if (node.most == Node::kMany) {
            if (is_nullable(part)) throw TooLarge{};  // libraries have different rules for empty repetitions
            const std::size_t fork = add({.kind = Instruction::kFork, .other = next});
            instructions[fork].next = place(part, fork);
            next = fork;
        } else {
            const std::size_t after = next;
            for (unsigned i = node.least; i < node.most; ++i)
                next = add({.kind = Instruction::kFork, .next = place(part, next), .other = after});
        }
        for (unsigned i = 0; i < node.least; ++i) next = place(part, next);
        return next;
    }

    static bool is_nullable(const Node& node) {
        const auto nullable = [](const Node& part) { return is_nullable(part); };
        switch (node.kind) {
            case Node::kSet: return false;
            case Node::kAhead: return true;
            case Node::kSequence: return std::ranges::all_of(node.parts, nullable);
            case Node::kChoice: return std::ranges::any_of(node.parts, nullable);
            case Node::kRepeat: return node.least == 0 || is_nullable(node.parts[0]);
        }
        return true;
    }

    Work& work_;
    std::map<CodeSet, std::size_t> numbers_;
};

// Classes of code points: code points of a class belong to the same sets.
struct Classes {
    explicit Classes(const std::vector<CodeSet>& sets) {
        std::set<char32_t> starts{0};
        for (const CodeSet& set : sets) {
            for (const Range& range : set.ranges()) {
                starts.insert(range.first);
                if (range.last < CodeSet::kLast) starts.insert(range.last + 1);
            }
        }
        std::map<std::vector<bool>, std::uint8_t> numbers;
        std::vector<std::size_t> at(sets.size(), 0);  // the first range of each set that does not end before `first`
        for (auto start = starts.begin(); start != starts.end();) {
            const char32_t first = *start++;
            ranges.push_back({first, start == starts.end() ? CodeSet::kLast : *start - 1});
            std::vector<bool> in(sets.size());
            for (std::size_t i = 0; i < sets.size(); ++i) {
                const std::vector<Range>& all = sets[i].ranges();
                while (at[i] < all.size() && all[at[i]].last < first) ++at[i];
                in[i] = at[i] < all.size() && all[at[i]].first <= first;
            }
            if (!numbers.contains(in)) {
                if (numbers.size() == kMaxClasses) throw TooLarge{};
                numbers.emplace(in, static_cast<std::uint8_t>(numbers.size()));
                members.push_back(in);
            }
            class_of.push_back(numbers.at(in));
        }
    }

    std::vector<Range> ranges;
    std::vector<std::uint8_t> class_of;
    std::vector<std::vector<bool>> members;  // by class, true for the sets that contain it
};

class Subsets {
   public:
    Subsets(const Program& program, const Classes& classes, Work& work)
        : program_(program.instructions), members_(classes.members), work_(work) {
        number_of({});
        Reached start(program_.size());
        add(program.start, start);
        number_of(start.list);
        for (std::size_t state = 0; state < lists_.size(); ++state) {
            std::vector<Automaton::Step>& row = steps.emplace_back();
            for (std::size_t symbol = 0; symbol <= members_.size(); ++symbol) row.push_back(step(state, symbol));
        }
    }

    std::vector<std::vector<Automaton::Step>> steps;

   private:
    using List = std::vector<std::size_t>;

    // Instructions in order of preference, and the instructions visited on the way to them.
    struct Reached {
        explicit Reached(std::size_t size) : visited(size) {}

        List list;
        std::vector<bool> visited;
    };

    std::uint32_t number_of(const List& list) {
        const auto [place, is_new] = numbers_.emplace(list, static_cast<std::uint32_t>(lists_.size()));
        if (is_new) {
            if (lists_.size() == kMaxStates) throw TooLarge{};
            lists_.push_back(list);
        }
        return place->second;
    }

    // Adds an instruction, or for a fork the instructions that it leads to, in order of preference.
    void add(std::size_t first, Reached& reached) const {
        List pending{first};
        while (!pending.empty()) {
            const std::size_t at = pending.back();
            pending.pop_back();
            if (reached.visited[at]) continue;
            reached.visited[at] = true;
            work_.visit();
            if (program_[at].kind == Instruction::kFork)
                pending.insert(pending.end(), {program_[at].other, program_[at].next});
            else
                reached.list.push_back(at);
        }
    }

    bool allows(const Instruction& instruction, std::size_t symbol) const {
        if (symbol == members_.size()) return instruction.kind == Instruction::kAhead && instruction.at_end;
        return members_[symbol][instruction.set];
    }

    Automaton::Step step(std::size_t state, std::size_t symbol) {
        // A look ahead is replaced by the instructions that it allows, before less preferred instructions.
        List pending(lists_[state].rbegin(), lists_[state].rend());
        std::vector<bool> seen(program_.size());
        Reached reached(program_.size());
        bool matched = false;
        while (!pending.empty() && !matched) {
            const std::size_t at = pending.back();
            pending.pop_back();
            if (seen[at]) continue;
            seen[at] = true;
            work_.visit();
            const Instruction& instruction = program_[at];
            if (instruction.kind == Instruction::kMatch) {
                matched = true;
            } else if (allows(instruction, symbol)) {
                if (instruction.kind == Instruction::kSet) {
                    add(instruction.next, reached);
                } else {
                    Reached then(program_.size());
                    add(instruction.next, then);
                    pending.insert(pending.end(), then.list.rbegin(), then.list.rend());
                }
            }
        }
        return {number_of(reached.list), matched};
    }

    const std::vector<Instruction>& program_;
    const std::vector<std::vector<bool>>& members_;
    Work& work_;
    std::vector<List> lists_;
    std::map<List, std::uint32_t> numbers_;
};

}  // namespace

std::optional<Automaton> compile(const Node& expression) {
    try {
        Work work;
        const Program program(expression, work);
        Classes classes(program.sets);
        Subsets subsets(program, classes, work);
        const auto is_match = [](const Automaton::Step& step) { return step.matched; };
        if (std::ranges::any_of(subsets.steps[1], is_match)) return std::nullopt;
        return Automaton{classes.members.size(), std::move(classes.ranges), std::move(classes.class_of),
                         std::move(subsets.steps)};
    } catch (const TooLarge&) {
        return std::nullopt;
    }
}

}  // namespace nmt_prep::pattern
