#include "records/sequence_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "records/padded_rows.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kWord = 64;
constexpr std::int32_t kNone = -1;
constexpr std::int32_t kLongest = 1 << 24;  // memory grows with it
constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();

// Rows by free space: a stack of rows for each free space, a bit for each stack with rows, and a bit for each word of
// bits that are not all 0.
class FreeSpaces {
   public:
    explicit FreeSpaces(std::size_t largest)
        : tops_(largest + 1, kNone), bits_(largest / kWord + 1), words_(bits_.size() / kWord + 1) {}

    // Adds a row without free space too, so that rows are numbered.
    void add(std::int32_t row, std::size_t space) {
        if (static_cast<std::size_t>(row) == below_.size()) below_.push_back(kNone);
        if (space == 0) return;
        below_[static_cast<std::size_t>(row)] = std::exchange(tops_[space], row);
        bits_[space / kWord] |= bit(space);
        words_[space / kWord / kWord] |= bit(space / kWord);
    }

    // Returns the smallest free space of at least `space` that a row has, or the number of all spaces.
    std::size_t at_least(std::size_t space) const {
        const std::size_t word = space / kWord;
        if (const std::uint64_t found = bits_[word] & from(space)) return word * kWord + lowest(found);
        for (std::size_t group = (word + 1) / kWord; group < words_.size(); ++group) {
            const std::uint64_t found =
                words_[group] & (group == (word + 1) / kWord ? from(word + 1) : ~std::uint64_t{0});
            if (!found) continue;
            const std::size_t first = group * kWord + lowest(found);
            return first * kWord + lowest(bits_[first]);
        }
        return tops_.size();
    }

    // Removes the row that got this free space last.
    std::int32_t take(std::size_t space) {
        const std::int32_t row = tops_[space];
        tops_[space] = below_[static_cast<std::size_t>(row)];
        if (tops_[space] != kNone) return row;
        bits_[space / kWord] &= ~bit(space);
        if (!bits_[space / kWord]) words_[space / kWord / kWord] &= ~bit(space / kWord);
        return row;
    }

    std::size_t size() const { return tops_.size(); }

    std::int32_t rows() const { return static_cast<std::int32_t>(below_.size()); }

   private:
    static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << (number % kWord); }
    static std::uint64_t from(std::size_t number) { return ~std::uint64_t{0} << (number % kWord); }
    static std::size_t lowest(std::uint64_t bits) { return static_cast<std::size_t>(std::countr_zero(bits)); }

    std::vector<std::int32_t> tops_;   // for each free space, the row that got it last
    std::vector<std::int32_t> below_;  // for each row, the row below it on its stack
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> words_;
};

// Stable: numbers of the sequences, longest first.
std::vector<std::int32_t> longest_first(std::span<const std::int32_t> lengths, std::int32_t longest) {
    std::vector<std::int32_t> next(static_cast<std::size_t>(longest) + 2);
    for (const std::int32_t length : lengths) {
        if (length < 0 || length > longest) throw std::invalid_argument("lengths are from 0 to that of a row");
        ++next[static_cast<std::size_t>(longest - length) + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::int32_t> order(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i)
        order[static_cast<std::size_t>(next[static_cast<std::size_t>(longest - lengths[i])]++)] =
            static_cast<std::int32_t>(i);
    return order;
}

// Copies the ids within the spans, which may end after them.
void write_labels(Ids ids, Ids bounds, std::int64_t* labels) {
    if (bounds.size() % 2) throw std::invalid_argument("a span has two bounds");
    const auto size = static_cast<std::int32_t>(ids.size());
    std::int32_t last = 0;
    for (std::size_t i = 0; i < bounds.size(); i += 2) {
        const std::int32_t begin = bounds[i], end = bounds[i + 1];
        if (begin < last || end < begin) throw std::invalid_argument("the spans of a sequence must ascend");
        last = end;
        for (std::int32_t place = begin; place < std::min(end, size); ++place)
            labels[place] = ids[static_cast<std::size_t>(place)];
    }
}

// Fills one row after another.
class RowFiller {
   public:
    RowFiller(const IdColumn& sequences, const IdColumn& bounds, const SequenceMatrices& out)
        : sequences_(sequences), bounds_(bounds), out_(out) {}

    void add_row(std::size_t count, bool packed) {
        if (count > sequences_.rows() - next_)
            throw std::invalid_argument("the rows have more sequences than there are");
        const std::size_t end = cell_ + out_.width;
        std::fill_n(out_.labels.data() + cell_, out_.width, out_.ignored);
        for (; count > 0; --count, ++next_) {
            const Ids ids = sequences_.row(next_);
            if (ids.size() > end - cell_) throw std::invalid_argument("a row is too long");
            std::ranges::copy(ids, out_.ids.data() + cell_);
            write_labels(ids, bounds_.row(next_), out_.labels.data() + cell_);
            if (packed && !ids.empty()) out_.labels[cell_] = out_.ignored;
            add_cells(ids.size(), packed, 1);
        }
        std::fill_n(out_.ids.data() + cell_, end - cell_, out_.padding);
        add_cells(end - cell_, packed, 0);
    }

    bool done() const { return next_ == sequences_.rows(); }

    std::vector<std::int32_t> begins() && { return std::move(begins_); }

   private:
    void add_cells(std::size_t count, bool packed, std::int64_t mask) {
        std::int64_t* const third = out_.third.data() + cell_;
        if (packed) {
            std::iota(third, third + count, std::int64_t{0});
            if (count) begins_.push_back(static_cast<std::int32_t>(cell_));
        } else {
            std::fill_n(third, count, mask);
        }
        cell_ += count;
    }

    const IdColumn& sequences_;
    const IdColumn& bounds_;
    const SequenceMatrices& out_;
    std::size_t next_ = 0, cell_ = 0;
    std::vector<std::int32_t> begins_;
};

}  // namespace

std::vector<std::int32_t> pack_sequences(std::span<const std::int32_t> lengths, std::int32_t row_length) {
    if (row_length < 1 || row_length > kLongest) throw std::invalid_argument("rows are 1 to 2**24 ids long");
    if (lengths.size() > kMost) throw std::invalid_argument("there are at most 2**31 - 1 sequences");
    FreeSpaces spaces(static_cast<std::size_t>(row_length));
    std::vector<std::int32_t> row_of(lengths.size());
    for (const std::int32_t sequence : longest_first(lengths, row_length)) {
        const auto number = static_cast<std::size_t>(sequence);
        const auto length = static_cast<std::size_t>(lengths[number]);
        const std::size_t space = spaces.at_least(length);
        const bool fits = space < spaces.size();
        row_of[number] = fits ? spaces.take(space) : spaces.rows();
        spaces.add(row_of[number], (fits ? space : static_cast<std::size_t>(row_length)) - length);
    }
    return row_of;
}

std::vector<std::int32_t> fill_rows(const IdColumn& sequences, const IdColumn& bounds,
                                    std::span<const std::int64_t> row_sizes, const SequenceMatrices& out) {
    sequences.check();
    bounds.check();
    const std::size_t cells = out.ids.size(), rows = row_sizes.empty() ? sequences.rows() : row_sizes.size();
    if (cells > kMost) throw std::invalid_argument("a batch has at most 2**31 - 1 cells");
    if (!has_shape(cells, rows, out.width) || out.labels.size() != cells || out.third.size() != cells)
        throw std::invalid_argument("there must be `width` cells for each row");
    if (bounds.rows() != sequences.rows()) throw std::invalid_argument("there must be bounds for each sequence");
    RowFiller filler(sequences, bounds, out);
    for (std::size_t row = 0; row < rows; ++row) {
        if (!row_sizes.empty() && row_sizes[row] < 0) throw std::invalid_argument("a row has at least 0 sequences");
        filler.add_row(row_sizes.empty() ? 1 : static_cast<std::size_t>(row_sizes[row]), !row_sizes.empty());
    }
    if (!filler.done()) throw std::invalid_argument("the rows have fewer sequences than there are");
    std::vector<std::int32_t> begins = std::move(filler).begins();
    if (!row_sizes.empty()) begins.push_back(static_cast<std::int32_t>(cells));
    return begins;
}

}  // namespace nmt_prep
