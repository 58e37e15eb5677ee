#include "outputs/piece_lines.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "outputs/row_end.h"

namespace nmt_prep {
namespace {

constexpr std::size_t kUsualPiece = 6;  // usual bytes of a piece and a space, for a first estimate of the size

// Text that grows, in memory that is not filled before it is written.
class Growing {
   public:
    explicit Growing(std::size_t capacity) : capacity_(capacity), data_(fresh(capacity)) {}

    std::uint8_t* room(std::size_t more) {
        if (capacity_ - size_ < more) {
            capacity_ = std::max(size_ + more, capacity_ + capacity_ / 2);
            auto larger = fresh(capacity_);
            std::memcpy(larger.get(), data_.get(), size_);
            data_ = std::move(larger);
        }
        return data_.get() + size_;
    }
    void grow_to(const std::uint8_t* end) { size_ = static_cast<std::size_t>(end - data_.get()); }
    std::size_t size() const { return size_; }
    OwnedBytes release() { return {std::move(data_), size_}; }

   private:
    static std::unique_ptr<std::uint8_t[]> fresh(std::size_t size) {
        return std::make_unique_for_overwrite<std::uint8_t[]>(size);
    }

    std::size_t capacity_;
    std::size_t size_ = 0;
    std::unique_ptr<std::uint8_t[]> data_;
};

}  // namespace

PieceTable::PieceTable(const TextColumn& pieces) {
    pieces.check();
    text_.assign(pieces.values.begin(), pieces.values.end());
    offsets_.assign(pieces.offsets.begin(), pieces.offsets.end());
    slots_.resize(pieces.rows());
    for (std::size_t id = 0; id < slots_.size(); ++id) {
        const std::span<const std::uint8_t> piece = pieces.row(id);
        longest_ = std::max(longest_, piece.size());
        const bool fits = piece.size() <= slots_[id].text.size();
        slots_[id].size = fits ? static_cast<std::uint8_t>(piece.size()) : kLong;
        if (fits) std::ranges::copy(piece, slots_[id].text.begin());
    }
}

std::uint8_t* PieceTable::write(Ids row, std::uint8_t* to) const {
    static_assert(sizeof(Slot) == kSlack);
    for (const std::int32_t id : row) {
        if (id < 0 || std::cmp_greater_equal(id, slots_.size()))
            throw std::out_of_range("the id " + std::to_string(id) + " has no piece");
        const auto index = static_cast<std::size_t>(id);
        const Slot& slot = slots_[index];
        if (slot.size != kLong) {
            std::memcpy(to, slot.text.data(), slot.text.size());
            to += slot.size;
        } else {
            to = std::copy(text_.begin() + offsets_[index], text_.begin() + offsets_[index + 1], to);
        }
        *to++ = ' ';
    }
    return row.empty() ? to : to - 1;
}

OwnedBytes piece_lines(std::span<const PieceColumn> columns, std::vector<std::int64_t>* bounds) {
    std::size_t ids = 0;
    for (const PieceColumn& column : columns) {
        column.rows.check();
        if (column.rows.rows() != columns.front().rows.rows())
            throw std::invalid_argument("the columns have different numbers of rows");
        ids += column.rows.values.size();
    }
    const std::size_t lines = columns.empty() ? 0 : columns.front().rows.rows();
    Growing text(kUsualPiece * ids + columns.size() * lines + PieceTable::kSlack);
    if (bounds) bounds->assign(1, 0);
    for (std::size_t line = 0; line < lines; ++line) {
        for (const PieceColumn& column : columns) {
            const Ids row = without_last(column.rows.row(line), column.last);
            std::uint8_t* const to = text.room(row.size() * (column.table.longest() + 1) + 1 + PieceTable::kSlack);
            std::uint8_t* const end = column.table.write(row, to);
            const bool is_last = &column == &columns.back();
            *end = is_last ? '\n' : '\t';
            text.grow_to(is_last && bounds ? end : end + 1);
        }
        if (bounds) bounds->push_back(static_cast<std::int64_t>(text.size()));
    }
    return text.release();
}

}  // namespace nmt_prep
