#include "sentences/path.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace nmt_prep::sentences {
namespace {

constexpr std::size_t kBlockRows = 512;
constexpr std::size_t kMostShares = std::size_t{1} << 25;  // word shares and partners in a block with long sentences
constexpr double kNever = -1e30;
// Each cell has a byte with the last step of its best path: the kind of the last bead, or kAlone. The two highest bits
// describe the best path that ends with a sentence without counterpart.
constexpr std::uint8_t kAlone = 0x3F;
constexpr std::uint8_t kKindBits = 0x3F;
constexpr std::uint8_t kTargetAlone = 0x40;  // the sentence without counterpart is on the target side
constexpr std::uint8_t kExtended = 0x80;     // the previous sentence has no counterpart either

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// The maximum sentence count of a bead's side.
std::size_t most_of(std::span<const Kind> kinds) {
    std::int32_t most = 1;
    for (const Kind& kind : kinds) most = std::max({most, kind.sources, kind.targets});
    return size_of(most);
}

class Search {
   public:
    Search(const Document& document, const Band& band, const Scoring& scoring)
        : document_(document),
          band_(band),
          scoring_(scoring),
          lengths_(document, scoring.lengths, most_of(scoring.kinds)),
          n_(document.source.size()),
          m_(document.target.size()) {
        for (const Kind& kind : scoring.kinds) {
            most_sources_ = std::max(most_sources_, size_of(kind.sources));
            most_targets_ = std::max(most_targets_, size_of(kind.targets));
        }
        find_partners();
        if (scoring.target_words == nullptr) return;
        target_values_ = std::make_unique<SpanValues>(document_.target, document_.source, *scoring.target_words,
                                                      first_source_, last_source_, most_sources_);
        source_values_ = std::make_unique<SpanValues>(document_.source, document_.target, *scoring.source_words,
                                                      first_target_, last_target_, most_targets_);
    }

    std::vector<Bead> find(const Poll& poll) {
        std::vector<std::size_t> row_at(n_ + 2);
        for (std::size_t i = 0; i <= n_; ++i) row_at[i + 1] = row_at[i] + size_of(band_.high[i] - band_.low[i]) + 1;
        back_.resize(row_at[n_ + 1]);
        rows_.resize(most_sources_ + 1);
        std::size_t block_end = 0;
        for (std::size_t i = 0; i <= n_; ++i) {
            if (i == block_end) {
                poll();
                block_end = compute_words(i);
            }
            fill_row(i, back_.data() + row_at[i]);
        }
        return traced(row_at);
    }

   private:
    // A source sentence i and a target sentence j can be in one bead if the band has cells before and after both.
    void find_partners() {
        first_target_.assign(band_.low.begin(), band_.low.end() - 1);
        last_target_.assign(band_.high.begin() + 1, band_.high.end());
        std::size_t first = 0;
        std::size_t last = 0;
        for (std::size_t j = 0; j < m_; ++j) {
            while (first < n_ && size_of(last_target_[first]) <= j) ++first;
            while (last < n_ && size_of(first_target_[last]) <= j) ++last;
            first_source_.push_back(static_cast<std::int64_t>(first));
            last_source_.push_back(static_cast<std::int64_t>(last));
        }
    }

    // Source sentences [begin, end) and target sentences [from, to).
    struct Block {
        std::size_t begin, end, from, to;
    };

    // Computes the word values for a block of rows; returns the row after it.
    std::size_t compute_words(std::size_t row) {
        std::size_t rows = kBlockRows;
        if (target_values_ == nullptr) return row + rows;
        Block block = block_of(row, rows);
        for (; rows > 1 && shares_of(block) > kMostShares; block = block_of(row, rows)) rows /= 2;
        target_values_->compute(block.from, block.to, block.begin, block.end);
        source_values_->compute(block.begin, block.end, block.from, block.to);
        return row + rows;
    }

    Block block_of(std::size_t row, std::size_t rows) const {
        const std::size_t begin = row > most_sources_ ? row - most_sources_ : 0;
        const std::size_t end = std::min(row + rows, n_);
        const std::size_t low = size_of(band_.low[begin]);
        return {begin, end, low > most_targets_ ? low - most_targets_ : 0, size_of(band_.high[end])};
    }

    // Words times partners on both sides.
    std::size_t shares_of(const Block& block) const {
        std::size_t shares = 0;
        for (std::size_t j = block.from; j < block.to; ++j)
            shares +=
                document_.target.sentence(j).size() * common(first_source_[j], last_source_[j], block.begin, block.end);
        for (std::size_t i = block.begin; i < block.end; ++i)
            shares +=
                document_.source.sentence(i).size() * common(first_target_[i], last_target_[i], block.from, block.to);
        return shares;
    }

    // The size of what two ranges have in common.
    static std::size_t common(std::int64_t first, std::int64_t last, std::size_t begin, std::size_t end) {
        const std::size_t from = std::max(size_of(first), begin);
        return std::max(from, std::min(size_of(last), end)) - from;
    }

    struct Cell {
        double best;   // value of the best path to the cell
        double alone;  // value of the best path whose last sentence has no counterpart
    };

    // Computes the cells of a row; writes the last step of the best path to each cell to `back`.
    void fill_row(std::size_t i, std::uint8_t* back) {
        const std::size_t low = size_of(band_.low[i]);
        const std::size_t high = size_of(band_.high[i]);
        std::vector<Cell>& row = rows_[i % rows_.size()];
        row.assign(high - low + 1, {kNever, kNever});
        for (std::size_t j = low; j <= high; ++j) {
            Cell cell{i == 0 && j == 0 ? 0.0 : kNever, kNever};
            std::uint8_t arrival = 0;
            const auto leave_alone = [&](const Cell& from, std::uint8_t side) {
                for (const auto& [value, extended] : {std::pair(from.best + scoring_.deletion, std::uint8_t{0}),
                                                      std::pair(from.alone + scoring_.extension, kExtended)})
                    if (value > cell.alone) {
                        cell.alone = value;
                        arrival = side | extended;
                    }
            };
            if (i > 0) leave_alone(before(i - 1, j), 0);
            if (j > low) leave_alone(row[j - 1 - low], kTargetAlone);
            std::uint8_t kind_of_best = kAlone;
            cell.best = std::max(cell.best, cell.alone);
            for (std::size_t k = 0; k < scoring_.kinds.size(); ++k) {
                const Kind kind = scoring_.kinds[k];
                if (i < size_of(kind.sources) || j < size_of(kind.targets)) continue;
                const double value = before(i - size_of(kind.sources), j - size_of(kind.targets)).best;
                if (value <= kNever) continue;
                const double sum = value + scoring_.priors[k] + value_of(i, j, kind);
                if (sum > cell.best) {
                    cell.best = sum;
                    kind_of_best = static_cast<std::uint8_t>(k);
                }
            }
            row[j - low] = cell;
            back[j - low] = arrival | kind_of_best;
        }
    }

    Cell before(std::size_t i, std::size_t j) const {
        const std::size_t low = size_of(band_.low[i]);
        if (j < low || j > size_of(band_.high[i])) return {kNever, kNever};
        return rows_[i % rows_.size()][j - low];
    }

    double value_of(std::size_t i, std::size_t j, Kind kind) const {
        const double lengths = lengths_.of(i, j, kind);
        return target_values_ != nullptr
                   ? lengths + std::max(scoring_.word_weight * words_of(i, j, kind), scoring_.free)
                   : lengths;
    }

    double words_of(std::size_t i, std::size_t j, Kind kind) const {
        const std::size_t sources = size_of(kind.sources);
        const std::size_t targets = size_of(kind.targets);
        double sum = 0;
        for (std::size_t t = j - targets; t < j; ++t)
            sum += static_cast<double>(target_values_->of(t, i - sources, sources));
        for (std::size_t s = i - sources; s < i; ++s)
            sum += static_cast<double>(source_values_->of(s, j - targets, targets));
        return sum;
    }

    std::vector<Bead> traced(const std::vector<std::size_t>& row_at) {
        std::vector<Bead> path;
        std::size_t i = n_;
        std::size_t j = m_;
        bool alone = false;
        while (i > 0 || j > 0) {
            const std::size_t low = size_of(band_.low[i]);
            const std::uint8_t arrival = back_[row_at[i] + j - low];
            alone |= (arrival & kKindBits) == kAlone;
            Kind kind{};
            if (alone) {
                kind = (arrival & kTargetAlone) != 0 ? Kind{0, 1} : Kind{1, 0};
                alone = (arrival & kExtended) != 0;
            } else {
                kind = scoring_.kinds[arrival & kKindBits];
            }
            const std::size_t source = i - size_of(kind.sources);
            const std::size_t target = j - size_of(kind.targets);
            path.push_back({static_cast<std::int64_t>(source), static_cast<std::int64_t>(i),
                            static_cast<std::int64_t>(target), static_cast<std::int64_t>(j)});
            i = source;
            j = target;
        }
        std::ranges::reverse(path);
        return path;
    }

    const Document& document_;
    const Band& band_;
    const Scoring& scoring_;
    LengthValues lengths_;
    std::size_t n_, m_;
    std::size_t most_sources_ = 1;
    std::size_t most_targets_ = 1;
    std::vector<std::int64_t> first_source_, last_source_, first_target_, last_target_;
    std::unique_ptr<SpanValues> target_values_, source_values_;
    std::vector<std::vector<Cell>> rows_;  // the last rows
    std::vector<std::uint8_t> back_;       // for each cell of the band, the last step of its best path
};

}  // namespace

std::vector<Bead> best_path(const Document& document, const Band& band, const Scoring& scoring, const Poll& poll) {
    return Search(document, band, scoring).find(poll);
}

}  // namespace nmt_prep::sentences
