#include "sentencepiece/bpe_runs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>

#include "sentencepiece/charsmap.h"
#include "text/byte_words.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

const std::uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

bool has_one_character(const std::string& text) {
    return text.size() == character_size(static_cast<std::uint8_t>(text[0]));
}

// Returns true if a piece is in text whose runs are merged here.
bool is_merged(const Vocabulary::Entry& entry) {
    return !has_one_character(entry.text) && entry.text.find("  ") == std::string::npos;
}

// Returns true if ids are by rank, and no pieces are of a kind that merges otherwise.
bool are_by_rank(const Vocabulary& vocabulary) {
    const Vocabulary::Entry* last = nullptr;
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        if (entry.type != PieceType::kNormal) return false;
        if (!is_merged(entry)) continue;
        if (last != nullptr && !(entry.id > last->id && entry.score < last->score)) return false;
        last = &entry;
    }
    return !vocabulary.entries.empty();
}

std::uint32_t start_of(Lattice::Listed piece) { return static_cast<std::uint32_t>(piece); }
std::size_t length_of(Lattice::Listed piece) { return piece >> Lattice::kListedLength & Lattice::kMaxListed; }
std::int32_t id_of(Lattice::Listed piece) { return static_cast<std::int32_t>(piece >> Lattice::kListedId) - 1; }

}  // namespace

std::unique_ptr<const Alphabet> BpeRuns::alphabet_of(const Vocabulary& vocabulary) try {
    if (!are_by_rank(vocabulary)) return nullptr;
    auto alphabet = std::make_unique<const Alphabet>(vocabulary);
    if (alphabet->longest() > Lattice::kMaxListed) return nullptr;
    return BpeRuns(vocabulary, *alphabet).are_regular(vocabulary) ? std::move(alphabet) : nullptr;
} catch (const NotCovered&) {
    return nullptr;
}

BpeRuns::BpeRuns(const Vocabulary& vocabulary, const Alphabet& alphabet)
    : alphabet_(alphabet), unk_id_(vocabulary.unk_id), space_(alphabet.symbol_of(' ')) {
    const auto highest = static_cast<std::uint32_t>(vocabulary.entries.back().id) + 1;
    digit_bits_ = static_cast<unsigned>(std::bit_width(highest) + 1) / 2;
}

// Returns true if two symbols are left of each piece's text when it is due.
bool BpeRuns::are_regular(const Vocabulary& vocabulary) const {
    constexpr std::size_t kAtOnce = 4096;  // symbols
    Runs runs;
    Scratch scratch;
    const auto merge_in_pairs = [&] {
        list_by_rank(runs, scratch);
        scratch.begins.assign(runs.spelling.size, 1);
        runs.spelling.size = 0;
        return std::ranges::all_of(scratch.sorted, [&](Lattice::Listed piece) {
            const auto begin = scratch.begins.begin() + start_of(piece);
            const auto end = begin + static_cast<std::ptrdiff_t>(length_of(piece));
            if ((*begin & *end) == 0) return true;
            const bool is_pair = std::count(begin + 1, end, 1) == 1;
            std::fill(begin + 1, end, 0);
            return is_pair;
        });
    };
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        if (is_merged(entry)) alphabet_.append(bytes_of(entry.text), entry.text.size(), runs.spelling);
        const bool is_last = &entry == &vocabulary.entries.back();
        if (runs.spelling.size > (is_last ? 0 : kAtOnce) && !merge_in_pairs()) return false;
    }
    return true;
}

// Sorts the pieces by two digits of their ids, the lower one first.
void BpeRuns::list_by_rank(Runs& runs, Scratch& scratch) const {
    alphabet_.list_pieces(runs.spelling, runs.lattice);
    const auto sort = [&](std::span<const Lattice::Listed> from, std::vector<Lattice::Listed>& to, unsigned bit) {
        const auto digit = [&](Lattice::Listed piece) { return piece >> bit & ((1u << digit_bits_) - 1); };
        to.resize(from.size());
        scratch.starts.assign((std::size_t{1} << digit_bits_) + 1, 0);
        for (const Lattice::Listed piece : from) ++scratch.starts[digit(piece) + 1];
        for (std::size_t i = 1; i < scratch.starts.size(); ++i) scratch.starts[i] += scratch.starts[i - 1];
        for (const Lattice::Listed piece : from) to[scratch.starts[digit(piece)]++] = piece;
    };
    sort(runs.lattice.listed(), scratch.half_sorted, Lattice::kListedId);
    sort(scratch.half_sorted, scratch.sorted, Lattice::kListedId + digit_bits_);
}

void BpeRuns::merge(Runs& runs, Scratch& scratch) const {
    list_by_rank(runs, scratch);
    scratch.begins.assign(runs.spelling.size + kWord, 1);
    std::uint8_t* const begins = scratch.begins.data();
    std::int32_t* const ids = runs.lattice.singles();
    for (const Lattice::Listed piece : scratch.sorted) {
        // Without a branch, which would be mispredicted often.
        std::uint8_t* const begin = begins + start_of(piece);
        const std::size_t length = length_of(piece);
        const std::uint8_t made = begin[0] & begin[length];
        std::int32_t& id = ids[start_of(piece)];
        id = made != 0 ? id_of(piece) : id;
        const std::size_t inner = std::min(length - 1, kWord);
        const std::uint64_t all = ~std::uint64_t{0} >> (8 * (kWord - inner)), kept = ~(all & (0 - std::uint64_t{made}));
        write_word(begin + 1, read_word(begin + 1) & kept);
        if (length - 1 > kWord && made != 0) [[unlikely]]
            std::fill(begin + 1 + kWord, begin + length, 0);
    }
}

bool BpeRuns::encode(const Lattice::Run& run, const Runs& runs, const Scratch& scratch, IdBuffer& ids) const {
    const std::uint32_t* const symbols = runs.spelling.symbols.data();
    const std::int32_t* const found = runs.lattice.singles();
    std::int32_t* const out = ids.room(run.end - run.begin);
    std::size_t count = 0;
    bool others = false;
    for (std::size_t i = run.begin; i < run.end; ++i) {
        out[count] = found[i];
        count += scratch.begins[i];
        others |= found[i] == unk_id_ || (symbols[i] == space_ && symbols[i + 1] == space_);
    }
    if (!others) ids.grow(count);
    return !others;
}

}  // namespace nmt_prep::sentencepiece
