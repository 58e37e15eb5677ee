#include "t2t/model.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "t2t/character_set.h"
#include "t2t/escape.h"
#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr char32_t kBasicEnd = 0x10000;
constexpr std::size_t kPollEveryTokens = std::size_t{1} << 16;

// Matching switches to the linear algorithm after this many symbols of useless lookahead for each symbol of a token,
// beyond a constant.
constexpr std::size_t kPatience = 32;
constexpr std::size_t kFirstPatience = 4096;

// Returns a token for messages, truncated if it is long.
std::string shown(const std::uint8_t* token, std::size_t size) {
    constexpr std::size_t kMost = 60;
    std::size_t end = std::min(size, kMost);
    while (end < size && (token[end] & 0xC0) == 0x80) --end;
    std::string text = "'";
    text.append(reinterpret_cast<const char*>(token), end);
    text += end < size ? "…'" : "'";
    return text;
}

std::string shown(char32_t point) {
    constexpr char kHex[] = "0123456789ABCDEF";
    std::string code;
    for (int shift = point > 0xFFFFF ? 20 : point > 0xFFFF ? 16 : 12; shift >= 0; shift -= 4)
        code.push_back(kHex[point >> shift & 15]);
    std::string text = "'";
    append_utf8(text, point);
    text += "' (U+";
    text += code;
    return text += ')';
}

}  // namespace

Model::Model(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
    read_alphabet();
    const SpelledPieces spelled = spelled_pieces();
    trie_ = Trie(spelled.pieces, spelled.ids, static_cast<std::uint32_t>(alphabet_.size()));
}

void Model::read_alphabet() {
    CharacterSet characters;
    for (const char32_t point : kEscapeCharacters) characters.add(point);
    for (const std::string& piece : pieces_) characters.add_text(piece);
    alphabet_ = characters.ascending();
    basic_symbols_.assign(kBasicEnd, 0);
    escape_symbols_.assign(0x80, 0);
    for (std::uint32_t i = 0; i < alphabet_.size(); ++i) {
        const char32_t point = alphabet_[i];
        if (point < escape_symbols_.size()) escape_symbols_[point] = i + 1;
        if (point < kBasicEnd && !always_escaped(point)) basic_symbols_[point] = i + 1;
    }
}

// Returns the pieces that can match.
Model::SpelledPieces Model::spelled_pieces() const {
    SpelledPieces spelled;
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
        const std::string& piece = pieces_[id];
        // No escaped token has an underscore before its end, so no token matches a piece that has one.
        if (piece.find('_') < piece.size() - 1) continue;
        Symbols& symbols = spelled.pieces.emplace_back();
        symbols.reserve(piece.size());
        const auto* at = reinterpret_cast<const std::uint8_t*>(piece.data());
        for (const std::uint8_t* const end = at + piece.size(); at != end;) symbols.push_back(symbol_of(next_utf8(at)));
        spelled.ids.push_back(static_cast<std::int32_t>(id));
    }
    return spelled;
}

std::uint32_t Model::symbol_of(char32_t point) const {
    if (point < kBasicEnd && basic_symbols_[point] != 0) return basic_symbols_[point];
    const auto at = std::ranges::lower_bound(alphabet_, point);
    return at != alphabet_.end() && *at == point ? static_cast<std::uint32_t>(at - alphabet_.begin()) + 1 : 0;
}

std::uint32_t Model::text_symbol(char32_t point) const {
    return point < kBasicEnd ? basic_symbols_[point] : symbol_of(point);
}

void Model::spell(const std::uint8_t* token, std::size_t size, Symbols& symbols, const Poll& poll) const {
    symbols.clear();
    for (const std::uint8_t* const end = token + size; token != end;) {
        const std::uint8_t* const stop = token + std::min(kPollEvery, static_cast<std::size_t>(end - token));
        while (token < stop) {
            const char32_t point = next_utf8(token);
            if (const std::uint32_t symbol = text_symbol(point))
                symbols.push_back(symbol);
            else
                escape(point, [&](char32_t part) { symbols.push_back(escape_symbols_[part]); });
        }
        if (token != end) poll();
    }
    symbols.push_back(escape_symbols_[U'_']);
}

// Appends the ids of lines [first, last), and writes to ends[i] the number of ids after line i.
void Model::encode_run(const TextView& text, std::size_t first, std::size_t last, Scratch& scratch, IdBuffer& ids,
                       std::int64_t* ends, const Poll& poll) const {
    const std::uint8_t* const run = text.line(first);
    const auto readable = static_cast<std::size_t>(text.offsets[text.lines] - text.offsets[first]);
    const auto line_end = [&](std::size_t i) {
        return static_cast<std::size_t>(text.offsets[i + 1] - text.offsets[first]);
    };
    TokenList& tokens = scratch.tokens;
    tokens.begin(text, first, last);
    std::size_t line = first, encoded = 0;
    for (; line < last && line_end(line) == 0; ++line) ends[line] = static_cast<std::int64_t>(ids.size());
    std::size_t next_end = line < last ? line_end(line) : 0;
    while (const std::size_t found = tokens.next()) {
        for (std::size_t begin = 0; begin < found; begin += kTogether) {
            const std::size_t count = std::min(kTogether, found - begin);
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t start = tokens.start(begin + i);
                scratch.keys[i] = IdCache::key_of_any(run + start, tokens.end(begin + i) - start, readable - start);
                scratch.cache.prefetch(scratch.keys[i]);
            }
            std::int32_t* out = ids.room(kTogether * IdCache::kMaxIds);
            const std::int32_t* written = out;
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t end = tokens.end(begin + i);
                if (const std::size_t known = scratch.cache.find(scratch.keys[i], out)) {
                    out += known;
                } else {
                    ids.grow(static_cast<std::size_t>(out - written));
                    const std::size_t start = tokens.start(begin + i);
                    encode_rare_token(run + start, end - start, scratch.keys[i], scratch, ids, poll);
                    written = out = ids.room(kTogether * IdCache::kMaxIds);
                }
                if (end != next_end) continue;
                for (; line < last && line_end(line) == end; ++line) ends[line] = out - ids.data();
                next_end = line < last ? line_end(line) : 0;
            }
            ids.grow(static_cast<std::size_t>(out - written));
        }
        encoded += found;
        if (encoded >= kPollEveryTokens) {
            encoded = 0;
            poll();
        }
    }
}

// Appends the ids of a token that `cache` does not have.
void Model::encode_rare_token(const std::uint8_t* token, std::size_t size, const IdCache::Key& key, Scratch& scratch,
                              IdBuffer& ids, const Poll& poll) const {
    const std::size_t before = ids.size();
    if (size > PhraseCache::kMaxBytes) return encode_new_token(token, size, scratch, ids, poll);
    const std::uint64_t hash = hash_bytes(token, size);
    const std::span<const std::uint32_t> known = scratch.long_tokens.view(hash, token, size);
    if (!known.empty()) {
        std::memcpy(ids.room(known.size()), known.data(), known.size_bytes());
        ids.grow(known.size());
    } else {
        encode_new_token(token, size, scratch, ids, poll);
        scratch.long_tokens.put(hash, token, size, ids.data() + before, ids.size() - before);
    }
    const std::size_t count = ids.size() - before;
    if (size <= IdCache::kMaxBytes && count <= scratch.cache.max_ids())
        scratch.cache.put(key, ids.data() + before, count);
}

void Model::encode_new_token(const std::uint8_t* token, std::size_t size, Scratch& scratch, IdBuffer& ids,
                             const Poll& poll) const {
    spell(token, size, scratch.symbols, poll);
    std::int32_t* const out = ids.room(scratch.symbols.size());
    const std::uint32_t* at = scratch.symbols.data();
    const std::uint32_t* const end = at + scratch.symbols.size();
    const auto count = static_cast<std::size_t>(match(at, end, out, poll) - out);
    if (at != end)
        throw EncodeError("the vocabulary has no piece for the character " + shown(alphabet_[*at - 1]) +
                          ", which the token " + shown(token, size) +
                          " needs; add that piece to the vocabulary file, or build the vocabulary again");
    ids.grow(count);
}

// Splits [begin, end) by longest match. `ids` has room for one id per symbol; `begin` stops where no piece matches.
std::int32_t* Model::match(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids,
                           const Poll& poll) const {
    std::size_t patience = kFirstPatience + kPatience * static_cast<std::size_t>(end - begin);
    for (;;) {
        const std::uint32_t* const stop = begin + std::min(kPollEvery, static_cast<std::size_t>(end - begin));
        ids = trie_.match(begin, stop, end, ids, patience);
        if (begin == end) return ids;
        if (patience == 0) return match_linearly(begin, end, ids, poll);
        if (begin < stop) return ids;
        poll();
    }
}

// Splits like `match`, in linear time.
std::int32_t* Model::match_linearly(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids,
                                    const Poll& poll) const {
    std::call_once(longest_made_, [this] {
        const SpelledPieces spelled = spelled_pieces();
        piece_sizes_.resize(pieces_.size());
        for (std::size_t i = 0; i < spelled.ids.size(); ++i)
            piece_sizes_[static_cast<std::size_t>(spelled.ids[i])] =
                static_cast<std::uint32_t>(spelled.pieces[i].size());
        longest_ = std::make_unique<const LongestPieces>(spelled.pieces, spelled.ids);
    });
    longest_->find(begin, end, ids, poll);
    for (const std::int32_t* longest = ids; begin != end && *longest >= 0;) {
        const std::size_t size = piece_sizes_[static_cast<std::size_t>(*longest)];
        *ids++ = *longest;
        longest += size;
        begin += size;
    }
    return ids;
}

RaggedIds Model::encode(const TextView& text, std::size_t threads, const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const Poll no_poll = [] {};
    const auto encode = [&](std::size_t first, std::size_t last, std::size_t thread, IdBuffer& ids,
                            std::int64_t* ends) {
        if (!scratch[thread])
            scratch[thread] = scratch_.borrow([this] { return std::make_unique<Scratch>(pieces_.size()); });
        encode_run(text, first, last, *scratch[thread], ids, ends, thread == 0 ? poll : no_poll);
    };
    RaggedIds rows = encode_runs(text, threads, encode, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

}  // namespace nmt_prep::t2t
