#include "byte_bpe_model.h"

#include <algorithm>
#include <memory>

#include "gpt2_scanner.h"
#include "text_errors.h"

namespace nmt_prep::byte_bpe {
namespace {

std::array<std::int32_t, 256> ids_of_bytes(const std::vector<std::string>& tokens) {
    std::array<std::int32_t, 256> ids;
    ids.fill(-1);
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id].size() == 1) ids[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
    return ids;
}

std::vector<std::string_view> merged_tokens(const std::vector<std::string>& tokens,
                                            const std::vector<bpe::PairRule>& merges) {
    std::vector<std::string_view> merged;
    merged.reserve(merges.size());
    for (const bpe::PairRule& rule : merges) merged.push_back(tokens[static_cast<std::size_t>(rule.merged)]);
    return merged;
}

bpe::PairTable pair_table(const std::vector<bpe::PairRule>& merges) {
    bpe::PairTable pairs(merges.size());
    for (const bpe::PairRule& rule : merges) pairs.add(rule.left, rule.right, rule.merged);
    return pairs;
}

// Where dropout draws its numbers from: a keyed hash of what is drawn for, so that no order of drawing matters.
std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

}  // namespace

Model::Model(std::vector<std::string> tokens, const std::vector<std::pair<std::int32_t, std::string>>& specials,
             const std::vector<bpe::PairRule>& merges, ModelOptions options)
    : tokens_(std::move(tokens)),
      texts_(tokens_),
      byte_ids_(ids_of_bytes(tokens_)),
      pairs_(pair_table(merges)),
      cuts_(merged_tokens(tokens_, merges)),
      characters_(byte_ids_, merges, tokens_, pairs_),
      options_(options),
      all_bytes_(std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end()) {
    for (const auto& [id, text] : specials) texts_[static_cast<std::size_t>(id)] = text;
    if (!options_.whole_words) return;
    const std::vector<bool> made = reachable();
    for (std::size_t id = 0; id < tokens_.size(); ++id)
        if (!made[id]) unreachable_.emplace(tokens_[id], static_cast<std::int32_t>(id));
}

std::vector<bool> Model::reachable() const {
    std::vector<bool> made(tokens_.size(), true);
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        const std::string& token = tokens_[id];
        if (token.empty()) continue;
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids_[static_cast<std::uint8_t>(token[i])];
        made[id] = merger.merge(symbols.data(), symbols.size(), pairs_) == 1 &&
                   symbols[0] == static_cast<std::int32_t>(id);
    }
    return made;
}

void Model::spell(const std::uint8_t* word, std::size_t size, std::int32_t* out) const {
    std::int32_t lowest = 0;
    for (std::size_t i = 0; i < size; ++i) {
        out[i] = byte_ids_[word[i]];
        lowest = std::min(lowest, out[i]);
    }
    if (lowest == 0) return;
    const std::uint8_t* const missing =
        std::find_if(word, word + size, [this](std::uint8_t byte) { return byte_ids_[byte] < 0; });
    throw EncodeError("the vocabulary has no token for the byte " + std::to_string(*missing) +
                      ", which the text holds; train it with all 256 bytes as its initial alphabet");
}

const std::int32_t* Model::whole_word(const std::uint8_t* word, std::size_t size) const {
    if (unreachable_.empty()) return nullptr;
    const auto found = unreachable_.find({reinterpret_cast<const char*>(word), size});
    return found == unreachable_.end() ? nullptr : &found->second;
}

// Merges the word between two borders that no token crosses, one after another.
std::int32_t* Model::merge_in_units(const std::uint8_t* word, std::size_t size, Scratch& scratch,
                                    std::int32_t* out) const {
    const std::uint8_t* const end = word + size;
    const std::uint8_t* unit = word;
    bpe::Character left = bpe::read_character(word);
    for (const std::uint8_t* at = word + left.size;; at += left.size) {
        if (at == end) return merge_unit(unit, static_cast<std::size_t>(at - unit), left.size, scratch, out);
        const bpe::Character right = bpe::read_character(at);
        if (!cuts_.may_cross(left, right)) {
            out = merge_unit(unit, static_cast<std::size_t>(at - unit), left.size, scratch, out);
            unit = at;
        }
        left = right;
    }
}

// Merges one unit, of which the last character has `last` bytes.
std::int32_t* Model::merge_unit(const std::uint8_t* unit, std::size_t size, std::size_t last, Scratch& scratch,
                                std::int32_t* out) const {
    if (size == last && has_entry(size)) {
        const bpe::CharacterTable::Entry& entry = characters_(unit);
        std::copy_n(entry.symbols, 3, out);
        return out + entry.size;
    }
    std::int32_t* symbol = out;
    for (const std::uint8_t* const end = unit + size; unit != end;) {
        const std::size_t bytes = bpe::read_character(unit).size;
        if (has_entry(bytes)) {
            const bpe::CharacterTable::Entry& entry = characters_(unit);
            if (entry.begins) {
                std::copy_n(entry.symbols, 3, symbol);
                symbol += entry.size;
                unit += bytes;
                continue;
            }
        }
        spell(unit, bytes, symbol);
        symbol += bytes;
        unit += bytes;
    }
    return out + scratch.merger.merge(out, static_cast<std::size_t>(symbol - out), pairs_);
}

Model::Pretoken Model::look_ahead(const std::uint8_t* word, std::size_t size, std::size_t readable,
                                  Scratch& scratch) const {
    Pretoken pretoken{word, size, {0, 0}};
    if (size <= IdCache::kMaxBytes) {
        pretoken.key = IdCache::key(word, size, readable);
        scratch.words.prefetch(pretoken.key);
    } else if (size <= PhraseCache::kMaxBytes) {
        pretoken.key.low = hash_bytes(word, size);
        scratch.phrases.prefetch(pretoken.key.low);
    }
    return pretoken;
}

std::int32_t* Model::encode_pretoken(const Pretoken& pretoken, Scratch& scratch, std::int32_t* out) const {
    const auto [word, size, key] = pretoken;
    if (const std::int32_t* const id = whole_word(word, size)) {
        *out = *id;
        return out + 1;
    }
    if (size <= IdCache::kMaxBytes) {
        if (const std::size_t count = scratch.words.find(key, out)) return out + count;
        std::int32_t* const end = merge_in_units(word, size, scratch, out);
        const auto count = static_cast<std::size_t>(end - out);
        if (count <= IdCache::kMaxIds) scratch.words.put(key, out, count);
        return end;
    }
    if (size > PhraseCache::kMaxBytes) return merge_in_units(word, size, scratch, out);
    if (const std::size_t count = scratch.phrases.find(key.low, word, size, out)) return out + count;
    std::int32_t* const end = merge_in_units(word, size, scratch, out);
    scratch.phrases.put(key.low, word, size, out, static_cast<std::size_t>(end - out));
    return end;
}

std::int32_t* Model::encode_with_dropout(const std::uint8_t* word, std::size_t size, double dropout, std::uint64_t key,
                                         Scratch& scratch, std::int32_t* out) const {
    // Top 53 bits against the same of the probability: exact, and 0 and 1 mean never and always.
    const auto limit = static_cast<std::uint64_t>(dropout * 9007199254740992.0);
    spell(word, size, out);
    return out + scratch.merger.merge_with_dropout(out, size, pairs_, [&](std::size_t step, std::size_t position) {
        return draw(key, step, position) >> 11 < limit;
    });
}

std::int32_t* Model::encode_line(const std::uint8_t* line, std::size_t size, std::size_t readable,
                                 const EncodeOptions& options, Scratch& scratch, std::int32_t* out) const {
    const auto each_pretoken = [&](const auto& visit) {
        if (options.split)
            gpt2::for_each_pretoken(line, size, visit);
        else if (size > 0)
            visit(line, size);
    };
    if (options.dropout > 0) {
        const std::uint64_t line_key = hash_bytes(line, size);
        each_pretoken([&](const std::uint8_t* word, std::size_t length) {
            const std::uint64_t key = draw(line_key, options.seed, static_cast<std::uint64_t>(word - line));
            out = encode_with_dropout(word, length, options.dropout, key, scratch, out);
        });
        return out;
    }
    // Pretokens wait in a short queue until the caches' places for them have come from memory.
    constexpr std::size_t kAhead = 16;
    Pretoken waiting[kAhead];
    std::size_t seen = 0;
    each_pretoken([&](const std::uint8_t* word, std::size_t length) {
        Pretoken& place = waiting[seen % kAhead];
        if (seen >= kAhead) out = encode_pretoken(place, scratch, out);
        place = look_ahead(word, length, readable - static_cast<std::size_t>(word - line), scratch);
        ++seen;
    });
    for (std::size_t i = seen < kAhead ? 0 : seen - kAhead; i < seen; ++i)
        out = encode_pretoken(waiting[i % kAhead], scratch, out);
    return out;
}

RaggedIds Model::encode(const TextView& text, std::size_t threads, const EncodeOptions& options,
                        const Poll& poll) const {
    std::vector<std::unique_ptr<Scratch>> scratch(std::max<std::size_t>(threads, 1));
    const std::uint8_t* const end = text.data + text.offsets[text.lines];
    const auto encode_one = [&](std::size_t i, std::size_t thread, IdBuffer& ids) {
        if (!scratch[thread]) scratch[thread] = scratch_.borrow([] { return std::make_unique<Scratch>(); });
        const std::uint8_t* line = text.line(i);
        std::size_t size = text.size(i);
        auto readable = static_cast<std::size_t>(end - line);
        if (options_.prefix_space && size > 0 && *line != ' ') {
            std::string& prefixed = scratch[thread]->line;
            prefixed.clear();
            prefixed.push_back(' ');
            prefixed.append(reinterpret_cast<const char*>(line), size);
            line = reinterpret_cast<const std::uint8_t*>(prefixed.data());
            size = readable = prefixed.size();
        }
        // At most an id a byte; entries of caches and tables are copied whole.
        std::int32_t* const out = ids.room(size + PhraseCache::kMaxIds);
        ids.grow(static_cast<std::size_t>(encode_line(line, size, readable, options, *scratch[thread], out) - out));
    };
    RaggedIds rows = encode_lines(text, threads, encode_one, poll);
    for (std::unique_ptr<Scratch>& each : scratch)
        if (each) scratch_.give_back(std::move(each));
    return rows;
}

Texts Model::decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                    const Poll& poll) const {
    const auto decode_row = [this](const std::int32_t* ids, std::size_t size, std::string& bytes) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto id = static_cast<std::size_t>(static_cast<std::uint32_t>(ids[i]));
            if (id >= texts_.size() || texts_[id].empty())
                throw EncodeError("id " + std::to_string(ids[i]) +
                                  " stands for no token of the vocabulary, whose ids go from 0 to " +
                                  std::to_string(texts_.size() - 1) + "; check that the ids were made with it");
            bytes += texts_[id];
        }
    };
    return decode_rows(values, offsets, rows, threads, decode_row, poll);
}

std::vector<bpe::PairRule> merges_of_ranks(const std::vector<std::string>& tokens, const Poll& poll) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty()) ids.emplace(tokens[id], static_cast<std::int32_t>(id));
    const std::array<std::int32_t, 256> byte_ids = ids_of_bytes(tokens);

    const auto id_of = [&](std::string_view bytes) {
        const auto found = ids.find(bytes);
        return found == ids.end() ? -1 : found->second;
    };
    std::vector<bpe::PairRule> merges;
    std::vector<std::int32_t> symbols;
    bpe::Merger merger;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        const std::string& token = tokens[id];
        if (token.size() < 2) continue;
        if (id % 1024 == 0) poll();
        symbols.resize(token.size());
        for (std::size_t i = 0; i < token.size(); ++i) symbols[i] = byte_ids[static_cast<std::uint8_t>(token[i])];
        if (std::find(symbols.begin(), symbols.end(), -1) != symbols.end()) continue;
        // All merges but the token's own, which is the last: what they leave are its two halves.
        const auto others = [&](std::int32_t left, std::int32_t right) {
            const std::int32_t merged =
                id_of(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
            return merged < 0 || merged == static_cast<std::int32_t>(id)
                       ? bpe::kNoMerge
                       : bpe::make_merge(static_cast<std::uint32_t>(merged), merged);
        };
        if (merger.merge(symbols.data(), symbols.size(), others) == 2)
            merges.push_back({symbols[0], symbols[1], static_cast<std::int32_t>(id)});
    }
    return merges;
}

}  // namespace nmt_prep::byte_bpe
