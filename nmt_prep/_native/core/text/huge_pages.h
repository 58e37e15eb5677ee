// Memory of large tables on huge pages, where the system offers them: on ordinary pages, the translation of addresses
// takes as long as the random reads themselves, and page faults take longer than filling the pages.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nmt_prep {

// An allocator of vectors; small ones get ordinary memory.
template <class T>
struct HugePageAllocator {
    using value_type = T;  // NOLINT(readability-identifier-naming): the standard library's name

    HugePageAllocator() = default;
    template <class Other>
    HugePageAllocator(const HugePageAllocator<Other>&) noexcept {}  // NOLINT(google-explicit-constructor)

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes));
        void* const memory = ::operator new(bytes, std::align_val_t{kHugePage});
#if defined(__linux__)
        // Only a hint, for whole pages, so that no page is added for the last few bytes.
        madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }

    void deallocate(T* memory, std::size_t count) noexcept {
        if (count * sizeof(T) < kHugePage)
            ::operator delete(memory);
        else
            ::operator delete(memory, std::align_val_t{kHugePage});
    }

    template <class Other>
    bool operator==(const HugePageAllocator<Other>&) const noexcept {
        return true;
    }

   private:
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;
};

template <class T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

// Frees an array of `count` elements.
template <class T>
class FreeLarge {
   public:
    explicit FreeLarge(std::size_t count = 0) : count_(count) {}
    void operator()(T* memory) const { HugePageAllocator<T>().deallocate(memory, count_); }

   private:
    std::size_t count_;
};
template <class T>
using LargeArray = std::unique_ptr<T[], FreeLarge<T>>;

// Returns an array whose elements are not initialized.
template <class T>
LargeArray<T> make_large_array(std::size_t count) {
    return LargeArray<T>(HugePageAllocator<T>().allocate(count), FreeLarge<T>(count));
}

}  // namespace nmt_prep
