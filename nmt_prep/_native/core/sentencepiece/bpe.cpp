#include "sentencepiece/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "sentencepiece/charsmap.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

// Returns a lower value for a higher score. The library compares scores by their bits, so -0 is below +0.
std::uint32_t bits_of(float score) {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return bits >> 31 ? bits : ~(bits | 1u << 31);
}

// Returns the bits of all scores (see `bits_of`), each once, in ascending order.
std::vector<std::uint32_t> distinct_scores(const Vocabulary& vocabulary) {
    std::vector<std::uint32_t> scores;
    scores.reserve(vocabulary.entries.size());
    for (const Vocabulary::Entry& entry : vocabulary.entries) scores.push_back(bits_of(entry.score));
    std::ranges::sort(scores);
    scores.erase(std::ranges::unique(scores).begin(), scores.end());
    return scores;
}

Trie frozen_symbols(const Vocabulary& vocabulary) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        if (entry.type == PieceType::kUserDefined) entries.emplace_back(entry.text, entry.id);
    return byte_trie(entries);
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, const std::vector<TokenizersRules::Merge>* merges)
    : vocabulary_(vocabulary), frozen_(frozen_symbols(vocabulary)) {
    for (const Vocabulary::Entry& entry : vocabulary.entries) pieces_ = std::max(pieces_, entry.id + 1);
    sizes_.assign(static_cast<std::size_t>(pieces_), 0);
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        sizes_[static_cast<std::size_t>(entry.id)] = static_cast<std::uint16_t>(entry.text.size());
        const auto* at = reinterpret_cast<const std::uint8_t*>(entry.text.data());
        const auto* const end = at + entry.text.size();
        while (at != end) {
            const std::uint8_t* const begin = at;
            const char32_t point = next_utf8(at);
            if (symbols_[point] >= 0) continue;
            const std::int32_t piece = vocabulary.characters[point];
            symbols_.set(point, piece >= 0 ? piece : static_cast<Symbol>(sizes_.size()));
            if (piece < 0) sizes_.push_back(static_cast<std::uint16_t>(at - begin));
        }
    }
    if (sizes_.size() >= bpe::PairTable::kMaxSymbols) throw NotCovered("it has too many pieces");
    unused_.assign(sizes_.size(), false);
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        unused_[static_cast<std::size_t>(entry.id)] = entry.type == PieceType::kUnused;
    const std::vector<Pair> pairs =
        merges == nullptr ? pairs_of_pieces(vocabulary) : pairs_of_merges(vocabulary, *merges);
    pairs_ = bpe::PairTable(pairs.size());
    for (const Pair& pair : pairs)
        if (pairs_(pair.left, pair.right) == bpe::kNoMerge) pairs_.set(pair.left, pair.right, pair.merge);
}

std::vector<Bpe::Pair> Bpe::pairs_of_merges(const Vocabulary& vocabulary,
                                            const std::vector<TokenizersRules::Merge>& merges) {
    if (merges.size() > bpe::PairTable::kMaxPairs) throw NotCovered("it has too many merges");
    std::vector<bool> in_text(static_cast<std::size_t>(pieces_), false);
    for (const Vocabulary::Entry& entry : vocabulary.entries) in_text[static_cast<std::size_t>(entry.id)] = true;
    const auto occurs = [&](std::int32_t id) { return id < pieces_ && in_text[static_cast<std::size_t>(id)]; };
    std::vector<Pair> found;
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const TokenizersRules::Merge& merge = merges[i];
        if (occurs(merge.left) && occurs(merge.right) && occurs(merge.merged))
            found.push_back({merge.left, merge.right, bpe::make_merge(static_cast<std::uint32_t>(i), merge.merged)});
    }
    return found;
}

std::vector<Bpe::Pair> Bpe::pairs_of_pieces(const Vocabulary& vocabulary) {
    std::unordered_map<std::string_view, Symbol> by_text(vocabulary.entries.size());
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        if (entry.type != PieceType::kUserDefined) by_text.emplace(entry.text, entry.id);
    const auto symbol_of = [&](std::string_view text) {
        const auto* const at = reinterpret_cast<const std::uint8_t*>(text.data());
        if (const auto found = by_text.find(text); found != by_text.end()) return found->second;
        const std::uint8_t* next = at;
        const char32_t point = next_utf8(next);
        const Symbol symbol = next == at + text.size() ? symbols_[point] : kStranger;
        return symbol >= pieces_ ? symbol : kStranger;
    };
    const std::vector<std::uint32_t> scores = distinct_scores(vocabulary);
    std::vector<Pair> found;
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        if (entry.type == PieceType::kUserDefined) continue;
        const auto rank = std::ranges::lower_bound(scores, bits_of(entry.score)) - scores.begin();
        const bpe::Merge merge = bpe::make_merge(static_cast<std::uint32_t>(rank), entry.id);
        const std::string_view text = entry.text;
        for (std::size_t cut = character_size(static_cast<std::uint8_t>(text[0])); cut < text.size();
             cut += character_size(static_cast<std::uint8_t>(text[cut]))) {
            const Symbol left = symbol_of(text.substr(0, cut));
            if (left == kStranger) continue;
            const Symbol right = symbol_of(text.substr(cut));
            if (right != kStranger) found.push_back({left, right, merge});
        }
    }
    return found;
}

void Bpe::spell(const std::uint8_t* text, std::size_t size, std::vector<Symbol>& symbols) const {
    symbols.clear();
    const std::uint8_t* const end = text + size;
    while (text != end) {
        const std::uint8_t* longest = text;
        Symbol symbol = kStranger;
        if (!frozen_.empty()) {
            Trie::Node node = frozen_.root();
            for (const std::uint8_t* at = text; at != end;) {
                if (*at == 0) break;
                node = frozen_.step(node, *at++);
                if (node == Trie::kNowhere) break;
                if (Trie::value(node) < 0) continue;
                longest = at;
                symbol = Trie::value(node);
            }
        }
        if (longest == text) symbol = symbols_[next_utf8(longest)];
        symbols.push_back(symbol);
        text = longest;
    }
}

// Appends the ids of a symbol and advances `text` past it. Unused pieces are split as they were last merged, and are
// unknown if they never were.
void Bpe::push(Symbol symbol, const std::uint8_t*& text, std::size_t line_start, int depth, const Scratch& scratch,
               IdBuffer& ids) const {
    bool known = symbol >= 0 && symbol < pieces_;
    if (known && unused_[static_cast<std::size_t>(symbol)] && depth <= kMaxDepth) {
        if (const auto origin = scratch.origins.find(symbol); origin != scratch.origins.end()) {
            push(origin->second.first, text, line_start, depth + 1, scratch, ids);
            push(origin->second.second, text, line_start, depth + 1, scratch, ids);
            return;
        }
        known = false;
    }
    const std::size_t size = symbol < 0 ? character_size(*text) : sizes_[static_cast<std::size_t>(symbol)];
    if (known)
        ids.push(symbol);
    else
        vocabulary_.push_unknown(text, size, line_start, ids);
    text += size;
}

template <class Merging>
void Bpe::run(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch, IdBuffer& ids,
              const Merging& merging) const {
    spell(text, size, scratch.symbols);
    std::size_t left;
    if (vocabulary_.has_unused) {
        scratch.origins.clear();
        left = merging([&](Symbol first, Symbol second) {
            const bpe::Merge merge = pairs_(first, second);
            if (merge != bpe::kNoMerge && unused_[static_cast<std::size_t>(bpe::merge_symbol(merge))])
                scratch.origins[bpe::merge_symbol(merge)] = {first, second};
            return merge;
        });
    } else {
        left = merging(pairs_);
    }
    for (std::size_t i = 0; i < left; ++i) push(scratch.symbols[i], text, line_start, 0, scratch, ids);
}

void Bpe::encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch,
                 IdBuffer& ids) const {
    run(text, size, line_start, scratch, ids, [&](const auto& lookup) {
        return scratch.merger.merge(scratch.symbols.data(), scratch.symbols.size(), lookup);
    });
}

void Bpe::sample(const std::uint8_t* text, std::size_t size, std::size_t line_start, Dropout& dropout, Scratch& scratch,
                 IdBuffer& ids) const {
    run(text, size, line_start, scratch, ids, [&](const auto& lookup) {
        const auto drop = [&](const bpe::Merger::Candidate&) { return dropout(); };
        return scratch.merger.merge_with_dropout<bpe::Merger::Skips::kForGood>(scratch.symbols.data(),
                                                                               scratch.symbols.size(), lookup, drop);
    });
}

void Bpe::prepare_sampling(double dropout, Scratch& scratch) {
    if (scratch.gaps.probability() != dropout) scratch.gaps = Gaps(dropout);
    if (scratch.outcomes) return;
    scratch.outcomes = std::make_unique<bpe::OutcomeCache>(false);
    scratch.unseen = std::make_unique<Unseen>();
}

void Bpe::learn(const Word& word, Scratch& scratch) const {
    spell(word.text, word.size, scratch.symbols);
    const auto is_piece = [this](Symbol symbol) { return symbol >= 0 && symbol < pieces_; };
    if (scratch.symbols.size() > bpe::WordMerger::kMaxSymbols || !std::ranges::all_of(scratch.symbols, is_piece))
        return;
    Unseen& unseen = *scratch.unseen;
    if (unseen.merger.size() == bpe::WordMerger::kMaxWords) learn_rest(scratch);
    unseen.words[unseen.merger.size()] = word;
    unseen.sizes[unseen.merger.size()] = scratch.symbols.size();
    unseen.merger.add(pairs_, scratch.symbols.data(), scratch.symbols.size());
}

void Bpe::learn_rest(Scratch& scratch) const {
    Unseen& unseen = *scratch.unseen;
    unseen.merger.merge(pairs_);
    std::array<std::int32_t, bpe::WordMerger::kMaxSymbols> symbols;
    for (std::size_t i = 0; i < unseen.merger.size(); ++i) {
        if (scratch.outcomes->contains(unseen.words[i])) continue;  // the word occurs twice among these
        const std::size_t left = unseen.merger.write(i, symbols.data());
        scratch.outcomes->add_word(unseen.words[i], unseen.sizes[i] - left, {symbols.data(), left});
    }
    unseen.merger.clear();
}

void Bpe::sample_word(const Word& word, std::size_t line_start, Dropout& dropout, Scratch& scratch,
                      IdBuffer& ids) const {
    bpe::OutcomeCache::Path path;
    const auto decide = [&](const bpe::OutcomeCache::Outcome& outcome) { return dropout.keep(outcome.merges()); };
    const std::span<const std::int32_t> found = scratch.outcomes->find(word, decide, path);
    if (!found.empty()) {
        std::int32_t* const out = ids.room(found.size() + bpe::OutcomeCache::kPadding);
        for (std::size_t i = 0; i < found.size(); i += 4) std::memcpy(out + i, found.data() + i, 4 * sizeof *out);
        ids.grow(found.size());
        return;
    }
    if (path.is_empty()) {
        sample(word.text, word.size, line_start, dropout, scratch, ids);
        return;
    }
    spell(word.text, word.size, scratch.symbols);
    const auto drop = [&](const bpe::Merger::Candidate&) { return dropout(); };
    bpe::OutcomeCache::Replay replay(path, drop);
    std::int32_t* const symbols = scratch.symbols.data();
    const std::size_t left = scratch.merger.merge_with_dropout<bpe::Merger::Skips::kForGood>(
        symbols, scratch.symbols.size(), pairs_,
        [&](const bpe::Merger::Candidate& candidate) { return replay(candidate); });
    scratch.outcomes->add(word, path, replay, {symbols, left});
    std::copy_n(symbols, left, ids.room(left));
    ids.grow(left);
}

}  // namespace nmt_prep::sentencepiece
