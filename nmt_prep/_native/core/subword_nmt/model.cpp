#include "subword_nmt/model.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_set>

namespace nmt_prep::subword_nmt {

Model::Model(const Merges& merges, ModelOptions options) : options_(std::move(options)), pairs_(merges.size()) {
    symbol_numbers_.reserve(merges.size() * 3 / 2);
    piece_numbers_.reserve(merges.size() * 2);
    word_end_ = symbol(std::string(kWordEnd));
    piece("");
    add_merges(merges);
    add_tokens();
    for (const std::string& text : symbols_) {
        // Other combinations do not occur: with kWordEnd, a symbol is within a word only if text spells it; without
        // it, a symbol is last only in version 0.1.
        const bool ends = ends_word(text);
        pieces_of_symbol_[0].push_back(ends && !spells_word_end_ ? 0 : piece(with_mark(text, false)));
        pieces_of_symbol_[1].push_back(ends || options_.word_end_apart ? piece(std::string(without_word_end(text)))
                                                                       : 0);
    }
    known_.assign(pieces_.size(), !options_.known.has_value());
    if (options_.known.has_value())
        for (const std::string& text : *options_.known)
            if (const auto found = piece_numbers_.find(text); found != piece_numbers_.end())
                known_[static_cast<std::size_t>(found->second)] = true;
    ids_.assign(pieces_.size(), options_.unknown);
    for (std::size_t id = 0; id < options_.tokens.size(); ++id)
        if (!options_.tokens[id].empty())
            ids_[static_cast<std::size_t>(piece_numbers_.at(options_.tokens[id]))] = static_cast<std::int32_t>(id);
    ids_[static_cast<std::size_t>(piece_numbers_.at(""))] = kSkipped;
    short_texts_.resize(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const bool is_short = pieces_[i].size() < kShort;
        short_sizes_.push_back(static_cast<std::uint8_t>(is_short ? pieces_[i].size() + 1 : 0));
        if (is_short) (pieces_[i] + ' ').copy(short_texts_[i].data(), kShort);
    }
    auto scratch = std::make_unique<Scratch>(pieces_.size());  // caches are large, and take long to fill
    add_words(*scratch);
    scratch_.give_back(std::move(scratch));
}

// Adds the words that merges make whole, as most of a text are. The last merges are the rarest, so their words are
// added first, and replaced first.
void Model::add_words(Scratch& scratch) const {
    if (options_.whole_words) return;
    std::array<std::int32_t, IdCache::kMaxBytes + kExtraPieces> pieces;
    for (std::size_t i = symbols_.size(); i-- > 0;) {
        const std::string_view word = without_word_end(symbols_[i]);
        if (!ends_word(symbols_[i]) || word.empty() || word.size() > IdCache::kMaxBytes) continue;
        std::array<std::uint8_t, IdCache::kMaxBytes + 1> bytes{};
        std::ranges::copy(word, bytes.begin());
        const IdCache::Key key = IdCache::key(bytes.data(), word.size(), bytes.size());
        const std::size_t size = segment_word(word, scratch.merger, pieces.data());
        if (size <= scratch.words.max_ids()) scratch.words.put(key, pieces.data(), size);
    }
}

std::int32_t Model::symbol(std::string text) {
    const auto [found, is_new] = symbol_numbers_.try_emplace(text, static_cast<std::int32_t>(symbols_.size()));
    if (is_new) {
        const std::string_view inner = without_word_end(text);
        if (!inner.empty() && character_size(static_cast<std::uint8_t>(inner[0])) == inner.size()) {
            const auto* at = reinterpret_cast<const std::uint8_t*>(inner.data());
            characters_.at(next_utf8(at), ends_word(text)) = found->second;
        }
        symbols_.push_back(std::move(text));
    }
    return found->second;
}

std::int32_t Model::piece(std::string text) {
    const auto [found, is_new] = piece_numbers_.try_emplace(text, static_cast<std::int32_t>(pieces_.size()));
    if (is_new) pieces_.push_back(std::move(text));
    return found->second;
}

void Model::add_merges(const Merges& merges) {
    struct Rule {
        std::int32_t left, right, merged;
    };
    std::vector<Rule> rules;
    std::unordered_set<std::uint64_t> seen;
    for (const auto& [left, right] : merges) {
        const Rule rule{symbol(left), symbol(right), symbol(left + right)};
        spells_word_end_ |=
            ends_word(left) || (ends_word(symbols_[static_cast<std::size_t>(rule.merged)]) && !ends_word(right));
        const std::uint64_t key =
            std::uint64_t{static_cast<std::uint32_t>(rule.left)} << 32 | static_cast<std::uint32_t>(rule.right);
        if (!seen.insert(key).second) continue;
        rules.push_back(rule);
        pairs_.add(rule.left, rule.right, rule.merged);
    }
    std::vector<std::size_t> made(symbols_.size(), 0);  // rank plus one of the last merge that makes a symbol
    for (std::size_t rank = 0; rank < rules.size(); ++rank)
        made[static_cast<std::size_t>(rules[rank].merged)] = rank + 1;
    for (std::size_t rank = 0; rank < rules.size(); ++rank)
        in_rounds_ |= made[static_cast<std::size_t>(rules[rank].left)] > rank ||
                      made[static_cast<std::size_t>(rules[rank].right)] > rank;
    if (!options_.known.has_value()) return;
    // Of several merges that make a text, the one that occurs last at the lowest rank counts, as in the original.
    seen.clear();
    std::vector<std::size_t> last;
    for (std::size_t rank = merges.size(); rank-- > 0;) {
        const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(symbol(merges[rank].first))} << 32 |
                                  static_cast<std::uint32_t>(symbol(merges[rank].second));
        if (seen.insert(key).second) last.push_back(rank);
    }
    for (const std::size_t rank : last) made_from_[merges[rank].first + merges[rank].second] = merges[rank];
}

// Gives symbols to characters that no merge has, but a token, and numbers to all tokens.
void Model::add_tokens() {
    const auto add = [this](std::string_view text, bool last) {
        if (text.empty() || character_size(static_cast<std::uint8_t>(text[0])) != text.size()) return;
        symbol(std::string(text) + std::string(last && !options_.word_end_apart ? kWordEnd : ""));
    };
    const auto add_all = [&](const std::vector<std::string>& tokens) {
        for (const std::string& token : tokens) {
            if (token.empty()) continue;
            piece(token);
            add(token, true);
            if (token.ends_with(options_.separator))
                add(std::string_view(token).substr(0, token.size() - options_.separator.size()), false);
        }
    };
    add_all(options_.tokens);
    if (options_.known.has_value()) add_all(*options_.known);
}

std::size_t Model::spell(std::string_view word, std::int32_t* out) const {
    std::size_t size = 0;
    char32_t last = 0;
    for_each_character(word, [&](char32_t point) {
        const std::int32_t found = characters_.find(point, false);
        out[size++] = found >= 0 ? found : kUnknown + 2 * static_cast<std::int32_t>(point);
        last = point;
    });
    if (options_.word_end_apart) {
        out[size++] = word_end_;
    } else {
        const std::int32_t found = characters_.find(last, true);
        out[size - 1] = found >= 0 ? found : kUnknown + 2 * static_cast<std::int32_t>(last) + 1;
    }
    return size;
}

// Merges all places of a pair before the next pair, even if a merge leads to a pair of a lower rank.
std::size_t Model::merge_in_rounds(std::int32_t* symbols, std::size_t size) const {
    std::vector<std::size_t> next(size), previous(size);
    std::vector<bpe::Merge> merges(size, bpe::kNoMerge);
    using Entry = std::pair<std::uint32_t, std::size_t>;  // rank and place
    std::vector<Entry> heap, found;
    const auto look_up = [&](std::size_t at) {
        merges[at] = next[at] < size ? pairs_(symbols[at], symbols[next[at]]) : bpe::kNoMerge;
        if (merges[at] != bpe::kNoMerge) found.emplace_back(bpe::merge_priority(merges[at]), at);
    };
    for (std::size_t i = 0; i < size; ++i) {
        next[i] = i + 1;
        previous[i] = i - 1;
        look_up(i);
    }
    while (!heap.empty() || !found.empty()) {
        for (const Entry& entry : found) {
            heap.push_back(entry);
            std::ranges::push_heap(heap, std::greater<>());
        }
        found.clear();
        for (const std::uint32_t rank = heap.front().first; !heap.empty() && heap.front().first == rank;) {
            std::ranges::pop_heap(heap, std::greater<>());
            const std::size_t at = heap.back().second;
            heap.pop_back();
            if (merges[at] == bpe::kNoMerge || bpe::merge_priority(merges[at]) != rank) continue;
            symbols[at] = bpe::merge_symbol(merges[at]);
            merges[next[at]] = bpe::kNoMerge;
            next[at] = next[next[at]];
            if (next[at] < size) previous[next[at]] = at;
            look_up(at);
            if (at > 0) look_up(previous[at]);
        }
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < size; i = next[i]) symbols[left++] = symbols[i];
    return left;
}

// Replaces symbols by pieces, and undoes merges that made unknown pieces.
std::size_t Model::pieces_of_symbols(std::int32_t* symbols, std::size_t size) const {
    if (options_.word_end_apart && symbols[size - 1] == word_end_) --size;
    bool all_known = true;
    const auto piece_at = [&](std::size_t i) {
        const bool last = i + 1 == size;
        const auto number = static_cast<std::size_t>(symbols[i]);
        if (number >= symbols_.size()) return (symbols[i] & ~1) | static_cast<std::int32_t>(last);
        const std::int32_t found = pieces_of_symbol_[last][number];
        all_known &= static_cast<bool>(known_[static_cast<std::size_t>(found)]);
        return found;
    };
    if (!options_.known.has_value()) {
        for (std::size_t i = 0; i < size; ++i) symbols[i] = piece_at(i);
        return size;
    }
    std::vector<std::int32_t> pieces;
    for (std::size_t i = 0; i < size; ++i) {
        all_known = true;
        const std::int32_t found = piece_at(i);
        if (all_known) {
            pieces.push_back(found);
            continue;
        }
        const bool last = i + 1 == size;
        const std::string_view text = symbols_[static_cast<std::size_t>(symbols[i])];
        undo(last ? without_word_end(text) : text, last, pieces);
    }
    std::ranges::copy(pieces, symbols);
    return pieces.size();
}

// Appends the pieces of an unknown piece.
void Model::undo(std::string_view text, bool last, std::vector<std::int32_t>& out) const {
    struct Part {
        std::string text;
        bool last;
    };
    std::vector<Part> parts{{std::string(text), last}};
    for (bool first = true; !parts.empty(); first = false) {
        const Part part = std::move(parts.back());
        parts.pop_back();
        const auto number = piece_numbers_.find(with_mark(part.text, part.last));
        const bool known = number != piece_numbers_.end() && known_[static_cast<std::size_t>(number->second)];
        const auto made = made_from_.find(part.last ? part.text + std::string(kWordEnd) : part.text);
        if (part.text.empty() || (known && !first) || made == made_from_.end()) {
            out.push_back(number->second);
            continue;
        }
        const auto& [left, right] = made->second;
        const std::size_t cut = part.last ? std::min(right.size(), kWordEnd.size()) : 0;
        parts.push_back({right.substr(0, right.size() - cut), part.last});
        parts.push_back({left, false});
    }
}

std::size_t Model::segment_word(std::string_view word, bpe::Merger& merger, std::int32_t* out) const {
    if (is_one_piece(word, out)) return 1;
    const std::size_t size = spell(word, out);
    return pieces_of_symbols(out, in_rounds_ ? merge_in_rounds(out, size) : merger.merge(out, size, pairs_));
}

// A word of one character is not looked up in a vocabulary.
bool Model::is_one_piece(std::string_view word, std::int32_t* out) const {
    if (!options_.whole_words && character_size(static_cast<std::uint8_t>(word[0])) != word.size()) return false;
    const auto found = piece_numbers_.find(std::string(word));
    const auto* at = reinterpret_cast<const std::uint8_t*>(word.data());
    *out = found != piece_numbers_.end() ? found->second : kUnknown + 2 * static_cast<std::int32_t>(next_utf8(at)) + 1;
    return true;
}

Model::CutPieces Model::cut_pieces(const std::vector<CutWord>& words) const {
    CutPieces cut;
    std::unordered_map<std::string, std::int32_t> numbers;
    bpe::Merger merger;
    std::vector<std::int32_t> pieces;
    for (const CutWord& word : words) {
        std::vector<std::string> texts;
        for (const CutWord::Part& part : word.parts) {
            if (part.whole) {
                texts.push_back(part.text);
                continue;
            }
            pieces.resize(part.text.size() + kExtraPieces);
            const std::size_t size = segment_word(part.text, merger, pieces.data());
            for (std::size_t i = 0; i < size; ++i) {
                std::string text = text_of(pieces[i], cut);
                if (i + 1 < size) text.resize(text.size() - options_.separator.size());
                texts.push_back(std::move(text));
            }
        }
        std::vector<std::int32_t>& out = cut.words[word.word];
        for (std::size_t i = 0; i < texts.size(); ++i) {
            std::string text = with_mark(texts[i], i + 1 == texts.size());
            const auto known = piece_numbers_.find(text);
            if (known != piece_numbers_.end()) {
                out.push_back(known->second);
                continue;
            }
            const auto [found, is_new] = numbers.try_emplace(text, kCut + static_cast<std::int32_t>(cut.texts.size()));
            if (is_new) cut.texts.push_back(std::move(text));
            out.push_back(found->second);
        }
    }
    return cut;
}

std::string Model::text_of(std::int32_t piece, const CutPieces& cut) const {
    if (std::cmp_less(piece, pieces_.size())) return pieces_[static_cast<std::size_t>(piece)];
    if (piece >= kCut) return cut.texts[static_cast<std::size_t>(piece - kCut)];
    std::string character;
    append_utf8(character, static_cast<char32_t>((piece - kUnknown) / 2));
    return with_mark(character, piece % 2 != 0);
}

// Appends the texts of pieces with a space after each.
void Model::append_pieces(std::span<const std::int32_t> pieces, const CutPieces& cut, std::string& out) const {
    constexpr std::size_t kTogether = 64;  // pieces for which room is made at a time
    for (; !pieces.empty(); pieces = pieces.subspan(std::min(kTogether, pieces.size()))) {
        const auto next = pieces.first(std::min(kTogether, pieces.size()));
        std::size_t at = out.size();
        out.resize(at + kShort * next.size());
        for (std::size_t i = 0; i < next.size(); ++i) {
            const auto piece = static_cast<std::size_t>(next[i]);
            if (piece < short_sizes_.size() && short_sizes_[piece] != 0) {
                std::memcpy(out.data() + at, short_texts_[piece].data(), kShort);
                at += short_sizes_[piece];
                continue;
            }
            out.resize(at);
            out += text_of(next[i], cut) + ' ';
            at = out.size();
            out.resize(at + kShort * (next.size() - i - 1));
        }
        out.resize(at);
    }
}

}  // namespace nmt_prep::subword_nmt
