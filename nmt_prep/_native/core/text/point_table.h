// A value for each code point, in pages, so that a table of few characters is small.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace nmt_prep {

template <class T>
class PointTable {
   public:
    // All values are `initial` at first.
    explicit PointTable(T initial) : initial_(initial), empty_(new_page()) { pages_.fill(empty_.get()); }

    T operator[](char32_t point) const { return (*pages_[point / kPage])[point % kPage]; }

    // The value of a code point, to change it.
    T& at(char32_t point) {
        Page*& page = pages_[point / kPage];
        if (page == empty_.get()) {
            owned_[point / kPage] = new_page();
            page = owned_[point / kPage].get();
        }
        return (*page)[point % kPage];
    }

    // Calls visit(code point, value) in ascending order of code points. Pages without other values than the initial one
    // are left out.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t page = 0; page < kPages; ++page)
            if (owned_[page] != nullptr)
                for (std::size_t i = 0; i < kPage; ++i)
                    visit(static_cast<char32_t>(page * kPage + i), (*owned_[page])[i]);
    }

   private:
    static constexpr std::size_t kPage = 256, kPages = 0x110000 / kPage;
    using Page = std::array<T, kPage>;

    std::unique_ptr<Page> new_page() const {
        auto page = std::make_unique_for_overwrite<Page>();
        page->fill(initial_);
        return page;
    }

    T initial_;
    std::unique_ptr<Page> empty_;
    std::array<Page*, kPages> pages_;
    std::array<std::unique_ptr<Page>, kPages> owned_;
};

}  // namespace nmt_prep
