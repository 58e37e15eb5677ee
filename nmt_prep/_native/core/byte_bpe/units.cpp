#include "byte_bpe/units.h"

#include <algorithm>

namespace nmt_prep::byte_bpe {

void Model::Units::add(const std::uint8_t* word, std::size_t size, std::size_t readable) {
    constexpr std::size_t kPadding = std::max(IdCache::kMaxIds, bpe::WordMerger::kMaxSymbols);
    bytes_ += size;
    if (ids_.size() < bytes_ + kPadding) ids_.resize(2 * bytes_ + kPadding);
    const std::uint8_t* const end = word + size;
    const std::uint8_t* const last_readable = word + readable;
    const std::uint8_t* unit = word;
    constexpr std::size_t kGroup = 64;
    std::array<bpe::Character, kGroup + 1> characters;  // on both sides of each boundary of a group
    characters[0] = bpe::read_character(word);
    const std::uint8_t* at = word + characters[0].size;
    while (at != end) {
        // The entries of the cuts for the boundaries of a group are fetched from memory together.
        std::size_t size_of_group = 0;
        for (const std::uint8_t* next = at; size_of_group < kGroup && next != end; ++size_of_group) {
            const bpe::Character right = bpe::read_character(next);
            model_.cuts_.prefetch(characters[size_of_group], right);
            characters[size_of_group + 1] = right;
            next += right.size;
        }
        // Ends of units are noted without a branch, which would be mispredicted often.
        std::array<const std::uint8_t*, kGroup> ends;
        std::size_t count = 0;
        for (std::size_t i = 0; i < size_of_group; ++i) {
            ends[count] = at;
            count += !model_.cuts_.may_be_crossed(characters[i], characters[i + 1]);
            at += characters[i + 1].size;
        }
        characters[0] = characters[size_of_group];
        for (std::size_t i = 0; i < count; unit = ends[i++])
            add_unit(unit, static_cast<std::size_t>(ends[i] - unit), static_cast<std::size_t>(last_readable - unit));
    }
    add_unit(unit, static_cast<std::size_t>(end - unit), static_cast<std::size_t>(last_readable - unit));
    ends_.push_back(units_.size());
}

void Model::Units::add_unit(const std::uint8_t* text, std::size_t size, std::size_t readable) {
    if (const bpe::Character first = bpe::read_character(text); first.size == size && size < 4)
        if (const bpe::CharacterTable::Entry& entry = model_.characters_[first.point]; entry.size > 0)
            return add_character(entry);
    Unit& unit = units_.emplace_back(text, size, false, IdCache::Key{}, 0, 0);
    if (size <= IdCache::kMaxBytes && model_.whole_word(text, size) == nullptr) {
        unit.is_cached = true;
        unit.key = IdCache::key(text, size, readable);
        scratch_.words.prefetch(unit.key);
    }
}

// Adds a unit of one character. Consecutive units of one character share an entry.
void Model::Units::add_character(const bpe::CharacterTable::Entry& entry) {
    const std::size_t first_of_word = ends_.empty() ? 0 : ends_.back();
    if (units_.size() == first_of_word || units_.back().count == 0)
        units_.emplace_back(nullptr, 0, false, IdCache::Key{}, used_, 0);
    std::copy_n(entry.symbols, 3, &ids_[used_]);
    units_.back().count += entry.size;
    used_ += entry.size;
}

void Model::Units::encode() {
    for (Unit& unit : units_)
        if (unit.count == 0) encode(unit);
    merge_waiting();
}

void Model::Units::encode(Unit& unit) {
    if (unit.is_cached) {
        const std::size_t found = scratch_.words.find(unit.key, &ids_[used_]);
        if (found > 0 && found != IdCache::kElsewhere) return set(unit, found);
        unit.is_cached = found == 0;
    }
    std::int32_t symbols[kMaxStart];
    const std::size_t count = model_.start_of_word(unit.text, unit.size, symbols);
    if (count == 0) return set(unit, model_.merge(unit.text, unit.size, scratch_.merger, &ids_[used_]));
    if (scratch_.word_merger.size() == bpe::WordMerger::kMaxWords) merge_waiting();
    waiting_[scratch_.word_merger.size()] = &unit;
    scratch_.word_merger.add(model_.pairs_, symbols, count);
}

void Model::Units::merge_waiting() {
    bpe::WordMerger& merger = scratch_.word_merger;
    merger.merge(model_.pairs_);
    for (std::size_t i = 0; i < merger.size(); ++i) {
        Unit& unit = *waiting_[i];
        set(unit, merger.write(i, &ids_[used_]));
        if (unit.is_cached && unit.count <= scratch_.words.max_ids())
            scratch_.words.put(unit.key, &ids_[unit.start], unit.count);
    }
    merger.clear();
}

void Model::Units::set(Unit& unit, std::size_t count) {
    unit.start = used_;
    unit.count = count;
    used_ += count;
}

std::int32_t* Model::Units::write(std::size_t word, std::int32_t* out) const {
    for (std::size_t i = word == 0 ? 0 : ends_[word - 1]; i < ends_[word]; ++i)
        out = copy_ids(&ids_[units_[i].start], units_[i].count, out);
    return out;
}

void Model::Units::clear() {
    units_.clear();
    ends_.clear();
    used_ = bytes_ = 0;
}

}  // namespace nmt_prep::byte_bpe
