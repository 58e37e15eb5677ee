#include "t2t_model.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "parallel.h"
#include "t2t_escape.h"
#include "t2t_tokens.h"
#include "text_errors.h"
#include "utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr char32_t kBasicEnd = 0x10000;

std::size_t hash_edge(std::uint32_t node, std::uint32_t symbol, std::size_t shift) {
    return ((std::uint64_t{node} << 32 | symbol) * 0x9E3779B97F4A7C15u) >> shift;
}

std::u32string characters(const std::string& text) {
    std::u32string points;
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    for (const std::uint8_t* const end = at + text.size(); at != end;) points.push_back(next_utf8(at));
    return points;
}

// How a message shows a token: cut short where it is long.
std::string shown(const std::uint8_t* token, std::size_t size) {
    constexpr std::size_t kMost = 60;
    const std::string text(reinterpret_cast<const char*>(token), size);
    if (size <= kMost) return "'" + text + "'";
    std::size_t end = kMost;
    while ((token[end] & 0xC0) == 0x80) --end;
    return "'" + text.substr(0, end) + "…'";
}

std::string shown(char32_t point) {
    constexpr char kHex[] = "0123456789ABCDEF";
    std::string code;
    for (int shift = point > 0xFFFFF ? 20 : point > 0xFFFF ? 16 : 12; shift >= 0; shift -= 4)
        code.push_back(kHex[point >> shift & 15]);
    std::string text = "'";
    append_utf8(text, point);
    return text + "' (U+" + code + ")";
}

}  // namespace

Model::Model(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
    read_alphabet();
    build_trie();
}

void Model::read_alphabet() {
    alphabet_.assign(std::begin(kEscapeCharacters), std::end(kEscapeCharacters));
    const auto unique = [&] {
        std::sort(alphabet_.begin(), alphabet_.end());
        alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
    };
    std::size_t limit = 1 << 16;
    for (const std::string& piece : pieces_) {
        const std::u32string points = characters(piece);
        alphabet_.insert(alphabet_.end(), points.begin(), points.end());
        if (alphabet_.size() < limit) continue;
        unique();
        limit = 2 * alphabet_.size() + (1 << 16);
    }
    unique();
    basic_symbols_.assign(kBasicEnd, 0);
    escape_symbols_.assign(0x80, 0);
    for (std::uint32_t i = 0; i < alphabet_.size(); ++i) {
        const char32_t point = alphabet_[i];
        if (point < escape_symbols_.size()) escape_symbols_[point] = i + 1;
        if (point < kBasicEnd && !always_escaped(point)) basic_symbols_[point] = i + 1;
    }
}

void Model::build_trie() {
    // A piece with an underscore before its end is left out: no escaped token goes on after one.
    struct Arrow {
        std::uint32_t next = 0;
        std::int32_t id = -1;
    };
    std::unordered_map<std::uint64_t, Arrow> arrows;
    std::uint32_t nodes = 1;
    roots_.assign(alphabet_.size() + 1, Edge{});
    const auto symbol_of = [&](char32_t point) {
        return static_cast<std::uint32_t>(std::lower_bound(alphabet_.begin(), alphabet_.end(), point) -
                                          alphabet_.begin()) + 1;
    };
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
        const std::u32string points = characters(pieces_[id]);
        if (points.empty() || points.find(U'_') < points.size() - 1) continue;
        Edge& root = roots_[symbol_of(points[0])];
        std::uint32_t* next = &root.next;
        std::int32_t* end = &root.id;
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (*next == 0) *next = nodes++;
            Arrow& arrow = arrows[std::uint64_t{*next} << 32 | symbol_of(points[i])];
            next = &arrow.next;
            end = &arrow.id;
        }
        *end = static_cast<std::int32_t>(id);
    }
    const std::size_t bits = std::max(4, static_cast<int>(std::bit_width(2 * arrows.size())));
    edge_shift_ = 64 - bits;
    edges_.assign(std::size_t{1} << bits, Edge{});
    for (const auto& [key, arrow] : arrows) {
        const auto node = static_cast<std::uint32_t>(key >> 32);
        const auto symbol = static_cast<std::uint32_t>(key);
        std::size_t at = hash_edge(node, symbol, edge_shift_);
        while (edges_[at].node != kFree) at = (at + 1) & (edges_.size() - 1);
        edges_[at] = {node, symbol, arrow.next, arrow.id};
    }
}

const Model::Edge* Model::find(std::uint32_t node, std::uint32_t symbol) const {
    for (std::size_t at = hash_edge(node, symbol, edge_shift_);; at = (at + 1) & (edges_.size() - 1)) {
        const Edge& edge = edges_[at];
        if (edge.node == node && edge.symbol == symbol) return &edge;
        if (edge.node == kFree) return nullptr;
    }
}

std::uint32_t Model::text_symbol(char32_t point) const {
    if (point < kBasicEnd) return basic_symbols_[point];
    const auto at = std::lower_bound(alphabet_.begin(), alphabet_.end(), point);
    return at != alphabet_.end() && *at == point ? static_cast<std::uint32_t>(at - alphabet_.begin()) + 1 : 0;
}

void Model::spell(const std::uint8_t* token, std::size_t size, std::vector<std::uint32_t>& symbols) const {
    symbols.clear();
    for (const std::uint8_t* const end = token + size; token != end;) {
        const char32_t point = next_utf8(token);
        if (const std::uint32_t symbol = text_symbol(point))
            symbols.push_back(symbol);
        else
            escape(point, [&](char32_t part) { symbols.push_back(escape_symbols_[part]); });
    }
    symbols.push_back(escape_symbols_[U'_']);
}

// Writes the ids of an escaped token and says how many; `matched` is less than its size where no piece fits.
std::size_t Model::match(const std::vector<std::uint32_t>& symbols, std::int32_t* ids, std::size_t& matched) const {
    std::int32_t* out = ids;
    const std::size_t size = symbols.size();
    std::size_t at = 0;
    while (at < size) {
        const Edge* edge = &roots_[symbols[at]];
        std::int32_t id = edge->id;
        std::size_t next = at + 1;
        for (std::size_t ahead = at + 1; edge->next != 0 && ahead < size;) {
            edge = find(edge->next, symbols[ahead]);
            if (edge == nullptr) break;
            ++ahead;
            if (edge->id >= 0) {
                id = edge->id;
                next = ahead;
            }
        }
        if (id < 0) break;
        *out++ = id;
        at = next;
    }
    matched = at;
    return static_cast<std::size_t>(out - ids);
}

void Model::encode_token(const std::uint8_t* token, std::size_t size, std::size_t readable, Scratch& scratch,
                         IdBuffer& ids) const {
    const bool is_short = size <= IdCache::kMaxBytes;
    IdCache::Key key{};
    IdCache::Entry* entry = nullptr;
    if (is_short) {
        key = IdCache::key(token, size, readable);
        entry = &scratch.cache.place(key);
        if (entry->holds(key)) {
            std::int32_t* const out = ids.room(IdCache::kMaxIds);
            std::copy_n(entry->ids, IdCache::kMaxIds, out);
            ids.grow(entry->size());
            return;
        }
    }
    spell(token, size, scratch.symbols);
    std::int32_t* const out = ids.room(scratch.symbols.size());
    std::size_t matched;
    const std::size_t count = match(scratch.symbols, out, matched);
    if (matched != scratch.symbols.size())
        throw EncodeError("the vocabulary has no piece for the character " +
                          shown(alphabet_[scratch.symbols[matched] - 1]) + ", which the token " + shown(token, size) +
                          " needs; add that piece to the vocabulary file, or build the vocabulary again");
    if (is_short && count <= IdCache::kMaxIds) entry->set(key, out, count);
    ids.grow(count);
}

RaggedIds Model::encode(const TextView& text, std::size_t threads, const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const auto encode_line = [&](std::size_t i, std::size_t thread, IdBuffer& ids) {
        if (!scratch[thread]) scratch[thread] = scratch_.borrow([] { return std::make_unique<Scratch>(); });
        for_each_token(text.line(i), text.size(i), [&](const std::uint8_t* token, std::size_t size) {
            encode_token(token, size, static_cast<std::size_t>(end - token), *scratch[thread], ids);
        });
    };
    RaggedIds rows = encode_lines(text, threads, encode_line, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

}  // namespace nmt_prep::t2t
