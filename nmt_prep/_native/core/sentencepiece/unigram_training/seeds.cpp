// Suffixes are sorted in groups that begin with the same character, by words of 64 bits with as many symbols as fit.
// Groups of equal keys are sorted again by their next symbols; natural text rarely needs that twice. The nodes of the
// tree are found on the way, and their intervals among the sorted suffixes then give the longest piece at each symbol.
#include "sentencepiece/unigram_training/seeds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "text/parallel.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr unsigned kBlockBits = 5;

// A substring and the interval of its occurrences among the sorted suffixes.
struct Candidate {
    float score;
    std::uint32_t begin, end;
    std::uint16_t length, bytes;

    // The order of the library: longer strings (in bytes) first if scores are equal, then by bytes.
    bool operator<(const Candidate& other) const {
        if (score != other.score) return score > other.score;
        return bytes != other.bytes ? bytes > other.bytes : begin < other.begin;
    }
};

struct Symbol {
    PieceShape shape;
    std::uint8_t lead;  // first byte in UTF-8
    std::uint8_t bytes;
};

Symbol symbol_of(char32_t point, PieceShape shape) {
    std::uint8_t bytes[4];
    const std::size_t size = write_utf8(bytes, point);
    return {shape, bytes[0], static_cast<std::uint8_t>(size)};
}

// Data that all groups share.
struct Search {
    const TrainingWords& text;
    const PieceRules& rules;
    std::vector<Symbol> symbols;             // by symbol; the first is unused
    int bits;                                // of a symbol in a key
    int packed;                              // symbols in a key
    std::vector<std::uint32_t> block_words;  // word of each block's first symbol

    Search(const TrainingWords& words, const PieceRules& piece_rules)
        : text(words),
          rules(piece_rules),
          symbols(1),
          bits(static_cast<int>(std::bit_width(words.alphabet.size()))),
          packed(64 / bits) {
        for (const char32_t point : words.alphabet) symbols.push_back(symbol_of(point, rules.shape(point)));
        std::uint32_t word = 0;
        for (std::size_t at = 0; at < text.symbols.size(); at += std::size_t{1} << kBlockBits) {
            while (text.starts[word + 1] <= at) ++word;
            block_words.push_back(word);
        }
    }

    std::uint32_t word_of(std::uint32_t at) const {
        std::uint32_t word = block_words[at >> kBlockBits];
        while (text.starts[word + 1] <= at) ++word;
        return word;
    }

    // Returns the symbols from `at` on, 0 for those after the end of the word.
    std::uint64_t key(std::uint32_t at, std::uint32_t word) const {
        const std::uint32_t end = std::min<std::uint64_t>(text.starts[word + 1], std::uint64_t{at} + packed);
        std::uint64_t key = 0;
        int shift = bits * packed;
        for (; at < end; ++at) key |= std::uint64_t{text.symbols[at]} << (shift -= bits);
        return key;
    }
};

// Finds the candidates among suffixes that begin with the same character.
class Group {
   public:
    Group(const Search& search, std::span<std::uint32_t> suffixes, std::uint32_t begin, std::vector<Candidate>& found)
        : search_(search), text_(search.text), suffixes_(suffixes), begin_(begin), found_(found) {}

    void run() {
        items_.reserve(suffixes_.size());
        for (const std::uint32_t at : suffixes_) items_.push_back({0, at, search_.word_of(at)});
        const Symbol& first = search_.symbols[text_.symbols[suffixes_[0]]];
        load_keys(0, items_.size(), 1);
        visit(0, items_.size(), {1, 1, first.bytes, first.shape});
        for (std::size_t i = 0; i < items_.size(); ++i) suffixes_[i] = items_[i].at;
    }

   private:
    struct Item {
        std::uint64_t key;
        std::uint32_t at, word;
    };
    // A node of the tree.
    struct Node {
        std::uint32_t depth;     // symbols of its string
        std::uint32_t key_from;  // depth at which the keys of its suffixes begin
        std::uint32_t bytes;
        PieceShape shape;
    };
    // What follows the occurrences of a string.
    struct Followers {
        std::uint8_t least = 255, most = 0;

        void add(std::uint8_t byte) {
            least = std::min(least, byte);
            most = std::max(most, byte);
        }
        bool differ() const { return least < most; }
    };

    void load_keys(std::size_t begin, std::size_t end, std::uint32_t depth) {
        for (std::size_t i = begin; i < end; ++i) items_[i].key = search_.key(items_[i].at + depth, items_[i].word);
        std::sort(items_.begin() + static_cast<std::ptrdiff_t>(begin),
                  items_.begin() + static_cast<std::ptrdiff_t>(end),
                  [](const Item& one, const Item& other) { return one.key < other.key; });
    }

    // Returns the occurrence count of the node's string, in all words.
    std::int64_t visit(std::size_t begin, std::size_t end, Node node) {
        if (end - begin == 1) return visit_single(begin, node);
        if (node.depth == node.key_from + static_cast<std::uint32_t>(search_.packed)) {
            load_keys(begin, end, node.depth);
            node.key_from = node.depth;
        }
        std::int64_t count = 0, finals = 0;
        bool has_last = false;
        Followers followers;
        const int shift = search_.bits * (search_.packed - 1 - static_cast<int>(node.depth - node.key_from));
        for (std::size_t i = begin, j; i < end; i = j) {
            const std::uint64_t prefix = items_[i].key >> shift;
            for (j = i + 1; j < end && items_[j].key >> shift == prefix;) ++j;
            const std::uint64_t symbol = prefix & ((std::uint64_t{1} << search_.bits) - 1);
            if (symbol != 0) {
                followers.add(search_.symbols[symbol].lead);
                count += visit_child(i, j, node, search_.symbols[symbol]);
                continue;
            }
            for (; i < j; ++i) {  // words that end here
                const std::uint32_t word = items_[i].word;
                count += text_.counts[word];
                finals += text_.finals[word];
                has_last |= word == text_.last;
                add_ends(followers, word);
            }
        }
        add(begin, end, node, (followers.differ() ? count : 0) + finals_node(finals, has_last));
        return count;
    }

    std::int64_t visit_child(std::size_t begin, std::size_t end, const Node& node, const Symbol& symbol) {
        const PieceShape shape = search_.rules.joined(node.shape, symbol.shape);
        if (search_.rules.accepts(shape))
            return visit(begin, end, {node.depth + 1, node.key_from, node.bytes + symbol.bytes, shape});
        std::int64_t count = 0;
        for (std::size_t i = begin; i < end; ++i) count += text_.counts[items_[i].word];
        return count;
    }

    // The string of a single suffix is followed by different bytes only where its word ends.
    std::int64_t visit_single(std::size_t i, Node node) {
        const auto [key, at, word] = items_[i];
        const std::int64_t count = text_.counts[word];
        Followers followers;
        add_ends(followers, word);
        const std::int64_t total =
            (followers.differ() ? count : 0) + finals_node(text_.finals[word], word == text_.last);
        if (total == 0) return count;
        for (std::uint32_t next = at + node.depth; next < text_.starts[word + 1]; ++next) {
            const Symbol& symbol = search_.symbols[text_.symbols[next]];
            node.shape = search_.rules.joined(node.shape, symbol.shape);
            if (!search_.rules.accepts(node.shape)) return count;
            node.bytes += symbol.bytes;
            ++node.depth;
        }
        add(i, i + 1, node, total);
        return count;
    }

    void add_ends(Followers& followers, std::uint32_t word) const {
        if (text_.finals[word] > 0) followers.add(0);
        if (text_.finals[word] < text_.counts[word]) followers.add(kSpaceLead);
    }

    // The string with the NUL of the sentence's end is a node too if the last sentence ends with it: all others are
    // followed by a sentence that begins with white space. The library adds its count to that of the string.
    static std::int64_t finals_node(std::int64_t finals, bool has_last) { return has_last && finals > 1 ? finals : 0; }

    void add(std::size_t begin, std::size_t end, const Node& node, std::int64_t count) {
        if (node.depth < 2 || count == 0) return;
        found_.push_back({static_cast<float>(count) * static_cast<float>(node.depth),
                          begin_ + static_cast<std::uint32_t>(begin), begin_ + static_cast<std::uint32_t>(end),
                          static_cast<std::uint16_t>(node.depth), static_cast<std::uint16_t>(node.bytes)});
    }

    static constexpr std::uint8_t kSpaceLead = 0xE2;

    const Search& search_;
    const TrainingWords& text_;
    std::span<std::uint32_t> suffixes_;
    const std::uint32_t begin_;  // index of the first one among all
    std::vector<Candidate>& found_;
    std::vector<Item> items_;
};

// Sorts suffixes by their first symbol; those with symbol s are suffixes[starts[s], starts[s + 1]).
std::vector<std::uint32_t> group_suffixes(const TrainingWords& text, std::vector<std::uint32_t>& starts) {
    starts.assign(text.alphabet.size() + 2, 0);
    for (const std::uint32_t symbol : text.symbols) ++starts[symbol + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    std::vector<std::uint32_t> next(starts);
    std::vector<std::uint32_t> suffixes(text.symbols.size());
    for (std::uint32_t at = 0; at < suffixes.size(); ++at) suffixes[next[text.symbols[at]]++] = at;
    return suffixes;
}

// Returns the candidates, the best ones first, and sorts the suffixes.
std::vector<Candidate> find_candidates(const TrainingWords& text, const PieceRules& rules, std::size_t most,
                                       std::vector<std::uint32_t>& suffixes, const std::vector<std::uint32_t>& starts,
                                       std::size_t threads, const Poll& poll) {
    const Search search(text, rules);
    std::vector<std::uint32_t> groups;  // the largest ones first, so that threads end together
    for (std::uint32_t symbol = 1; symbol <= text.alphabet.size(); ++symbol)
        if (rules.accepts(search.symbols[symbol].shape)) groups.push_back(symbol);
    std::ranges::stable_sort(groups, [&](std::uint32_t one, std::uint32_t other) {
        return starts[one + 1] - starts[one] > starts[other + 1] - starts[other];
    });
    std::vector<std::vector<Candidate>> found(groups.size());
    parallel_for(groups.size(), threads, [&](std::size_t task, std::size_t thread) {
        if (thread == 0) poll();
        const std::uint32_t begin = starts[groups[task]], end = starts[groups[task] + 1];
        if (begin < end) Group(search, std::span(suffixes).subspan(begin, end - begin), begin, found[task]).run();
    });
    std::vector<Candidate> all;
    for (std::vector<Candidate>& some : found) {
        all.insert(all.end(), some.begin(), some.end());
        std::vector<Candidate>().swap(some);
    }
    const std::size_t kept = std::min(most, all.size());
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(kept), std::less<>());
    all.resize(kept);
    std::ranges::sort(all, std::less<>());
    return all;
}

// Makes scores from counts: the logs of their shares.
void to_logs(std::vector<Candidate>& pieces) {
    double sum = 0;
    for (const Candidate& piece : pieces) sum += piece.score;
    const double log_sum = std::log(sum);
    for (Candidate& piece : pieces)
        piece.score = static_cast<float>(std::log(static_cast<double>(piece.score)) - log_sum);
}

// Makes the tree of pieces from their intervals.
PieceTree tree_of(const std::vector<Candidate>& pieces, const std::vector<std::uint32_t>& suffixes) {
    std::vector<std::uint32_t> sorted(pieces.size());
    for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::ranges::sort(sorted, [&](std::uint32_t one, std::uint32_t other) {
        const Candidate &a = pieces[one], &b = pieces[other];
        return a.begin != b.begin ? a.begin < b.begin : a.length < b.length;
    });
    PieceTree tree;
    tree.pieces.reserve(pieces.size());
    tree.order.resize(pieces.size());
    tree.longest.resize(suffixes.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // pieces and the ends of their intervals
    auto next = sorted.begin();
    for (std::uint32_t i = 0; i < suffixes.size(); ++i) {
        while (!open.empty() && open.back().second <= i) open.pop_back();
        for (; next != sorted.end() && pieces[*next].begin == i; ++next) {
            const Candidate& piece = pieces[*next];
            const auto id = static_cast<std::uint32_t>(tree.pieces.size());
            tree.order[*next] = id;
            tree.pieces.push_back(
                {suffixes[i], piece.length, piece.score, open.empty() ? kNoPiece : open.back().first});
            open.emplace_back(id, piece.end);
        }
        tree.longest[suffixes[i]] = open.empty() ? kNoPiece : open.back().first;
    }
    return tree;
}

}  // namespace

PieceTree find_seed_pieces(const TrainingWords& text, const PieceRules& rules, std::size_t most, std::size_t threads,
                           const Poll& poll) {
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> suffixes = group_suffixes(text, starts);
    const std::vector<Candidate> found = find_candidates(text, rules, most, suffixes, starts, threads, poll);

    std::vector<Candidate> pieces;  // characters first, by count
    for (std::uint32_t symbol = 1; symbol <= text.alphabet.size(); ++symbol) {
        const char32_t point = text.alphabet[symbol - 1];
        if (starts[symbol] < starts[symbol + 1] && point != kUncoveredPoint)
            pieces.push_back(
                {static_cast<float>(text.occurrences[symbol - 1]), starts[symbol], starts[symbol + 1], 1, 0});
    }
    std::ranges::sort(pieces, [&](const Candidate& one, const Candidate& other) {
        const std::int64_t ones = text.occurrences[text.symbols[suffixes[one.begin]] - 1];
        const std::int64_t others = text.occurrences[text.symbols[suffixes[other.begin]] - 1];
        return ones != others ? ones > others : one.begin < other.begin;
    });
    pieces.insert(pieces.end(), found.begin(), found.end());
    to_logs(pieces);
    return tree_of(pieces, suffixes);
}

}  // namespace nmt_prep::sentencepiece
